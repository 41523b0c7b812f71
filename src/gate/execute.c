/* An allowed call is done, at most once.
 *
 * Invariants
 *  1. TOOL_STARTED is kept under the needs that there is none, that the answer (or the verdict) is there and that
 *     the fence holds; the effect begins only after it is durable.
 *  2. A call that was started and has no result is never started again: after a crash it gets a result that says
 *     so.
 *  3. What was shown is what runs: the files are compared with what the person saw before it starts, and by the
 *     tool itself once more.
 *
 *   call read → files compared → TOOL_STARTED → the tool, in a worker → TOOL_RESULT
 */
#include "gate/core/core.h"
#include "gate/inner.h"
#include "gate/boxes.h"
#include "gate/nets.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "io/work.h"
#include "tools/tools.h"

#include <stdlib.h>

enum { TOOL_THREADS_MAX = 64 };

struct execution {
    struct gate *gate;
    struct execute *execute;
    struct job job;
    struct arena arena;        /* the worker's while it works */
    const struct json *input;
    struct str root, mode;
    const struct box_opened *opened; /* of a command: what rules open in its box */
    bool unboxed;              /* a person let it run without one */
    bool same;
    struct tool_result result;
    struct session_look look;
    struct hops hops;
};

/* ---- asking about tools ---- */

void gate_look(struct gate *gate, struct ask *ask, struct str root)
{
    struct tool_use use = {.arena = ask->op.arena, .name = ask->name, .input = ask->input, .root = root,
                           .private_net = gate->web_private, .servers = gate->servers};
    if (!tool_has_hands(ask->name))
        return;
    struct tool_look look = tool_look(&use);
    ask->preview = look.preview;
    ask->files = look.files;
}

struct rc gate_tool_check(struct gate *gate, const struct ask *ask, struct err *err)
{
    ARENA_SCOPE(arena);
    struct tool_use use = {.arena = &arena, .name = ask->name, .input = ask->input, .root = ask->cwd,
                           .private_net = gate->web_private, .servers = gate->servers};
    return tool_check(&use, err);
}

bool gate_tool_only_looks(struct str name) { return tool_only_looks(name); }
bool gate_tool_done_elsewhere(struct str name) { return tool_done_elsewhere(name); }
void gate_tool_definitions(struct gate *gate, struct str root, struct json_out *out)
{
    tool_definitions(out, gate->servers, root);
}

void gate_keep(struct gate *gate, struct append *append) { store_append(gate->store, append); }

/* ---- the end ---- */

static void finish(struct execution *x)
{
    struct execute *execute = x->execute;
    arena_done(&x->arena);
    free(x);
    execute->inner = NULL;
    op_end(&execute->op);
}

static void finish_with(struct execution *x, enum err_code code, const char *words)
{
    (void)err_set(&x->execute->op.err, code, "%s", words);
    finish(x);
}

static void result_kept(struct append *append)
{
    struct execution *x = append->arg;
    struct execute *execute = x->execute;
    if (append->outcome == APPEND_KEPT)
        call_apply(execute->op.arena, &execute->state, &append->events[0]);
    else if (append->outcome == APPEND_FAILED)
        execute->op.err = append->err;
    else
        (void)err_set(&execute->op.err, ERR_CONFLICT, "the call has a result already");
    append_free(append);
    finish(x);
}

struct outcome {
    struct str text, usage;
    bool is_error, interrupted;
    struct str superseded_by;
};

/* The result says who let the call pass, when and why. */
static struct str result_data(struct arena *arena, const struct execution *x, const struct outcome *outcome)
{
    const struct call *call = &x->execute->state;
    struct data_permissions permissions = core_permissions(call, x->mode);
    return DATA(arena, tool_result, .call = x->execute->call, .content = shape_quote(arena, outcome->text),
                .is_error = outcome->is_error, .interrupted = outcome->interrupted,
                .superseded_by = outcome->superseded_by, .usage = outcome->usage, .permissions = &permissions);
}

static struct event event_of(const struct execution *x, struct arena *arena, enum event_kind kind, struct str data)
{
    const struct execute *execute = x->execute;
    return (struct event){
        .kind = kind,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, execute->session),
        .thread = arena_str(arena, execute->state.thread),
        .call = arena_str(arena, execute->call),
        .actor = arena_str(arena, execute->actor),
        .data = data,
    };
}

