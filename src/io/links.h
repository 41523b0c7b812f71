/* Where a path leads when its links are followed. The loop may call these: what lies on a mount that does not answer
 * (far.h) keeps it waiting for a moment only, and counts as what cannot be looked at. */
#ifndef IO_LINKS_H
#define IO_LINKS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <sys/stat.h>

/* Resolves the links of an absolute path as the kernel does: link by link, `..` relative to a link's target. A part
 * that does not exist is kept as written, also behind a broken link. Empty when links form a circle. */
struct str links_follow(struct arena *arena, struct str path);
/* As stat(); errno is ETIMEDOUT when the place did not answer. */
bool links_stat(struct arena *arena, struct str path, struct stat *ret_stat);
/* As lstat(); errno as above. */
bool links_lstat(struct arena *arena, struct str path, struct stat *ret_stat);
/* Makes a folder and its parents, for its owner alone. That it was not made shows when it is looked at. */
void links_make_folder(struct arena *arena, struct str path);
/* As file_read; ERR_TIMEOUT when the place did not answer. */
struct rc links_read(struct arena *arena, const char *path, size_t bytes_max, struct str *ret_text, struct err *err);
/* Whether the path leads to something that exists, whether that is a regular file, and one with a second name (a hard
 * link). */
bool links_reach(struct arena *arena, struct str path, bool *ret_file, bool *ret_shared);

/* A search for a file below a folder. */
struct links_search {
    struct arena *arena;
    bool (*wanted)(const void *arg, struct str path, struct str real); /* `real`: where a link leads, else `path` */
    const void *arg;
    /* Copies `arg` for a thread that may look on when nobody waits any more; NULL: `wanted` does not use it. */
    const void *(*keep)(struct arena *arena, const void *arg);
    /* Whether a name is looked at, and what lies below it, also behind a link and in folders of tools; NULL: all names,
     * and all folders but those of tools, through no link. */
    bool (*enters)(const void *arg, struct str path);
    unsigned levels; /* how deep; 1: the folder itself */
    bool whole;      /* all below the folder is meant: what lies deeper counts as not looked at */
    size_t entries;  /* names that may still be read */
    bool gave_up;    /* there were more names or levels, or a folder that cannot be read */
};

/* A wanted file; empty: none. When it gives up, the folder it came to. Folders of tools (node_modules) are
 * left out, links of their names are not. */
struct str links_find(struct links_search *search, struct str folder);

/* Whether the last name of the path is that of such a folder, as of a link to a node_modules elsewhere. */
bool links_is_of_tool(struct str path);

#endif
