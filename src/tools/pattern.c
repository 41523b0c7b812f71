/* Glob patterns for paths, as in shells; the whole path must match. */
#include "tools/tool.h"

enum { BRACES_MAX = 64 };

/* One character class: the pattern stands behind '['. Returns the bytes it takes, 0 when it is none. */
static size_t match_class(struct str pattern, char c, bool *ret_hit)
{
    size_t i = 0;
    bool negated = pattern.n && (pattern.p[0] == '!' || pattern.p[0] == '^');
    bool hit = false;
    if (negated)
        i++;
    for (size_t first = i; i < pattern.n && (pattern.p[i] != ']' || i == first); i++) {
        char from = pattern.p[i], to = from;
        if (i + 2 < pattern.n && pattern.p[i + 1] == '-' && pattern.p[i + 2] != ']') {
            to = pattern.p[i + 2];
            i += 2;
        }
        hit = hit || (c >= from && c <= to);
    }
    if (i >= pattern.n)
        return 0;
    *ret_hit = hit != negated && c != '/';
    return i + 1;
}

/* Backtracks only to the last star: sufficient, and linear in practice. */
static bool match(struct str pattern, struct str path)
{
    size_t p = 0, s = 0, star_p = 0, star_s = 0, deep_p = 0, deep_s = 0;
    bool star = false, deep = false;
    while (s < path.n || p < pattern.n) {
        if (p + 1 < pattern.n && pattern.p[p] == '*' && pattern.p[p + 1] == '*') {
            p += 2;
            /* A folder's slash belongs to it: a, "**" and b match a/b too. */
            p += p < pattern.n && pattern.p[p] == '/' && (p == 2 || pattern.p[p - 3] == '/');
            deep = true;
            star = false;
            deep_p = p;
            deep_s = s;
            continue;
        }
        if (p < pattern.n && pattern.p[p] == '*') {
            star = true;
            star_p = ++p;
            star_s = s;
            continue;
        }
        bool hit = false;
        size_t taken = 1;
        if (p < pattern.n && s < path.n) {
            char c = pattern.p[p];
            size_t class_n = c == '[' ? match_class(str_sub(pattern, p + 1, pattern.n), path.p[s], &hit) : 0;
            if (class_n)
                taken = class_n + 1;
            else if (c == '?')
                hit = path.p[s] != '/';
            else if (c == '\\' && p + 1 < pattern.n) {
                hit = pattern.p[p + 1] == path.p[s];
                taken = 2;
            } else
                hit = c == path.p[s];
        }
        if (hit) {
            p += taken;
            s++;
        } else if (star && star_s < path.n && path.p[star_s] != '/') {
            p = star_p;
            s = ++star_s;
        } else if (deep && deep_s < path.n) {
            star = false;
            p = deep_p;
            s = ++deep_s;
        } else {
            return false;
        }
    }
    return true;
}

/* The first {a,b}: each alternative in turn. */
static bool expand(struct str pattern, struct str path, unsigned *budget)
{
    size_t open = str_find(pattern, '{');
    size_t close = open;
    unsigned depth = 0;
    if (*budget == 0)
        return false;
    (*budget)--;
    for (; close < pattern.n; close++) {
        depth += pattern.p[close] == '{';
        if (pattern.p[close] == '}' && --depth == 0)
            break;
    }
    if (close >= pattern.n)
        return match(pattern, path);
    for (size_t at = open + 1, from = at; at <= close; at++) {
        char c = pattern.p[at];
        depth += c == '{';
        depth -= c == '}' && at < close;
        if (at < close && (c != ',' || depth))
            continue;
        ARENA_SCOPE(arena);
        struct str one = arena_printf(&arena, "%.*s%.*s%.*s", (int)open, pattern.p, (int)(at - from),
                                      pattern.p + from, (int)(pattern.n - close - 1), pattern.p + close + 1);
        if (expand(one, path, budget))
            return true;
        from = at + 1;
    }
    return false;
}

bool pattern_matches(struct str pattern, struct str path)
{
    unsigned budget = BRACES_MAX;
    return expand(pattern, path, &budget);
}
