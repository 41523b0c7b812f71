/* The pure part of the gate: values in, values out, no process. */
#include "gate/core/core.h"

#include "event/shapes.h"
#include "gate/inner.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct now now = {.wall_ms = 1767323045678};
static struct core core;

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
    r->op.step(&core, &r->op, now, &out);
    r->op.read = NULL;
    return out;
}

static struct out answer_append(struct report *r, struct append *append, enum append_outcome outcome)
{
    struct out out = {0};
    append->outcome = outcome;
    append->events[0].seq = 9;
    r->op.append = append;
    r->op.step(&core, &r->op, now, &out);
    r->op.append = NULL;
    append_free(append);
    return out;
}

static const char allowed[] = "{\"id\":\"c\",\"name\":\"Read\",\"input\":{},\"verdict\":{\"effect\":\"allow\"}}";
static const char asked[] = "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{},\"verdict\":{\"effect\":\"ask\"}}";

static struct out begin(struct report *r)
{
    struct out out = {0};
    r->op.step(&core, &r->op, now, &out);
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

/* ---- asking, waiting, deciding ---- */

struct asking {
    struct ask ask;
    struct verdict verdict;
    struct session session;
    struct session_thread thread;
};

static struct out step(struct op *op)
{
    struct out out = {0};
    do {
        out = (struct out){0};
        if (op->finding == FIND_DONE || core_find(op, &out))
            op->step(&core, op, now, &out);
    } while (out.check); /* everyone may */
    op->read = NULL;
    op->append = NULL;
    return out;
}

static void begin_ask(struct asking *a, struct arena *arena, int64_t wait_ms)
{
    *a = (struct asking){.verdict = {.effect = EFFECT_ASK}, .session = {.changed_seq = 7}};
    a->thread.id = STR("main");
    a->session.threads = &a->thread;
    a->ask = (struct ask){.op = {.arena = arena, .step = ask_step, .phase = ASK_BEGIN}, .session = STR("ses_1"),
                          .thread = STR("main"), .id = STR("c"), .name = STR("Bash"), .actor = STR("agent"),
                          .wait_ms = wait_ms};
    assert_true(rc_ok(json_parse(arena, STR("{}"), &a->ask.input, NULL)));
    assert_true(str_is(step(&a->ask.op).judge, "ses_1"));
    a->ask.verdict = &a->verdict;
    a->ask.op.session = &a->session;
}

static struct out keep_ask(struct asking *a, struct out out, enum append_outcome outcome, unsigned need)
{
    struct append *append = out.append;
    assert_non_null(append);
    append->outcome = outcome;
    append->refused_need = need;
    append->events[0].seq = 9;
    a->ask.op.append = append;
    out = step(&a->ask.op);
    append_free(append);
    return out;
}

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
    assert_int_equal(a.ask.call.status, CALL_DENIED);
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
    assert_int_equal(a.ask.call.status, CALL_ABORTED);
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
    assert_int_equal(a.ask.call.status, CALL_ALLOWED);
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
        a.ask.call = (struct call){.status = CALL_AWAITING};
        if (remembered)
            recent_add(&core.recent, events, remembered);
        waits_follow(&core, &events[2]);
        assert_ptr_equal(waits_next(&core, now), &a.ask.op);
        struct out out = step(&a.ask.op);
        assert_true(!out.park && !out.append);
        assert_int_equal(out.read != NULL, remembered < 3); /* remembered before its answer came: it does not count */
        read_free(out.read);
        if (remembered == 3) {
            assert_int_equal(a.ask.call.status, CALL_DENIED);
            assert_true(str_is(a.ask.call.input, "{}"));
            assert_int_equal(a.ask.call.response_seq, 3);
        }
        recent_clear(&core.recent);
        assert_int_equal(core.waiting, 0);
    }
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
    assert_true(!out.park && a.ask.call.status == CALL_AWAITING);
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
    assert_true(!out.append && old.op.err.code == ERR_CONFLICT);
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
    assert_true(!out.append && !out.read && d.op.err.code == ERR_ALREADY_DECIDED);
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

/* ---- doing a call ---- */

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
    assert_true(!out.append && !out.work && d.execute.op.err.code == ERR_OK);
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
    assert_true(!out.append && !out.work && lost.execute.op.err.code == ERR_CONFLICT);
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
        assert_int_equal(e.op.err.code, count ? ERR_NOT_ALLOWED : ERR_NOT_FOUND);
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
        assert_true(!out.append && !out.read && kept.op.err.code == codes[i]);
        assert_int_equal(kept.event.seq, i == 0 ? 9 : 0);
    }
}

/* ---- which session a call is in ---- */

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
    assert_int_equal(r.op.err.code, ERR_NOT_FOUND);
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
    assert_int_equal(a.ask.op.err.code, ERR_NOT_FOUND);
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
    assert_int_equal(r.op.err.code, ERR_AMBIGUOUS);
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
    assert_int_equal(r.op.err.code, ERR_NOT_FOUND);
    assert_string_equal(r.op.err.text, "there is no such call");
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
            assert_int_equal(ask.call.status, CALL_AWAITING);
        read_free(out.read);
        read_free(ask.op.found);
        waits_leave(&core, &ask, false, now);
    }
}