static void keep_result(struct execution *x, struct outcome outcome)
{
    struct append *append = append_new();
    struct event event = event_of(x, &append->arena, EVENT_TOOL_RESULT, result_data(&append->arena, x, &outcome));
    append_need(append, (struct need){
        .need = NEED_ABSENT, .kind = EVENT_TOOL_RESULT, .session = event.session, .call = event.call});
    (void)append_event(append, event);
    append->done = result_kept;
    append->arg = x;
    store_append(x->gate->store, append);
}

/* ---- the effect ---- */

struct saying {
    struct errand errand;
    const struct execution *x;
    struct str json;
};

static void start_say(struct errand *errand)
{
    const struct saying *saying = errand->arg;
    const struct execute *execute = saying->x->execute;
    gate_say(saying->x->gate, execute->session, execute->state.thread, saying->json);
    errand_finish(errand);
}

/* A command's output is told as it comes, and kept with the result. Called on the worker's thread. */
static void say(const struct tool_use *use, struct str text)
{
    const struct execution *x = use->sayer;
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "type", STR("tool_output"));
    json_member(&out, "sessionId", x->execute->session);
    json_member(&out, "threadId", x->execute->state.thread);
    json_member(&out, "toolCallId", x->execute->call);
    json_member(&out, "text", text);
    json_close(&out, '}');
    struct saying saying = {.errand = {.start = start_say}, .x = x, .json = buf_str(&buf)};
    saying.errand.arg = &saying;
    work_errand(x->gate->hands, &saying.errand);
}

/* Runs in a worker thread: what it looks at was set before Nod began to listen. */
static bool hides(const struct tool_use *use, struct str path)
{
    const struct hops *hops = use->asker;
    return gate_hides(hops->gate, path);
}

/* Runs in a worker thread. A command in the background keeps it after the call. */
static struct egress_host *net(const struct tool_use *use)
{
    const struct execution *x = use->sayer;
    const struct execute *execute = x->execute;
    return nets_host(x->gate, execute->session, execute->state.thread, execute->call, execute->actor);
}

static struct tool_use use_of(struct execution *x)
{
    x->hops = (struct hops){x->gate, x->execute->session, x->root, x->execute->state.by_policy};
    return (struct tool_use){
        .arena = &x->arena,
        .name = x->execute->state.name,
        .input = x->input,
        .root = x->root,
        .cancelled = x->execute->cancelled,
        .box = x->unboxed ? NULL : x->gate->box,
        .opened = x->opened,
        .private_net = x->gate->web_private,
        .may_follow = hops_may_follow,
        .hides = hides,
        .asker = &x->hops,
        .session = x->execute->session,
        .shells = x->gate->shells,
        .say = say,
        .sayer = x,
        .servers = x->gate->servers,
        .net = net,
        .own_port = x->gate->rules.own_port,
    };
}

void execute_hand_over(struct gate *gate, struct job *job)
{
    if (!gate->hands)
        gate->hands = work_pool_new(gate->loop, TOOL_THREADS_MAX);
    work_submit(gate->hands, job);
}

static void submit(struct execution *x, void (*run)(struct job *), void (*done)(struct job *))
{
    x->job = (struct job){.run = run, .done = done, .arg = x};
    execute_hand_over(x->gate, &x->job);
}

static void do_it(struct job *job)
{
    struct execution *x = job->arg;
    struct tool_use use = use_of(x);
    x->result = tool_do(&use, x->execute->state.files);
}

static void done_it(struct job *job)
{
    struct execution *x = job->arg;
    keep_result(x, (struct outcome){.text = x->result.text, .is_error = x->result.is_error});
}

static void start_kept(struct append *append)
{
    struct execution *x = append->arg;
    struct execute *execute = x->execute;
    enum append_outcome outcome = append->outcome;
    if (outcome == APPEND_KEPT)
        call_apply(execute->op.arena, &execute->state, &append->events[0]);
    else if (outcome == APPEND_FAILED)
        execute->op.err = append->err;
    append_free(append);
    if (outcome == APPEND_REFUSED)
        finish_with(x, ERR_CONFLICT, "the call was started elsewhere, or the run is not ours any more");
    else if (outcome == APPEND_FAILED || !str_empty(execute->child))
        finish(x);
    else
        submit(x, do_it, done_it);
}

