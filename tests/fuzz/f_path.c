/* Paths and addresses: the first line is a rule's pattern, the rest what it is matched against. */
#include "base/err.h"
#include "policy/match.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct places places = {
    .cwd = {.named = STR("/home/u/proj/sub"), .real = STR("/home/u/proj/sub")},
    .project = {.named = STR("/home/u/proj"), .real = STR("/home/u/proj")},
    .home = {.named = STR("/home/u"), .real = STR("/home/u")},
};

static bool normal(struct str path)
{
    for (struct str rest = str_sub(path, 1, path.n), part; !str_empty(rest);) {
        part = str_cut(rest, '/', &rest);
        if (str_empty(part) || str_is(part, ".") || str_is(part, ".."))
            return false;
    }
    return path.p[0] == '/' && (path.n == 1 || path.p[path.n - 1] != '/');
}

static void try_path(struct arena *arena, struct str pattern, struct str path)
{
    struct rule rule;
    struct err err;
    struct str once, twice, base;
    struct str text = arena_printf(arena, "Read(%.*s)", STR_ARG(pattern));
    if (!path_normal(arena, places.cwd.named, places.home.named, path, &once))
        return;
    CHECK(normal(once));
    CHECK(path_normal(arena, STR_NONE, STR_NONE, once, &twice) && str_eq(once, twice));
    if (rc_bad(rule_parse(arena, text, &rule, &err)) || rule.kind != RULE_PATH)
        return;
    struct place place = {.named = once, .real = once};
    bool covered = path_covered(arena, &rule, &places, &place);
    /* What an allow covers lies below its base, and the same pattern as a deny stops it. */
    CHECK(!covered || (path_rule_base(arena, &rule, &places, false, &base) && path_within(once, base)));
    CHECK(!covered || path_stopped(arena, &rule, &places, &place));
}

static void try_url(struct arena *arena, struct str text)
{
    struct url url;
    struct rule rule;
    struct err err;
    if (!url_parse(arena, text, &url))
        return;
    CHECK(rc_ok(
        rule_parse(arena, arena_printf(arena, "WebFetch(domain:%.*s)", STR_ARG(url.host)), &rule, &err)));
    CHECK(url_matches(&rule, &url, false));
    CHECK(url_matches(&rule, &url, true) || !str_empty(url.port));
    CHECK(rc_ok(rule_parse(arena, STR("WebFetch(domain:nod.invalid)"), &rule, &err)));
    CHECK(!url_matches(&rule, &url, false) || str_is(url.host, "nod.invalid"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str text = {(const char *)data, size}, path;
    struct str pattern = str_cut(text, '\n', &path);
    try_path(&arena, pattern, path);
    try_url(&arena, text);
    return 0;
}
