/* Asking, waiting and deciding at the gate. */
#include "u_gate_core.h"

static void an_answer_during_the_append_is_not_missed(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    struct event response = event(EVENT_TOOL_APPROVAL_RESPONSE, 10, "{\"toolCallId\":\"c\",\"decision\":\"deny\"}");
    (void)state;
    begin_ask(&a, &arena, 1000);
    struct out out = step(&a.ask.op);
    waits_follow(&core, &response); /* another node was quick */
    out = keep_ask(&a, out, APPEND_KEPT, 0);
    assert_true(!out.park && !out.read && !out.append);
    assert_int_equal(a.ask.call->status, CALL_DENIED);
    assert_int_equal(core.waiting, 0);
}

/* Asked again when the rules would deny it by now, while the first answer comes. */
static void an_answer_to_a_known_call_is_not_missed(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    struct event events[] = {event(EVENT_TOOL_CALL, 1, asked),
                             event(EVENT_TOOL_APPROVAL_REQUEST, 2, "{\"toolCallId\":\"c\",\"tool\":\"Bash\"}")};
    struct event response = event(EVENT_TOOL_APPROVAL_RESPONSE, 3, "{\"toolCallId\":\"c\",\"decision\":\"abort\"}");
    (void)state;
    begin_ask(&a, &arena, 1000);
    a.ask.thread = STR("ses_1.main");
    a.thread.id = STR("ses_1.main");
    a.verdict.effect = EFFECT_DENY;
    struct out out = keep_ask(&a, step(&a.ask.op), APPEND_REFUSED, 0);
    assert_non_null(out.read);
    waits_follow(&core, &response);
    out.read->events = events;
    out.read->event_count = 2;
    a.ask.op.read = out.read;
    struct read *read = out.read;
    out = step(&a.ask.op);
    read_free(read);
    assert_true(!out.park && !out.read && !out.append);
    assert_int_equal(a.ask.call->status, CALL_ABORTED);
    assert_int_equal(core.waiting, 0);
}

static void whoever_waits_is_rung_once(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    static const char allow[] = "{\"toolCallId\":\"c\",\"decision\":\"allow_once\"}";
    struct event response = event(EVENT_TOOL_APPROVAL_RESPONSE, 10, allow);
    (void)state;
    begin_ask(&a, &arena, 1000);
    assert_true(keep_ask(&a, step(&a.ask.op), APPEND_KEPT, 0).park);
    assert_int_equal(core.waiting, 1);
    assert_null(waits_next(&core, now));
    waits_follow(&core, &response);
    assert_ptr_equal(waits_next(&core, now), &a.ask.op);
    struct out out = step(&a.ask.op);
    assert_true(!out.park && !out.read && !out.append);
    assert_int_equal(a.ask.call->status, CALL_ALLOWED);
    assert_null(waits_next(&core, now));
    assert_int_equal(core.waiting, 0);
    due_done(&core.waits);
}

/* While it waited, the call was not in memory. */
static void an_answered_wait_reads_only_what_is_not_remembered(void **state)
{
    ARENA_SCOPE(arena);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, asked),
        event(EVENT_TOOL_APPROVAL_REQUEST, 2, "{\"toolCallId\":\"c\"}"),
        event(EVENT_TOOL_APPROVAL_RESPONSE, 3, "{\"toolCallId\":\"c\",\"decision\":\"deny\"}"),
    };
    (void)state;
    for (size_t remembered = 0; remembered <= 3; remembered++) {
        struct asking a;
        begin_ask(&a, &arena, 1000);
        assert_true(keep_ask(&a, step(&a.ask.op), APPEND_KEPT, 0).park);
        a.ask.reread = true;
        a.ask.call = NULL;
        if (remembered)
            recent_add(&core.recent, events, remembered);
        waits_follow(&core, &events[2]);
        assert_ptr_equal(waits_next(&core, now), &a.ask.op);
        struct out out = step(&a.ask.op);
        assert_true(!out.park && !out.append);
        assert_int_equal(out.read != NULL, remembered < 3); /* remembered before its answer came: it does not count */
        read_free(out.read);
        if (remembered == 3) {
            assert_int_equal(a.ask.call->status, CALL_DENIED);
            assert_true(str_is(a.ask.call->input, "{}"));
            assert_int_equal(a.ask.call->response_seq, 3);
        }
        recent_clear(&core.recent);
        assert_int_equal(core.waiting, 0);
    }
    due_done(&core.waits);
}

