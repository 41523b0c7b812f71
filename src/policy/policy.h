/* The judge: rules answer calls, so that people need not be asked.
 *
 * Pure: no clock, no descriptors; what is made lives in the given arena, a rule set owns its own. Denies of any layer
 * come first, then modes in which nothing is changed, protected places, asks, allows, the other modes and the defaults:
 * "Who wins" of docs/RULES.md is the whole order. What is not understood is asked about. See src/policy/README.md. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "event/tool.h"
#include "policy/policy_sweep.h"
#include <stdint.h>

enum effect { EFFECT_ASK, EFFECT_ALLOW, EFFECT_DENY };

#define PERMISSION_MODES(X)                    \
    X(DEFAULT, "default")                      \
    X(ACCEPT_EDITS, "acceptEdits")             \
    X(PLAN, "plan")                            \
    X(BYPASS, "bypassPermissions")             \
    X(READ_ONLY, "read-only")

enum permission_mode {
#define X(name, wire) MODE_##name,
    PERMISSION_MODES(X)
#undef X
    MODE_COUNT
};

/* Where a rule comes from. Nothing loosens a layer above: deny and ask of any layer beat every allow. */
#define RULE_LAYERS(X)      \
    X(MANAGED, "managed")   \
    X(USER, "user")         \
    X(PROJECT, "project")   \
    X(SESSION, "session")

enum rule_layer {
#define X(name, wire) LAYER_##name,
    RULE_LAYERS(X)
#undef X
    LAYER_COUNT
};

const char *policy_mode_name(enum permission_mode mode);
/* Reads a mode, also by the names of other agents ("yolo", "safe-yolo"); false when it is none. */
bool policy_mode_parse(struct str name, enum permission_mode *ret_mode);
const char *effect_name(enum effect effect);
bool effect_parse(struct str name, enum effect *ret_effect);
const char *policy_layer_name(enum rule_layer layer);
bool policy_layer_parse(struct str name, enum rule_layer *ret_layer);

/* ---- rules ---- */

/* Where a rule of the user's layer holds. Unsaid: everywhere, as rules from before there were projects. */
enum rule_reach { REACH_UNSAID, REACH_PROJECT, REACH_EVERYWHERE };

/* The folder a rule belongs to, by its real path and inode; without a path: sessions that have no folder. */
struct rule_project {
    struct str path;
    uint64_t dev, ino;
};

struct rule_source {
    struct str id;
    enum effect effect;
    struct str text;
    enum rule_layer layer;
    bool trusted;          /* LAYER_PROJECT: a person trusted this exact content, so that its allows count */
    struct str author;
    struct str reason;
    int64_t expires_at_ms; /* 0: never */
    bool counted;          /* allows only `uses_left` more calls */
    uint64_t uses_left;
    unsigned people;       /* for an ask rule: how many persons must allow the call; 0: one */
    enum rule_reach reach;
    struct rule_project project;
    bool project_is_root;  /* the session's folder is the project's: relative patterns begin there by either name */
    const struct str *match, *not_match; /* examples that the rule must match, and must not match */
    size_t match_count, not_match_count;
};

/* A rule that cannot be used as written: such an allow never matches, such a deny or ask asks about its whole tool. */
struct rule_problem {
    size_t index; /* index of the rule in the sources */
    struct str words;
};

struct rule_set;
/* The rule in its canonical spelling; ERR_INVALID with words for the person who wrote it. */
struct rc rule_check(struct arena *arena, struct str text, struct str *ret_canonical, struct err *err);
/* Whether the rule's meaning depends on the session's folder: relative paths, and commands. */
bool rule_relative(struct str text);
/* Immutable; everything it needs is copied. */
struct rule_set *rule_set_new(const struct rule_source *sources, size_t count);
void rule_set_free(struct rule_set *set);
size_t rule_set_problems(const struct rule_set *set, const struct rule_problem **ret_problems);

/* ---- the question ---- */

/* The session's own policy for one whole tool. */
struct tool_policy {
    struct str tool;
    enum effect effect;
};

