/* Suggestions: from narrow to broad; each lets the same call pass, and broad ones say what they are. */
#include "base/json.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static size_t suggest(struct arena *arena, const char *tool, const char *input, const char *rule,
                      struct suggestion suggestions[SUGGESTIONS_MAX])
{
    const struct json *value;
    struct err err;
    assert_true(rc_ok(json_parse(arena, str_of(input), &value, &err)));
    struct tool_facts facts = tool_facts(str_of(tool), value);
    struct rule_source source = {.effect = EFFECT_ALLOW, .text = str_of(rule), .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(&source, rule ? 1 : 0);
    struct question question = {.no_builtin = true,
        .facts = &facts, .rules = set, .cwd = STR("/p"), .root = STR("/p"), .home = STR("/h")};
    size_t count = policy_suggest(arena, &question, suggestions);
    rule_set_free(set);
    return count;
}

/* The rules of all suggestions, those of one joined by " + ", one suggestion per line. */
static const char *texts(struct arena *arena, const char *tool, const char *input, const char *rule)
{
    struct suggestion suggestions[SUGGESTIONS_MAX];
    BUF_SCOPE(buf, 1 << 16);
    size_t count = suggest(arena, tool, input, rule, suggestions);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < suggestions[i].rule_count; k++)
            buf_printf(&buf, "%s%.*s", k ? " + " : "", STR_ARG(suggestions[i].rules[k]));
        buf_printf(&buf, "%s\n", str_empty(suggestions[i].warning) ? "" : " !");
    }
    return arena_c(arena, buf_str(&buf));
}

static void test_commands(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"git diff --stat HEAD\"}", NULL),
                        "Bash(git diff --stat HEAD)\nBash(git diff:*)\nBash(git:*) !\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"npm run build -- --x\"}", NULL),
                        "Bash(npm run build -- --x)\nBash(npm run build:*)\nBash(npm:*) !\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"ls -la\"}", NULL), "Bash(ls "
                                                                                 "-la)\nBash(ls:*)\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"python3 x.py a\"}", NULL),
                        "Bash(python3 x.py a)\nBash(python3 x.py:*)\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"git commit -m 'fix it'\"}", NULL),
                        "Bash(git commit -m 'fix it')\nBash(git commit:*)\nBash(git:*) !\n");
    assert_string_equal(
        texts(&arena, "Bash", "{\"command\":\"cd src && make test | tail -5\"}", "Bash(cd:*)"), "Bash(make "
                                                                                                "test) + "
                                                                                                "Bash(tail "
                                                                                                "-5)\nBash("
                                                                                                "make "
                                                                                                "test:*) + "
                                                                                                "Bash(tail:*)"
                                                                                                "\n"
                                                                                                "Bash(make:*)"
                                                                                                " + "
                                                                                                "Bash(tail:*)"
                                                                                                " !\n");
}

/* Its name is known, but not that it is this program which runs. */
static void test_names_only_bash_can_finish(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct suggestion suggestions[SUGGESTIONS_MAX];
    static const char *const inputs[] = {"{\"command\":\"$\\\"cat\\\" \"}", "{\"command\":\"$\\\"git\\\" diff\"}",
                                         "{\"command\":\"X=1 $\\\"ls\\\" | $\\\"cat\\\" x\"}"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        assert_int_equal(suggest(&arena, "Bash", inputs[i], NULL, suggestions), 0);
}

static void test_redirections(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"make > out.log 2>&1 < /tmp/in\"}", NULL),
                        "Bash(make) + Read(//tmp/in) + Edit(/out.log)\n"
                        "Bash(make:*) + Read(//tmp/in) + Edit(/out.log) !\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"{ ls; } >> x\"}", "Bash(ls:*)"), "Edit(/x)\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"ls > src/gen/x\"}", "Bash(ls:*)"),
                        "Bash(ls) + Edit(/src/gen/x)\nBash(ls:*) + Edit(/src/gen/x)\nBash(ls:*) + Edit(/src/gen/**)\n");
}

static void test_hosts(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"curl -s https://api.example.org/v1\"}", NULL),
                        "Bash(curl -s https://api.example.org/v1)\nBash(curl:*) & host:api.example.org\n"
                        "Bash(curl:*)\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"curl -s \\\"$URL\\\"\"}", NULL), "Bash(curl:*)\n");
}

/* No rule lets these pass, so none is offered; or only the exact one. */
static void test_commands_that_need_a_person(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"echo $(id)\"}", NULL), "");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"echo 'x\"}", NULL), "");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"cp x .git/hooks/y\"}", NULL), "");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"bash -c id\"}", NULL), "Bash(bash -c id)\n");
    assert_string_equal(texts(&arena, "Bash", "{\"command\":\"find . -delete\"}", NULL), "Bash(find . "
                                                                                         "-delete)\n");
}

static void test_paths(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "Edit", "{\"file_path\":\"/p/src/a/b.c\"}", NULL),
                        "Edit(/src/a/b.c)\nEdit(/src/a/*)\nEdit(/src/a/**)\nEdit(/**)\n");
    assert_string_equal(texts(&arena, "Write", "{\"file_path\":\"/h/notes/x\"}", NULL),
                        "Write(~/notes/x)\nWrite(~/notes/*)\nWrite(~/notes/**)\nWrite !\n");
    assert_string_equal(texts(&arena, "Write", "{\"file_path\":\"/tmp/x\"}", NULL),
                        "Write(//tmp/x)\nWrite(//tmp/*)\nWrite(//tmp/**)\nWrite !\n");
    assert_string_equal(texts(&arena, "Write", "{\"file_path\":\".git/config\"}", NULL), "");
}

static void test_addresses_and_tools(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(texts(&arena, "WebFetch", "{\"url\":\"https://a.docs.rs/x?y\"}", NULL),
                        "WebFetch(url:https://a.docs.rs/x?y)\nWebFetch(domain:a.docs.rs)\n"
                        "WebFetch(domain:*.docs.rs)\nWebFetch !\n");
    assert_string_equal(texts(&arena, "WebFetch", "{\"url\":\"https://docs.rs:8443/x\"}", NULL),
                        "WebFetch(url:https://docs.rs:8443/x)\nWebFetch(url:https://docs.rs:8443/*)\nWebFetch !\n");
    assert_string_equal(texts(&arena, "mcp__slack__post", "{\"t\":1}", NULL), "mcp__slack__post\nmcp__slack__"
                                                                              "* !\n");
    assert_string_equal(texts(&arena, "ExitPlanMode", "{\"plan\":\"x\"}", NULL), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands), cmocka_unit_test(test_names_only_bash_can_finish),
        cmocka_unit_test(test_commands_that_need_a_person),
        cmocka_unit_test(test_redirections), cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_addresses_and_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
