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
#include "event/append.h"
#include "event/call.h"

struct core;
struct gate;
struct now;
struct out;
struct read;
struct session;
struct token;

/* A place in a heap of times. */
struct due_place {
    int64_t time;
    size_t heap_at;             /* from 1; 0: it is in none */
};

struct op {
    struct arena *arena;        /* the owner's */
    void (*done)(struct op *op);
    void *owner;                /* for `done` */
    const struct token *viewer; /* a session that it may not see is none; NULL: Nod itself, which sees all */
    struct err err;             /* the answer: code ERR_OK when it went well */
    /* the gate's */
    struct gate *gate;
    void (*step)(struct core *core, struct op *op, struct now now, struct out *out);
    void (*check)(struct op *op); /* looks at keys and tokens */
    void (*judge)(struct op *op, struct arena *scratch); /* fills in what rules say, by op->session */
    void (*work)(struct op *op, unsigned work); /* hands it to a thread; op_go follows */
    void (*end)(struct op *op); /* lets go of what the driver holds for it; may be NULL */
    unsigned phase;
    const struct session *session; /* lent for one step; NULL: there is none */
    struct read *read;          /* the answer to what the last step asked for */
    struct append *append;
    struct read *found;         /* the call in all sessions, when none was named; held until it ends (core/find.c) */
    size_t found_at;
    uint64_t counted;           /* bytes of a question that is on its way to the store */
    struct op *next;
    bool judged;                /* by the session that it is to get next */
    bool lends_session;         /* it is a struct session_look */
};

static inline struct op gate_op(struct arena *arena, void (*done)(struct op *op), void *owner)
{
    return (struct op){.arena = arena, .done = done, .owner = owner};
}

/* One event that is kept, under at most one need: what changes of sessions, tokens, rules and keys, and notes begin
 * with. The gate fills it in; its strings live as long as the operation. */
struct kept_event {
    struct op op;
    struct event event;         /* its seq when it is kept; the time is that of keeping */
    struct need need;           /* NEED_NONE: nothing must hold */
    const char *refused;        /* what to say when it does not */
};

/* The agent says what came of an allowed call. Kept once. */
struct report {
    struct op op;
    struct str session;         /* empty: the one in which the call is, which is filled in */
    struct str call, actor;
    struct str content;         /* JSON, as it came */
    bool is_error;
    struct call state;          /* after it */
};
void gate_report(struct gate *gate, struct report *report);

#endif
