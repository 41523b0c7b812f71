/* A node: follows the store, and drives the core as gate/ does. */
#include "sim/sim.h"

#include "event/shapes.h"

#include <stdlib.h>

static const int64_t alert_after_ms = 3000;

struct flight *flight_new(struct world *world, enum flight_kind kind, int node, int slot, struct append *append)
{
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &world->flights[i];
        if (flight->append)
            continue;
        *flight = (struct flight){.append = append, .kind = kind, .node = node, .slot = slot, .order = ++world->order};
        if (world->mistake == MISTAKE_EARLY_ANSWER && kind == FLIGHT_RESPONSE)
            check_answer(world, flight);
        return flight;
    }
    append_free(append);
    return NULL;
}

static void close_open(struct node *node, int slot)
{
    if (!node->open[slot])
        return;
    due_remove(&node->due, node->open[slot]);
    node->open[slot] = NULL;
}

static void take_request(struct world *world, struct node *node, int slot, const struct event *event)
{
    struct data_tool_approval_request data;
    CHECK(READ_DATA(&node->arena, tool_approval_request, event->data, &data));
    struct open *open = arena_new(&node->arena, struct open);
    *open = (struct open){.session = event->session, .call = event->call, .thread = event->thread, .name = data.tool,
                          .digest = data.digest, .requested_ms = event->at_ms, .deadline_ms = data.deadline};
    node->open[slot] = open;
    if (world->mistake != MISTAKE_DEADLINE_LOST || !node->restarted)
        due_add(&node->due, open, alert_after_ms);
}

static void follow_one(struct world *world, struct node *node, const struct event *event)
{
    if (event->kind == EVENT_SESSION_CHANGED) {
        node->changed[str_eq(event->session, slot_session(0)) ? 0 : 1] = event->seq;
        return;
    }
    int slot = slot_of(event);
    call_apply(&node->arena, &node->calls[slot], event);
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        take_request(world, node, slot, event);
    if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        close_open(node, slot);
    if (event->kind == EVENT_TOOL_APPROVAL_ALERT && node->open[slot]) {
        struct open *open = node->open[slot];
        due_remove(&node->due, open);
        open->alerted = true;
        due_add(&node->due, open, alert_after_ms);
    }
}

void node_follow(struct world *world, struct node *node, size_t rows)
{
    while (rows-- && node->told < world->count)
        follow_one(world, node, &world->rows[node->told++]);
}

/* kill -9: views are gone; what was not committed never happened; who waited for an answer gets none. */
void node_restart(struct world *world, struct node *node)
{
    int number = (int)(node - world->nodes);
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &world->flights[i];
        if (!flight->append || flight->node != number)
            continue;
        append_free(flight->append);
        *flight = (struct flight){0};
    }
    for (int i = 0; i < REPORTS_MAX; i++) {
        struct sim_report *report = &world->reports[i];
        if (!report->busy || report->node != number)
            continue;
        read_free(report->read);
        arena_done(&report->arena);
        *report = (struct sim_report){0};
    }
    due_done(&node->due);
    arena_done(&node->arena);
    *node = (struct node){.skew_ms = node->skew_ms, .restarted = true};
    node_follow(world, node, world->count); /* recovery reads all that is open */
}

static void time_out(struct world *world, int number, int slot, struct open *open, struct now now)
{
    struct decide decide = {.session = open->session, .call_id = open->call, .decision = DECISION_TIMEOUT,
                            .actor = STR("nod")};
    (void)flight_new(world, FLIGHT_RESPONSE, number, slot, core_response_append(&decide, open, now));
}

/* What is due is tried, and comes again when the store could not keep it. */
void node_fire(struct world *world, int number)
{
    struct node *node = &world->nodes[number];
    struct now now = {.wall_ms = world->wall_ms + node->skew_ms};
    int64_t early = world->mistake == MISTAKE_EARLY_TIMEOUT ? 2000 : 0;
    for (struct open *open; (open = due_first(&node->due, now.wall_ms + early));) {
        int slot = -1;
        for (int i = 0; i < SLOTS; i++)
            if (node->open[i] == open)
                slot = i;
        CHECK(slot >= 0);
        due_remove(&node->due, open);
        if (open->deadline_ms && open->deadline_ms <= now.wall_ms + early) {
            time_out(world, number, slot, open, now);
        } else {
            struct append *append = core_alert_append(open, now);
            if (world->mistake == MISTAKE_SECOND_ALERT)
                append->need_count = 0;
            (void)flight_new(world, FLIGHT_ALERT, number, slot, append);
        }
    }
}

void report_move(struct world *world, struct sim_report *report)
{
    struct out out = {0};
    struct op *op = &report->report.op;
    op->step(op, (struct now){.wall_ms = world->wall_ms}, &out);
    op->read = NULL;
    op->append = NULL;
    if (out.append) {
        if (world->mistake == MISTAKE_SECOND_RESULT)
            out.append->need_count = 0;
        struct flight *flight = flight_new(world, FLIGHT_REPORT, report->node, report->slot, out.append);
        if (flight)
            flight->report = &report->report;
        else
            report->busy = false; /* too much is under way: it is given up */
    } else if (out.read) {
        report->read = out.read;
    } else {
        report->busy = false;
    }
    if (!report->busy)
        arena_done(&report->arena);
}

/* The owner of an append gets it back, after its node was told of all that came before it. */
void node_hand_back(struct world *world, struct flight *flight)
{
    struct append *append = flight->append;
    struct node *node = &world->nodes[flight->node];
    struct flight back = *flight;
    while (append->outcome == APPEND_KEPT && node->told < append->events[append->event_count - 1].seq)
        node_follow(world, node, 1);
    check_answer(world, flight);
    *flight = (struct flight){0};
    struct open *open = node->open[back.slot];
    if (open && open->heap_at == 0 && (back.kind == FLIGHT_RESPONSE || back.kind == FLIGHT_ALERT)) {
        open->alerted = open->alerted || back.kind == FLIGHT_ALERT;
        due_add(&node->due, open, alert_after_ms);
    }
    if (back.report) {
        struct sim_report *report = (struct sim_report *)back.report;
        report->report.op.append = append;
        report_move(world, report);
    }
    append_free(append);
}
