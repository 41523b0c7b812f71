/* Files that a command reads without naming them, noted for the gate (judge_sweep.c). Private to judge_*.c. */
#ifndef POLICY_JUDGE_SWEEP_H
#define POLICY_JUDGE_SWEEP_H

#include "policy/judge.h"

/* For commands that only read (judge_sweep.c; sweep_covered: by a rule, which names `named` words): these note what a
 * pattern, a listing (`git ls-files`) or `rg x` reads without naming it. The gate looks whether that holds keys. */
void sweep_pattern(struct judging *j, struct str target);
/* How the act touches its path: what rules against paths are held against. */
struct touch sweep_touch(struct judging *j, const struct study *study, const struct act *act, bool lists,
                         const struct folder *folder);
/* Notes a pattern by which a link to what rules are against may be found, whether or not a rule covers the command. */
void sweep_stopped(struct judging *j, struct str pattern, struct touch touch);
/* Leaves what counts where the mode lets a call pass without a rule: links to what rules are against. */
void sweep_without_rules(struct sweep *sweep);
void sweep_listed(struct judging *j, const struct node *node);
void sweep_covered(struct judging *j, const struct study *study, const struct node *node, const struct folder *folder,
                   size_t named);
void sweep_redirected(struct judging *j, const struct word *word, const struct folder *folder); /* `cat < *.md` */
void sweep_command(struct judging *j, const struct argv *argv, const struct study *study, const struct node *node,
                   const struct folder *folder);

#endif
