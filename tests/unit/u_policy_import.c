/* Rules of other programs: what is taken over, and what is said about the rest. */
#include "base/buf.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Everything taken, one rule per line, then the remarks as `line: words`. */
static const char *import(struct arena *arena, enum import_kind kind, const char *text)
{
    struct imported imported = {0};
    struct err err = {0};
    BUF_SCOPE(buf, 1 << 16);
    if (rc_bad(policy_import(arena, kind, str_of(text), &imported, &err)))
        return arena_c(arena, arena_printf(arena, "error: %s", err.text));
    for (size_t i = 0; i < imported.rule_count; i++) {
        const struct rule_source *rule = &imported.rules[i];
        buf_printf(&buf, "%s %.*s", effect_name(rule->effect), STR_ARG(rule->text));
        if (!str_empty(rule->reason))
            buf_printf(&buf, " (%.*s)", STR_ARG(rule->reason));
        for (size_t k = 0; k < rule->match_count; k++)
            buf_printf(&buf, " +%.*s", STR_ARG(rule->match[k]));
        for (size_t k = 0; k < rule->not_match_count; k++)
            buf_printf(&buf, " -%.*s", STR_ARG(rule->not_match[k]));
        buf_putc(&buf, '\n');
    }
    for (size_t i = 0; i < imported.remark_count; i++) {
        const struct import_remark *remark = &imported.remarks[i];
        struct str words = remark->words.n > 24 ? str_sub(remark->words, 0, 24) : remark->words;
        buf_printf(&buf, "%u: %.*s: %.*s\n", remark->line, STR_ARG(remark->what), STR_ARG(words));
    }
    return arena_c(arena, buf_str(&buf));
}

static void test_claude_code(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(
        import(&arena, IMPORT_CLAUDE_CODE,
               "{\n"
               "  \"permissions\": {\n"
               "    \"allow\": [\n"
               "      \"Bash(npm run test:*)\",\n"
               "      \"Bash(git log *)\",\n"
               "      \"Bash(ls*)\",\n"
               "      \"Read(~/.zshrc)\",\n"
               "      \"Read(*.md)\",\n"
               "      \"Edit(src/**)\",\n"
               "      \"WebFetch(domain:Docs.rs)\",\n"
               "      \"WebSearch\",\n"
               "      \"mcp__github\",\n"
               "      \"mcp__slack__post\",\n"
               "      \"Task(explore)\",\n"
               "      \"Bash(\",\n"
               "      5,\n"
               "      \"Bash(npm run test *)\"\n"
               "    ],\n"
               "    \"deny\": [\"Read(./.env)\", \"Bash(rm -rf:*)\", \"Edit(*.lock)\"],\n"
               "    \"ask\": [\"Bash(git push:*)\"],\n"
               "    \"defaultMode\": \"acceptEdits\",\n"
               "    \"additionalDirectories\": [\"../docs\"],\n"
               "    \"strange\": 1\n"
               "  },\n"
               "  \"hooks\": {},\n"
               "  \"model\": \"x\"\n"
               "}\n"),
        "allow Bash(npm run test:*)\n"
        "allow Bash(git log:*)\n"
        "allow Bash(ls*)\n"
        "allow Read(~/.zshrc)\n"
        "allow Read(**/*.md)\n"
        "allow Edit(src/**)\n"
        "allow WebFetch(domain:docs.rs)\n"
        "allow WebSearch\n"
        "allow mcp__github__*\n"
        "allow mcp__slack__post\n"
        "allow Task(subagent_type:explore)\n"
        "deny Read(.env)\n"
        "deny Bash(rm -rf:*)\n"
        "deny Edit(*.lock)\n"
        "ask Bash(git push:*)\n"
        "8: Read(*.md): a pattern without a slas\n"
        "15: Bash(: the rule `Bash(` is malf\n"
        "16: 5: left out: it is not a ru\n"
        "21: \"acceptEdits\": left out: the permission\n"
        "22: [\"../docs\"]: left out: name these fol\n"
        "23: strange: left out: there is no su\n"
        "25: hooks: left out: only `permissi\n");
    assert_string_equal(import(&arena, IMPORT_CLAUDE_CODE, "{}"), "error: the file has no object "
                                                                  "`permissions`");
    assert_true(str_starts(str_of(import(&arena, IMPORT_CLAUDE_CODE, "[")), STR("error: not valid JSON")));
}

