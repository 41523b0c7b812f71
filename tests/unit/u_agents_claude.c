/* Conversations with Claude Code as they were seen, replayed: each line is read, each question is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "agents/claude.h"
#include "io/file.h"

struct count {
    unsigned asks, befores, cancels, results, tasks, forms, remarks, replies, lines;
};

static struct call call_with(enum call_status status, enum decision decision, const char *edited)
{
    return (struct call){.status = status, .decision = decision, .updated_input = str_of(edited),
                         .actor = STR("alice")};
}

/* Reads our own line back, as Claude Code would. */
static const struct json *answer_in(struct arena *arena, const struct buf *line, struct str request)
{
    const struct json *json = NULL;
    struct str text = arena_str(arena, buf_str(line));
    assert_true(str_find(text, '\n') == text.n - 1);
    assert_true(rc_ok(json_parse(arena, str_sub(text, 0, text.n - 1), &json, NULL)));
    const struct json *response = json_get(json, "response");
    assert_true(str_is(json_text(json, "type"), "control_response"));
    assert_true(str_eq(json_text(response, "request_id"), request));
    return json_get(response, "response");
}

static void answer_every_way(struct arena *arena, const struct claude_message *ask)
{
    static const enum call_status not_allowed[] = {CALL_DENIED, CALL_TIMED_OUT, CALL_CANCELLED, CALL_AWAITING,
                                                   CALL_UNKNOWN, CALL_STARTED, CALL_FINISHED};
    BUF_SCOPE(allow, 1 << 20);
    struct call call = call_with(CALL_ALLOWED, DECISION_ALLOW_ONCE, NULL);
    claude_answer(&allow, ask, &call, false);
    const struct json *body = answer_in(arena, &allow, ask->request);
    assert_true(str_is(json_text(body, "behavior"), "allow"));
    assert_true(json_same_tokens(json_get(body, "updatedInput")->raw, ask->input->raw));
    for (size_t i = 0; i < sizeof not_allowed / sizeof *not_allowed; i++) {
        BUF_SCOPE(deny, 1 << 20);
        call = call_with(not_allowed[i], DECISION_NONE, NULL);
        claude_answer(&deny, ask, &call, true);
        body = answer_in(arena, &deny, ask->request);
        assert_true(str_is(json_text(body, "behavior"), "deny"));
        assert_false(str_empty(json_text(body, "message")));
    }
}

/* Only what a person filled in is accepted; nothing else makes an answer of it. */
static void answer_form(struct arena *arena, const struct claude_message *ask)
{
    static const struct {
        enum call_status status;
        const char *edited, *action;
    } rows[] = {
        {CALL_ALLOWED, "{\"content\":{\"name\":\"Ada\"}}", "accept"}, {CALL_ALLOWED, NULL, "decline"},
        {CALL_ALLOWED, "{\"content\":7}", "decline"},                 {CALL_DENIED, NULL, "decline"},
        {CALL_DENIED, "{\"content\":{}}", "decline"},                 {CALL_CANCELLED, NULL, "decline"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        BUF_SCOPE(line, 1 << 20);
        struct call call = call_with(rows[i].status, DECISION_ALLOW_ONCE, rows[i].edited);
        if (rows[i].status != CALL_ALLOWED)
            call.decision = DECISION_DENY;
        claude_answer_elicit(&line, ask, &call);
        assert_true(str_is(json_text(answer_in(arena, &line, ask->request), "action"), rows[i].action));
    }
}

static void take_line(struct arena *arena, struct str line, struct count *count)
{
    struct claude_message m;
    struct err err = {0};
    if (rc_bad(claude_read(arena, line, &m, &err)))
        fail_msg("%s: %.*s", err.text, (int)(line.n < 300 ? line.n : 300), line.p);
    if (m.kind == CLAUDE_UNKNOWN)
        fail_msg("of a kind that is in no table: %.*s", (int)(line.n < 300 ? line.n : 300), line.p);
    count->lines++;
    count->remarks += m.kind == CLAUDE_REMARK;
    count->replies += m.kind == CLAUDE_REPLY;
    count->asks += m.kind == CLAUDE_ASK;
    count->befores += m.kind == CLAUDE_BEFORE;
    count->cancels += m.kind == CLAUDE_CANCEL;
    count->results += m.kind == CLAUDE_RESULT;
    count->tasks += m.kind == CLAUDE_TASK;
    count->forms += m.kind == CLAUDE_ELICIT;
    if (m.kind == CLAUDE_ASK)
        answer_every_way(arena, &m);
    if (m.kind == CLAUDE_ELICIT)
        answer_form(arena, &m);
}

static struct count replay(const char *name)
{
    ARENA_SCOPE(arena);
    struct count count = {0};
    struct str text;
    const char *path = arena_printf(&arena, "%s/cases/claude/%s", TESTS_DIR, name).p;
    assert_true(rc_ok(file_read(&arena, path, 1 << 20, &text, NULL)));
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text);
        if (str_starts(line, STR("< ")))
            take_line(&arena, str_sub(line, 2, line.n), &count);
    }
    return count;
}

