/* Nod's own agent: the real runtime of each node (runtime/), with a model whose answers are the seed's. All runs are in
 * one session of their own.
 *
 * Promises, from the rows alone: only the owner of a run keeps anything of it (the fence); a use of a tool acts once,
 * and on the files that were shown; a prompt that is acknowledged is durable; no run is left when all is calm. */
#include "runtime/inner.h"
#include "sim/fiber.h"
#include "sim/sim.h"
#include "sim/wrap.h"

#include <stdio.h>

enum { LEASE_S = 9, ITERATIONS_MAX = 3 };

static struct str session(void) { return sim_session(SLOTS); }
static struct str thread(void) { return sim_thread(SLOTS); }

/* ---- the runtime of a node ---- */

void runs_open(int number)
{
    struct node *node = &sim->nodes[number];
    const struct runtime_options options = {
        .gate = node->gate, .providers = {{.kind = "anthropic", .url = "http://model", .model = "m", .key = ""}},
        .provider_count = 1, .iterations_max = ITERATIONS_MAX, .context_tokens = 1000000, .answer_tokens = 1000,
        .parallel_tools = true, .lease_seconds = LEASE_S, .only_process = !sim->db.shared};
    node->runtime = runtime_new(NULL, &options);
}

static void stopped(void *arg) { (void)arg; }

void runs_kill(int number)
{
    runtime_stop(sim->nodes[number].runtime, stopped, NULL);
}

bool runs_busy(int number)
{
    return sim->nodes[number].runtime && runtime_busy(sim->nodes[number].runtime);
}

struct str runs_owner(int number)
{
    const struct runtime *runtime = sim->nodes[number].runtime;
    return runtime ? arena_str(&sim->arena, runtime->runs.owner) : STR_NONE;
}

/* ---- the model ---- */

static void use_tool(struct answer *answer)
{
    struct block *block = answer_add(answer, BLOCK_TOOL_USE);
    unsigned number = ++sim->uses;
    CHECK(number < USES_COUNTED);
    block->id = arena_printf(&answer->arena, "use_%u", number);
    block->name = STR("Bash");
    buf_printf(&block->text, "{\"command\":\"dig use_%u\"}", number);
}

/* It thinks for a while, and uses a tool or two, or is done, or fails. */
struct rc __wrap_model_ask(struct worker *w, struct request *request, struct answer *answer, struct err *err)
{
    (void)request;
    fiber_wait(NULL, sim->steady_us + (int64_t)sim_random(1500000));
    if (sim->nodes[sim_node()].dead || worker_cancelled(w) || sim_random(12) == 0)
        return err_set(err, ERR_UNAVAILABLE, "the model is overloaded");
    bool uses = !sim->calm && sim->db.count < CALL_ROWS_MAX && sim->uses + 2 < USES_COUNTED && sim_random(4);
    if (uses)
        use_tool(answer);
    if (uses && sim_random(3) == 0)
        use_tool(answer);
    if (!uses)
        buf_put(&answer_add(answer, BLOCK_TEXT)->text, STR("done"));
    answer->stop_reason = uses ? STR("tool_use") : STR("end_turn");
    answer->model = STR("m");
    answer->ended = true;
    return RC_OK;
}

/* ---- effects ---- */

static bool is_use(const struct event *event, struct str use)
{
    return str_eq(event->session, session()) && str_starts(event->call, use) &&
           (event->call.n == use.n || str_starts(str_sub(event->call, use.n, event->call.n), STR(".again")));
}

/* The call that acts: the last that was started of those that took each other's place. */
void runs_effect(struct str command, struct str files)
{
    struct str use = str_sub(command, strlen("dig "), command.n);
    struct str call = use;
    uint64_t number = 0;
    for (size_t i = 0; i < sim->db.count; i++)
        if (sim->db.rows[i].event.kind == EVENT_TOOL_STARTED && is_use(&sim->db.rows[i].event, use))
            call = sim->db.rows[i].event.call;
    CHECK(str_to_u64(str_sub(use, strlen("use_"), use.n), &number) && number < USES_COUNTED);
    check_effect(session(), call, files, &sim->effects_of_uses[number]);
}

/* ---- rows ---- */

