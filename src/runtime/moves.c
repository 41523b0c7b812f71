/* Runs are moved from outside: created, executed, cancelled. On the loop.
 *
 * Each reads the thread's last status and keeps the next one under the need that it is still the last. Nothing here
 * works on a run; whoever is at work notices by its fence.
 */
#include "runtime/inner.h"

#include "io/clock.h"

#include <stdlib.h>

/* ---- a new run ---- */

static void read_thread(struct run_op *op, void (*done)(struct read *read))
{
    gate_read_whole(op->runtime->gate,
                    read_new_of((struct read){.kind = READ_EVENTS, .session = op->session, .thread = op->thread,
                                              .kinds = (uint64_t)1 << EVENT_RUN_STATUS, .done = done, .arg = op}));
}

/* Refused: another run of the thread was stored between our read and our append. */
static void created(struct append *append)
{
    struct run_op *start = append->arg;
    if (append->outcome == APPEND_FAILED)
        gate_op_take(&start->op, &append->err);
    else if (append->outcome == APPEND_REFUSED)
        (void)err_set(gate_op_fail(&start->op), ERR_CONFLICT, "the thread got another run meanwhile; try again");
    append_free(append);
    gate_op_tell(&start->op);
}

/* One append: the prompt, the status "pending" and the system prompt, if no other run of the thread began
 * meanwhile. */
static void keep_start(struct run_op *start, uint64_t seq)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    start->id = arena_printf(start->op.arena, "%.*s.%s", STR_ARG(start->session), id_short().text);
    struct event event = {
        .kind = EVENT_USER_MESSAGE,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, start->session),
        .thread = arena_str(arena, start->thread),
        .actor = arena_str(arena, start->actor),
        .data = DATA(arena, user_message, .run = start->id, .text = start->prompt),
    };
    append_need(append, (struct need){
        .need = NEED_RUN_AT, .session = event.session, .call = event.thread, .seq = seq});
    (void)append_event(append, event);
    event.kind = EVENT_RUN_STATUS;
    event.data = DATA(arena, run_status, .run = start->id, .status = str_of(run_status_name(RUN_PENDING)),
                      .model = start->model,
                      .iterations_max = start->iterations_max, .answer_tokens = start->answer_tokens,
                      .iterations = -1);
    (void)append_event(append, event);
    event.kind = EVENT_USER_SYSTEM_PROMPT;
    event.data = DATA(arena, user_system_prompt, .run = start->id, .text = start->system);
    if (start->system.n)
        (void)append_event(append, event);
    append->done = created;
    append->arg = start;
    gate_keep(start->runtime->gate, append);
}

/* One run at a time in a thread. The append needs that the last status is still the one that was read here. */
static void statuses_read(struct read *read)
{
    struct run_op *start = read->arg;
    struct run_state state = {0};
    gate_op_take(&start->op, &read->err);
    bool there = run_state_of(start->op.arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    if (!start->op.err && there && !run_status_over(state.status))
        (void)err_set(gate_op_fail(&start->op), ERR_CONFLICT, "the thread has a run that is %s; cancel it or wait",
                      run_status_name(state.status));
    if (!start->op.err)
        keep_start(start, state.status_seq);
    else
        gate_op_tell(&start->op);
}

void runtime_create(struct runtime *runtime, struct run_op *start)
{
    start->runtime = runtime;
    read_thread(start, statuses_read);
}

/* ---- another status ---- */

/* Requires the state that was read, `from`, to be unchanged. */
static void keep_move(struct run_op *op, const struct run_state *from, enum run_status to,
                      void (*done)(struct append *append))
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_RUN_STATUS,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, op->session),
        .thread = arena_str(arena, op->thread),
        .actor = arena_str(arena, op->actor),
        .data = run_status_data(arena, from, &(struct status_change){.to = to}),
    };
    append_need(append, (struct need){
        .need = NEED_RUN_AT, .session = event.session, .call = event.thread, .seq = from->status_seq});
    (void)append_event(append, event);
    append->done = done;
    append->arg = op;
    gate_keep(op->runtime->gate, append);
}

/* ---- going on ---- */

static void go_now(struct run_op *go)
{
    if (!go->op.err)
        runtime_wake(go->runtime, go->session, go->thread);
    gate_op_tell(&go->op);
}

static void go_kept(struct append *append)
{
    struct run_op *go = append->arg;
    if (append->outcome == APPEND_FAILED)
        gate_op_take(&go->op, &append->err);
    append_free(append); /* refused: someone else was quicker, which is as good */
    go_now(go);
}

/* Whether a new status must be stored before the run goes on: it has not begun, or it has failed. */
static bool must_move(const struct run_op *go, const struct run_state *state)
{
    if (go->id.n && !str_eq(go->id, state->id))
        return false;
    return state->status == RUN_PENDING ||
           (state->status == RUN_FAILED && go->id.n && state->parent.depth == 0);
}

