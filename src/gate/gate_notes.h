/* The part of gate.h about conversations that run elsewhere; include gate.h. */
#ifndef GATE_GATE_NOTES_H
#define GATE_GATE_NOTES_H

#include "event/event.h"
#include "gate/gate_op.h"

struct gate;

struct note {
    union {
        struct op op;
        struct kept_event kept; /* private to the gate */
    };
    struct str session, thread, actor;
    enum event_kind kind;       /* a kind that belongs to no call and that the gate does not read back */
    struct str data;            /* a JSON object, as it came */
};
/* Keeps what was said in a conversation that runs elsewhere. */
void gate_note(struct gate *gate, struct note *note);

#endif
