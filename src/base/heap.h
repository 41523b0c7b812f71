#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

/* The heap, for the few long-lived objects: zeroed, never NULL. */
void *heap_new(size_t bytes);
void *heap_grow(void *old, size_t bytes);
/* The memory is not zeroed. */
void *heap_aligned(size_t alignment, size_t bytes);

#endif
