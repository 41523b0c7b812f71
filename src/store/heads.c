#include "store/heads.h"

#include "base/arena.h"
#include "base/err.h"

#include <stdlib.h>

enum { HEADS_MAX = 4096, LOOKS_MAX = 64 };

struct head *heads_get(struct heads *heads, struct str session)
{
    struct head *head = map_get(&heads->by_session, session);
    if (head)
        head->recent = true;
    return head;
}

/* The place of a clean one that has not been asked for since the hand last passed; `count` when there is
 * none near: a group that changes more sessions than fit must not look at all of them for each. */
static size_t find_victim(struct heads *heads)
{
    for (int looks = 0; looks < LOOKS_MAX; looks++) {
        size_t at = heads->hand;
        heads->hand = (heads->hand + 1) % heads->count;
        if (heads->ring[at]->dirty)
            continue;
        if (!heads->ring[at]->recent)
            return at;
        heads->ring[at]->recent = false;
    }
    return heads->count;
}

static size_t find_place(struct heads *heads)
{
    if (heads->count >= HEADS_MAX) {
        size_t at = find_victim(heads);
        if (at < heads->count) {
            CHECK(map_take(&heads->by_session, head_session(heads->ring[at])) == heads->ring[at]);
            free(heads->ring[at]);
            return at;
        }
    }
    if (heads->count == heads->cap) {
        heads->cap = heads->cap ? heads->cap * 2 : 64;
        heads->ring = heap_grow(heads->ring, heads->cap * sizeof(struct head *));
    }
    return heads->count++;
}

struct head *heads_add(struct heads *heads, struct str session)
{
    size_t at = find_place(heads);
    struct head *head = heap_new(sizeof *head + session.n);
    if (session.n)
        memcpy(head->session, session.p, session.n);
    head->session_bytes = session.n;
    heads->ring[at] = head;
    CHECK(map_put(&heads->by_session, session, head) == NULL);
    return head;
}

void heads_touch(struct heads *heads, struct head *head)
{
    if (head->dirty)
        return;
    head->dirty = true;
    head->next_dirty = heads->dirty;
    heads->dirty = head;
}

void heads_written(struct heads *heads)
{
    for (struct head *head = heads->dirty; head; head = head->next_dirty) {
        CHECK(head->dirty);
        head->dirty = false;
        head->stored = true;
    }
    heads->dirty = NULL;
}

void heads_clear(struct heads *heads)
{
    for (size_t i = 0; i < heads->count; i++)
        free(heads->ring[i]);
    free(heads->ring);
    map_done(&heads->by_session);
    *heads = (struct heads){0};
}
