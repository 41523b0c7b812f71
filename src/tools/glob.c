/* Glob: files whose paths match a pattern, the newest first. */
#include "tools/tool.h"

#include "base/grow.h"

#include <stdlib.h>

struct hit {
    struct str path;
    int64_t changed;
};

struct hits {
    struct str pattern;
    struct hit *items;
    size_t count, room;
    size_t base_n; /* length of the folder before the part that is matched */
};

/* Hits are collected and sorted by time afterwards, so that the newest are among those that are shown. */
static bool take(struct place_walk *walk, struct str within, const struct stat *st)
{
    struct hits *hits = walk->arg;
    struct arena *arena = walk->use->arena;
    if (!pattern_matches(hits->pattern, str_sub(within, hits->base_n, within.n)))
        return true;
    ARENA_GROW(arena, hits->items, hits->count, hits->room);
    hits->items[hits->count++] = (struct hit){arena_str(arena, within), st->st_mtim.tv_sec};
    return true;
}

static int newest_first(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->changed == y->changed ? str_cmp(x->path, y->path) : x->changed < y->changed ? 1 : -1;
}

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct hits hits = {.pattern = json_text(use->input, "pattern")};
    struct place_walk walk = {.use = use, .take = take, .arg = &hits};
    TRY(place_within(use->arena, use->root, json_text(use->input, "path"), &walk.from, err));
    hits.base_n = str_is(walk.from, ".") ? 0 : walk.from.n + 1;
    TRY(place_walk(&walk, err));
    BUF_SCOPE(buf, RESULT_BYTES_MAX);
    if (hits.count)
        qsort(hits.items, hits.count, sizeof *hits.items, newest_first);
    for (size_t i = 0; i < hits.count && i < RESULT_FILES_MAX; i++)
        buf_printf(&buf, "%.*s\n", STR_ARG(hits.items[i].path));
    if (hits.count > RESULT_FILES_MAX)
        buf_printf(&buf, "(%zu more; use a narrower pattern)\n", hits.count - RESULT_FILES_MAX);
    if (walk.hidden)
        buf_printf(&buf, "(%u protected places were left out)\n", walk.hidden);
    *ret_text = buf.n ? arena_str(use->arena, buf_str(&buf)) : STR("No files match");
    return RC_OK;
}

const struct executor executor_glob = {
    .name = "Glob",
    .files = true,
    .description = "Finds files of the project by a pattern such as **/*.c or src/{a,b}/*.h, the newest first.",
    .schema = "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\"},"
              "\"path\":{\"type\":\"string\",\"description\":\"The folder to look in; else the project\"}},"
              "\"required\":[\"pattern\"]}",
    .looks = true,
    .run = run,
};
