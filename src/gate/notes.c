/* Messages of a conversation that Nod does not run itself: kept in its thread, as they came.
 * None of these kinds decides anything: the gate goes by calls, sessions, tokens and rules alone. */
#include "gate/inner.h"

bool gate_note_kind(enum event_kind kind)
{
    return kind == EVENT_USER_MESSAGE || kind == EVENT_AGENT_MESSAGE || kind == EVENT_LOCAL_SYSTEM_MESSAGE ||
           kind == EVENT_SYSTEM_PROMPT || kind == EVENT_USER_SYSTEM_PROMPT || kind == EVENT_RUN_STATUS;
}

void gate_note(struct gate *gate, struct note *note)
{
    CHECK(gate_note_kind(note->kind) && note->data.n >= 2);
    op_keep(gate, &note->kept, (struct event){.kind = note->kind, .session = note->session, .thread = note->thread,
                                              .actor = note->actor, .data = note->data});
}
