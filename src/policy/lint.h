/* Between the files of the linter. */
#ifndef POLICY_LINT_H
#define POLICY_LINT_H

#include "base/map.h"
#include "policy/ruleset.h"

/* The state of checking a list of rules, one after the other. */
struct linting {
    struct arena *arena;
    const struct rule_source *sources;
    struct rule_set *set; /* the set of all rules; NULL: only one rule is checked */
    size_t count;
    lint_tools *tools;
    int64_t now_ms;
    struct map seen; /* rules so far */
    size_t at;       /* index of the rule being checked */
    struct rule rule;
    struct linted out;
    size_t room;
};

static inline const struct rule_source *lint_source(const struct linting *l) { return &l->sources[l->at]; }
static inline bool lint_allows(const struct linting *l) { return lint_source(l)->effect == EFFECT_ALLOW; }

void lint_add(struct linting *l, enum lint_level level, struct str instead, struct str words);
/* The rule does nothing, or not what was meant: for a deny or ask that is an error. */
void lint_dead(struct linting *l, struct str instead, struct str words);

/* ---- lint_text.c: mistakes that show in the text ---- */

/* Reports that the rule cannot be read, for this reason. */
void lint_malformed(struct linting *l, const char *words);
/* Checks the rule's text alone; true when it found a problem. */
bool lint_text(struct linting *l);
/* Notes an allow of a program that runs any command it is given. */
void lint_wide(struct linting *l);
/* The text between the parentheses; empty when there are none. */
struct str lint_content(struct str text);

#endif
