/* Approvals that must be answered by a time, are told of once more when nobody answers, or are withdrawn when whoever
 * asked said that it waits and stays away (core/due.c); and asks that have waited long enough (core/waits.c). One timer
 * per clock, armed before the loop sleeps.
 *
 * Deadlines are wall-clock times that were kept with the request, so they survive restarts; a deadline that
 * passed while nobody was there fires at the start. A timeout is an append like any decision and loses
 * against one that came first. An alert is kept under the need that there is none yet: once per call, over restarts
 * and whichever process is first.
 *
 * How long whoever asked has been away is known to this process only, and counts from its start: it could not come back
 * to a server that was down.
 */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "io/clock.h"

enum {
    LOOK_AGAIN_MS = 30000, /* the wall clock may be set, and a laptop may sleep */
    TRY_AGAIN_MS = 1000,   /* delay after a failed attempt to store a timeout */
};

/* A decision that Nod makes itself; frees itself in timed_out. */
struct overdue {
    struct arena arena;
    struct decide decide;
};

/* Still open although its end was to be kept: the store could not. It is tried again soon. */
static void put_back(struct gate *gate, struct open *open)
{
    gate->deadlines.not_before_us = clock_steady_us() + TRY_AGAIN_MS * 1000;
    gate->deadlines.armed_ms = 0;
    core_due_add(&gate->core, open);
}

/* The decision was kept, or lost against another. If neither (the store is away), the deadline is armed again. */
static void timed_out(struct op *op)
{
    struct overdue *overdue = op->owner;
    struct open *open = open_find(op->gate, overdue->decide.session, overdue->decide.call_id);
    if (open && open->due.heap_at == 0) {
        open->ending = false;
        put_back(op->gate, open);
    }
    arena_free(overdue);
}

/* Ends an open call as `nod`: by its deadline, because the asker has gone, or because its token was revoked. */
void deadlines_end(struct gate *gate, const struct open *open, enum decision decision, struct str feedback)
{
    struct overdue *overdue = heap_new(sizeof *overdue);
    overdue->decide = (struct decide){
        .op = gate_op(&overdue->arena, timed_out, overdue),
        .session = arena_str(&overdue->arena, open->session),
        .call_id = arena_str(&overdue->arena, open->call),
        .decision = decision,
        .feedback = feedback,
        .actor = STR("nod"),
    };
    gate_decide(gate, &overdue->decide);
}

/* The alert is durable, or there was one already; only a failure is tried again. */
static void alert_kept(struct append *append)
{
    struct gate *gate = append->arg;
    struct open *open = open_find(gate, append->events[0].session, append->events[0].call);
    bool failed = append->outcome == APPEND_FAILED;
    append_free(append);
    if (open)
        open->ending = false;
    if (!open || open->due.heap_at)
        return; /* answered meanwhile, or told already */
    open->alerted = !failed; /* refused: there is an alert already, from before a restart or of another process */
    if (failed)
        put_back(gate, open);
    else
        core_due_add(&gate->core, open);
}

static void alert(struct gate *gate, const struct open *open)
{
    struct append *append = core_alert_append(open, gate_now());
    append->done = alert_kept;
    append->arg = gate;
    store_append(gate->store, append);
}

/* ---- the timers ---- */

/* The timer of the wall clock: every open call whose time has come is timed out, withdrawn or alerted. */
static void ring(void *arg)
{
    struct gate *gate = arg;
    int64_t wall_ms = clock_wall_ms();
    gate->deadlines.armed_ms = 0;
    for (struct open *open; (open = core_due_first(&gate->core, wall_ms));) {
        core_due_remove(&gate->core, open);
        open->ending = true;
        if (open->deadline_ms && open->deadline_ms <= wall_ms)
            deadlines_end(gate, open, DECISION_TIMEOUT, STR_NONE);
        else if (open->withdraw_ms && open->withdraw_ms <= wall_ms)
            deadlines_end(gate, open, DECISION_CANCELLED, STR("whoever asked has gone"));
        else
            alert(gate, open);
    }
}

static void waited(void *arg)
{
    struct gate *gate = arg;
    gate->deadlines.waits_armed_us = 0;
    ops_wake(gate);
}

/* At most LOOK_AGAIN_MS ahead, because the wall clock may jump. */
static void arm_due(struct gate *gate, struct deadlines *d)
{
    int64_t next = due_next(&gate->core.due);
    if (next == d->armed_ms)
        return;
    d->armed_ms = next;
    if (!next) {
        timer_stop(d->timer);
        return;
    }
    int64_t left = next - clock_wall_ms(), least = (d->not_before_us - clock_steady_us()) / 1000;
    left = left > least ? left : least;
    timer_start(d->timer, left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS);
}

void deadlines_arm(struct gate *gate)
{
    struct deadlines *d = &gate->deadlines;
    int64_t next = due_next(&gate->core.waits);
    arm_due(gate, d);
    if (next == d->waits_armed_us)
        return;
    d->waits_armed_us = next;
    if (next)
        timer_start(d->waits, (next - clock_steady_us()) / 1000 + 1);
    else
        timer_stop(d->waits);
}

void deadlines_init(struct gate *gate)
{
    gate->deadlines.timer = timer_new(gate->loop, ring, gate);
    gate->deadlines.waits = timer_new(gate->loop, waited, gate);
}

void deadlines_done(struct gate *gate)
{
    timer_free(gate->deadlines.timer);
    timer_free(gate->deadlines.waits);
    due_done(&gate->core.due);
    due_done(&gate->core.waits);
}
