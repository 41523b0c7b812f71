/* Threads around a backend: one writer, some readers, one checkpointer; and one waker back to the loop.
 *
 *   loop     store_append → inbox                     deliver: follow(events), then done(append), done(read)
 *            commits an append that is alone at the end of a turn itself, while the writer sleeps, or sends it
 *              ↓                                          ↑
 *   writer   takes all that came, commits it as one group → outbox, waker
 *   readers  take one question each, answer it            → outbox, waker
 *   checkpointer   tidies while commits go on, when the writer's handle says it is due
 *   follower waits for what other processes keep in the same store, reads it → outbox, waker; the loop hears what is
 *            told in notifications (listen.c)
 *
 * Invariants
 *  1. An append or read is in one place at a time: inbox, a thread's hands, outbox, the receiver's hands.
 *  2. The outbox holds groups in the order they were committed, so deliver meets events in order of seq.
 *  3. The waker is rung by whoever puts something into an outbox that has not been rung for, and only then.
 *     Events of other processes lie between the groups at their place: whoever adds to the outbox holds
 *     `feeding`, and a group waits until what was kept before it has been read.
 *  4. The writer's handle has one owner at a time (`owned`): the writer while it is awake, or the loop.
 *  5. A thread sleeps only when there is nothing for it to do: an idle store wakes nobody.
 */
#include "store/inner.h"

#include "base/limits.h"
#include "base/log.h"
#include "io/clock.h"
#include "io/system.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    READERS_USUAL = 2,
    LOOK_MS = 500,     /* for what other processes keep, when nobody calls: a revoked token ends within a second */
    AWAY_FIRST_MS = 20,
    AWAY_MOST_MS = 1000,
};

/* ---- back to the loop ---- */

/* Called with the outbox locked; the ring itself happens after it is unlocked. */
static bool must_ring(struct store *store)
{
    bool first = !store->rung;
    store->rung = true;
    return first;
}

void store_hand_back(struct store *store, struct append *first, struct append **end)
{
    lock(&store->outbox);
    append_list_add(&store->committed, first, end);
    bool ring = must_ring(store);
    unlock(&store->outbox);
    if (ring)
        waker_wake(store->waker);
}

static void hand_back_read(struct store *store, struct read *read)
{
    lock(&store->outbox);
    read_list_add(&store->answered, read);
    bool ring = must_ring(store);
    unlock(&store->outbox);
    if (ring)
        waker_wake(store->waker);
}

void store_set_health(struct store *store, _Atomic bool *flag, bool healthy)
{
    if (atomic_exchange_explicit(flag, healthy, memory_order_relaxed) == healthy)
        return;
    lock(&store->outbox);
    bool ring = must_ring(store);
    unlock(&store->outbox);
    if (ring)
        waker_wake(store->waker);
}

static void tell_health(struct store *store)
{
    bool away = !atomic_load_explicit(&store->figures.keeps, memory_order_relaxed) ||
                !atomic_load_explicit(&store->figures.follows, memory_order_relaxed);
    if (away == store->away_told)
        return;
    store->away_told = away;
    if (store->away)
        store->away(store->follow_arg, away);
}

void store_notice_broken(struct store *store, struct rc rc, const struct err *err)
{
    if (rc.code != ERR_HISTORY)
        return;
    lock(&store->outbox);
    bool ring = store->broken_err.code == ERR_OK && must_ring(store);
    store->broken_err = *err;
    unlock(&store->outbox);
    if (ring)
        waker_wake(store->waker);
}

static void tell_broken(struct store *store, const struct err *err)
{
    if (err->code == ERR_OK || store->broken_told)
        return;
    store->broken_told = true;
    log_line(LOG_ERROR, "the store is broken for this process", LOG_C("why", err->text));
    if (store->broken)
        store->broken(store->follow_arg, err);
}

static void feed_follower(struct store *store, size_t count)
{
    if (count && store->follow)
        store->follow(store->follow_arg, store->feed, count);
}

/* Adds events to the feed, which holds `*count` of them. Events that were read before (together with another node's)
 * are skipped. `others` is a read of other nodes' events, or NULL: it may have gaps, where sessions were archived
 * before it. */
static void follow_events(struct store *store, const struct event *events, size_t event_count,
                          const struct read *others, size_t *count)
{
    for (size_t i = 0; i < event_count; i++) {
        if (store->follower && events[i].seq <= store->last_seq)
            continue;
        if (store->closed && store->follower && events[i].seq > store->last_seq + 1)
            continue; /* it was stored, but the events before it could not be read */
        CHECK(events[i].seq == store->last_seq + 1 ||
              (others && read_in_a_row(others, store->last_seq, events[i].seq)));
        store->last_seq = events[i].seq;
        store->feed[(*count)++] = events[i];
        if (*count == FEED_EVENTS) {
            feed_follower(store, *count);
            *count = 0;
        }
    }
}