/* The view of what is open has it. */
static void a_wait_without_an_answer_reads_nothing(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    struct open open = {.session = STR("ses_1"), .call = STR("c"), .seq = 2, .call_data = str_of(asked),
                        .request_data = STR("{\"toolCallId\":\"c\",\"digest\":\"d\"}")};
    (void)state;
    begin_ask(&a, &arena, 1000);
    assert_true(keep_ask(&a, step(&a.ask.op), APPEND_KEPT, 0).park);
    struct call_key key = call_key(open.session, open.call);
    assert_null(map_put(&core.open, call_key_str(&key), &open));
    a.ask.reread = true;
    a.ask.call = NULL;
    core.released = true;
    assert_ptr_equal(waits_next(&core, now), &a.ask.op);
    struct out out = step(&a.ask.op);
    core.released = false;
    assert_true(!out.park && !out.append && !out.read);
    assert_int_equal(a.ask.call->status, CALL_AWAITING);
    assert_true(str_is(a.ask.call->input, "{}") && str_is(a.ask.call->digest, "d"));
    assert_int_equal(a.ask.call->call_seq, 1);
    map_done(&core.open);
    due_done(&core.waits);
}

static void whoever_waits_looks_again_when_the_session_has_left(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    struct event left = event(EVENT_SESSION_ARCHIVED, 10, "{}");
    (void)state;
    begin_ask(&a, &arena, 1000);
    assert_true(keep_ask(&a, step(&a.ask.op), APPEND_KEPT, 0).park);
    waits_follow(&core, &left);
    assert_ptr_equal(waits_next(&core, now), &a.ask.op);
    struct out out = step(&a.ask.op);
    assert_true(!out.park && out.read && out.read->kind == READ_CALL);
    read_free(out.read);
    assert_int_equal(core.waiting, 0);
    due_done(&core.waits);
}

static void a_wait_ends_with_its_time(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    (void)state;
    begin_ask(&a, &arena, 1000);
    assert_true(keep_ask(&a, step(&a.ask.op), APPEND_KEPT, 0).park);
    struct now later = {.wall_ms = now.wall_ms, .steady_us = now.steady_us + 1000 * 1000};
    assert_null(waits_next(&core, (struct now){.steady_us = later.steady_us - 1}));
    assert_ptr_equal(waits_next(&core, later), &a.ask.op);
    struct out out = {0};
    ask_step(&core, &a.ask.op, later, &out);
    assert_true(!out.park && a.ask.call->status == CALL_AWAITING);
    assert_int_equal(core.waiting, 0);
    due_done(&core.waits);
}

static void a_stale_verdict_is_judged_again(void **state)
{
    ARENA_SCOPE(arena);
    struct asking a;
    (void)state;
    begin_ask(&a, &arena, 0);
    core.delivered = 40;
    struct out out = step(&a.ask.op);
    assert_int_equal(out.append->needs[1].seq, 7);
    assert_int_equal(out.append->needs[2].need, NEED_NONE_AFTER);
    assert_int_equal(out.append->needs[2].seq, 40);
    out = keep_ask(&a, out, APPEND_REFUSED, 1);
    assert_true(str_is(out.judge, "ses_1"));
    a.verdict.effect = EFFECT_DENY;
    a.ask.op.session = &a.session;
    out = keep_ask(&a, step(&a.ask.op), APPEND_REFUSED, 0);
    assert_non_null(out.read); /* there is such a call already */
    read_free(out.read);
    core.delivered = 0;
}

