/* The case files cases/shell.txt and cases/policy.txt: three lines each, a blank line between.
 *
 *   line 1  the rules, parted by " ;; ": a rule alone is allowed; or `deny RULE`, `ask RULE`, `allow RULE`,
 *           `project RULE` (an allow of an untrusted repository), `mode NAME`, `session TOOL=EFFECT`,
 *           `link PATH -> REAL`, `shared PATH` (a hard link), `own PATH` and `port N` (Nod's own)
 *   line 2  the call: a shell command, or `Tool {json}`
 *   line 3  match or nomatch (do the allow rules alone let it pass?), or allow, ask, deny (the verdict),
 *           perhaps `by RULE`; then, behind two blanks, words for the reader
 *
 * ⏎ is a newline, ⇥ a tab, <U+1234> that code point. `# ` begins a comment. The calls happen in the project
 * /home/u/proj; the home is /home/u.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "io/file.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RULES_MAX = 32, LINKS_MAX = 8 };

struct setting {
    struct rule_source rules[RULES_MAX];
    size_t rule_count;
    struct tool_policy tools[RULES_MAX];
    size_t tool_count;
    struct resolved_path links[LINKS_MAX], plain;
    size_t link_count;
    enum permission_mode mode;
    struct str own;
    int port;
};

static bool take(struct str *text, const char *word)
{
    if (!str_starts(*text, str_of(word)))
        return false;
    *text = str_sub(*text, strlen(word), text->n);
    return true;
}

/* Undoes ⏎, ⇥ and <U+…>. */
static struct str plain(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, 1 << 20);
    while (!str_empty(text)) {
        char letter[4];
        if (take(&text, "⏎")) {
            buf_putc(&buf, '\n');
        } else if (take(&text, "⇥")) {
            buf_putc(&buf, '\t');
        } else if (str_starts(text, STR("<U+"))) {
            uint32_t code = (uint32_t)strtoul(arena_c(arena, str_sub(text, 3, text.n)), NULL, 16);
            buf_put(&buf, (struct str){letter, utf8_encode(code, letter)});
            (void)str_cut(text, '>', &text);
        } else {
            buf_putc(&buf, text.p[0]);
            text = str_sub(text, 1, text.n);
        }
    }
    return arena_str(arena, buf_str(&buf));
}

static void take_setting(struct setting *setting, struct str text)
{
    struct str left;
    if (take(&text, "mode ")) {
        assert_true(policy_mode_parse(text, &setting->mode));
        return;
    }
    if (take(&text, "session ")) {
        struct tool_policy *policy = &setting->tools[setting->tool_count++];
        policy->tool = str_cut(text, '=', &left);
        assert_true(effect_parse(left, &policy->effect));
        return;
    }
    if (take(&text, "link ")) {
        struct resolved_path *link = &setting->links[setting->link_count++];
        const char *arrow = memmem(text.p, text.n, " -> ", 4);
        assert_non_null(arrow);
        *link = (struct resolved_path){.path = str_sub(text, 0, (size_t)(arrow - text.p)),
                                       .real = str_sub(text, (size_t)(arrow - text.p) + 4, text.n), .exists = true};
        return;
    }
    if (take(&text, "shared ")) {
        setting->links[setting->link_count++] = (struct resolved_path){.path = text, .real = text, .exists = true,
                                                                        .shared = true};
        return;
    }
    if (take(&text, "own ")) {
        setting->own = text;
        return;
    }
    if (take(&text, "port ")) {
        for (size_t i = 0; i < text.n; i++)
            setting->port = setting->port * 10 + (text.p[i] - '0');
        return;
    }
    struct rule_source *rule = &setting->rules[setting->rule_count++];
    *rule = (struct rule_source){.effect = EFFECT_ALLOW, .layer = LAYER_USER};
    if (take(&text, "deny "))
        rule->effect = EFFECT_DENY;
    else if (take(&text, "ask "))
        rule->effect = EFFECT_ASK;
    else if (take(&text, "project "))
        rule->layer = LAYER_PROJECT;
    else
        (void)take(&text, "allow ");
    rule->text = rule->id = text;
}

static struct setting read_settings(struct arena *arena, struct str line)
{
    struct setting setting = {0};
    while (!str_empty(line)) {
        const char *end = memmem(line.p, line.n, " ;; ", 4);
        struct str one = end ? str_sub(line, 0, (size_t)(end - line.p)) : line;
        take_setting(&setting, plain(arena, one));
        line = end ? str_sub(line, one.n + 4, line.n) : STR_NONE;
    }
    return setting;
}