static void follow_group(struct store *store, const struct append *first)
{
    size_t count = 0;
    for (const struct append *append = first; append; append = append->next) {
        if (append->others)
            follow_events(store, append->others->events, append->others->event_count, append->others, &count);
        else if (append->outcome == APPEND_KEPT)
            follow_events(store, append->events, append->event_count, NULL, &count);
    }
    feed_follower(store, count);
}

/* On the loop. False when there was nothing. */
bool store_deliver(struct store *store)
{
    lock(&store->outbox);
    struct append *appends = append_list_take(&store->committed);
    struct read *reads = read_list_take(&store->answered);
    store->rung = false;
    struct err broken_err = store->broken_err;
    unlock(&store->outbox);

    bool any = appends || reads;
    tell_health(store);
    tell_broken(store, &broken_err);
    follow_group(store, appends);
    while (appends) {
        struct append *append = appends;
        appends = append->next;
        append->next = NULL;
        append->done(append);
    }
    while (reads) {
        struct read *read = reads;
        reads = read->next;
        read->next = NULL;
        read->done(read);
    }
    return any;
}

static void on_wake(void *arg) { (void)store_deliver(arg); }

/* ---- what other processes keep ---- */

static void others_done(struct append *carrier)
{
    read_free(carrier->others);
    append_free(carrier);
}

/* Whether no number is left out but those in archives; `*ret_full`: there may be more where these come from. */
static bool is_in_a_row(const struct read *read, bool *ret_full)
{
    size_t bytes = 0;
    uint64_t before = read->after;
    for (size_t i = 0; i < read->event_count; i++) {
        uint64_t seq = read->events[i].seq;
        bytes += read->events[i].data.n;
        if (!read_in_a_row(read, before, seq))
            return false;
        before = seq;
    }
    *ret_full = read->event_count >= LIMIT_PAGE_EVENTS || bytes >= LIMIT_READ_BYTES;
    return true;
}

bool store_feed(struct store *store, struct read *read, bool *ret_more)
{
    if (!is_in_a_row(read, ret_more))
        return false;
    struct append *carrier = append_new();
    carrier->others = read;
    carrier->done = others_done;
    store->handed_seq = read->events[read->event_count - 1].seq;
    store_hand_back(store, carrier, &carrier->next);
    return true;
}

/* With `feeding`: puts what was kept after handed_seq into the outbox, at least up to `seq`. `*ret_looked`: some of it
 * had to be read from the store. */
static struct rc read_others(struct store *store, struct backend_handle *handle, uint64_t seq, bool *ret_looked,
                             struct err *err)
{
    for (bool more = true; more || store->handed_seq < seq;) {
        struct read *read = read_new(READ_EVENTS);
        read->after = store->handed_seq;
        bool told = handle == store->follower && store->backend->told && store->backend->told(handle, read);
        struct rc rc = told ? RC_OK : store->backend->read(handle, read, err);
        if (rc_bad(rc) || read->event_count == 0) {
            uint64_t covered = read->covered;
            read_free(read);
            if (rc_ok(rc) && covered < seq)
                return err_set(err, ERR_CORRUPT, "event %llu is missing", (unsigned long long)covered + 1);
            return rc;
        }
        if (!store_feed(store, read, &more)) {
            read_free(read);
            return err_set(err, ERR_CORRUPT, "an event after %llu is missing", (unsigned long long)store->handed_seq);
        }
        *ret_looked = *ret_looked || !told;
    }
    return RC_OK;
}

/* Reads wait until the follower has delivered as much: otherwise views would be older than the answers. */
static struct rc catch_up(struct store *store, struct backend_handle *handle, uint64_t seq, struct err *err)
{
    struct rc rc = RC_OK;
    bool looked = false;
    lock(&store->feeding);
    if (store->handed_seq < seq)
        rc = read_others(store, handle, seq, &looked, err);
    unlock(&store->feeding);
    return rc;
}

static bool is_stopping(struct store *store, int64_t wait_ms)
{
    struct pollfd fd = {.fd = store->stop_fd, .events = POLLIN};
    return poll(&fd, 1, (int)wait_ms) > 0;
}

static int64_t longer(int64_t pause_ms)
{
    return pause_ms == 0 ? AWAY_FIRST_MS : pause_ms * 2 < AWAY_MOST_MS ? pause_ms * 2 : AWAY_MOST_MS;
}

