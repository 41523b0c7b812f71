/* The writer: takes all that has come, and commits it as one group. An append that is alone at the end of a turn of the
 * loop is committed by the loop itself while the writer sleeps: that saves two changes of thread. To a store that is a
 * round trip away the loop only sends it. */
#include "store/inner.h"

#include "base/limits.h"
#include "base/log.h"
#include "io/clock.h"
#include "io/system.h"


enum {
    LONE_BYTES_MAX = 64 << 10,
    LONE_IN_A_ROW_MAX = 3, /* committed by the loop before it looks at its sockets again */
    SLOW_US = 2000,        /* after a commit that took so long, ... */
    SLOW_FOR = 64,         /* ... so many are the writer's, so that a slow disk does not stop the sockets */
    GATHER_LEAST = 8,      /* appends that make a group worth waiting for */
    GATHER_MOST_US = 5000,
    KNOCK_LEAST = 16, /* appends under way with which the writer is not woken by the second of a turn */
    KNOCK_MOST = 32,  /* so many always wake it: what a group itself costs is little for each of them */
};

void store_fail_group(struct append *group, const struct err *err)
{
    for (struct append *append = group; append; append = append->next) {
        append->outcome = APPEND_FAILED;
        append->err = *err;
        for (unsigned i = 0; i < append->event_count; i++)
            append->events[i].seq = 0;
    }
}

/* Cuts off what is one group (by number and by bytes); returns the rest. */
static struct append *cut_group(struct append *first, struct append ***ret_end)
{
    size_t bytes = 0;
    struct append *last = first;
    for (unsigned count = 1;; count++) {
        for (unsigned i = 0; i < last->event_count; i++)
            bytes += last->events[i].data.n;
        if (!last->next || count == LIMIT_GROUP_APPENDS || bytes >= LIMIT_GROUP_BYTES)
            break;
        last = last->next;
    }
    struct append *rest = last->next;
    last->next = NULL;
    *ret_end = &last->next;
    return rest;
}

static void want_tidy(struct store *store)
{
    lock(&store->chores.lock);
    store->tidy_wanted = true;
    monitor_signal(&store->chores);
}

static void wait_for_checkpointer(struct store *store)
{
    lock(&store->chores.lock);
    while (store->tidy_wanted)
        (void)monitor_wait(&store->chores, 0);
    unlock(&store->chores.lock);
}

static void settle(struct store *store, bool idle)
{
    struct err err = {0};
    atomic_store_explicit(&store->tidied, false, memory_order_relaxed);
    if (store->backend->settle && rc_bad(store->backend->settle(store->writer, idle, &err)))
        log_line(LOG_WARN, "store settling failed", LOG_C("why", err.text));
}

/* In the thread that owns the handle. An append of a failed group gets the error; whether nothing can be kept
 * is logged once, when it begins. */
static struct rc commit(struct store *store, struct append *group)
{
    struct err err = {0};
    int64_t began_us = clock_steady_us();
    atomic_store_explicit(&store->figures.commit_began_us, began_us, memory_order_relaxed);
    struct rc rc = store->backend->commit(store->writer, group, &err);
    if (rc_bad(rc))
        store_fail_group(group, &err);
    if (rc_bad(rc) && atomic_load_explicit(&store->figures.keeps, memory_order_relaxed))
        log_line(LOG_ERROR, "nothing can be kept", LOG_C("why", err.text));
    store_notice_broken(store, rc, &err);
    atomic_store_explicit(&store->figures.commit_began_us, 0, memory_order_relaxed);
    store_set_health(store, &store->figures.keeps, rc_ok(rc));
    int64_t took_us = clock_steady_us() - began_us;
    store->group_us = took_us;
    figures_count_group(&store->figures, group, took_us);
    store->slow_for = took_us >= SLOW_US ? SLOW_FOR : store->slow_for ? store->slow_for - 1 : 0;
    return rc;
}

/* Whether other processes write between our groups. */
static void note_crowd(struct store *store, const struct append *group)
{
    uint64_t last = store_last_kept(group);
    store->crowded = last && store->backend->seen_seq(store->writer) != store->kept_seq;
    store->kept_seq = last;
    store->group_count = 0;
    for (; group; group = group->next)
        store->group_count++;
}

