/* A gate that is only its memory: no loop, and a store that answers when a test says so. Included by u_gate_watch.c and
 * u_gate_views.c. */
#ifndef U_GATE_VIEWS_H
#define U_GATE_VIEWS_H

#include "event/shapes.h"
#include "gate/inner.h"
#include "store/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct store store;
static struct gate gate;

static inline int views_begin(void **state)
{
    (void)state;
    store = (struct store){.reads.lock = PTHREAD_MUTEX_INITIALIZER};
    read_list_clear(&store.questions);
    gate = (struct gate){.store = &store};
    return 0;
}

/* The question that was put last; NULL: none is open. */
static inline struct read *asked_of_store(void)
{
    struct read *read = read_list_take(&store.questions);
    assert_true(!read || !read->next);
    return read;
}

/* Gives the question back with these events, which are copied. */
static inline void store_answers(struct read *read, const struct event *events, size_t count, uint64_t covered)
{
    assert_non_null(read);
    read->events = arena_array(&read->arena, struct event, count + 1);
    for (size_t i = 0; i < count; i++)
        read->events[i] = event_copy(&read->arena, &events[i]);
    read->event_count = count;
    read->covered = covered;
    read->done(read);
}

static inline void store_fails(struct read *read)
{
    (void)err_set(&read->err, ERR_UNAVAILABLE, "away");
    read->done(read);
}

#endif
