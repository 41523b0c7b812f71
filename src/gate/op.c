/* The driver of operations: asks their steps what they need, does it on the loop, and gives them back when they end. */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "io/clock.h"

struct now gate_now(void) { return (struct now){.wall_ms = clock_wall_ms(), .steady_us = clock_steady_us()}; }

/* ---- steps ---- */

/* The append of an operation came back. Its share of the quota for calls on their way is given back: a call
 * that was kept is counted by the view from now on. */
static void kept(struct append *append)
{
    struct op *op = append->arg;
    if (op->counted)
        quota_give(op->gate, op->share, append->events[0].session, op->counted);
    op->counted = 0;
    if (op->step == ask_step && append->outcome != APPEND_KEPT)
        judge_release(op->gate, append);
    op->append = append;
    op_go(op);
}

/* Counts a request that is being stored as waiting, and reserves the rule uses on which its call rests. */
static void count_ask(struct op *op, const struct append *append)
{
    const struct ask *ask = (struct ask *)op;
    judge_reserve(op->gate, append);
    if (append->event_count < 2 || append->events[1].kind != EVENT_TOOL_APPROVAL_REQUEST)
        return;
    op->counted = 1 + ask->input->raw.n + ask->preview.n + ask->in_file.n;
    op->share = quota_take(op->gate, append->events[0].actor, append->events[0].session, op->counted);
}

static void keep(struct op *op, struct append *append)
{
    if (op->step == ask_step)
        count_ask(op, append);
    append->done = kept;
    append->arg = op;
    store_append(op->gate->store, append);
}

static void answered(struct read *read)
{
    struct op *op = read->arg;
    op->read = read;
    op_go(op);
}

static void park(struct op *op)
{
    struct ask *ask = (struct ask *)op;
    if (ask->waits)
        ask->waits(ask);
}

/* The session is lent to the next step, now or when it has been read. */
static void look_up(struct op *op, struct str id)
{
    const struct session *session = NULL;
    if (sessions_have(op->gate, id, op, &session))
        op_give_session(op, session, &(struct err){.code = ERR_OK});
}

/* Takes one step of the operation, then frees the answer (read or append) that the step was given. */
void op_go(struct op *op)
{
    struct gate *gate = op->gate;
    struct out out = {0};
    if (op->finding == FIND_DONE || core_find(op, &out))
        op->step(&gate->core, op, gate_now(), &out);
    read_free(op->read);
    append_free(op->append);
    op->read = NULL;
    op->append = NULL;
    op->session = NULL;
    if (out.append) {
        keep(op, out.append);
    } else if (out.read) {
        out.read->done = answered;
        out.read->arg = op;
        store_read(gate->store, out.read);
    } else if (!str_empty(out.look) || !str_empty(out.judge)) {
        op->judged = str_empty(out.look);
        look_up(op, op->judged ? out.judge : out.look);
    } else if (out.check) {
        op->check(op);
        op_go(op);
    } else if (out.work) {
        op->work(op, out.work);
    } else if (out.park) {
        park(op);
    } else {
        op_end(op);
    }
}

void op_give_session(struct op *op, const struct session *session, const struct err *err)
{
    ARENA_SCOPE(scratch);
    if (!core_lend(op, session, err)) {
        op_end(op);
        return;
    }
    if (err->code == ERR_OK && op->judged)
        op->judge(op, &scratch);
    op_go(op);
}

void ops_wake(struct gate *gate)
{
    for (struct op *op; (op = waits_next(&gate->core, gate_now()));)
        op_go(op);
}

/* ---- beginning operations ---- */

static void begin(struct gate *gate, struct op *op, unsigned phase)
{
    CHECK(op->done && op->arena);
    op->gate = gate;
    op->phase = phase;
    if (op->finding == FIND_NAMED)
        look_up(op, *op->find_session);
    else
        op_go(op);
}

static void begin_ask(struct gate *gate, struct ask *ask, unsigned phase)
{
    if (!ask->call)
        ask->call = arena_new(ask->op.arena, struct call);
    begin(gate, &ask->op, phase);
}

void gate_ask(struct gate *gate, struct ask *ask)
{
    CHECK(ask->input && ask->input->type == JSON_OBJECT);
    ask->op.step = ask_step;
    ask->op.judge = judge_ask;
    ask->op.work = look_work;
    begin_ask(gate, ask, ASK_BEGIN);
}

void gate_status(struct gate *gate, struct ask *ask)
{
    ask->op.step = ask_step;
    core_finds(&ask->op, &ask->session, ask->id);
    begin_ask(gate, ask, ASK_STATUS);
}

void gate_decide(struct gate *gate, struct decide *decide)
{
    decide->op.step = decide_step;
    decide->op.check = judge_check_decide;
    decide->op.judge = judge_decide;
    core_finds(&decide->op, &decide->session, decide->call_id);
    begin(gate, &decide->op, 0);
}

void gate_report(struct gate *gate, struct report *report)
{
    report->op.step = report_step;
    core_finds(&report->op, &report->session, report->call);
    begin(gate, &report->op, 0);
}

void op_execute(struct gate *gate, struct execute *execute)
{
    execute->op.step = execute_step;
    begin(gate, &execute->op, 0);
}

void op_keep(struct gate *gate, struct kept_event *kept, struct event event)
{
    kept->event = event;
    kept->op.step = keep_step;
    begin(gate, &kept->op, 0);
}

void gate_release(struct gate *gate)
{
    gate->core.released = true;
    ops_wake(gate);
}

bool gate_forget(struct ask *ask)
{
    if (!ask->parked) {
        ask->hung_up = true;
        return false;
    }
    waits_leave(&ask->op.gate->core, ask, true, gate_now());
    return true;
}

bool gate_awaited(const struct ask *ask)
{
    CHECK(!ask->registered);
    return ask->op.gate && waits_awaited(&ask->op.gate->core, ask->session, ask->id);
}

/* ---- the end ---- */

/* The end of an operation is noted; `done` is called later by ops_serve, never from inside a step. */
void op_end(struct op *op)
{
    struct gate *gate = op->gate;
    CHECK(op->done);
    if (op->end)
        op->end(op);
    read_free(op->found);
    op->found = NULL;
    op->next = NULL;
    *gate->ended_end = op;
    gate->ended_end = &op->next;
}

enum { SERVE_ROUNDS_MAX = 8 };

/* Before the loop sleeps. `done` may begin new operations, which may end at once: so in rounds, and not for
 * ever. */
bool ops_serve(struct gate *gate)
{
    for (int round = 0; gate->ended && round < SERVE_ROUNDS_MAX; round++) {
        struct op *op = gate->ended, *next;
        gate->ended = NULL;
        gate->ended_end = &gate->ended;
        for (; op; op = next) {
            next = op->next; /* `done` may free it */
            if (op->lends_session && !sessions_lend(gate, (struct session_look *)op))
                continue;
            gate_op_tell(op);
        }
    }
    return gate->ended != NULL;
}

static bool before_sleep(void *arg)
{
    struct gate *gate = arg;
    bool more = ops_serve(gate);
    deadlines_arm(gate);
    gate->rules.turn++;
    return more;
}

void ops_init(struct gate *gate)
{
    gate->ended_end = &gate->ended;
    gate->before_sleep = (struct before_sleep){.before = before_sleep, .arg = gate};
    loop_before_sleep(gate->loop, &gate->before_sleep);
}
