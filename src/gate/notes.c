/* Messages of a conversation that Nod does not run itself: kept in its thread, as they came.
 * None of these kinds decides anything: the gate goes by calls, sessions, tokens and rules alone. */
#include "gate/inner.h"

#include "io/clock.h"

bool gate_note_kind(enum event_kind kind)
{
    return kind == EVENT_USER_MESSAGE || kind == EVENT_AGENT_MESSAGE || kind == EVENT_LOCAL_SYSTEM_MESSAGE ||
           kind == EVENT_SYSTEM_PROMPT || kind == EVENT_USER_SYSTEM_PROMPT || kind == EVENT_RUN_STATUS;
}

static void note_kept(struct append *append)
{
    struct note *note = append->arg;
    if (append->outcome == APPEND_FAILED)
        note->op.err = append->err;
    else
        note->seq = append->events[0].seq;
    append_free(append);
    op_end(&note->op);
}

void gate_note(struct gate *gate, struct note *note)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    CHECK(gate_note_kind(note->kind) && note->data.n >= 2);
    (void)append_event(append, (struct event){
        .kind = note->kind,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, note->session),
        .thread = arena_str(arena, note->thread),
        .actor = arena_str(arena, note->actor),
        .data = arena_str(arena, note->data),
    });
    append->done = note_kept;
    append->arg = note;
    note->op.gate = gate;
    store_append(gate->store, append);
}
