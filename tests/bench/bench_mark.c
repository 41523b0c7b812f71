#include "bench/bench_mark.h"

#include "base/err.h"
#include "bench/bench_wire.h"

struct mark mark_of_round(char text[MARK_BYTES], uint32_t round)
{
    text[0] = '~';
    digits_put(text + 1, round);
    return (struct mark){{text, MARK_BYTES}, true};
}

/* Where it goes on after a byte that does not fit, or NULL: nothing of it is in the rest. */
static const char *skip_to(const char *p, const char *end, char byte)
{
    return p < end ? memchr(p, byte, (size_t)(end - p)) : NULL;
}

static bool blank_line_seen(size_t n, uint8_t *matched, const char *p, const char *end)
{
    while (p < end) {
        if (*matched == n && !(p = skip_to(p, end, '\n')))
            return false;
        bool again = *matched == n + 1 && *p == '\n';
        *matched = (uint8_t)(*p == '\n' ? n + 1 : n);
        if (again)
            return true;
        p++;
    }
    return false;
}

bool mark_seen(struct mark mark, uint8_t *matched, struct str bytes)
{
    size_t n = mark.text.n;
    const char *p = bytes.p;
    const char *end = bytes.n ? bytes.p + bytes.n : bytes.p;
    CHECK(n > 0 && n < UINT8_MAX - 1);
    CHECK(*matched <= n + 1);
    while (p < end && *matched < n) {
        if (*matched == 0 && !(p = skip_to(p, end, mark.text.p[0])))
            return false;
        if (*p == mark.text.p[*matched])
            (*matched)++;
        else
            *matched = *p == mark.text.p[0];
        p++;
    }
    if (*matched < n)
        return false;
    return !mark.ends_event || blank_line_seen(n, matched, p, end);
}
