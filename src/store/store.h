/* The store keeps events durably and in order before anyone is told of them.
 *
 * The store owns a writer thread and reader threads; its callers live on the event loop and do not wait for it. (The
 * store may commit a small append on the loop itself: writer.c.) They hand over values (an append, a read) and get
 * them back, filled in, on the loop.
 *
 * Promises
 *  1. An append is atomic: all of its events are kept, or none.
 *  2. It is kept only if all of its needs hold at that moment, in the one order of all appends.
 *  3. `done` of an append that was kept is called after it is durable (power loss included), never before.
 *  4. Committed events reach the follower in the order of `seq`, each exactly once, before `done` of the
 *     appends that brought them. Events of other processes on the same store come the same way.
 *  5. Appends that arrive while a commit is under way are committed as one group (one sync for all).
 *  6. Reads see every event the follower has been given; and whatever other processes have kept that a read has
 *     seen, the follower is given before its answer.
 *  7. No callback runs inside a call of store_append or store_read.
 *
 * Only a backend (backend.h) knows how bytes are kept; nothing here knows SQL.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/err.h"
#include "event/append.h"
#include "event/figures.h"
#include "event/read.h"

struct loop;
struct store;

/* ---- the store ---- */
struct store_options {
    const char *url;       /* "sqlite:/path/to/nod.db", "postgres://user@host/database" */
    unsigned readers;      /* threads; 0 means 2 */
    unsigned look_ms;      /* how often to look for what other processes keep even when nobody calls; 0: 500 */
    /* The events live as long as the call. A read may have answered with some of them before. */
    void (*follow)(void *arg, const struct event *events, size_t count);
    /* On the loop, each time it turns: nothing can be kept or read at the moment, or it can again. May be NULL. */
    void (*away)(void *arg, bool away);
    /* Called on the loop, once: events that were delivered are no longer in the store (ERR_HISTORY). Everything fails
     * from now on; the owner must open the store again and rebuild its views. May be NULL. */
    void (*broken)(void *arg, const struct err *err);
    void *arg;
};

/* Opens (or creates) what `url` names, checks version and integrity, and starts the threads. */
struct rc store_open(struct loop *loop, const struct store_options *options, struct store **ret_store,
                     struct err *err);
/* Commits what was handed over, stops the threads; every append and read has been given back. Runs the
 * callbacks itself; what they hand over in turn fails. */
void store_close(struct store *store);
/* store_close in three steps, for a receiver whose callbacks answer later: store_stop ends the threads, store_deliver
 * is called until it returns false, and store_free frees the rest. */
void store_stop(struct store *store);
bool store_deliver(struct store *store);
void store_free(struct store *store);

void store_append(struct store *store, struct append *append);
void store_read(struct store *store, struct read *read);
/* The seq of the last event that was kept when the store was opened or delivered since. */
uint64_t store_last_seq(const struct store *store);
struct store_figures store_figures(const struct store *store);
/* Whether other processes may write to it, too. */
bool store_is_shared(const struct store *store);
/* Whether events can be kept, as far as the last try says, and read. */
bool store_healthy(const struct store *store);

#include "store/store_archive.h"
#include "store/store_search.h"
#include "store/store_whole.h"

#endif
