/* Corpora of command lines, one per file below tests/policy: what must not pass, and what must. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct corpus {
    char *text;
    char *at;
};

static struct corpus corpus_open(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/policy/%s", TESTS_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct corpus corpus = {.text = calloc(1, 1 << 20)};
    assert_non_null(corpus.text);
    size_t n = fread(corpus.text, 1, (1 << 20) - 1, file);
    assert_true(n > 0 && n < (1 << 20) - 1);
    (void)fclose(file);
    corpus.at = corpus.text;
    return corpus;
}

/* The next row, with `\n` as a line break; NULL at the end. */
static char *corpus_next(struct corpus *corpus)
{
    char *line;
    do {
        line = corpus->at;
        if (!*line)
            return NULL;
        char *end = strchr(line, '\n');
        corpus->at = end ? end + 1 : line + strlen(line);
        if (end)
            *end = 0;
    } while (!*line || *line == '#');
    char *to = line;
    for (char *from = line; *from; from++)
        if (from[0] == '\\' && from[1] == 'n' && (from == line || from[-1] != '%')) {
            *to++ = '\n';
            from++;
        } else {
            *to++ = *from;
        }
    *to = 0;
    return line;
}

static struct question question_of(struct tool_facts *facts, const char *command, const struct rule_set *set)
{
    *facts = (struct tool_facts){.name = STR("Bash"), .class = TOOL_COMMAND, .command = str_of(command)};
    return (struct question){.facts = facts,
                             .rules = set,
                             .cwd = STR("/home/u/proj"),
                             .root = STR("/home/u/proj"),
                             .home = STR("/home/u")};
}

static struct rule_set *set_of(enum effect effect, const char *const *rules, size_t count)
{
    struct rule_source sources[64];
    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        sources[i] = (struct rule_source){.effect = effect, .text = str_of(rules[i]), .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(sources, count);
    const struct rule_problem *problems;
    assert_int_equal(rule_set_problems(set, &problems), 0);
    return set;
}

/* `RULE <TAB> COMMAND`, or a command that stands for a rule on its program. */
static const char *split_rule(char *line, char *room, size_t size)
{
    char *tab = strchr(line, '\t');
    if (tab) {
        *tab = 0;
        (void)snprintf(room, size, "%s", line);
        return tab + 1;
    }
    (void)snprintf(room, size, "Bash(%.*s:*)", (int)strcspn(line, " "), line);
    return line;
}

static bool covered(const char *rule, const char *command)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts;
    struct rule_set *set = set_of(EFFECT_ALLOW, &rule, 1);
    struct question question = question_of(&facts, command, set);
    bool covers = policy_covers(&arena, &question);
    rule_set_free(set);
    return covers;
}

static void check_covers(const char *name, bool want)
{
    struct corpus corpus = corpus_open(name);
    size_t rows = 0, wrong = 0;
    char rule[256];
    for (char *line; (line = corpus_next(&corpus)); rows++) {
        const char *command = split_rule(line, rule, sizeof rule);
        if (covered(rule, command) != want) {
            print_error("%s: %s\t%s\n", name, rule, command);
            wrong++;
        }
    }
    free(corpus.text);
    print_message("%s: %zu rows, %zu wrong\n", name, rows, wrong);
    assert_true(rows > 200);
    assert_int_equal(wrong, 0);
}

static void test_attacks_are_not_covered(void **state)
{
    (void)state;
    check_covers("attacks.txt", false);
    check_covers("attacks_more.txt", false);
}

static void test_ordinary_uses_are_covered(void **state)
{
    (void)state;
    check_covers("passes.txt", true);
}

static void test_no_way_around_a_deny(void **state)
{
    (void)state;
    struct corpus corpus = corpus_open("deny_attacks.tsv");
    size_t rows = 0, wrong = 0;
    char rule[256];
    for (char *line; (line = corpus_next(&corpus)); rows++) {
        ARENA_SCOPE(arena);
        const char *command = split_rule(line, rule, sizeof rule), *rules[] = {rule};
        struct tool_facts facts;
        struct rule_set *set = set_of(EFFECT_DENY, rules, 1);
        struct question question = question_of(&facts, command, set);
        question.mode = MODE_BYPASS;
        if (policy_judge(&arena, &question).effect == EFFECT_ALLOW) {
            print_error("deny %s: %s\n", rule, command);
            wrong++;
        }
        rule_set_free(set);
    }
    free(corpus.text);
    print_message("deny: %zu rows, %zu pass\n", rows, wrong);
    assert_true(rows > 300);
    assert_int_equal(wrong, 0);
}

static const char *const day_rules[] = {
    "Bash(ls:*)", "Bash(cat:*)", "Bash(head:*)", "Bash(tail:*)", "Bash(grep:*)", "Bash(rg:*)", "Bash(find:*)",
    "Bash(wc:*)", "Bash(cd:*)", "Bash(echo:*)", "Bash(git status:*)", "Bash(git diff:*)", "Bash(git log:*)",
    "Bash(git add:*)", "Bash(git commit:*)", "Bash(npm run:*)", "Bash(npm test:*)", "Bash(npx tsc:*)", "Bash(pytest:*)",
    "Bash(python -m pytest:*)", "Bash(go test:*)", "Bash(cargo test:*)", "Bash(make:*)", "Bash(mkdir:*)", "Edit(/**)",
};

static bool passes(const char *command, const struct rule_set *set)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts;
    struct question question = question_of(&facts, command, set);
    return policy_judge(&arena, &question).effect == EFFECT_ALLOW;
}

static void test_a_day(void **state)
{
    (void)state;
    struct corpus corpus = corpus_open("day_more.txt");
    struct rule_set *none = set_of(EFFECT_ALLOW, NULL, 0);
    struct rule_set *rules = set_of(EFFECT_ALLOW, day_rules, sizeof day_rules / sizeof *day_rules);
    size_t rows = 0, wrong = 0;
    for (char *line; (line = corpus_next(&corpus)); rows++) {
        char want = line[0];
        bool bare = passes(line + 2, none), ruled = passes(line + 2, rules);
        if (bare != (want == '0') || ruled != (want != '-')) {
            print_error("day: %s (%s without rules, %s with)\n", line, bare ? "passes" : "asks",
                        ruled ? "passes" : "asks");
            wrong++;
        }
    }
    free(corpus.text);
    rule_set_free(none);
    rule_set_free(rules);
    print_message("day: %zu rows, %zu wrong\n", rows, wrong);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks_are_not_covered),
        cmocka_unit_test(test_ordinary_uses_are_covered),
        cmocka_unit_test(test_no_way_around_a_deny),
        cmocka_unit_test(test_a_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
