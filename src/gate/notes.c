/* Messages of a conversation that Nod does not run itself: kept in its thread, as they came.
 * None of these kinds decides anything: the gate goes by calls, sessions, tokens and rules alone. */
#include "gate/inner.h"

void gate_note(struct gate *gate, struct note *note)
{
    CHECK(event_kind_is_note(note->kind) && note->data.n >= 2);
    op_keep(gate, &note->kept, (struct event){.kind = note->kind, .session = note->session, .thread = note->thread,
                                              .actor = note->actor, .data = note->data});
}
