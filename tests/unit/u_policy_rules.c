/* Rules: canonical spellings, layers, expiry, uses, examples, problems, and what a verdict tells. */
#include "base/json.h"
#include "policy/effects.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *value;
    struct err err;
    assert_true(rc_ok(json_parse(arena, str_of(text), &value, &err)));
    return value;
}

static struct verdict judge(struct arena *arena, const struct rule_source *rules, size_t count,
                            const char *command)
{
    struct rule_set *set = rule_set_new(rules, count);
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = str_of(command)};
    struct question question = {.facts = &facts,
                                .rules = set,
                                .cwd = STR("/p"),
                                .root = STR("/p"),
                                .home = STR("/h"),
                                .now_ms = 1000};
    struct verdict verdict = policy_judge(arena, &question);
    /* Strings of the verdict lie in the set: copied before it goes. */
    verdict.rule = arena_str(arena, verdict.rule);
    verdict.why = arena_str(arena, verdict.why);
    struct verdict_rule *used = arena_array(arena, struct verdict_rule, verdict.rule_count);
    for (size_t i = 0; i < verdict.rule_count; i++) {
        used[i] = verdict.rules[i];
        used[i].id = arena_str(arena, used[i].id);
        used[i].text = arena_str(arena, used[i].text);
        used[i].author = arena_str(arena, used[i].author);
    }
    verdict.rules = used;
    rule_set_free(set);
    return verdict;
}

