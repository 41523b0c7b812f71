/* Calls that wait, as the gate knows them: views of events, and their waiters. For gate/ only. */
#ifndef GATE_CORE_VIEWS_H
#define GATE_CORE_VIEWS_H

#include "base/arena.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/map.h"
#include "gate/gate.h"

/* Persons who have allowed a call that needs several, all of them the same input. */
struct partial {
    struct str person, by; /* and the token */
    int64_t at_ms;
    bool is_signed;
    struct partial *next;
};
struct partials {
    struct arena arena;
    struct str input;      /* as one of them has changed it; empty: as asked */
    struct partial *first, **end;
};

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
    struct due_place due; /* when something is to happen next: the alert, the deadline, or that it is withdrawn */
    bool alerted;
    bool ending;         /* an append of deadlines.c about it is on its way */
    bool waits, withdraws; /* as in the request */
    bool left;           /* whoever waited for the answer has hung up, and nobody waits since */
    bool routine;        /* as in the request: not risky */
    unsigned people;     /* as in the request: how many persons must allow it; 0: one */
    struct partials *partials; /* those who have; NULL: nobody yet */
    bool recovered;      /* it waited already when this process started */
    char *judged;        /* what rules say of it, as JSON members, for showing; made when first shown */
    uint64_t judged_version;
    size_t size;         /* of all this, with `bytes` */
    char bytes[];
};

/* Places by their time, the nearest first (due.c). */
struct due {
    struct due_place **heap;
    size_t count, room;
};

/* The gate's state that the core goes by. The driver keeps `open` true by following, and tells the rest. */
struct core {
    struct map open;      /* key → struct open */
    struct due due;       /* of them, by the wall clock, ms */
    struct map waiters;   /* key → struct ask, a list */
    struct due waits;     /* of those that are parked, by the steady clock, us */
    uint64_t waiting;     /* asks in `waiters` */
    struct op *rung;      /* parked asks whose answer has come: to be stepped */
    uint64_t delivered;   /* the last seq that was told */
    int64_t alert_ms, withdraw_ms; /* after how long people are told once more; after how long a question is withdrawn
                                      whose asker has gone; 0: never */
    bool released;        /* nobody waits any more */
};

/* "session\ncall": what a call is known by. */
struct call_key {
    char bytes[ID_BYTES + LIMIT_ID_BYTES + 2];
    size_t n;
};
struct call_key call_key(struct str session, struct str call);
static inline struct str call_key_str(const struct call_key *key) { return (struct str){key->bytes, key->n}; }

#endif
