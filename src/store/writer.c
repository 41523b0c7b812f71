/* The writer: takes all that has come, and commits it as one group. */
#include "store/inner.h"

#include "base/limits.h"
#include "base/log.h"
#include "io/clock.h"

#include <malloc.h>

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

static void commit_group(struct store *store, struct append *group, struct append **end)
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
    figures_count_group(&store->figures, group, clock_steady_us() - began_us);
    if (store->follower && rc_ok(rc))
        store_hand_back_in_order(store, group, end);
    else
        store_hand_back(store, group, end);
    enum tidy_need need = store->backend->tidy_due ? store->backend->tidy_due(store->writer) : TIDY_NOT;
    if (need != TIDY_NOT)
        want_tidy(store);
    if (need == TIDY_BEFORE)
        wait_for_checkpointer(store);
    if (atomic_load_explicit(&store->tidied, memory_order_relaxed))
        settle(store, false);
}

/* While the store cannot write, no appends may come; the writer itself tries whether it can again. */
static bool try_again(struct store *store)
{
    struct err err = {0};
    if (!store->backend->probe || atomic_load_explicit(&store->figures.keeps, memory_order_relaxed))
        return false;
    store_set_health(store, &store->figures.keeps, rc_ok(store->backend->probe(store->writer, &err)));
    return true;
}

/* Everything that has come, or NULL when the store closes. After a second without anything the checkpointer is
 * asked to tidy, after another one the writer settles; then it sleeps until somebody comes. */
static struct append *take_appends(struct store *store, bool *unsettled)
{
    lock(&store->inbox.lock);
    for (int quiet = 0; !store->appends.first && !store->inbox.closing;) {
        if (monitor_wait(&store->inbox, *unsettled ? IDLE_MS : 0) || store->appends.first)
            continue;
        unlock(&store->inbox.lock);
        if (try_again(store)) {
            quiet = 0;
        } else if (quiet++ == 0) {
            want_tidy(store);
        } else {
            settle(store, true);
            (void)malloc_trim(0); /* returns memory freed since the busy period to the system */
            *unsettled = false;
        }
        lock(&store->inbox.lock);
    }
    struct append *first = append_list_take(&store->appends);
    unlock(&store->inbox.lock);
    return first;
}

void *store_run_writer(void *arg)
{
    struct store *store = arg;
    struct append *group, **end;
    bool unsettled = false;
    while ((group = take_appends(store, &unsettled))) {
        unsettled = true;
        while (group) {
            struct append *rest = cut_group(group, &end);
            commit_group(store, group, end);
            group = rest;
        }
    }
    return NULL;
}
