/* A node: follows the store, and does by itself what is due, as gate/ does. */
#include "sim/sim.h"

#include "event/shapes.h"

#include <stdlib.h>

enum { ALERT_AFTER_MS = 3000, WITHDRAW_AFTER_MS = 5000 };

struct now node_now(const struct world *world, int node)
{
    int64_t skew_ms = world->nodes[node].skew_ms;
    return (struct now){.wall_ms = world->wall_ms + skew_ms, .steady_us = world->wall_ms * 1000};
}

struct flight *flight_new(struct world *world, struct sim_op *op, int node, int slot, struct append *append)
{
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &world->flights[i];
        if (flight->append)
            continue;
        *flight = (struct flight){.append = append, .op = op, .node = node, .slot = slot, .order = ++world->order};
        if (world->mistake == MISTAKE_EARLY_ANSWER && op && op->kind == OP_DECIDE)
            check_append(world, append, true);
        return flight;
    }
    append_free(append);
    return NULL;
}

static void take_request(struct world *world, struct node *node, const struct event *event)
{
    struct data_tool_approval_request data;
    struct call_key key = call_key(event->session, event->call);
    CHECK(READ_DATA(&node->arena, tool_approval_request, event->data, &data));
    struct open *open = arena_new(&node->arena, struct open);
    *open = (struct open){.session = event->session, .call = event->call, .thread = event->thread, .name = data.tool,
                          .digest = data.digest, .requested_ms = event->at_ms, .deadline_ms = data.deadline,
                          .waits = data.waits, .withdraws = data.withdraws};
    (void)map_put(&node->core.open, call_key_str(&key), open);
    if (world->mistake != MISTAKE_DEADLINE_LOST || !node->restarted)
        core_due_add(&node->core, open);
}

static void follow_one(struct world *world, struct node *node, const struct event *event)
{
    int session = str_eq(event->session, slot_session(0)) ? 0 : 1;
    node->core.delivered = event->seq;
    if (event->kind == EVENT_SESSION_CHANGED)
        node->changed[session] = event->seq;
    if (event->kind == EVENT_RUN_STATUS)
        node->run_at[session] = event->seq;
    if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        take_request(world, node, event);
    struct open *open = str_empty(event->call) ? NULL : core_open(&node->core, event->session, event->call);
    if (open && event->kind == EVENT_TOOL_APPROVAL_ALERT)
        core_alerted(&node->core, open);
    if (open && event->kind == EVENT_TOOL_APPROVAL_RESPONSE) {
        struct call_key key = call_key(event->session, event->call);
        core_due_remove(&node->core, open);
        (void)map_take(&node->core.open, call_key_str(&key));
    }
    if (world->mistake != MISTAKE_RING_LOST)
        waits_follow(&node->core, event);
}

/* Whoever was rung, or has waited long enough, takes a step. */
static void wake(struct world *world, struct node *node)
{
    struct now now = node_now(world, (int)(node - world->nodes));
    if (world->mistake == MISTAKE_WAIT_FOREVER)
        now.steady_us = 0;
    for (struct op *op; (op = waits_next(&node->core, now));)
        op_step(world, (struct sim_op *)op);
    check_waiters(world, node);
}

void node_follow(struct world *world, struct node *node, size_t rows)
{
    while (rows-- && node->told < world->count) {
        follow_one(world, node, &world->rows[node->told++]);
        wake(world, node);
    }
}

void node_done(struct node *node)
{
    map_done(&node->core.open);
    map_done(&node->core.waiters);
    due_done(&node->core.due);
    due_done(&node->core.waits);
    arena_done(&node->arena);
}

/* kill -9: views are gone; what was not committed never happened; whoever waited for an answer gets none. */
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
    for (int i = 0; i < OPS_MAX; i++)
        if (world->ops[i].kind != OP_NONE && world->ops[i].node == number)
            op_forget(&world->ops[i]);
    node_done(node);
    *node = (struct node){.skew_ms = node->skew_ms, .restarted = true};
    node->core.alert_ms = ALERT_AFTER_MS;
    node->core.withdraw_ms = WITHDRAW_AFTER_MS;
    node_follow(world, node, world->count); /* recovery reads all that is open */
}

/* As deadlines.c: a decision like any other, by Nod itself. */
static void end_call(struct world *world, int number, struct open *open, enum decision decision)
{
    int slot = slot_of(&(struct event){.session = open->session, .call = open->call});
    struct sim_op *op = op_new(world, OP_TIMEOUT, number, slot);
    if (!op) { /* later */
        open->ending = false;
        core_due_add(&world->nodes[number].core, open);
        return;
    }
    op->decide.session = open->session;
    op->decide.call_id = open->call;
    op->decide.decision = decision;
    op->decide.actor = STR("nod");
    op->op.step = decide_step;
    op_step(world, op);
}

void node_fire(struct world *world, int number)
{
    struct node *node = &world->nodes[number];
    struct now now = node_now(world, number);
    int64_t at = now.wall_ms + (world->mistake == MISTAKE_EARLY_TIMEOUT ? 2000 : 0);
    int rounds = 0;
    for (struct open *open; rounds++ < SLOTS && (open = core_due_first(&node->core, at));) {
        core_due_remove(&node->core, open);
        open->ending = true;
        if (open->deadline_ms && open->deadline_ms <= at) {
            end_call(world, number, open, DECISION_TIMEOUT);
        } else if (open->withdraw_ms && open->withdraw_ms <= at) {
            end_call(world, number, open, DECISION_CANCELLED);
        } else {
            struct append *append = core_alert_append(open, now);
            if (world->mistake == MISTAKE_SECOND_ALERT)
                append->need_count = 0;
            if (!flight_new(world, NULL, number, slot_of(&(struct event){.session = open->session, .call = open->call}),
                            append)) {
                open->ending = false;
                core_due_add(&node->core, open);
            }
        }
    }
    wake(world, node);
}

void node_put_back(struct node *node, int slot, bool alerted)
{
    struct open *open = core_open(&node->core, slot_session(slot), slot_call(slot));
    if (!open || open->due.heap_at)
        return;
    open->ending = false;
    open->alerted = open->alerted || alerted;
    core_due_add(&node->core, open);
}

/* The owner of an append gets it back, after its node was told of all that came before it. */
void node_hand_back(struct world *world, struct flight *flight)
{
    struct append *append = flight->append;
    struct node *node = &world->nodes[flight->node];
    struct flight back = *flight;
    bool kept = append->outcome == APPEND_KEPT;
    *flight = (struct flight){0};
    while (kept && node->told < append->events[append->event_count - 1].seq)
        node_follow(world, node, 1);
    check_append(world, append, true);
    if (back.op) {
        back.op->op.append = append;
        op_step(world, back.op);
    }
    if (!back.op && append->events[0].kind == EVENT_TOOL_APPROVAL_ALERT)
        node_put_back(node, back.slot, append->outcome != APPEND_FAILED);
    append_free(append);
}
