/* Shared by the files that judge a call (judge.c, judge_*.c, risk.c); private to them.
 *
 * A struct judging is made for one call, on the stack of policy_judge, and collects what the files find:
 * objections (`stop`, `unknown`, `protected_path`), coverage (`uncovered`, `used`) and what is shown to people
 * (`parts`, `risk`). Nothing is decided while parts are judged; judge.c weighs it all at the end.
 */
#ifndef POLICY_JUDGE_H
#define POLICY_JUDGE_H

#include "policy/commands.h"
#include "policy/ruleset.h"
#include "policy/target.h"

/* The reason for asking about a part of a command when there is no better one; it is compared by its address. */
extern const char judge_no_rule[];

/* Where a command of a line runs. */
struct folder {
    struct str path;
    bool known;  /* the command certainly runs in `path` */
    bool inside; /* it runs inside the session's folder, even if the exact folder is not known */
    bool vague;  /* `path` is only a guess; if neither known nor vague, it is one of two candidates */
};

/* The strictest rule found so far against the call. */
struct stop {
    const struct compiled *rule; /* NULL: none */
    enum effect effect;
    unsigned people; /* the highest number of persons that any of these rules requires */
};

enum { WROTE_MAX = 16 };

/* The state of judging one call. */
struct judging {
    struct arena *arena;
    const struct question *q;
    const struct rule_set *set; /* never NULL */
    struct places places;       /* where home really is, only judge_path.c knows */
    path_look *home_look;       /* how to find it out; NULL: it is known, or nothing may be looked up */
    bool elsewhere;             /* the call would run outside the session's folder */
    struct stop stop;
    const char *unknown;        /* the reason why the command was not understood; NULL: it was */
    struct str protected_path;  /* a protected path that the call would touch; empty: none */
    const char *protected_why;  /* why that path is protected; NULL: it is on the built-in list */
    bool secret;                /* a file's name says that it holds keys */
    bool rules_alone;           /* for policy_covers: use rules only, no defaults and no built-in allowances */
    unsigned risk;              /* the union of the risk classes of all parts */
    struct str wrote[WROTE_MAX]; /* files written by the parts judged so far */
    size_t wrote_count;
    unsigned remote;            /* depth inside commands for another machine; there every part needs a rule */
    bool builtin;               /* some part passed without a rule */
    bool accepted;              /* some file is written because the mode accepts edits */
    struct sweep sweep;         /* the files that those parts read and do not name */
    bool listed;                /* one of them reads files that a listing names */
    const struct node *piped;   /* the part whose output is the next one's input; NULL: none */
    const struct node *pipe;    /* the first part of that pipe */
    bool inner_bad;             /* a command inside a substitution is not allowed */
    bool outside;               /* it reads outside the session's folder */
    struct node *tree;          /* the parsed command; NULL: the call is not a command */
    size_t part_count;          /* simple commands of the line */
    unsigned depth;             /* nesting depth of substitutions and scripts */
    /* Coverage */
    const char *uncovered;      /* the first reason why allow rules do not let it pass */
    struct str uncovered_text;
    struct verdict_rule *used;
    size_t used_count, used_room;
    /* Explanation */
    struct verdict_part *parts;
    size_t parts_count, parts_room;
    size_t place_count; /* paths looked up so far */
    /* The last folder in which git was to run, and what was found about it. */
    struct str git_folder;
    bool git_strange;
    const struct study *studied; /* study of the command being matched against rules; NULL: not known */
    struct str *stopped[2]; /* the paths that rules are against; the second without rules on changes alone */
    size_t stopped_count[2];
    size_t hole_looks; /* how many rules were matched against words with holes so far */
    /* Results of judge_text_stops and judge_names_host for the whole command. */
    enum { NET_NOT_ASKED, NET_CLEAN, NET_HIT } net, hosts;
};

void judging_init(struct judging *j, struct arena *arena, const struct question *question);
struct verdict_rule verdict_rule_of(const struct compiled *rule);
/* Keeps the stricter of this rule and the one noted before. */
void stop_note(struct judging *j, const struct compiled *rule);
void judge_note_used(struct judging *j, const struct compiled *rule);

/* ---- paths: judge_path.c ---- */

/* The path that a word or an input names, with the links it goes through; false: it cannot be known. */
struct place place_from(struct judging *j, struct str named, path_look *look);
bool place_of(struct judging *j, const struct folder *folder, struct str path, struct place *ret_place);
/* For reads and edits: place_stops notes every rule against the place, place_covered finds one that allows it. */
void place_stops(struct judging *j, const struct place *place, struct str family);
const struct compiled *place_covered(struct judging *j, const struct place *place, struct str tool);
/* Like place_covered, but only by rules with a path, not by rules on the whole tool. */
const struct compiled *place_covered_by_path(struct judging *j, const struct place *place, struct str tool);
/* targets_of with links; `folder` is empty when it is not known. */
size_t judge_targets(struct judging *j, const struct word *word, struct str folder, struct str targets[TARGETS_MAX]);
/* Whether the place always needs a person: for edits, or even for reading. */
bool place_protected(const struct judging *j, const struct place *place, struct touch touch);
/* Like place_protected, for every path that a word with holes could become (target.h). */
bool judge_target_protected(const struct judging *j, struct str target, struct touch touch);
/* Notes the rules against any path that a pattern could match. */
void judge_target_stops(struct judging *j, struct str target, struct touch touch);
/* The paths, absolute and with wildcards, that rules are against where they are changed, or (`looks`) read. */
const struct str *judge_stopped_paths(struct judging *j, bool looks, size_t *ret_count);
/* Notes the rules against every path that a word could become. */
void judge_word_targets(struct judging *j, const struct word *word, const struct folder *folder, struct touch touch);
/* Notes a doubt where a variable or a loop gets the name of a link, and a rule speaks against what it leads to. */
void judge_assigned_stops(struct judging *j, const struct node *node, const struct folder *folder);
/* Notes a doubt where a command shows contents that a repository has stored (`git diff`, `git log -p`) and a rule
 * speaks against one of the files: those that its paths name, on the disk or not; without a path all of them. */
