/* Deadlines: a binary heap of times, the nearest first; and open calls by the time at which something happens to
 * them. */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/shapes.h"

#include <stdlib.h>

/* ---- the heap ---- */

static void put(struct due *due, size_t at, struct due_place *place)
{
    due->heap[at - 1] = place;
    place->heap_at = at;
}

static void sift_up(struct due *due, size_t at)
{
    struct due_place *place = due->heap[at - 1];
    while (at > 1 && due->heap[at / 2 - 1]->time > place->time) {
        put(due, at, due->heap[at / 2 - 1]);
        at /= 2;
    }
    put(due, at, place);
}

static void sift_down(struct due *due, size_t at)
{
    struct due_place *place = due->heap[at - 1];
    for (;;) {
        size_t child = at * 2;
        if (child > due->count)
            break;
        if (child < due->count && due->heap[child]->time < due->heap[child - 1]->time)
            child++;
        if (due->heap[child - 1]->time >= place->time)
            break;
        put(due, at, due->heap[child - 1]);
        at = child;
    }
    put(due, at, place);
}

void due_put(struct due *due, struct due_place *place)
{
    CHECK(place->heap_at == 0);
    if (due->count == due->room) {
        due->room = due->room ? due->room * 2 : 64;
        due->heap = heap_grow(due->heap, due->room * sizeof *due->heap);
    }
    put(due, ++due->count, place);
    sift_up(due, due->count);
}

/* A place knows its index in the heap, so it can be taken out from the middle. */
void due_take(struct due *due, struct due_place *place)
{
    size_t at = place->heap_at;
    if (at == 0)
        return;
    CHECK(due->heap[at - 1] == place);
    struct due_place *last = due->heap[--due->count];
    place->heap_at = 0;
    if (last == place)
        return;
    put(due, at, last);
    sift_up(due, at);
    sift_down(due, last->heap_at);
}

int64_t due_next(const struct due *due) { return due->count ? due->heap[0]->time : 0; }

void due_done(struct due *due)
{
    free(due->heap);
    *due = (struct due){0};
}

/* ---- open calls ---- */

/* The earlier of two times; 0 means never. */
static int64_t earlier(int64_t a, int64_t b) { return !a || (b && b < a) ? b : a; }

int64_t due_time(const struct open *open, int64_t alert_ms)
{
    int64_t alert = alert_ms && !open->alerted && !open->unmarked ? open->requested_ms + alert_ms : 0;
    if (alert && open->marks && open->marks->snoozed_ms > alert)
        alert = open->marks->snoozed_ms;
    return earlier(earlier(alert, open->deadline_ms), open->withdraw_ms);
}

void core_due_add(struct core *core, struct open *open)
{
    open->due.time = due_time(open, core->alert_ms);
    if (open->due.time)
        due_put(&core->due, &open->due);
}

void core_due_remove(struct core *core, struct open *open) { due_take(&core->due, &open->due); }

struct open *core_due_first(const struct core *core, int64_t wall_ms)
{
    if (core->due.count == 0 || core->due.heap[0]->time > wall_ms)
        return NULL;
    return (struct open *)((char *)core->due.heap[0] - offsetof(struct open, due));
}

void core_away(struct core *core, struct open *open, bool away, struct now now)
{
    open->withdraw_ms = away && open->withdraws ? now.wall_ms + core->withdraw_ms : 0;
    if (open->ending)
        return; /* deadlines.c adds it again when its append is answered */
    core_due_remove(core, open);
    core_due_add(core, open);
}

void core_alerted(struct core *core, struct open *open)
{
    bool waits = open->due.heap_at != 0;
    core_due_remove(core, open);
    open->alerted = true;
    if (waits)
        core_due_add(core, open);
}

/* Once per call, over restarts and nodes, and not when it was answered. */
struct append *core_alert_append(const struct open *open, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_TOOL_APPROVAL_ALERT,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, open->session),
        .thread = arena_str(arena, open->thread),
        .call = arena_str(arena, open->call),
        .actor = STR("nod"),
        .data = DATA(arena, tool_approval_alert, .call = open->call, .tool = open->name,
                     .requested_ms = open->requested_ms),
    };
    struct need need = {.need = NEED_ABSENT, .session = event.session, .call = event.call};
    need.kind = EVENT_TOOL_APPROVAL_ALERT;
    append_need(append, need);
    need.kind = EVENT_TOOL_APPROVAL_RESPONSE;
    append_need(append, need);
    (void)append_event(append, event);
    return append;
}
