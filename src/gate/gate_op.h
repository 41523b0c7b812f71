/* Operations: what a client wants of the gate, as a value that waits without a thread. Included by gate.h.
 *
 * Fill in a struct that begins with a struct op, hand it over with gate_submit, get it back by `done`, on the loop,
 * exactly once and never from inside gate_submit. It and its strings belong to the owner's arena and must live until
 * then. How each kind goes on, step by step, is in gate/core/.
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
    void (*step)(struct op *op, struct now now, struct out *out);
    struct arena *arena;
    struct err err;             /* the answer: code ERR_OK when it went well */
    void (*done)(struct op *op);
    void *owner;                /* the caller's */
    /* the gate's */
    struct gate *gate;
    unsigned phase;
    struct read *read;          /* the answer to what the last step asked for */
    struct append *append;
};

/* The agent says what came of an allowed call. Kept once. `step` is report_step. */
struct report {
    struct op op;
    struct str session, call, actor;
    struct str content;         /* JSON, as it came */
    bool is_error;
    struct call state;          /* after it */
};

void gate_submit(struct gate *gate, struct op *op);
void gate_report(struct gate *gate, struct report *report);

#endif
