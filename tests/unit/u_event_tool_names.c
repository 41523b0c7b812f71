/* Other agents' tools under our names: what they are read as, and what rules on our names say about them. */
#include "event/tool_names.h"

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

static void read_as(void **state)
{
    (void)state;
    static const struct {
        const char *dialect, *theirs, *input, *ours, *read;
    } rows[] = {
        {"codex", "shell", "{\"command\":[\"bash\",\"-lc\",\"rm -rf /\"],\"workdir\":\"/x\"}", "Bash", "rm -rf /"},
        {"codex", "shell", "{\"command\":[\"rm\",\"-rf\",\"it's\"]}", "Bash", "'rm' '-rf' 'it'\\''s'"},
        {"codex", "exec_command", "{\"cmd\":\"ls\",\"yield_time_ms\":5}", "Bash", "ls"},
        {"codex", "exec_command", "{\"cmd\":\"ls\",\"shell\":\"/usr/bin/fish\"}", "Bash", "?"},
        {"codex", "write_stdin", "{\"session_id\":1,\"chars\":\"\"}", "BashOutput", ""},
        {"codex", "write_stdin", "{\"session_id\":1,\"chars\":\"rm x\\n\"}", "Bash", "?"},
        {"codex", "apply_patch",
         "{\"command\":\"*** Begin Patch\\n*** Update File: a.c\\n*** Move to: b.c\\n*** End Patch\"}",
         "Edit", "a.c b.c"},
        {"codex", "apply_patch", "{\"command\":\"diff --git a b\"}", "Edit", "?"},
        {"codex", "apply_patch", "{\"command\":\"*** Begin Patch\\n*** Rename File: a\\n*** End Patch\"}", "Edit", "?"},
        {"gemini", "run_shell_command", "{\"command\":\"ls\",\"dir_path\":\"src\"}", "Bash", "ls"},
        {"gemini", "write_file", "{\"file_path\":\"a\",\"content\":\"\"}", "Write", "a"},
        {"gemini", "replace", "{\"file_path\":\"a\",\"old_string\":\"\",\"new_string\":\"\"}", "Edit", "a"},
        {"gemini", "read_file", "{\"absolute_path\":\"/a\"}", "Read", "/a"},
        {"gemini", "list_directory", "{\"dir_path\":\"/a\"}", "LS", "/a"},
        {"gemini", "grep_search", "{\"pattern\":\"x\",\"dir_path\":\"/a\"}", "Grep", "/a"},
        {"gemini", "web_fetch", "{\"prompt\":\"sum up https://e.org/x please\"}", "WebFetch", "https://e.org/x"},
        {"gemini", "web_fetch", "{\"prompt\":\"https://e.org/ and http://f.org/\"}", "WebFetch", "?"},
        {"qwen", "edit", "{\"file_path\":\"a\"}", "Edit", "a"},
        {"qwen", "notebook_edit", "{\"notebook_path\":\"a.ipynb\"}", "NotebookEdit", "a.ipynb"},
        {"copilot", "bash", "{\"command\":\"ls\"}", "Bash", "ls"},
        {"copilot", "create", "{\"path\":\"a\",\"file_text\":\"x\"}", "Write", "a"},
        {"copilot", "edit", "{\"path\":\"a\",\"old_str\":\"x\",\"new_str\":\"y\"}", "Edit", "a"},
        {"copilot", "view", "{\"path\":\"a\"}", "Read", "a"},
        {"opencode", "bash", "{\"command\":\"ls\",\"workdir\":\"/t\"}", "Bash", "ls"},
        {"opencode", "edit", "{\"filePath\":\"a\",\"oldString\":\"x\",\"newString\":\"y\"}", "Edit", "a"},
        {"opencode", "write", "{\"filePath\":\"a\",\"content\":\"\"}", "Write", "a"},
        {"opencode", "read", "{\"filePath\":\"a\"}", "Read", "a"},
        {"opencode", "apply_patch", "{\"patchText\":\"*** Begin Patch\\n*** Delete File: x\\n*** End Patch\"}",
         "Edit", "x"},
        {"opencode", "webfetch", "{\"url\":\"https://e.org/\"}", "WebFetch", "https://e.org/"},
        {"cline", "execute_command", "{\"command\":\"ls\",\"requires_approval\":false}", "Bash", "ls"},
        {"cline", "write_to_file", "{\"path\":\"a\",\"content\":\"\"}", "Write", "a"},
        {"cline", "replace_in_file", "{\"path\":\"a\",\"diff\":\"\"}", "Edit", "a"},
        {"cline", "use_mcp_tool", "{\"server_name\":\"s\",\"tool_name\":\"t\",\"arguments\":{}}", "mcp__s__t", ""},
        {"goose", "developer__shell", "{\"command\":\"ls\"}", "Bash", "ls"},
        {"goose", "edit", "{\"path\":\"a\",\"before\":\"x\",\"after\":\"y\"}", "Edit", "a"},
        {"goose", "text_editor", "{\"command\":\"view\",\"path\":\"a\"}", "Read", "a"},
        {"openhands", "terminal", "{\"command\":\"ls\",\"is_input\":false,\"security_risk\":\"LOW\"}", "Bash", "ls"},
        {"openhands", "terminal", "{\"command\":\"y\",\"is_input\":true}", "Bash", "?"},
        {"openhands", "str_replace_editor", "{\"command\":\"str_replace\",\"path\":\"a\",\"old_str\":\"x\"}",
         "Edit", "a"},
        {"openhands", "apply_patch", "{\"patch\":\"*** Add File: n\\n+x\"}", "Edit", "n"},
        {"swe-agent", "str_replace_editor", "{\"command\":\"create\",\"path\":\"a\"}", "Write", "a"},
        {"", "bash", "{\"command\":\"ls\"}", "Bash", "ls"},
        {"", "web-fetch", "{\"url\":\"https://e.org/\"}", "WebFetch", "https://e.org/"},
        {"", "read", "{\"file_path\":\"a\",\"path\":\"b\"}", "Read", "?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(read, 1 << 12);
        struct tool_facts facts = tool_facts_from(&arena, str_of(rows[i].dialect), str_of(rows[i].theirs),
                                                  parse(&arena, rows[i].input));
        buf_put(&read, facts.command);
        buf_put(&read, facts.url);
        for (size_t k = 0; k < facts.path_count; k++)
            buf_printf(&read, "%s%.*s", k ? " " : "", STR_ARG(facts.paths[k]));
        assert_string_equal(arena_c(&arena, facts.name), rows[i].ours);
        assert_string_equal(facts.unclear ? "?" : buf_c(&read), rows[i].read);
        assert_false(facts.foreign);
    }
}

/* The verdict on a command or file tool of another name, under one rule. */
static enum effect judge(const char *dialect, const char *tool, const char *input, enum effect effect,
                         const char *rule)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts = tool_facts_from(&arena, str_of(dialect), str_of(tool), parse(&arena, input));
    struct rule_source source = {.effect = effect, .text = str_of(rule), .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(&source, 1);
    struct question question = {
        .facts = &facts, .rules = set, .cwd = STR("/p"), .root = STR("/p"), .home = STR("/h")};
    enum effect verdict = policy_judge(&arena, &question).effect;
    rule_set_free(set);
    return verdict;
}

static void stops_hold_everywhere(void **state)
{
    (void)state;
    static const char *const dialects[] = {"", "claude", "codex", "gemini", "goose"};
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        const char *d = dialects[i];
        assert_int_equal(judge(d, "shell", "{\"command\":\"rm -rf /\"}", EFFECT_DENY, "Bash(rm:*)"), EFFECT_DENY);
        assert_int_equal(judge(d, "run_shell_command", "{\"command\":\"rm x\"}", EFFECT_DENY, "Bash(rm:*)"),
                               EFFECT_DENY);
        assert_int_equal(judge(d, "apply_patch", "{\"command\":\"*** Update File: ok\\n*** Delete File: secret/x\"}",
                               EFFECT_DENY, "Edit(secret/**)"), EFFECT_DENY);
        assert_int_equal(judge(d, "write_file", "{\"file_path\":\"secret/x\"}", EFFECT_DENY, "Edit(secret/**)"),
                               EFFECT_DENY);
        assert_int_equal(judge(d, "run_shell_command", "{\"command\":\"ls\"}", EFFECT_DENY, "run_shell_command"),
                               EFFECT_DENY);
    }
}

