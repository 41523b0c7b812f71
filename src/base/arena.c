/* Blocks of memory that are freed together (arena.h). The first block is small, because most arenas stay small, and so
 * is the second, because that of a request lives as long as its agent waits; a large request gets a block of its own
 * size. */
#include "base/arena.h"

#include "base/block.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    size_t bytes;
    _Alignas(16) char data[];
};

enum {
    BLOCK_BYTES_MIN = BLOCK_FIRST_BYTES - sizeof(struct arena_block),
    BLOCK_BYTES_SECOND = BLOCK_SMALL_BYTES - sizeof(struct arena_block),
    BLOCK_BYTES_USUAL = BLOCK_LARGE_BYTES - sizeof(struct arena_block),
};

static void add_block(struct arena *arena, size_t bytes)
{
    size_t size = !arena->blocks ? BLOCK_BYTES_MIN : arena->blocks->next ? BLOCK_BYTES_USUAL : BLOCK_BYTES_SECOND;
    if (size < bytes)
        size = bytes;
    struct arena_block *block = block_take(sizeof *block + size);
    block->next = arena->blocks;
    block->bytes = size;
    arena->blocks = block;
    arena->at = block->data;
    arena->end = block->data + size;
}

/* Not aligned and not zeroed: for texts. */
char *arena_bytes_more(struct arena *arena, size_t bytes)
{
    CHECK(bytes <= SIZE_MAX / 4);
    if (!arena->blocks || (size_t)(arena->end - arena->at) < bytes)
        add_block(arena, bytes);
    char *p = arena->at;
    arena->at += bytes;
    return p;
}

/* Aligned to 16 bytes and zeroed: for structs. The first byte of a block is aligned. */
void *arena_alloc_more(struct arena *arena, size_t bytes)
{
    CHECK(bytes <= SIZE_MAX / 4);
    size_t skew = (size_t)(-(uintptr_t)arena->at & 15);
    if (!arena->blocks || (size_t)(arena->end - arena->at) < skew + bytes) {
        add_block(arena, bytes);
        skew = 0;
    }
    char *p = arena->at + skew;
    arena->at = p + bytes;
    return memset(p, 0, bytes);
}

void *arena_alloc_many(struct arena *arena, size_t bytes, size_t count)
{
    size_t all;
    CHECK(!__builtin_mul_overflow(bytes, count, &all));
    return arena_alloc(arena, all);
}

static __attribute__((noinline)) struct str str_where_no_room_is(struct arena *arena, struct str s)
{
    char *p = arena_bytes_more(arena, s.n + 1);
    p[s.n] = '\0';
    return (struct str){s.n ? memcpy(p, s.p, s.n) : p, s.n};
}

/* Mostly there is room: then nothing is called but memcpy, behind which nothing is left to do. */
struct str arena_str(struct arena *arena, struct str s)
{
    char *p = arena->at;
    if ((size_t)(arena->end - p) <= s.n + 1 || !s.n)
        return str_where_no_room_is(arena, s);
    arena->at = p + s.n + 1;
    p[s.n] = '\0';
    return (struct str){memcpy(p, s.p, s.n), s.n};
}

void arena_keep(struct arena *arena, struct str *const texts[])
{
    for (; *texts; texts++)
        **texts = arena_str(arena, **texts);
}

struct str arena_lower(struct arena *arena, struct str s)
{
    char *to = arena_bytes(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++)
        to[i] = str_lower(s.p[i]);
    return (struct str){to, s.n};
}

const char *arena_c(struct arena *arena, struct str s) { return arena_str(arena, s).p; }

/* Formats into the rest of the block first, and only again when it did not fit. */
struct str arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = arena->blocks ? (size_t)(arena->end - arena->at) : 0;
    int n = vsnprintf(room ? arena->at : NULL, room, format, args); /* it mostly fits */
    va_end(args);
    CHECK(n >= 0);
    char *p = arena_bytes(arena, (size_t)n + 1);
    if ((size_t)n >= room)
        (void)vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return (struct str){p, (size_t)n};
}

/* Safe to call twice, and on an arena that was never used. Nothing that it gave out may be used afterwards. */
void arena_done(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        block_give(block, sizeof *block + block->bytes);
        block = next;
    }
    *arena = (struct arena){0};
}

void arena_free_with(struct arena *arena, void *owner)
{
    arena_done(arena);
    free(owner);
}

void *arena_home(size_t block_bytes, size_t bytes, size_t at)
{
    struct arena arena = {0};
    add_block(&arena, block_bytes - sizeof(struct arena_block));
    char *owner = arena_alloc(&arena, bytes);
    memcpy(owner + at, &arena, sizeof arena);
    return owner;
}

void arena_leave(struct arena arena) { arena_done(&arena); }

struct arena arena_take(struct arena *arena)
{
    struct arena taken = *arena;
    *arena = (struct arena){0};
    return taken;
}
