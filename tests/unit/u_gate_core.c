/* The pure part of the gate: values in, values out, no process. */
#include "gate/core/core.h"

#include "event/shapes.h"
#include "gate/inner.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct now now = {.wall_ms = 1767323045678};

static struct event event(enum event_kind kind, uint64_t seq, const char *data)
{
    return (struct event){.seq = seq, .kind = kind, .at_ms = 1000, .session = STR("ses_1"), .thread = STR("ses_1.main"),
                          .call = STR("c"), .actor = STR("alice"), .data = str_of(data)};
}

/* ---- report ---- */

static void nothing(struct op *op) { (void)op; }

static struct report report(struct arena *arena, const char *content)
{
    return (struct report){.op = {.step = report_step, .arena = arena, .done = nothing},
                           .session = STR("ses_1"), .call = STR("c"), .actor = STR("bob"), .content = str_of(content)};
}

/* Gives a step the events of the call, as the store would. */
static struct out answer_read(struct report *r, const struct event *events, size_t count)
{
    struct out out = {0};
    struct read read = {.events = (struct event *)events, .event_count = count};
    r->op.read = &read;
    r->op.step(&r->op, now, &out);
    r->op.read = NULL;
    return out;
}

static struct out answer_append(struct report *r, struct append *append, enum append_outcome outcome)
{
    struct out out = {0};
    append->outcome = outcome;
    append->events[0].seq = 9;
    r->op.append = append;
    r->op.step(&r->op, now, &out);
    r->op.append = NULL;
    append_free(append);
    return out;
}

static const char allowed[] = "{\"id\":\"c\",\"name\":\"Read\",\"input\":{},\"verdict\":{\"effect\":\"allow\"}}";
static const char asked[] = "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{},\"verdict\":{\"effect\":\"ask\"}}";

static struct out begin(struct report *r)
{
    struct out out = {0};
    r->op.step(&r->op, now, &out);
    assert_non_null(out.read);
    assert_null(out.append);
    assert_int_equal(out.read->kind, READ_CALL);
    assert_true(str_is(out.read->session, "ses_1") && str_is(out.read->call, "c"));
    read_free(out.read);
    return out;
}

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
    assert_int_equal(r.op.err.code, ERR_OK);
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
        assert_int_equal(r.op.err.code, same ? ERR_OK : ERR_CONFLICT);
        assert_int_equal(r.state.result_seq, 2);
    }
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
    assert_int_equal(r.op.err.code, ERR_NOT_ALLOWED);
    (void)begin(&none);
    out = answer_read(&none, NULL, 0);
    assert_true(!out.append && !out.read);
    assert_int_equal(none.op.err.code, ERR_NOT_FOUND);
    (void)begin(&failed);
    out = answer_read(&failed, &call, 1);
    (void)err_set(&out.append->err, ERR_UNAVAILABLE, "the disk is full");
    out = answer_append(&failed, out.append, APPEND_FAILED);
    assert_true(!out.append && !out.read);
    assert_int_equal(failed.op.err.code, ERR_UNAVAILABLE);
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
    struct append *append = core_call_append(&ask, &session, &verdict, now);
    assert_int_equal(append->event_count, 2);
    assert_int_equal(append->events[1].kind, EVENT_TOOL_APPROVAL_REQUEST);
    assert_int_equal(append->deadline_ms, now.wall_ms + 10000);
    assert_int_equal(append->needs[0].need, NEED_ABSENT);
    assert_int_equal(append->needs[1].need, NEED_CHANGED_AT);
    assert_int_equal(append->needs[1].seq, 7);
    struct call expected = core_expected_call(&ask, &verdict, append->deadline_ms, now), folded = {0};
    for (unsigned i = 0; i < append->event_count; i++)
        call_apply(&arena, &folded, &append->events[i]);
    assert_int_equal(folded.status, expected.status);
    assert_int_equal(folded.deadline_ms, expected.deadline_ms);
    assert_int_equal(folded.called_ms, expected.called_ms);
    assert_true(str_eq(folded.input, expected.input) && str_is(folded.input, "{ \"n\": 1.50 }"));
    assert_true(str_eq(folded.why, expected.why) && str_eq(folded.source, expected.source));
    append_free(append);
    verdict.effect = EFFECT_ALLOW;
    append = core_call_append(&ask, &session, &verdict, now);
    assert_int_equal(append->event_count, 1);
    assert_int_equal(append->deadline_ms, 0);
    append_free(append);
}

/* ---- what is due ---- */

static void the_nearest_is_due_first(void **state)
{
    enum { COUNT = 200 };
    static struct open calls[COUNT];
    struct due due = {0};
    unsigned random = 2026;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1103515245 + 12345;
        calls[i] = (struct open){.requested_ms = 1000, .deadline_ms = random % 3 ? 2000 + random % 977 : 0};
        due_add(&due, &calls[i], random % 5 ? 500 + random % 991 : 0);
        assert_int_equal(calls[i].heap_at != 0, calls[i].due_ms != 0);
        if (i % 7 == 3)
            due_remove(&due, &calls[i / 2]);
    }
    int64_t last = 0;
    for (struct open *open; (open = due_first(&due, 1000000));) {
        assert_true(open->due_ms >= last);
        assert_null(due_first(&due, open->due_ms - 1));
        last = open->due_ms;
        due_remove(&due, open);
    }
    assert_int_equal(due.count, 0);
    due_done(&due);
}

static void an_alert_comes_once_and_before_the_deadline(void **state)
{
    struct open open = {.requested_ms = 1000, .deadline_ms = 9000};
    (void)state;
    assert_int_equal(due_time(&open, 300), 1300);
    assert_int_equal(due_time(&open, 0), 9000);
    assert_int_equal(due_time(&open, 9000), 9000);
    open.alerted = true;
    assert_int_equal(due_time(&open, 300), 9000);
    open.deadline_ms = 0;
    assert_int_equal(due_time(&open, 300), 0);
    open.withdraw_ms = 5000;
    assert_int_equal(due_time(&open, 300), 5000);
    open.deadline_ms = 4000;
    assert_int_equal(due_time(&open, 300), 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_kept_once),
        cmocka_unit_test(whoever_is_slower_sees_the_result),
        cmocka_unit_test(only_an_allowed_call_has_a_result),
        cmocka_unit_test(a_call_is_kept_with_its_request),
        cmocka_unit_test(the_nearest_is_due_first),
        cmocka_unit_test(an_alert_comes_once_and_before_the_deadline),
    };
    return cmocka_run_group_tests_name("gate core", tests, NULL, NULL);
}
