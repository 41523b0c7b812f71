/* Paths as bash would find them, and the names that are protected whatever rules say.
 *
 * A word's shape is its text with the letters that bash acts on replaced by the marks below: what a pattern
 * could find is held against names letter by letter, so that `.cl[a]ude` is as protected as `.claude`.
 */
#ifndef POLICY_TARGET_H
#define POLICY_TARGET_H

#include "policy/match.h"

enum shape_mark {
    SHAPE_ANY = '\x01',   /* any text, slashes too: an expansion */
    SHAPE_STAR = '\x02',  /* * */
    SHAPE_ONE = '\x03',   /* ? */
    SHAPE_OPEN = '\x04',  /* [ */
    SHAPE_CLOSE = '\x05', /* ] */
    SHAPE_LEFT = '\x06',  /* { of a brace expansion */
    SHAPE_COMMA = '\x07',
    SHAPE_RIGHT = '\x08',
    SHAPE_HOME = '\x0e',  /* $HOME */
    SHAPE_PWD = '\x0f',   /* $PWD */
};

enum { TARGETS_MAX = 64 };

/* Finds the folder that `..` behind the path leads to (the root is empty). The path is absolute, without dots and
 * marks, and may be a link. False: not known. */
typedef bool target_up(void *arg, struct str path, struct str *ret_above);

struct target_base {
    struct str folder; /* empty: not known */
    struct str home;
    target_up *up; /* NULL: there are no links */
    void *arg;
};

/* The paths that a word may become: braces are expanded, `~`, `$HOME` and `$PWD` put in, dots taken out. Each
 * is absolute, or begins with SHAPE_ANY where nobody knows the place. Where `..` stands behind a link, the path that
 * the kernel would open is one more, and where an expansion may be empty (`a$x`), the path without it. More than
 * TARGETS_MAX: one that may be anything. */
size_t targets_of(struct arena *arena, const struct word *word, const struct target_base *base,
                  struct str targets[TARGETS_MAX]);
/* Whether the target has no wildcards: it is exactly one path. */
bool target_literal(struct str target);

/* How a target is touched. */
struct touch {
    bool looks;   /* only read */
    bool perhaps; /* it may be written, or the word may be no path at all: not known */
    bool tree;    /* with everything below it */
    bool follows; /* tree: also through the links that are met */
    bool lists;   /* only names below it are printed: rules on paths are not about those */
    bool stored;  /* as a repository has stored it: whether it has is not known */
};

/* Whether the path, literal and absolute, is on the built-in list of protected paths. */
bool target_name_protected(struct str path, bool looks);
/* Whether the target could be, be below, or (tree) be above a protected name. */
bool target_protected(struct str target, struct touch touch, const struct places *places);
/* Whether the target's name says that it holds keys: no default allows reading it; `settings_only` (.env): a rule on a
 * program does not either, only a rule on the path. */
/* Like target_secret for all names, but also by a pattern that tells nothing: `*` could find server.key. */
bool target_could_be_secret(struct str target);
bool target_secret(struct str target, bool settings_only);
/* Whether the target could be, be below or (tree) be above `path`, whose components may have `*`, `?` and be `**`. */
bool target_meets(struct str target, struct str path, bool tree);

#endif
