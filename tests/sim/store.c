/* The virtual store: one order for all, needs checked in it, groups that are kept whole. As plain as can be: every
 * question is answered by looking through all rows. */
#include "sim/sim.h"

static uint64_t last_change(const struct world *world, struct str session)
{
    for (size_t i = world->count; i-- > 0;)
        if (world->rows[i].kind == EVENT_SESSION_CHANGED && str_eq(world->rows[i].session, session))
            return world->rows[i].seq;
    return 0;
}

static bool has(const struct world *world, const struct need *need)
{
    for (size_t i = 0; i < world->count; i++)
        if (world->rows[i].kind == need->kind && str_eq(world->rows[i].session, need->session) &&
            str_eq(world->rows[i].call, need->call))
            return true;
    return false;
}

static bool holds(const struct world *world, const struct need *need)
{
    switch (need->need) {
    case NEED_ABSENT: return !has(world, need);
    case NEED_PRESENT: return has(world, need);
    case NEED_CHANGED_AT: return last_change(world, need->session) == need->seq;
    default: return true;
    }
}

static void keep(struct world *world, struct flight *flight)
{
    struct append *append = flight->append;
    flight->committed = true;
    for (unsigned i = 0; i < append->need_count; i++) {
        if (holds(world, &append->needs[i]))
            continue;
        append->outcome = APPEND_REFUSED;
        append->refused_need = i;
        return;
    }
    append->outcome = APPEND_KEPT;
    for (unsigned i = 0; i < append->event_count && world->count < ROWS_MAX; i++) {
        append->events[i].seq = world->count + 1;
        world->rows[world->count] = event_copy(&world->arena, &append->events[i]);
        check_row(world, flight, &world->rows[world->count]);
        world->count++;
    }
}

static struct flight *next_waiting(struct world *world)
{
    struct flight *first = NULL;
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &world->flights[i];
        if (flight->append && !flight->committed && (!first || flight->order < first->order))
            first = flight;
    }
    return first;
}

void store_commit_some(struct world *world)
{
    uint64_t group = world->calm ? FLIGHTS_MAX : 1 + sim_random(world, 6);
    struct flight *flight;
    while (group-- && (flight = next_waiting(world)))
        keep(world, flight);
}

struct read *store_answer(struct world *world, struct read *read)
{
    CHECK(read->kind == READ_CALL);
    read->events = arena_array(&read->arena, struct event, world->count + 1);
    for (size_t i = 0; i < world->count; i++)
        if (str_eq(world->rows[i].session, read->session) && str_eq(world->rows[i].call, read->call))
            read->events[read->event_count++] = event_copy(&read->arena, &world->rows[i]);
    return read;
}
