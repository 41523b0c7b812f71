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

static bool is_of_installation(const struct event *event)
{
    return event->kind == EVENT_RULE_CHANGED || event->kind == EVENT_TOKEN_CHANGED;
}

static void check_call(struct world *world, const struct flight *flight, const struct event *event)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < world->count; i++)
        if (world->rows[i].kind == EVENT_SESSION_CHANGED && str_eq(world->rows[i].session, event->session))
            changed = world->rows[i].seq;
    if (find_before(world, event, EVENT_TOOL_CALL))
        sim_fail(world, "a second call %.*s", STR_ARG(event->call));
    if (!flight->op || flight->op->judged_at != changed)
        sim_fail(world, "judged by a session that had changed: %.*s", STR_ARG(event->call));
    for (size_t i = 0; i < world->count; i++)
        if (is_of_installation(&world->rows[i]) && flight->op && world->rows[i].seq > flight->op->delivered)
            sim_fail(world, "judged by rules or tokens that had changed: %.*s", STR_ARG(event->call));
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

static void check_response(struct world *world, const struct flight *flight, const struct event *event)
{
    const struct event *request = find_before(world, event, EVENT_TOOL_APPROVAL_REQUEST);
    if (!request) {
        sim_fail(world, "a response to %.*s, which was not requested", STR_ARG(event->call));
        return;
    }
    if (find_before(world, event, EVENT_TOOL_APPROVAL_RESPONSE))
        sim_fail(world, "a second response to %.*s", STR_ARG(event->call));
    if (says(event, "\"timeout\"") && (!flight->op || flight->op->began_ms < deadline_of(request)))
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

/* A run is claimed by whoever saw its last status: no two rows rest on the same. */
static void check_run(struct world *world, const struct flight *flight)
{
    struct str session = flight->append->events[0].session;
    uint64_t last = 0;
    for (size_t i = 0; i < world->count; i++)
        if (world->rows[i].kind == EVENT_RUN_STATUS && str_eq(world->rows[i].session, session))
            last = world->rows[i].seq;
    if (flight->append->need_count == 0 ? last != 0 : flight->append->needs[0].seq != last)
        sim_fail(world, "a run is claimed by one who did not see its last status");
}

void check_row(struct world *world, const struct flight *flight, const struct event *event)
{
    if (world->trace)
        (void)printf("%llu %s %.*s %.*s\n", (unsigned long long)event->seq, event_kind_name(event->kind),
                     STR_ARG(event->call), STR_ARG(event->data));
    if (event->kind == EVENT_TOOL_CALL)
        check_call(world, flight, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        check_response(world, flight, event);
    else if (event->kind == EVENT_TOOL_RESULT)
        check_result(world, event);
    else if (event->kind == EVENT_RUN_STATUS)
        check_run(world, flight);
    else if (event->kind == EVENT_TOOL_APPROVAL_ALERT && (find_before(world, event, EVENT_TOOL_APPROVAL_ALERT) ||
                                                           find_before(world, event, EVENT_TOOL_APPROVAL_RESPONSE)))
        sim_fail(world, "an alert for %.*s that nobody needs", STR_ARG(event->call));
}

/* What is acknowledged is durable: it is among the rows, as it was handed over. */
void check_append(struct world *world, const struct append *append, bool committed)
{
    if (committed && append->outcome != APPEND_KEPT)
        return;
    for (unsigned i = 0; i < append->event_count; i++) {
        const struct event *event = &append->events[i];
        if (!event->seq || event->seq > world->count || !str_eq(world->rows[event->seq - 1].data, event->data))
            sim_fail(world, "acknowledged and not durable: %.*s", STR_ARG(event->call));
    }
}

/* ---- answers ---- */

static const struct event *find(const struct world *world, int slot, enum event_kind kind)
{
    struct event end = {.session = slot_session(slot), .call = slot_call(slot)}; /* a row behind the last */
    return find_before(world, &end, kind);
}

/* What a client is told of a call is what the rows say; a loser is told who won. */
static void check_told(struct world *world, const struct sim_op *op, const struct call *told)
{
    const struct event *response = find(world, op->slot, EVENT_TOOL_APPROVAL_RESPONSE);
    if (told->response_seq && (!response || response->seq != told->response_seq))
        sim_fail(world, "told of a response to %.*s that is not there", STR_ARG(slot_call(op->slot)));
    if (told->response_seq && response && !says(response, decision_name(told->decision)))
        sim_fail(world, "told of another response to %.*s than there is", STR_ARG(slot_call(op->slot)));
    if (!told->response_seq && told->by_policy && !find(world, op->slot, EVENT_TOOL_CALL))
        sim_fail(world, "told of a verdict on %.*s that was not kept", STR_ARG(slot_call(op->slot)));
}

void check_op(struct world *world, const struct sim_op *op)
{
    enum err_code code = op->op.err.code;
    bool told = code == ERR_OK || code == ERR_ALREADY_DECIDED;
    if (op->kind == OP_ASK || op->kind == OP_STATUS) {
        int64_t now_us = node_now(world, op->node).steady_us;
        if (code == ERR_OK)
            check_told(world, op, &op->ask.call);
        if (code == ERR_OK && op->ask.call.status == CALL_AWAITING && op->ask.wait_ms && !op->ask.hung_up &&
            now_us < op->ask.wait.time)
            sim_fail(world, "a wait for %.*s ends before its time", STR_ARG(slot_call(op->slot)));
    } else if ((op->kind == OP_DECIDE || op->kind == OP_TIMEOUT) && told) {
        check_told(world, op, &op->decide.call);
        bool by_rules = code == ERR_ALREADY_DECIDED && op->decide.call.by_policy;
        if (!by_rules && !find(world, op->slot, EVENT_TOOL_APPROVAL_RESPONSE))
            sim_fail(world, "a decision on %.*s is acknowledged and not durable", STR_ARG(slot_call(op->slot)));
    } else if (op->kind == OP_REPORT && code == ERR_OK && !find(world, op->slot, EVENT_TOOL_RESULT)) {
        sim_fail(world, "a result of %.*s is acknowledged and not durable", STR_ARG(slot_call(op->slot)));
    }
}

/* Nobody waits for what this node was told of, and nobody beyond its time. */
void check_waiters(struct world *world, const struct node *node)
{
    int number = (int)(node - world->nodes);
    for (int i = 0; i < OPS_MAX; i++) {
        const struct sim_op *op = &world->ops[i];
        if (op->kind == OP_NONE || op->node != number || !op->parked)
            continue;
        const struct event *response = find(world, op->slot, EVENT_TOOL_APPROVAL_RESPONSE);
        if (response && response->seq <= node->told)
            sim_fail(world, "somebody waits for %.*s, which is answered", STR_ARG(slot_call(op->slot)));
        if (op->ask.wait.time <= node_now(world, number).steady_us)
            sim_fail(world, "somebody waits for %.*s beyond the time", STR_ARG(slot_call(op->slot)));
    }
}

/* After the calm phase: nothing is under way, everyone has been told, and who had a deadline has an answer. */
void check_end(struct world *world)
{
    for (int i = 0; i < FLIGHTS_MAX; i++)
        if (world->flights[i].append)
            sim_fail(world, "an append never came back");
    for (int i = 0; i < OPS_MAX; i++)
        if (world->ops[i].kind != OP_NONE)
            sim_fail(world, "an operation never ended");
    for (int slot = 0; slot < SLOTS; slot++) {
        const struct event *request = find(world, slot, EVENT_TOOL_APPROVAL_REQUEST);
        if (!request)
            continue;
        bool answered = find(world, slot, EVENT_TOOL_APPROVAL_RESPONSE) != NULL;
        if (!answered && says(request, "\"deadline\""))
            sim_fail(world, "the deadline of %.*s never fired", STR_ARG(request->call));
        for (int n = 0; n < NODES; n++)
            if ((core_open(&world->nodes[n].core, request->session, request->call) != NULL) == answered)
                sim_fail(world, "node %d sees %.*s as it is not", n, STR_ARG(request->call));
    }
}
