/* An allowed call is done, at most once.
 *
 *   BEGIN --read the call--> KNOWN --look at the session--> READY --compare the files--> COMPARED
 *     COMPARED --append TOOL_STARTED--> STARTED --do it, in a thread--> DONE --append TOOL_RESULT--> KEPT
 *     READY, COMPARED --append TOOL_RESULT, nothing is done--> KEPT
 *
 * Invariants
 *  1. TOOL_STARTED is kept under the needs that there is none, that the answer (or the verdict) is there and that
 *     the fence holds; the effect begins only after it is durable.
 *  2. A call that was started and has no result is never started again: after a crash it gets a result that says
 *     so.
 *  3. The call runs as it was shown: the files are compared with those that the person saw before it starts, and by
 *     the tool itself once more.
 */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/read.h"
#include "event/shapes.h"

enum { EXECUTE_BEGIN, EXECUTE_KNOWN, EXECUTE_READY, EXECUTE_COMPARED, EXECUTE_STARTED, EXECUTE_DONE, EXECUTE_KEPT };

/* ---- what is kept ---- */

/* The needs make it "at most once": no start, no result, an answer that allows, and the fence of the run. */
static struct append *start_append(const struct execute *e, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_TOOL_STARTED,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, e->session),
        .thread = arena_str(arena, e->state.thread),
        .call = arena_str(arena, e->call),
        .actor = arena_str(arena, e->actor),
        .data = DATA(arena, tool_started, .call = e->call, .child = e->child),
    };
    enum event_kind answer = e->state.by_policy ? EVENT_TOOL_CALL : EVENT_TOOL_APPROVAL_RESPONSE;
    struct need need = {.need = NEED_ABSENT, .kind = EVENT_TOOL_STARTED, .session = event.session, .call = event.call};
    append_need(append, need);
    need.kind = EVENT_TOOL_RESULT;
    append_need(append, need);
    need.need = NEED_PRESENT;
    need.kind = answer;
    append_need(append, need);
    if (e->fence.need != NEED_NONE) {
        struct need fence = e->fence;
        ARENA_KEEP(arena, &fence.session, &fence.call);
        append_need(append, fence);
    }
    (void)append_event(append, event);
    for (unsigned i = 0; i < e->with_count; i++)
        (void)append_event(append, event_copy(arena, &e->with[i]));
    return append;
}

static void keep_result(struct execute *e, struct str text, struct data_tool_result result, struct now now,
                        struct out *out)
{
    ARENA_SCOPE(scratch);
    result.content = shape_quote(&scratch, text);
    e->op.phase = EXECUTE_KEPT;
    out->append = core_result_append(&e->state, e->actor, e->mode, &result, now);
}

static void keep_interrupted(struct execute *e, struct now now, struct out *out)
{
    keep_result(e, STR("Interrupted: the tool had started when Nod stopped, and its effect is unknown. It was not "
                       "run again; look at what is there before you go on."),
                (struct data_tool_result){.is_error = true, .interrupted = true}, now, out);
}

/* The id of the call that replaces this one; always the same for the same call. */
static struct str next_call(struct arena *arena, struct str call)
{
    char hex[DIGEST_HEX_BYTES];
    struct str next = arena_printf(arena, "%.*s.again", STR_ARG(call));
    if (next.n <= LIMIT_ID_BYTES)
        return next;
    struct digest digest = digest_of(next);
    digest_hex(&digest, hex);
    return arena_printf(arena, "again_%s", hex);
}

static void keep_changed(struct execute *e, struct now now, struct out *out)
{
    struct data_tool_result result = {.is_error = true, .superseded_by = next_call(e->op.arena, e->call)};
    e->changed = true;
    keep_result(e, STR("What was shown has changed since, so nothing was done; the person is asked again"), result,
                now, out);
}

/* ---- step by step ---- */

/* Whether the call may be executed now; if not, it was executed before, or err says why not. */
static bool may_go_on(struct execute *e, const struct read *read)
{
    struct op *op = &e->op;
    bool there = core_take_call(e->op.arena, &e->state, e->session, read);
    gate_op_take(op, &read->err);
    if (op->err)
        return false;
    if (!there)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such call");
    else if (!call_allowed(&e->state))
        (void)err_set(gate_op_fail(op), ERR_NOT_ALLOWED, "the call is not allowed");
    return !op->err && !e->state.result_seq;
}

static void start(struct execute *e, struct now now, struct out *out)
{
    if (e->shown == SHOWN_CHANGED) {
        keep_changed(e, now, out);
        return;
    }
    e->op.phase = EXECUTE_STARTED;
    out->append = start_append(e, now);
}

/* A call that was started before and has no result is never started again. */
static void begin(struct execute *e, struct now now, struct out *out)
{
    if (!e->op.err && !e->op.session)
        (void)err_set(gate_op_fail(&e->op), ERR_NOT_FOUND, "there is no such session");
    if (e->op.err)
        return;
    if (e->outcome) {
        CHECK(e->state.started);
        keep_result(e, e->outcome->text,
                    (struct data_tool_result){.usage = e->outcome->usage, .is_error = e->outcome->is_error}, now, out);
    } else if (e->state.started && str_empty(e->state.child)) {
        keep_interrupted(e, now, out);
    } else if (e->state.started) {
        return; /* the call's sub-agent goes on in the child thread */
    } else if (e->shown == SHOWN_UNKNOWN) {
        e->op.phase = EXECUTE_COMPARED;
        out->work = WORK_COMPARE;
    } else {
        start(e, now, out);
    }
}

/* Only when TOOL_STARTED is durable the tool runs. For a sub-agent nothing runs here: its run begins by the
 * event. */
static void take_start(struct execute *e, struct out *out)
{
    const struct append *append = e->op.append;
    if (append->outcome == APPEND_REFUSED)
        (void)err_set(gate_op_fail(&e->op), ERR_CONFLICT,
                      "the call was started elsewhere, or the run is not ours any more");
    else if (append->outcome == APPEND_FAILED)
        gate_op_take(&e->op, &append->err);
    else
        call_apply(e->op.arena, &e->state, &append->events[0]);
    if (append->outcome != APPEND_KEPT || !str_empty(e->child))
        return;
    e->op.phase = EXECUTE_DONE;
    out->work = WORK_DO;
}

static void take_result(struct execute *e)
{
    const struct append *append = e->op.append;
    if (append->outcome == APPEND_REFUSED)
        (void)err_set(gate_op_fail(&e->op), ERR_CONFLICT, "the call has a result already");
    else if (append->outcome == APPEND_FAILED)
        gate_op_take(&e->op, &append->err);
    else
        call_apply(e->op.arena, &e->state, &append->events[0]);
}

void execute_step(struct core *core, struct op *op, struct now now, struct out *out)
{
    (void)core;
    struct execute *e = (struct execute *)op;
    switch (op->phase) {
    case EXECUTE_BEGIN:
        op->phase = EXECUTE_KNOWN;
        out->read = read_new_call(e->session, e->call);
        return;
    case EXECUTE_KNOWN:
        if (!may_go_on(e, op->read))
            return;
        op->phase = EXECUTE_READY;
        out->judge = e->session;
        return;
    case EXECUTE_READY:
        begin(e, now, out);
        return;
    case EXECUTE_COMPARED:
        start(e, now, out);
        return;
    case EXECUTE_STARTED:
        take_start(e, out);
        return;
    case EXECUTE_DONE:
        keep_result(e, e->did.text, (struct data_tool_result){.is_error = e->did.is_error}, now, out);
        return;
    case EXECUTE_KEPT:
        take_result(e);
        return;
    }
}
