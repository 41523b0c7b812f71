/* Calls that the gate does itself, and changes that it keeps. */
#include "u_gate_core.h"

struct doing {
    struct execute execute;
    struct session session;
};

/* Up to where the driver has looked at the session: READY is next. */
static void begin_execute(struct doing *d, struct arena *arena, struct event *events, size_t count)
{
    *d = (struct doing){.execute = {.op = {.arena = arena, .step = execute_step}, .session = STR("ses_1"),
                                    .call = STR("c"), .actor = STR("nod"), .shown = SHOWN_SAME}};
    struct read *asked_for = step(&d->execute.op).read;
    assert_non_null(asked_for);
    read_free(asked_for);
    struct read read = {.events = events, .event_count = count};
    d->execute.op.read = &read;
    assert_true(str_is(step(&d->execute.op).judge, "ses_1"));
    d->execute.op.session = &d->session;
}

static struct out keep_execute(struct doing *d, struct append *append, enum append_outcome outcome)
{
    assert_non_null(append);
    append->outcome = outcome;
    append->events[0].seq = 9;
    d->execute.op.append = append;
    struct out out = step(&d->execute.op);
    append_free(append);
    return out;
}

static void an_effect_begins_when_its_start_is_kept(void **state)
{
    ARENA_SCOPE(arena);
    struct doing d;
    struct event call = event(EVENT_TOOL_CALL, 1, allowed);
    (void)state;
    begin_execute(&d, &arena, &call, 1);
    struct out out = step(&d.execute.op);
    assert_true(out.work == WORK_NONE && out.append->events[0].kind == EVENT_TOOL_STARTED);
    assert_int_equal(out.append->needs[0].need, NEED_ABSENT);
    assert_int_equal(out.append->needs[0].kind, EVENT_TOOL_STARTED);
    assert_int_equal(out.append->need_count, 3);
    out = keep_execute(&d, out.append, APPEND_KEPT);
    assert_int_equal(out.work, WORK_DO);
    d.execute.did = (struct execute_outcome){.text = STR("it \"worked\"")};
    out = step(&d.execute.op);
    struct data_tool_result result;
    assert_true(READ_DATA(&arena, tool_result, out.append->events[0].data, &result));
    assert_true(str_is(result.content, "\"it \\\"worked\\\"\"") && !result.is_error && result.permissions);
    out = keep_execute(&d, out.append, APPEND_KEPT);
    assert_true(!out.append && !out.work && !d.execute.op.err);
    assert_int_equal(d.execute.state.status, CALL_FINISHED);
}

static void a_call_that_was_started_is_not_started_again(void **state)
{
    ARENA_SCOPE(arena);
    struct doing d, lost;
    struct event events[] = {event(EVENT_TOOL_CALL, 1, allowed),
                             event(EVENT_TOOL_STARTED, 2, "{\"toolCallId\":\"c\"}")};
    (void)state;
    begin_execute(&d, &arena, events, 2);
    struct out out = step(&d.execute.op);
    struct data_tool_result result;
    assert_int_equal(out.append->events[0].kind, EVENT_TOOL_RESULT);
    assert_true(READ_DATA(&arena, tool_result, out.append->events[0].data, &result) && result.interrupted);
    assert_int_equal(keep_execute(&d, out.append, APPEND_KEPT).work, WORK_NONE);
    begin_execute(&lost, &arena, events, 1);
    out = keep_execute(&lost, step(&lost.execute.op).append, APPEND_REFUSED); /* another node was quicker */
    assert_true(!out.append && !out.work && gate_op_code(&lost.execute.op) == ERR_CONFLICT);
}

static void what_has_changed_since_it_was_shown_is_not_done(void **state)
{
    ARENA_SCOPE(arena);
    struct event call = event(EVENT_TOOL_CALL, 1, allowed);
    char long_id[LIMIT_ID_BYTES + 1];
    (void)state;
    memset(long_id, 'x', LIMIT_ID_BYTES);
    long_id[LIMIT_ID_BYTES] = '\0';
    for (int again = 0; again < 2; again++) {
        struct doing d;
        begin_execute(&d, &arena, &call, 1);
        d.execute.shown = SHOWN_UNKNOWN;
        if (again)
            d.execute.call = str_of(long_id);
        assert_int_equal(step(&d.execute.op).work, WORK_COMPARE);
        d.execute.shown = SHOWN_CHANGED;
        struct out out = step(&d.execute.op);
        assert_int_equal(out.append->events[0].kind, EVENT_TOOL_RESULT);
        assert_int_equal(keep_execute(&d, out.append, APPEND_KEPT).work, WORK_NONE);
        struct str next = d.execute.state.superseded_by;
        assert_true(d.execute.changed && next.n && next.n <= LIMIT_ID_BYTES);
        assert_int_equal(str_is(next, "c.again"), !again);
    }
}

static void only_an_allowed_call_is_done(void **state)
{
    ARENA_SCOPE(arena);
    struct event call = event(EVENT_TOOL_CALL, 1, asked);
    (void)state;
    for (size_t count = 0; count < 2; count++) {
        struct execute e = {.op = {.arena = &arena, .step = execute_step}, .session = STR("ses_1"), .call = STR("c")};
        struct read read = {.events = &call, .event_count = count};
        read_free(step(&e.op).read);
        e.op.read = &read;
        struct out out = step(&e.op);
        assert_true(str_empty(out.judge) && !out.append && !out.work);
        assert_int_equal(gate_op_code(&e.op), count ? ERR_NOT_ALLOWED : ERR_NOT_FOUND);
    }
}

/* ---- changes ---- */

static void a_change_is_kept_if_its_need_holds(void **state)
{
    ARENA_SCOPE(arena);
    static const enum append_outcome outcomes[] = {APPEND_KEPT, APPEND_REFUSED, APPEND_FAILED};
    static const enum err_code codes[] = {ERR_OK, ERR_CONFLICT, ERR_UNAVAILABLE};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct kept_event kept = {.op = {.arena = &arena, .step = keep_step}, .refused = "there is one",
                                  .need = {.need = NEED_CHANGED_AT, .session = STR("ses_1"), .seq = 4},
                                  .event = event(EVENT_SESSION_CHANGED, 0, "{}")};
        kept.event.call = STR_NONE;
        struct append *append = step(&kept.op).append;
        assert_int_equal(append->event_count, 1);
        assert_int_equal(append->events[0].at_ms, now.wall_ms);
        assert_true(append->need_count == 1 && append->needs[0].seq == 4);
        append->outcome = outcomes[i];
        append->events[0].seq = 9;
        if (outcomes[i] == APPEND_FAILED)
            (void)err_set(&append->err, ERR_UNAVAILABLE, "the disk is full");
        kept.op.append = append;
        struct out out = step(&kept.op);
        append_free(append);
        assert_true(!out.append && !out.read && gate_op_code(&kept.op) == codes[i]);
        assert_int_equal(kept.event.seq, i == 0 ? 9 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_effect_begins_when_its_start_is_kept),
        TEST(a_call_that_was_started_is_not_started_again),
        TEST(what_has_changed_since_it_was_shown_is_not_done),
        TEST(only_an_allowed_call_is_done),
        TEST(a_change_is_kept_if_its_need_holds),
    };
    return cmocka_run_group_tests_name("gate execute", tests, NULL, NULL);
}
