/* Operations of clients: each step of the core is taken here, and what it asks for is given late, or never. */
#include "sim/sim.h"

struct sim_op *op_new(struct world *world, enum op_kind kind, int node, int slot)
{
    for (int i = 0; i < OPS_MAX; i++) {
        struct sim_op *op = &world->ops[i];
        if (op->kind != OP_NONE)
            continue;
        *op = (struct sim_op){.kind = kind, .node = node, .slot = slot,
                               .began_ms = node_now(world, node).wall_ms};
        op->op.arena = &op->arena;
        return op;
    }
    return NULL;
}

void op_forget(struct sim_op *op)
{
    read_free(op->read);
    arena_done(&op->arena);
    *op = (struct sim_op){0};
}

/* The needs that a mistake leaves out. */
static void spoil(const struct world *world, const struct sim_op *op, struct append *append)
{
    enum mistake mistake = world->mistake;
    bool asks = op->kind == OP_ASK, answers = op->kind == OP_DECIDE || op->kind == OP_TIMEOUT;
    struct need none = {.need = NEED_NONE_AFTER, .seq = UINT64_MAX};
    if (asks && mistake == MISTAKE_SECOND_CALL)
        append->needs[0] = none;
    if (asks && mistake == MISTAKE_OLD_VERDICT)
        append->needs[1] = none;
    if (asks && mistake == MISTAKE_OLD_RULES)
        append->needs[2] = none;
    if (answers && mistake == MISTAKE_SECOND_RESPONSE)
        append->needs[1] = none;
    if (op->kind == OP_REPORT && mistake == MISTAKE_SECOND_RESULT)
        append->needs[0] = none;
}

static void give_up(struct world *world, struct sim_op *op)
{
    if (op->kind == OP_TIMEOUT)
        node_put_back(&world->nodes[op->node], op->slot, false);
    op_forget(op);
}

static void end(struct world *world, struct sim_op *op)
{
    check_op(world, op);
    world->ended[op->kind]++;
    give_up(world, op);
}

void op_step(struct world *world, struct sim_op *op)
{
    struct out out = {0};
    struct core *core = &world->nodes[op->node].core;
    op->parked = false;
    do {
        out = (struct out){0};
        op->op.step(core, &op->op, node_now(world, op->node), &out);
    } while (out.check); /* everyone may */
    op->op.read = NULL;
    op->op.append = NULL;
    op->op.session = NULL;
    if (out.append) {
        spoil(world, op, out.append);
        if (!flight_new(world, op, op->node, op->slot, out.append))
            give_up(world, op); /* too much is under way */
    } else if (out.read) {
        op->read = out.read;
    } else if (!str_empty(out.judge)) {
        op->judge = true;
    } else if (out.park) {
        op->parked = true;
    } else {
        end(world, op);
    }
}

/* What rules say: by luck, and by the session as this node knows it now. */
void op_give_judgement(struct world *world, struct sim_op *op)
{
    const struct node *node = &world->nodes[op->node];
    struct session_thread thread = {.id = STR("main")};
    struct session session = {.changed_seq = node->changed[op->slot / CALLS], .threads = &thread,
                              .timeout_seconds = (int64_t)sim_random(world, 3) * 4};
    uint64_t luck = sim_random(world, 10);
    struct verdict verdict = {.effect = luck < 7 ? EFFECT_ASK : luck < 9 ? EFFECT_ALLOW : EFFECT_DENY,
                              .source = STR("default"), .why = STR("because")};
    op->judge = false;
    op->op.session = &session;
    if (op->kind == OP_ASK)
        op->ask.verdict = &verdict;
    op->judged_at = session.changed_seq;
    op->delivered = node->core.delivered;
    op_step(world, op);
}

/* The client of a parked ask leaves; of another, it is noticed when it would park. */
void op_hang_up(struct world *world, struct sim_op *op)
{
    if (!op->parked) {
        op->ask.hung_up = true;
        return;
    }
    waits_leave(&world->nodes[op->node].core, &op->ask, true, node_now(world, op->node));
    op_forget(op);
}
