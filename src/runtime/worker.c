/* The blocking functions by which a job uses the gate: each sends a loop_call to the loop and waits for it. */
#include "runtime/inner.h"

#include "io/clock.h"

/* Several operations that a job submits at once; the loop_call ends with the last of them. */
struct batch {
    struct loop_call loop_call;
    struct worker *worker;
    struct append *append;
    struct read *read;
    void *ops;                  /* `count` operations of `size` bytes, each with a struct op at its begin */
    size_t size;
    void (*submit)(struct gate *gate, void *op);
    struct session_look look;
    struct str text;            /* worker_say: the text as JSON; worker_wake: the thread's id */
    size_t count, open;
    struct err err;
};

static void run_batch(struct worker *w, struct batch *batch, void (*start)(struct loop_call *loop_call))
{
    batch->worker = w;
    batch->loop_call.start = start;
    batch->loop_call.arg = batch;
    work_call_loop(w->runtime->pool, &batch->loop_call);
}

static void one_done(struct batch *batch)
{
    CHECK(batch->open > 0);
    if (--batch->open == 0)
        loop_call_finish(&batch->loop_call);
}

/* ---- reading ---- */

static void read_done(struct read *read) { loop_call_finish(&((struct batch *)read->arg)->loop_call); }

static void start_read(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    gate_read(batch->worker->runtime->gate, batch->read, read_done, batch);
}

static void start_read_whole(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    batch->read->done = read_done;
    batch->read->arg = batch;
    gate_read_whole(batch->worker->runtime->gate, batch->read);
}

/* Blocks this thread while the loop reads. Only events behind those that `talk` has seen are read. */
struct rc worker_load(struct worker *w, struct err *err)
{
    for (;;) {
        struct read *read = read_new_of((struct read){.kind = READ_EVENTS, .session = w->run->session,
                                                      .thread = w->run->thread, .kinds = run_event_kinds(),
                                                      .after = w->talk.seq, .limit = LIMIT_PAGE_EVENTS});
        struct batch batch = {.read = read};
        run_batch(w, &batch, start_read);
        struct err failed = read->err;
        size_t count = read->event_count;
        for (size_t i = 0; i < count; i++)
            talk_apply(&w->talk, &read->events[i]);
        read_free(read);
        if (failed.code != ERR_OK) {
            *err = failed;
            return (struct rc){failed.code};
        }
        if (count == 0)
            return RC_OK;
    }
}

struct rc worker_run(struct worker *w, struct worker_run *run, struct err *err)
{
    struct read *read = read_new_of((struct read){.kind = READ_EVENTS, .session = w->run->session,
                                                  .thread = run->thread, .kinds = run->kinds});
    struct batch batch = {.read = read};
    run_batch(w, &batch, start_read_whole);
    struct rc rc = {read->err.code};
    run->state = (struct run_state){0};
    if (rc_bad(rc))
        *err = read->err;
    else
        (void)run_state_of(run->arena, read->events, read->event_count, run->id, &run->state);
    read_free(read);
    return rc;
}

/* Whether the provider may search the web: it does so while it answers, when nobody can be asked, so that only a rule
 * can allow it. */
static bool may_search(struct gate *gate, const struct session *session)
{
    ARENA_SCOPE(scratch);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    const struct json *input, *verdict;
    CHECK(rc_ok(json_parse(&scratch, STR("{\"query\":\"anything\"}"), &input, NULL)));
    gate_explain(gate, &out, &scratch, &(struct explain){.session = session, .name = STR("WebSearch"), .input = input});
    return rc_ok(json_parse(&scratch, buf_str(&buf), &verdict, NULL)) && str_is(json_text(verdict, "effect"), "allow");
}

static void session_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct batch *batch = op->owner;
    if (op->err)
        batch->err = *op->err;
    if (session) {
        struct worker *w = batch->worker;
        w->root = arena_str(&w->arena, session->cwd);
        w->main = str_eq(session->main_thread, w->run->thread);
        w->may_search = w->runtime->options.web_search && may_search(w->runtime->gate, session);
    }
    loop_call_finish(&batch->loop_call);
}

static void start_session(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    struct worker *w = batch->worker;
    batch->look = (struct session_look){.op = gate_op(&w->arena, session_found, batch), .id = w->run->session};
    gate_session(w->runtime->gate, &batch->look);
}

struct rc worker_root(struct worker *w, struct err *err)
{
    struct batch batch = {.count = 0};
    run_batch(w, &batch, start_session);
    if (batch.err.code != ERR_OK)
        *err = batch.err;
    return (struct rc){batch.err.code};
}

