/* UTF-8, checked strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/buf.h"
#include "base/str.h"

#include <endian.h>
#include <stdint.h>

/* The length of the valid sequence at the start of `s`, 0 when there is none. */
size_t utf8_valid_one(struct str s);
bool utf8_valid(struct str s);
/* The start of the text, at most `bytes` long; no character is cut in two. */
struct str utf8_start(struct str s, size_t bytes);
/* How many bytes at the start are printable ASCII and neither quote nor backslash: what JSON copies as it is. */
size_t utf8_plain(struct str s);
/* The same, and copies them. `to` has room for all of `s`: what lies behind the plain bytes may be written to. */
static inline size_t utf8_copy_plain(char *to, struct str s);
/* Whether all of it is visible ASCII, blanks, tabs and newlines. */
bool utf8_only_seen(struct str s);
/* Writes 1 to 4 bytes and returns how many. */
size_t utf8_encode(uint32_t code, char *to);
/* Decodes the sequence at the start; 0 bytes taken when it is invalid. */
size_t utf8_decode(struct str s, uint32_t *ret_code);
/* Characters that hide or reorder text: C0 and C1 controls except tab and newline, DEL, bidi controls,
 * zero-width, variation-free tag characters, line and paragraph separators. */
bool utf8_hidden(uint32_t code);
/* Text from outside, fit for a terminal or a log line: hidden characters and invalid bytes are shown as
 * <U+202E> or <0x1B>; newline and tab stay when `lines` is true and are shown otherwise. */
void utf8_show(struct buf *buf, struct str s, bool lines);

/* ---- sixteen bytes at once, here so that a loop over pieces of text calls nothing ---- */

/* The compiler's vectors; the signed comparison takes bytes from 0x80 on for negative. */
typedef signed char utf8_sixteen __attribute__((vector_size(16)));

/* How many of 16 bytes stand before the first for which a comparison held: 16 when there is none. */
static inline size_t utf8_first_of_16(utf8_sixteen held)
{
#ifdef __SSE2__
    return (size_t)__builtin_ctz((unsigned)__builtin_ia32_pmovmskb128((char __attribute__((vector_size(16))))held) |
                                 1u << 16);
#else
    uint64_t half[2];
    memcpy(half, &held, sizeof half);
    if (half[0])
        return (size_t)__builtin_ctzll(htole64(half[0])) / 8;
    return 8 + (half[1] ? (size_t)__builtin_ctzll(htole64(half[1])) / 8 : 8);
#endif
}

/* Bit n: the comparison held for byte n. */
static inline unsigned utf8_bits_of_16(utf8_sixteen held)
{
#ifdef __SSE2__
    return (unsigned)__builtin_ia32_pmovmskb128((char __attribute__((vector_size(16))))held);
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < 16; i++)
        bits |= (unsigned)(held[i] & 1) << i;
    return bits;
#endif
}

static inline utf8_sixteen utf8_load_16(const char *p)
{
    utf8_sixteen bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

/* Which of 16 bytes are not plain. One more than 0x7f is negative, too. */
static inline utf8_sixteen utf8_not_plain(utf8_sixteen bytes)
{
    utf8_sixteen more = (utf8_sixteen)((unsigned char __attribute__((vector_size(16))))bytes + 1);
    return (utf8_sixteen)((more < 0x21) | (bytes == '"') | (bytes == '\\'));
}

/* Copies 32 bytes; bit n: byte n is not plain. */
static inline uint32_t utf8_copy_32(char *to, const char *from)
{
    utf8_sixteen first = utf8_load_16(from), second = utf8_load_16(from + 16);
    memcpy(to, &first, 16);
    memcpy(to + 16, &second, 16);
    return utf8_bits_of_16(utf8_not_plain(first)) | (uint32_t)utf8_bits_of_16(utf8_not_plain(second)) << 16;
}

/* How many of 16 bytes stand before the first that is not plain. */
static inline size_t utf8_plain_of_16(utf8_sixteen bytes) { return utf8_first_of_16(utf8_not_plain(bytes)); }

/* The first and the last `bytes` of a text that is shorter than 16; they overlap where it is shorter than both. */
static inline utf8_sixteen utf8_load_ends(struct str s, size_t bytes)
{
    utf8_sixteen ends = (utf8_sixteen){0} + ' ';
    memcpy(&ends, s.p, bytes);
    memcpy((char *)&ends + bytes, s.p + s.n - bytes, bytes);
    return ends;
}

/* How many bytes of a text that is shorter than 16 are plain; eight or four at each end are looked at together. */
static inline size_t utf8_plain_short(struct str s)
{
    size_t half = s.n >= 8 ? 8 : 4, i = 0;
    if (s.n >= 4) {
        size_t n = half == 8 ? utf8_plain_of_16(utf8_load_ends(s, 8)) : utf8_plain_of_16(utf8_load_ends(s, 4));
        return n < half ? n : n < 2 * half ? s.n - 2 * half + n : s.n;
    }
    for (; i < s.n; i++) {
        signed char c = (signed char)s.p[i];
        if (c < ' ' || c == '"' || c == '\\' || c == 0x7f)
            break;
    }
    return i;
}

static inline void utf8_copy_short(char *to, struct str s)
{
    if (s.n >= 8) {
        memcpy(to, s.p, 8);
        memcpy(to + s.n - 8, s.p + s.n - 8, 8);
    } else if (s.n >= 4) {
        memcpy(to, s.p, 4);
        memcpy(to + s.n - 4, s.p + s.n - 4, 4);
    } else {
        for (size_t i = 0; i < s.n; i++)
            to[i] = s.p[i];
    }
}

__attribute__((always_inline)) static inline size_t utf8_copy_plain(char *to, struct str s)
{
    size_t i = 0;
    for (; s.n - i >= 16; i += 16) {
        utf8_sixteen bytes = utf8_load_16(s.p + i);
        memcpy(to + i, &bytes, 16);
        size_t n = utf8_plain_of_16(bytes);
        if (n < 16)
            return i + n;
    }
    if (i == s.n)
        return i;
    if (i) { /* the last 16 overlap those before, which are plain */
        utf8_sixteen bytes = utf8_load_16(s.p + s.n - 16);
        memcpy(to + s.n - 16, &bytes, 16);
        return s.n - 16 + utf8_plain_of_16(bytes);
    }
    utf8_copy_short(to, s);
    return utf8_plain_short(s);
}

#endif
