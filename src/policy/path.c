/* Paths and patterns of paths as text; nothing here looks at the disk (judge_path.c gets the links from the
 * caller). path_covered is the strict comparison for allow rules, path_stopped the generous one for deny and
 * ask. */
#include "policy/match.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"

/* ---- normal forms ---- */

/* Escapes, variables and separators of other systems: a tool may expand them, so the file cannot be known. */
static bool odd_at(struct str path, size_t i)
{
    char next = i + 1 < path.n ? path.p[i + 1] : '\0', after = i + 2 < path.n ? path.p[i + 2] : '\0';
    switch (path.p[i]) {
    case '\\': case '`': return true;
    case '$': return i == 0 || next == '(';
    case '%': return next == '2' && (after == 'e' || after == 'E' || after == 'f' || after == 'F');
    default: return false;
    }
}

/* False for a path that a screen shows differently (hidden characters, newlines) or that programs resolve each in its
 * own way (`file:`, odd spellings). */
static bool plain(struct str path)
{
    if (str_empty(path) || path.n > LIMIT_PATH_BYTES || str_starts(path, STR("file:")))
        return false;
    for (size_t i = 0; i < path.n;) {
        uint32_t code = (unsigned char)path.p[i];
        if (code >= ' ' && code < 0x7f) {
            if (odd_at(path, i++))
                return false;
            continue;
        }
        size_t n = code < 0x80 ? 1 : utf8_decode(str_sub(path, i, path.n), &code);
        if (n == 0 || code == '\n' || code == '\t' || utf8_hidden(code))
            return false;
        i += n;
    }
    return true;
}

/* Joined, not normalized: the kernel resolves `..` behind a link, so the caller's look gets the path as it is. */
struct str path_joined(struct arena *arena, struct str cwd, struct str home, struct str path)
{
    if (str_starts(path, STR("/")))
        return path;
    bool tilde = str_is(path, "~") || str_starts(path, STR("~/"));
    struct str base = tilde ? home : cwd, rest = tilde ? str_sub(path, 1, path.n) : path;
    char *joined = arena_bytes(arena, base.n + 1 + rest.n);
    if (base.n)
        memcpy(joined, base.p, base.n);
    joined[base.n] = '/';
    if (rest.n)
        memcpy(joined + base.n + 1, rest.p, rest.n);
    return (struct str){joined, base.n + 1 + rest.n};
}

/* No empty component, and none that begins with a dot: `squeeze` would change nothing. */
static bool is_squeezed(struct str path)
{
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] == '/' && (i + 1 == path.n || path.p[i + 1] == '/' || path.p[i + 1] == '.'))
            return false;
    return path.n > 0 && path.p[0] == '/';
}

/* Takes out what says nothing; `..` takes the component before it. */
static struct str squeeze(struct arena *arena, struct str path)
{
    if (is_squeezed(path))
        return arena_str(arena, path);
    char *to = arena_bytes(arena, path.n + 2);
    size_t n = 0;
    STR_EACH(part, path, '/') {
        if (str_empty(part) || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            while (n > 0 && to[--n] != '/')
                ;
            continue;
        }
        to[n++] = '/';
        memcpy(to + n, part.p, part.n);
        n += part.n;
    }
    if (n == 0)
        to[n++] = '/';
    CHECK(to[0] == '/');
    to[n] = '\0';
    return (struct str){to, n};
}

/* The path without `.`, `..` and double slashes; false: relative without a folder, another's home, or not plain. */
bool path_normal(struct arena *arena, struct str cwd, struct str home, struct str path, struct str *ret_path)
{
    bool tilde = str_starts(path, STR("~"));
    if (!plain(path) || (tilde && path.n > 1 && path.p[1] != '/'))
        return false;
    struct str base = tilde ? home : cwd;
    if (!str_starts(path, STR("/")) && !str_starts(base, STR("/")))
        return false;
    *ret_path = squeeze(arena, path_joined(arena, cwd, home, path));
    return true;
}

bool path_below(struct str path, struct str folder, struct str *ret_rest)
{
    if (str_is(folder, "/"))
        folder.n = 0;
    if (path.n <= folder.n + 1 || !str_starts(path, folder) || path.p[folder.n] != '/')
        return false;
    *ret_rest = str_sub(path, folder.n + 1, path.n);
    return true;
}

bool path_within(struct str path, struct str folder)
{
    struct str rest;
    return str_eq(path, folder) || path_below(path, folder, &rest);
}

