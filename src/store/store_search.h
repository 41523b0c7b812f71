/* A full-text index over calls and their answers. Part of store.h.
 *
 * It lies in a file of its own, whichever backend keeps the events, and is derived from them: whoever searches brings
 * it up to date first, so no append pays for it. It may be deleted at any time, and a file that is damaged, of another
 * version or of another history is made anew.
 *
 * It knows which groups of three characters (folded to small letters) each text has. So it finds every call that has
 * the text, and some that do not: the receiver compares. Blocking; one opening of a file at a time.
 */
#ifndef STORE_STORE_SEARCH_H
#define STORE_STORE_SEARCH_H

#include "base/arena.h"
#include "base/err.h"

struct event;
struct search_hit;
struct search_index;

enum { SEARCH_CHARACTERS_MIN = 3 };

struct rc search_index_open(const char *path, struct search_index **ret_index, struct err *err);
void search_index_close(struct search_index *index);
/* The seq of the last event that is in the index; 0: none. */
uint64_t search_index_last(const struct search_index *index);
/* Adds TOOL_CALL and TOOL_APPROVAL_RESPONSE events, in the order of seq. Unless the index is empty, the first must be
 * the last one that is in it: when it is not, the index is emptied, and *ret_same is false. */
struct rc search_index_add(struct search_index *index, const struct event *events, size_t count, bool *ret_same,
                           struct err *err);
/* Calls that may have `text` and were made before the seq `before` (0: all), newest first, at most `max`. */
struct rc search_index_find(struct search_index *index, struct arena *arena, struct str text, uint64_t before,
                            size_t max, struct search_hit **ret_hits, size_t *ret_count, struct err *err);

#endif
