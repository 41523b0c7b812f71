/* The agent says what came of a call: kept once, for a call that was allowed.
 *
 *   BEGIN --read the call, unless it is known--> KNOWN --append TOOL_RESULT, if there is none--> KEPT
 *                                                  ^------------ refused: someone was faster ------|
 */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/life.h"
#include "event/read.h"
#include "event/shapes.h"

enum { REPORT_BEGIN, REPORT_KNOWN, REPORT_KEPT };

static struct report *report_of(struct op *op) { return (struct report *)op; }

/* Whether the result may be stored; if not, there is one already, or err says why not. */
static bool may_keep(struct report *r, bool there)
{
    struct op *op = &r->op;
    const struct call *call = &r->state;
    if (op->err)
        return false;
    if (!there)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such call");
    else if (!call_allowed(call))
        (void)err_set(gate_op_fail(op), ERR_NOT_ALLOWED, "the call was not allowed (%s): it has no result",
                      call_status_name(call->status));
    else if (call->result_seq &&
             (!json_same_tokens(call->result, r->content) || call->result_is_error != r->is_error))
        (void)err_set(gate_op_fail(op), ERR_CONFLICT, "the call has another result already");
    return !op->err && !call->result_seq;
}

static void keep_result(struct report *r, struct now now, struct out *out)
{
    r->op.phase = REPORT_KEPT;
    struct data_tool_result result = {.content = r->content, .is_error = r->is_error};
    out->append = core_result_append(&r->state, r->actor, r->state.mode, &result, now);
}

static void keep(struct report *r, const struct read *read, struct now now, struct out *out)
{
    gate_op_take(&r->op, &read->err);
    if (may_keep(r, core_take_call(r->op.arena, &r->state, r->session, read)))
        keep_result(r, now, out);
}

/* Puts the reported result into the call without reading it back: the append has just stored it. */
static void take_own_result(struct report *r, uint64_t seq)
{
    struct call *call = &r->state;
    if (!call_move(call->status, EVENT_TOOL_RESULT, LIFE_ANY, &call->status))
        return;
    call->result = r->content;
    call->result_is_error = r->is_error;
    call->result_seq = seq;
}

/* A refused append means that another report was kept first: the call is read again, and that result is told. */
void report_step(struct core *core, struct op *op, struct now now, struct out *out)
{
    struct report *r = report_of(op);
    switch (op->phase) {
    case REPORT_BEGIN:
        if (op->found) {
            keep(r, op->found, now, out);
            return;
        }
        if (recent_find(&core->recent, op->arena, r->session, r->call, &r->state) && call_allowed(&r->state)) {
            keep_result(r, now, out);
            return;
        }
        op->phase = REPORT_KNOWN;
        out->read = read_new_call(r->session, r->call);
        return;
    case REPORT_KNOWN:
        keep(r, op->read, now, out);
        return;
    case REPORT_KEPT:
        if (op->append->outcome == APPEND_REFUSED) {
            op->phase = REPORT_KNOWN;
            out->read = read_new_call(r->session, r->call);
        } else if (op->append->outcome == APPEND_FAILED) {
            gate_op_take(op, &op->append->err);
        } else {
            take_own_result(r, op->append->events[0].seq);
        }
        return;
    }
}
