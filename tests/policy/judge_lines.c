/* For differential.py: judges command lines in this process.
 *
 *   judge_lines RULE... < lines parted by NUL     each RULE is allowed
 *   judge_lines --default < …                     no rules: what passes by itself (by_default.py)
 *
 * Prints a line per command: `-` when it is asked about, else a JSON array of its simple commands, each an
 * array of words; a word that only bash can finish is null. */
#include "base/buf.h"
#include "base/json.h"
#include "policy/policy.h"
#include "policy/shell.h"

#include <stdio.h>
#include <stdlib.h>

static bool parsing, by_default;

static void print_words(struct json_out *out, const struct node *node)
{
    json_open(out, '[');
    for (size_t i = parsing ? node->assign_count : 0; i < node->word_count; i++) {
        if (parsing)
            json_put_str(out, node->words[i].raw);
        else if (word_literal(&node->words[i]))
            json_put_str(out, node->words[i].text);
        else
            json_put_null(out);
    }
    json_close(out, ']');
}

static void print_nodes(struct json_out *out, const struct node *node)
{
    for (; node; node = node->next) {
        if (node->kind == NODE_SIMPLE && (!parsing || node->word_count > node->assign_count))
            print_words(out, node);
        print_nodes(out, node->first);
        if (parsing)
            print_nodes(out, node->inside);
    }
}

static bool allowed(struct arena *arena, const struct rule_set *set, struct str line)
{
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = line};
    struct question question = {.facts = &facts,
                                .rules = set,
                                .cwd = STR("/scratch"),
                                .root = STR("/scratch"),
                                .home = by_default ? STR("/canary") : STR("/scratch/home")};
    if (by_default)
        return policy_judge(arena, &question).effect == EFFECT_ALLOW;
    return policy_covers(arena, &question); /* the rules alone: what passes without one is tried elsewhere */
}

static void judge_line(const struct rule_set *set, struct str line)
{
    ARENA_SCOPE(arena);
    const struct shell *shell = shell_parse(&arena, line);
    if (parsing ? shell->doubt != NULL : !allowed(&arena, set, line)) {
        (void)puts("-");
        return;
    }
    BUF_SCOPE(buf, (size_t)1 << 20);
    struct json_out out = json_out(&buf);
    json_open(&out, '[');
    print_nodes(&out, shell->root);
    json_close(&out, ']');
    (void)printf("%.*s\n", STR_ARG(buf_str(&buf)));
}

int main(int argc, char **argv)
{
    struct rule_source *sources = heap_new((size_t)argc * sizeof *sources);
    parsing = argc == 2 && str_is(str_of(argv[1]), "--parse");
    by_default = argc == 2 && str_is(str_of(argv[1]), "--default");
    if (parsing || by_default)
        argc = 1;
    for (int i = 1; i < argc; i++)
        sources[i - 1] =
            (struct rule_source){.effect = EFFECT_ALLOW, .text = str_of(argv[i]), .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(sources, (size_t)argc - 1);
    const struct rule_problem *problems;
    if (rule_set_problems(set, &problems) > 0) {
        (void)fprintf(stderr, "%.*s\n", STR_ARG(problems[0].words));
        return 2;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getdelim(&line, &room, '\0', stdin)) > 0)
        judge_line(set, (struct str){line, (size_t)n - (line[n - 1] == '\0')});
    free(line);
    free(sources);
    rule_set_free(set);
    return 0;
}
