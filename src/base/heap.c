/* Allocation that cannot fail (heap.h). */
#include "base/heap.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void out_of_memory(void)
{
    (void)fputs("nod: out of memory\n", stderr);
    abort();
}

void *heap_new(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *heap_grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *heap_aligned(size_t alignment, size_t bytes)
{
    void *p = aligned_alloc(alignment, bytes);
    if (!p)
        out_of_memory();
    return p;
}
