/* struct arena: memory that belongs to one lifetime (a request, a message, a batch of events).
 *
 * If a function takes an arena, its result lives there and nobody frees it. A zeroed arena is ready to
 * use. Small allocations never fail: out of memory ends the process, which our log makes safe. Sizes
 * that come from outside must meet a named limit before they reach an arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/heap.h"
#include "base/str.h"

#include <stddef.h>

struct arena_block;

/* Belongs to one thread at a time. A zeroed struct is an empty arena; arena_done makes it empty again. */
struct arena {
    struct arena_block *blocks;
    char *at;
    char *end;
};

/* From a block of its own when the last one has not more room than this. */
void *arena_alloc_more(struct arena *arena, size_t bytes);
char *arena_bytes_more(struct arena *arena, size_t bytes);

/* Zeroed, aligned for any type. Here, so that the compiler clears a struct of known size without a call. */
static inline void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t skew = (size_t)(-(uintptr_t)arena->at & 15), room = (size_t)(arena->end - arena->at);
    if (room < skew || room - skew <= bytes)
        return arena_alloc_more(arena, bytes);
    char *p = arena->at + skew;
    arena->at = p + bytes;
    return memset(p, 0, bytes);
}

void *arena_alloc_many(struct arena *arena, size_t bytes, size_t count);

/* Uninitialised bytes, aligned to nothing. */
static inline char *arena_bytes(struct arena *arena, size_t bytes)
{
    if ((size_t)(arena->end - arena->at) <= bytes)
        return arena_bytes_more(arena, bytes);
    char *p = arena->at;
    arena->at += bytes;
    return p;
}

/* A copy with a terminator after it (not counted in n). */
struct str arena_str(struct arena *arena, struct str s);
/* Replaces each text by a copy in the arena: ARENA_KEEP(arena, &ask->name, &ask->cwd). */
#define ARENA_KEEP(arena, ...) arena_keep((arena), (struct str *const[]){__VA_ARGS__, NULL})
void arena_keep(struct arena *arena, struct str *const texts[]);
/* A copy as of arena_str, with its ASCII letters in lower case. */
struct str arena_lower(struct arena *arena, struct str s);
struct str arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A copy of the bytes as a C string. */
const char *arena_c(struct arena *arena, struct str s);
/* Frees everything; the arena is ready to use again. */
void arena_done(struct arena *arena);
/* Frees an object of heap_new together with the arena in its member `arena`; NULL is none. */
#define arena_free(owner) ((owner) ? arena_free_with(&(owner)->arena, (owner)) : (void)0)
void arena_free_with(struct arena *arena, void *owner);
/* Moves everything to the caller and leaves the arena empty. */
struct arena arena_take(struct arena *arena);

/* A zeroed object in the first block of its own arena, which is its member `member`. The block has one of the sizes of
 * base/block.h. `arena_leave(owner->arena)` frees both. */
void *arena_home(size_t block_bytes, size_t bytes, size_t at);
#define ARENA_HOME(block_bytes, type, member) ((type *)arena_home((block_bytes), sizeof(type), offsetof(type, member)))
void arena_leave(struct arena arena);

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_array(arena, type, count) ((type *)arena_alloc_many((arena), sizeof(type), (count)))
/* `ARENA_SCOPE(a);` declares an arena that is given back at the end of the block. */
#define ARENA_SCOPE(name) __attribute__((cleanup(arena_done))) struct arena name = {0}

#endif