static void test_codex(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(import(&arena, IMPORT_CODEX,
                               "# a comment\n"
                               "prefix_rule(\n"
                               "    pattern = [\"git\", [\"status\", \"diff\"]],  # alternatives\n"
                               "    decision = \"allow\",\n"
                               ")\n"
                               "prefix_rule(pattern = ['git', 'push'], decision = 'prompt', justification = "
                               "'publishing needs a human',\n"
                               "            match = [\"git push origin\", [\"git\", \"push\", \"a b\"]], "
                               "not_match = [\"git pull\"])\n"
                               "prefix_rule(pattern = [\"rm\"], decision = \"forbidden\")\n"
                               "prefix_rule(pattern = [\"npm\", \"test\"])\n"
                               "prefix_rule(pattern = [\"echo\", \"a b\"])\n"
                               "prefix_rule(pattern = [], decision = \"allow\")\n"
                               "prefix_rule(pattern = [\"x\"], decision = \"maybe\")\n"
                               "host_executable(name = \"git\")\n"),
                        "allow Bash(git status:*)\n"
                        "allow Bash(git diff:*)\n"
                        "ask Bash(git push:*) (publishing needs a human) +git push origin +git push 'a b' "
                        "-git pull\n"
                        "deny Bash(rm:*)\n"
                        "allow Bash(npm test:*)\n"
                        "10: echo: left out: a word with a \n"
                        "11: prefix_rule: left out: it has no patt\n"
                        "12: prefix_rule: left out: it has no patt\n"
                        "13: host_executable: left out: only prefix_ru\n");
    assert_true(str_starts(str_of(import(&arena, IMPORT_CODEX, "x + 1\n")), STR("error: line 1: only "
                                                                                "calls")));
    assert_true(str_starts(str_of(import(&arena, IMPORT_CODEX, "\nprefix_rule(pattern=[\"a)")), STR("error: "
                                                                                                    "line "
                                                                                                    "2:")));
}

static void test_opencode(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(import(&arena, IMPORT_OPENCODE,
                               "{\n"
                               "  // comments are fine there\n"
                               "  \"permission\": {\n"
                               "    \"*\": \"ask\",\n"
                               "    \"bash\": {\"*\": \"ask\", \"git *\": \"allow\", \"git push*\": \"ask\", "
                               "\"rm ?\": \"deny\"},\n"
                               "    \"edit\": {\"*\": \"deny\", \"docs/*.md\": \"allow\"},\n"
                               "    \"read\": {\"*.env\": \"deny\", \"/etc/*\": \"deny\"},\n"
                               "    \"webfetch\": \"allow\",\n"
                               "    \"external_directory\": {\"~/x/**\": \"allow\"},\n"
                               "    \"myserver_tool\": \"allow\", /* mcp */\n"
                               "  },\n"
                               "  \"agent\": {\"plan\": {\"permission\": {}}},\n"
                               "}\n"),
                        "allow Bash(git:*)\n"
                        "ask Bash(git push*)\n"
                        "allow Edit(docs/**/*.md)\n"
                        "deny Read(**/*.env)\n"
                        "deny Read(//etc/**)\n"
                        "allow WebFetch\n"
                        "4: \"ask\": left out: what no rule n\n"
                        "5: rm ?: left out: `?` means itse\n"
                        "5: Bash: there the last rule that\n"
                        "6: Edit: left out: in Nod deny an\n"
                        "6: Edit: there the last rule that\n"
                        "9: external_directory: left out: name these fol\n"
                        "10: myserver_tool: left out: which tool tha\n"
                        "12: plan: left out: rules of one a\n");
}