static void every_conversation(void **state)
{
    (void)state;
    DIR *folder = opendir(TESTS_DIR "/cases/claude");
    assert_non_null(folder);
    unsigned files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!str_ends(str_of(entry->d_name), STR(".ndjson")))
            continue;
        files++;
        assert_true(replay(entry->d_name).lines > 0);
    }
    (void)closedir(folder);
    assert_true(files >= 98);
}

static void what_is_in_them(void **state)
{
    (void)state;
    assert_int_equal(replay("01_allow.ndjson").asks, 1);
    assert_int_equal(replay("11_interrupt_while_pending.ndjson").cancels, 1);
    assert_true(replay("20d_parallel_concurrency_safe_asks.ndjson").asks >= 2);
    assert_int_equal(replay("27_subagent.ndjson").tasks, 1);
    assert_true(replay("45_sdk_hook_callback.ndjson").befores >= 1);
    assert_int_equal(replay("66_mcp_elicitation.ndjson").forms, 2);
    assert_int_equal(replay("96_old_2.0.76_allow_echo.ndjson").asks, 1);
    assert_true(replay("25_plan_mode.ndjson").remarks >= 1);
    assert_true(replay("49_second_initialize_lists_pending.ndjson").replies >= 2);
    assert_true(replay("20c_parallel_deny_interrupt_first.ndjson").results == 1);
}

static struct claude_message ask_of(struct arena *arena, const char *line)
{
    struct claude_message m;
    assert_true(rc_ok(claude_read(arena, str_of(line), &m, NULL)));
    return m;
}

static const char plain[] =
    "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":"
    "\"Bash\",\"input\":{\"command\":\"ls\"},\"tool_use_id\":\"t1\",\"permission_suggestions\":[{\"type\":\"addRules\","
    "\"rules\":[{\"toolName\":\"Bash\",\"ruleContent\":\"ls\"}],\"behavior\":\"allow\",\"destination\":\"session\"},"
    "{\"type\":\"setMode\",\"mode\":\"acceptEdits\",\"destination\":\"session\"}]}}";

/* A person's own line breaks must not become Claude Code's: such a line would end it. */
static void an_edited_input_stays_one_line(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(line, 1 << 20);
    struct claude_message ask = ask_of(&arena, plain);
    struct call call = call_with(CALL_ALLOWED, DECISION_ALLOW_ONCE, "{\n  \"command\":\r\n \"pwd\"\n}");
    claude_answer(&line, &ask, &call, false);
    const struct json *body = answer_in(&arena, &line, STR("r1"));
    assert_true(str_is(json_text(json_get(body, "updatedInput"), "command"), "pwd"));
}

static void only_rules_are_remembered(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(always, 1 << 20);
    BUF_SCOPE(once, 1 << 20);
    struct claude_message ask = ask_of(&arena, plain);
    struct call call = call_with(CALL_ALLOWED, DECISION_ALLOW_ALWAYS, NULL);
    claude_answer(&always, &ask, &call, true);
    const struct json *updates = json_get(answer_in(&arena, &always, STR("r1")), "updatedPermissions");
    assert_non_null(updates);
    assert_int_equal(updates->count, 1);
    assert_true(str_is(json_text(updates->first, "destination"), "localSettings"));
    call.decision = DECISION_ALLOW_ONCE;
    claude_answer(&once, &ask, &call, true);
    assert_null(json_get(answer_in(&arena, &once, STR("r1")), "updatedPermissions"));
}

