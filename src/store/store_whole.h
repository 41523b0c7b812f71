/* Whole stores, without a loop: verified, copied. Part of store.h. */
#ifndef STORE_STORE_WHOLE_H
#define STORE_STORE_WHOLE_H

#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

/* The result of a verification. bad_seq 0: everything is as it was written. */
struct store_check {
    uint64_t events, sessions, open;
    uint64_t archived;     /* sessions whose events are in archives */
    uint64_t bad_seq;      /* seq of the first bad event; 0: none */
    char why[200];         /* the error at bad_seq */
};

/* Reads the whole store read-only, also while a server runs, and recomputes every chain. */
struct rc store_verify(const char *url, struct store_check *ret_check, struct err *err);

struct event;
/* Gets every event in its order; the event is lent for the time of the call. A failure ends the walk. */
typedef struct rc (*store_visit)(void *arg, const struct event *event, struct err *err);
/* Reads the store read-only, a running server beside it or not. `kinds`: bit 1 << kind; 0: all. */
struct rc store_each_event(const char *url, uint64_t kinds, store_visit visit, void *arg, struct err *err);

/* Frees the disk space of archived sessions, where the backend can do that while others use the store. */
struct rc store_shed(const char *url, struct err *err);

/* Whether several servers may use this store at once. */
bool store_has_nodes(const char *url);

/* Whether the other servers of this store have the key with this fingerprint; the first one's is noted there. A store
 * of one server notes nothing. */
struct rc store_note_key(const char *url, uint64_t key, bool *ret_same, struct err *err);

struct store_copying {
    const char *from, *to; /* urls */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg;
};

struct store_copied {
    struct store_check check; /* of the target */
    struct digest digest;     /* digest over all events, equal in source and target */
    uint64_t already;         /* events that were there before */
};

/* Copies the events that the target does not have yet, then compares and verifies all of it. No other process may write
 * to either store. */
struct rc store_copy(const struct store_copying *copying, struct store_copied *ret_copied, struct err *err);

#endif