void judge_stored_stops(struct judging *j, const struct study *study, const struct act *act,
                        const struct folder *folder);
/* Notes that doubt for sub-commands of git that may be an alias, or whose words do not tell what they do. */
void judge_strange_git_stops(struct judging *j, const struct study *study);
/* Whether a pattern could match a path outside the session's folder, or a secret inside. */
bool judge_target_outside(struct judging *j, struct str target);
/* The same for reading: what place_readable accepts is not outside. */
bool judge_target_unreadable(struct judging *j, struct str target);
bool place_inside(const struct judging *j, const struct place *place);
/* Whether reading it needs no rule: inside the session's folder, or a header, library or manual of the system. */
bool place_readable(const struct judging *j, const struct place *place);
/* Whether the place is a system folder: commands that write there are asked about. */
bool place_of_system(const struct place *place);
bool folder_inside(struct judging *j, struct str path);
/* Whether git would take a folder that is not called .git for its repository there: anyone who can write files can make
 * one, and its configuration runs commands. */
bool folder_strange_to_git(struct judging *j, const struct folder *folder);

/* ---- commands: judge_command.c, judge_stop.c, judge_cover.c ---- */

/* Parses the call's command and judges every part of it: stops, doubts, protected targets, coverage. */
void judge_command(struct judging *j);

struct argv node_argv(const struct node *node);
const struct study *node_study(struct judging *j, struct node *node);
/* The words behind the assignments. */
struct argv argv_command(const struct argv *argv);
const struct study *act_inner_study(struct judging *j, struct act *act, unsigned depth);

/* Notes the rules and doubts against one part, at any nesting depth. */
void judge_part_stops(struct judging *j, struct node *node, const struct folder *folder);
/* Notes the rules and doubts against the values of a `for` loop, as if each were a path. */
void judge_values_stop(struct judging *j, const struct node *node, const struct folder *folder);
/* Notes the rules and doubts against the redirections of a group, a loop or a function. */
void redirs_stops(struct judging *j, const struct node *node, const struct folder *folder);
/* Notes the rules against a host that a command talks to; returns why it is not known whether one does, or NULL. */
const char *judge_hosts(struct judging *j, const struct argv *argv, const struct study *study);
/* Whether the text names a host that a rule speaks against. */
bool judge_names_host(struct judging *j, struct str text);
/* Whether rules are against hosts, and the text is an address, or NAME=address, whose host cannot be read plainly. */
bool judge_hides_host(struct judging *j, struct str text);
/* Whether one of Nod's own ports stands in the text as a number by itself. */
bool judge_has_own_port(const struct question *question, struct str text);
/* Notes a write to a file that has several names (hard links). */
void judge_note_shared(struct judging *j, struct str path);
/* For a text that was not understood: whether its words name anything that a rule denies. */
bool judge_text_stops(struct judging *j, struct str text, bool note);

/* Whether one part is allowed: by a rule, or without one because it only reads; else a reason is given. */
bool judge_part_covered(struct judging *j, struct node *node, const struct folder *folder,
                  const struct compiled **ret_rule, const char **ret_why);
/* The risk classes (table.h) of a command: acts_risk of its acts only, study_risk with those of its row. */
unsigned acts_risk(struct judging *j, const struct study *study, const struct folder *folder);
unsigned study_risk(struct judging *j, const struct study *study, const struct folder *folder);
/* Whether a call of these risk classes must be answered alone, not together with others. */
bool risk_holds_back(unsigned risk);
/* NULL when the command passes without a rule, else why not; `passes` says whether a command that it runs, or
 * a file that it writes, may. */
const char *argv_builtin(struct judging *j, const struct argv *argv, const struct study *study,
                         const struct node *node, const struct folder *folder,
                         bool (*passes)(void *arg, struct act *act), void *arg);
/* Whether the command prints nothing but numbers, or one name that nobody chooses (judge_number.c). */
bool judge_prints_number(const struct node *node);
/* Whether all names that the command prints, or find hands on, end as its patterns say (`find . -name '*.o'`). */
bool judge_lists_ending(const struct node *node);
/* Whether a word, a here-document or a here-string of it is the value of a variable that holds a secret by its name. */
bool words_secret(const struct judging *j, const struct node *node);
/* Whether the path is a name that the line makes while it runs (a substitution, standard input, `read`), and may be one
 * outside the session's folder, or for `writes` a protected one. `node` is the part whose word it is. */
bool judge_name_made(struct judging *j, const struct word *word, const struct node *node, const struct folder *folder,
                     bool writes);
/* Whether a pattern or a variable of the line can only name files that pass without a rule. */
bool judge_reads_inside(struct judging *j, const struct word *word, const struct node *node,
                        const struct folder *folder);
/* Whether the assignments of a node reach no program, or none that such variables influence. */
bool judge_assignments_harmless(struct judging *j, const struct node *node, const struct folder *folder);
/* Whether rules cover every command of a nested script (the text of `sh -c`). */
bool judge_tree_covered(struct judging *j, const struct shell *script, const struct folder *folder);
/* NULL when the redirections of a node are harmless or covered, else why not. */
const char *redirs_uncovered(struct judging *j, const struct node *node, const struct folder *folder);
/* A word that is a path on the line: literal but for a `~` in front. */
bool word_is_path(const struct word *word);

#endif