static const struct event *last_status(uint64_t before)
{
    const struct event *last = NULL;
    for (size_t i = 0; i < sim->db.count && sim->db.rows[i].event.seq < before; i++)
        if (sim->db.rows[i].event.kind == EVENT_RUN_STATUS)
            last = &sim->db.rows[i].event;
    return last;
}

static bool is_owned_by(const struct event *status, struct str owner)
{
    ARENA_SCOPE(scratch);
    return status && str_has(status->data, arena_printf(&scratch, "\"owner\":\"%.*s\"", STR_ARG(owner)));
}

/* Who keeps something of a run owns it; who claims it does so for itself. */
void runs_check_row(const struct row *row)
{
    const struct event *event = &row->event;
    bool fenced = event->kind == EVENT_AGENT_MESSAGE || event->kind == EVENT_SYSTEM_PROMPT ||
                  event->kind == EVENT_TOOL_STARTED;
    if (!str_eq(event->session, session()))
        return;
    if (fenced && !is_owned_by(last_status(event->seq), row->owner))
        sim_fail("%s is kept by %.*s, which does not own the run", event_kind_name(event->kind), STR_ARG(row->owner));
    if (event->kind == EVENT_RUN_STATUS && str_has(event->data, STR("\"owner\":")) && !is_owned_by(event, row->owner))
        sim_fail("a run is claimed for another");
}

/* ---- people ---- */

static void run_done(struct op *op)
{
    struct client *client = op->owner;
    if (!sim->nodes[client->node].dead)
        sim->ended++;
    clients_free(client);
}

static struct run_op run_op(struct client *client, void (*done)(struct op *op))
{
    return (struct run_op){.op = gate_op(&client->arena, done, client), .session = session(), .thread = thread(),
                           .actor = STR("person")};
}

static void execute(struct client *client)
{
    client->run = run_op(client, run_done);
    runtime_execute(sim->nodes[client->node].runtime, &client->run);
}

static void created(struct op *op)
{
    const struct run_op *start = (const struct run_op *)op;
    struct client *client = op->owner;
    bool there = false;
    for (size_t i = 0; i < sim->db.synced && !there; i++)
        there = sim->db.rows[i].event.kind == EVENT_USER_MESSAGE && str_has(sim->db.rows[i].event.data, start->id);
    if (sim->nodes[client->node].dead || op->err) {
        run_done(op);
        return;
    }
    if (!there && sim->epoch == 0)
        sim_fail("a prompt is acknowledged and not durable");
    execute(client);
}

static void create(struct client *client)
{
    client->run = run_op(client, created);
    client->run.prompt = arena_printf(&client->arena, "dig %llu", (unsigned long long)++sim->ids);
    runtime_create(sim->nodes[client->node].runtime, &client->run);
}

static void cancel(struct client *client)
{
    client->run = run_op(client, run_done);
    runtime_cancel(sim->nodes[client->node].runtime, &client->run);
}

void runs_act(int node)
{
    uint64_t act = sim_random(12);
    if (!rows_find(session(), STR_NONE, EVENT_SESSION_CHANGED)) {
        clients_make_session(node, SLOTS);
        return;
    }
    struct client *client = clients_new(CLIENT_RUN, node, SLOTS);
    if (client && act < 8)
        create(client);
    else if (client && act < 11)
        execute(client);
    else if (client)
        cancel(client);
}

/* A call of a run that nobody has answered; STR_NONE: there is none. */
struct str runs_open_call(void)
{
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct event *event = &sim->db.rows[i].event;
        if (event->kind == EVENT_TOOL_APPROVAL_REQUEST && str_eq(event->session, session()) &&
            !rows_find(event->session, event->call, EVENT_TOOL_APPROVAL_RESPONSE))
            return event->call;
    }
    return STR_NONE;
}

/* ---- after the calm phase ---- */

void runs_check_end(void)
{
    const struct event *last = last_status(UINT64_MAX);
    if (!last)
        return;
    if (str_has(last->data, STR("\"status\":\"running\"")))
        sim_fail("a run is left");
    if (str_has(last->data, STR("\"status\":\"awaiting_approval\"")) && !runs_open_call().n)
        sim_fail("a run waits for what is answered");
}
