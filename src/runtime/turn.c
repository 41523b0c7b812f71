/* The loop of a run, in a worker thread: what is next, do it, keep it.
 *
 * Invariants
 *  1. Everything is kept under the fence: the seq of the RUN_STATUS with which this job claimed the run. When
 *     another has claimed or cancelled it, nothing more of ours is kept, no tool is started, and the job ends.
 *  2. An answer of the model is kept whole, before any of its calls is asked.
 *  3. Asking, doing and answering are each done at most once per call, whoever repeats them (gate/); so this loop
 *     may begin anew after a crash at any point and comes to the same end.
 */
#include "runtime/inner.h"

#include "event/shapes.h"
#include "runtime/core/turn.h"
#include "runtime/prices.h"
#include "base/log.h"
#include "http/http.h"
#include "io/clock.h"

enum { USES_MAX = BLOCKS_MAX };

/* ---- statuses ---- */

static struct rc keep_status(struct worker *w, const struct status_change *change, struct err *err)
{
    struct str data = run_status_data(&w->arena, &w->talk.run, change);
    return worker_keep(w, EVENT_RUN_STATUS, data, &w->fence, err);
}

/* The run becomes ours. Its former owner may have kept more between our last read and the claim: we read it now. */
static struct rc claim(struct worker *w, struct err *err)
{
    uint64_t seen = w->talk.seq;
    TRY(keep_status(w, &(struct status_change){.to = RUN_RUNNING, .owner = w->runtime->runs.owner}, err));
    w->talk.seq = seen;
    return worker_load(w, err);
}

/* Releases ownership: writes RUN_STATUS without an owner. */
static struct rc put_down(struct worker *w, enum run_status to, struct err *err)
{
    w->run->end = RUN_WAITS;
    return keep_status(w, &(struct status_change){.to = to, .figures = true}, err);
}

static struct rc finish(struct worker *w, enum run_status to, const char *reason, struct err *err)
{
    w->run->end = RUN_OVER;
    return keep_status(w, &(struct status_change){.to = to, .reason = reason, .figures = true}, err);
}

/* ---- what is next ---- */

/* All that turn_next needs to decide, without the store: so that it can be tested as a function. */
static struct turn_view view_of(const struct worker *w)
{
    const struct talk *talk = &w->talk;
    struct turn_view view = {
        .cancelled = worker_cancelled(w), .answered = talk->last && talk->last->kind == TURN_AGENT,
        .iterations = talk->run.iterations,
        .iterations_max = talk->run.iterations_max ? talk->run.iterations_max : w->runtime->options.iterations_max};
    view.paused = view.answered && talk->last->paused;
    for (const struct use *use = talk_open_uses(talk); use && view.count < TURN_USES_MAX; use = use->next) {
        const struct call *call = talk_call(talk, use->id);
        view.uses[view.count++] = (struct turn_use){
            .asked = call != NULL, .decided = call && call->decision != DECISION_NONE, .settled = talk_settled(call),
            .aborted = call && call->decision == DECISION_ABORT, .child = call && call->child.n,
            .beside = gate_tool_done_elsewhere(use->name) || gate_tool_only_looks(use->name)};
    }
    return view;
}

/* Whether a run that waits can go on. */
static struct rc can_go_on(struct worker *w, bool *ret_can, struct err *err)
{
    struct turn_view view = view_of(w);
    view.cancelled = false; /* a job that is to end finds out when it goes on */
    *ret_can = turn_can_continue(&view);
    return *ret_can ? RC_OK : task_ready(w, ret_can, err);
}

/* ---- the model ---- */

