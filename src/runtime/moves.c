/* Runs are moved from outside: created, executed, cancelled. On the loop.
 *
 * Each reads the thread's last status and keeps the next one under the need that it is still the last. Nothing here
 * works on a run; whoever is at work notices by its fence.
 */
#include "runtime/inner.h"

#include "io/clock.h"

#include <stdlib.h>

/* ---- a new run ---- */

static void read_thread(struct runtime *runtime, struct str session, struct str thread,
                        void (*done)(struct read *read), void *arg)
{
    struct read *read = read_new(READ_EVENTS);
    read->session = arena_str(&read->arena, session);
    read->thread = arena_str(&read->arena, thread);
    read->kinds = (uint64_t)1 << EVENT_RUN_STATUS;
    read->done = done;
    read->arg = arg;
    gate_read_whole(runtime->gate, read);
}

struct creating {
    struct runtime *runtime;
    struct run_start *start;
    struct run_cancel *cancel;
    struct run_go *go;
    struct str child_of;        /* cancel: only the run of a sub-agent of this thread */
};

static void created(struct append *append)
{
    struct creating *creating = append->arg;
    struct run_start *start = creating->start;
    if (append->outcome == APPEND_FAILED)
        start->err = append->err;
    else if (append->outcome == APPEND_REFUSED)
        (void)err_set(&start->err, ERR_CONFLICT, "the thread got another run meanwhile; try again");
    append_free(append);
    start->done(start);
}

static void keep_start(struct creating *creating, uint64_t seq)
{
    struct run_start *start = creating->start;
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    start->id = arena_printf(start->arena, "%.*s.%s", STR_ARG(start->session), id_short().text);
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
    append->arg = creating;
    gate_keep(creating->runtime->gate, append);
}

static void statuses_read(struct read *read)
{
    struct creating *creating = read->arg;
    struct run_start *start = creating->start;
    struct run_state state = {0};
    start->err = read->err;
    bool there = run_state_of(start->arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    if (start->err.code == ERR_OK && there && !run_status_over(state.status))
        (void)err_set(&start->err, ERR_CONFLICT, "the thread has a run that is %s; cancel it or wait",
                      run_status_name(state.status));
    if (start->err.code == ERR_OK)
        keep_start(creating, state.status_seq);
    else
        start->done(start);
}

void runtime_create(struct runtime *runtime, struct run_start *start)
{
    struct creating *creating = arena_new(start->arena, struct creating);
    *creating = (struct creating){.runtime = runtime, .start = start};
    read_thread(runtime, start->session, start->thread, statuses_read, creating);
}

/* ---- another status ---- */

struct move {
    struct str session, thread, actor;
    const struct run_state *from; /* the state that was read; the append requires it to be unchanged */
    enum run_status to;
    void (*done)(struct append *append);
};

static void keep_move(struct creating *creating, const struct move *move)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_RUN_STATUS,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, move->session),
        .thread = arena_str(arena, move->thread),
        .actor = arena_str(arena, move->actor),
        .data = run_status_data(arena, move->from, &(struct status_change){.to = move->to}),
    };
    append_need(append, (struct need){
        .need = NEED_RUN_AT, .session = event.session, .call = event.thread, .seq = move->from->status_seq});
    (void)append_event(append, event);
    append->done = move->done;
    append->arg = creating;
    gate_keep(creating->runtime->gate, append);
}

/* ---- going on ---- */

static void go_now(struct creating *creating)
{
    struct run_go *go = creating->go;
    if (go->err.code == ERR_OK)
        runtime_wake(creating->runtime, go->session, go->thread);
    go->done(go);
}

static void go_kept(struct append *append)
{
    struct creating *creating = append->arg;
    if (append->outcome == APPEND_FAILED)
        creating->go->err = append->err;
    append_free(append); /* refused: someone else was quicker, which is as good */
    go_now(creating);
}

/* Whether it must be said that the run is on its way: it was not begun, or it has failed. */
static bool must_move(const struct run_go *go, const struct run_state *state)
{
    if (go->id.n && !str_eq(go->id, state->id))
        return false;
    return state->status == RUN_PENDING ||
           (state->status == RUN_FAILED && go->id.n && state->parent.depth == 0);
}

