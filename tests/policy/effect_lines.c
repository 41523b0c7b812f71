/* For kernel.py and reading.py: how the table of programs reads command lines.
 *
 *   effect_lines < lines parted by NUL
 *
 * Prints the row that each simple command of a line is read by, and what it does by that row, a line per effect: its
 * kind, its flags, and the path it is about (as JSON). An empty line ends each. */
#include "base/buf.h"
#include "base/json.h"
#include "policy/commands.h"
#include "policy/effects.h"
#include "policy/shell.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[] = {
    [ACT_READS] = "reads", [ACT_REMOVES] = "removes", [ACT_TALKS] = "talks",   [ACT_CHANGES] = "changes",
    [ACT_OBEYS] = "obeys", [ACT_PROJECT] = "project", [ACT_RUNS] = "runs",     [ACT_SCRIPT] = "script",
    [ACT_CODE] = "code",   [ACT_TEXT] = "text",       [ACT_WRITES] = "writes", [ACT_OTHER] = "other",
};

static void print_act(const struct act *act)
{
    BUF_SCOPE(buf, (size_t)1 << 16);
    struct json_out out = json_out(&buf);
    json_put_str(&out, act->path.text);
    (void)printf("%s %u %.*s\n", kinds[act->kind], act->flags, STR_ARG(buf_str(&buf)));
}

static void print_nodes(struct arena *arena, const struct node *node)
{
    for (; node; node = node->next) {
        if (node->kind == NODE_SIMPLE && node->word_count > node->assign_count) {
            struct study study = {0};
            struct studying studying = {.arena = arena,
                                        .words = node->words + node->assign_count,
                                        .count = node->word_count - node->assign_count,
                                        .study = &study};
            const struct table_row *row = effects_find(studying.words[0].text);
            if (row)
                effects_words(&studying, row);
            (void)printf("row %s\n", study.table ? table_text + study.table->name : "-");
            for (const struct act *act = study.acts; act; act = act->next)
                print_act(act);
        }
        print_nodes(arena, node->first);
    }
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getdelim(&line, &room, '\0', stdin)) > 0) {
        ARENA_SCOPE(arena);
        const struct shell *shell = shell_parse(&arena, (struct str){line, (size_t)n - (line[n - 1] == '\0')});
        if (shell->doubt)
            (void)printf("other 0 \"\"\n");
        else
            print_nodes(&arena, shell->root);
        (void)printf("\n");
    }
    free(line);
    return 0;
}
