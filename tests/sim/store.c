/* The virtual store: one order for all, groups that are kept whole. The real judge (store/judge.c) says what becomes of
 * each append; the facts it asks for, and a second opinion on every outcome, come from looking through all rows. */
#include "sim/sim.h"

#include "store/backend.h"
#include "store/judge.h"

/* ---- looking through all rows ---- */

static uint64_t last_where(const struct world *world, struct str session, bool any, enum event_kind kind)
{
    for (size_t i = world->count; i-- > 0;)
        if ((any || world->rows[i].kind == kind) && str_eq(world->rows[i].session, session))
            return world->rows[i].seq;
    return 0;
}

static uint64_t of_call(const struct world *world, struct str session, struct str call, enum event_kind kind)
{
    for (size_t i = 0; i < world->count; i++)
        if (world->rows[i].kind == kind && str_eq(world->rows[i].session, session) &&
            str_eq(world->rows[i].call, call))
            return world->rows[i].seq;
    return 0;
}

static bool holds(const struct world *world, const struct need *need)
{
    uint64_t seq = need->need == NEED_ABSENT || need->need == NEED_PRESENT
                       ? of_call(world, need->session, need->call, need->kind) : 0;
    switch (need->need) {
    case NEED_ABSENT: return seq == 0;
    case NEED_PRESENT: return seq != 0;
    case NEED_NONE_AFTER: return last_where(world, need->session, true, EVENT_NONE) <= need->seq;
    case NEED_RUN_AT: return last_where(world, need->session, false, EVENT_RUN_STATUS) == need->seq;
    case NEED_CHANGED_AT: return last_where(world, need->session, false, EVENT_SESSION_CHANGED) == need->seq;
    default: return true;
    }
}

static unsigned first_refused(const struct world *world, const struct append *append)
{
    unsigned need = 0;
    while (need < append->need_count && holds(world, &append->needs[need]))
        need++;
    return need;
}

/* ---- the facts that the judge asks for, as a backend loads them ---- */

static void load(const struct world *world, struct facts *facts)
{
    for (struct fact_head *head = facts->first_head; head; head = head->next) {
        head->known = true;
        head->changed_seq = last_where(world, head->session, false, EVENT_SESSION_CHANGED);
        head->last_seq = last_where(world, head->session, true, EVENT_NONE);
        head->stored = head->last_seq != 0;
        for (size_t i = world->count; i-- > 0;)
            if (str_eq(world->rows[i].session, head->session))
                head->first_seq = world->rows[i].seq;
        if (head->last_seq)
            head->hash = world->hashes[head->last_seq - 1];
    }
    for (struct fact_call *call = facts->first_call; call; call = call->next) {
        call->known = true;
        for (int kind = 1; kind < EVENT_KIND_END; kind++)
            call->seqs[kind] = of_call(world, call->session, call->call, (enum event_kind)kind);
    }
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        run->seq = last_where(world, run->session, false, EVENT_RUN_STATUS);
    facts->last_seq = world->count;
    if (world->count)
        facts->last_hash = world->hashes[world->count - 1];
}

/* ---- a group ---- */

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

/* With a mistake made on purpose the judge's own rules about a call's events would stand in its way: then only needs
 * are looked at. */
static void judge_plainly(struct world *world, struct flight *flight)
{
    struct append *append = flight->append;
    append->refused_need = first_refused(world, append);
    append->outcome = append->refused_need < append->need_count ? APPEND_REFUSED : APPEND_KEPT;
    for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++)
        append->events[i].seq = world->count + 1 + i;
}

static void compare(struct world *world, const struct append *append)
{
    unsigned refused = first_refused(world, append);
    bool kept = refused == append->need_count;
    if (append->outcome == APPEND_FAILED)
        sim_fail(world, "the judge takes an append for faulty: %s", append->err.text);
    else if (kept != (append->outcome == APPEND_KEPT) || (!kept && refused != append->refused_need))
        sim_fail(world, "the judge and a look through all rows differ");
}

static void write_rows(struct world *world, struct flight *flight, const struct event_row **row)
{
    struct append *append = flight->append;
    if (append->outcome != APPEND_KEPT)
        return;
    for (unsigned i = 0; i < append->event_count; i++) {
        struct digest zero = {0};
        uint64_t before = last_where(world, append->events[i].session, true, EVENT_NONE);
        struct digest link = chain_next(before ? &world->hashes[before - 1] : &zero, &append->events[i]);
        if (append->events[i].seq != world->count + 1)
            sim_fail(world, "a number is left out or used twice");
        if (*row && memcmp(&(*row)++->hash, &link, sizeof link) != 0)
            sim_fail(world, "a link of the chain is wrong");
        world->rows[world->count] = event_copy(&world->arena, &append->events[i]);
        world->hashes[world->count] = link;
        check_row(world, flight, &world->rows[world->count]);
        world->count++;
    }
}

/* The store could not write the group: nothing of it is kept. */
static void fail_append(struct append *append)
{
    append->outcome = APPEND_FAILED;
    (void)err_set(&append->err, ERR_UNAVAILABLE, "the disk is full");
    for (unsigned i = 0; i < append->event_count; i++)
        append->events[i].seq = 0;
}

void store_commit_some(struct world *world)
{
    struct flight *group[FLIGHTS_MAX], *flight;
    size_t most = world->calm ? FLIGHTS_MAX : 1 + sim_random(world, 6), count = 0;
    struct facts facts = {0};
    struct rows rows = {0};
    while (count < most && world->count + APPEND_EVENTS_MAX * (count + 1) < ROWS_MAX &&
           (flight = next_waiting(world))) {
        flight->committed = true;
        if (count)
            group[count - 1]->append->next = flight->append;
        flight->append->next = NULL;
        group[count++] = flight;
    }
    if (count && world->mistake == MISTAKE_NONE) {
        facts_name(&facts, group[0]->append);
        load(world, &facts);
        judge_group(&facts, group[0]->append, &rows);
    }
    bool away = count && !world->calm && world->faults[FAULT_STORE_AWAY] && sim_random(world, 12) == 0;
    const struct event_row *row = rows.events;
    for (size_t i = 0; i < count && away; i++)
        fail_append(group[i]->append);
    for (size_t i = 0; i < count && !away; i++) {
        if (world->mistake != MISTAKE_NONE)
            judge_plainly(world, group[i]);
        else
            compare(world, group[i]->append);
        write_rows(world, group[i], &row);
    }
    if (count && world->mistake == MISTAKE_NONE)
        facts_done(&facts);
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
