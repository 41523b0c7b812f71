/* A call is the sum of its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/call.h"
#include "event/life.h"

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

static void an_event_that_does_not_fit_is_passed_over(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_STARTED, 2, "{\"toolCallId\":\"c\"}"),
        event(EVENT_TOOL_RESULT, 3, "{\"toolCallId\":\"c\",\"content\":\"x\",\"isError\":false}"),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 4, "{\"toolCallId\":\"c\",\"decision\":\"nonsense\"}"),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 5, "{\"toolCallId\":\"c\",\"decision\":\"deny\"}"),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 6, "{\"toolCallId\":\"c\",\"decision\":\"allow_once\"}"),
        event(EVENT_TOOL_STARTED, 7, "{\"toolCallId\":\"c\"}"),
    };
    struct call call = sum(&arena, events, 4);
    assert_int_equal(call.status, CALL_AWAITING);
    assert_int_equal(call.decision, DECISION_NONE);
    assert_false(call.started || call.result_seq);
    call = sum(&arena, events, sizeof events / sizeof *events);
    assert_int_equal(call.status, CALL_DENIED);
    assert_int_equal(call.decision, DECISION_DENY);
    assert_int_equal(call.response_seq, 5);
    assert_false(call.started);
}

/* Of all pairs of a status and an event only those of the table lead anywhere. */
static void every_move_is_in_the_table(void **state)
{
    static const struct {
        enum call_status from, to;
        enum event_kind kind;
        enum life_condition condition;
    } moves[] = {
#define X(from_, kind_, condition_, to_) {CALL_##from_, CALL_##to_, EVENT_##kind_, LIFE_##condition_},
        CALL_MOVES(X)
#undef X
    };
    size_t found = 0;
    (void)state;
    for (int from = CALL_AWAITING; from < CALL_STATUS_COUNT; from++)
        for (int kind = 1; kind < EVENT_KIND_END; kind++)
            for (int condition = LIFE_ANY; condition <= LIFE_INTERRUPTED; condition++) {
                enum call_status to = CALL_UNKNOWN;
                found += call_move((enum call_status)from, (enum event_kind)kind, (enum life_condition)condition, &to);
            }
    size_t first = 0;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        enum call_status to = CALL_UNKNOWN;
        first += moves[i].from == CALL_UNKNOWN;
        assert_true(call_move(moves[i].from, moves[i].kind, moves[i].condition, &to));
        assert_int_equal(to, moves[i].to);
    }
    assert_int_equal(found, sizeof moves / sizeof *moves - first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_does_not_fit_is_passed_over),
        cmocka_unit_test(every_move_is_in_the_table),
        cmocka_unit_test(an_asked_call_awaits),      cmocka_unit_test(policy_decides_at_once),
        cmocka_unit_test(every_decision_has_its_status), cmocka_unit_test(an_edit_is_what_runs),
        cmocka_unit_test(a_result_ends_it),          cmocka_unit_test(the_answer_names_who_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