static void test_canonical(void **state)
{
    static const char *const pairs[][2] = {
        {"Bash", "Bash"},
        {"Bash(*)", "Bash"},
        {" Bash(npm  test ) ", "Bash(npm test)"},
        {"Bash(npm test *)", "Bash(npm test:*)"},
        {"Bash(npm test:*)", "Bash(npm test:*)"},
        {"bash:ls*", "Bash(ls:*)"},
        {"bash:ls", "Bash(ls)"},
        {"bash:git log *", "Bash(git log:*)"},
        {"bash:*", "Bash"},
        {"web-fetch:https://*", "WebFetch(url:https://*)"},
        {"web-fetch:https://docs.rs/*", "WebFetch(url:https://docs.rs/*)"},
        {"Bash(git * main)", "Bash(git * main)"},
        {"Bash(git * main *)", "Bash(git * main:*)"},
        {"Read(./docs/**)", "Read(docs/**)"},
        {"Read(docs/)", "Read(docs/**)"},
        {"Read(a/./b//c)", "Read(a/b/c)"},
        {"Read(a/../b)", "Read(b)"},
        {"Read(../x/*)", "Read(../x/*)"},
        {"Edit(//etc/hosts)", "Edit(//etc/hosts)"},
        {"Edit(/src/**)", "Edit(/src/**)"},
        {"Edit(~/x)", "Edit(~/x)"},
        {"WebFetch(domain:Docs.RS)", "WebFetch(domain:docs.rs)"},
        {"WebFetch(domain:*.x.org)", "WebFetch(domain:*.x.org)"},
        {"mcp__slack", "mcp__slack__*"},
        {"mcp__slack__*", "mcp__slack__*"},
        {"mcp__slack__post", "mcp__slack__post"},
        {"mcp__slack  &  readOnly", "mcp__slack__* & readOnly"},
        {"mcp__*__delete_* & destructive", "mcp__*__delete_* & destructive"},
        {"Task(explore)", "Task(subagent_type:explore)"},
        {"Foo(bar:x*)", "Foo(bar:x*)"},
        {"Skill(commit:*)", "Skill(commit:*)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ARENA_SCOPE(arena);
        struct str canonical;
        struct err err = {0};
        if (rc_bad(rule_check(&arena, str_of(pairs[i][0]), &canonical, &err)))
            fail_msg("%s: %s", pairs[i][0], err.text);
        assert_string_equal(arena_c(&arena, canonical), pairs[i][1]);
    }
}

/* What the pinned definition of a tool says decides; where none is known an allow holds for nothing, a deny for all. */
static void test_hints(void **state)
{
    static const struct { enum effect effect; const char *rule; unsigned hints; enum effect wanted; } rows[] = {
        {EFFECT_ALLOW, "mcp__fs & readOnly", HINT_TOLD | HINT_READ_ONLY, EFFECT_ALLOW},
        {EFFECT_ALLOW, "mcp__fs & readOnly", HINT_TOLD | HINT_DESTRUCTIVE, EFFECT_ASK},
        {EFFECT_ALLOW, "mcp__fs & readOnly", HINT_READ_ONLY, EFFECT_ASK},
        {EFFECT_ALLOW, "mcp__fs__read & idempotent", HINT_TOLD | HINT_IDEMPOTENT, EFFECT_ALLOW},
        {EFFECT_ALLOW, "mcp__other & readOnly", HINT_TOLD | HINT_READ_ONLY, EFFECT_ASK},
        {EFFECT_DENY, "mcp__* & destructive", HINT_TOLD | HINT_DESTRUCTIVE, EFFECT_DENY},
        {EFFECT_DENY, "mcp__* & destructive", HINT_TOLD | HINT_READ_ONLY, EFFECT_ASK},
        {EFFECT_DENY, "mcp__* & openWorld", 0, EFFECT_DENY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        struct rule_source source = {.effect = rows[i].effect, .text = str_of(rows[i].rule), .layer = LAYER_USER};
        struct rule_set *set = rule_set_new(&source, 1);
        struct tool_facts facts = {.name = STR("mcp__fs__read"), .hints = rows[i].hints};
        struct question question = {.facts = &facts, .rules = set, .cwd = STR("/p"), .root = STR("/p")};
        assert_int_equal(policy_judge(&arena, &question).effect, rows[i].wanted);
        rule_set_free(set);
    }
    ARENA_SCOPE(arena);
    struct str canonical;
    struct err err = {0};
    assert_int_equal(rule_check(&arena, STR("mcp__fs & readonly"), &canonical, &err).code, ERR_INVALID);
    assert_int_equal(rule_check(&arena, STR("Bash(ls) & readOnly"), &canonical, &err).code, ERR_INVALID);
}

static void test_malformed_says_why(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct str canonical;
    struct err err = {0};
    assert_int_equal(rule_check(&arena, STR("Bash("), &canonical, &err).code, ERR_INVALID);
    assert_non_null(strstr(err.text, "not closed"));
    assert_int_equal(rule_check(&arena, STR("Foo(x)"), &canonical, &err).code, ERR_INVALID);
    assert_non_null(strstr(err.text, "field"));
}

static void test_strictest_wins_over_layers(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rules[] = {
        {.id = STR("1"), .effect = EFFECT_ALLOW, .text = STR("Bash"), .layer = LAYER_SESSION},
        {.id = STR("2"), .effect = EFFECT_ASK, .text = STR("Bash(git push:*)"), .layer = LAYER_USER},
        {.id = STR("3"),
         .effect = EFFECT_DENY,
         .text = STR("Bash(git push --force:*)"),
         .layer = LAYER_MANAGED,
         .author = STR("root"),
         .reason = STR("history is shared")},
    };
    struct verdict verdict = judge(&arena, rules, 3, "git push --force");
    assert_int_equal(verdict.effect, EFFECT_DENY);
    assert_true(str_is(verdict.rules[0].id, "3"));
    assert_true(str_is(verdict.rules[0].author, "root"));
    assert_int_equal(verdict.rules[0].layer, LAYER_MANAGED);
    assert_true(str_has(verdict.why, STR("history is shared")));
    assert_true(str_is(verdict.source, "managed"));
    assert_int_equal(judge(&arena, rules, 3, "git push").effect, EFFECT_ASK);
    assert_int_equal(judge(&arena, rules, 3, "git status").effect, EFFECT_ALLOW);
}

static void test_project_only_tightens(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rules[] = {
        {.effect = EFFECT_ALLOW, .text = STR("Bash(make:*)"), .layer = LAYER_PROJECT},
        {.effect = EFFECT_DENY, .text = STR("Bash(rm:*)"), .layer = LAYER_PROJECT},
        {.effect = EFFECT_ALLOW, .text = STR("Bash(rm:*)"), .layer = LAYER_USER},
    };
    assert_int_equal(judge(&arena, rules, 3, "make").effect, EFFECT_ASK);
    assert_int_equal(judge(&arena, rules, 3, "rm x").effect, EFFECT_DENY);
    rules[0].trusted = true;
    assert_int_equal(judge(&arena, rules, 3, "make").effect, EFFECT_ALLOW);
}

static void test_expiry_and_uses(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rule = {.effect = EFFECT_ALLOW, .text = STR("Bash(make:*)"), .layer = LAYER_USER};
    rule.expires_at_ms = 1001;
    assert_int_equal(judge(&arena, &rule, 1, "make").effect, EFFECT_ALLOW);
    rule.expires_at_ms = 1000;
    assert_int_equal(judge(&arena, &rule, 1, "make").effect, EFFECT_ASK);
    rule.expires_at_ms = 0;
    rule.counted = true;
    rule.uses_left = 1;
    assert_int_equal(judge(&arena, &rule, 1, "make").effect, EFFECT_ALLOW);
    rule.uses_left = 0;
    assert_int_equal(judge(&arena, &rule, 1, "make").effect, EFFECT_ASK);
}

static size_t problems(const struct rule_source *rules, size_t count)
{
    const struct rule_problem *list;
    struct rule_set *set = rule_set_new(rules, count);
    size_t found = rule_set_problems(set, &list);
    rule_set_free(set);
    return found;
}

static void test_examples(void **state)
{
    static const struct str good[] = {STR("git push origin"), STR("git push")}, bad[] = {STR("git pull")};
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rule = {.effect = EFFECT_ALLOW, .text = STR("Bash(git push:*)"), .layer = LAYER_USER,
                               .match = good, .match_count = 2, .not_match = bad, .not_match_count = 1};
    assert_int_equal(problems(&rule, 1), 0);
    assert_int_equal(judge(&arena, &rule, 1, "git push").effect, EFFECT_ALLOW);
    rule.match = bad;
    rule.match_count = 1;
    assert_int_equal(problems(&rule, 1), 1);
    assert_int_equal(judge(&arena, &rule, 1, "git push").effect, EFFECT_ASK);
    /* A deny stays in force. */
    rule.effect = EFFECT_DENY;
    assert_int_equal(problems(&rule, 1), 1);
    assert_int_equal(judge(&arena, &rule, 1, "git push").effect, EFFECT_DENY);
    rule.match_count = 0;
    rule.not_match = good;
    assert_int_equal(problems(&rule, 1), 1);
    struct str path = STR("docs/a.md");
    rule = (struct rule_source){
        .effect = EFFECT_ALLOW, .text = STR("Read(docs/**)"), .match = &path, .match_count = 1};
    assert_int_equal(problems(&rule, 1), 0);
    struct str url = STR("https://docs.rs/x");
    rule = (struct rule_source){
        .effect = EFFECT_ALLOW, .text = STR("WebFetch(domain:docs.rs)"), .match = &url, .match_count = 1};
    assert_int_equal(problems(&rule, 1), 0);
}

static void test_problems_are_told(void **state)
{
    (void)state;
    struct rule_source rules[] = {
        {.effect = EFFECT_ALLOW, .text = STR("Bash(ok)")},
        {.effect = EFFECT_ALLOW, .text = STR("Bash(")},
        {.effect = EFFECT_ALLOW, .text = STR("*")},
        {.effect = EFFECT_DENY, .text = STR("Read(!x)")},
    };
    const struct rule_problem *list;
    struct rule_set *set = rule_set_new(rules, 4);
    assert_int_equal(rule_set_problems(set, &list), 3);
    assert_int_equal(list[0].index, 1);
    assert_int_equal(list[1].index, 2);
    assert_int_equal(list[2].index, 3);
    rule_set_free(set);
}

static void test_parts(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rules[] = {
        {.id = STR("a"), .effect = EFFECT_ALLOW, .text = STR("Bash(git diff:*)"), .layer = LAYER_USER},
        {.id = STR("b"), .effect = EFFECT_DENY, .text = STR("Bash(rm:*)"), .layer = LAYER_USER},
    };
    struct verdict verdict = judge(&arena, rules, 2, "git diff | ./t -5; rm x; echo $(./d)");
    static const struct {
        const char *text;
        enum effect effect;
        unsigned depth;
    } wanted[] = {{"git diff", EFFECT_ALLOW, 0}, {"./t -5", EFFECT_ASK, 0}, {"rm x", EFFECT_DENY, 0},
                  {"./d", EFFECT_ASK, 1}, {"echo $(./d)", EFFECT_ASK, 0}};
    assert_int_equal(verdict.effect, EFFECT_DENY);
    assert_int_equal(verdict.part_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(arena_c(&arena, verdict.parts[i].text), wanted[i].text);
        assert_int_equal(verdict.parts[i].effect, wanted[i].effect);
        assert_int_equal(verdict.parts[i].depth, wanted[i].depth);
        assert_false(str_empty(verdict.parts[i].why));
    }
    verdict = judge(&arena, rules, 1, "git diff; git diff HEAD");
    assert_int_equal(verdict.effect, EFFECT_ALLOW);
    assert_int_equal(verdict.rule_count, 1);
    assert_true(str_is(verdict.rules[0].id, "a"));
}

static void test_reason_to_ask(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rule = {.effect = EFFECT_ALLOW, .text = STR("Bash(make:*)"), .layer = LAYER_USER};
    assert_true(str_has(judge(&arena, &rule, 1, "make > log").why, STR("Edit rule")));
    assert_true(str_has(judge(&arena, &rule, 1, "make; ./x").why, STR("`./x`")));
    assert_true(str_has(judge(&arena, &rule, 1, "make $(./x)").why, STR("substitution")));
    assert_true(str_has(judge(&arena, &rule, 1, "make SHELL=x").why, STR("variable")));
    assert_true(str_has(judge(&arena, &rule, 1, "make 'x").why, STR("quote")));
}

struct looked {
    struct arena *arena;
    struct str paths[16];
    size_t count;
};

static const struct resolved_path *note_path(void *arg, struct str path, bool place)
{
    (void)place;
    struct looked *looked = arg;
    struct resolved_path *found = arena_new(looked->arena, struct resolved_path);
    looked->paths[looked->count++ % 16] = path;
    *found = (struct resolved_path){.path = path, .real = path};
    return found;
}

static bool was_looked_at(const struct looked *looked, const char *path)
{
    for (size_t i = 0; i < looked->count && i < 16; i++)
        if (str_is(looked->paths[i], path))
            return true;
    return false;
}

static void test_the_disk_is_looked_at_for_what_is_named(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct looked looked = {.arena = &arena};
    struct rule_source rule = {.effect = EFFECT_ALLOW, .text = STR("Edit(out/**)"), .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(&rule, 1);
    struct tool_facts facts = {
        .name = STR("Bash"), .class = TOOL_COMMAND, .command = STR("cd src && make > out/x")};
    struct question question = {.facts = &facts, .rules = set, .cwd = STR("/p"), .root = STR("/p"), .home = STR("/h"),
                                .look = note_path, .look_arg = &looked};
    (void)policy_judge(&arena, &question);
    assert_true(was_looked_at(&looked, "/p/src/out/x") && was_looked_at(&looked, "/p/src"));
    facts = tool_facts(STR("Read"), parse(&arena, "{\"file_path\":\"a/../b\"}"));
    looked.count = 0;
    (void)policy_judge(&arena, &question);
    assert_true(was_looked_at(&looked, "/p/a/../b"));
    looked.count = 0;
    facts = tool_facts(STR("WebFetch"), parse(&arena, "{\"url\":\"https://a.example/\"}"));
    (void)policy_judge(&arena, &question);
    assert_int_equal(looked.count, 0);
    rule_set_free(set);
}

struct disk {
    struct arena *arena;
    const char *const *there;
};

static const struct resolved_path *look_among(void *arg, struct str path, bool place)
{
    (void)place;
    struct disk *disk = arg;
    struct resolved_path *found = arena_new(disk->arena, struct resolved_path);
    *found = (struct resolved_path){.path = path, .real = path};
    if (str_is(path, "/p/x/sub/no/out"))
        found->real = STR("/etc/passwd");
    else if (str_starts(path, STR("/p/link")))
        found->real = arena_printf(disk->arena, "/p/x/sub%.*s", STR_ARG(str_sub(path, 7, path.n)));
    for (const char *const *one = disk->there; *one; one++)
        found->exists |= str_is(found->real, *one);
    return found;
}

/* Whether `command` passes in /p when the paths of `there` exist; `/p/link` leads to `/p/x/sub`. */
static bool passes_among(const char *command, const char *const *there)
{
    ARENA_SCOPE(arena);
    struct rule_source rules[] = {
        {.effect = EFFECT_ALLOW, .text = STR("Bash(git status:*)"), .layer = LAYER_USER},
        {.effect = EFFECT_ALLOW, .text = STR("Bash(ls:*)"), .layer = LAYER_USER},
        {.effect = EFFECT_ALLOW, .text = STR("Bash(cd:*)"), .layer = LAYER_USER}};
    struct rule_set *set = rule_set_new(rules, 3);
    struct tool_facts facts = {.name = STR("Bash"), .class = TOOL_COMMAND, .command = str_of(command)};
    struct disk disk = {&arena, there};
    struct question question = {.facts = &facts, .rules = set, .cwd = STR("/p"), .root = STR("/p"), .home = STR("/h"),
                                .look = look_among, .look_arg = &disk};
    bool passes = policy_covers(&arena, &question);
    rule_set_free(set);
    return passes;
}

/* An allow on `~` must fit the file's name and where it is: the links of the home folder count for both. A deny counts
 * for the home folder as it is named and for what it really is. */
static void test_home_behind_a_link(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct rule_source rules[] = {{.effect = EFFECT_ALLOW, .text = STR("Read(~/**)"), .layer = LAYER_USER},
                                  {.effect = EFFECT_DENY, .text = STR("Read(~/no/**)"), .layer = LAYER_USER}};
    struct rule_set *set = rule_set_new(rules, 2);
    static const char *const there[] = {NULL};
    struct disk disk = {&arena, there};
    struct tool_facts facts = tool_facts(STR("Read"), parse(&arena, "{\"file_path\":\"/p/link/a\"}"));
    struct question question = {.facts = &facts, .rules = set, .cwd = STR("/q"), .root = STR("/q"),
                                .home = STR("/p/link"), .look = look_among, .look_arg = &disk};
    assert_true(str_is(policy_judge(&arena, &question).rule, "Read(~/**)"));
    facts = tool_facts(STR("Read"), parse(&arena, "{\"file_path\":\"~/no/a\"}"));
    assert_int_equal(policy_judge(&arena, &question).effect, EFFECT_DENY);
    static const char *const denied[] = {"cat /p/x/sub/no/a", "cat /p/x/sub/no/out", "cat /p/x/sub/n*/a",
                                         "grep -r x /p/x/sub"};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        facts = (struct tool_facts){.name = STR("Bash"), .class = TOOL_COMMAND, .command = str_of(denied[i])};
        assert_int_equal(policy_judge(&arena, &question).effect, EFFECT_DENY);
    }
    struct looked looked = {.arena = &arena};
    facts = (struct tool_facts){.name = STR("Bash"), .class = TOOL_COMMAND, .command = STR("make")};
    question.look = note_path;
    question.look_arg = &looked;
    (void)policy_judge(&arena, &question);
    assert_false(was_looked_at(&looked, "/p/link")); /* nothing in the command asks for it */
    rule_set_free(set);
}

/* A folder with HEAD and refs in it is a repository to git, with a configuration that runs commands. */
static void test_git_in_a_strange_folder(void **state)
{
    static const char *const plain[] = {"/p/.git", "/p/x", NULL};
    static const char *const bare[] = {"/p/.git", "/p/x/HEAD", "/p/x/refs", "/p/x/objects", NULL};
    static const char *const apart[] = {"/p/.git", "/p/x/HEAD", "/p/x/commondir", NULL};
    static const char *const both[] = {"/p/.git", "/p/x/.git", "/p/x/HEAD", "/p/x/refs", NULL};
    static const char *const root[] = {"/p/HEAD", "/p/refs", NULL};
    (void)state;
    assert_true(passes_among("git status", plain));
    assert_true(passes_among("cd x && git status", plain));
    assert_true(passes_among("cd x; git status", plain));
    assert_true(passes_among("git status", bare));
    assert_true(passes_among("cd x && ls", bare));
    assert_false(passes_among("cd x && git status", bare));
    assert_false(passes_among("cd x; git status", bare));
    assert_false(passes_among("cd x/sub && git status", bare));
    assert_false(passes_among("(cd x && git status)", bare));
    assert_false(passes_among("cd ./y/../x && git status -s", bare));
    assert_false(passes_among("cd link && git status", bare));
    assert_false(passes_among("cd y; cd z; git status", plain));
    assert_false(passes_among("cd x && git status", apart));
    assert_true(passes_among("cd x && git status", both));
    assert_false(passes_among("git status", root));
}

static void test_many_rules(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    enum { MANY = 3000 };
    struct rule_source *rules = arena_array(&arena, struct rule_source, MANY);
    for (size_t i = 0; i < MANY; i++)
        rules[i] = (struct rule_source){.effect = i % 3 ? EFFECT_ALLOW : EFFECT_DENY, .layer = LAYER_USER,
                                        .text = arena_printf(&arena, "Bash(tool%zu sub%zu:*)", i % 7, i)};
    assert_int_equal(judge(&arena, rules, MANY, "tool1 sub1").effect, EFFECT_ALLOW);
    assert_int_equal(judge(&arena, rules, MANY, "tool3 sub3 x").effect, EFFECT_DENY);
    assert_int_equal(judge(&arena, rules, MANY, "tool3 --x sub3").effect, EFFECT_DENY);
    assert_int_equal(judge(&arena, rules, MANY, "tool1 sub2").effect, EFFECT_ASK);
    assert_int_equal(judge(&arena, rules, MANY, "tool0 sub2999; tool3 sub2999").effect, EFFECT_ASK);
}

/* The table is searched by halves: it must be sorted. */
static void test_table_is_sorted(void **state)
{
    (void)state;
    assert_non_null(effects_find(STR("git")));
    assert_non_null(effects_exact(STR("npm exec")));
    assert_null(effects_find(STR("no such command")));
    assert_true(table_name_count > 2000);
    for (size_t i = 1; i < table_name_count; i++)
        assert_true(str_cmp(table_str(table_names[i - 1].name), table_str(table_names[i].name)) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_malformed_says_why), cmocka_unit_test(test_hints),
        cmocka_unit_test(test_strictest_wins_over_layers),
        cmocka_unit_test(test_project_only_tightens),
        cmocka_unit_test(test_expiry_and_uses),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_problems_are_told),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_reason_to_ask),
        cmocka_unit_test(test_the_disk_is_looked_at_for_what_is_named),
        cmocka_unit_test(test_home_behind_a_link),
        cmocka_unit_test(test_git_in_a_strange_folder),
        cmocka_unit_test(test_many_rules),
        cmocka_unit_test(test_table_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
