/* Words of any program of the table: the first two bytes choose a row, the rest are its words. Nothing crashes, every
 * effect points at a word of the line, and the same line has the same effects. */
#include "base/err.h"
#include "policy/effects.h"
#include "policy/shell.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many effects the first simple command of the line has. */
static size_t study_line(struct arena *arena, struct str line)
{
    const struct shell *shell = shell_parse(arena, line);
    const struct node *node = shell->doubt ? NULL : shell->root;
    while (node && node->kind != NODE_SIMPLE)
        node = node->first;
    if (!node || node->word_count <= node->assign_count)
        return 0;
    struct argv argv = {.words = node->words + node->assign_count, .count = node->word_count - node->assign_count};
    struct study study;
    size_t count = 0;
    effect_study(arena, &argv, 0, &study);
    for (const struct act *act = study.acts; act; act = act->next, count++)
        CHECK(act->word == SIZE_MAX || act->word < argv.count);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    if (size < 2 || size > 4096)
        return 0;
    size_t row = ((size_t)data[0] << 8 | data[1]) % table_name_count;
    struct str name = str_of(table_text + table_names[row].name), rest = {(const char *)data + 2, size - 2};
    struct str line = arena_printf(&arena, "%.*s %.*s", STR_ARG(name), STR_ARG(rest));
    size_t once = study_line(&arena, line);
    CHECK(study_line(&arena, line) == once);
    return 0;
}
