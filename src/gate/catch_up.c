/* A store that several nodes share: what the others have kept, known here before somebody is refused. */
#include "gate/inner.h"

bool gate_is_shared(const struct gate *gate) { return store_is_shared(gate->store); }

static void start_catching_up(struct gate *gate);

/* Those who came while the read was under way are served by the next one: this read may not have seen what they
 * need. */
static void caught_up(struct read *read)
{
    struct gate *gate = read->arg;
    struct op *served = gate->catching;
    struct err err = read->err;
    read_free(read);
    gate->catching = gate->catching_next;
    gate->catching_next = NULL;
    if (gate->catching)
        start_catching_up(gate);
    while (served) {
        struct op *next = served->next;
        gate_op_take(served, &err);
        op_end(served);
        served = next;
    }
}

/* Starts a read that returns no event; its answer comes after all events that the store had. */
static void start_catching_up(struct gate *gate)
{
    gate_read(gate, read_new_of((struct read){.kind = READ_EVENTS, .after = UINT64_MAX, .limit = 1}), caught_up, gate);
}

void gate_catch_up(struct gate *gate, struct op *op)
{
    struct op **list = gate->catching ? &gate->catching_next : &gate->catching;
    bool first = !gate->catching;
    op->gate = gate;
    op->next = *list;
    *list = op;
    if (first)
        start_catching_up(gate);
}