static struct str system_prompt(struct worker *w)
{
    return arena_printf(
        &w->arena,
        "You are a coding agent. You work in the folder %.*s with the tools you are given; paths are relative to "
        "it.\nSome uses of tools are shown to a person first, who may allow, change or refuse them. A refusal comes "
        "back as an error with the person's words: heed them.\nWhen you need to use tools:\n"
        "- Suggest ONE tool at a time\n- Wait for the result before suggesting the next tool\n"
        "- Use the result to inform your next decision\nWhen the task is done, say briefly what you did.%s",
        STR_ARG(w->root),
        w->talk.run.parent.depth ? "\nYou are a sub-agent. Another agent has given you this task and reads nothing but "
                                   "your last message: put all that matters into it." : "");
}

static struct str whole_prompt(struct worker *w)
{
    struct str own = system_prompt(w);
    return w->talk.system.n ? arena_printf(&w->arena, "%.*s\n\n%.*s", STR_ARG(own), STR_ARG(w->talk.system)) : own;
}

/* The system prompt is logged before the first answer, and again whenever it changes. */
static struct rc keep_prompt(struct worker *w, struct err *err)
{
    struct str prompt = system_prompt(w);
    if (str_eq(w->talk.told, prompt))
        return RC_OK;
    struct str data = DATA(&w->arena, system_prompt, .run = w->talk.run.id, .text = prompt);
    TRY(worker_keep(w, EVENT_SYSTEM_PROMPT, data, NULL, err));
    w->talk.told = arena_str(&w->talk.arena, prompt);
    return RC_OK;
}

/* A model's id for a use must be new in the session and fit to be shown. Ids of other threads, and those before a
 * COMPACTION, are not known here: then the use gets an id of ours. */
static void settle_ids(struct worker *w, struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct block *block = &answer->blocks[i];
        bool fine = block->kind != BLOCK_TOOL_USE ||
                    (w->main && !w->talk.compacted_seq && id_acceptable(block->id) &&
                     block->id.n < LIMIT_ID_BYTES / 2 && !map_get(&w->talk.calls, block->id));
        for (size_t j = 0; fine && block->kind == BLOCK_TOOL_USE && j < i; j++)
            fine = !str_eq(answer->blocks[j].id, block->id);
        if (!fine)
            block->id = arena_str(&answer->arena, str_of(id_new("toolu").text));
    }
}

static struct str message_data(struct worker *w, const struct answer *answer)
{
    JSON_SCOPE(content, out, LIMIT_EVENT_BYTES);
    struct data_usage usage = prices_usage_data(&w->arena, &answer->usage);
    answer_write(&out, answer);
    return DATA(&w->arena, agent_message, .run = w->talk.run.id, .content = buf_str(&content),
                .stop_reason = answer->stop_reason, .model = answer->model, .usage = &usage);
}

/* Checks that the event can be read back: an input that is nested just deep enough to be read by itself may be too
 * deep inside the message or a preview. Without this check the run would ask the model for the same answer without
 * end. */
static struct rc keep_answer(struct worker *w, const struct answer *answer, struct err *err)
{
    ARENA_SCOPE(scratch);
    const struct json *again;
    struct str data = message_data(w, answer);
    if (rc_bad(json_parse(&scratch, data, &again, NULL)) || json_deeper(again, LIMIT_GIVEN_DEPTH))
        return err_set(err, ERR_INVALID, "the model's answer is nested too deeply to be kept");
    return worker_keep(w, EVENT_AGENT_MESSAGE, data, NULL, err);
}

static struct request request_of(struct worker *w)
{
    const struct runtime_options *options = &w->runtime->options;
    return (struct request){
        .talk = &w->talk,
        .model = w->talk.run.model,
        .system = whole_prompt(w),
        .tools = w->runtime->tools,
        .answer_tokens = w->talk.run.answer_tokens ? w->talk.run.answer_tokens : options->answer_tokens,
        .parallel_tools = options->parallel_tools,
    };
}

