/* The worked wishes of docs/RULES.md: every line of every block is judged by the rules above it. */
#include "base/json.h"
#include "io/file.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RULES_MAX = 16 };

struct wish {
    struct rule_source rules[RULES_MAX];
    size_t count;
    enum permission_mode mode;
};

struct counts {
    unsigned wishes, lines, wrong;
};

static enum effect judge(struct arena *arena, const struct wish *wish, struct str call, struct str *ret_why)
{
    struct str rest, name = str_cut(call, ' ', &rest);
    const struct json *input;
    struct err err;
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = call};
    if (str_starts(rest, STR("{"))) {
        assert_true(rc_ok(json_parse(arena, rest, &input, &err)));
        facts = tool_facts(name, input);
    }
    struct rule_set *set = rule_set_new(wish->rules, wish->count);
    const struct rule_problem *problems;
    assert_int_equal(rule_set_problems(set, &problems), 0);
    struct question question = {.facts = &facts,
                                .rules = set,
                                .mode = wish->mode,
                                .cwd = STR("/home/u/proj"),
                                .root = STR("/home/u/proj"),
                                .home = STR("/home/u"),
                                .now_ms = 1000};
    struct verdict verdict = policy_judge(arena, &question);
    *ret_why = arena_str(arena, verdict.why);
    rule_set_free(set);
    return verdict.effect;
}

static void take_rule(struct arena *arena, struct wish *wish, struct str line)
{
    struct str text, word = str_cut(line, ' ', &text);
    struct err err;
    if (str_is(word, "mode")) {
        assert_true(policy_mode_parse(text, &wish->mode));
        return;
    }
    struct rule_source *rule = &wish->rules[wish->count++];
    assert_true(wish->count <= RULES_MAX);
    *rule = (struct rule_source){.text = text, .layer = LAYER_USER};
    assert_true(effect_parse(word, &rule->effect));
    if (rc_bad(policy_lint_check(arena, rule, tool_known_name, &err)))
        fail_msg("%.*s: %s", STR_ARG(line), err.text);
}

static void take_line(struct arena *arena, struct wish *wish, struct str line, struct counts *counts)
{
    static const char *const names[] = {[EFFECT_ALLOW] = "+", [EFFECT_ASK] = "-", [EFFECT_DENY] = "!"};
    struct str call, sign = str_cut(line, ' ', &call), why;
    if (sign.n > 1) {
        take_rule(arena, wish, line);
        return;
    }
    enum effect effect = judge(arena, wish, call, &why);
    counts->lines++;
    if (str_is(sign, names[effect]))
        return;
    counts->wrong++;
    print_message("%.*s\n   is %s: %.*s\n", STR_ARG(line), names[effect], STR_ARG(why));
}

static void test_wishes_hold(void **state)
{
    ARENA_SCOPE(arena);
    struct str text, line;
    struct err err;
    struct counts counts = {0};
    struct wish wish = {0};
    bool inside = false;
    (void)state;
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/../docs/RULES.md", 1 << 20, &text, &err)));
    while (!str_empty(text)) {
        line = str_cut(text, '\n', &text);
        if (str_starts(line, STR("```"))) {
            inside = str_is(line, "```wish");
            counts.wishes += inside;
            wish = (struct wish){.mode = MODE_DEFAULT};
        } else if (inside) {
            take_line(&arena, &wish, line, &counts);
        }
    }
    print_message("%u wishes, %u lines, %u not as written\n", counts.wishes, counts.lines, counts.wrong);
    assert_true(counts.wishes >= 15 && counts.lines >= 60);
    assert_int_equal(counts.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wishes_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
