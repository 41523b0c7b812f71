/* The part of gate.h about conversations that run elsewhere; include gate.h. */
#ifndef GATE_GATE_NOTES_H
#define GATE_GATE_NOTES_H

#include "event/event.h"
#include "gate/gate_op.h"

struct gate;

struct note {
    union {
        struct op op;
        struct kept_event kept; /* the gate's */
    };
    struct str session, thread, actor;
    enum event_kind kind;       /* of no call, and of nothing that the gate itself goes by */
    struct str data;            /* a JSON object, as it came */
};
/* Keeps what was said in a conversation that runs elsewhere. */
void gate_note(struct gate *gate, struct note *note);
bool gate_note_kind(enum event_kind kind);

#endif
