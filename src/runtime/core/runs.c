/* Which runs this process works on (runs.h): pure bookkeeping, one struct per thread with a run that is not
 * over. */
#include "runtime/core/runs.h"

#include "base/err.h"
#include "base/small.h"
#include "event/run.h"
#include "event/shapes.h"

#include <stdlib.h>

/* ---- runs of this process ---- */

static struct run *find(const struct runs *runs, struct str thread) { return map_get(&runs->runs, thread); }

static struct run *ensure(struct runs *runs, struct str session, struct str thread)
{
    struct run *run = find(runs, thread);
    if (run)
        return run;
    run = small_new(sizeof *run + session.n + thread.n);
    memcpy(run->bytes, session.p, session.n);
    memcpy(run->bytes + session.n, thread.p, thread.n);
    run->session = (struct str){run->bytes, session.n};
    run->thread = (struct str){run->bytes + session.n, thread.n};
    (void)map_put(&runs->runs, run->thread, run);
    return run;
}

static void run_free(struct run *run) { small_free(run, sizeof *run + run->session.n + run->thread.n); }

static void drop(struct runs *runs, struct run *run)
{
    CHECK(!run->working);
    CHECK(map_take(&runs->runs, run->thread) == run);
    run_free(run);
}

static void wake(const struct runs *runs, struct run *run, struct runs_out *out)
{
    run->again = run->working;
    if (run->working || runs->stopping)
        return;
    run->working = true;
    run->next = NULL;
    *(out->start ? &out->start_last->next : &out->start) = run;
    out->start_last = run;
}

void runs_wake(struct runs *runs, struct str session, struct str thread, struct runs_out *out)
{
    if (!runs->stopping)
        wake(runs, ensure(runs, session, thread), out);
}

void runs_ended(struct runs *runs, struct run *run, struct runs_out *out)
{
    run->working = false;
    if (runs->stopping)
        drop(runs, run);
    else if (run->end == RUN_TROUBLE)
        out->trouble = true;
    else if (run->again)
        wake(runs, run, out);
    else if (run->end != RUN_WAITS)
        drop(runs, run);
}

void runs_try_again(struct runs *runs, struct runs_out *out)
{
    MAP_EACH(&runs->runs, each) {
        struct run *run = each.value;
        if (!run->working && run->end == RUN_TROUBLE)
            wake(runs, run, out);
    }
}

static void cancel(struct run *run, struct runs_out *out)
{
    run->next = out->cancel;
    out->cancel = run;
}

void runs_stop(struct runs *runs, struct runs_out *out)
{
    runs->stopping = true;
    MAP_EACH(&runs->runs, each)
        if (((struct run *)each.value)->working)
            cancel(each.value, out);
}

/* ---- runs of other processes ---- */

enum { FORGET_LEASES = 10 };

struct elsewhere {
    struct str session, thread, owner; /* in `bytes` */
    int64_t since_us;
    struct elsewhere *next;
    char bytes[];
};

struct heard {
    int64_t at_us;
};

static bool is_silent(const struct runs *runs, struct str owner, int64_t since_us, int64_t now_us)
{
    const struct heard *heard = owner.n ? map_get(&runs->owners, owner) : NULL;
    int64_t last_us = heard && heard->at_us > since_us ? heard->at_us : since_us;
    return now_us - last_us > runs->lease_us;
}

bool runs_silent(const struct runs *runs, struct str owner, int64_t now_us)
{
    return runs->lease_us && is_silent(runs, owner, runs->began_us, now_us);
}

static void hear(struct runs *runs, struct str owner, int64_t now_us)
{
    if (!runs->lease_us || owner.n == 0)
        return;
    struct heard *heard = map_get(&runs->owners, owner);
    if (!heard) {
        heard = heap_new(sizeof *heard);
        (void)map_put(&runs->owners, owner, heard);
    }
    heard->at_us = now_us;
}

static void note_elsewhere(struct runs *runs, const struct event *event, const struct data_run_status *data,
                           int64_t now_us)
{
    struct str owner = data->owner;
    if (!runs->lease_us)
        return;
    free(map_take(&runs->elsewhere, event->thread));
    if (run_status_parse(data->status) != RUN_RUNNING || str_eq(owner, runs->owner))
        return;
    struct elsewhere *run = heap_new(sizeof *run + event->session.n + event->thread.n + owner.n);
    char *at = run->bytes;
    run->session = str_pack(&at, event->session);
    run->thread = str_pack(&at, event->thread);
    run->owner = str_pack(&at, owner);
    run->since_us = now_us;
    (void)map_put(&runs->elsewhere, run->thread, run);
    hear(runs, owner, now_us);
}

