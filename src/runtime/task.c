/* Sub-agents: a use of Task is done by a run of its own, in a conversation (thread) of its own, of the same session.
 *
 * Invariants
 *  1. The call's TOOL_STARTED names the thread, the thread's RUN_STATUS names the call. Both are kept in one append,
 *     with the thread and its prompt: there is never half a sub-agent, and never a second one for a call.
 *  2. The run that started it waits as it waits for a person: put down, without a job. The end of the sub-agent's run
 *     wakes it (runs.c), and what was said last becomes the call's result, once, whoever finds it.
 *  3. A sub-agent whose parent's run is over is ended: by whoever is told of that end (moves.c), or by itself when it
 *     is taken up next.
 * The run's id is its thread's: a sub-agent has one run to report from, whoever speaks to the thread later.
 */
#include "runtime/inner.h"

#include "base/utf8.h"
#include "io/clock.h"

enum { DEPTH_MAX = 2, TASKS_MAX = 16, NAME_BYTES_MAX = 64, WITH_EVENTS = 3 };

/* The limits keep an agent from starting agents without end; the words tell the model what to do instead. */
struct rc task_check(const struct worker *w, int64_t waiting, struct err *why)
{
    if (w->talk.run.parent.depth >= DEPTH_MAX)
        return err_set(why, ERR_INVALID, "sub-agents may be %d deep, and you are one at that depth; do it yourself",
                       DEPTH_MAX);
    if (w->talk.tasks + waiting >= TASKS_MAX)
        return err_set(why, ERR_INVALID, "a run may start %d sub-agents, and this one has; do the rest yourself",
                       TASKS_MAX);
    return RC_OK;
}

/* ---- beginning ---- */

/* Shortens a name that a model chose to one short line, because people see it. */
static struct str agent_name(struct arena *arena, struct str wanted)
{
    BUF_SCOPE(shown, LIMIT_TITLE_BYTES);
    utf8_show(&shown, str_trim(utf8_start(wanted, NAME_BYTES_MAX)), false);
    return shown.n ? arena_str(arena, buf_str(&shown)) : STR("sub-agent");
}

static struct str start_data(const struct worker *w, struct arena *arena, struct str child,
                             const struct run_parent *parent)
{
    const struct run_state *run = &w->talk.run;
    return DATA(arena, run_status, .run = child, .status = str_of(run_status_name(RUN_RUNNING)), .model = run->model,
                .system = w->talk.system, .iterations_max = run->iterations_max, .iterations = -1,
                .agent = parent->agent, .depth = parent->depth, .parent = status_parent_data(arena, parent));
}

/* Fills `execute` so that the sub-agent's thread, prompt and status are kept in one append with TOOL_STARTED. */
struct rc task_prepare(struct worker *w, const struct call *call, struct execute *execute, struct err *err)
{
    struct arena *arena = execute->op.arena;
    const struct json *input;
    struct event *with = arena_array(arena, struct event, WITH_EVENTS);
    TRY(json_parse(arena, call_effective_input(call), &input, err));
    struct str child = arena_printf(arena, "%.*s.%s", STR_ARG(w->run->session), id_short().text);
    struct run_parent parent = {
        .thread = w->run->thread,
        .call = call->id,
        .run = w->talk.run.id,
        .agent = agent_name(arena, json_text(input, "subagent_type")),
        .depth = w->talk.run.parent.depth + 1,
    };
    struct data_thread thread = {.id = child, .parent = w->run->thread,
                                 .title = agent_name(arena, json_text(input, "description"))};
    struct event event = {
        .kind = EVENT_SESSION_CHANGED,
        .at_ms = clock_wall_ms(),
        .session = w->run->session,
        .thread = child,
        .actor = w->actor,
        .data = DATA(arena, session_thread, .thread = &thread),
    };
    with[0] = event;
    event.kind = EVENT_USER_MESSAGE;
    event.data = DATA(arena, user_message, .run = child, .text = json_text(input, "prompt"));
    with[1] = event;
    event.kind = EVENT_RUN_STATUS;
    event.data = start_data(w, arena, child, &parent);
    with[2] = event;
    execute->child = child;
    execute->with = with;
    execute->with_count = WITH_EVENTS;
    return RC_OK;
}

