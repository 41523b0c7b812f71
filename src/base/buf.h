/* struct buf: bytes that grow up to a ceiling.
 *
 * A buffer knows the most it may ever hold. Appending beyond that does nothing and is remembered, so
 * that one look at `over` at the end suffices. A zeroed buffer has no room: start with `buf_init`.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

/* Owned by whoever initialized it: BUF_SCOPE frees it at the end of the block, buf_done does it by hand. */
struct buf {
    char *p;
    size_t n;
    size_t cap;
    size_t max;
    size_t end; /* up to here it may be filled as it is: within cap, with a terminator, and max; 0: once it was over */
    bool over;
};

static inline struct buf buf_init(size_t bytes_max) { return (struct buf){.max = bytes_max}; }
void buf_done(struct buf *buf);
#define BUF_SCOPE(name, bytes_max) \
    __attribute__((cleanup(buf_done))) struct buf name = buf_init(bytes_max)

void buf_put(struct buf *buf, struct str s);
/* Several texts, one behind the other: BUF_ADD(&buf, name, STR(": "), value). */
#define BUF_ADD(buf, ...) \
    buf_put_all((buf), (const struct str[]){__VA_ARGS__}, \
                sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
void buf_put_all(struct buf *buf, const struct str *texts, size_t count);
void buf_puts(struct buf *buf, const char *c);
void buf_putc(struct buf *buf, char c);
/* Appends the text as one word of a POSIX shell, in single quotes. */
void buf_put_quoted(struct buf *buf, struct str word);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_u64(struct buf *buf, uint64_t value);
void buf_i64(struct buf *buf, int64_t value);
/* Makes room for `bytes` more and returns where they go (NULL when over the ceiling); commit with n +=. */
char *buf_room(struct buf *buf, size_t bytes);
/* Drops the first `bytes`. */
void buf_drop(struct buf *buf, size_t bytes);
static inline void buf_clear(struct buf *buf) { buf->n = 0; buf->over = false; }
static inline struct str buf_str(const struct buf *buf) { return (struct str){buf->p, buf->n}; }
/* The content as a C string, valid until the next change. */
const char *buf_c(struct buf *buf);

#endif
