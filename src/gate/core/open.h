/* The calls that wait for a person, as the gate knows them. */
#ifndef GATE_CORE_OPEN_H
#define GATE_CORE_OPEN_H

#include "base/str.h"

/* An approval that was requested and not answered: a view of its events. */
struct open {
    struct str session, call, thread, digest, name, actor; /* in `bytes` */
    struct str call_data, request_data; /* of the events, there too, when they are small; else empty, and then: */
    struct str brief;    /* as a list shows it, JSON members; there too */
    uint64_t seq;        /* of the request */
    uint64_t stored;     /* bytes of its two events */
    uint64_t round;      /* gate_list_pending's: its turn among the calls of the same agent */
    int64_t requested_ms, deadline_ms;
    int64_t withdraw_ms; /* when it is withdrawn unless whoever asked comes back; 0: not */
    int64_t due_ms;      /* when something is to happen next: the alert, the deadline, or that it is withdrawn */
    size_t heap_at;      /* in the deadlines, from 1; 0: has none */
    bool alerted;
    bool ending;         /* an append of deadlines.c about it is on its way */
    bool waits, withdraws; /* as in the request */
    bool left;           /* whoever waited for the answer has hung up, and nobody waits since */
    bool routine;        /* as in the request: not risky */
    bool recovered;      /* it waited already when this process started */
    char *judged;        /* what rules say of it, as JSON members, for showing; made when first shown */
    uint64_t judged_version;
    size_t size;         /* of all this, with `bytes` */
    char bytes[];
};

/* By due_ms (core/due.c). */
struct due {
    struct open **heap;
    size_t count, room;
};

#endif
