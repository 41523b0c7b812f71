/* Reports at the gate, and what is kept of a call. */
#include "u_gate_core.h"

static void a_result_is_kept_once(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "\"ok\"");
    struct event call = event(EVENT_TOOL_CALL, 1, allowed);
    (void)state;
    (void)begin(&r);
    struct out out = answer_read(&r, &call, 1);
    assert_non_null(out.append);
    assert_null(out.read);
    assert_int_equal(out.append->event_count, 1);
    assert_int_equal(out.append->events[0].kind, EVENT_TOOL_RESULT);
    assert_int_equal(out.append->events[0].at_ms, now.wall_ms);
    struct data_tool_result result;
    assert_true(READ_DATA(&arena, tool_result, out.append->events[0].data, &result));
    assert_true(str_is(result.call, "c") && str_is(result.content, "\"ok\"") && !result.is_error);
    assert_true(result.permissions && str_is(result.permissions->by, "policy"));
    assert_int_equal(out.append->need_count, 1);
    assert_int_equal(out.append->needs[0].need, NEED_ABSENT);
    out = answer_append(&r, out.append, APPEND_KEPT);
    assert_true(!out.append && !out.read);
    assert_int_equal(gate_op_code(&r.op), ERR_OK);
    assert_int_equal(r.state.status, CALL_FINISHED);
    assert_int_equal(r.state.result_seq, 9);
}

static void whoever_is_slower_sees_the_result(void **state)
{
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, allowed),
        event(EVENT_TOOL_RESULT, 2, "{\"toolCallId\":\"c\",\"content\":\"ok\",\"isError\":false}"),
    };
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct report r = report(&arena, same ? "\"ok\"" : "\"other\"");
        (void)begin(&r);
        struct out out = answer_read(&r, events, 1);
        out = answer_append(&r, out.append, APPEND_REFUSED);
        assert_non_null(out.read);
        read_free(out.read);
        out = answer_read(&r, events, 2);
        assert_true(!out.append && !out.read);
        assert_int_equal(gate_op_code(&r.op), same ? ERR_OK : ERR_CONFLICT);
        assert_int_equal(r.state.result_seq, 2);
    }
}

/* A call that was let pass a moment ago is not read again; that it has a result already is found by the append. */
static void a_recent_call_is_not_read(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "\"ok\""), later = report(&arena, "\"ok\"");
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_APPROVAL_REQUEST, 2, "{\"toolCallId\":\"c\"}"),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 3, "{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_1\"}"),
    };
    struct out out = {0};
    (void)state;
    recent_add(&core.recent, events, 3);
    r.op.step(&core, &r.op, now, &out);
    assert_true(out.append && !out.read);
    struct data_tool_result result;
    assert_true(READ_DATA(&arena, tool_result, out.append->events[0].data, &result));
    assert_true(result.permissions && result.permissions->decision == DECISION_ALLOW_ONCE);
    out = answer_append(&r, out.append, APPEND_REFUSED);
    assert_true(out.read && !out.append);
    read_free(out.read);
    recent_clear(&core.recent);
    (void)begin(&later);
    recent_clear(&core.recent);
}

static void a_recent_call_that_is_not_allowed_is_read(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "1");
    struct event call = event(EVENT_TOOL_CALL, 1, asked), empty = event(EVENT_TOOL_CALL, 1, "");
    (void)state;
    recent_add(&core.recent, &call, 1);
    recent_add(&core.recent, &empty, 1);
    (void)begin(&r);
    recent_clear(&core.recent);
}

static void recent_calls_are_bounded(void **state)
{
    enum { CALLS = 2000 };
    ARENA_SCOPE(arena);
    struct call call;
    (void)state;
    for (int i = 0; i < CALLS; i++) {
        struct event made = event(EVENT_TOOL_CALL, 1, allowed);
        made.call = arena_printf(&arena, "c%d", i % (CALLS - 1)); /* the first one comes again */
        recent_add(&core.recent, &made, 1);
        assert_true(core.recent.count <= 256);
    }
    assert_true(recent_find(&core.recent, &arena, STR("ses_1"), STR("c0"), &call));
    assert_true(recent_find(&core.recent, &arena, STR("ses_1"), STR("c1998"), &call));
    assert_false(recent_find(&core.recent, &arena, STR("ses_1"), STR("c1"), &call));
    recent_clear(&core.recent);
    assert_int_equal(core.recent.bytes, 0);
}

