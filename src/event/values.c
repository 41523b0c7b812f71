/* Making and freeing what is handed to the store and given back. */
#include "event/append.h"

#include "base/block.h"
#include "event/read.h"

struct append *append_new(void) { return ARENA_HOME(BLOCK_APPEND_BYTES, struct append, arena); }

void append_free(struct append *append)
{
    if (append)
        arena_leave(append->arena);
}

void append_need(struct append *append, struct need need)
{
    CHECK(append->need_count < APPEND_NEEDS_MAX);
    CHECK(need.need != NEED_NONE);
    bool of_session = need.need == NEED_CHANGED_AT || need.need == NEED_RUN_AT || need.need == NEED_LAST_AT ||
                      need.need == NEED_NONE_AFTER;
    CHECK(of_session || (event_kind_of_call(need.kind) && !str_empty(need.call)));
    append->needs[append->need_count++] = need;
}

struct event *append_event(struct append *append, struct event event)
{
    CHECK(append->event_count < APPEND_EVENTS_MAX);
    CHECK(event.seq == 0);
    CHECK(event_kind_of_call(event.kind) == !str_empty(event.call));
    append->events[append->event_count] = event;
    return &append->events[append->event_count++];
}

struct read *read_new(enum read_kind kind)
{
    struct read *read = heap_new(sizeof *read);
    read->kind = kind;
    return read;
}

struct read *read_new_of(struct read values)
{
    struct read *read = heap_new(sizeof *read);
    *read = values;
    ARENA_KEEP(&read->arena, &read->session, &read->thread, &read->call);
    return read;
}

struct read *read_new_call(struct str session, struct str call)
{
    return read_new_of((struct read){.kind = READ_CALL, .session = session, .call = call});
}

bool read_in_a_row(const struct read *read, uint64_t before, uint64_t seq)
{
    uint64_t next = before + 1;
    for (size_t i = 0; i < read->gone_count && read->gone[i].first <= next; i++)
        if (read->gone[i].last >= next)
            next = read->gone[i].last + 1;
    return seq > before && seq <= next;
}

void read_free(struct read *read) { arena_free(read); }