/* The conversation is summed up by the model itself, and goes on from there. */
static struct rc compact(struct worker *w, struct err *err)
{
    struct answer answer = {.ended = false};
    struct request request = request_of(w);
    request.tools = STR_NONE;
    request.closing = STR("Sum up this conversation for yourself: the task, what was done and found, files and their "
                          "state, what is left to do. You will go on from your summary alone.");
    struct rc rc = model_ask(w, &request, &answer, err);
    if (rc_ok(rc)) {
        BUF_SCOPE(text, BLOCK_BYTES_MAX);
        struct data_usage usage = prices_usage_data(&w->arena, &answer.usage);
        for (size_t i = 0; i < answer.count; i++)
            if (answer.blocks[i].kind == BLOCK_TEXT)
                buf_put(&text, buf_str(&answer.blocks[i].text));
        struct str data = DATA(&w->arena, compaction, .run = w->talk.run.id, .summary = buf_str(&text),
                               .tokens_before = w->talk.context_tokens, .usage = &usage,
                               .basis = talk_basis(&w->arena, &w->talk));
        rc = worker_keep(w, EVENT_COMPACTION, data, NULL, err);
    }
    answer_done(&answer);
    return rc;
}

/* Too long a conversation is summarized first. The answer is stored before anything in it is acted on. */
static struct rc ask_model(struct worker *w, struct err *err)
{
    struct answer answer = {.ended = false};
    if (w->talk.context_tokens > w->runtime->options.context_tokens)
        TRY(compact(w, err));
    TRY(keep_prompt(w, err));
    struct request request = request_of(w);
    TRY(offer_tools(w, &request.tools, err));
    request.web_search = w->may_search;
    struct rc rc = model_ask(w, &request, &answer, err);
    if (rc_ok(rc)) {
        settle_ids(w, &answer);
        rc = keep_answer(w, &answer, err);
    }
    answer_done(&answer);
    return rc;
}

/* ---- the tools ---- */

/* Stores an invalid tool use as a denied call, with an explanation for the model; no person is asked. */
static struct rc keep_invalid(struct worker *w, const struct use *use, const struct err *why, struct err *err)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct str id = talk_call_id(&w->talk, use->id); /* the latest call for this use, if others were superseded */
    struct data_verdict verdict = {.effect = STR("deny"), .source = STR("tool"), .why = str_of(why->text)};
    struct event event = {
        .kind = EVENT_TOOL_CALL,
        .at_ms = clock_wall_ms(),
        .session = arena_str(arena, w->run->session),
        .thread = arena_str(arena, w->run->thread),
        .call = arena_str(arena, id),
        .actor = STR("nod"),
        .data = DATA(arena, tool_call, .id = id, .name = use->name,
                     .input = use->input ? use->input->raw : STR("{}"), .verdict = &verdict),
    };
    append_need(append, (struct need){
        .need = NEED_ABSENT, .kind = EVENT_TOOL_CALL, .session = event.session, .call = event.call});
    append_need(append, (struct need){
        .need = NEED_RUN_AT, .session = event.session, .call = event.thread, .seq = w->fence});
    (void)append_event(append, event);
    return worker_append(w, append, err);
}

/* Asks the gate about all calls that were not asked about yet, at once. */
static struct rc ask_all(struct worker *w, struct err *err)
{
    ARENA_SCOPE(arena);
    struct ask *asks = arena_array(&arena, struct ask, USES_MAX);
    size_t count = 0;
    int64_t tasks = 0; /* asked for, and not begun */
    for (const struct use *use = talk_open_uses(&w->talk); use && count < USES_MAX; use = use->next) {
        struct err why;
        const struct call *call = talk_call(&w->talk, use->id);
        bool elsewhere = gate_tool_done_elsewhere(use->name);
        if (call) {
            tasks += elsewhere && !talk_settled(call) && str_empty(call->child);
            continue;
        }
        struct ask *ask = &asks[count];
        *ask = (struct ask){
            .op = {.arena = &arena}, .session = w->run->session, .thread = w->run->thread, .name = use->name,
            .id = talk_call_id(&w->talk, use->id), .input = use->input, .cwd = w->root, .actor = w->actor,
        };
        struct rc rc = gate_tool_check(w->runtime->gate, ask, &why);
        if (rc_ok(rc) && elsewhere)
            rc = task_check(w, tasks, &why);
        if (rc_bad(rc)) {
            TRY(keep_invalid(w, use, &why, err));
            continue;
        }
        gate_look(w->runtime->gate, ask, w->root);
        tasks += elsewhere;
        count++;
    }
    worker_ask(w, asks, count);
    for (size_t i = 0; i < count; i++) {
        if (!asks[i].op.err)
            continue;
        *err = *asks[i].op.err;
        return (struct rc){err->code};
    }
    return worker_load(w, err);
}

