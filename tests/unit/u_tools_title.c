/* Titles of calls: from the call as an agent sent it, through its preview, to the words that people see. */
#include "tools/tools.h"

#include "base/buf.h"
#include "base/limits.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

static const char *title_of(struct arena *arena, const char *dialect, const char *name, const char *input, size_t parts)
{
    const struct json *parsed, *preview;
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    assert_true(rc_ok(json_parse(arena, str_of(input), &parsed, NULL)));
    struct tool_facts facts = tool_facts_from(arena, str_of(dialect), str_of(name), parsed);
    tool_preview(&out, &facts, STR("/home/a/p"));
    assert_true(rc_ok(json_parse(arena, arena_str(arena, buf_str(&buf)), &preview, NULL)));
    struct tool_title title = tool_title(arena, &facts, preview, parts);
    return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s|%.*s", STR_ARG(title.kind), STR_ARG(title.verb),
                        STR_ARG(title.object), STR_ARG(title.tail), STR_ARG(title.where)).p;
}

#define TWO_FILES "*** Begin Patch\\n*** Add File: a.md\\n+x\\n*** Delete File: b.md\\n*** End Patch"

static const struct {
    const char *dialect, *name, *input;
    size_t parts;
    const char *title;
} rows[] = {
    {"", "Bash", "{\"command\":\"make\"}", 1, "Run a command|Run a command|||/home/a/p"},
    {"", "Bash", "{\"command\":\"a; b\",\"outside\":true}", 2,
     "Run a command|Run 2 commands outside the box|||/home/a/p"},
    {"codex", "shell", "{\"command\":[\"make\",\"test\"]}", 1, "Run a command|Run a command|||/home/a/p"},
    {"", "Write", "{\"file_path\":\"/home/a/p/x.c\",\"content\":\"1\"}", 0, "Write a file|Write|x.c|(1 byte)|"},
    {"", "Edit", "{\"file_path\":\"/etc/x\",\"old_string\":\"a\",\"new_string\":\"b\\nc\"}", 0,
     "Change a file|Change 2 lines in|/etc/x||"},
    {"", "MultiEdit", "{\"file_path\":\"/home/a/p/x\",\"edits\":[{\"old_string\":\"a\",\"new_string\":\"b\"},"
     "{\"old_string\":\"c\",\"new_string\":\"d\"}]}", 0, "Change a file|Make 2 changes in|x||"},
    {"", "Edit", "{\"file_path\":\"x\"}", 0, "Change a file|Change|x||"}, /* its preview cannot say how much */
    {"", "NotebookEdit", "{\"notebook_path\":\"n.ipynb\",\"new_source\":\"x\",\"edit_mode\":\"insert\"}", 0,
     "Change a notebook|Insert a cell in|n.ipynb||"},
    {"codex", "apply_patch", "{\"input\":\"" TWO_FILES "\"}", 0, "Change files|Change 2 files:|a.md, b.md||"},
    {"", "Read", "{\"file_path\":\"/home/a/p/x\"}", 0, "Read a file|Read|x||"},
    {"", "Grep", "{\"pattern\":\"needle\",\"path\":\"src\"}", 0, "Search files|Search for|needle|in src|"},
    {"", "WebFetch", "{\"url\":\"https://x.org/\"}", 0, "Use the web|Fetch|https://x.org/||"},
    {"", "Net", "{\"host\":\"x.org\",\"port\":443,\"for\":\"curl\"}", 0, "Reach a host|Connect to|x.org:443|for curl|"},
    {"", "ExitPlanMode", "{\"plan\":\"# P\"}", 0, "Approve a plan|Approve this plan?|||"},
    {"", "AskUserQuestion", "{\"questions\":[{\"question\":\"Which?\"}]}", 0, "Answer a question|||Which?|"},
    {"", "AskUserQuestion", "{\"questions\":[{},{}]}", 0, "Answer a question|||2 questions for you|"},
    {"", "AskUserQuestion", "{}", 0, "Answer a question|||A question for you|"},
    {"", "mcp__hub__create_issue", "{}", 0, "Use a tool|Use|create_issue|of the server hub|"},
    {"", "mcp__", "{}", 0, "Use a tool|Use|mcp__||"},
    {"", "Frobnicate", "{}", 0, "Use a tool|Use|Frobnicate||"},
};

static void a_call_has_the_title_of_what_it_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        assert_string_equal(title_of(&arena, rows[i].dialect, rows[i].name, rows[i].input, rows[i].parts),
                            rows[i].title);
    }
}

/* Words of an agent end before a character that would be cut, and are one line. */
static void long_words_are_cut(void **state)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(input, 1 << 12);
    (void)state;
    buf_puts(&input, "{\"questions\":[{\"question\":\"x");
    for (size_t i = 0; i < 300; i++)
        buf_puts(&input, "ü");
    buf_puts(&input, "\"}]}");
    struct str title = str_of(title_of(&arena, "", "AskUserQuestion", buf_c(&input), 0));
    assert_true(str_has(title, STR("üü…|")) && title.n < 450);
    assert_string_equal(title_of(&arena, "", "AskUserQuestion", "{\"questions\":[{\"question\":\" A?\\nb\"}]}", 0),
                        "Answer a question|||A?|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_the_title_of_what_it_does),
        cmocka_unit_test(long_words_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
