/* Reads all events of a scope: one read of the store is a page, which large events fill quickly. */
#include "gate/inner.h"

#include <stdlib.h>

/* A read of any length, put together from pages; freed when the caller's read is answered. */
struct whole {
    struct gate *gate;
    struct read *answer; /* the caller's read, and the events collected so far */
    size_t room;
};

static void ask_page(struct whole *whole);

static void take(struct whole *whole, const struct read *page)
{
    struct read *answer = whole->answer;
    size_t count = answer->event_count + page->event_count;
    if (count > whole->room) {
        whole->room = count * 2;
        struct event *larger = arena_array(&answer->arena, struct event, whole->room);
        if (answer->event_count)
            memcpy(larger, answer->events, answer->event_count * sizeof *larger);
        answer->events = larger;
    }
    for (size_t i = 0; i < page->event_count; i++)
        answer->events[answer->event_count++] = event_copy(&answer->arena, &page->events[i]);
}

static void page_read(struct read *page)
{
    struct whole *whole = page->arg;
    struct read *answer = whole->answer;
    size_t bytes = 0;
    for (size_t i = 0; i < page->event_count; i++)
        bytes += page->events[i].data.n;
    bool full = page->err.code == ERR_OK && (page->event_count == LIMIT_PAGE_EVENTS || bytes >= LIMIT_READ_BYTES);
    answer->err = page->err;
    answer->covered = page->covered;
    take(whole, page);
    read_free(page);
    if (full) {
        ask_page(whole);
        return;
    }
    free(whole);
    answer->done(answer);
}

static void ask_page(struct whole *whole)
{
    const struct read *answer = whole->answer;
    uint64_t after = answer->event_count ? answer->events[answer->event_count - 1].seq : answer->after;
    struct read *page = read_new_of((struct read){.kind = READ_EVENTS, .session = answer->session,
                                                  .thread = answer->thread, .kinds = answer->kinds, .after = after,
                                                  .limit = LIMIT_PAGE_EVENTS});
    gate_read(whole->gate, page, page_read, whole);
}

void gate_read_whole(struct gate *gate, struct read *read)
{
    struct whole *whole = heap_new(sizeof *whole);
    CHECK(read->kind == READ_EVENTS && read->limit == 0 && read->done);
    *whole = (struct whole){.gate = gate, .answer = read};
    ask_page(whole);
}
