/* The heap, for the few objects that live long (server, store, connections): memory that is used for one
 * request or one judgement comes from an arena (base/arena.h). Running out of memory ends the process:
 * everything that was acknowledged is durable, and a half-done operation is repeated by whoever asked. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

/* Zeroed, never NULL. */
void *heap_new(size_t bytes);
void *heap_grow(void *old, size_t bytes);
/* Zeroed pages of the system, outside the heap, at a multiple of `alignment` (a power of two, at least a page). */
void *heap_pages(size_t bytes, size_t alignment);
/* Gives the memory of these pages back to the system until they are written to again; their contents are lost. */
void heap_pages_idle(void *pages, size_t bytes);
void heap_pages_free(void *pages, size_t bytes);

#endif