/* ---- the end ---- */

static struct rc look(struct worker *w, struct worker_run *run, const struct call *call, struct err *err)
{
    run->thread = run->id = call->child;
    run->kinds = (uint64_t)1 << EVENT_RUN_STATUS;
    return worker_run(w, run, err);
}

static bool waits(const struct call *call) { return call && call->child.n && !call->result_seq; }

/* Whether a sub-agent that this run waits for has ended. */
struct rc task_ready(struct worker *w, bool *ret_ready, struct err *err)
{
    ARENA_SCOPE(arena);
    struct worker_run run = {.arena = &arena};
    *ret_ready = false;
    for (const struct use *use = talk_open_uses(&w->talk); use && !*ret_ready; use = use->next) {
        const struct call *call = talk_call(&w->talk, use->id);
        if (!waits(call))
            continue;
        TRY(look(w, &run, call, err));
        *ret_ready = run_status_over(run.state.status);
    }
    return RC_OK;
}

/* The result is the sub-agent's last message; of a run that did not complete, an error with the reason. */
static struct execute_outcome outcome_of(struct arena *arena, const struct run_state *state)
{
    static const struct {
        enum run_status status;
        const char *words;
    } ends[] = {{RUN_FAILED, "The sub-agent failed"},
                {RUN_REJECTED, "The user has ended the sub-agent"},
                {RUN_CANCELLED, "The sub-agent was cancelled"}};
    JSON_SCOPE(usage, out, LIMIT_TITLE_BYTES);
    run_usage_write(&out, &state->usage);
    struct execute_outcome outcome = {.usage = arena_str(arena, buf_str(&usage)),
                                      .text = state->text.n ? state->text : STR("(the sub-agent said nothing)")};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (state->status != ends[i].status)
            continue;
        outcome.is_error = true;
        outcome.text = arena_printf(arena, "%s%s%.*s%s%.*s", ends[i].words, state->reason.n ? ": " : "",
                                    STR_ARG(state->reason), state->text.n ? "\nIt said last: " : "",
                                    STR_ARG(state->text));
    }
    return outcome;
}

/* Keeps the result of one sub-agent. Another process may have done it already: that is not a failure. */
static struct rc collect(struct worker *w, const struct call *call, struct err *err)
{
    ARENA_SCOPE(arena);
    struct worker_run run = {.arena = &arena};
    TRY(look(w, &run, call, err));
    if (!run_status_over(run.state.status))
        return RC_OK;
    run.kinds = run_event_kinds();
    TRY(worker_run(w, &run, err));
    struct execute_outcome outcome = outcome_of(&arena, &run.state);
    struct execute execute = {
        .op = {.arena = &arena}, .session = w->run->session, .call = call->id, .actor = w->actor, .outcome = &outcome};
    worker_execute(w, &execute, 1);
    if (!execute.op.err || gate_op_code(&execute.op) == ERR_CONFLICT)
        return RC_OK; /* conflict: another process has stored the same result already */
    *err = *execute.op.err;
    return (struct rc){err->code};
}

/* Results of sub-agents that have ended become results of the calls that started them. */
struct rc task_collect(struct worker *w, struct err *err)
{
    bool any = false;
    for (const struct use *use = talk_open_uses(&w->talk); use; use = use->next) {
        const struct call *call = talk_call(&w->talk, use->id);
        if (!waits(call))
            continue;
        TRY(collect(w, call, err));
        any = true;
    }
    return any ? worker_load(w, err) : RC_OK;
}

/* Whether the run that started this sub-agent is over: nobody would collect the result. */
struct rc task_orphaned(struct worker *w, bool *ret_orphaned, struct err *err)
{
    ARENA_SCOPE(arena);
    const struct run_parent *parent = &w->talk.run.parent;
    struct worker_run run = {
        .arena = &arena, .thread = parent->thread, .id = parent->run, .kinds = (uint64_t)1 << EVENT_RUN_STATUS};
    *ret_orphaned = false;
    if (!parent->depth)
        return RC_OK;
    TRY(worker_run(w, &run, err));
    *ret_orphaned = run_status_over(run.state.status);
    return RC_OK;
}