static void start(struct execution *x)
{
    const struct execute *execute = x->execute;
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = event_of(x, arena, EVENT_TOOL_STARTED,
                                  DATA(arena, tool_started, .call = execute->call, .child = execute->child));
    struct need need = {.session = event.session, .call = event.call};
    need.need = NEED_ABSENT;
    need.kind = EVENT_TOOL_STARTED;
    append_need(append, need);
    need.need = NEED_PRESENT;
    need.kind = execute->state.by_policy ? EVENT_TOOL_CALL : EVENT_TOOL_APPROVAL_RESPONSE;
    append_need(append, need);
    need.need = NEED_ABSENT;
    need.kind = EVENT_TOOL_RESULT;
    append_need(append, need);
    if (execute->fence.need != NEED_NONE) {
        struct need fence = execute->fence;
        fence.session = arena_str(arena, fence.session);
        fence.call = arena_str(arena, fence.call);
        append_need(append, fence);
    }
    (void)append_event(append, event);
    for (unsigned i = 0; i < execute->with_count; i++)
        (void)append_event(append, event_copy(arena, &execute->with[i]));
    append->done = start_kept;
    append->arg = x;
    store_append(x->gate->store, append);
}

/* ---- what was shown ---- */

static void compare(struct job *job)
{
    struct execution *x = job->arg;
    struct tool_use use = use_of(x);
    struct tool_look look = tool_look(&use);
    x->same = str_eq(look.files, x->execute->state.files);
}

static void compared(struct job *job)
{
    struct execution *x = job->arg;
    struct execute *execute = x->execute;
    if (x->same) {
        start(x);
        return;
    }
    execute->changed = true;
    struct str next = arena_printf(execute->op.arena, "%.*s.again", STR_ARG(execute->call));
    if (next.n > LIMIT_ID_BYTES)
        next = arena_str(execute->op.arena, str_of(id_new("call").text));
    keep_result(x, (struct outcome){
        .text = STR("What was shown has changed since, so nothing was done; the person is asked again"),
        .is_error = true,
        .superseded_by = next,
    });
}

/* ---- the box ---- */

static bool is_command(const struct execution *x)
{
    return x->gate->box && str_is(x->execute->state.name, "Bash");
}

/* Whether the box is the one that was asked about; what no person was asked about is boxed by the rules as they are. */
static bool plan_box(struct execution *x, const struct session *session)
{
    const struct call *call = &x->execute->state;
    bool outside = boxes_outside(x->input) || x->gate->box->order == BOX_NONE;
    x->unboxed = outside && !call->by_policy;
    x->opened = boxes_plan(x->gate, &x->arena, &(struct boxes_want){.session = session, .input = x->input});
    return str_empty(call->files) || str_eq(boxes_digest(&x->arena, x->opened), call->files);
}

/* ---- the call ---- */

static void with_session(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = &op->err;
    struct execution *x = op->owner;
    struct execute *execute = x->execute;
    if (err->code != ERR_OK || !session) {
        finish_with(x, err->code == ERR_OK ? ERR_NOT_FOUND : err->code, "the session cannot be read");
        return;
    }
    x->root = arena_str(&x->arena, session->cwd);
    x->mode = arena_str(&x->arena, session->mode);
    if (execute->outcome) {
        CHECK(execute->state.started);
        keep_result(x, (struct outcome){
            .text = execute->outcome->text,
            .usage = execute->outcome->usage,
            .is_error = execute->outcome->is_error,
        });
    } else if (execute->state.started && !str_empty(execute->state.child)) {
        finish(x); /* it goes on there */
    } else if (execute->state.started) {
        keep_result(x, (struct outcome){
            .text = STR("Interrupted: the tool had started when Nod stopped, and its effect is unknown. It was not "
                        "run again; look at what is there before you go on."),
            .is_error = true,
            .interrupted = true,
        });
    } else if (is_command(x)) {
        x->same = plan_box(x, session);
        compared(&x->job);
    } else if (str_empty(execute->state.files)) {
        start(x);
    } else {
        submit(x, compare, compared);
    }
}

