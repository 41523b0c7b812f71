/* Calls that were answered or let pass a moment ago. Their agent waits for the answer, or is about to report what came
 * of it: the call need not be read from the store again. Only a help: what is not in here is read. */
#include "gate/core/core.h"

#include <stdlib.h>

enum { RECENT_MOST = 256, RECENT_BYTES_MAX = 512 << 10, RECENT_CALL_BYTES_MAX = 32 << 10, EVENTS_MOST = 3 };

/* The events of one call, with their texts behind the struct: one allocation. */
struct recent_call {
    struct recent_call *next;
    struct event events[EVENTS_MOST];
    size_t count, size; /* size: with bytes[] */
    char bytes[];
};

static void drop_first(struct recent *recent)
{
    struct recent_call *first = recent->first;
    struct call_key key = call_key(first->events[0].session, first->events[0].call);
    if (map_get(&recent->calls, call_key_str(&key)) == first)
        (void)map_take(&recent->calls, call_key_str(&key));
    recent->first = first->next;
    if (!recent->first)
        recent->last = NULL;
    recent->bytes -= first->size;
    recent->count--;
    free(first);
}

static size_t event_bytes(const struct event *event)
{
    return event->session.n + event->thread.n + event->call.n + event->actor.n + event->data.n;
}

/* One allocation per call, with its texts behind it. */
static struct recent_call *copy_events(const struct event *events, size_t count)
{
    size_t size = sizeof(struct recent_call);
    for (size_t i = 0; i < count; i++)
        size += event_bytes(&events[i]);
    if (size > RECENT_CALL_BYTES_MAX)
        return NULL;
    struct recent_call *call = heap_grow(NULL, size);
    char *at = call->bytes;
    *call = (struct recent_call){.count = count, .size = size};
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        call->events[i] = (struct event){
            .seq = event->seq, .kind = event->kind, .at_ms = event->at_ms, .session = str_pack(&at, event->session),
            .thread = str_pack(&at, event->thread), .call = str_pack(&at, event->call),
            .actor = str_pack(&at, event->actor), .data = str_pack(&at, event->data)};
    }
    return call;
}

/* Adds a call; where there are too many, or too many bytes, the oldest is dropped. */
void recent_add(struct recent *recent, const struct event *events, size_t count)
{
    CHECK(count > 0 && count <= EVENTS_MOST);
    for (size_t i = 0; i < count; i++)
        if (str_empty(events[i].data))
            return;
    struct call_key key = call_key(events[0].session, events[0].call);
    struct recent_call *call = key.n ? copy_events(events, count) : NULL;
    if (!call)
        return;
    (void)map_put(&recent->calls, call_key_str(&key), call); /* an older one of this key stays in the list */
    if (recent->last)
        recent->last->next = call;
    else
        recent->first = call;
    recent->last = call;
    recent->bytes += call->size;
    recent->count++;
    while (recent->count > RECENT_MOST || recent->bytes > RECENT_BYTES_MAX)
        drop_first(recent);
}

bool recent_find(const struct recent *recent, struct arena *arena, struct str session, struct str call,
                 struct call *ret_call)
{
    struct call_key key = call_key(session, call);
    const struct recent_call *known = key.n ? map_get(&recent->calls, call_key_str(&key)) : NULL;
    *ret_call = (struct call){0};
    for (size_t i = 0; known && i < known->count; i++)
        call_apply(arena, ret_call, &known->events[i]);
    return known && ret_call->status != CALL_AWAITING; /* its request may have come after it was remembered */
}

void recent_clear(struct recent *recent)
{
    while (recent->first)
        drop_first(recent);
    map_done(&recent->calls);
}