/* Does these uses of the last answer, side by side. */
static struct rc execute_uses(struct worker *w, uint64_t uses, struct err *err)
{
    ARENA_SCOPE(arena);
    struct execute *executes = arena_array(&arena, struct execute, USES_MAX);
    size_t count = 0;
    uint64_t bit = 1;
    for (const struct use *use = talk_open_uses(&w->talk); use && bit; use = use->next, bit <<= 1) {
        const struct call *call = talk_call(&w->talk, use->id);
        if (!(uses & bit))
            continue;
        executes[count] = (struct execute){
            .op = {.arena = &arena},
            .session = w->run->session,
            .call = call->id,
            .actor = w->actor,
            .fence = {.need = NEED_RUN_AT, .session = w->run->session, .call = w->run->thread, .seq = w->fence},
            .cancelled = &w->job->cancelled,
        };
        if (gate_tool_done_elsewhere(use->name))
            TRY(task_prepare(w, call, &executes[count], err));
        count++;
    }
    worker_execute(w, executes, count);
    for (size_t i = 0; i < count; i++) {
        if (executes[i].op.err) {
            *err = *executes[i].op.err;
            return (struct rc){err->code};
        }
        if (executes[i].child.n)
            worker_wake(w, executes[i].child);
    }
    return worker_load(w, err);
}

/* Calls that still wait for a person are withdrawn; those that run are left to their end. */
static void cancel_open(struct worker *w)
{
    for (const struct use *use = talk_open_uses(&w->talk); use; use = use->next) {
        const struct call *call = talk_call(&w->talk, use->id);
        if (!call || call->decision != DECISION_NONE)
            continue;
        struct decide decide = {.op = {.arena = &w->arena}, .session = w->run->session, .call_id = call->id,
                                .decision = DECISION_CANCELLED, .actor = STR("nod")};
        worker_decide(w, &decide);
    }
}

/* The person who answered a call ended the run with it. */
static struct rc reject(struct worker *w, struct err *err)
{
    struct str feedback = STR_NONE;
    for (const struct use *use = talk_open_uses(&w->talk); use; use = use->next) {
        const struct call *call = talk_call(&w->talk, use->id);
        if (call && call->decision == DECISION_ABORT && !feedback.p)
            feedback = call->feedback;
    }
    cancel_open(w);
    return finish(w, RUN_REJECTED, arena_c(&w->arena, feedback), err);
}

/* ---- the loop ---- */

/* An error of the model ends the run; an error of the store, or a change of the owner, does not. */
static struct rc model_step(struct worker *w, bool *ret_over, struct err *err)
{
    uint64_t before = w->fence;
    struct rc rc = ask_model(w, err);
    if (worker_cancelled(w))
        return RC_OK;
    CHECK(before == w->fence);
    *ret_over = rc_bad(rc);
    if (rc_ok(rc) || rc.code == ERR_CONFLICT || rc.code == ERR_IO || rc.code == ERR_CORRUPT)
        return rc;
    struct err why = *err;
    return finish(w, RUN_FAILED, why.text, err);
}

static struct rc fail_at_limit(struct worker *w, int64_t most, struct err *err)
{
    return finish(w, RUN_FAILED,
                  arena_printf(&w->arena, "the limit of %lld iterations is reached", (long long)most).p, err);
}

/* Does one step after the other until the run waits, is over, or no longer ours. Each step is stored, so that any
 * other process could go on from there. */
