/* Which session a call is in, and who may see it. */
#include "u_gate_core.h"

static const struct token agent = {.id = STR("tok_1"), .scopes = SCOPE_SEE};
static const struct session own = {.id = STR("ses_1"), .owner = STR("tok_1")};

static void view(struct report *r, struct str session)
{
    r->op.viewer = &agent;
    r->session = session;
    core_finds(&r->op, &r->session, r->call);
}

/* An operation that names no session reads the call in all; `events` is the answer. */
static struct out find(struct op *op, struct event *events, size_t count)
{
    struct out out = step(op);
    assert_non_null(out.read);
    assert_true(str_empty(out.read->session) && str_is(out.read->call, "c"));
    out.read->events = events;
    out.read->event_count = count;
    op->read = out.read;
    return step(op);
}

static struct out give_session(struct op *op, const struct session *session)
{
    struct out out = {0};
    if (core_lend(op, session, &(struct err){.code = ERR_OK}))
        out = step(op);
    op->session = NULL;
    return out;
}

static void a_session_that_may_not_be_seen_is_none(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "1");
    const struct session theirs = {.id = STR("ses_1"), .owner = STR("tok_2")};
    (void)state;
    view(&r, STR("ses_1"));
    assert_int_equal(r.op.finding, FIND_NAMED); /* the driver looks at it before the first step */
    struct out out = give_session(&r.op, &theirs);
    assert_true(!out.append && !out.read && str_empty(out.look));
    assert_int_equal(gate_op_code(&r.op), ERR_NOT_FOUND);
}

static void a_stranger_does_not_wait(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    struct open open = {.session = STR("ses_1"), .call = STR("c"), .left = true};
    struct call_key key = call_key(open.session, open.call);
    (void)state;
    (void)map_put(&core.open, call_key_str(&key), &open);
    begin_ask(&a, &arena, 1000);
    a.ask.op.session = NULL;
    struct out out = step(&a.ask.op);
    assert_true(!out.append && !out.read && !out.park);
    assert_int_equal(gate_op_code(&a.ask.op), ERR_NOT_FOUND);
    assert_true(open.left && core.waiting == 0);
    (void)map_take(&core.open, call_key_str(&key));
    map_done(&core.open);
}

static void a_call_that_was_found_is_not_read_again(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "1");
    struct event events[] = {event(EVENT_TOOL_CALL, 1, asked), event(EVENT_TOOL_CALL, 2, allowed)};
    (void)state;
    events[0].session = STR("ses_2");
    view(&r, STR_NONE);
    assert_true(str_is(find(&r.op, events, 2).look, "ses_2"));
    assert_true(str_is(give_session(&r.op, NULL).look, "ses_1"));
    struct out out = give_session(&r.op, &own);
    assert_non_null(out.append);
    assert_true(!out.read && str_is(r.session, "ses_1"));
    assert_true(str_is(out.append->events[0].session, "ses_1"));
    append_free(out.append);
    read_free(r.op.found);
}

static void a_call_in_two_seen_sessions_is_ambiguous(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "1");
    struct event events[] = {event(EVENT_TOOL_CALL, 1, allowed), event(EVENT_TOOL_CALL, 2, allowed)};
    const struct session other = {.id = STR("ses_2"), .owner = STR("tok_1")};
    (void)state;
    events[1].session = STR("ses_2");
    view(&r, STR_NONE);
    (void)find(&r.op, events, 2);
    assert_true(str_is(give_session(&r.op, &own).look, "ses_2"));
    struct out out = give_session(&r.op, &other);
    assert_true(!out.append && !out.read);
    assert_int_equal(gate_op_code(&r.op), ERR_AMBIGUOUS);
    read_free(r.op.found);
}

static void a_call_in_one_session_that_may_not_be_seen_is_none(void **state)
{
    ARENA_SCOPE(arena);
    struct report r = report(&arena, "1");
    struct event events[] = {event(EVENT_TOOL_CALL, 1, allowed)};
    (void)state;
    view(&r, STR_NONE);
    assert_true(str_is(find(&r.op, events, 1).look, "ses_1"));
    struct out out = give_session(&r.op, NULL);
    assert_true(!out.append && !out.read && str_empty(out.look));
    assert_int_equal(gate_op_code(&r.op), ERR_NOT_FOUND);
    assert_string_equal(r.op.err->text, "there is no such call");
    read_free(r.op.found);
}

static void a_status_that_waits_reads_after_it_is_registered(void **state)
{
    ARENA_SCOPE(arena);
    struct event waits = event(EVENT_TOOL_CALL, 1, asked);
    (void)state;
    for (int64_t wait_ms = 0; wait_ms < 2; wait_ms++) {
        struct ask ask = {.op = {.arena = &arena, .step = ask_step, .phase = ASK_STATUS, .viewer = &agent},
                          .id = STR("c"), .wait_ms = wait_ms};
        core_finds(&ask.op, &ask.session, ask.id);
        (void)find(&ask.op, &waits, 1);
        struct out out = give_session(&ask.op, &own);
        assert_int_equal(core.waiting, wait_ms);
        assert_int_equal(out.read != NULL, wait_ms > 0);
        assert_int_equal(ask.op.found != NULL, wait_ms == 0);
        if (wait_ms == 0)
            assert_int_equal(ask.call->status, CALL_AWAITING);
        read_free(out.read);
        read_free(ask.op.found);
        waits_leave(&core, &ask, false, now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_that_may_not_be_seen_is_none),
        TEST(a_stranger_does_not_wait),
        TEST(a_call_that_was_found_is_not_read_again),
        TEST(a_call_in_two_seen_sessions_is_ambiguous),
        TEST(a_call_in_one_session_that_may_not_be_seen_is_none),
        TEST(a_status_that_waits_reads_after_it_is_registered),
    };
    return cmocka_run_group_tests_name("gate find", tests, NULL, NULL);
}
