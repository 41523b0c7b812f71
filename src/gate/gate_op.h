/* Operations: what a client wants of the gate, as a value that waits without a thread. Included by gate.h.
 *
 * Fill in a struct that begins with a struct op (gate_op makes it), hand it over, get it back by `done`, on the loop,
 * exactly once and never from inside the call that handed it over; with an error by `failed` instead, where there is
 * one. Only gate_forget drops an operation without either. It and its strings belong to the owner's arena and must
 * live until then. How each kind goes on, step by step, is in gate/core/.
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

/* An entry of a heap of times (core/due.c). */
struct due_place {
    int64_t time;
    size_t heap_at;             /* index + 1 in the heap; 0: not in a heap */
};

/* Where a waiting call is counted (quota.c): the counters of its agent and of its session. */
struct quota_share {
    struct asker *agent, *session;
};

/* The head of every operation. Belongs to the caller, who must keep it until `done` is called; the gate links
 * it meanwhile. */
struct op {
    struct arena *arena;        /* owned by the caller; never NULL: an error is put there */
    void (*done)(struct op *op);
    void (*failed)(struct op *op); /* called instead of `done` when there is an error; may be NULL */
    void *owner;                /* for `done` */
    const struct token *viewer; /* sessions it may not see are treated as absent; NULL: Nod itself, sees all */
    const struct err *err;      /* the answer: NULL when it went well; in the arena */
    /* private to the gate */
    struct gate *gate;
    void (*step)(struct core *core, struct op *op, struct now now, struct out *out);
    void (*check)(struct op *op); /* on out->check: do the token and the signature of a decision hold? */
    void (*judge)(struct op *op, struct arena *scratch); /* fills in the verdict of the rules of op->session */
    void (*work)(struct op *op, unsigned work); /* runs it on a worker thread, then calls op_go */
    void (*end)(struct op *op); /* lets go of what the driver holds for it; may be NULL */
    unsigned phase;
    const struct session *session; /* valid for one step; NULL: there is no such session */
    struct read *read;          /* answered read of the last step */
    struct append *append;
    struct str *find_session;   /* of an operation about a call that exists: its session, filled in when it is found */
    struct str find_call;
    unsigned finding;           /* phase of core_find; FIND_DONE: found, or nothing is to be found */
    struct read *found;         /* the call in all sessions, when none was named; held until it ends (core/find.c) */
    size_t found_at;
    uint64_t counted;           /* bytes counted against the quota while the request is being stored */
    struct quota_share share;   /* where; valid while `counted` is not 0 */
    struct op *next;
    bool judged;                /* the session was requested by out.judge: apply its rules before the step */
    bool lends_session;         /* this op is the first member of a struct session_look */
};

static inline struct op gate_op(struct arena *arena, void (*done)(struct op *op), void *owner)
{
    CHECK(arena);
    return (struct op){.arena = arena, .done = done, .owner = owner};
}

/* The operation has failed: the caller fills in why. Most never do, and one that waits should be small, so that there
 * is no room for the words before. */
static inline struct err *gate_op_fail(struct op *op)
{
    struct err *err = arena_new(op->arena, struct err);
    op->err = err;
    return err;
}

/* The operation has the outcome of something else: it fails if that has failed. */
static inline void gate_op_take(struct op *op, const struct err *err)
{
    if (err->code != ERR_OK)
        *gate_op_fail(op) = *err;
}

static inline enum err_code gate_op_code(const struct op *op) { return op->err ? op->err->code : ERR_OK; }

/* Tells the owner that the operation is over; for the gate, and for others who serve operations of their own (runtime,
 * notify). */
static inline void gate_op_tell(struct op *op)
{
    (op->failed && op->err ? op->failed : op->done)(op);
}

/* One event that is kept, under at most one need. Structs for changes of sessions, tokens, rules and keys, and for
 * notes, begin with it. The gate fills it in; its strings live as long as the operation. */
struct kept_event {
    struct op op;
    struct event event;         /* seq and time are set when it is stored */
    struct need need;           /* NEED_NONE: nothing must hold */
    const char *refused;        /* the error text when `need` does not hold */
};

/* The agent says what came of an allowed call. Kept once. */
struct report {
    struct op op;
    struct str session;         /* empty: found by the call's id, and filled in */
    struct str call, actor;
    struct str content;         /* JSON, as it came */
    bool is_error;
    struct call state;          /* after it */
};
void gate_report(struct gate *gate, struct report *report);

#endif
