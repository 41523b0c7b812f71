/* The promises, checked after every row. Nothing of the core and nothing of the store is used here: the data of an
 * event is looked at as text. */
#include "sim/sim.h"

#include "base/stamp.h"

#include <stdio.h>

static bool says(const struct event *event, const char *words) { return str_has(event->data, str_of(words)); }

static const struct event *find_before(const struct world *world, const struct event *event, enum event_kind kind)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct event *row = &world->rows[i];
        if (row == event)
            break;
        if (row->kind == kind && str_eq(row->session, event->session) && str_eq(row->call, event->call))
            return row;
    }
    return NULL;
}

static bool allows(const struct event *response)
{
    return says(response, "\"decision\":\"allow_once\"") || says(response, "\"decision\":\"allow_session\"");
}

static void check_call(struct world *world, const struct flight *flight, const struct event *event)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < world->count; i++)
        if (world->rows[i].kind == EVENT_SESSION_CHANGED && str_eq(world->rows[i].session, event->session))
            changed = world->rows[i].seq;
    if (find_before(world, event, EVENT_TOOL_CALL))
        sim_fail(world, "a second call %.*s", STR_ARG(event->call));
    if (flight->judged_at != changed)
        sim_fail(world, "judged by a session that had changed: %.*s", STR_ARG(event->call));
}

/* INT64_MAX when it has none: then it may not time out at all. */
static int64_t deadline_of(const struct event *request)
{
    struct str mark = STR("\"deadline\":\"");
    int64_t deadline_ms = INT64_MAX;
    for (size_t at = 0; at + mark.n + 24 <= request->data.n; at++)
        if (memcmp(request->data.p + at, mark.p, mark.n) == 0)
            (void)stamp_parse(str_sub(request->data, at + mark.n, at + mark.n + 24), &deadline_ms);
    return deadline_ms;
}

static void check_response(struct world *world, const struct event *event)
{
    const struct event *request = find_before(world, event, EVENT_TOOL_APPROVAL_REQUEST);
    if (!request) {
        sim_fail(world, "a response to %.*s, which was not requested", STR_ARG(event->call));
        return;
    }
    if (find_before(world, event, EVENT_TOOL_APPROVAL_RESPONSE))
        sim_fail(world, "a second response to %.*s", STR_ARG(event->call));
    if (says(event, "\"timeout\"") && event->at_ms < deadline_of(request))
        sim_fail(world, "%.*s timed out before its time", STR_ARG(event->call));
}

static void check_result(struct world *world, const struct event *event)
{
    const struct event *call = find_before(world, event, EVENT_TOOL_CALL);
    const struct event *response = find_before(world, event, EVENT_TOOL_APPROVAL_RESPONSE);
    if (!call || !(says(call, "\"effect\":\"allow\"") || (response && allows(response))))
        sim_fail(world, "a result of %.*s, which was not allowed", STR_ARG(event->call));
    if (find_before(world, event, EVENT_TOOL_RESULT))
        sim_fail(world, "a second result of %.*s", STR_ARG(event->call));
}

void check_row(struct world *world, const struct flight *flight, const struct event *event)
{
    if (world->trace)
        (void)printf("%llu %s %.*s %.*s\n", (unsigned long long)event->seq, event_kind_name(event->kind),
                     STR_ARG(event->call), STR_ARG(event->data));
    if (event->kind == EVENT_TOOL_CALL)
        check_call(world, flight, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        check_response(world, event);
    else if (event->kind == EVENT_TOOL_RESULT)
        check_result(world, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_ALERT && (find_before(world, event, EVENT_TOOL_APPROVAL_ALERT) ||
                                                           find_before(world, event, EVENT_TOOL_APPROVAL_RESPONSE)))
        sim_fail(world, "an alert for %.*s that nobody needs", STR_ARG(event->call));
}

/* What is acknowledged is durable: it is among the rows, as it was handed over. */
void check_answer(struct world *world, const struct flight *flight)
{
    const struct append *append = flight->append;
    if (flight->committed && append->outcome != APPEND_KEPT)
        return;
    for (unsigned i = 0; i < append->event_count; i++) {
        const struct event *event = &append->events[i];
        if (!event->seq || event->seq > world->count || !str_eq(world->rows[event->seq - 1].data, event->data))
            sim_fail(world, "acknowledged and not durable: %.*s", STR_ARG(event->call));
    }
}

/* After the calm phase: nothing is under way, everyone has been told, and who had a deadline has an answer. */
void check_end(struct world *world)
{
    for (int i = 0; i < FLIGHTS_MAX; i++)
        if (world->flights[i].append)
            sim_fail(world, "an append never came back");
    for (int i = 0; i < REPORTS_MAX; i++)
        if (world->reports[i].busy)
            sim_fail(world, "a report never ended");
    for (size_t i = 0; i < world->count; i++) {
        const struct event *request = &world->rows[i];
        if (request->kind != EVENT_TOOL_APPROVAL_REQUEST)
            continue;
        struct event end = *request; /* a row behind the last */
        bool answered = find_before(world, &end, EVENT_TOOL_APPROVAL_RESPONSE) != NULL;
        if (!answered && says(request, "\"deadline\""))
            sim_fail(world, "the deadline of %.*s never fired", STR_ARG(request->call));
        for (int n = 0; n < NODES; n++)
            if ((world->nodes[n].open[slot_of(request)] != NULL) == answered)
                sim_fail(world, "node %d sees %.*s as it is not", n, STR_ARG(request->call));
    }
}
