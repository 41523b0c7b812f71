/* A list of free blocks for each of the sizes, per thread (block.h). */
#include "base/block.h"

#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>

struct kept_block {
    struct kept_block *next;
};

static const size_t sizes[] = {BLOCK_FIRST_BYTES, BLOCK_SMALL_BYTES, BLOCK_REQUEST_BYTES, BLOCK_APPEND_BYTES,
                               BLOCK_LARGE_BYTES};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* As many as are in use while 64 calls wait to be committed; of the large ones fewer, because of their size. */
static const unsigned kept_most[SIZES] = {64, 64, 64, 16, 16};

static _Thread_local struct {
    struct kept_block *free[SIZES];
    unsigned count[SIZES];
    bool on;
} kept;

/* Which list; SIZES: none. */
static unsigned list_of(size_t bytes)
{
    switch (bytes) {
    case BLOCK_FIRST_BYTES: return 0;
    case BLOCK_SMALL_BYTES: return 1;
    case BLOCK_REQUEST_BYTES: return 2;
    case BLOCK_APPEND_BYTES: return 3;
    case BLOCK_LARGE_BYTES: return 4;
    default: return SIZES;
    }
}

void *block_take(size_t bytes)
{
    unsigned list = list_of(bytes);
    struct kept_block *block = list < SIZES ? kept.free[list] : NULL;
    if (!block)
        return heap_grow(NULL, bytes);
    kept.free[list] = block->next;
    kept.count[list]--;
    return block;
}

void block_give(void *p, size_t bytes)
{
    struct kept_block *block = p;
    if (!block)
        return;
    unsigned list = list_of(bytes);
    if (list == SIZES || !kept.on || kept.count[list] == kept_most[list]) {
        free(p);
        return;
    }
    block->next = kept.free[list];
    kept.free[list] = block;
    kept.count[list]++;
}

/* Switches keeping on; does nothing under a sanitizer, which has to see when a block is freed. */
void block_keep(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    kept.on = true;
#endif
}

void block_release(void)
{
    kept.on = false;
    for (unsigned list = 0; list < SIZES; list++)
        while (kept.count[list])
            free(block_take(sizes[list]));
}