/* ---- what is due ---- */

static void the_nearest_is_due_first(void **state)
{
    enum { COUNT = 200 };
    static struct open calls[COUNT];
    struct core heap = {0};
    unsigned random = 2026;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1103515245 + 12345;
        calls[i] = (struct open){.requested_ms = 1000, .deadline_ms = random % 3 ? 2000 + random % 977 : 0};
        heap.alert_ms = random % 5 ? 500 + random % 991 : 0;
        core_due_add(&heap, &calls[i]);
        assert_int_equal(calls[i].due.heap_at != 0, calls[i].due.time != 0);
        if (i % 7 == 3)
            core_due_remove(&heap, &calls[i / 2]);
    }
    int64_t last = 0;
    for (struct open *open; (open = core_due_first(&heap, 1000000));) {
        assert_true(open->due.time >= last);
        assert_null(core_due_first(&heap, open->due.time - 1));
        last = open->due.time;
        core_due_remove(&heap, open);
    }
    assert_int_equal(heap.due.count, 0);
    due_done(&heap.due);
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

static void a_snooze_delays_the_alert_alone(void **state)
{
    struct open open = {.requested_ms = 1000, .deadline_ms = 9000};
    (void)state;
    core_due_add(&core, &open);
    struct event snooze = event(EVENT_TOOL_APPROVAL_SNOOZED, 5,
                                "{\"toolCallId\":\"c\",\"until\":\"1970-01-01T00:00:07Z\"}");
    marks_take(&core, &open, &snooze);
    assert_int_equal(due_time(&open, 300), 7000);
    assert_int_equal(due_time(&open, 8000), 9000);
    open.deadline_ms = 4000;
    assert_int_equal(due_time(&open, 300), 4000); /* the deadline holds */
    snooze = event(EVENT_TOOL_APPROVAL_SNOOZED, 6, "{\"toolCallId\":\"c\"}");
    marks_take(&core, &open, &snooze);
    assert_int_equal(due_time(&open, 300), 1300);
    core_due_remove(&core, &open);
    marks_free(&open);
}

/* At the start marks are read while new ones are followed. */
static void the_last_mark_counts_in_whatever_order_they_come(void **state)
{
    struct open open = {0};
    const struct event late = event(EVENT_TOOL_APPROVAL_ASSIGNED, 9, "{\"toolCallId\":\"c\",\"person\":\"bob\"}");
    const struct event early = event(EVENT_TOOL_APPROVAL_ASSIGNED, 8, "{\"toolCallId\":\"c\",\"person\":\"ann\"}");
    const struct event freed = event(EVENT_TOOL_APPROVAL_ASSIGNED, 10, "{\"toolCallId\":\"c\"}");
    (void)state;
    marks_take(&core, &open, &late);
    marks_take(&core, &open, &early);
    assert_int_equal(open.marks->assignee_bytes, 3);
    assert_memory_equal(open.marks->assignee, "bob", 3);
    marks_take(&core, &open, &freed);
    assert_int_equal(open.marks->assignee_bytes, 0);
    marks_free(&open);
}

/* The asks of a test that failed are gone with its stack: the next test must not meet them. */
static int forget_failed(void **state)
{
    (void)state;
    if (core.waiting)
        core = (struct core){0};
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, forget_failed)

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
        TEST(an_answer_during_the_append_is_not_missed),
        TEST(an_answer_to_a_known_call_is_not_missed),
        TEST(whoever_waits_is_rung_once),
        TEST(whoever_waits_looks_again_when_the_session_has_left),
        TEST(an_answered_wait_reads_only_what_is_not_remembered),
        TEST(a_wait_ends_with_its_time),
        TEST(a_stale_verdict_is_judged_again),
        TEST(the_first_decision_wins),
        TEST(an_effect_begins_when_its_start_is_kept),
        TEST(a_call_that_was_started_is_not_started_again),
        TEST(what_has_changed_since_it_was_shown_is_not_done),
        TEST(only_an_allowed_call_is_done),
        TEST(a_change_is_kept_if_its_need_holds),
        TEST(a_session_that_may_not_be_seen_is_none),
        TEST(a_stranger_does_not_wait),
        TEST(a_call_that_was_found_is_not_read_again),
        TEST(a_call_in_two_seen_sessions_is_ambiguous),
        TEST(a_call_in_one_session_that_may_not_be_seen_is_none),
        TEST(a_status_that_waits_reads_after_it_is_registered),
        TEST(a_decision_rests_on_what_was_known_when_it_was_checked),
        TEST(the_nearest_is_due_first),
        TEST(a_snooze_delays_the_alert_alone), TEST(the_last_mark_counts_in_whatever_order_they_come),
        TEST(an_alert_comes_once_and_before_the_deadline),
    };
    return cmocka_run_group_tests_name("gate core", tests, NULL, NULL);
}
