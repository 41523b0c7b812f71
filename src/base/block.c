/* A list of free blocks for each of the two sizes, per thread (block.h). */
#include "base/block.h"

#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>

enum { KEPT_MOST = 8 };

struct kept_block {
    struct kept_block *next;
};

static _Thread_local struct {
    struct kept_block *free[2];
    unsigned count[2];
    bool on;
} kept;

/* 0 or 1: which list; 2: neither. */
static unsigned list_of(size_t bytes)
{
    return bytes == BLOCK_SMALL_BYTES ? 0 : bytes == BLOCK_LARGE_BYTES ? 1 : 2;
}

void *block_take(size_t bytes)
{
    unsigned list = list_of(bytes);
    struct kept_block *block = list < 2 ? kept.free[list] : NULL;
    if (!block)
        return heap_grow(NULL, bytes);
    kept.free[list] = block->next;
    kept.count[list]--;
    return block;
}

void block_give(void *p, size_t bytes)
{
    unsigned list = list_of(bytes);
    struct kept_block *block = p;
    if (!block || list == 2 || !kept.on || kept.count[list] == KEPT_MOST) {
        free(p);
        return;
    }
    block->next = kept.free[list];
    kept.free[list] = block;
    kept.count[list]++;
}

/* Not under a sanitizer, which has to see when a block is freed. */
void block_keep(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    kept.on = true;
#endif
}

void block_release(void)
{
    kept.on = false;
    for (unsigned list = 0; list < 2; list++)
        while (kept.count[list])
            free(block_take(list ? BLOCK_LARGE_BYTES : BLOCK_SMALL_BYTES));
}
