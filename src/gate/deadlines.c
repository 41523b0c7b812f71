/* Approvals that must be answered by a time, are told of once more when nobody answers, or are withdrawn when
 * whoever asked said that it waits and stays away: the heap of core/due.c, and one timer for the nearest.
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
#include "io/loop.h"

#include <stdlib.h>

enum {
    LOOK_AGAIN_MS = 30000, /* the wall clock may be set, and a laptop may sleep */
    TRY_AGAIN_MS = 1000,   /* the store could not take the timeout */
};

static void arm(struct gate *gate, int64_t at_least_ms)
{
    struct deadlines *d = &gate->deadlines;
    if (d->due.count == 0) {
        timer_stop(d->timer);
        return;
    }
    int64_t left = d->due.heap[0]->due_ms - clock_wall_ms();
    if (left < at_least_ms)
        left = at_least_ms;
    timer_start(d->timer, left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS);
}

struct overdue {
    struct arena arena;
    struct decide decide;
};

static void timed_out(struct op *op)
{
    struct gate *gate = op->gate;
    struct overdue *overdue = op->owner;
    const struct decide *decide = &overdue->decide;
    struct open *open = open_find(gate, decide->session, decide->call_id);
    /* Still open: the store could not keep it. Put it back and try again soon. */
    if (open && open->heap_at == 0) {
        open->ending = false;
        deadlines_add(gate, open);
        arm(gate, TRY_AGAIN_MS);
    }
    arena_done(&overdue->arena);
    free(overdue);
}

static void end(struct gate *gate, const struct open *open, enum decision decision, struct str feedback)
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

/* ---- alerts ---- */

static void alert_kept(struct append *append)
{
    struct gate *gate = append->arg;
    struct open *open = open_find(gate, append->events[0].session, append->events[0].call);
    bool failed = append->outcome == APPEND_FAILED;
    append_free(append);
    if (open)
        open->ending = false;
    if (!open || open->heap_at)
        return; /* answered meanwhile, or told already */
    open->alerted = !failed; /* refused: there is one, from before a restart or of another process */
    deadlines_add(gate, open);
    if (failed)
        arm(gate, TRY_AGAIN_MS);
}

static void alert(struct gate *gate, const struct open *open)
{
    struct append *append = core_alert_append(open, (struct now){.wall_ms = clock_wall_ms()});
    append->done = alert_kept;
    append->arg = gate;
    store_append(gate->store, append);
}

void deadlines_alerted(struct gate *gate, struct open *open)
{
    bool waits = open->heap_at != 0;
    deadlines_remove(gate, open);
    open->alerted = true;
    if (waits)
        deadlines_add(gate, open);
}

/* ---- whoever asked has gone ---- */

void deadlines_away(struct gate *gate, struct open *open, bool away)
{
    open->withdraw_ms = away && open->withdraws ? clock_wall_ms() + gate->withdraw_ms : 0;
    if (open->ending)
        return; /* it is added again when that is done */
    deadlines_remove(gate, open);
    deadlines_add(gate, open);
}

/* ---- the heap and its timer ---- */

static void ring(void *arg)
{
    struct gate *gate = arg;
    int64_t now = clock_wall_ms();
    for (struct open *open; (open = due_first(&gate->deadlines.due, now));) {
        deadlines_remove(gate, open);
        open->ending = true;
        if (open->deadline_ms && open->deadline_ms <= now)
            end(gate, open, DECISION_TIMEOUT, STR_NONE);
        else if (open->withdraw_ms && open->withdraw_ms <= now)
            end(gate, open, DECISION_CANCELLED, STR("whoever asked has gone"));
        else
            alert(gate, open);
    }
    arm(gate, 0);
}

void deadlines_init(struct gate *gate) { gate->deadlines.timer = timer_new(gate->loop, ring, gate); }

void deadlines_add(struct gate *gate, struct open *open)
{
    due_add(&gate->deadlines.due, open, gate->alert_ms);
    if (open->heap_at == 1)
        arm(gate, 0);
}

void deadlines_remove(struct gate *gate, struct open *open) { due_remove(&gate->deadlines.due, open); }

void deadlines_done(struct gate *gate)
{
    timer_free(gate->deadlines.timer);
    due_done(&gate->deadlines.due);
}
