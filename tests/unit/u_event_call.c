/* A call is the sum of its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/call.h"

static struct event event(enum event_kind kind, uint64_t seq, const char *data)
{
    return (struct event){.seq = seq, .kind = kind, .at_ms = 1000 + (int64_t)seq, .session = STR("s"),
                          .thread = STR("s.main"), .call = STR("c"), .actor = STR("alice"), .data = str_of(data)};
}

static const char asked[] = "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{ \"n\": 1.50 },\"cwd\":\"/w\","
                            "\"verdict\":{\"effect\":\"ask\",\"source\":\"default\",\"why\":\"because\"}}";

static struct call sum(struct arena *arena, const struct event *events, size_t count)
{
    struct call call = {0};
    for (size_t i = 0; i < count; i++)
        call_apply(arena, &call, &events[i]);
    return call;
}

static void an_asked_call_awaits(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_APPROVAL_REQUEST, 2,
              "{\"toolCallId\":\"c\",\"digest\":\"d\",\"deadline\":\"1970-01-01T00:00:09.000Z\"}"),
    };
    struct call call = sum(&arena, events, 2);
    assert_int_equal(call.status, CALL_AWAITING);
    assert_int_equal(call.decision, DECISION_NONE);
    assert_true(str_is(call.input, "{ \"n\": 1.50 }"));
    assert_int_equal(call.deadline_ms, 9000);
    assert_true(str_is(call.digest, "d"));
    assert_false(call.by_policy);
}

static void policy_decides_at_once(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct event allow = event(EVENT_TOOL_CALL, 1,
                               "{\"id\":\"c\",\"name\":\"Read\",\"input\":{},\"verdict\":{\"effect\":\"allow\"}}");
    struct event deny = event(EVENT_TOOL_CALL, 1,
                              "{\"id\":\"c\",\"name\":\"Read\",\"input\":{},\"verdict\":{\"effect\":\"deny\"}}");
    struct call call = sum(&arena, &allow, 1);
    assert_int_equal(call.status, CALL_ALLOWED);
    assert_true(call.by_policy && call_allowed(&call));
    call = sum(&arena, &deny, 1);
    assert_int_equal(call.status, CALL_DENIED);
    assert_false(call_allowed(&call));
}

static void every_decision_has_its_status(void **state)
{
    static const struct {
        const char *decision;
        enum call_status status;
        bool allowed, by_person;
    } rows[] = {
        {"allow_once", CALL_ALLOWED, true, true},     {"allow_session", CALL_ALLOWED, true, true},
        {"allow_always", CALL_ALLOWED, true, true},   {"deny", CALL_DENIED, false, true},
        {"abort", CALL_ABORTED, false, true},         {"timeout", CALL_TIMED_OUT, false, false},
        {"cancelled", CALL_CANCELLED, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        struct str data = arena_printf(&arena, "{\"toolCallId\":\"c\",\"decision\":\"%s\",\"by\":\"tok_1\"}",
                                       rows[i].decision);
        struct event events[] = {event(EVENT_TOOL_CALL, 1, asked),
                                 event(EVENT_TOOL_APPROVAL_RESPONSE, 3, data.p)};
        struct call call = sum(&arena, events, 2);
        assert_int_equal(call.status, rows[i].status);
        assert_int_equal(call_allowed(&call), rows[i].allowed);
        assert_int_equal(decision_by_person(call.decision), rows[i].by_person);
        assert_int_equal(call.response_seq, 3);
        assert_true(str_is(call.by, "tok_1"));
    }
    assert_int_equal(decision_parse(STR("perhaps")), DECISION_NONE);
}

static void an_edit_is_what_runs(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 2,
              "{\"decision\":\"allow_once\",\"feedback\":\"smaller\",\"updatedInput\":{\"n\": 1e0}}"),
        event(EVENT_TOOL_STARTED, 3, "{\"toolCallId\":\"c\"}"),
    };
    struct call call = sum(&arena, events, 3);
    assert_int_equal(call.status, CALL_STARTED);
    assert_true(str_is(call_effective_input(&call), "{\"n\": 1e0}"));
    assert_true(str_is(call.input, "{ \"n\": 1.50 }"));
    assert_true(str_is(call.feedback, "smaller"));
}

static void a_result_ends_it(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 2, "{\"decision\":\"allow_once\"}"),
        event(EVENT_TOOL_RESULT, 3, "{\"content\":[1,  2],\"isError\":true}"),
    };
    struct call call = sum(&arena, events, 3);
    assert_int_equal(call.status, CALL_FINISHED);
    assert_true(call.result_is_error);
    assert_true(str_is(call.result, "[1,  2]"));
    events[2].data = STR("{\"content\":\"?\",\"isError\":true,\"interrupted\":true}");
    call = sum(&arena, events, 3);
    assert_int_equal(call.status, CALL_INTERRUPTED);
}

static void the_answer_names_who_decided(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 4096);
    struct json_out out = json_out(&buf);
    struct event events[] = {event(EVENT_TOOL_CALL, 1, asked),
                             event(EVENT_TOOL_APPROVAL_RESPONSE, 2, "{\"decision\":\"deny\",\"feedback\":\"no\"}")};
    struct call call = sum(&arena, events, 2);
    json_open(&out, '{');
    call_write_members(&out, &call);
    json_close(&out, '}');
    const struct json *answer = NULL;
    assert_true(rc_ok(json_parse(&arena, buf_str(&buf), &answer, NULL)));
    assert_true(str_is(json_text(answer, "status"), "denied"));
    assert_true(str_is(json_text(json_get(answer, "decidedBy"), "kind"), "person"));
    assert_true(str_is(json_text(json_get(answer, "decidedBy"), "actor"), "alice"));
    assert_true(str_is(json_text(answer, "feedback"), "no"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_asked_call_awaits),      cmocka_unit_test(policy_decides_at_once),
        cmocka_unit_test(every_decision_has_its_status), cmocka_unit_test(an_edit_is_what_runs),
        cmocka_unit_test(a_result_ends_it),          cmocka_unit_test(the_answer_names_who_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
