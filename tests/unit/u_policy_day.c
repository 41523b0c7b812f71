/* A working day, policy/day.txt: `+` is safe and should pass unasked, `-` must ask; \\n stands for a line break. Judged
 * without any rule and with the rules that a developer would have; the figures are a floor. */
#include "base/buf.h"
#include "io/file.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const rules[] = {
    "Bash(ls:*)", "Bash(cat:*)", "Bash(head:*)", "Bash(tail:*)", "Bash(grep:*)", "Bash(rg:*)", "Bash(find:*)",
    "Bash(wc:*)", "Bash(cd:*)", "Bash(echo:*)", "Bash(git status:*)", "Bash(git diff:*)", "Bash(git log:*)",
    "Bash(git add:*)", "Bash(git commit:*)", "Bash(npm run:*)", "Bash(npm test:*)", "Bash(npx tsc:*)",
    "Bash(pytest:*)", "Bash(python -m pytest:*)", "Bash(go test:*)", "Bash(cargo test:*)", "Bash(make:*)",
    "Bash(mkdir:*)", "Edit(/**)"};
enum { RULES = sizeof rules / sizeof *rules };

struct figures {
    unsigned safe, passed, wrong;
};

static struct str unescape(struct arena *arena, struct str line)
{
    BUF_SCOPE(buf, 1 << 16);
    for (size_t i = 0; i < line.n; i++) {
        bool newline = line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] == 'n';
        buf_putc(&buf, newline ? '\n' : line.p[i]);
        i += newline;
    }
    return arena_str(arena, buf_str(&buf));
}

static void judge_line(struct arena *arena, const struct rule_set *set, struct str line, struct figures *figures)
{
    bool safe = line.p[0] == '+';
    BUF_SCOPE(buf, 1 << 16);
    struct json_out out = json_out(&buf);
    const struct json *input;
    struct err err;
    json_open(&out, '{');
    json_key(&out, "command");
    json_put_str(&out, unescape(arena, str_sub(line, 2, line.n)));
    json_close(&out, '}');
    assert_true(rc_ok(json_parse(arena, buf_str(&buf), &input, &err)));
    struct tool_facts facts = tool_facts(STR("Bash"), input);
    struct question question = {.facts = &facts, .rules = set, .cwd = STR("/home/u/proj"), .root = STR("/home/u/proj"),
                                .home = STR("/home/u")};
    struct verdict verdict = policy_judge(arena, &question);
    bool passes = verdict.effect == EFFECT_ALLOW;
    figures->safe += safe;
    figures->passed += safe && passes;
    figures->wrong += !safe && passes;
    if (safe != passes)
        print_message("%s %.*s\n    %.*s\n", passes ? "PASSES" : "asks  ", STR_ARG(line), STR_ARG(verdict.why));
}

static struct figures judge_day(const struct rule_set *set)
{
    ARENA_SCOPE(arena);
    struct str text, line;
    struct err err;
    struct figures figures = {0};
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/policy/day.txt", 1 << 20, &text, &err)));
    while (!str_empty(text)) {
        line = str_cut(text, '\n', &text);
        if (line.n > 2)
            judge_line(&arena, set, line, &figures);
    }
    print_message("%u of %u safe lines pass, %u that must ask pass\n", figures.passed, figures.safe, figures.wrong);
    return figures;
}

static void test_without_rules(void **state)
{
    (void)state;
    struct figures figures = judge_day(NULL);
    assert_int_equal(figures.wrong, 0);
    assert_true(figures.passed * 100 >= figures.safe * 60);
}

static void test_with_rules(void **state)
{
    (void)state;
    struct rule_source sources[RULES] = {0};
    for (size_t i = 0; i < RULES; i++)
        sources[i] = (struct rule_source){.text = str_of(rules[i]), .effect = EFFECT_ALLOW, .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(sources, RULES);
    struct figures figures = judge_day(set);
    rule_set_free(set);
    assert_int_equal(figures.wrong, 0);
    assert_true(figures.passed * 100 >= figures.safe * 92);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_rules), cmocka_unit_test(test_with_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