static void allows_hold_at_home(void **state)
{
    (void)state;
    const char *ls = "{\"command\":\"ls\"}", *patch = "{\"command\":\"*** Update File: src/a\"}";
    assert_int_equal(judge("codex", "shell", ls, EFFECT_ALLOW, "Bash(ls)"), EFFECT_ALLOW);
    assert_int_equal(judge("gemini", "run_shell_command", ls, EFFECT_ALLOW, "Bash(ls)"), EFFECT_ALLOW);
    assert_int_equal(judge("", "bash", ls, EFFECT_ALLOW, "Bash(ls)"), EFFECT_ALLOW);
    assert_int_equal(judge("", "run_shell_command", ls, EFFECT_ALLOW, "Bash(ls)"), EFFECT_ASK);
    assert_int_equal(judge("claude", "shell", ls, EFFECT_ALLOW, "Bash(ls)"), EFFECT_ASK);
    assert_int_equal(judge("claude", "run_shell_command", ls, EFFECT_ALLOW, "Bash"), EFFECT_ASK);
    assert_int_equal(judge("", "run_shell_command", ls, EFFECT_ALLOW, "run_shell_command"), EFFECT_ALLOW);
    assert_int_equal(judge("codex", "apply_patch", patch, EFFECT_ALLOW, "Edit(src/**)"), EFFECT_ALLOW);
    assert_int_equal(judge("codex", "apply_patch", "{\"command\":\"*** Update File: src/a\\n*** Move to: x\"}",
                           EFFECT_ALLOW, "Edit(src/**)"), EFFECT_ASK);
    assert_int_equal(judge("", "read_file", "{\"file_path\":\"a\"}", EFFECT_ALLOW, "Bash(ls)"), EFFECT_ASK);
    assert_int_equal(judge("codex", "exec_command", "{\"cmd\":\"ls\",\"shell\":\"fish\"}", EFFECT_ALLOW,
                           "Bash(ls)"), EFFECT_ASK);
}

