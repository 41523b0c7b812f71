/* Ways around a deny under bypassPermissions (policy/deny.tsv, deny_more.tsv: RULE, COMMAND), none of which may pass;
 * and the risk classes of commands (policy/risk.tsv: COMMAND, CLASS,… at least these; nothing: none at all). */
#include "base/buf.h"
#include "io/file.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static struct verdict judge(struct arena *arena, const struct rule_set *set, enum permission_mode mode, struct str text)
{
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = unescape(arena, text)};
    struct question question = {.facts = &facts, .rules = set, .mode = mode, .cwd = STR("/home/u/proj"),
                                .root = STR("/home/u/proj"), .home = STR("/home/u")};
    return policy_judge(arena, &question);
}

static struct str read_lines(struct arena *arena, const char *path)
{
    struct str text;
    struct err err;
    assert_true(rc_ok(file_read(arena, path, 1 << 20, &text, &err)));
    return text;
}

static void test_denies_hold(void **state)
{
    ARENA_SCOPE(lines);
    struct str text = read_lines(&lines, *state);
    unsigned rows = 0, passed = 0;
    while (!str_empty(text)) {
        ARENA_SCOPE(arena);
        struct str command, line = str_cut(text, '\n', &text), rule = str_cut(line, '\t', &command);
        if (str_empty(line) || line.p[0] == '#')
            continue;
        struct rule_source source = {.text = rule, .effect = EFFECT_DENY, .layer = LAYER_USER};
        struct rule_set *set = rule_set_new(&source, 1);
        rows++;
        if (judge(&arena, set, MODE_BYPASS, command).effect == EFFECT_ALLOW) {
            print_message("PASSES %.*s\t%.*s\n", STR_ARG(rule), STR_ARG(command));
            passed++;
        }
        rule_set_free(set);
    }
    print_message("%u of %u pass\n", passed, rows);
    assert_true(rows >= 300);
    assert_int_equal(passed, 0);
}

static bool has_class(const struct verdict *verdict, struct str class)
{
    for (unsigned i = 0; risk_name(i)[0]; i++)
        if (str_is(class, risk_name(i)))
            return verdict->risk >> i & 1;
    return false;
}

static void test_risks(void **state)
{
    (void)state;
    ARENA_SCOPE(lines);
    struct str text = read_lines(&lines, TESTS_DIR "/policy/risk.tsv");
    unsigned rows = 0, wrong = 0;
    while (!str_empty(text)) {
        ARENA_SCOPE(arena);
        struct str classes, line = str_cut(text, '\n', &text), command = str_cut(line, '\t', &classes);
        if (str_empty(line) || line.p[0] == '#')
            continue;
        struct verdict verdict = judge(&arena, NULL, MODE_DEFAULT, command);
        bool fine = str_empty(classes) ? !verdict.risky && verdict.risk == 0 : true;
        for (struct str rest = classes; !str_empty(rest);)
            fine = fine && has_class(&verdict, str_cut(rest, ',', &rest));
        rows++;
        wrong += !fine;
        if (!fine)
            print_message("wanted `%.*s`, got %x: %.*s\n", STR_ARG(classes), verdict.risk, STR_ARG(command));
    }
    print_message("%u of %u not as expected\n", wrong, rows);
    assert_true(rows >= 100);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_denies_hold, TESTS_DIR "/policy/deny.tsv"),
        cmocka_unit_test_prestate(test_denies_hold, TESTS_DIR "/policy/deny_more.tsv"),
        cmocka_unit_test(test_risks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
