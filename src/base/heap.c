/* Allocation that cannot fail (heap.h). */
#include "base/heap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* More is asked for than is wanted, and both ends given back. Huge pages would make all of it resident at once. */
void *heap_pages(size_t bytes, size_t alignment)
{
    char *p = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        out_of_memory();
    size_t before = (alignment - (uintptr_t)p % alignment) % alignment;
    if (before)
        (void)munmap(p, before);
    (void)munmap(p + before + bytes, alignment - before);
#ifdef MADV_NOHUGEPAGE
    (void)madvise(p + before, bytes, MADV_NOHUGEPAGE);
#endif
    return p + before;
}

void heap_pages_idle(void *pages, size_t bytes) { (void)madvise(pages, bytes, MADV_DONTNEED); }

void heap_pages_free(void *pages, size_t bytes) { (void)munmap(pages, bytes); }
