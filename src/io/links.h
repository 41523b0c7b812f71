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

/* Finds a file below the folder, at most `levels` deep, for which `wanted` is true; empty: none. `real` is where a link
 * leads, else the same path. Reads at most `entries` names; when there are more, returns the folder it came to. */
struct str links_find(struct arena *arena, struct str folder, unsigned levels, size_t *entries,
                      bool (*wanted)(struct str path, struct str real));

#endif