/* ---- keeping ---- */

static void append_done(struct append *append) { loop_call_finish(&((struct batch *)append->arg)->loop_call); }

static void start_append(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    batch->append->done = append_done;
    batch->append->arg = batch;
    gate_keep(batch->worker->runtime->gate, batch->append);
}

/* Refused means that the run's fence has moved: another process has claimed it, or it was cancelled. */
static struct rc append_outcome(struct append *append, struct err *err)
{
    if (append->outcome == APPEND_KEPT)
        return RC_OK;
    if (append->outcome == APPEND_REFUSED)
        return err_set(err, ERR_CONFLICT, "the run is not ours any more");
    *err = append->err;
    return (struct rc){append->err.code};
}

struct rc worker_append(struct worker *w, struct append *append, struct err *err)
{
    struct batch batch = {.append = append};
    run_batch(w, &batch, start_append);
    struct rc rc = append_outcome(append, err);
    append_free(append);
    return rc;
}

/* Stores one event under the fence (NEED_RUN_AT): a worker that was slow cannot write into a run that is no longer
 * its own. */
struct rc worker_keep(struct worker *w, enum event_kind kind, struct str data, uint64_t *ret_seq, struct err *err)
{
    struct append *append = append_new();
    struct batch batch = {.append = append};
    struct str session = arena_str(&append->arena, w->run->session);
    struct str thread = arena_str(&append->arena, w->run->thread);
    append_need(append, (struct need){.need = NEED_RUN_AT, .session = session, .call = thread, .seq = w->fence});
    (void)append_event(append, (struct event){
        .kind = kind,
        .at_ms = clock_wall_ms(),
        .session = session,
        .thread = thread,
        .actor = STR("nod"),
        .data = arena_str(&append->arena, data),
    });
    run_batch(w, &batch, start_append);
    struct rc rc = append_outcome(append, err);
    if (rc_ok(rc) && ret_seq)
        *ret_seq = append->events[0].seq;
    if (rc_ok(rc))
        talk_apply(&w->talk, &append->events[0]);
    append_free(append);
    return rc;
}

/* ---- calls ---- */

static void op_done(struct op *op) { one_done(op->owner); }

static void start_ops(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    batch->open = batch->count + 1;
    for (size_t i = 0; i < batch->count; i++) {
        struct op *op = (struct op *)((char *)batch->ops + i * batch->size);
        op->done = op_done;
        op->owner = batch;
        batch->submit(batch->worker->runtime->gate, op);
    }
    one_done(batch);
}

static void submit_ask(struct gate *gate, void *ask) { gate_ask(gate, ask); }
static void submit_execute(struct gate *gate, void *execute) { gate_execute(gate, execute); }
static void submit_decide(struct gate *gate, void *decide) { gate_decide(gate, decide); }

void worker_ask(struct worker *w, struct ask *asks, size_t count)
{
    struct batch batch = {.ops = asks, .size = sizeof *asks, .count = count, .submit = submit_ask};
    if (count)
        run_batch(w, &batch, start_ops);
}

void worker_execute(struct worker *w, struct execute *executes, size_t count)
{
    struct batch batch = {.ops = executes, .size = sizeof *executes, .count = count, .submit = submit_execute};
    if (count)
        run_batch(w, &batch, start_ops);
}

void worker_decide(struct worker *w, struct decide *decide)
{
    struct batch batch = {.ops = decide, .size = sizeof *decide, .count = 1, .submit = submit_decide};
    run_batch(w, &batch, start_ops);
}

static void start_wake(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    runtime_wake(batch->worker->runtime, batch->worker->run->session, batch->text);
    loop_call_finish(loop_call);
}

void worker_wake(struct worker *w, struct str thread)
{
    struct batch batch = {.text = thread};
    run_batch(w, &batch, start_wake);
}

static void start_silent(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    const struct worker *w = batch->worker;
    batch->count = runs_silent(&w->runtime->runs, w->talk.run.owner, clock_steady_us());
    loop_call_finish(loop_call);
}

bool worker_owner_silent(struct worker *w)
{
    struct batch batch = {.count = 0};
    run_batch(w, &batch, start_silent);
    return batch.count != 0;
}

/* ---- saying ---- */

static void start_say(struct loop_call *loop_call)
{
    struct batch *batch = loop_call->arg;
    struct worker *w = batch->worker;
    gate_say(w->runtime->gate, w->run->session, w->run->thread, batch->text);
    loop_call_finish(loop_call);
}

void worker_say(struct worker *w, struct str json)
{
    struct batch batch = {.text = json};
    run_batch(w, &batch, start_say);
}
