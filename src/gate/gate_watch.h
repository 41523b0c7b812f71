/* The part of gate.h about watching events; include gate.h. */
#ifndef GATE_GATE_WATCH_H
#define GATE_GATE_WATCH_H

#include "event/read.h"

struct gate;

/* An event delivered to many watchers: each serialized form is made once and shared. */
enum { HAPPENING_FORMS = 4 };
struct happening {
    const struct event *event;
    struct shared *forms[HAPPENING_FORMS];
};

/* What a watcher watches: all events of a scope after its position, each exactly once and in order. While it catches
 * up, pages are delivered, the next one after gate_watch_more. */
struct watcher;
struct watched {
    struct str session, thread; /* empty: all */
    uint64_t kinds;             /* bit 1 << kind; 0: all */
    void (*tell)(struct watcher *watcher, struct happening *happening);
    void (*hear)(struct watcher *watcher, struct str json); /* text passed to gate_say; may be NULL */
    void (*away)(struct watcher *watcher, bool away); /* the store is out of reach, or back; no unwatch; may be NULL */
    void (*broken)(struct watcher *watcher, const struct err *err); /* history changed, start anew; may be NULL */
    bool (*lags)(const struct watcher *watcher); /* true: deliver nothing now, catch up later; may be NULL */
    void (*caught_up)(struct watcher *watcher); /* a page was delivered, or `failed`: call gate_watch_more */
};

/* There may be very many: what is the same for many of them is in one `what`. */
struct watcher {
    const struct watched *what; /* it and its strings must live as long as the watcher */
    uint64_t after;              /* the position: seq of the last event that was told */
    void *arg;
    /* private to the gate */
    struct gate *gate;
    struct watcher *next, *prev;
    struct read *reading;
    bool live, stopped, failed;
    bool postponed; /* its page could not be read while the store was away */
};
void gate_watch(struct gate *gate, struct watcher *watcher);
void gate_watch_more(struct watcher *watcher);
void gate_unwatch(struct watcher *watcher);

#endif
