/* MCP as Claude Code, Codex, Gemini, opencode and a client of 2026 speak it: each line is read, each request is
 * answered once, under its own id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/mcp.h"
#include "agents/rpc.h"
#include "io/file.h"

struct count {
    unsigned lines, asks, answers, notifications, cancels;
};

/* The one line in the buffer, as a client reads it. */
static const struct json *line_in(struct arena *arena, const struct buf *buf)
{
    const struct json *json = NULL;
    struct str text = arena_str(arena, buf_str(buf));
    assert_true(text.n && str_find(text, '\n') == text.n - 1);
    assert_true(rc_ok(json_parse(arena, str_sub(text, 0, text.n - 1), &json, NULL)));
    assert_true(str_is(json_text(json, "jsonrpc"), "2.0"));
    return json;
}

static const struct json *body_in(struct arena *arena, const struct buf *buf, const struct mcp_message *m)
{
    const struct json *body = NULL, *json = line_in(arena, buf);
    assert_true(str_eq(json_get(json, "id")->raw, m->id));
    const struct json *content = json_get(json_get(json, "result"), "content");
    assert_true(content && content->count == 1);
    assert_true(rc_ok(json_parse(arena, json_text(content->first, "text"), &body, NULL)));
    return body;
}

/* A permission prompt is allowed with its input, and by nothing but an allowed call. */
static void answer_every_way(struct arena *arena, const struct mcp_message *m, const struct mcp_ask *ask)
{
    for (int status = 0; status < CALL_STATUS_COUNT; status++) {
        for (int decision = 0; decision < DECISION_COUNT; decision++) {
            BUF_SCOPE(buf, 1 << 20);
            struct call call = {.status = (enum call_status)status, .decision = (enum decision)decision,
                                .input = ask->input->raw};
            mcp_answer_call(&buf, m, &call);
            const struct json *body = body_in(arena, &buf, m);
            bool may = status == CALL_ALLOWED && call_allowed(&call);
            assert_true(str_is(json_text(body, "behavior"), may ? "allow" : "deny"));
            if (may)
                assert_true(json_same_tokens(json_get(body, "updatedInput")->raw, ask->input->raw));
            else
                assert_false(str_empty(json_text(body, "message")));
            assert_int_equal(json_bool(body, "interrupt", false), status == CALL_ABORTED && !may);
        }
    }
}

static void take_line(struct arena *arena, struct str line, struct count *count)
{
    BUF_SCOPE(buf, 1 << 20);
    struct mcp_message m;
    struct mcp_ask ask;
    if (rc_bad(mcp_read(arena, line, &m, NULL)))
        fail_msg("not read: %.*s", STR_ARG(line));
    count->lines++;
    count->cancels += !str_empty(m.cancels);
    if (mcp_needs_gate(&m)) {
        count->asks++;
        assert_true(rc_ok(mcp_ask_read(arena, &m, &ask, NULL)));
        answer_every_way(arena, &m, &ask);
        return;
    }
    mcp_answer(&buf, &m);
    bool request = !str_empty(m.id) && !str_empty(m.method);
    count->answers += request;
    count->notifications += !request;
    assert_int_equal(buf.n > 0, request);
    if (!request)
        return;
    const struct json *answer = line_in(arena, &buf);
    assert_true(str_eq(json_get(answer, "id")->raw, m.id));
    assert_true(!json_get(answer, "result") != !json_get(answer, "error"));
}

static void every_client(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct count count = {0};
    struct str text;
    assert_true(rc_ok(file_read(&arena, TESTS_DIR "/cases/claude/mcp.txt", 1 << 20, &text, NULL)));
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text), message;
        (void)str_cut(line, ' ', &message);
        take_line(&arena, message, &count);
    }
    assert_true(count.lines >= 50 && count.asks >= 2 && count.answers >= 15);
    assert_true(count.notifications >= 10 && count.cancels >= 5);
}

static struct mcp_message read_one(struct arena *arena, const char *text)
{
    struct mcp_message m;
    assert_true(rc_ok(mcp_read(arena, str_of(text), &m, NULL)));
    return m;
}

static void a_version_that_both_know(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *answered;
    } rows[] = {{"2025-06-18", "2025-06-18"}, {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"},
                {"1", "2025-11-25"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        BUF_SCOPE(buf, 1 << 16);
        struct str text = arena_printf(&arena, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                                               "{\"protocolVersion\":\"%s\"}}", rows[i].wanted);
        struct mcp_message m = read_one(&arena, text.p);
        mcp_answer(&buf, &m);
        const struct json *result = json_get(line_in(&arena, &buf), "result");
        assert_true(str_is(json_text(result, "protocolVersion"), rows[i].answered));
    }
}

static void the_id_of_a_line_that_cannot_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *line, *id; /* NULL: none is found */
        bool is_request;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"id\":8,\"a\":\"\\u0000\"}}", "7", true},
        {"{\"params\":[{\"id\":1}],\"method\":\"x\",\"id\" : \"a,}\\\"b\" }", "\"a,}\\\"b\"", true},
        {"{\"id\":3,\"result\":{\"method\":\"\\u0000\"}}", "3", false},
        {"{\"method\":\"x\",\"method\":\"y\",\"id\":9}", "9", true},
        {"{\"id\":1,\"id\":2,\"method\":\"x\"}", NULL, true},
        {"{\"id\":null,\"method\":\"x\"}", NULL, true},
        {"{\"id\":{\"id\":4},\"method\":\"x\"}", NULL, true},
        {"{\"a\":\"\\\"id\\\":5\"", NULL, false},
        {"[{\"id\":6,\"method\":\"x\"}]", NULL, false},
        {"{\"id\":\"never", NULL, false},
        {"a banner", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        struct str id = STR_NONE;
        bool is_request;
        bool found = rpc_peek(&arena, str_of(rows[i].line), &id, &is_request);
        assert_int_equal(found, rows[i].id != NULL);
        assert_true(!found || str_is(id, rows[i].id));
        assert_int_equal(is_request, rows[i].is_request);
    }
}

static void a_question_has_the_shape_of_one(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct mcp_ask ask;
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask_human\","
        "\"arguments\":{\"question\":\"Which?\",\"options\":[\"a\",\"b\"]}}}";
    struct mcp_message m = read_one(&arena, text);
    assert_true(rc_ok(mcp_ask_read(&arena, &m, &ask, NULL)));
    assert_true(str_is(ask.name, "AskUserQuestion"));
    const struct json *one = json_get(ask.input, "questions")->first;
    assert_true(str_is(json_text(one, "question"), "Which?") && json_get(one, "options")->count == 2);
    BUF_SCOPE(buf, 1 << 16);
    struct call call = {.status = CALL_ALLOWED, .decision = DECISION_ALLOW_ONCE,
                        .updated_input = STR("{\"answers\":{\"Which?\":\"b\"}}")};
    mcp_answer_call(&buf, &m, &call);
    const struct json *result = json_get(line_in(&arena, &buf), "result");
    assert_true(str_is(json_text(json_get(result, "content")->first, "text"), "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_client),
        cmocka_unit_test(a_version_that_both_know),
        cmocka_unit_test(the_id_of_a_line_that_cannot_be_read),
        cmocka_unit_test(a_question_has_the_shape_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
