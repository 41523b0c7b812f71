/* Where a path leads when its links are followed. */
#ifndef IO_LINKS_H
#define IO_LINKS_H

#include "base/arena.h"
#include "base/str.h"

/* Resolves the links of an absolute path as the kernel does: link by link, `..` relative to a link's target. A part
 * that does not exist is kept as written, also behind a broken link. Empty when links form a circle. */
struct str links_follow(struct arena *arena, struct str path);
/* Whether the path leads to something that exists, whether that is a regular file, and one with a second name (a hard
 * link). */
bool links_reach(struct arena *arena, struct str path, bool *ret_file, bool *ret_shared);

/* A search for a file below a folder. */
struct links_search {
    struct arena *arena;
    bool (*wanted)(void *arg, struct str path, struct str real); /* `real`: where a link leads, else the same path */
    void *arg;
    unsigned levels; /* how deep; 1: the folder itself */
    bool whole;      /* all below the folder is meant: what lies deeper counts as not looked at */
    size_t entries;  /* names that may still be read */
    bool gave_up;    /* there were more names or levels, or a folder that cannot be read */
};

/* A wanted file; empty: none. When it gives up, the folder it came to. Folders of tools (node_modules) are left out. */
struct str links_find(struct links_search *search, struct str folder);

#endif