static void the_first_decision_wins(void **state)
{
    ARENA_SCOPE(arena);
    struct open open = {.session = STR("ses_1"), .call = STR("c"), .thread = STR("main"), .name = STR("Bash"),
                        .digest = STR("d")};
    struct call_key key = call_key(open.session, open.call);
    struct decide d = {.op = {.arena = &arena, .step = decide_step}, .session = open.session, .call_id = open.call,
                       .decision = DECISION_ALLOW_ONCE, .actor = STR("eve"), .digest = STR("d")};
    struct decide old = d, first = d;
    struct event events[] = {event(EVENT_TOOL_CALL, 1, asked),
                             event(EVENT_TOOL_APPROVAL_RESPONSE, 3, "{\"toolCallId\":\"c\",\"decision\":\"deny\"}")};
    struct read read = {.events = events, .event_count = 2};
    (void)state;
    (void)map_put(&core.open, call_key_str(&key), &open);
    old.digest = STR("of something else");
    struct out out = step(&old.op);
    assert_true(!out.append && gate_op_code(&old.op) == ERR_CONFLICT);
    out = step(&d.op);
    assert_int_equal(out.append->needs[0].need, NEED_PRESENT);
    assert_int_equal(out.append->needs[1].need, NEED_ABSENT);
    struct append *append = out.append;
    append->outcome = APPEND_REFUSED;
    append->refused_need = 1;
    d.op.append = append;
    out = step(&d.op);
    append_free(append);
    assert_non_null(out.read);
    read_free(out.read);
    d.op.read = &read;
    out = step(&d.op);
    assert_true(!out.append && !out.read && gate_op_code(&d.op) == ERR_ALREADY_DECIDED);
    assert_int_equal(d.call.decision, DECISION_DENY);
    (void)map_take(&core.open, call_key_str(&key));
    map_done(&core.open);
    out = step(&first.op); /* not open here: it is looked for */
    assert_non_null(out.read);
    read_free(out.read);
}

/* A token that is revoked while the call is read does not let the decision pass. */
static void a_decision_rests_on_what_was_known_when_it_was_checked(void **state)
{
    ARENA_SCOPE(arena);
    struct open open = {.session = STR("ses_1"), .call = STR("c"), .thread = STR("main"), .name = STR(DEFINITION_TOOL)};
    struct call_key key = call_key(open.session, open.call);
    struct decide d = {.op = {.arena = &arena, .step = decide_step}, .session = open.session, .call_id = open.call,
                       .decision = DECISION_ALLOW_ONCE, .actor = STR("eve")};
    struct event events[] = {event(EVENT_TOOL_CALL, 1, asked)};
    struct read read = {.events = events, .event_count = 1};
    (void)state;
    (void)map_put(&core.open, call_key_str(&key), &open);
    core.delivered = 40;
    struct out out = step(&d.op);
    assert_non_null(out.read);
    read_free(out.read);
    core.delivered = 41;
    d.op.read = &read;
    out = step(&d.op);
    assert_non_null(out.append);
    assert_int_equal(out.append->needs[2].need, NEED_NONE_AFTER);
    assert_int_equal(out.append->needs[2].seq, 40);
    append_free(out.append);
    core.delivered = 0;
    map_done(&core.open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_during_the_append_is_not_missed),
        TEST(an_answer_to_a_known_call_is_not_missed),
        TEST(whoever_waits_is_rung_once),
        TEST(a_wait_without_an_answer_reads_nothing),
        TEST(whoever_waits_looks_again_when_the_session_has_left),
        TEST(an_answered_wait_reads_only_what_is_not_remembered),
        TEST(a_wait_ends_with_its_time),
        TEST(a_stale_verdict_is_judged_again),
        TEST(the_first_decision_wins),
        TEST(a_decision_rests_on_what_was_known_when_it_was_checked),
    };
    return cmocka_run_group_tests_name("gate ask", tests, NULL, NULL);
}
