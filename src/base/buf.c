/* A growing buffer with a limit (buf.h). Beyond the limit nothing more is added and `over` stays set, so that
 * callers check once at the end. */
#include "base/buf.h"

#include "base/arena.h"
#include "base/block.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

void buf_done(struct buf *buf)
{
    block_give(buf->p, buf->cap);
    *buf = (struct buf){.max = buf->max};
}

/* Most of what is written fits into the first block, or grows once. A small limit gets a small one. */
static void grow(struct buf *buf, size_t want)
{
    enum { FEW_BYTES = 250 };
    bool in_block = buf->cap == BLOCK_SMALL_BYTES;
    size_t cap = buf->cap ? buf->cap : buf->max < FEW_BYTES ? FEW_BYTES : BLOCK_SMALL_BYTES;
    while (cap < want + 1)
        cap = cap == BLOCK_SMALL_BYTES ? BLOCK_LARGE_BYTES : cap * 2;
    char *p = in_block || !buf->p ? block_take(cap) : heap_grow(buf->p, cap);
    if (in_block) {
        memcpy(p, buf->p, buf->n);
        block_give(buf->p, BLOCK_SMALL_BYTES);
    }
    buf->p = p;
    buf->cap = cap;
    buf->end = cap - 1 < buf->max ? cap - 1 : buf->max;
}

/* Room for `bytes` more and a terminator; NULL when that would be beyond the limit. */
static __attribute__((noinline)) char *more_room(struct buf *buf, size_t bytes)
{
    if (buf->over || bytes > buf->max || buf->n > buf->max - bytes) {
        buf->over = true;
        buf->end = 0;
        return NULL;
    }
    size_t want = buf->n + bytes;
    if (want + 1 > buf->cap)
        grow(buf, want);
    return buf->p + buf->n;
}

static inline char *room(struct buf *buf, size_t bytes)
{
    size_t want;
    bool fits = !__builtin_add_overflow(buf->n, bytes, &want) && want <= buf->end;
    return fits && buf->p ? buf->p + buf->n : more_room(buf, bytes);
}

char *buf_room(struct buf *buf, size_t bytes) { return room(buf, bytes); }

void buf_put(struct buf *buf, struct str s)
{
    char *to = room(buf, s.n);
    if (to && s.n) {
        memcpy(to, s.p, s.n);
        buf->n += s.n;
    }
}

void buf_put_all(struct buf *buf, const struct str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_put(buf, texts[i]);
}

void buf_puts(struct buf *buf, const char *c) { buf_put(buf, str_of(c)); }

void buf_putc(struct buf *buf, char c)
{
    char *to = room(buf, 1);
    if (to) {
        *to = c;
        buf->n++;
    }
}

/* For a shell: in single quotes. */
void buf_put_quoted(struct buf *buf, struct str word)
{
    buf_putc(buf, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_puts(buf, "'\\''");
        else
            buf_putc(buf, word.p[i]);
    }
    buf_putc(buf, '\'');
}

/* Formats twice: once for the length, once into the room. Beyond the limit nothing is written and `over` is set. */
void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(n >= 0);
    char *to = buf_room(buf, (size_t)n);
    if (to) {
        (void)vsnprintf(to, (size_t)n + 1, format, again);
        buf->n += (size_t)n;
    }
    va_end(again);
}

void buf_u64(struct buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_put(buf, (struct str){digits + at, sizeof digits - at});
}

void buf_i64(struct buf *buf, int64_t value)
{
    if (value < 0)
        buf_putc(buf, '-');
    buf_u64(buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void buf_drop(struct buf *buf, size_t bytes)
{
    CHECK(bytes <= buf->n);
    if (bytes && bytes < buf->n)
        memmove(buf->p, buf->p + bytes, buf->n - bytes);
    buf->n -= bytes;
}

const char *buf_c(struct buf *buf)
{
    if (!buf->p)
        return "";
    buf->p[buf->n] = '\0';
    return buf->p;
}