static void call_read(struct read *read)
{
    struct execution *x = read->arg;
    struct execute *execute = x->execute;
    struct call *call = &execute->state;
    struct err err = read->err;
    bool there = read->event_count > 0;
    *call = (struct call){0};
    for (size_t i = 0; i < read->event_count; i++)
        call_apply(execute->op.arena, call, &read->events[i]);
    read_free(read);
    if (err.code != ERR_OK)
        finish_with(x, err.code, err.text);
    else if (!there)
        finish_with(x, ERR_NOT_FOUND, "there is no such call");
    else if (!call_allowed(call))
        finish_with(x, ERR_NOT_ALLOWED, "the call is not allowed");
    else if (call->result_seq)
        finish(x);
    else if (rc_bad(json_parse(&x->arena, call_effective_input(call), &x->input, &err)))
        finish_with(x, err.code, err.text);
    else {
        x->look = (struct session_look){.op = gate_op(NULL, with_session, x), .id = execute->session};
        gate_session(x->gate, &x->look);
    }
}

void gate_execute(struct gate *gate, struct execute *execute)
{
    struct execution *x = heap_new(sizeof *x);
    struct read *read = read_new(READ_CALL);
    CHECK(execute->op.done && !execute->inner);
    x->gate = execute->op.gate = gate;
    x->job.arg = x;
    x->execute = execute;
    execute->inner = x;
    read->session = arena_str(&read->arena, execute->session);
    read->call = arena_str(&read->arena, execute->call);
    read->done = call_read;
    read->arg = x;
    store_read(gate->store, read);
}

/* ---- the file that a call names ---- */

struct named_file *named_file_new(void) { return heap_new(sizeof(struct named_file)); }

void named_file_free(struct named_file *file)
{
    arena_done(&file->arena);
    free(file);
}

static bool hides_named(const struct tool_use *use, struct str path) { return gate_hides(use->asker, path); }

static void read_file(struct job *job)
{
    struct named_file *file = job->arg;
    struct tool_use use = {.arena = &file->arena, .name = file->name, .root = file->root, .hides = hides_named,
                           .asker = file->gate};
    if (rc_bad(json_parse(&file->arena, file->input, &use.input, &file->op.err)))
        return;
    struct tool_facts facts = tool_facts_from(&file->arena, file->dialect, use.name, use.input);
    use.name = facts.name;
    use.input = facts.input;
    if (rc_ok(tool_named_file(&use, &file->text, &file->op.err)))
        file->preview = tool_look(&use).preview;
}

static void file_is_read(struct job *job)
{
    struct named_file *file = job->arg;
    op_end(&file->op);
}

void gate_read_named_file(struct gate *gate, struct named_file *file)
{
    CHECK(file->op.done && !str_empty(file->input));
    file->gate = gate;
    file->job = (struct job){.run = read_file, .done = file_is_read, .arg = file};
    file->op.gate = gate;
    execute_hand_over(gate, &file->job);
}

void gate_end_commands(struct gate *gate, struct str session) { shells_end(gate->shells, session); }

struct stopping {
    struct job job;
    struct gate *gate;
    void (*done)(void *arg);
    void *arg;
};

static void stop_commands(struct job *job) { shells_end_all(((struct stopping *)job->arg)->gate->shells); }

static void commands_stopped(struct job *job)
{
    struct stopping *stopping = job->arg;
    void (*done)(void *arg) = stopping->done;
    void *arg = stopping->arg;
    free(stopping);
    done(arg);
}

void gate_stop_commands(struct gate *gate, void (*done)(void *arg), void *arg)
{
    struct stopping *stopping = heap_new(sizeof *stopping);
    *stopping = (struct stopping){.gate = gate, .done = done, .arg = arg};
    stopping->job = (struct job){.run = stop_commands, .done = commands_stopped, .arg = stopping};
    execute_hand_over(gate, &stopping->job);
}

bool gate_commands_stopping(const struct gate *gate) { return gate->hands && work_open(gate->hands) > 0; }

void execute_done(struct gate *gate)
{
    shells_free(gate->shells);
    if (gate->hands)
        work_pool_free(gate->hands);
}
