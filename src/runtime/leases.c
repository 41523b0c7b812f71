/* Leases of runs: another process on the same store takes over the runs of one that is silent.
 *
 *  1. A process that works on runs says so with RUN_LEASE, three times within a lease; a claim says so, too.
 *  2. Whoever has not been heard of for a lease is taken for dead. The time is measured here, from when the event came:
 *     clocks of different machines are not compared, and who has just started waits for a whole lease.
 *  3. Being wrong costs work and does no harm: the claim moves the fence, so that the old owner's next act is refused,
 *     and it puts the run down when it is told.
 * A store that only this process uses needs none of it: whoever owned a run before is gone.
 */
#include "runtime/inner.h"

#include "io/clock.h"
#include "io/loop.h"

#include <stdlib.h>

enum { TICKS = 3, FORGET_LEASES = 10 };

/* A run that another process works on, or nobody yet. */
struct elsewhere {
    struct str session, thread, owner; /* in `bytes` */
    int64_t since_us;
    struct elsewhere *next;
    char bytes[];
};

struct heard {
    int64_t at_us;
};

static bool shared(const struct runtime *runtime) { return !runtime->options.only_process; }

static int64_t lease_us(const struct runtime *runtime) { return runtime->options.lease_seconds * 1000000; }

static bool silent(const struct runtime *runtime, struct str owner, int64_t since_us)
{
    const struct heard *heard = owner.n ? map_get(&runtime->leases.owners, owner) : NULL;
    int64_t last_us = heard && heard->at_us > since_us ? heard->at_us : since_us;
    return clock_steady_us() - last_us > lease_us(runtime);
}

bool leases_silent(const struct runtime *runtime, struct str owner)
{
    return shared(runtime) && silent(runtime, owner, runtime->leases.began_us);
}

void leases_heard(struct runtime *runtime, struct str owner)
{
    struct heard *heard = owner.n ? map_get(&runtime->leases.owners, owner) : NULL;
    if (!shared(runtime) || owner.n == 0)
        return;
    if (!heard) {
        heard = heap_new(sizeof *heard);
        (void)map_put(&runtime->leases.owners, owner, heard);
    }
    heard->at_us = clock_steady_us();
}

static struct str pack(char **at, struct str s)
{
    struct str packed = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return packed;
}

void leases_told(struct runtime *runtime, const struct event *event, const struct data_run_status *data)
{
    struct str owner = data->owner;
    if (!shared(runtime))
        return;
    free(map_take(&runtime->leases.elsewhere, event->thread));
    if (run_status_parse(data->status) != RUN_RUNNING || str_eq(owner, runtime->owner))
        return;
    struct elsewhere *run = heap_new(sizeof *run + event->session.n + event->thread.n + owner.n);
    char *at = run->bytes;
    run->session = pack(&at, event->session);
    run->thread = pack(&at, event->thread);
    run->owner = pack(&at, owner);
    run->since_us = clock_steady_us();
    (void)map_put(&runtime->leases.elsewhere, run->thread, run);
    leases_heard(runtime, owner);
}

/* ---- three times within a lease ---- */

static void said(struct append *append) { append_free(append); } /* not kept: the next one may be */

static void say_alive(struct runtime *runtime)
{
    struct append *append = append_new();
    (void)append_event(append, (struct event){
        .kind = EVENT_RUN_LEASE,
        .at_ms = clock_wall_ms(),
        .actor = STR("nod"),
        .data = DATA(&append->arena, run_lease, .owner = runtime->owner),
    });
    append->done = said;
    gate_keep(runtime->gate, append);
}

static void take_over(struct runtime *runtime)
{
    size_t at = 0;
    struct str thread;
    void *value;
    struct elsewhere *left = NULL;
    while (map_next(&runtime->leases.elsewhere, &at, &thread, &value)) {
        struct elsewhere *run = value;
        if (!silent(runtime, run->owner, run->since_us))
            continue;
        run->next = left;
        left = run;
    }
    while (left) {
        struct elsewhere *run = left;
        left = run->next;
        (void)map_take(&runtime->leases.elsewhere, run->thread);
        runs_wake(runtime, run->session, run->thread);
        free(run);
    }
}

static void forget_owners(struct runtime *runtime)
{
    size_t at = 0;
    struct str owner;
    void *value;
    struct map kept = {0};
    int64_t old_us = clock_steady_us() - lease_us(runtime) * FORGET_LEASES;
    while (map_next(&runtime->leases.owners, &at, &owner, &value)) {
        if (((struct heard *)value)->at_us < old_us)
            free(value);
        else
            (void)map_put(&kept, owner, value);
    }
    map_done(&runtime->leases.owners);
    runtime->leases.owners = kept;
}

static void tick(void *arg)
{
    struct runtime *runtime = arg;
    if (runtime->stopping)
        return;
    if (work_open(runtime->pool) > 0)
        say_alive(runtime);
    take_over(runtime);
    forget_owners(runtime);
    timer_start(runtime->leases.timer, runtime->options.lease_seconds * 1000 / TICKS);
}

void leases_start(struct runtime *runtime)
{
    if (!shared(runtime))
        return;
    CHECK(runtime->options.lease_seconds > 0);
    runtime->leases.began_us = clock_steady_us();
    runtime->leases.timer = timer_new(runtime->loop, tick, runtime);
    timer_start(runtime->leases.timer, runtime->options.lease_seconds * 1000 / TICKS);
}

void leases_done(struct runtime *runtime)
{
    if (runtime->leases.timer)
        timer_free(runtime->leases.timer);
    map_free_values(&runtime->leases.elsewhere);
    map_free_values(&runtime->leases.owners);
}
