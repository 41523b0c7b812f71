/* Due deliveries, the soonest first. */
#include "notify/outbox.h"

#include "io/clock.h"
#include "io/loop.h"

#include <stdlib.h>

enum { LOOK_AGAIN_MS = 30000 }; /* the wall clock may be set */

static void heap_put(struct notify *n, size_t at, struct delivery *delivery)
{
    n->heap[at - 1] = delivery;
    delivery->heap_at = at;
}

/* Moves a delivery up or down to where it belongs after its time has changed. */
static void heap_move(struct notify *n, size_t at)
{
    struct delivery *delivery = n->heap[at - 1];
    for (; at > 1 && n->heap[at / 2 - 1]->due_ms > delivery->due_ms; at /= 2)
        heap_put(n, at, n->heap[at / 2 - 1]);
    for (size_t child; (child = at * 2) <= n->heap_count; at = child) {
        if (child < n->heap_count && n->heap[child]->due_ms < n->heap[child - 1]->due_ms)
            child++;
        if (n->heap[child - 1]->due_ms >= delivery->due_ms)
            break;
        heap_put(n, at, n->heap[child - 1]);
    }
    heap_put(n, at, delivery);
}

/* A binary heap by the time at which each is due; heap_at makes it possible to take one out from the middle. */
void notify_add_due(struct notify *n, struct delivery *delivery)
{
    CHECK(delivery->heap_at == 0);
    if (n->heap_count == n->heap_room) {
        n->heap_room = n->heap_room ? 2 * n->heap_room : 64;
        n->heap = realloc(n->heap, n->heap_room * sizeof *n->heap);
        CHECK(n->heap);
    }
    delivery->state = DUE;
    n->heap_count++;
    heap_put(n, n->heap_count, delivery);
    heap_move(n, n->heap_count);
}

void notify_remove_due(struct notify *n, struct delivery *delivery)
{
    size_t at = delivery->heap_at;
    if (at == 0)
        return;
    struct delivery *last = n->heap[--n->heap_count];
    delivery->heap_at = 0;
    if (last == delivery)
        return;
    heap_put(n, at, last);
    heap_move(n, at);
}

void notify_arm_outbox(struct notify *n)
{
    if (n->heap_count == 0 || !n->watcher.live || n->closing)
        return;
    int64_t left = n->heap[0]->due_ms - clock_wall_ms();
    timer_start(n->timer, left < 0 ? 0 : left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS);
}