/* The follower's thread, for stores that several processes share. While nothing comes but what the loop can take by
 * itself, the loop listens; after more than that the thread waits itself until it has been quiet for a while. While
 * the store is away it tries again in growing pauses and logs the beginning and the end of that, not every attempt. */
static void *follower_main(void *arg)
{
    struct store *store = arg;
    int64_t pause_ms = 0;
    enum listened listened = LISTENED_NOT;
    while (!is_stopping(store, pause_ms)) {
        struct err err = {0};
        struct rc rc = RC_OK;
        bool looked = false;
        if (listened != LISTENED_NEWS)
            rc = store->backend->wait(store->follower, store->writer, store->stop_fd,
                                      listened == LISTENED_NOT ? store->look_ms : 0, &err);
        if (rc_ok(rc)) {
            lock(&store->feeding);
            rc = read_others(store, store->follower, 0, &looked, &err);
            unlock(&store->feeding);
        }
        store_notice_broken(store, rc, &err);
        if (rc_bad(rc) && pause_ms == 0)
            log_line(LOG_WARN, "the store is away", LOG_C("why", err.text));
        if (rc_ok(rc) && pause_ms != 0)
            log_line(LOG_INFO, "the store is back");
        store_set_health(store, &store->figures.follows, rc_ok(rc));
        pause_ms = rc_ok(rc) ? 0 : longer(pause_ms);
        listened = rc_ok(rc) && !looked ? store_listen(store) : LISTENED_NOT;
    }
    return NULL;
}

/* The last seq that must have been handed over before this group may be; 0 when it comes next anyway. */
static uint64_t seq_before(const struct store *store, const struct append *group)
{
    uint64_t next = store->handed_seq + 1, last = store->backend->seen_seq(store->writer);
    bool in_a_row = last < next;
    for (const struct append *append = group; append; append = append->next) {
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++) {
            in_a_row = in_a_row && append->events[i].seq == next++;
            if (append->events[i].seq > last)
                last = append->events[i].seq;
        }
    }
    return in_a_row ? 0 : last;
}

uint64_t store_last_kept(const struct append *group)
{
    uint64_t last = 0;
    for (const struct append *append = group; append; append = append->next)
        if (append->outcome == APPEND_KEPT)
            last = append->events[append->event_count - 1].seq;
    return last;
}

static bool is_closing(struct store *store)
{
    lock(&store->inbox.lock);
    bool closing = store->inbox.closing;
    unlock(&store->inbox.lock);
    return closing;
}

/* The events of others that came before the group are delivered first, so that follow() on the loop sees seq
 * without a gap. While these cannot be read the group waits: it is durable, but nobody is told yet. */
void store_hand_back_in_order(struct store *store, struct append *group, struct append **end)
{
    int64_t pause_ms = 0;
    struct err err = {0};
    bool looked = false;
    lock(&store->feeding);
    for (;;) {
        uint64_t before = seq_before(store, group);
        struct rc rc = before <= store->handed_seq ? RC_OK : read_others(store, store->writer, before, &looked, &err);
        store_notice_broken(store, rc, &err);
        if (rc.code == ERR_HISTORY)
            store_fail_group(group, &err);
        if (rc_ok(rc) || rc.code == ERR_HISTORY)
            break;
        unlock(&store->feeding);
        if (is_closing(store)) {
            lock(&store->feeding);
            break;
        }
        pause_ms = longer(pause_ms);
        (void)is_stopping(store, pause_ms);
        lock(&store->feeding);
    }
    if (store_last_kept(group) > store->handed_seq)
        store->handed_seq = store_last_kept(group);
    store_hand_back(store, group, end);
    unlock(&store->feeding);
}

/* ---- readers and the checkpointer ---- */

/* The next question, or NULL when the store closes. A reader that has worked rests after a second without any. */
static struct read *take_question(struct store *store, struct backend_handle *handle, bool worked)
{
    lock(&store->reads.lock);
    while (!store->questions.first && !store->reads.closing) {
        if (monitor_wait(&store->reads, worked ? IDLE_US : 0) || store->questions.first)
            continue;
        unlock(&store->reads.lock);
        if (store->backend->rest)
            store->backend->rest(handle);
        worked = false;
        lock(&store->reads.lock);
    }
    struct read *read = store->questions.first;
    if (read) {
        store->questions.first = read->next;
        if (!read->next)
            read_list_clear(&store->questions);
        read->next = NULL;
    }
    unlock(&store->reads.lock);
    return read;
}

