/* The linter: finds rules that do not do what they say. */
#ifndef POLICY_POLICY_LINT_H
#define POLICY_POLICY_LINT_H

#include "base/arena.h"
#include "base/err.h"

struct rule_source;

/* A note is about a rule that does what it says, but more or less than a careful person would write. A warning is an
 * allow that lets nothing pass; an error is a rule that cannot be read, or a deny or ask that would stop nothing. */
enum lint_level { LINT_NOTE, LINT_WARNING, LINT_ERROR };

/* One finding about one rule. */
struct lint {
    size_t index;       /* index of the rule in the given list */
    enum lint_level level;
    struct str words;   /* the problem, for people */
    struct str instead; /* a rule that may have been meant; empty: none is known */
};

struct linted {
    struct lint *items; /* in the order of the rules */
    size_t count;
};

/* The names of tools that rules may speak of, one by one; empty behind the last. */
typedef struct str lint_tools(size_t number);

/* Everything that is wrong with the rules, each alone and beside the others. */
struct linted policy_lint(struct arena *arena, const struct rule_source *rules, size_t count, lint_tools *tools,
                          int64_t now_ms);
/* ERR_INVALID with the words of the first error; rules with notes and warnings pass. */
struct rc policy_lint_check(struct arena *arena, const struct rule_source *rule, lint_tools *tools, struct err *err);
/* "REASON; did you mean RULE?" */
struct str lint_words(struct arena *arena, const struct lint *lint);
const char *lint_level_name(enum lint_level level);

/* The groups (`@name`) that rules may name, and the commands of one; in the arena. */
size_t policy_groups(struct arena *arena, const struct str **ret_names);
size_t policy_group_commands(struct arena *arena, struct str name, const struct str **ret_commands);

#endif
