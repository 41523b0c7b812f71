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
        op->done(op);
    }
}

void gate_submit(struct gate *gate, struct op *op)
{
    CHECK(op->step && op->done && op->phase == 0);
    op->gate = gate;
    go(op);
}

void gate_report(struct gate *gate, struct report *report)
{
    report->op.step = report_step;
    gate_submit(gate, &report->op);
}
