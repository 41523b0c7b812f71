/* struct str: a view of bytes, passed by value, owned by nobody here.
 *
 * It may hold any byte, NUL included, and is not terminated. `str_c` at the border to the operating
 * system is the only way to a C string.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/any.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Does not own its bytes and is not terminated. A NULL pointer means "not there", which differs from an empty
 * text. */
struct str {
    const char *p;
    size_t n;
};

/* A string literal as a view. */
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_NONE ((struct str){0})
/* For "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *c)
{
    return c ? (struct str){c, strlen(c)} : (struct str){0};
}

/* The empty view has a NULL pointer, and adding zero to NULL is undefined. */
static inline struct str str_sub(struct str s, size_t from, size_t to)
{
    return (struct str){from ? s.p + from : s.p, to - from};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *c) { return str_eq(a, str_of(c)); }
static inline bool str_empty(struct str s) { return s.n == 0; }
/* These know ASCII alone. */
static inline char str_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
static inline bool str_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool str_digit(char c) { return c >= '0' && c <= '9'; }

/* The index of the word that is equal to `s`; `count` when there is none. */
size_t str_index(struct str s, const char *const words[], size_t count);
/* Whether it is one of the words of an array. */
#define STR_IN(s, words) \
    (str_index(s, words, sizeof(words) / sizeof *(words)) < sizeof(words) / sizeof *(words))

/* Inline, because where the other text is a literal the compiler compares its bytes without a call. */
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* ASCII letters compared without regard to case. */
bool str_same_letters(struct str a, struct str b);
int str_cmp(struct str a, struct str b);
/* The index of the first `c`, or s.n. */
static inline size_t str_find(struct str s, char c)
{
    const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;
    return hit ? (size_t)(hit - s.p) : s.n;
}

bool str_has(struct str s, struct str part);
struct str str_trim(struct str s);
/* Splits at the first `c`: what is before it is returned, `*rest` is what follows (empty when none). */
static inline struct str str_cut(struct str s, char c, struct str *rest)
{
    size_t at = str_find(s, c);
    *rest = at < s.n ? str_sub(s, at + 1, s.n) : (struct str){0};
    return str_sub(s, 0, at);
}

/* Each part of `rest`, a variable that is empty in the end: STR_EACH(line, text, '\n') { … } */
#define STR_EACH(part, rest, c) \
    for (struct str part; !str_empty(rest) && (part = str_cut((rest), (c), &(rest)), true);)
/* Copies the bytes to *at, moves it behind them, and returns the copy. */
static inline struct str str_pack(char **at, struct str s)
{
    struct str packed = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return packed;
}

/* A decimal number without sign or blanks; false when it is none or does not fit. */
bool str_to_u64(struct str s, uint64_t *ret_value);
/* Copies into `out` with a terminator; false when it does not fit or holds a NUL. */
bool str_c(struct str s, char *out, size_t out_bytes);

/* How many letters must be changed, added, left out or exchanged with the next to make one of the other, without regard
 * to case; STR_FAR when one of them is too long. */
unsigned str_distance(struct str a, struct str b);
enum { STR_FAR = 100 };

#endif