/* `Tool {json}`; everything else is a command. */
static struct tool_facts read_call(struct arena *arena, struct str line)
{
    const struct json *input;
    struct err err;
    struct str rest, name = str_cut(line, ' ', &rest);
    bool json = str_starts(rest, STR("{\"")) && str_ends(rest, STR("}")) && name.n &&
                (str_starts(name, STR("mcp__")) || (name.p[0] >= 'A' && name.p[0] <= 'Z'));
    if (!json) {
        BUF_SCOPE(buf, 1 << 21);
        struct json_out out = json_out(&buf);
        json_open(&out, '{');
        json_key(&out, "command");
        json_put_str(&out, plain(arena, line));
        json_close(&out, '}');
        name = STR("Bash");
        rest = arena_str(arena, buf_str(&buf));
    }
    assert_true(rc_ok(json_parse(arena, plain(arena, rest), &input, &err)));
    return tool_facts(name, input);
}

struct expected {
    struct str effect, rule;
};

static struct expected read_expected(struct str line)
{
    const char *words = memmem(line.p, line.n, "  ", 2);
    struct str text = words ? str_sub(line, 0, (size_t)(words - line.p)) : line, rest;
    struct expected expected = {.effect = str_cut(text, ' ', &rest)};
    if (take(&rest, "by "))
        expected.rule = rest;
    return expected;
}

static const struct resolved_path *look(void *arg, struct str path, bool place)
{
    (void)place;
    struct setting *setting = arg;
    for (size_t i = 0; i < setting->link_count; i++)
        if (str_eq(setting->links[i].path, path))
            return &setting->links[i];
    setting->plain = (struct resolved_path){.path = path, .real = path};
    return &setting->plain;
}

static bool run_case(struct arena *arena, const struct str lines[3])
{
    struct setting setting = read_settings(arena, lines[0]);
    struct tool_facts facts = read_call(arena, lines[1]);
    struct expected expected = read_expected(lines[2]);
    struct rule_set *set = rule_set_new(setting.rules, setting.rule_count);
    struct question question = {.facts = &facts,
                                .mode = setting.mode,
                                .rules = set,
                                .tool_policies = setting.tools,
                                .tool_policy_count = setting.tool_count,
                                .cwd = STR("/home/u/proj"),
                                .root = STR("/home/u/proj"),
                                .home = STR("/home/u"),
                                .now_ms = 1000,
                                .look = setting.link_count ? look : NULL,
                                .look_arg = &setting,
                                .protected_paths = &setting.own,
                                .protected_count = !str_empty(setting.own),
                                .own_ports = {setting.port}};
    struct verdict verdict = policy_judge(arena, &question);
    struct str got = str_of(effect_name(verdict.effect));
    bool match = str_is(expected.effect, "match");
    bool fine;
    if (match || str_is(expected.effect, "nomatch"))
        fine = policy_covers(arena, &question) == match;
    else
        fine =
            str_eq(got, expected.effect) && (str_empty(expected.rule) || str_eq(verdict.rule, expected.rule));
    if (!fine)
        (void)fprintf(stderr, "%.*s\n%.*s\n  wanted %.*s, got %.*s by %.*s: %.*s\n\n", STR_ARG(lines[0]),
                      STR_ARG(lines[1]), STR_ARG(lines[2]), STR_ARG(got), STR_ARG(verdict.rule),
                      STR_ARG(verdict.why));
    rule_set_free(set);
    return fine;
}

static void run_file(const char *path)
{
    ARENA_SCOPE(text_arena);
    struct str text, lines[3];
    struct err err;
    size_t at = 0, cases = 0, bad = 0;
    assert_true(rc_ok(file_read(&text_arena, path, 8 << 20, &text, &err)));
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text);
        if (at == 0 && (str_empty(line) || str_starts(line, STR("# "))))
            continue;
        lines[at++] = line;
        if (at < 3)
            continue;
        ARENA_SCOPE(arena);
        bad += !run_case(&arena, lines);
        cases++;
        at = 0;
    }
    (void)fprintf(stderr, "%s: %zu cases, %zu not as expected\n", path, cases, bad);
    assert_int_equal(at, 0);
    assert_int_equal(bad, 0);
}

static void test_shell(void **state)
{
    (void)state;
    run_file(TESTS_DIR "/cases/shell.txt");
}

static void test_policy(void **state)
{
    (void)state;
    run_file(TESTS_DIR "/cases/policy.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shell), cmocka_unit_test(test_policy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