static void forget_owners(struct runs *runs, int64_t now_us)
{
    struct map kept = {0};
    MAP_EACH(&runs->owners, each) {
        if (((struct heard *)each.value)->at_us < now_us - runs->lease_us * FORGET_LEASES)
            free(each.value);
        else
            (void)map_put(&kept, each.key, each.value);
    }
    map_done(&runs->owners);
    runs->owners = kept;
}

void runs_take_over(struct runs *runs, int64_t now_us, struct runs_out *out)
{
    struct elsewhere *left = NULL;
    MAP_EACH(&runs->elsewhere, each) {
        struct elsewhere *run = each.value;
        if (!is_silent(runs, run->owner, run->since_us, now_us))
            continue;
        run->next = left;
        left = run;
    }
    while (left) {
        struct elsewhere *run = left;
        left = run->next;
        (void)map_take(&runs->elsewhere, run->thread);
        runs_wake(runs, run->session, run->thread, out);
        free(run);
    }
    forget_owners(runs, now_us);
}

/* ---- following ---- */

/* The end of a sub-agent's run wakes the run that waits for it. A run that did not complete cancels its own sub-agents,
 * and a main run also ends its background commands. */
static void take_end(struct runs *runs, const struct event *event, const struct data_run_status *data,
                     struct runs_out *out)
{
    struct str parent = data->parent ? data->parent->thread : STR_NONE;
    if (runs->stopping)
        return;
    if (parent.n)
        runs_wake(runs, event->session, parent, out);
    out->cancel_children = run_status_parse(data->status) != RUN_COMPLETED;
    out->end_commands = out->cancel_children && !parent.n;
}

static void take_status(struct runs *runs, const struct event *event, const struct data_run_status *data,
                        int64_t now_us, struct runs_out *out)
{
    enum run_status status = run_status_parse(data->status);
    bool foreign = data->owner.n && !str_eq(data->owner, runs->owner);
    struct run *run = find(runs, event->thread);
    note_elsewhere(runs, event, data, now_us);
    if (run_status_over(status))
        take_end(runs, event, data, out);
    if (status == RUN_AWAITING_APPROVAL && !run && !runs->stopping)
        ensure(runs, event->session, event->thread)->end = RUN_WAITS;
    else if (run && run->working && (status == RUN_CANCELLED || foreign))
        cancel(run, out); /* the run does not belong to this process any more */
    else if (run_status_over(status) && run && !run->working)
        drop(runs, run);
}

void runs_follow(struct runs *runs, const struct event *event, int64_t now_us, struct runs_out *out)
{
    ARENA_SCOPE(scratch);
    struct data_run_status status;
    struct data_run_lease lease;
    struct run *run = find(runs, event->thread);
    if (event->kind == EVENT_RUN_LEASE) {
        if (READ_DATA(&scratch, run_lease, event->data, &lease))
            hear(runs, lease.owner, now_us);
    } else if (event->kind == EVENT_RUN_STATUS) {
        if (READ_DATA(&scratch, run_status, event->data, &status))
            take_status(runs, event, &status, now_us, out);
    } else if (run) {
        wake(runs, run, out);
    }
}

void runs_recover(struct runs *runs, const struct event *event, int64_t now_us, struct runs_out *out)
{
    ARENA_SCOPE(scratch);
    struct data_run_status data;
    if (!READ_DATA(&scratch, run_status, event->data, &data))
        return;
    enum run_status status = run_status_parse(data.status);
    note_elsewhere(runs, event, &data, now_us); /* its owner may be alive: only a missing lease tells */
    bool elsewhere = runs->lease_us && status == RUN_RUNNING;
    if (!run_status_over(status) && status != RUN_PENDING && !elsewhere)
        runs_wake(runs, event->session, event->thread, out);
}

void runs_done(struct runs *runs)
{
    MAP_EACH(&runs->runs, each)
        run_free(each.value);
    map_done(&runs->runs);
    map_free_values(&runs->elsewhere);
    map_free_values(&runs->owners);
}
