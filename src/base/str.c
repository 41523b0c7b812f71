/* Views of bytes (str.h); nothing here allocates. */
#include "base/str.h"

/* The first byte is the same; most such words differ in the second, which an empty one does not have. */
static inline bool is_word(struct str s, const char *word)
{
    return word[0] && (s.n < 2 || word[1] == s.p[1]) && strlen(word) == s.n && memcmp(word, s.p, s.n) == 0;
}

size_t str_index(struct str s, const char *const words[], size_t count)
{
    size_t i = 0;
    if (str_empty(s)) {
        while (i < count && words[i] && words[i][0])
            i++;
        return i;
    }
    char first = s.p[0]; /* compared first: it tells nearly all words apart */
    while (i < count && (!words[i] || words[i][0] != first || !is_word(s, words[i])))
        i++;
    return i;
}

/* Eight bytes at once: they may differ in the bit of the case only, and only where it is that of a letter. */
static bool same_eight(const char *a, const char *b)
{
    const uint64_t each = 0x0101010101010101;
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x == y)
        return true;
    uint64_t differ = x ^ y, lower = x | each * 0x20, low = lower & each * 0x7f;
    uint64_t from_a = low + each * (0x80 - 'a'), above_z = low + each * (0x7f - 'z');
    uint64_t letters = from_a & ~above_z & ~lower & each * 0x80;
    return !(differ & ~(each * 0x20)) && !(differ << 2 & ~letters);
}

bool str_same_letters(struct str a, struct str b)
{
    size_t i = 0;
    if (a.n != b.n)
        return false;
    if (a.n >= 8) {
        for (; i + 8 < a.n; i += 8)
            if (!same_eight(a.p + i, b.p + i))
                return false;
        return same_eight(a.p + a.n - 8, b.p + a.n - 8);
    }
    for (; i < a.n; i++)
        if (a.p[i] != b.p[i] && str_lower(a.p[i]) != str_lower(b.p[i]))
            return false;
    return true;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order != 0)
        return order;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool str_has(struct str s, struct str part)
{
    return part.n == 0 || (s.n >= part.n && memmem(s.p, s.n, part.p, part.n) != NULL);
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct str str_trim(struct str s)
{
    while (s.n && blank(s.p[0]))
        s = str_sub(s, 1, s.n);
    while (s.n && blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool str_c(struct str s, char *out, size_t out_bytes)
{
    if (s.n >= out_bytes || (s.n && memchr(s.p, '\0', s.n)))
        return false;
    if (s.n)
        memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

enum { DISTANCE_BYTES_MAX = 64 };

unsigned str_distance(struct str a, struct str b)
{
    unsigned rows[3][DISTANCE_BYTES_MAX + 1];
    if (a.n > DISTANCE_BYTES_MAX || b.n > DISTANCE_BYTES_MAX)
        return STR_FAR;
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = str_lower(a.p[i - 1]), y = str_lower(b.p[j - 1]);
            unsigned best = before[j - 1] + (x != y);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            bool swapped = i > 1 && j > 1 && x == str_lower(b.p[j - 2]) && str_lower(a.p[i - 2]) == y;
            if (swapped && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a.n % 3][b.n];
}