/* A run that was pending, or has failed, is on its way from now on: whoever looks next takes it up. */
static void go_read(struct read *read)
{
    struct creating *creating = read->arg;
    struct run_go *go = creating->go;
    struct run_state state = {0};
    go->err = read->err;
    bool there = run_state_of(go->arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    if (go->err.code != ERR_OK || !there || !must_move(go, &state)) {
        go_now(creating);
        return;
    }
    keep_move(creating, &(struct move){
        .session = go->session, .thread = go->thread, .actor = go->actor,
        .from = &state, .to = RUN_RUNNING, .done = go_kept});
}

void runtime_execute(struct runtime *runtime, struct run_go *go)
{
    struct creating *creating = arena_new(go->arena, struct creating);
    *creating = (struct creating){.runtime = runtime, .go = go};
    read_thread(runtime, go->session, go->thread, go_read, creating);
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
    arena_done(&withdrawal->arena);
    free(withdrawal);
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

static void withdraw_open(struct runtime *runtime, struct str session, struct str thread)
{
    struct read *read = read_new(READ_OPEN);
    read->session = arena_str(&read->arena, session);
    read->thread = arena_str(&read->arena, thread);
    read->done = open_read;
    read->arg = runtime;
    gate_read(runtime->gate, read);
}

static void cancel_read(struct read *read);

static void cancel_kept(struct append *append)
{
    struct creating *creating = append->arg;
    struct run_cancel *cancel = creating->cancel;
    enum append_outcome outcome = append->outcome;
    if (outcome == APPEND_FAILED)
        cancel->err = append->err;
    append_free(append);
    if (outcome == APPEND_REFUSED) { /* it moved on meanwhile */
        read_thread(creating->runtime, cancel->session, cancel->thread, cancel_read, creating);
        return;
    }
    if (outcome == APPEND_KEPT)
        withdraw_open(creating->runtime, cancel->session, cancel->thread);
    cancel->done(cancel);
}

static void cancel_read(struct read *read)
{
    struct creating *creating = read->arg;
    struct run_cancel *cancel = creating->cancel;
    struct run_state state = {0};
    cancel->err = read->err;
    bool there = run_state_of(cancel->arena, read->events, read->event_count, STR_NONE, &state);
    read_free(read);
    bool another = (cancel->id.n && !str_eq(cancel->id, state.id)) ||
                   (creating->child_of.n && !str_eq(creating->child_of, state.parent.thread));
    if (cancel->err.code == ERR_OK && (!there || another || run_status_over(state.status)))
        (void)err_set(&cancel->err, ERR_CONFLICT, "the run is over already");
    if (cancel->err.code != ERR_OK) {
        cancel->done(cancel);
        return;
    }
    keep_move(creating, &(struct move){
        .session = cancel->session, .thread = cancel->thread, .actor = cancel->actor,
        .from = &state, .to = RUN_CANCELLED, .done = cancel_kept});
}

void runtime_cancel(struct runtime *runtime, struct run_cancel *cancel)
{
    struct creating *creating = arena_new(cancel->arena, struct creating);
    *creating = (struct creating){.runtime = runtime, .cancel = cancel};
    read_thread(runtime, cancel->session, cancel->thread, cancel_read, creating);
}

/* ---- the end of sub-agents ---- */

struct ending {
    struct arena arena;
    struct run_cancel cancel;
};

static void ended(struct run_cancel *cancel)
{
    struct ending *ending = cancel->arg;
    arena_done(&ending->arena);
    free(ending);
}

static void end_child(struct runtime *runtime, struct str session, struct str parent, struct str thread)
{
    struct ending *ending = heap_new(sizeof *ending);
    struct arena *arena = &ending->arena;
    struct creating *creating = arena_new(arena, struct creating);
    ending->cancel = (struct run_cancel){
        .arena = arena,
        .session = arena_str(arena, session),
        .thread = arena_str(arena, thread),
        .actor = STR("nod"),
        .done = ended,
        .arg = ending,
    };
    *creating = (struct creating){
        .runtime = runtime, .cancel = &ending->cancel, .child_of = arena_str(arena, parent)};
    read_thread(runtime, ending->cancel.session, ending->cancel.thread, cancel_read, creating);
}

struct looking {
    struct arena arena;
    struct runtime *runtime;
    struct str thread;
    struct session_look look;
};

/* Runs that are over, or that belong to somebody else, are skipped by cancel_read. */
static void children_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = &op->err;
    struct looking *looking = op->owner;
    (void)err; /* on an error the sub-agents end when they are resumed next (task_orphaned) */
    for (const struct session_thread *t = session ? session->threads : NULL; t; t = t->next)
        if (str_eq(t->parent, looking->thread))
            end_child(looking->runtime, session->id, looking->thread, t->id);
    arena_done(&looking->arena);
    free(looking);
}

void move_cancel_children(struct runtime *runtime, struct str session, struct str thread)
{
    struct looking *looking = heap_new(sizeof *looking);
    looking->runtime = runtime;
    looking->thread = arena_str(&looking->arena, thread);
    looking->look = (struct session_look){.op = gate_op(NULL, children_found, looking),
                                          .id = arena_str(&looking->arena, session)};
    gate_session(runtime->gate, &looking->look);
}
