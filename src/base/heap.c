/* Allocation that cannot fail (heap.h). */
#include "base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
    (void)fputs("nod: out of memory\n", stderr);
    abort();
}

/* A small block is cleared here: glibc's calloc does not look at what the thread has just freed, malloc does. */
void *heap_new(size_t bytes)
{
    enum { SMALL_BYTES = 1024 };
    void *p = bytes <= SMALL_BYTES ? malloc(bytes ? bytes : 1) : calloc(1, bytes);
    if (!p)
        out_of_memory();
    return bytes <= SMALL_BYTES ? memset(p, 0, bytes) : p;
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