static void only_an_allowed_call_has_a_result(void **state)
{
    ARENA_SCOPE(arena);
    struct event waits = event(EVENT_TOOL_CALL, 1, asked);
    struct report r = report(&arena, "1"), none = report(&arena, "1"), failed = report(&arena, "1");
    struct event call = event(EVENT_TOOL_CALL, 1, allowed);
    (void)state;
    (void)begin(&r);
    struct out out = answer_read(&r, &waits, 1);
    assert_true(!out.append && !out.read);
    assert_int_equal(gate_op_code(&r.op), ERR_NOT_ALLOWED);
    (void)begin(&none);
    out = answer_read(&none, NULL, 0);
    assert_true(!out.append && !out.read);
    assert_int_equal(gate_op_code(&none.op), ERR_NOT_FOUND);
    (void)begin(&failed);
    out = answer_read(&failed, &call, 1);
    (void)err_set(&out.append->err, ERR_UNAVAILABLE, "the disk is full");
    out = answer_append(&failed, out.append, APPEND_FAILED);
    assert_true(!out.append && !out.read);
    assert_int_equal(gate_op_code(&failed.op), ERR_UNAVAILABLE);
}

/* ---- what is kept ---- */

static void a_call_is_kept_with_its_request(void **state)
{
    ARENA_SCOPE(arena);
    const struct json *input = NULL;
    assert_true(rc_ok(json_parse(&arena, STR("{ \"n\": 1.50 }"), &input, NULL)));
    struct ask ask = {.op = {.arena = &arena}, .session = STR("ses_1"), .thread = STR("ses_1.main"), .id = STR("c"),
                      .name = STR("Bash"), .input = input, .actor = STR("agent")};
    struct session session = {.changed_seq = 7, .timeout_seconds = 10};
    struct verdict verdict = {.effect = EFFECT_ASK, .source = STR("default"), .why = STR("because")};
    (void)state;
    ask.op.session = &session;
    ask.verdict = &verdict;
    struct append *append = ask_append(&ask, now);
    assert_int_equal(append->event_count, 2);
    assert_int_equal(append->events[1].kind, EVENT_TOOL_APPROVAL_REQUEST);
    assert_int_equal(append->deadline_ms, now.wall_ms + 10000);
    assert_int_equal(append->needs[0].need, NEED_ABSENT);
    assert_int_equal(append->needs[1].need, NEED_CHANGED_AT);
    assert_int_equal(append->needs[1].seq, 7);
    struct call folded = {0};
    for (unsigned i = 0; i < append->event_count; i++)
        call_apply(&arena, &folded, &append->events[i]);
    assert_int_equal(folded.status, CALL_AWAITING);
    assert_int_equal(folded.deadline_ms, append->deadline_ms);
    assert_int_equal(folded.called_ms, now.wall_ms);
    assert_true(str_is(folded.input, "{ \"n\": 1.50 }") && str_is(folded.why, "because"));
    append_free(append);
    verdict.effect = EFFECT_ALLOW;
    append = ask_append(&ask, now);
    assert_int_equal(append->event_count, 1);
    assert_int_equal(append->deadline_ms, 0);
    append_free(append);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_result_is_kept_once),
        TEST(whoever_is_slower_sees_the_result),
        TEST(a_recent_call_is_not_read),
        TEST(a_recent_call_that_is_not_allowed_is_read),
        TEST(recent_calls_are_bounded),
        TEST(only_an_allowed_call_has_a_result),
        TEST(a_call_is_kept_with_its_request),
    };
    return cmocka_run_group_tests_name("gate report", tests, NULL, NULL);
}