/* Cursor calls some of its tools as we do: that makes nobody else's call a foreign one. */
static void our_own_names_stay_ours(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    struct tool_named ours = tool_named(&arena, STR_NONE, STR("Read"), parse(&arena, "{\"file_path\":\"/p/x\"}"));
    assert_true(str_is(ours.name, "Read") && !ours.foreign);
    struct tool_named list = tool_named(&arena, STR("claude"), STR("LS"), parse(&arena, "{\"path\":\"/p\"}"));
    assert_true(str_is(list.name, "LS") && !list.foreign);
    struct tool_named theirs = tool_named(&arena, STR_NONE, STR("Read"), parse(&arena, "{\"path\":\"/p/x\"}"));
    assert_true(theirs.foreign && str_is(json_text(theirs.input, "file_path"), "/p/x"));
}

static void every_name_in_the_table_is_found(void **state)
{
    ARENA_SCOPE(arena);
    (void)state;
    const struct json *input = parse(&arena, "{\"path\":\"/p\"}");
    for (size_t i = 0; !str_empty(tool_foreign_name(i)); i++) {
        struct str name = tool_foreign_name(i);
        if (!tool_named(&arena, STR_NONE, name, input).alias && !tool_named(&arena, STR("cursor"), name, input).alias)
            fail_msg("%.*s is not found", STR_ARG(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_as),
        cmocka_unit_test(stops_hold_everywhere),
        cmocka_unit_test(allows_hold_at_home),
        cmocka_unit_test(our_own_names_stay_ours),
        cmocka_unit_test(every_name_in_the_table_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
