/* Blocks for what is used for a moment: an arena of one request, a text that is being written. malloc is slow for these
 * sizes, so a thread that has called block_keep (the loop's) keeps some that it gave back, 0.8 MB of them at
 * most, until it rests. Only arenas and buffers use this; everybody else uses those. */
#ifndef BASE_BLOCK_H
#define BASE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* The sizes that are kept; a block of any other size is malloc's. */
enum {
    BLOCK_FIRST_BYTES = 1016,
    BLOCK_SMALL_BYTES = 2032,
    BLOCK_REQUEST_BYTES = 1448, /* a request as long as it waits */
    BLOCK_APPEND_BYTES = 6128,  /* an append with the events of a call of 1 KB */
    BLOCK_LARGE_BYTES = 8208,
};

/* Not zeroed, never NULL. */
void *block_take(size_t bytes);
/* `bytes` as it was taken. NULL is fine. */
void block_give(void *block, size_t bytes);
/* From now on this thread keeps blocks; it must call block_release before it ends. */
void block_keep(void);
/* Whether this thread keeps more than a few blocks. */
bool block_many(void);
/* Of a thread with many, now and then: frees all but a few of them, unless one was taken since the last time. Returns
 * whether it did. */
bool block_rest(void);
/* Frees what this thread has kept; it keeps no more. */
void block_release(void);

#endif
