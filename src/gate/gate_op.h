/* Operations: what a client wants of the gate, as a value that waits without a thread. Included by gate.h.
 *
 * Fill in a struct that begins with a struct op (gate_op makes it), hand it over, get it back by `done`, on the loop,
 * exactly once and never from inside the call that handed it over. It and its strings belong to the owner's arena and
 * must live until then. How each kind goes on, step by step, is in gate/core/.
 */
#ifndef GATE_GATE_OP_H
#define GATE_GATE_OP_H

#include "base/arena.h"
#include "base/err.h"
#include "event/call.h"

struct append;
struct gate;
struct now;
struct out;
struct read;

struct op {
    struct arena *arena;        /* the owner's */
    void (*done)(struct op *op);
    void *owner;                /* for `done` */
    struct err err;             /* the answer: code ERR_OK when it went well */
    /* the gate's */
    struct gate *gate;
    void (*step)(struct op *op, struct now now, struct out *out);
    unsigned phase;
    struct read *read;          /* the answer to what the last step asked for */
    struct append *append;
    struct op *next;
    bool lends_session;         /* it is a struct session_look */
};

static inline struct op gate_op(struct arena *arena, void (*done)(struct op *op), void *owner)
{
    return (struct op){.arena = arena, .done = done, .owner = owner};
}

/* The agent says what came of an allowed call. Kept once. */
struct report {
    struct op op;
    struct str session, call, actor;
    struct str content;         /* JSON, as it came */
    bool is_error;
    struct call state;          /* after it */
};
void gate_report(struct gate *gate, struct report *report);

#endif