/* Before the group is handed back, so that all who wait for an append still do. Whoever is answered mostly asks again,
 * and the loop reads their next requests in one turn. If the second of them woke the writer, it would commit these two
 * while all others wait for the group behind; so half of them are awaited, or the end of the turn. */
static void set_knock(struct store *store, const struct append *group)
{
    unsigned under_way = 0;
    if (!store->backend->begin_quickly)
        return; /* nobody knocks at the end of a turn */
    for (; group; group = group->next)
        under_way++;
    lock(&store->inbox.lock);
    under_way += store->waiting;
    store->knock_count = under_way < KNOCK_LEAST ? 0 : under_way / 2 < KNOCK_MOST ? under_way / 2 : KNOCK_MOST;
    unlock(&store->inbox.lock);
}

/* Hands the group back before it looks at the log's size: nobody waits for a checkpoint. */
static void commit_group(struct store *store, struct append *group, struct append **end)
{
    struct rc rc = commit(store, group);
    set_knock(store, group);
    store->crowded = false;
    if (store->follower && rc_ok(rc)) {
        note_crowd(store, group);
        store_hand_back_in_order(store, group, end);
    } else {
        store_hand_back(store, group, end);
    }
    enum tidy_need need = store->backend->tidy_due ? store->backend->tidy_due(store->writer) : TIDY_NOT;
    if (need != TIDY_NOT)
        want_tidy(store);
    if (need == TIDY_BEFORE)
        wait_for_checkpointer(store);
    if (atomic_load_explicit(&store->tidied, memory_order_relaxed))
        settle(store, false);
}

/* Called when no append waits: does the work that was put off. */
static void catch_up(struct store *store)
{
    struct err err = {0};
    lock(&store->inbox.lock);
    bool busy = store->appends.first != NULL;
    unlock(&store->inbox.lock);
    if (!busy && store->backend->catch_up && rc_bad(store->backend->catch_up(store->writer, &err)))
        log_line(LOG_WARN, "store settling failed", LOG_C("why", err.text));
}

/* While the store cannot write, it may get no appends; so the writer itself tests whether writing works again. */
static bool try_again(struct store *store)
{
    struct err err = {0};
    if (!store->backend->probe || atomic_load_explicit(&store->figures.keeps, memory_order_relaxed))
        return false;
    store_set_health(store, &store->figures.keeps, rc_ok(store->backend->probe(store->writer, &err)));
    return true;
}

/* With the inbox locked, on the writer's thread. */
static void own_handle(struct store *store)
{
    store->writer_waits = true;
    while (store->owned)
        (void)monitor_wait(&store->inbox, 0);
    store->writer_waits = false;
    store->owned = true;
}

/* After a second without appends the checkpointer is asked to tidy; after another one the backend may `settle`
 * (backend.h). Returns the number of idle seconds so far, at most 2. */
static int use_quiet(struct store *store, int quiet)
{
    if (try_again(store))
        return 0;
    if (quiet == 0) {
        want_tidy(store);
        return 1;
    }
    settle(store, true);
    system_trim_heap(); /* returns memory freed since the busy period to the system */
    return 2;
}

/* With the inbox locked. When other processes write between our groups, a small group costs the database and every node
 * more than its calls do, and whoever was answered just now often asks again at once: the next group waits for as many
 * appends as the last one had, for at most half of the time that it took. Few appends do not wait. */
static void gather(struct store *store)
{
    unsigned count = store->waiting + store->group_count;
    if (!store->crowded || count < GATHER_LEAST)
        return;
    int64_t wait_us = store->group_us / 2 < GATHER_MOST_US ? store->group_us / 2 : GATHER_MOST_US;
    store->gather_count = count;
    if (wait_us > 0 && !store->inbox.closing)
        (void)monitor_wait(&store->inbox, wait_us); /* until the count is reached: see store_append */
    store->gather_count = 0;
}

/* Everything that has come, or NULL when the store closes. When all is settled the writer sleeps until somebody
 * comes. */