static void test_codex_config(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(import(&arena, IMPORT_CODEX,
                               "model = \"x\" # a comment\n"
                               "approval_policy = \"on-request\"\n"
                               "[mcp_servers.github]\n"
                               "command = \"npx\"\n"
                               "args = [\"-y\", 'server']\n"
                               "disabled_tools = [\n  \"delete_repo\",\n  \"push\", ]\n"
                               "[mcp_servers.github.tools.get_issue]\n"
                               "approval_mode = \"approve\"\n"
                               "[mcp_servers.\"old\"]\n"
                               "enabled = false\n"
                               "[permissions.work.filesystem]\n"
                               "\"~/.ssh\" = \"none\"\n"
                               "\"/srv/data\" = \"read\"\n"
                               "[permissions.work.network]\n"
                               "domains = { \"example.com\" = \"allow\", \"evil.example\" = \"deny\" }\n"
                               "[sandbox_workspace_write]\n"
                               "writable_roots = [\"/tmp/build\"]\n"),
                        "deny mcp__github__delete_repo\n"
                        "deny mcp__github__push\n"
                        "allow mcp__github__get_issue\n"
                        "deny mcp__old__*\n"
                        "deny Read(~/.ssh)\n"
                        "deny Read(~/.ssh/**)\n"
                        "deny Edit(~/.ssh)\n"
                        "deny Edit(~/.ssh/**)\n"
                        "allow Read(//srv/data)\n"
                        "allow Read(//srv/data/**)\n"
                        "allow WebFetch(domain:example.com)\n"
                        "deny WebFetch(domain:evil.example)\n"
                        "allow Edit(//tmp/build/**)\n"
                        "2: approval_policy: left out: the permission\n");
    assert_true(
        str_starts(str_of(import(&arena, IMPORT_CODEX, "a = \"\"\"x\"\"\"\n")), STR("error: line 1: a text in")));
    assert_true(str_starts(str_of(import(&arena, IMPORT_CODEX, "[a\nb = 1\n")), STR("error: line 1: a `]`")));
}

static void test_gemini(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(
        import(&arena, IMPORT_GEMINI,
               "{\n"
               "  \"tools\": {\"allowed\": [\"run_shell_command(git status)\", \"ShellTool(npm test)\",\n"
               "    \"read_file\"], \"exclude\": [\"run_shell_command(rm -rf)\", \"write_file\", \"odd\"]},\n"
               "  \"mcp\": {\"excluded\": [\"spy\"]},\n"
               "  \"mcpServers\": {\"github\": {\"trust\": true, \"excludeTools\": [\"delete_repo\"]}}\n"
               "}\n"),
        "allow Bash(git status:*)\n"
        "allow Bash(npm test:*)\n"
        "allow Read\n"
        "deny Bash(rm -rf:*)\n"
        "deny Write\n"
        "deny mcp__github__delete_repo\n"
        "allow mcp__github__*\n"
        "deny mcp__spy__*\n"
        "3: odd: left out: which tool tha\n");
    struct imported imported;
    struct err err;
    assert_true(rc_ok(policy_import(&arena, IMPORT_GEMINI, STR("{\"excludeTools\":[\"odd\"],\"coreTools\":[\"x\"]}"),
                                    &imported, &err)));
    assert_int_equal(imported.lost, 2);
}

static void test_kinds(void **state)
{
    enum import_kind kind;
    (void)state;
    assert_true(import_kind_parse(STR("codex"), &kind));
    assert_int_equal(kind, IMPORT_CODEX);
    assert_false(import_kind_parse(STR("x"), &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claude_code),
        cmocka_unit_test(test_codex),
        cmocka_unit_test(test_codex_config),
        cmocka_unit_test(test_gemini),
        cmocka_unit_test(test_opencode),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