/* Stores the status of a run that was pending or has failed, so that a process takes it up. */
static void go_read(struct read *read)
{
    struct run_op *go = read->arg;
    struct run_state state = {0};
    gate_op_take(&go->op, &read->err);
    bool there = run_state_of(go->op.arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    if (go->op.err || !there || !must_move(go, &state)) {
        go_now(go);
        return;
    }
    keep_move(go, &state, RUN_RUNNING, go_kept);
}

void runtime_execute(struct runtime *runtime, struct run_op *go)
{
    go->runtime = runtime;
    read_thread(go, go_read);
}

/* ---- ending a run ---- */

struct withdrawal {
    struct arena arena;
    struct decide decide;
};

static void withdrawn(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct withdrawal *withdrawal = decide->op.owner;
    arena_free(withdrawal);
}

/* Calls to which nobody needs an answer any more are withdrawn. */
static void open_read(struct read *read)
{
    struct runtime *runtime = read->arg;
    for (size_t i = 0; i < read->open_count; i++) {
        struct withdrawal *withdrawal = heap_new(sizeof *withdrawal);
        struct arena *arena = &withdrawal->arena;
        withdrawal->decide = (struct decide){.op = gate_op(arena, withdrawn, withdrawal),
                                             .session = arena_str(arena, read->open[i].request.session),
                                             .call_id = arena_str(arena, read->open[i].request.call),
                                             .decision = DECISION_CANCELLED, .actor = STR("nod")};
        gate_decide(runtime->gate, &withdrawal->decide);
    }
    read_free(read);
}

/* Withdraws calls that still wait, after the cancellation is stored. No caller waits; a failure does no harm. */
static void withdraw_open(struct runtime *runtime, struct str session, struct str thread)
{
    gate_read(runtime->gate, read_new_of((struct read){.kind = READ_OPEN, .session = session, .thread = thread}),
              open_read, runtime);
}

static void cancel_read(struct read *read);

/* Calls of the run that still wait for a person are withdrawn once the cancellation is durable. */
static void cancel_kept(struct append *append)
{
    struct run_op *cancel = append->arg;
    enum append_outcome outcome = append->outcome;
    if (outcome == APPEND_FAILED)
        gate_op_take(&cancel->op, &append->err);
    append_free(append);
    if (outcome == APPEND_REFUSED) { /* the run's status changed meanwhile: read it again */
        read_thread(cancel, cancel_read);
        return;
    }
    if (outcome == APPEND_KEPT)
        withdraw_open(cancel->runtime, cancel->session, cancel->thread);
    gate_op_tell(&cancel->op);
}

static void cancel_read(struct read *read)
{
    struct run_op *cancel = read->arg;
    struct run_state state = {0};
    gate_op_take(&cancel->op, &read->err);
    bool there = run_state_of(cancel->op.arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    bool another = (cancel->id.n && !str_eq(cancel->id, state.id)) ||
                   (cancel->child_of.n && !str_eq(cancel->child_of, state.parent.thread));
    if (!cancel->op.err && (!there || another || run_status_over(state.status)))
        (void)err_set(gate_op_fail(&cancel->op), ERR_CONFLICT, "the run is over already");
    if (cancel->op.err) {
        gate_op_tell(&cancel->op);
        return;
    }
    keep_move(cancel, &state, RUN_CANCELLED, cancel_kept);
}

void runtime_cancel(struct runtime *runtime, struct run_op *cancel)
{
    cancel->runtime = runtime;
    read_thread(cancel, cancel_read);
}

/* ---- the end of sub-agents ---- */

struct ending {
    struct arena arena;
    struct run_op cancel;
};

static void ended(struct op *op)
{
    struct ending *ending = op->owner;
    arena_free(ending);
}

/* A run that is stopped stops those it has started; `child_of` keeps it from ending a run of another parent. */
static void end_child(struct runtime *runtime, struct str session, struct str parent, struct str thread)
{
    struct ending *ending = heap_new(sizeof *ending);
    struct arena *arena = &ending->arena;
    ending->cancel = (struct run_op){.op = gate_op(arena, ended, ending), .session = arena_str(arena, session),
                                     .thread = arena_str(arena, thread), .actor = STR("nod"),
                                     .child_of = arena_str(arena, parent)};
    runtime_cancel(runtime, &ending->cancel);
}

struct children_look {
    struct arena arena;
    struct runtime *runtime;
    struct str thread;
    struct session_look look;
};

/* Runs that are over, or that belong to somebody else, are skipped by cancel_read. */
static void children_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct children_look *looking = op->owner;
    /* On an error the sub-agents end when they are resumed next (task_orphaned). */
    for (const struct session_thread *t = session ? session->threads : NULL; t; t = t->next)
        if (str_eq(t->parent, looking->thread))
            end_child(looking->runtime, session->id, looking->thread, t->id);
    arena_free(looking);
}

void move_cancel_children(struct runtime *runtime, struct str session, struct str thread)
{
    struct children_look *looking = heap_new(sizeof *looking);
    looking->runtime = runtime;
    looking->thread = arena_str(&looking->arena, thread);
    looking->look = (struct session_look){.op = gate_op(&looking->arena, children_found, looking),
                                          .id = arena_str(&looking->arena, session)};
    gate_session(runtime->gate, &looking->look);
}