/* A reader's thread. On a shared store an answer may show events that were not delivered yet; catch_up delivers
 * them first, so that the loop never sees an answer that is ahead of its views. */
static void *reader_main(void *arg)
{
    struct store_reader *reader = arg;
    struct store *store = reader->store;
    struct read *read;
    for (bool worked = false; (read = take_question(store, reader->handle, worked)); worked = true) {
        int64_t began_us = clock_steady_us();
        struct rc rc = store->backend->read(reader->handle, read, &read->err);
        if (store->follower && rc_ok(rc))
            rc = catch_up(store, reader->handle, read->seen, &read->err);
        store_notice_broken(store, rc, &read->err);
        CHECK(rc.code == read->err.code);
        read->took_us = clock_steady_us() - began_us;
        figures_count_read(&store->figures, read->took_us);
        hand_back_read(store, read);
    }
    return NULL;
}

static bool wait_for_chore(struct store *store)
{
    lock(&store->chores.lock);
    while (!store->tidy_wanted && !store->chores.closing)
        (void)monitor_wait(&store->chores, 0);
    bool go_on = !store->chores.closing;
    unlock(&store->chores.lock);
    return go_on;
}

static void chore_done(struct store *store)
{
    lock(&store->chores.lock);
    store->tidy_wanted = false;
    monitor_signal(&store->chores); /* wakes the writer, which may be waiting */
}

/* The checkpointer's thread; a failure is logged and tried again when the next chore is due. */
static void *checkpointer_main(void *arg)
{
    struct store *store = arg;
    while (wait_for_chore(store)) {
        struct err err = {0};
        if (store->backend->tidy && rc_bad(store->backend->tidy(store->checkpointer, &err)))
            log_line(LOG_WARN, "store tidying failed", LOG_C("why", err.text));
        else
            atomic_store_explicit(&store->tidied, true, memory_order_relaxed);
        chore_done(store);
    }
    return NULL;
}

/* ---- open and close ---- */

