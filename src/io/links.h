/* Where a path leads when its links are followed. */
#ifndef IO_LINKS_H
#define IO_LINKS_H

#include "base/arena.h"
#include "base/str.h"

/* `path` is absolute. As the kernel would go: link by link, `..` from where a link has led. What does not exist
 * (yet) is kept as it is written, also behind a link to nowhere. Empty when links lead in a circle. */
struct str links_follow(struct arena *arena, struct str path);
/* Whether the path leads to something that exists, and whether that is a file with a second name (a hard link). */
bool links_reach(struct arena *arena, struct str path, bool *ret_shared);

/* A file below the folder, at most `levels` deep, that is `wanted` by its path: its path, or empty. Looks at no more
 * than `entries` names; when there are more, the folder itself is returned. */
struct str links_find(struct arena *arena, struct str folder, unsigned levels, size_t *entries,
                      bool (*wanted)(struct str path));

#endif
