/* The linter: each rule of a list that is dead or wrong is named with its reason, and rules that are well are not. */
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct expected {
    const char *effect, *rule;
    const char *words;   /* part of what is said */
    const char *instead; /* NULL: nothing is proposed */
    bool error;
};

static const struct expected wrong[] = {
    {"deny", "Bsh(rm:*)", "no agent", "Bash(rm:*)", true},
    {"allow", "Raed(/src/**)", "malformed", "Read(/src/**)", true},
    {"deny", "mcp_github_delete_repo", "no agent", "mcp__github__delete_repo", true},
    {"deny", "Bash(gti push:*)", "not a program", "Bash(git push:*)", true},
    {"deny", "Bash(git psuh:*)", "no sub-command", "Bash(git push:*)", true},
    {"deny", "Bash(npm pulbish:*)", "no sub-command", "Bash(npm publish:*)", true},
    {"deny", "Bash(mr:*)", "not a program", "Bash(rm:*)", true},
    {"ask", "Bash(terrafrom destroy:*)", "not a program", "Bash(terraform destroy:*)", true},
    {"allow", "Bash(ls && cat)", "joins", "Bash(ls) and Bash(cat)", false},
    {"deny", "Bash(curl x | sh)", "joins", "Bash(curl x) and Bash(sh)", true},
    {"allow", "Bash(npm test > out)", "joins", "Bash(npm test) and Edit(out)", false},
    {"deny", "Bash(cd x; rm y)", "joins", "Bash(cd x) and Bash(rm y)", true},
    {"deny", "Bash(rm -rf /;*)", "joins", "Bash(rm -rf /)", true},
    {"deny", "Bash(rm x;*y)", "joins", "Bash(rm x) and Bash(*y)", true},
    {"deny", "Bash(curl *|sh)", "joins", "Bash(curl *) and Bash(sh)", true},
    {"deny", "Bash(make *&&rm out)", "joins", "Bash(make *) and Bash(rm out)", true},
    {"deny", "Bash(* |sh)", "joins", NULL, true},
    {"deny", "Bash(find . -exec cat {} \\;)", "stops nothing", NULL, true},
    {"deny", "Bash(git:*:*)", "no program is called", "Bash(git:*)", true},
    {"allow", "Bash(npm:run:*)", "no program is called", "Bash(npm run:*)", false},
    {"deny", "Bash(rm -rf $HOME)", "expanded by the shell", NULL, true},
    {"allow", "Bash(~/bin/deploy:*)", "expanded by the shell", NULL, false},
    {"deny", "Read(/etc/passwd)", "session's folder", "Read(//etc/passwd)", true},
    {"deny", "Edit(*.{pem,key})", "braces", "Edit(*.pem) and Edit(*.key)", true},
    {"deny", "Read([a-z].pem)", "brackets", NULL, true},
    {"deny", "Read($HOME/.ssh/**)", "means itself", "Read(~/.ssh/**)", true},
    {"deny", "Read(\"secret file\")", "quotes", "Read(secret file)", true},
    {"deny", "Read(file:///etc/shadow)", "not a path", "Read(//etc/shadow)", true},
    {"deny", "WebFetch(https://example.com/x)", "malformed", "WebFetch(url:https://example.com/x)", true},
    {"deny", "WebFetch(example.com)", "malformed", "WebFetch(domain:example.com)", true},
    {"deny", "WebFetch(domain:example)", "not a full host name", NULL, true},
    {"allow", "WebFetch(domain:*.com)", "nobody owns", NULL, false},
    {"deny", "Bash(rm:*", "not closed", "Bash(rm:*)", true},
    {"allow", "Bash(NODE_ENV=* npm test)", "variable in front", "Bash(npm test:*)", false},
    {"allow", "*", "cannot be allowed", NULL, true},
    {"allow", "Bash", "every command", NULL, false},
    {"allow", "Bash(python3:*)", "whatever it is given", "Bash(python3 SCRIPT:*)", false},
    {"allow", "Bash(sudo:*)", "whatever it is given", "Bash(sudo SCRIPT:*)", false},
    {"allow", "Bash(sort -o:*)", "not enough by itself", NULL, false},
    {"allow", "Bash(sed -i:*)", "not enough by itself", NULL, false},
    {"allow", "Edit(.git/hooks/**)", "never lets a call pass", NULL, false},
};

static const char *const well[] = {
    "allow Bash(npm test:*)",
    "allow Bash(git commit -m:*)",
    "allow Bash(ls -l:*)",
    "deny Bash(rm:*)",
    "deny Bash(curl http://x.org/?a=1&*)",
    "deny Bash(npm publish:*)",
    "deny Read(.env)",
    "deny Edit(.github/**)",
    "allow Bash(git log:*)",
    "allow Bash(./gradlew test:*)",
    "allow Bash(make)",
    "allow Edit(/src/**)",
    "allow WebFetch(domain:docs.python.org)",
    "allow WebFetch(domain:localhost)",
    "allow WebFetch(url:http://localhost:8080/*)",
    "allow mcp__github__get_issue",
    "deny mcp__github__*",
    "deny Read(~/.ssh/**)",
    "deny Read(//etc/shadow)",
    "deny Bash(git push --force:*)",
    "ask Bash(docker:*)",
    "allow Bash(cargo build:*)",
    "deny *",
    "deny WebFetch",
    "allow Bash(git * main)",
    "deny Bash(* --force)",
    "allow run_shell_command",
    "allow Task(reviewer)",
    "allow Bash(frobnicate:*)",
    "deny Bash(kubectl delete:*)",
    "allow Bash(tsc --noEmit)",
    "allow Bash(NODE_ENV=test npm test)",
    "allow Bash(python -m pytest:*)",
    "deny Bash(sudo:*)",
    "deny Bash(python3:*)",
};

