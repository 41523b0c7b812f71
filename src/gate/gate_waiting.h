/* The calls that wait for people, as they are shown. Included by gate.h. */
#ifndef GATE_WAITING_H
#define GATE_WAITING_H

#include "base/json.h"
#include "event/read.h"
#include "gate/gate_op.h"

struct gate;

/* LISTED: an input or preview over LIMIT_SHOWN_BYTES is left out, with its size and "cut". IN_FILE: whole, with the
 * difference in its file as the request has it, for those who may answer. */
enum pending_form { PENDING_LISTED, PENDING_WHOLE, PENDING_IN_FILE };

/* Whether the marks of all waiting calls are known: for a moment after a start they are not. Nobody is shown a waiting
 * call before: gate_await_marks calls `done` when they are, or fails when they cannot be read. */
bool gate_marks_known(const struct gate *gate);
void gate_await_marks(struct gate *gate, struct op *op);

/* A call that waits, as people see it: call, reason, preview, deadline, digest, and its marks, which are known. */
void gate_write_pending(struct gate *gate, struct json_out *out, struct arena *arena,
                        const struct open_approval *open, enum pending_form form);

/* The calls that wait, oldest first, from the view in memory. Where there are more than `limit`, each agent's oldest
 * come before any agent's next, unless they are read page by page `in_order`. */
struct listed {
    struct str session, call;
};
/* A question about the waiting calls, and its answer; the lists are in the caller's arena. */
struct pending_list {
    struct str session, thread, agent; /* scope; empty: all */
    uint64_t after;      /* only calls whose request has a greater seq */
    size_t limit;        /* 0: none */
    bool in_order;
    struct listed *calls;
    size_t count, total; /* listed; in scope */
    bool more;           /* some waiting calls are not listed */
    uint64_t next;       /* all calls up to this seq are listed: the `after` of the next page in order */
    uint64_t seq;        /* the list is true as of this seq: a watcher that starts after it hears of every later call */
};
void gate_list_pending(const struct gate *gate, struct arena *arena, struct pending_list *list);
/* Writes one of the listed calls, not whole; nothing when it was answered meanwhile. */
void gate_write_listed(struct gate *gate, struct json_out *out, const struct listed *listed);

/* A note of a person at a waiting call: it is kept if the call has no answer yet. */
struct mark {
    union {
        struct op op;
        struct kept_event kept;       /* private to the gate */
    };
    struct str session, thread, call; /* a call about which a person was asked */
    struct str actor, by;             /* the person, and the id of the token */
    int64_t until_ms;                 /* gate_snooze: no reminders before it, the deadline stays; 0: no snooze */
    struct str person;                /* gate_assign: who is to answer; empty: anybody */
};
void gate_snooze(struct gate *gate, struct mark *mark);
void gate_assign(struct gate *gate, struct mark *mark);

/* A request, from the gate's memory while the call waits; afterwards its stored data is parsed again. */
struct gate_request {
    struct str tool, callback; /* views of the gate's memory or of the event, or in the arena */
    int64_t deadline_ms;       /* 0: none */
    bool routine;              /* not risky */
};
struct gate_request gate_request(const struct gate *gate, struct arena *arena, const struct event *request);

#endif
