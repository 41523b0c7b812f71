/* Executes allowed calls: the driver's part of core/execute.c, which decides when. Threads of gate->workers compare
 * files with what was shown, and run the tools. */
#include "gate/core/core.h"
#include "gate/inner.h"
#include "gate/boxes.h"
#include "gate/nets.h"

#include "event/shapes.h"
#include "io/work.h"
#include "tools/tools.h"

enum { TOOL_THREADS_MAX = 64 };

/* The driver's side of one struct execute: a job for a worker, and the arena that the worker allocates in. */
struct execution {
    struct gate *gate;
    struct execute *execute;
    struct job job;
    struct arena arena;        /* the worker's while it works */
    const struct json *input;
    struct str root;
    const struct box_opened *opened; /* for a command: the paths and ports that rules open in its box */
    bool unboxed;              /* a person let it run without one */
    struct hops hops;
};

/* ---- asking about tools ---- */

void gate_look(struct gate *gate, struct ask *ask, struct str root)
{
    struct tool_use use = {.arena = ask->op.arena, .name = ask->name, .input = ask->input, .root = root,
                           .private_net = gate->options.web_private, .servers = gate->options.servers,
                           .link = gate->options.link};
    if (!tool_has_executor(ask->name))
        return;
    struct tool_look look = tool_look(&use);
    ask->preview = look.preview;
    ask->files = look.files;
}

struct rc gate_tool_check(struct gate *gate, const struct ask *ask, struct err *err)
{
    ARENA_SCOPE(arena);
    struct tool_use use = {.arena = &arena, .name = ask->name, .input = ask->input, .root = ask->cwd,
                           .private_net = gate->options.web_private, .servers = gate->options.servers};
    return tool_check(&use, err);
}

bool gate_tool_only_looks(struct str name) { return tool_only_looks(name); }
bool gate_tool_done_elsewhere(struct str name) { return tool_done_elsewhere(name); }
void gate_tool_definitions(struct gate *gate, struct str root, struct json_out *out)
{
    tool_definitions(out, gate->options.servers, root);
}

void gate_keep(struct gate *gate, struct append *append) { store_append(gate->store, append); }

/* ---- the effect ---- */

/* Output of a tool on its way from the worker to the loop; on the worker's stack, since the worker waits. */
struct saying {
    struct loop_call loop_call;
    const struct execution *x;
    struct str json;
};

static void start_say(struct loop_call *loop_call)
{
    const struct saying *saying = loop_call->arg;
    const struct execute *execute = saying->x->execute;
    gate_say(saying->x->gate, execute->session, execute->state.thread, saying->json);
    loop_call_finish(loop_call);
}

/* A command's output is told as it comes, and kept with the result. Called on the worker's thread. */
static void say(const struct tool_use *use, struct str text)
{
    const struct execution *x = use->sayer;
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_object(&out, J("type", "tool_output"), J("sessionId", x->execute->session),
                J("threadId", x->execute->state.thread), J("toolCallId", x->execute->call), J("text", text));
    struct saying saying = {.loop_call = {.start = start_say}, .x = x, .json = buf_str(&buf)};
    saying.loop_call.arg = &saying;
    work_call_loop(x->gate->workers, &saying.loop_call);
}

/* Runs in a worker thread: the paths that it compares are not changed after the server has started. */
static bool hides(const struct tool_use *use, struct str path)
{
    const struct hops *hops = use->asker;
    return gate_hides(hops->gate, path);
}

/* Runs in a worker thread. The result outlives the call when the command stays in the background. */
static struct egress_host *net(const struct tool_use *use)
{
    const struct execution *x = use->sayer;
    const struct execute *execute = x->execute;
    return nets_host(x->gate, execute->session, execute->state.thread, execute->call, execute->actor);
}

/* All that a tool may use, gathered from the gate and the call; valid while the execution lasts. */
static struct tool_use use_of(struct execution *x)
{
    x->hops = (struct hops){x->gate, x->execute->session, x->root, x->execute->state.by_policy};
    return (struct tool_use){
        .arena = &x->arena,
        .name = x->execute->state.name,
        .input = x->input,
        .root = x->root,
        .cancelled = x->execute->cancelled,
        .box = x->unboxed ? NULL : x->gate->options.box,
        .opened = x->opened,
        .private_net = x->gate->options.web_private,
        .may_follow = hops_may_follow,
        .hides = hides,
        .asker = &x->hops,
        .session = x->execute->session,
        .shells = x->gate->shells,
        .say = say,
        .sayer = x,
        .servers = x->gate->options.servers,
        .net = net,
        .own_ports = x->gate->rules.own_ports,
        .link = x->gate->options.link,
    };
}

