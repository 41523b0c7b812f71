/* One event is kept: a change of a session, a token, a rule or a key, or a note.
 *
 *   BEGIN --append the event, if its need holds--> KEPT
 */
#include "gate/core/core.h"

enum { KEEP_BEGIN, KEEP_KEPT };

/* Copies the event, whose texts belong to the caller, and gives it the time of this step. */
static struct append *event_append(const struct kept_event *kept, struct now now)
{
    struct append *append = append_new();
    struct event event = event_copy(&append->arena, &kept->event);
    struct need need = kept->need;
    event.at_ms = now.wall_ms;
    ARENA_KEEP(&append->arena, &need.session, &need.call);
    if (need.need != NEED_NONE)
        append_need(append, need);
    (void)append_event(append, event);
    return append;
}

void keep_step(struct core *core, struct op *op, struct now now, struct out *out)
{
    (void)core;
    struct kept_event *kept = (struct kept_event *)op;
    switch (op->phase) {
    case KEEP_BEGIN:
        op->phase = KEEP_KEPT;
        out->append = event_append(kept, now);
        return;
    case KEEP_KEPT:
        if (op->append->outcome == APPEND_REFUSED)
            (void)err_set(gate_op_fail(op), ERR_CONFLICT, "%s", kept->refused);
        else if (op->append->outcome == APPEND_FAILED)
            gate_op_take(op, &op->append->err);
        else
            kept->event.seq = op->append->events[0].seq;
        return;
    }
}
