/* Calls that wait, as the gate knows them: views of events, and their waiters. For gate/ only.
 *
 * A view is changed only by an event that was stored (follow), never by a request, so that after a restart the same
 * events make the same view. */
#ifndef GATE_CORE_VIEWS_H
#define GATE_CORE_VIEWS_H

#include "base/arena.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/map.h"
#include "gate/gate.h"

/* The persons who have allowed a call that needs several; all of them allowed the same input. */
struct partial {
    struct str person, by; /* the person's name, and the id of the token that was used */
    int64_t at_ms;
    bool is_signed;
    struct partial *next;
};
/* The partial answers to one call, all to the same input. */
struct partials {
    struct arena arena;
    struct str input;      /* the changed input that they allowed; empty: the input as asked */
    struct partial *first, **end;
};

/* Snooze and assignee of a call that waits (marks.c). */
struct marks {
    int64_t snoozed_ms;  /* until when people are not reminded of it; 0: not snoozed */
    uint64_t snoozed_seq, assigned_seq; /* seqs of the last events; older ones do not count */
    size_t assignee_bytes;
    char assignee[LIMIT_NAME_BYTES]; /* who is to answer it; empty: anybody */
};

/* An approval that was requested and not answered: a view of its events. */
struct open {
    struct str session, call, thread, digest, name, actor; /* these point into `bytes` */
    struct str callback; /* copied from the request, in `bytes` */
    struct str call_data, request_data; /* data of both events, in `bytes`; empty when they are too large */
    struct str brief;    /* JSON members for lists, in `bytes`, of a call whose data is not kept */
    uint64_t seq;        /* seq of the TOOL_APPROVAL_REQUEST event */
    uint64_t stored;     /* bytes of its two events */
    struct quota_share share; /* where it is counted */
    uint64_t round;      /* set by gate_list_pending: position among the calls of the same agent */
    int64_t requested_ms, deadline_ms;
    int64_t withdraw_ms; /* when to withdraw it, unless the client comes back; 0: not scheduled */
    struct due_place due; /* place in the heap, by the time of its next alert, deadline or withdrawal */
    bool alerted;
    bool ending;         /* deadlines.c has sent an append about it that is not answered yet */
    bool waits, withdraws; /* copied from the request */
    bool left;           /* the client that waited has disconnected, and no other has waited since */
    bool routine;        /* copied from the request: not risky */
    unsigned people;     /* copied from the request: how many persons must allow it; 0: one */
    struct partials *partials; /* the persons who have allowed it so far; NULL: none */
    struct marks *marks; /* NULL: none */
    bool unmarked;       /* marks from before the start are still to be read: no alert yet */
    bool recovered;      /* it was already open when this process started */
    char *judged;        /* the rules' verdict as JSON members, for display; computed when first shown */
    uint64_t judged_version;
    size_t size;         /* total bytes of this struct, including bytes[] */
    char bytes[];
};

/* A binary heap of times, the earliest first (due.c). */
struct due {
    struct due_place **heap;
    size_t count, room;
};

/* Calls that were answered or let pass a moment ago (recent.c), in the order they came; bounded. */
struct recent_call;
struct recent {
    struct map calls;    /* key → struct recent_call */
    struct recent_call *first, *last;
    size_t count, bytes;
};

/* The state that the core reads and changes. The driver updates `open` from events as they are delivered, and sets
 * the other members. */
struct core {
    struct map open;      /* key → struct open */
    struct due due;       /* heap of the open calls, by the wall clock, ms */
    struct map waiters;   /* key → struct ask, a list */
    struct due waits;     /* heap of the parked asks, by the steady clock in microseconds */
    struct recent recent;
    uint64_t waiting;     /* asks in `waiters` */
    struct op *rung;      /* parked asks whose answer has arrived and that must be stepped */
    uint64_t delivered;   /* seq of the last event that was delivered */
    int64_t alert_ms, withdraw_ms; /* after how long people are told once more; after how long a question is withdrawn
                                      whose asker has gone; 0: never */
    bool released;        /* waits were ended because the process stops (gate_release) */
};

/* "session\ncall": the key of a call in the maps above. */
struct call_key {
    char bytes[ID_BYTES + LIMIT_ID_BYTES + 2];
    size_t n;
};
struct call_key call_key(struct str session, struct str call);
static inline struct str call_key_str(const struct call_key *key) { return (struct str){key->bytes, key->n}; }

#endif
