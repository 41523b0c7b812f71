/* Open calls by the time at which something is due: a binary heap, the nearest first. */
#include "gate/core/core.h"

#include "gate/inner.h"

#include <stdlib.h>

static void put(struct due *due, size_t at, struct open *open)
{
    due->heap[at - 1] = open;
    open->heap_at = at;
}

static void sift_up(struct due *due, size_t at)
{
    struct open *open = due->heap[at - 1];
    while (at > 1 && due->heap[at / 2 - 1]->due_ms > open->due_ms) {
        put(due, at, due->heap[at / 2 - 1]);
        at /= 2;
    }
    put(due, at, open);
}

static void sift_down(struct due *due, size_t at)
{
    struct open *open = due->heap[at - 1];
    for (;;) {
        size_t child = at * 2;
        if (child > due->count)
            break;
        if (child < due->count && due->heap[child]->due_ms < due->heap[child - 1]->due_ms)
            child++;
        if (due->heap[child - 1]->due_ms >= open->due_ms)
            break;
        put(due, at, due->heap[child - 1]);
        at = child;
    }
    put(due, at, open);
}

/* Of two times, where 0 is never. */
static int64_t earlier(int64_t a, int64_t b) { return !a || (b && b < a) ? b : a; }

int64_t due_time(const struct open *open, int64_t alert_ms)
{
    int64_t alert = alert_ms && !open->alerted ? open->requested_ms + alert_ms : 0;
    return earlier(earlier(alert, open->deadline_ms), open->withdraw_ms);
}

void due_add(struct due *due, struct open *open, int64_t alert_ms)
{
    CHECK(open->heap_at == 0);
    open->due_ms = due_time(open, alert_ms);
    if (!open->due_ms)
        return;
    if (due->count == due->room) {
        due->room = due->room ? due->room * 2 : 64;
        due->heap = heap_grow(due->heap, due->room * sizeof *due->heap);
    }
    put(due, ++due->count, open);
    sift_up(due, due->count);
}

void due_remove(struct due *due, struct open *open)
{
    size_t at = open->heap_at;
    if (at == 0)
        return;
    CHECK(due->heap[at - 1] == open);
    struct open *last = due->heap[--due->count];
    open->heap_at = 0;
    if (last == open)
        return;
    put(due, at, last);
    sift_up(due, at);
    sift_down(due, last->heap_at);
}

struct open *due_first(const struct due *due, int64_t wall_ms)
{
    return due->count && due->heap[0]->due_ms <= wall_ms ? due->heap[0] : NULL;
}

void due_done(struct due *due)
{
    free(due->heap);
    *due = (struct due){0};
}