/* A path that was looked up: where it leads through links (empty: in a circle), and whether something is there. */
struct resolved_path {
    struct str path, real;
    bool exists;
    bool shared, file; /* a file with a second name (a hard link); a regular file, with nothing below it */
};

/* Looks up an absolute path; the result lives as long as the question. `place`: only `real` is to be filled in. */
typedef const struct resolved_path *path_look(void *arg, struct str path, bool place);

struct question {
    const struct tool_facts *facts;
    enum permission_mode mode;
    const struct tool_policy *tool_policies;
    size_t tool_policy_count;
    const struct rule_set *rules; /* NULL: none */
    struct str cwd;  /* where the call would run, absolute; empty: unknown */
    struct str root; /* the session's folder; empty: the same as cwd */
    struct str home;
    path_look *look; /* NULL: there are no links, and nothing is known to exist */
    void *look_arg;
    const struct str *protected_paths; /* further protected paths: Nod's own data */
    size_t protected_count;
    int own_ports[OWN_PORTS_MAX]; /* where Nod itself listens; 0: nowhere */
    bool hosts_alone; /* use only those allow rules that name a host */
    bool no_builtin;  /* commands that only read need a rule, too */
    int64_t now_ms;
};

/* ---- the verdict ---- */

struct verdict_rule {
    struct str id, text, author, reason;
    struct str project; /* path; empty: it belongs to none */
    enum rule_layer layer;
    enum effect effect;
};

/* One simple command of a shell line, or a piece of the line that could not be parsed. */
struct verdict_part {
    struct str text;
    struct str operator; /* operator between it and the part before, `&&` or `|`; empty: none, or a more complex one */
    enum effect effect;
    struct verdict_rule rule; /* id and text are empty when no rule decided */
    struct str why;
    unsigned depth;           /* nesting depth; 0: on the line itself */
    unsigned risk;            /* set of classes: bit i is risk_name(i) */
};

struct verdict {
    enum effect effect;
    struct str rule;   /* the rule that decided, canonical; empty: no rule did */
    struct str source; /* "managed", "user", "project", "session", "mode", "default", "protected" */
    struct str why;    /* one sentence for a person */
    const struct verdict_rule *rules; /* the rules that decided together, the decisive one first */
    size_t rule_count;
    unsigned risk;     /* set of classes: bit i is risk_name(i) */
    bool risky;        /* answered alone */
    unsigned people;   /* how many persons must allow it, as in rule_source */
    struct sweep sweep; /* for an allow: files that parts without a rule read without naming them */
    bool listed;       /* for an allow: such a part reads files that a listing names */
    const struct verdict_part *parts; /* the parts of a command, in order */
    size_t part_count;
};

struct verdict policy_judge(struct arena *arena, const struct question *question);
/* "deletes", "network", …; empty behind the last. risk_words: the class in words for people, "deletes files or
 * data". */
const char *risk_name(unsigned number), *risk_words(unsigned number);
/* Whether allow rules alone let the call pass: no session, mode or default is looked at. */
bool policy_covers(struct arena *arena, const struct question *question);
/* Like policy_covers, but parts that only read pass without a rule, too. */
bool policy_lets_pass(struct arena *arena, const struct question *question);
/* Whether a search leaves the path out: protected, a secret by its name, or empty (a circle of links). `own`: Nod's. */
bool policy_hides(struct str path, struct str own);

/* ---- suggestions ---- */
enum { SUGGESTIONS_MAX = 5, SUGGESTION_RULES_MAX = 8 };

struct suggestion {
    struct str rules[SUGGESTION_RULES_MAX]; /* rules that together allow the call */
    size_t rule_count;
    struct str label;   /* "exactly this", "any `git diff`", … */
    struct str warning; /* what else the rules would allow; empty: nothing notable */
};

/* Suggestions from narrow to broad, at most SUGGESTIONS_MAX; none when no rule could allow the call. */
size_t policy_suggest(struct arena *arena, const struct question *question, struct suggestion *ret_suggestions);

#include "policy/policy_box.h"
#include "policy/policy_import.h"
#include "policy/policy_lint.h"
#endif
