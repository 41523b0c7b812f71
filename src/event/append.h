/* Events that are to be kept together, and what must hold for that: a value. The gate makes it, the store judges and
 * keeps it (store/store.h promises how), and gives it back with its outcome. */
#ifndef EVENT_APPEND_H
#define EVENT_APPEND_H

#include "base/arena.h"
#include "base/err.h"
#include "event/event.h"

struct read;

/* A condition that must hold for an append to be kept. */
enum need_kind {
    NEED_NONE,
    NEED_ABSENT,     /* the session has no event of `kind` for `call` */
    NEED_PRESENT,    /* the session has such an event */
    NEED_CHANGED_AT, /* the last SESSION_CHANGED of `session` has this seq (0: the session is new) */
    NEED_RUN_AT,     /* the last RUN_STATUS of thread `call` in `session` has this seq (0: it has none) */
    NEED_LAST_AT,    /* the last event of `session` has this seq (0: it has none) */
    NEED_NONE_AFTER, /* `session` (empty: the installation, its tokens and rules) has no event after this seq */
};

/* A condition under which an append is kept; which fields count follows from the kind. */
struct need {
    enum need_kind need;
    enum event_kind kind;
    struct str session;
    struct str call;
    uint64_t seq;
};

enum { APPEND_NEEDS_MAX = 4, APPEND_EVENTS_MAX = 8 };

enum append_outcome {
    APPEND_KEPT,
    APPEND_REFUSED, /* need number `refused_need` did not hold; nothing was kept */
    APPEND_FAILED,  /* the store could not (full disk, …), or may not (the session was archived): `err` says
                       why; nothing was kept, unless it says that the outcome is not known (postgres_commit.c) */
};

/* Made by append_new, filled in, handed over with store_append, given back to `done`, freed by the
 * receiver with append_free. All bytes it refers to live in its arena. */
struct append {
    struct arena arena;
    unsigned need_count;
    unsigned event_count;
    struct need needs[APPEND_NEEDS_MAX];
    struct event events[APPEND_EVENTS_MAX]; /* seq is filled in when kept */
    int64_t deadline_ms;  /* deadline of the TOOL_APPROVAL_REQUEST among the events, 0: none */
    enum append_outcome outcome;
    unsigned refused_need;
    struct err err;
    void (*done)(struct append *append);
    void *arg;            /* private to the receiver */
    int64_t queued_us;    /* private to the store: when it was queued, by the steady clock; 0: it was not */
    struct append *next;  /* private to the store */
    struct read *others;  /* private to the store: events that other processes stored before these */
};

struct append *append_new(void);
void append_free(struct append *append);
/* Add a need or an event; its strings must outlive the append or lie in its arena. */
void append_need(struct append *append, struct need need);
struct event *append_event(struct append *append, struct event event);

#endif