void execute_init(struct gate *gate)
{
    gate->workers = work_pool_new(gate->loop, TOOL_THREADS_MAX);
    if (gate->options.servers && gate->options.box)
        servers_box(gate->options.servers, &(struct servers_boxes){gate->options.box, boxes_plan_server, gate});
}

void execute_hand_over(struct gate *gate, struct job *job)
{
    work_submit(gate->workers, job);
}

static void do_it(struct job *job)
{
    struct execution *x = job->arg;
    struct tool_use use = use_of(x);
    struct tool_result result = tool_do(&use, x->execute->state.files);
    x->execute->did = (struct execute_outcome){.text = result.text, .is_error = result.is_error};
}

static void compare(struct job *job)
{
    struct execution *x = job->arg;
    struct tool_use use = use_of(x);
    struct tool_look look = tool_look(&use);
    x->execute->shown = str_eq(look.files, x->execute->state.files) ? SHOWN_SAME : SHOWN_CHANGED;
}

static void worked(struct job *job)
{
    struct execution *x = job->arg;
    op_go(&x->execute->op);
}

static void work(struct op *op, unsigned work)
{
    struct execution *x = ((struct execute *)op)->inner;
    x->job = (struct job){.run = work == WORK_DO ? do_it : compare, .done = worked, .arg = x};
    execute_hand_over(x->gate, &x->job);
}

/* ---- the box ---- */

static bool is_command(const struct execution *x)
{
    return x->gate->options.box && str_is(x->execute->state.name, "Bash");
}

/* Whether the box is the one that was approved; a call that no person approved gets its box by the current rules. */
static bool plan_box(struct execution *x, const struct session *session)
{
    const struct call *call = &x->execute->state;
    bool outside = boxes_outside(x->input) || box_order_of(x->gate->options.box) == BOX_NONE;
    x->unboxed = outside && !call->by_policy;
    x->opened = boxes_plan(x->gate, &x->arena, &(struct boxes_want){.session = session, .input = x->input});
    return str_empty(call->files) || str_eq(boxes_digest(&x->arena, x->opened), call->files);
}

/* ---- the call ---- */

/* Before a call starts: reads its input and the session's folder, and checks what can be checked without blocking, that
 * it is still the call that was shown. */
static void prepare(struct op *op, struct arena *scratch)
{
    struct execute *execute = (struct execute *)op;
    struct execution *x = execute->inner;
    struct err err;
    (void)scratch;
    if (!op->session)
        return;
    if (rc_bad(json_parse(&x->arena, call_effective_input(&execute->state), &x->input, &err))) {
        gate_op_take(op, &err);
        return;
    }
    x->root = arena_str(&x->arena, op->session->cwd);
    execute->mode = arena_str(&x->arena, op->session->mode);
    if (is_command(x))
        execute->shown = plan_box(x, op->session) ? SHOWN_SAME : SHOWN_CHANGED;
    else
        execute->shown = str_empty(execute->state.files) ? SHOWN_SAME : SHOWN_UNKNOWN;
}

static void end(struct op *op)
{
    struct execution *x = ((struct execute *)op)->inner;
    arena_free(x);
    ((struct execute *)op)->inner = NULL;
}

void gate_execute(struct gate *gate, struct execute *execute)
{
    struct execution *x = heap_new(sizeof *x);
    CHECK(!execute->inner);
    x->gate = gate;
    x->execute = execute;
    execute->inner = x;
    execute->op.judge = prepare;
    execute->op.work = work;
    execute->op.end = end;
    op_execute(gate, execute);
}

void gate_end_commands(struct gate *gate, struct str session) { shells_end(gate->shells, session); }

static void stop_commands(struct job *job) { shells_end_all(((struct commands_stop *)job->arg)->op.gate->shells); }

static void commands_stopped(struct job *job) { op_end(&((struct commands_stop *)job->arg)->op); }

void gate_stop_commands(struct gate *gate, struct commands_stop *stop)
{
    stop->op.gate = gate;
    stop->job = (struct job){.run = stop_commands, .done = commands_stopped, .arg = stop};
    execute_hand_over(gate, &stop->job);
}

bool gate_commands_stopping(const struct gate *gate) { return work_open(gate->workers) > 0; }

void execute_done(struct gate *gate)
{
    shells_free(gate->shells);
    work_pool_free(gate->workers);
}
