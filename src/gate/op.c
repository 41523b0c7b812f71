/* The driver of operations: asks their steps what they need, and does it on the loop. */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "io/clock.h"

static void go(struct op *op);

static void kept(struct append *append)
{
    struct op *op = append->arg;
    op->append = append;
    go(op);
}

static void answered(struct read *read)
{
    struct op *op = read->arg;
    op->read = read;
    go(op);
}

/* One step. The answer that it was given is freed behind it. */
static void go(struct op *op)
{
    struct out out = {0};
    struct read *read = op->read;
    struct append *append = op->append;
    op->step(op, (struct now){.wall_ms = clock_wall_ms()}, &out);
    op->read = NULL;
    op->append = NULL;
    read_free(read);
    append_free(append);
    if (out.append) {
        out.append->done = kept;
        out.append->arg = op;
        store_append(op->gate->store, out.append);
    } else if (out.read) {
        out.read->done = answered;
        out.read->arg = op;
        store_read(op->gate->store, out.read);
    } else {
        op_end(op);
    }
}

void gate_report(struct gate *gate, struct report *report)
{
    report->op.gate = gate;
    report->op.step = report_step;
    go(&report->op);
}

/* ---- the end ---- */

void op_end(struct op *op)
{
    struct gate *gate = op->gate;
    CHECK(op->done);
    op->next = NULL;
    *gate->ended_end = op;
    gate->ended_end = &op->next;
}

enum { SERVE_ROUNDS_MAX = 8 };

bool ops_serve(struct gate *gate)
{
    for (int round = 0; gate->ended && round < SERVE_ROUNDS_MAX; round++) {
        struct op *op = gate->ended, *next;
        gate->ended = NULL;
        gate->ended_end = &gate->ended;
        for (; op; op = next) {
            next = op->next; /* `done` may free it */
            if (!op->lends_session || sessions_lend(gate, (struct session_look *)op))
                op->done(op);
        }
    }
    return gate->ended != NULL;
}

static bool before_sleep(void *arg) { return ops_serve(arg); }

void ops_init(struct gate *gate)
{
    gate->ended_end = &gate->ended;
    gate->before_sleep = (struct before_sleep){.before = before_sleep, .arg = gate};
    loop_before_sleep(gate->loop, &gate->before_sleep);
}
