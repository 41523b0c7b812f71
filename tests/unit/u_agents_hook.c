/* Hooks in three dialects: as they were seen, and what they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/agent.h"
#include "io/file.h"

static const char before[] =
    "{\"session_id\":\"s\",\"cwd\":\"/p\",\"permission_mode\":\"default\",\"hook_event_name\":\"PreToolUse\","
    "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"t1\"}";
static const char permission[] = "{\"session_id\":\"s\",\"cwd\":\"/p\",\"hook_event_name\":\"PermissionRequest\","
                                 "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}";
static const char gemini[] = "{\"session_id\":\"s\",\"cwd\":\"/p\",\"hook_event_name\":\"BeforeTool\","
                             "\"tool_name\":\"run_shell_command\",\"tool_input\":{\"command\":\"ls\"}}";

static const char cline[] = "{\"hookName\":\"tool_call\",\"taskId\":\"s\",\"workspaceRoots\":[\"/p\"],\"tool_call\":"
                            "{\"id\":\"t1\",\"name\":\"run_commands\",\"input\":{\"commands\":[\"ls\"]}}}";
static const char cursor[] = "{\"conversation_id\":\"s\",\"cwd\":\"/p\",\"hook_event_name\":\"preToolUse\","
                             "\"tool_name\":\"Shell\",\"tool_input\":{\"command\":\"ls\"}}";

static struct hook hook_of(struct arena *arena, const struct agent *agent, const char *text)
{
    const struct json *json;
    struct hook hook;
    assert_true(rc_ok(json_parse(arena, str_of(text), &json, NULL)));
    assert_true(rc_ok(hook_read(agent, json, &hook, NULL)));
    return hook;
}

enum given { ALLOWED, EDITED, DENIED, UNDECIDED, GIVEN_COUNT };

static struct call call_of(enum given given)
{
    struct call call = {.status = CALL_ALLOWED, .decision = DECISION_ALLOW_ONCE};
    if (given == EDITED)
        call.updated_input = STR("{\"command\":\"pwd\"}");
    if (given == DENIED)
        call = (struct call){.status = CALL_DENIED, .decision = DECISION_DENY, .feedback = STR("no")};
    if (given == UNDECIDED)
        call = (struct call){.status = CALL_UNKNOWN};
    return call;
}

/* What each dialect says to each answer; every row was accepted by the agent itself, or is a refusal. */
static void what_is_said(void **state)
{
    (void)state;
    static const struct {
        const struct agent *agent;
        const char *message;
        const char *says[GIVEN_COUNT]; /* a part of it; "" is an empty answer */
    } rows[] = {
        {&agent_claude, before, {"\"permissionDecision\":\"allow\"", "\"updatedInput\":{\"command\":\"pwd\"}",
                               "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"", "{}"}},
        {&agent_claude, permission, {"{\"behavior\":\"allow\"}", "\"updatedInput\":{\"command\":\"pwd\"}",
                                   "{\"behavior\":\"deny\",\"message\":\"no\"}", "\"behavior\":\"deny\""}},
        {&agent_codex, before, {"", "\"permissionDecision\":\"allow\",\"updatedInput\"", "\"deny\"", "\"deny\""}},
        {&agent_codex, permission, {"{\"behavior\":\"allow\"}", "\"behavior\":\"deny\"", "\"behavior\":\"deny\"",
                                  "\"behavior\":\"deny\""}},
        {&agent_gemini, gemini, {"{\"decision\":\"allow\"}", "\"decision\":\"deny\"", "\"reason\":\"no\"",
                               "\"decision\":\"deny\""}},
        {&agent_cline, cline, {"{\"cancel\":false}", "\"overrideInput\":{\"command\":\"pwd\"}",
                               "{\"cancel\":true,\"errorMessage\":\"no\"}", "\"cancel\":true"}},
        {&agent_cursor, cursor, {"{\"permission\":\"allow\"}", "\"updated_input\":{\"command\":\"pwd\"}",
                                 "\"agent_message\":\"no\"", "\"permission\":\"deny\""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int given = 0; given < GIVEN_COUNT; given++) {
            ARENA_SCOPE(arena);
            BUF_SCOPE(out, 1 << 16);
            struct hook hook = hook_of(&arena, rows[i].agent, rows[i].message);
            struct call call = call_of((enum given)given);
            hook_answer(&out, &hook, &call);
            const char *says = rows[i].says[given];
            if (says[0] ? !str_has(buf_str(&out), str_of(says)) : out.n != 0)
                fail_msg("row %zu, answer %d: %s", i, given, buf_c(&out));
        }
    }
}

/* Nothing but an allowed call makes an allow. */
static void every_status(void **state)
{
    (void)state;
    static const struct {
        const struct agent *agent;
        const char *message;
    } hooks[] = {{&agent_claude, before}, {&agent_claude, permission}, {&agent_codex, permission},
                 {&agent_gemini, gemini}, {&agent_cursor, cursor}};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        for (int status = 0; status < CALL_STATUS_COUNT; status++) {
            for (int decision = 0; decision < DECISION_COUNT; decision++) {
                ARENA_SCOPE(arena);
                BUF_SCOPE(out, 1 << 16);
                struct hook hook = hook_of(&arena, hooks[i].agent, hooks[i].message);
                struct call call = {.status = (enum call_status)status, .decision = (enum decision)decision};
                hook_answer(&out, &hook, &call);
                bool may = status == CALL_ALLOWED && call_allowed(&call);
                assert_int_equal(str_has(buf_str(&out), STR("\"allow\"")), may);
            }
        }
    }
}

static void what_is_read(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct hook hook = hook_of(&arena, &agent_gemini, gemini);
    assert_true(str_is(hook.tool, "run_shell_command"));
    assert_true(hook_of(&arena, &agent_claude, before).asks_later);
    assert_false(hook_of(&arena, &agent_codex, before).asks_later);
    static const char bypass[] = "{\"session_id\":\"s\",\"permission_mode\":\"bypassPermissions\",\"hook_event_name\":"
                                 "\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}";
    assert_false(hook_of(&arena, &agent_claude, bypass).asks_later);
    static const char other[] = "{\"hook_event_name\":\"Notification\"}";
    assert_int_equal(hook_of(&arena, &agent_claude, other).kind, HOOK_OTHER);
    static const char stop[] = "{\"hook_event_name\":\"Stop\",\"session_id\":\"s\",\"background_tasks\":[]}";
    static const char busy[] = "{\"hook_event_name\":\"Stop\",\"session_id\":\"s\",\"background_tasks\":[{}]}";
    assert_int_equal(hook_of(&arena, &agent_claude, stop).kind, HOOK_IDLE);
    assert_int_equal(hook_of(&arena, &agent_claude, busy).kind, HOOK_OTHER);
    struct hook task = hook_of(&arena, &agent_cline, cline);
    assert_true(str_is(task.session, "s") && str_is(task.cwd, "/p") && str_is(task.call, "t1"));
    assert_true(str_is(hook_of(&arena, &agent_cursor, cursor).session, "s"));
    const struct json *json;
    static const char lacks[] = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"}";
    assert_true(rc_ok(json_parse(&arena, str_of(lacks), &json, NULL)));
    assert_true(rc_bad(hook_read(&agent_claude, json, &hook, NULL)));
    assert_int_equal(hook.kind, HOOK_BEFORE);
}

/* Every hook of every agent as it was seen: read, and answered so that it can be read. */
static void every_message(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct str text;
    unsigned count[AGENT_COUNT] = {0};
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/cases/claude/hooks.txt", 1 << 20, &text, NULL)));
    while (!str_empty(text)) {
        struct str message, line = str_cut(text, '\n', &text);
        const struct agent *agent = agent_with_hooks(str_cut(line, ' ', &message));
        assert_non_null(agent);
        struct hook hook = hook_of(&arena, agent, arena_printf(&arena, "%.*s", STR_ARG(message)).p);
        assert_true(hook.kind != HOOK_OTHER && hook.input && !str_empty(hook.tool) && !str_empty(hook.cwd));
        count[agent_number(agent)]++;
        for (int given = 0; given < GIVEN_COUNT; given++) {
            BUF_SCOPE(out, 1 << 16);
            const struct json *json = NULL;
            struct call call = call_of((enum given)given);
            hook_answer(&out, &hook, &call);
            assert_true(out.n == 0 || rc_ok(json_parse(&arena, arena_str(&arena, buf_str(&out)), &json, NULL)));
            assert_true(given == ALLOWED || given == EDITED || !str_has(buf_str(&out), STR("\"allow\"")));
        }
    }
    assert_true(count[AGENT_NUMBER_claude] >= 20 && count[AGENT_NUMBER_codex] >= 9 && count[AGENT_NUMBER_gemini] >= 1);
}

/* What nod setup sends as a test is what the agent would send. */
static void every_agent_understands_its_own_test_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < AGENT_COUNT; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(out, 1 << 16);
        const struct agent *agent = agent_at(i);
        const struct json *input;
        assert_true(rc_ok(json_parse(&arena, STR("{\"command\":\"ls\"}"), &input, NULL)));
        if (!agent->hooks.events)
            continue;
        struct hook hook = {.agent = agent, .kind = HOOK_BEFORE, .event = str_of(agent->hooks.events->name),
                            .session = STR("s"), .tool = str_of(agent->hooks.shell), .call = STR("c"),
                            .cwd = STR("/p"), .input = input};
        hook_put(&out, &hook);
        struct hook read = hook_of(&arena, agent, buf_c(&out));
        assert_true(hook_asks(&read) && str_eq(read.tool, hook.tool) && str_eq(read.call, hook.call));
        assert_true(str_eq(read.cwd, hook.cwd) && str_eq(read.input->raw, input->raw) && str_is(read.session, "s"));
    }
}

static void an_answer_that_does_not_hold_together(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "{}", "{\"status\":\"allowed\"}", "{\"status\":\"allowed\",\"decision\":\"deny\",\"input\":{}}",
        "{\"status\":\"allowed\",\"decision\":\"allow_once\"}", "{\"status\":7}", "[]", "{\"status\":\"yes\"}"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        ARENA_SCOPE(arena);
        const struct json *json;
        struct call call;
        assert_true(rc_ok(json_parse(&arena, str_of(answers[i]), &json, NULL)));
        if (rc_ok(agent_call_read(&arena, json, &call, NULL)))
            fail_msg("taken: %s", answers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said),
        cmocka_unit_test(every_status),
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(every_message),
        cmocka_unit_test(every_agent_understands_its_own_test_call),
        cmocka_unit_test(an_answer_that_does_not_hold_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
