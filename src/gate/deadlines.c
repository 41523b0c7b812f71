/* Approvals that must be answered by a time, or are told of once more when nobody answers: a heap of the open ones,
 * one timer for the nearest.
 *
 * Deadlines are wall-clock times that were kept with the request, so they survive restarts; a deadline that
 * passed while nobody was there fires at the start. A timeout is an append like any decision and loses
 * against one that came first. An alert is kept under the need that there is none yet: once per call, over restarts
 * and whichever process is first.
 */
#include "gate/inner.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "io/loop.h"

#include <stdlib.h>

enum {
    LOOK_AGAIN_MS = 30000, /* the wall clock may be set, and a laptop may sleep */
    TRY_AGAIN_MS = 1000,   /* the store could not take the timeout */
};

static void put(struct deadlines *d, size_t at, struct open *open)
{
    d->heap[at - 1] = open;
    open->heap_at = at;
}

static void sift_up(struct deadlines *d, size_t at)
{
    struct open *open = d->heap[at - 1];
    while (at > 1 && d->heap[at / 2 - 1]->due_ms > open->due_ms) {
        put(d, at, d->heap[at / 2 - 1]);
        at /= 2;
    }
    put(d, at, open);
}

static void sift_down(struct deadlines *d, size_t at)
{
    struct open *open = d->heap[at - 1];
    for (;;) {
        size_t child = at * 2;
        if (child > d->count)
            break;
        if (child < d->count && d->heap[child]->due_ms < d->heap[child - 1]->due_ms)
            child++;
        if (d->heap[child - 1]->due_ms >= open->due_ms)
            break;
        put(d, at, d->heap[child - 1]);
        at = child;
    }
    put(d, at, open);
}

static void arm(struct gate *gate, int64_t at_least_ms)
{
    struct deadlines *d = &gate->deadlines;
    if (d->count == 0) {
        timer_stop(d->timer);
        return;
    }
    int64_t left = d->heap[0]->due_ms - clock_wall_ms();
    if (left < at_least_ms)
        left = at_least_ms;
    timer_start(d->timer, left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS);
}

struct overdue {
    struct arena arena;
    struct decide decide;
};

static void timed_out(struct decide *decide)
{
    struct gate *gate = decide->gate;
    struct overdue *overdue = decide->arg;
    struct open *open = open_find(gate, decide->session, decide->call_id);
    /* Still open: the store could not keep it. Put it back and try again soon. */
    if (open && open->heap_at == 0) {
        deadlines_add(gate, open);
        arm(gate, TRY_AGAIN_MS);
    }
    arena_done(&overdue->arena);
    free(overdue);
}

static void time_out(struct gate *gate, const struct open *open)
{
    struct overdue *overdue = heap_new(sizeof *overdue);
    overdue->decide = (struct decide){
        .arena = &overdue->arena,
        .session = arena_str(&overdue->arena, open->session),
        .call_id = arena_str(&overdue->arena, open->call),
        .decision = DECISION_TIMEOUT,
        .actor = STR("nod"),
        .done = timed_out,
        .arg = overdue,
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
    if (!open || open->heap_at)
        return; /* answered meanwhile, or told already */
    open->alerted = !failed; /* refused: there is one, from before a restart or of another process */
    deadlines_add(gate, open);
    if (failed)
        arm(gate, TRY_AGAIN_MS);
}

static void alert(struct gate *gate, const struct open *open)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_TOOL_APPROVAL_ALERT,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, open->session),
        .thread = arena_str(arena, open->thread),
        .call = arena_str(arena, open->call),
        .actor = STR("nod"),
        .data = DATA(arena, tool_approval_alert, .call = open->call, .tool = open->name,
                     .requested_ms = open->requested_ms),
    };
    static const enum event_kind absent[] = {EVENT_TOOL_APPROVAL_ALERT, EVENT_TOOL_APPROVAL_RESPONSE};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        append_need(append, (struct need){
            .need = NEED_ABSENT, .kind = absent[i], .session = event.session, .call = event.call});
    (void)append_event(append, event);
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

/* ---- the heap and its timer ---- */

static void ring(void *arg)
{
    struct gate *gate = arg;
    struct deadlines *d = &gate->deadlines;
    int64_t now = clock_wall_ms();
    while (d->count && d->heap[0]->due_ms <= now) {
        struct open *open = d->heap[0];
        deadlines_remove(gate, open);
        if (open->deadline_ms && open->deadline_ms <= now)
            time_out(gate, open);
        else
            alert(gate, open);
    }
    arm(gate, 0);
}

void deadlines_init(struct gate *gate) { gate->deadlines.timer = timer_new(gate->loop, ring, gate); }

/* What comes first; 0: nothing does. */
static int64_t due(const struct gate *gate, const struct open *open)
{
    int64_t alert_ms = gate->alert_ms && !open->alerted ? open->requested_ms + gate->alert_ms : 0;
    if (!alert_ms || !open->deadline_ms)
        return alert_ms ? alert_ms : open->deadline_ms;
    return alert_ms < open->deadline_ms ? alert_ms : open->deadline_ms;
}

void deadlines_add(struct gate *gate, struct open *open)
{
    struct deadlines *d = &gate->deadlines;
    CHECK(open->heap_at == 0);
    open->due_ms = due(gate, open);
    if (!open->due_ms)
        return;
    if (d->count == d->room) {
        d->room = d->room ? d->room * 2 : 64;
        d->heap = heap_grow(d->heap, d->room * sizeof *d->heap);
    }
    put(d, ++d->count, open);
    sift_up(d, d->count);
    if (open->heap_at == 1)
        arm(gate, 0);
}

void deadlines_remove(struct gate *gate, struct open *open)
{
    struct deadlines *d = &gate->deadlines;
    size_t at = open->heap_at;
    if (at == 0)
        return;
    CHECK(d->heap[at - 1] == open);
    struct open *last = d->heap[--d->count];
    open->heap_at = 0;
    if (last == open)
        return;
    put(d, at, last);
    sift_up(d, at);
    sift_down(d, last->heap_at);
}

void deadlines_done(struct gate *gate)
{
    timer_free(gate->deadlines.timer);
    free(gate->deadlines.heap);
}
