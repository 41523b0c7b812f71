/* The heap, for the few objects that live long (server, store, connections): memory that is used for one
 * request or one judgement comes from an arena (base/arena.h). Running out of memory ends the process:
 * everything that was acknowledged is durable, and a half-done operation is repeated by whoever asked. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

/* Zeroed, never NULL. */
void *heap_new(size_t bytes);
void *heap_grow(void *old, size_t bytes);
/* The memory is not zeroed. */
void *heap_aligned(size_t alignment, size_t bytes);

#endif