static struct rc go_on(struct worker *w, struct err *err)
{
    bool collected = false;
    w->run->end = RUN_LEFT;
    for (bool over = false; !over;) {
        struct turn_view view = view_of(w);
        view.collected = collected;
        struct turn_next next = turn_next(&view);
        collected = next.step == TURN_COLLECT;
        switch (next.step) {
        case TURN_ASK_MODEL: TRY(model_step(w, &over, err)); break;
        case TURN_ASK_CALLS: TRY(ask_all(w, err)); break;
        case TURN_EXECUTE: TRY(execute_uses(w, next.uses, err)); break;
        case TURN_COLLECT: TRY(task_collect(w, err)); break;
        case TURN_LIMIT: return fail_at_limit(w, view.iterations_max, err);
        case TURN_WAIT: return put_down(w, next.awaits ? RUN_AWAITING_APPROVAL : RUN_RUNNING, err);
        case TURN_REJECT: return reject(w, err);
        case TURN_COMPLETE: return finish(w, RUN_COMPLETED, "", err);
        case TURN_STOP: return RC_OK;
        }
    }
    return RC_OK;
}

/* Whether the run is there for us to take. */
static bool takeable(struct worker *w)
{
    const struct run_state *run = &w->talk.run;
    if (str_empty(run->owner) || str_eq(run->owner, w->runtime->runs.owner) || w->runtime->options.only_process)
        return true;
    if (!worker_owner_silent(w))
        return false;
    log_line(LOG_WARN, "run taken over", LOG_S("thread", w->run->thread), LOG_S("from", run->owner));
    return true;
}

/* Reads the conversation, then claims the run. A claim that fails means that somebody else has it. */
static struct rc take_up(struct worker *w, struct err *err)
{
    const struct run_state *run = &w->talk.run;
    TRY(worker_load(w, err));
    w->actor = STR("nod agent");
    if (run->parent.depth)
        w->actor = arena_printf(&w->arena, "nod agent: %.*s", STR_ARG(run->parent.agent));
    w->run->end = RUN_OVER;
    if (run->id.n == 0 || run_status_over(run->status))
        return RC_OK;
    bool orphaned, ready = true;
    bool down = run->status == RUN_AWAITING_APPROVAL || str_empty(run->owner);
    TRY(task_orphaned(w, &orphaned, err));
    if (down && !orphaned)
        TRY(can_go_on(w, &ready, err));
    w->run->end = ready ? RUN_LEFT : RUN_WAITS;
    if (!ready || !takeable(w))
        return RC_OK;
    w->fence = run->status_seq;
    TRY(worker_root(w, err));
    TRY(claim(w, err));
    if (!orphaned)
        return go_on(w, err);
    cancel_open(w);
    return finish(w, RUN_CANCELLED, "the run that had started it is over", err);
}

/* A job on a thread of the runtime's pool. It leaves in run->end why it stopped; the loop decides what follows. */
void run_work(struct job *job)
{
    struct run_job *work = job->arg;
    struct run *run = work->run;
    struct worker w = {.run = run, .job = work, .runtime = work->runtime};
    struct err err = {.code = ERR_OK};
    talk_init(&w.talk);
    w.talk.seq = run->from ? run->from - 1 : 0;
    struct rc rc = take_up(&w, &err);
    if (rc.code == ERR_CONFLICT) {
        run->end = RUN_LEFT; /* cancelled, or claimed by another */
    } else if (rc_bad(rc)) {
        log_line(LOG_WARN, "run cannot go on", LOG_S("thread", run->thread), LOG_C("error", err.text));
        run->end = RUN_TROUBLE;
    }
    /* A waiting run has a status after the COMPACTION: everything needed to go on can be read from there. */
    run->from = run->end == RUN_WAITS ? w.talk.compacted_seq : 0;
    if (w.line)
        fetch_line_free(w.line);
    talk_done(&w.talk);
    arena_done(&w.arena);
}