/* ---- patterns ---- */

/* `*` and `?` inside one component; the last star is where to go back to. */
static bool component_match(struct str pattern, struct str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            size_t step = pattern.p[p] == '?' ? utf8_valid_one(str_sub(text, t, text.n)) : 1;
            t += step ? step : 1;
            p++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

/* Backtracks to the last `**` only: linear in practice, and enough for patterns whose components know just `*`
 * and `?`. */
bool path_pattern_match(struct str pattern, struct str path)
{
    struct str star_pattern = STR_NONE, star_path = STR_NONE;
    bool star = false;
    while (!str_empty(path)) {
        struct str pattern_rest, path_rest;
        struct str want = str_cut(pattern, '/', &pattern_rest), have = str_cut(path, '/', &path_rest);
        if (!str_empty(pattern) && str_is(want, "**")) {
            if (str_empty(pattern_rest))
                return true; /* a final `**` matches the rest of the path */
            star = true;
            star_pattern = pattern = pattern_rest;
            star_path = path;
        } else if (!str_empty(pattern) && component_match(want, have)) {
            pattern = pattern_rest;
            path = path_rest;
            if (str_empty(pattern) && str_empty(path))
                return true;
        } else if (star) {
            (void)str_cut(star_path, '/', &star_path);
            pattern = star_pattern;
            path = star_path;
        } else {
            return false;
        }
    }
    return false;
}

/* The folder that the rule's pattern begins in, after its leading `../`. */
bool path_rule_base(struct arena *arena, const struct rule *rule, const struct places *places, bool real,
                    struct str *ret_base)
{
    CHECK(rule->kind == RULE_PATH);
    struct place root = {.named = STR("/"), .real = STR("/")};
    const struct place *const bases[BASE_COUNT] = {&root, &places->cwd, &places->project, &places->home};
    struct str base = real ? bases[rule->base]->real : bases[rule->base]->named;
    if (!str_starts(base, STR("/")))
        return false;
    for (unsigned i = 0; i < rule->ups; i++)
        base = squeeze(arena, arena_printf(arena, "%.*s/..", STR_ARG(base)));
    *ret_base = base;
    return true;
}

static bool covered_one(struct arena *arena, const struct rule *rule, const struct places *places, bool real,
                        struct str path)
{
    struct str base, rest;
    return path_rule_base(arena, rule, places, real, &base) && path_below(path, base, &rest) &&
           path_pattern_match(rule->pattern, rest);
}

/* Whether an allow rule covers the path by its name and by its real path, each below the base by the same kind of
 * path: a link out of the folder does not count. */
bool path_covered(struct arena *arena, const struct rule *rule, const struct places *places,
                  const struct place *path)
{
    CHECK(str_starts(path->named, STR("/")) && str_starts(path->real, STR("/")));
    return covered_one(arena, rule, places, false, path->named) &&
           covered_one(arena, rule, places, true, path->real);
}

bool path_means_anywhere(const struct rule *rule)
{
    return rule->base == BASE_CWD && !rule->ups && str_find(rule->pattern, '/') == rule->pattern.n;
}

/* The pattern fits the path or a folder above it; one without a slash fits at any depth. */
static bool stopped_one(struct arena *arena, const struct rule *rule, const struct places *places, bool real,
                        struct str path)
{
    struct str base, rest;
    if (!path_rule_base(arena, rule, places, real, &base))
        return false;
    if (path_means_anywhere(rule)) {
        return ANY(rest = path; !str_empty(rest);, component_match(rule->pattern, str_cut(rest, '/', &rest)));
    }
    if (!path_below(path, base, &rest))
        return false;
    return ANY(size_t end = 0; end <= rest.n; end++,
               (end == rest.n || rest.p[end] == '/') && path_pattern_match(rule->pattern, str_sub(rest, 0, end)));
}

/* Whether a deny or ask rule fits the name or the real path: another name of the file, or of the rule's base, does not
 * avoid it. */
bool path_stopped(struct arena *arena, const struct rule *rule, const struct places *places,
                  const struct place *path)
{
    CHECK(str_starts(path->named, STR("/")) && str_starts(path->real, STR("/")));
    return stopped_one(arena, rule, places, false, path->named) ||
           stopped_one(arena, rule, places, true, path->real) ||
           (!str_eq(path->named, path->real) && stopped_one(arena, rule, places, true, path->named));
}