static void the_hook_asks_allows_and_denies(void **state)
{
    (void)state;
    static const struct {
        enum call_status status;
        enum decision decision;
        const char *says;
    } rows[] = {
        {CALL_ALLOWED, DECISION_ALLOW_ONCE, "allow"}, {CALL_ALLOWED, DECISION_NONE, "deny"},
        {CALL_DENIED, DECISION_DENY, "deny"},         {CALL_UNKNOWN, DECISION_NONE, "ask"},
        {CALL_CANCELLED, DECISION_CANCELLED, "deny"}, {CALL_FINISHED, DECISION_ALLOW_ONCE, "deny"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(line, 1 << 20);
        struct claude_message ask = ask_of(&arena, plain);
        struct call call = call_with(rows[i].status, rows[i].decision, NULL);
        ask.kind = CLAUDE_BEFORE;
        claude_answer_before(&line, &ask, &call);
        const struct json *out = json_get(answer_in(&arena, &line, STR("r1")), "hookSpecificOutput");
        assert_true(str_is(json_text(out, "permissionDecision"), rows[i].says));
    }
}

static void a_broken_question_can_still_be_refused(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct claude_message m;
    static const char broken[] =
        "{\"type\":\"control_request\",\"request_id\":\"r9\",\"request\":{\"input\":\"\\u0000\"}}";
    assert_true(rc_bad(claude_read(&arena, str_of(broken), &m, NULL)));
    assert_true(str_is(claude_request_in(str_of(broken)), "r9"));
    assert_true(str_empty(claude_request_in(STR("{\"request_id\":"))));
    assert_true(str_empty(claude_request_in(STR("{\"request_id\":\"unfinished"))));
    static const char no_input[] = "{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":"
                                   "\"can_use_tool\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t\"}}";
    assert_true(rc_bad(claude_read(&arena, str_of(no_input), &m, NULL)));
}

static struct claude_args args_of(struct arena *arena, int argc, const char **argv)
{
    struct claude_args args;
    struct err err;
    if (rc_bad(claude_args_read(arena, argc, (char **)argv, &args, &err)))
        fail_msg("%s", err.text);
    return args;
}

static void the_command_line(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    const char *line[] = {"--model", "opus", "-p", "do it", "--allowedTools", "Bash", "Read", "--output-format", "json",
                          "--resume", "abc"};
    struct claude_args args = args_of(&arena, 11, line);
    assert_string_equal(args.prompt, "do it");
    assert_string_equal(args.format, "json");
    assert_string_equal(args.session, "abc");
    assert_true(args.once && args.goes_on);
    assert_int_equal(args.kept_count, 7);
    const char *dashes[] = {"-p", "--", "--looks like an option"};
    assert_string_equal(args_of(&arena, 3, dashes).prompt, "--looks like an option");
    const char *refused[] = {"--permission-prompt-tool=x"};
    const char *hosted[] = {"--output-format", "stream-json", "--input-format", "stream-json",
                            "--permission-prompt-tool", "stdio", "--model", "opus"};
    args = args_of(&arena, 8, hosted);
    assert_true(args.hosted && args.kept_count == 2 && !args.prompt);
    const char *unknown[] = {"--input-format", "xml"};
    assert_true(rc_bad(claude_args_read(&arena, 2, (char **)unknown, &args, NULL)));
    const char *twice[] = {"one", "two"};
    assert_true(rc_bad(claude_args_read(&arena, 1, (char **)refused, &args, NULL)));
    assert_true(rc_bad(claude_args_read(&arena, 2, (char **)twice, &args, NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_conversation),
        cmocka_unit_test(what_is_in_them),
        cmocka_unit_test(an_edited_input_stays_one_line),
        cmocka_unit_test(only_rules_are_remembered),
        cmocka_unit_test(the_hook_asks_allows_and_denies),
        cmocka_unit_test(a_broken_question_can_still_be_refused),
        cmocka_unit_test(the_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
