/* A list of free blocks for each of the sizes, per thread (block.h). */
#include "base/block.h"

#include "base/heap.h"

#include <stdlib.h>

struct kept_block {
    struct kept_block *next;
};

static const size_t sizes[] = {BLOCK_FIRST_BYTES, BLOCK_SMALL_BYTES, BLOCK_REQUEST_BYTES, BLOCK_APPEND_BYTES,
                               BLOCK_LARGE_BYTES};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* As many as are in use while 64 calls wait to be committed; of the large ones, which nobody holds for long, fewer. */
static const unsigned kept_most[SIZES] = {64, 64, 64, 64, 16};
/* So many of each a thread keeps while it rests: one request, and what it hands on, need no more. */
enum { KEPT_AT_REST = 4 };

static _Thread_local struct {
    struct kept_block *free[SIZES];
    unsigned count[SIZES];
    bool on, many, taken; /* many: a list got longer than KEPT_AT_REST; taken: a kept block was, since block_rest */
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
    kept.taken = true;
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
    kept.many |= ++kept.count[list] > KEPT_AT_REST;
}

/* Switches keeping on; does nothing under a sanitizer, which has to see when a block is freed. */
void block_keep(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    kept.on = true;
#endif
}

static void free_beyond(unsigned count)
{
    for (unsigned list = 0; list < SIZES; list++)
        while (kept.count[list] > count)
            free(block_take(sizes[list]));
    kept.many = kept.taken = false;
}

bool block_many(void) { return kept.many; }

bool block_rest(void)
{
    bool rests = !kept.taken;
    if (rests)
        free_beyond(KEPT_AT_REST);
    kept.taken = false;
    return rests;
}

void block_release(void)
{
    kept.on = false;
    free_beyond(0);
}