static void start_thread(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name)
{
    sigset_t all, before; /* signals belong to the loop's thread */
    CHECK(sigfillset(&all) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    CHECK(pthread_create(thread, NULL, run, arg) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    (void)pthread_setname_np(*thread, name);
}

static struct rc open_handles(struct store *store, const char *place, struct err *err)
{
    TRY(store->backend->open(place, BACKEND_WRITER, &store->writer, err));
    TRY(store->backend->last_seq(store->writer, &store->last_seq, err));
    TRY(store->backend->open(place, BACKEND_CHECKPOINTER, &store->checkpointer, err));
    if (store->backend->wait)
        TRY(store->backend->open(place, BACKEND_FOLLOWER, &store->follower, err));
    for (unsigned i = 0; i < store->reader_count; i++)
        TRY(store->backend->open(place, BACKEND_READER, &store->readers[i].handle, err));
    return RC_OK;
}

static void close_handles(struct store *store)
{
    for (unsigned i = 0; i < store->reader_count; i++)
        if (store->readers[i].handle)
            store->backend->close(store->readers[i].handle);
    if (store->checkpointer)
        store->backend->close(store->checkpointer);
    if (store->follower)
        store->backend->close(store->follower);
    if (store->writer)
        store->backend->close(store->writer);
}

/* The backend's handles are open by now; each thread owns its handle from here on. */
static void start_threads(struct store *store)
{
    monitor_init(&store->inbox);
    monitor_init(&store->reads);
    monitor_init(&store->chores);
    CHECK(pthread_mutex_init(&store->outbox, NULL) == 0);
    if (store->follower) {
        store->handed_seq = store->last_seq;
        store->stop_fd = system_open_event(0);
        CHECK(store->stop_fd >= 0);
        CHECK(pthread_mutex_init(&store->feeding, NULL) == 0);
        store_open_ear(store);
        start_thread(&store->follower_thread, follower_main, store, "nod-follower");
    }
    start_thread(&store->writer_thread, store_run_writer, store, "nod-writer");
    start_thread(&store->checkpointer_thread, checkpointer_main, store, "nod-checkpoint");
    for (unsigned i = 0; i < store->reader_count; i++) {
        store->readers[i].store = store;
        start_thread(&store->readers[i].thread, reader_main, &store->readers[i], "nod-reader");
    }
}

/* Opens the backend (migrating it if it is older) and starts the threads. Blocks; called once, before the loop
 * runs. */
struct rc store_open(struct loop *loop, const struct store_options *options, struct store **ret_store,
                     struct err *err)
{
    const char *place;
    const struct backend *backend = backend_find(options->url, &place);
    if (!backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\": try sqlite:/path/to/nod.db or "
                       "postgres://user@host/database",
                       options->url);
    struct store *store = heap_new(sizeof *store);
    store->backend = backend;
    store->follow = options->follow;
    store->away = options->away;
    store->broken = options->broken;
    store->follow_arg = options->arg;
    store->look_ms = options->look_ms ? (int)options->look_ms : LOOK_MS;
    store->reader_count = options->readers ? options->readers : READERS_USUAL;
    if (store->reader_count > READERS_MAX)
        store->reader_count = READERS_MAX;
    figures_init(&store->figures);
    append_list_clear(&store->appends);
    append_list_clear(&store->committed);
    read_list_clear(&store->questions);
    read_list_clear(&store->answered);
    struct rc rc = open_handles(store, place, err);
    if (rc_bad(rc)) {
        close_handles(store);
        free(store);
        return rc;
    }
    store->waker = waker_new(loop, on_wake, store);
    store->loop = loop;
    store->before_sleep = (struct before_sleep){.before = store_commit_lone, .arg = store};
    if (backend->begin_quickly || backend->send_ahead)
        loop_before_sleep(loop, &store->before_sleep);
    start_threads(store);
    *ret_store = store;
    return RC_OK;
}

static void stop_follower(struct store *store)
{
    CHECK(system_raise_event(store->stop_fd) == 0);
    monitor_close(&store->hearing);
    CHECK(pthread_join(store->follower_thread, NULL) == 0);
    store_close_ear(store);
    CHECK(pthread_mutex_destroy(&store->feeding) == 0);
    (void)close(store->stop_fd);
}

/* The writer first: it commits what it has. Readers and the follower are needed until then. */
void store_stop(struct store *store)
{
    monitor_close(&store->inbox);
    CHECK(pthread_join(store->writer_thread, NULL) == 0);
    monitor_close(&store->reads);
    for (unsigned i = 0; i < store->reader_count; i++)
        CHECK(pthread_join(store->readers[i].thread, NULL) == 0);
    if (store->follower)
        stop_follower(store);
    monitor_close(&store->chores);
    CHECK(pthread_join(store->checkpointer_thread, NULL) == 0);
    store->closed = true;
}

void store_free(struct store *store)
{
    close_handles(store);
    waker_free(store->waker);
    if (store->backend->begin_quickly || store->backend->send_ahead)
        loop_forget(store->loop, &store->before_sleep);
    monitor_done(&store->inbox);
    monitor_done(&store->reads);
    monitor_done(&store->chores);
    CHECK(pthread_mutex_destroy(&store->outbox) == 0);
    free(store);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    store_stop(store);
    while (store_deliver(store))
        ; /* a receiver may submit again: that is refused, and returned in the next round */
    store_free(store);
}

/* ---- what callers do ---- */

/* From the loop. The append belongs to the store until its `done` is called. */
void store_append(struct store *store, struct append *append)
{
    CHECK(append->done);
    CHECK(append->event_count > 0);
    if (store->closed) {
        (void)err_set(&append->err, ERR_UNAVAILABLE, "the store is closing");
        append->outcome = APPEND_FAILED;
        store_hand_back(store, append, &append->next);
        return;
    }
    append->queued_us = clock_steady_us();
    lock(&store->inbox.lock);
    bool first = !store->appends.first && (store->backend->begin_quickly || store->backend->send_ahead);
    append_list_add(&store->appends, append, &append->next);
    store->waiting++;
    if (!first && store->waiting >= store->gather_count && store->waiting >= store->knock_count) {
        monitor_signal(&store->inbox);
        return;
    }
    unlock(&store->inbox.lock);
    if (first)
        loop_again(store->loop); /* it may be the only append of this turn: see store_commit_lone */
}

/* From the loop; like store_append. */
void store_read(struct store *store, struct read *read)
{
    CHECK(read->done);
    CHECK(str_empty(read->thread) || !str_empty(read->session));
    if (store->closed) {
        (void)err_set(&read->err, ERR_UNAVAILABLE, "the store is closing");
        hand_back_read(store, read);
        return;
    }
    lock(&store->reads.lock);
    read_list_add(&store->questions, read);
    monitor_signal(&store->reads);
}

bool store_is_shared(const struct store *store) { return store->follower != NULL; }

uint64_t store_last_seq(const struct store *store) { return store->last_seq; }

struct store_figures store_figures(const struct store *store)
{
    return figures_show(&store->figures, clock_steady_us());
}

bool store_healthy(const struct store *store)
{
    return figures_healthy(&store->figures, clock_steady_us()) &&
           (!store->backend->check || rc_ok(store->backend->check(store->writer, NULL)));
}
