/* Marks that people put on a waiting call: snoozed until a time, assigned to a person. They change when people are told
 * of it, and whom; neither its deadline nor who may answer. */
#include "gate/core/core.h"

#include "event/shapes.h"

#include <stdlib.h>

static struct marks *marks_of(struct open *open)
{
    if (!open->marks) {
        open->marks = heap_new(sizeof *open->marks);
        *open->marks = (struct marks){0};
    }
    return open->marks;
}

static void take_snooze(struct open *open, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_snoozed data;
    struct marks *marks = marks_of(open);
    if (event->seq <= marks->snoozed_seq || !READ_DATA(&scratch, tool_approval_snoozed, event->data, &data))
        return;
    marks->snoozed_seq = event->seq;
    marks->snoozed_ms = data.until;
}

static void take_assignment(struct open *open, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_assigned data;
    struct marks *marks = marks_of(open);
    if (event->seq <= marks->assigned_seq || !READ_DATA(&scratch, tool_approval_assigned, event->data, &data) ||
        data.person.n > sizeof marks->assignee)
        return;
    marks->assigned_seq = event->seq;
    marks->assignee_bytes = data.person.n;
    if (data.person.n)
        memcpy(marks->assignee, data.person.p, data.person.n);
}

void marks_take(struct core *core, struct open *open, const struct event *event)
{
    bool waits = open->due.heap_at != 0;
    core_due_remove(core, open);
    if (event->kind == EVENT_TOOL_APPROVAL_SNOOZED)
        take_snooze(open, event);
    else
        take_assignment(open, event);
    if (waits)
        core_due_add(core, open);
}

void marks_known(struct core *core, struct open *open)
{
    if (!open->unmarked)
        return;
    open->unmarked = false;
    if (open->ending)
        return; /* deadlines.c adds it again when its append is answered */
    core_due_remove(core, open);
    core_due_add(core, open);
}

void marks_free(struct open *open)
{
    free(open->marks);
    open->marks = NULL;
}
