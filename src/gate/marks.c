/* Marks on waiting calls (core/marks.c) are kept as events; recover.c reads them back at the start. */
#include "gate/inner.h"

#include "event/shapes.h"

static void keep_mark(struct gate *gate, struct mark *mark, enum event_kind kind, struct str data)
{
    mark->kept.need = (struct need){.need = NEED_ABSENT, .kind = EVENT_TOOL_APPROVAL_RESPONSE,
                                    .session = mark->session, .call = mark->call};
    mark->kept.refused = "it was answered meanwhile";
    op_keep(gate, &mark->kept, (struct event){.kind = kind, .session = mark->session, .thread = mark->thread,
                                              .actor = mark->actor, .data = data});
}

void gate_snooze(struct gate *gate, struct mark *mark)
{
    keep_mark(gate, mark, EVENT_TOOL_APPROVAL_SNOOZED,
              DATA(mark->op.arena, tool_approval_snoozed, .call = mark->call, .until = mark->until_ms, .by = mark->by));
}

void gate_assign(struct gate *gate, struct mark *mark)
{
    keep_mark(gate, mark, EVENT_TOOL_APPROVAL_ASSIGNED,
              DATA(mark->op.arena, tool_approval_assigned, .call = mark->call, .person = mark->person, .by = mark->by));
}

static struct str call_of(struct arena *arena, const struct event *event)
{
    struct data_tool_approval_snoozed snoozed = {0};
    struct data_tool_approval_assigned assigned = {0};
    if (event->kind == EVENT_TOOL_APPROVAL_SNOOZED && READ_DATA(arena, tool_approval_snoozed, event->data, &snoozed))
        return snoozed.call;
    if (event->kind == EVENT_TOOL_APPROVAL_ASSIGNED && READ_DATA(arena, tool_approval_assigned, event->data, &assigned))
        return assigned.call;
    return STR_NONE;
}

void marks_follow(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct open *open = open_find(gate, event->session, call_of(&scratch, event));
    if (open)
        marks_take(&gate->core, open, event);
}