static struct append *take_appends(struct store *store)
{
    lock(&store->inbox.lock);
    store->owned = false;
    gather(store);
    store->crowded = false;
    for (int quiet = 0; !store->appends.first && !store->ahead && !store->inbox.closing;) {
        uint64_t lone = store->lone_count;
        bool woken = monitor_wait(&store->inbox, store->unsettled ? IDLE_US : 0);
        if (store->lone_count != lone)
            quiet = 0;
        if (woken || store->lone_count != lone || store->appends.first || store->ahead)
            continue;
        own_handle(store);
        unlock(&store->inbox.lock);
        quiet = use_quiet(store, quiet);
        lock(&store->inbox.lock);
        store->owned = false;
        store->unsettled = quiet < 2;
    }
    own_handle(store);
    struct append *first = store->ahead;
    store->ahead = NULL;
    if (!first) {
        first = append_list_take(&store->appends);
        store->waiting = 0;
    }
    store->unsettled = true;
    unlock(&store->inbox.lock);
    return first;
}

/* The writer's thread: everything that came meanwhile is the next group, cut at its limits. */
void *store_run_writer(void *arg)
{
    struct store *store = arg;
    struct append *group, **end;
    while ((group = take_appends(store))) {
        while (group) {
            struct append *rest = cut_group(group, &end);
            commit_group(store, group, end);
            group = rest;
        }
        catch_up(store);
    }
    return NULL;
}

/* ---- an append that is alone, on the loop ---- */

static bool is_small(const struct append *append)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < append->event_count; i++)
        bytes += append->events[i].data.n;
    return bytes < LONE_BYTES_MAX;
}

/* With the inbox locked: whether there is one small append, and nobody uses the handle to commit. */
static bool is_lone(const struct store *store)
{
    const struct append *append = store->appends.first;
    return append && !append->next && !store->owned && is_small(append) &&
           atomic_load_explicit(&store->figures.keeps, memory_order_relaxed);
}

/* Takes the only append of the inbox, and the writer's handle; NULL: there is none, or the writer commits it. */
static struct append *take_lone(struct store *store)
{
    lock(&store->inbox.lock);
    struct append *append = store->appends.first;
    bool mine = is_lone(store) && store->slow_for == 0 && store->lone_in_a_row < LONE_IN_A_ROW_MAX &&
                store->backend->begin_quickly(store->writer);
    if (!append)
        store->lone_in_a_row = 0;
    if (append && !mine) {
        monitor_signal(&store->inbox);
        return NULL;
    }
    if (mine) {
        append_list_clear(&store->appends);
        store->waiting = 0;
        store->owned = true;
    }
    unlock(&store->inbox.lock);
    return append;
}

/* Wakes the writer only if it waits for the handle, or sleeps without a timeout because it had nothing to settle. */
static void release_handle(struct store *store)
{
    lock(&store->inbox.lock);
    bool wake = store->writer_waits || !store->unsettled;
    store->owned = false;
    store->unsettled = true;
    store->lone_count++;
    if (wake)
        monitor_signal(&store->inbox);
    else
        unlock(&store->inbox.lock);
}

/* For a store that is a round trip away: the loop sends; the writer wakes meanwhile and waits for the answer. */
static void send_lone(struct store *store)
{
    lock(&store->inbox.lock);
    struct append *append = store->appends.first;
    if (is_lone(store) && !store->ahead && !store->gather_count &&
        store->backend->send_ahead(store->writer, append)) {
        append_list_clear(&store->appends);
        store->waiting = 0;
        store->ahead = append;
    }
    if (append && store->waiting >= store->gather_count)
        monitor_signal(&store->inbox);
    else
        unlock(&store->inbox.lock);
}

/* On the loop, at the end of a turn. true: something was delivered, which may have caused new work. */
bool store_commit_lone(void *arg)
{
    struct store *store = arg;
    if (store->backend->send_ahead) {
        send_lone(store);
        return false;
    }
    struct append *append = take_lone(store);
    if (!append)
        return false;
    store->lone_in_a_row++;
    (void)commit(store, append).code;
    release_handle(store);
    lock(&store->outbox);
    append_list_add(&store->committed, append, &append->next);
    unlock(&store->outbox);
    return store_deliver(store);
}