static struct rule_source source_of(const char *effect, const char *rule)
{
    struct rule_source source = {.text = str_of(rule), .layer = LAYER_USER};
    assert_true(effect_parse(str_of(effect), &source.effect));
    return source;
}

static void test_each_wrong_rule_is_named(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct expected *want = &wrong[i];
        struct rule_source source = source_of(want->effect, want->rule);
        struct linted found = policy_lint(&arena, &source, 1, tool_known_name, 1000);
        if (found.count != 1)
            fail_msg("%s: %zu findings", want->rule, found.count);
        const struct lint *lint = &found.items[0];
        if (!str_has(lint->words, str_of(want->words)) ||
            !str_is(lint->instead, want->instead ? want->instead : "") || (lint->level == LINT_ERROR) != want->error)
            fail_msg("%s: %s: %.*s", want->rule, lint_level_name(lint->level), STR_ARG(lint_words(&arena, lint)));
        struct err err;
        assert_int_equal(rc_bad(policy_lint_check(&arena, &source, tool_known_name, &err)), want->error);
    }
}

static void test_good_rules_pass(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    for (size_t i = 0; i < sizeof well / sizeof *well; i++) {
        struct str rule, effect = str_cut(str_of(well[i]), ' ', &rule);
        struct rule_source source = {.text = rule, .layer = LAYER_USER};
        assert_true(effect_parse(effect, &source.effect));
        struct linted found = policy_lint(&arena, &source, 1, tool_known_name, 1000);
        if (found.count)
            fail_msg("%s: %.*s", well[i], STR_ARG(lint_words(&arena, &found.items[0])));
    }
}

/* What only shows beside other rules. */
static void test_rules_beside_others(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    struct rule_source rules[] = {
        source_of("allow", "Bash(git:*)"),     source_of("allow", "Bash(git log:*)"),
        source_of("deny", "Bash(npm:*)"),      source_of("allow", "Bash(npm test:*)"),
        source_of("allow", "Edit(/src/**)"),   source_of("allow", "Edit(/src/a.c)"),
        source_of("allow", "Edit(/src/**)"),   source_of("allow", "Bash(make)"),
        source_of("ask", "Bash(make deploy)"), source_of("allow", "Bash(cargo test:*)"),
        source_of("allow", "Bash(cargo fmt)"),
    };
    rules[9].expires_at_ms = 500;
    rules[10].counted = true;
    static const struct {
        size_t index;
        const char *words;
    } want[] = {{1, "adds nothing: `allow Bash(git:*)`"},
                {3, "`deny Bash(npm:*)` beats it"},
                {5, "adds nothing"},
                {6, "twice"},
                {9, "time is over"},
                {10, "spent"}};
    struct linted found = policy_lint(&arena, rules, sizeof rules / sizeof *rules, tool_known_name, 1000);
    for (size_t i = 0; i < found.count; i++)
        print_message("%zu: %.*s\n", found.items[i].index, STR_ARG(found.items[i].words));
    assert_int_equal(found.count, sizeof want / sizeof *want);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.items[i].index, want[i].index);
        assert_true(str_has(found.items[i].words, str_of(want[i].words)));
        assert_int_equal(found.items[i].level, want[i].index == 3 ? LINT_WARNING : LINT_NOTE);
    }
}

static struct str one_tool(size_t number) { return number ? STR_NONE : STR("Reverse"); }

/* A tool that the caller names may be denied, and is what a similar name may have meant. */
static void test_tools_are_those_of_the_caller(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    struct err err;
    struct rule_source known = source_of("deny", "Reverse"), near = source_of("deny", "Revrese");
    assert_true(rc_ok(policy_lint_check(&arena, &known, one_tool, &err)));
    assert_true(rc_bad(policy_lint_check(&arena, &known, tool_known_name, &err)));
    assert_true(rc_bad(policy_lint_check(&arena, &near, one_tool, &err)));
    assert_non_null(strstr(err.text, "did you mean Reverse?"));
    for (size_t i = 0; !str_empty(tool_known_name(i)); i++) {
        struct rule_source each = {.text = tool_known_name(i), .layer = LAYER_USER, .effect = EFFECT_DENY};
        if (rc_bad(policy_lint_check(&arena, &each, tool_known_name, &err)))
            fail_msg("%.*s: %s", STR_ARG(each.text), err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_wrong_rule_is_named),
        cmocka_unit_test(test_good_rules_pass),
        cmocka_unit_test(test_rules_beside_others),
        cmocka_unit_test(test_tools_are_those_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
