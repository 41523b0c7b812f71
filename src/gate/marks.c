/* Marks on waiting calls (core/marks.c) are kept as events, and read back behind the start.
 *
 * No index leads to a mark. It is among the events of its call's session since the call was asked, and a session is
 * found block by block (store/sqlite_read.c), so this takes the longer the longer the history is. Nobody who starts
 * waits for it: the sessions that have waiting calls are read one after the other when the gate is ready. What a mark
 * can change waits instead: a call is not due for an alert (due_time), and nobody is shown waiting calls
 * (gate_await_marks). Deadlines, withdrawals and answers do not depend on marks.
 */
#include "gate/inner.h"

#include "base/log.h"
#include "event/shapes.h"

#include <stdlib.h>

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

/* ---- read back ---- */

enum { READ_AGAIN_MS = 1000 };

/* A session whose marks are to be read: those since the first of its calls that wait was asked. */
struct marked_session {
    struct str session;
    uint64_t after;
    struct marked_session *next;
};

/* What is still to be read, and who waits for it. On the loop; lives until all is read or the gate closes. */
struct marks_reading {
    struct arena arena;
    struct marked_session *first; /* it is read now, or again after a failure */
    struct op *waiting;
    struct timer *again;          /* NULL: no read has failed */
    bool stopped;
};

static void give_back(struct marks_reading *reading, const struct err *err)
{
    while (reading->waiting) {
        struct op *op = reading->waiting;
        reading->waiting = op->next;
        gate_op_take(op, err);
        op_end(op);
    }
}

static void add_session(struct marks_reading *reading, struct map *seen, const struct open *open)
{
    struct marked_session *marked = map_get(seen, open->session);
    if (!marked) {
        marked = arena_new(&reading->arena, struct marked_session);
        *marked = (struct marked_session){arena_str(&reading->arena, open->session), open->seq, reading->first};
        reading->first = marked;
        (void)map_put(seen, marked->session, marked);
    }
    marked->after = open->seq < marked->after ? open->seq : marked->after;
}

void marks_expect(struct gate *gate)
{
    struct map seen = {0};
    if (gate->core.open.count == 0)
        return;
    gate->marks = heap_new(sizeof *gate->marks);
    *gate->marks = (struct marks_reading){0};
    MAP_EACH(&gate->core.open, each)
        if (((struct open *)each.value)->unmarked)
            add_session(gate->marks, &seen, each.value);
    map_done(&seen);
}

void marks_done(struct gate *gate)
{
    struct marks_reading *reading = gate->marks;
    if (!reading)
        return;
    if (reading->again)
        timer_free(reading->again);
    arena_done(&reading->arena);
    free(reading);
    gate->marks = NULL;
}

static void all_read(struct gate *gate)
{
    MAP_EACH(&gate->core.open, each)
        marks_known(&gate->core, each.value);
    give_back(gate->marks, &(struct err){.code = ERR_OK});
    marks_done(gate);
}

static void try_again(void *arg) { marks_read(arg); }

/* A store that is away is asked again, and whoever waits is told; with one that cannot be read the process ends, as it
 * would have before it was ready. */
static void failed(struct gate *gate, const struct err *err)
{
    struct marks_reading *reading = gate->marks;
    give_back(reading, err);
    if (reading->stopped)
        return;
    log_line(LOG_WARN, "what people noted at waiting calls cannot be read", LOG_C("why", err->text));
    if (err->code != ERR_UNAVAILABLE && gate->options.broken) {
        gate->options.broken(gate->options.arg, err);
        return;
    }
    if (!reading->again)
        reading->again = timer_new(gate->loop, try_again, gate);
    timer_start(reading->again, READ_AGAIN_MS);
}

/* One that was delivered during the read has a greater seq, and is not overwritten. */
static void session_read(struct read *read)
{
    struct gate *gate = read->arg;
    struct err err = read->err;
    for (size_t i = 0; i < read->event_count && err.code == ERR_OK; i++)
        marks_follow(gate, &read->events[i]);
    read_free(read);
    if (err.code != ERR_OK) {
        failed(gate, &err);
        return;
    }
    gate->marks->first = gate->marks->first->next;
    marks_read(gate);
}

/* One read at a time: others, of those who come first after a start, stand behind one session and not behind all. */
void marks_read(struct gate *gate)
{
    struct marks_reading *reading = gate->marks;
    uint64_t kinds = UINT64_C(1) << EVENT_TOOL_APPROVAL_SNOOZED | UINT64_C(1) << EVENT_TOOL_APPROVAL_ASSIGNED;
    if (!reading || reading->stopped)
        return;
    if (!reading->first) {
        all_read(gate);
        return;
    }
    gate_read_whole(gate, read_new_of((struct read){.kind = READ_EVENTS, .session = reading->first->session,
                                                    .kinds = kinds, .after = reading->first->after,
                                                    .done = session_read, .arg = gate}));
}

void marks_stop(struct gate *gate)
{
    struct err err;
    if (!gate->marks)
        return;
    gate->marks->stopped = true;
    (void)err_set(&err, ERR_UNAVAILABLE, "the server is stopping");
    give_back(gate->marks, &err);
}

bool gate_marks_known(const struct gate *gate) { return !gate->marks; }

void gate_await_marks(struct gate *gate, struct op *op)
{
    op->gate = gate;
    if (!gate->marks) {
        op_end(op);
        return;
    }
    op->next = gate->marks->waiting;
    gate->marks->waiting = op;
    if (gate->marks->stopped)
        marks_stop(gate);
}
