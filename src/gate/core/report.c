/* The agent says what came of a call: kept once, for a call that was allowed.
 *
 *   BEGIN --read the call--> KNOWN --append TOOL_RESULT, if there is none--> KEPT
 *                              ^------------ refused: someone was faster ------|
 */
#include "gate/core/core.h"

#include "event/shapes.h"

enum { REPORT_BEGIN, REPORT_KNOWN, REPORT_KEPT };

static struct report *report_of(struct op *op) { return (struct report *)op; }

static struct read *call_read(const struct report *r)
{
    struct read *read = read_new(READ_CALL);
    read->session = arena_str(&read->arena, r->session);
    read->call = arena_str(&read->arena, r->call);
    return read;
}

static struct append *result_append(const struct report *r, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct data_permissions permissions = core_permissions(&r->state, r->state.mode);
    struct event event = {
        .kind = EVENT_TOOL_RESULT,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, r->session),
        .thread = arena_str(arena, r->state.thread),
        .call = arena_str(arena, r->call),
        .actor = arena_str(arena, r->actor),
        .data = DATA(arena, tool_result, .call = r->call, .content = r->content, .is_error = r->is_error,
                     .permissions = &permissions),
    };
    append_need(append, (struct need){
        .need = NEED_ABSENT, .kind = EVENT_TOOL_RESULT, .session = event.session, .call = event.call});
    (void)append_event(append, event);
    return append;
}

/* The call as it is, and whether there is one. */
static bool take_call(struct report *r, const struct read *read)
{
    r->op.err = read->err;
    r->state = (struct call){0};
    for (size_t i = 0; i < read->event_count; i++)
        call_apply(r->op.arena, &r->state, &read->events[i]);
    return read->event_count > 0;
}

/* True when a result may be kept; else it is there already, or err says why not. */
static bool may_keep(struct report *r, bool there)
{
    struct err *err = &r->op.err;
    const struct call *call = &r->state;
    if (err->code != ERR_OK)
        return false;
    if (!there)
        (void)err_set(err, ERR_NOT_FOUND, "there is no such call");
    else if (!call_allowed(call))
        (void)err_set(err, ERR_NOT_ALLOWED, "the call was not allowed (%s): it has no result",
                      call_status_name(call->status));
    else if (call->result_seq &&
             (!json_same_tokens(call->result, r->content) || call->result_is_error != r->is_error))
        (void)err_set(err, ERR_CONFLICT, "the call has another result already");
    return err->code == ERR_OK && !call->result_seq;
}

void report_step(struct op *op, struct now now, struct out *out)
{
    struct report *r = report_of(op);
    switch (op->phase) {
    case REPORT_BEGIN:
        op->phase = REPORT_KNOWN;
        out->read = call_read(r);
        return;
    case REPORT_KNOWN:
        if (!may_keep(r, take_call(r, op->read)))
            return;
        op->phase = REPORT_KEPT;
        out->append = result_append(r, now);
        return;
    case REPORT_KEPT:
        if (op->append->outcome == APPEND_REFUSED) {
            op->phase = REPORT_KNOWN;
            out->read = call_read(r);
        } else if (op->append->outcome == APPEND_FAILED) {
            op->err = op->append->err;
        } else {
            call_apply(op->arena, &r->state, &op->append->events[0]);
        }
        return;
    }
}
