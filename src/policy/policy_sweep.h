/* Files that a command reads and does not name, as `grep -r x src` or a pattern. Judging touches no disk, so the caller
 * of policy_judge looks whether one of them holds keys. */
#ifndef POLICY_POLICY_SWEEP_H
#define POLICY_POLICY_SWEEP_H

#include "base/str.h"

/* Which of them could hold keys: links (`*.md` may be one), files whose names do not begin with a dot, all. */
enum sweep_kind { SWEEP_NONE, SWEEP_LINKS, SWEEP_SHOWN, SWEEP_ALL };
enum { SWEEP_DEEP = 64 }; /* levels: everything below */

/* A pattern among the words of a command that reads, with or without a rule: a link that it may find counts as if it
 * were named. */
struct sweep_find {
    struct str pattern; /* for sweep_leads_away; not printable */
    struct str folder;  /* all that it may find is below */
    unsigned levels;    /* as in struct sweep */
    bool tree;          /* all that lies below what it may find is read, too, through links */
    bool away;          /* a link out of the session's folder counts (tree: out of `folder`), and one to .env */
    const struct str *stops; /* and one to what rules are against: absolute paths, with their wildcards */
    size_t stop_count;
};

/* The files to look at, as a folder and a depth: one sweep per call, the union of what its parts read. */
struct sweep {
    enum sweep_kind kind;
    struct str folder; /* all of them are below it */
    unsigned levels;   /* 1: the names in `folder` itself */
    struct str endings; /* "ts,tsx": only files whose names end so; empty: all */
    struct sweep_find *finds; /* besides, whatever `kind` is: the patterns whose links count */
    size_t find_count, find_room;
};

/* Whether the pattern may find the link `path`, and the link leads to a file that a rule is against, or (`away`) out of
 * the folder, whose real name is `root`, or to a file like .env, which a rule on a program does not open. */
bool sweep_leads_away(const struct sweep_find *find, struct str root, struct str path, struct str real);
/* Whether the pattern, which is no tree, may find names in the folder `path`, or behind the link. */
bool sweep_goes_on(const struct sweep_find *find, struct str path);

#endif
