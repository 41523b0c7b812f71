/* A thread's conversation as the sum of its events: turns, uses of tools with the calls they became, usage, the
 * state of the run. talk_apply takes events in the order of seq; the same events give the same conversation in
 * every process, so a run can go on anywhere. Everything lives in talk->arena. */
#include "runtime/talk.h"

#include "base/list.h"
#include "gate/gate.h"
#include "runtime/prices.h"

enum {
    CHAIN_MAX = 100,
    REPEAT_BYTES_MIN = 256, /* a result shorter than this is told again */
};

/* The result of a use that only looked, and the turn in which the model was given it in full. */
struct look {
    const struct turn *turn;
    struct str result;
};

void talk_init(struct talk *talk) { *talk = (struct talk){0}; }

void talk_done(struct talk *talk)
{
    map_done(&talk->calls);
    map_done(&talk->looks);
    map_done(&talk->repeats);
    arena_done(&talk->arena);
}

static struct turn *add_turn(struct talk *talk, enum turn_kind kind)
{
    struct turn *turn = arena_new(&talk->arena, struct turn);
    turn->kind = kind;
    LIST_ADD(talk, turn);
    return turn;
}

/* ---- what each event means; `data` is a copy that lives as long as the talk ---- */

static void take_user(struct talk *talk, const struct event *event, struct str data)
{
    struct data_user_message message;
    (void)event;
    if (!READ_DATA(&talk->arena, user_message, data, &message))
        return;
    add_turn(talk, TURN_USER)->text = message.text;
    talk->run.prompt = message.text;
}

/* Adds the usage of one answer to the run's sum; returns the tokens of that answer, those of the cache included. */
static int64_t add_usage(struct talk *talk, const struct data_usage *usage)
{
    struct run_usage now = prices_read_usage(usage);
    talk->run.usage.input += now.input;
    talk->run.usage.output += now.output;
    talk->run.usage.cache_read += now.cache_read;
    talk->run.usage.cache_write += now.cache_write;
    talk->run.usage.cost += now.cost;
    talk->run.usage.cost_unknown = talk->run.usage.cost_unknown || now.cost_unknown;
    return now.input + now.output + now.cache_read + now.cache_write;
}

/* An answer of the model: a turn with its uses. Its usage is the size of the context so far. */
static void take_agent(struct talk *talk, const struct event *event, struct str data)
{
    struct data_agent_message message;
    (void)event;
    if (!READ_DATA(&talk->arena, agent_message, data, &message))
        return;
    struct turn *turn = add_turn(talk, TURN_AGENT);
    struct use **last = &turn->uses;
    if (message.content.n)
        (void)json_parse(&talk->arena, message.content, &turn->content, NULL).code;
    turn->paused = str_is(message.stop_reason, "pause_turn");
    talk->run.iterations++;
    talk->run.text = STR_NONE;
    talk->context_tokens = add_usage(talk, message.usage);
    for (const struct json *b = turn->content ? turn->content->first : NULL; b; b = b->next) {
        struct str type = json_text(b, "type");
        if (str_is(type, "text"))
            talk->run.text = json_text(b, "text");
        if (!str_is(type, "tool_use"))
            continue;
        struct use *use = arena_new(&talk->arena, struct use);
        *use = (struct use){.id = json_text(b, "id"), .name = json_text(b, "name"), .input = json_get(b, "input")};
        *last = use;
        last = &use->next;
    }
}

static struct run_parent read_parent(const struct data_parent *parent, struct str agent, int64_t depth)
{
    struct run_parent read = {.agent = agent, .depth = depth};
    if (parent) {
        read.thread = parent->thread;
        read.call = parent->call;
        read.run = parent->run;
    }
    return read;
}

/* A status of another run than before begins a new run in the same thread. */
static void take_status(struct talk *talk, const struct event *event, struct str data)
{
    struct run_state *run = &talk->run;
    struct data_run_status status;
    if (!READ_DATA(&talk->arena, run_status, data, &status))
        return;
    if (!str_eq(status.run, run->id)) {
        struct str prompt = run->prompt; /* of the new run: its event comes before this status */
        *run = (struct run_state){.id = status.run, .prompt = prompt, .created_ms = event->at_ms};
        run->model = status.model;
        talk->system = status.system;
        talk->tasks = 0;
        run->iterations_max = status.iterations_max;
        run->answer_tokens = status.answer_tokens;
        run->parent = read_parent(status.parent, status.agent, status.depth);
    }
    run->status = run_status_parse(status.status);
    run->reason = status.reason;
    run->owner = status.owner;
    run->changed_ms = event->at_ms;
    run->status_seq = event->seq;
}

static void take_user_system(struct talk *talk, const struct event *event, struct str data)
{
    struct data_user_system_prompt prompt;
    (void)event;
    if (READ_DATA(&talk->arena, user_system_prompt, data, &prompt) && str_eq(prompt.run, talk->run.id))
        talk->system = prompt.text;
}

static void take_told(struct talk *talk, const struct event *event, struct str data)
{
    struct data_system_prompt prompt;
    (void)event;
    if (READ_DATA(&talk->arena, system_prompt, data, &prompt))
        talk->told = prompt.text;
}

/* Restores the run from a COMPACTION, when reading begins there. */
static void take_basis(struct talk *talk, struct str id, const struct data_basis *basis)
{
    talk->run = (struct run_state){
        .id = id,
        .prompt = basis->prompt,
        .model = basis->model,
        .iterations = basis->iterations,
        .iterations_max = basis->iterations_max,
        .answer_tokens = basis->answer_tokens,
        .created_ms = basis->created_ms,
        .parent = read_parent(basis->parent, basis->agent, basis->depth),
    };
    talk->system = basis->system;
    talk->tasks = basis->tasks;
    (void)add_usage(talk, basis->usage);
}

/* The state of the run that a COMPACTION keeps besides the summary, so that events before it need not be read
 * again. */
const struct data_basis *talk_basis(struct arena *arena, const struct talk *talk)
{
    const struct run_state *run = &talk->run;
    struct data_usage *usage = arena_new(arena, struct data_usage);
    struct data_basis *basis = arena_new(arena, struct data_basis);
    *usage = prices_usage_data(arena, &run->usage);
    *basis = (struct data_basis){
        .prompt = run->prompt,
        .model = run->model,
        .system = talk->system,
        .iterations = run->iterations,
        .iterations_max = run->iterations_max,
        .answer_tokens = run->answer_tokens,
        .tasks = talk->tasks,
        .created_ms = run->created_ms,
        .usage = usage,
        .agent = run->parent.agent,
        .depth = run->parent.depth,
        .parent = status_parent_data(arena, &run->parent),
    };
    return basis;
}

/* The conversation so far is replaced by its summary. */
static void take_compaction(struct talk *talk, const struct event *event, struct str data)
{
    struct data_compaction compaction;
    if (!READ_DATA(&talk->arena, compaction, data, &compaction))
        return;
    if (talk->run.id.n == 0 && compaction.basis)
        take_basis(talk, compaction.run, compaction.basis);
    talk->compacted_seq = compaction.basis ? event->seq : 0;
    talk->first = talk->last = NULL;
    map_done(&talk->looks); /* the model no longer sees their results */
    map_done(&talk->repeats);
    talk->context_tokens = 0;
    if (compaction.usage)
        (void)add_usage(talk, compaction.usage);
    add_turn(talk, TURN_USER)->text =
        arena_printf(&talk->arena, "This is what happened so far, summed up:\n\n%.*s\n\nThe task at hand:\n\n%.*s",
                     STR_ARG(compaction.summary), STR_ARG(talk->run.prompt));
}

/* Notes a read-only result that is equal to an earlier one. The tool did run, so the result is fresh; the model is only
 * sent a reference to the earlier text. */
static void note_look(struct talk *talk, const struct call *call)
{
    if (!gate_tool_only_looks(call->name) || call->result_is_error || call->result.n < REPEAT_BYTES_MIN ||
        call->updated_input.n || call->feedback.n)
        return;
    struct str key = arena_printf(&talk->arena, "%.*s\n%.*s", STR_ARG(call->name), STR_ARG(call->input));
    struct look *look = map_get(&talk->looks, key);
    if (look && look->turn != talk->last && str_eq(look->result, call->result)) {
        (void)map_put(&talk->repeats, call->id, look);
        return;
    }
    if (!look) {
        look = arena_new(&talk->arena, struct look);
        (void)map_put(&talk->looks, key, look);
    }
    *look = (struct look){.turn = talk->last, .result = call->result};
}

/* Events of a call, by the id of the use. Tokens of a sub-agent are counted when its result comes. */
static void take_call(struct talk *talk, const struct event *event)
{
    struct call *call = map_get(&talk->calls, event->call);
    if (!call) {
        call = arena_new(&talk->arena, struct call);
        (void)map_put(&talk->calls, event->call, call);
    }
    call_apply(&talk->arena, call, event);
    talk->tasks += event->kind == EVENT_TOOL_STARTED && call->child.n;
    if (event->kind == EVENT_TOOL_RESULT)
        note_look(talk, call);
    struct data_usage usage;
    if (event->kind == EVENT_TOOL_RESULT && call->usage.n &&
        READ_DATA(&talk->arena, usage, call->usage, &usage))
        (void)add_usage(talk, &usage); /* tokens of a sub-agent count for this run, too */
}

static const struct {
    enum event_kind kind;
    void (*take)(struct talk *talk, const struct event *event, struct str data);
} takers[] = {
    {EVENT_USER_MESSAGE, take_user}, {EVENT_USER_SYSTEM_PROMPT, take_user_system}, {EVENT_SYSTEM_PROMPT, take_told},
    {EVENT_AGENT_MESSAGE, take_agent},
    {EVENT_RUN_STATUS, take_status},
    {EVENT_COMPACTION, take_compaction},
};

/* The kinds that talk_apply needs: pages that are read for a run hold no others. */
uint64_t run_event_kinds(void)
{
    /* Requests are left out: previews are large, and the model does not get them. */
    static const enum event_kind of_calls[] = {EVENT_TOOL_CALL, EVENT_TOOL_APPROVAL_RESPONSE, EVENT_TOOL_STARTED,
                                               EVENT_TOOL_RESULT};
    uint64_t kinds = 0;
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        kinds |= (uint64_t)1 << takers[i].kind;
    for (size_t i = 0; i < sizeof of_calls / sizeof *of_calls; i++)
        kinds |= (uint64_t)1 << of_calls[i];
    return kinds;
}

/* Events that were applied before are skipped, so pages may overlap. */
void talk_apply(struct talk *talk, const struct event *event)
{
    if (event->seq <= talk->seq)
        return;
    talk->seq = event->seq;
    if (event_kind_of_call(event->kind)) {
        take_call(talk, event);
        return;
    }
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (takers[i].kind != event->kind)
            continue;
        /* Blocks of the conversation are views into this copy. */
        takers[i].take(talk, event, arena_str(&talk->arena, event->data));
    }
}

/* ---- calls ---- */

const struct use *talk_open_uses(const struct talk *talk)
{
    return talk->last && talk->last->kind == TURN_AGENT ? talk->last->uses : NULL;
}

const struct call *talk_call(const struct talk *talk, struct str id)
{
    const struct call *call = map_get(&talk->calls, id);
    for (int i = 0; call && !str_empty(call->superseded_by) && i < CHAIN_MAX; i++)
        call = map_get(&talk->calls, call->superseded_by);
    return call;
}

/* A call whose files had changed before it ran was asked anew under another id; the model knows the first. The chain
 * is bounded. */
struct str talk_call_id(const struct talk *talk, struct str id)
{
    const struct call *call = map_get(&talk->calls, id);
    for (int i = 0; call && !str_empty(call->superseded_by) && i < CHAIN_MAX; i++) {
        id = call->superseded_by;
        call = map_get(&talk->calls, id);
    }
    return id;
}

bool talk_settled(const struct call *call)
{
    if (!call || call->decision == DECISION_NONE)
        return false;
    return call->result_seq || !call_allowed(call);
}

static struct str result_text(struct arena *arena, const struct call *call)
{
    const struct json *value;
    if (rc_ok(json_parse(arena, call->result, &value, NULL)) && value->type == JSON_STRING)
        return value->text;
    return call->result;
}

/* The text that the model gets for a use: the result, the denial with the person's words, or why it was not
 * run. */
struct str talk_outcome(struct arena *arena, const struct talk *talk, const struct call *call, bool *ret_is_error)
{
    *ret_is_error = true;
    if (!call || call->decision == DECISION_NONE)
        return STR("Cancelled before anyone answered; it was not run");
    if (map_get(&talk->repeats, call->id)) {
        *ret_is_error = false;
        return STR("The same as when you asked before: nothing has changed since.");
    }
    if (call->result_seq) {
        *ret_is_error = call->result_is_error;
        struct str text = result_text(arena, call);
        bool edited = !str_empty(call->updated_input);
        bool words = !call->by_policy && !str_empty(call->feedback);
        if (edited)
            text = arena_printf(arena, "(The user changed the input to %.*s)\n%.*s", STR_ARG(call->updated_input),
                                STR_ARG(text));
        if (words)
            text = arena_printf(arena, "%.*s\n(The user says: %.*s)", STR_ARG(text), STR_ARG(call->feedback));
        return text;
    }
    if (call->started)
        return STR("Cancelled while it was done; its effect is unknown");
    if (call->by_policy && str_is(call->source, "tool"))
        return call->why; /* the input did not fit the tool's schema; `why` says where */
    if (call->by_policy)
        return arena_printf(arena, "Denied by policy: %.*s", STR_ARG(call->why));
    switch (call->decision) {
    case DECISION_DENY:
    case DECISION_ABORT:
        return str_empty(call->feedback) ? STR("User rejected this tool call")
                                         : arena_printf(arena, "User rejected: %.*s", STR_ARG(call->feedback));
    case DECISION_TIMEOUT:
        return STR("Nobody answered in time; it was not run");
    case DECISION_NONE:
    case DECISION_ALLOW_ONCE:
    case DECISION_ALLOW_SESSION:
    case DECISION_ALLOW_ALWAYS:
    case DECISION_CANCELLED:
    case DECISION_COUNT:
        break;
    }
    return STR("Cancelled; it was not run");
}

/* ---- what others see of a run ---- */

/* The state of the run `id`, or of the thread's last one; its texts are copied into the arena. */
bool run_state_of(struct arena *arena, const struct event *events, size_t count, struct str id,
                  struct run_state *ret_state)
{
    struct talk talk;
    bool found = false;
    talk_init(&talk);
    for (size_t i = 0; i < count; i++) {
        talk_apply(&talk, &events[i]);
        if (talk.run.id.n && (str_empty(id) || str_eq(id, talk.run.id))) {
            *ret_state = talk.run;
            found = true;
        }
    }
    if (found) {
        struct str *texts[] = {&ret_state->id, &ret_state->reason, &ret_state->model,
                               &ret_state->prompt, &ret_state->text, &ret_state->owner,
                               &ret_state->parent.thread, &ret_state->parent.call, &ret_state->parent.run,
                               &ret_state->parent.agent};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            *texts[i] = arena_str(arena, *texts[i]);
    }
    talk_done(&talk);
    return found;
}

/* Writes the results of calls that have one: a history for people may end in the middle of a turn. */
static void write_results(struct json_out *out, struct arena *arena, const struct talk *talk, const struct turn *turn)
{
    bool any = false;
    for (const struct use *use = turn->uses; use; use = use->next)
        any = any || talk_settled(talk_call(talk, use->id));
    if (!any)
        return;
    json_open(out, '{');
    json_member(out, "role", STR("user"));
    JSON_LIST(out, "content")
        for (const struct use *use = turn->uses; use; use = use->next) {
            const struct call *call = talk_call(talk, use->id);
            bool is_error;
            if (!talk_settled(call))
                continue;
            struct str content = talk_outcome(arena, talk, call, &is_error);
            json_object(out, J("type", "tool_result"), J("tool_use_id", use->id), J_ALWAYS("content", content),
                        J_BOOL("is_error", is_error));
        }
    json_close(out, '}');
}

static void write_history(struct json_out *out, struct arena *arena, const struct talk *talk)
{
    JSON_LIST(out, NULL)
        for (const struct turn *turn = talk->first; turn; turn = turn->next) {
            json_open(out, '{');
            json_member(out, "role", turn->kind == TURN_USER ? STR("user") : STR("assistant"));
            json_key(out, "content");
            if (turn->kind == TURN_USER)
                json_put_str(out, turn->text);
            else
                json_put_raw(out, turn->content ? turn->content->raw : STR("[]"));
            json_close(out, '}');
            write_results(out, arena, talk, turn);
        }
}

/* For the API: the conversation in the form in which it would be sent to a model. */
void run_write_checkpoint(struct json_out *out, struct arena *arena, const struct event *events, size_t count,
                          const struct run_state *state)
{
    struct talk talk;
    const struct use *last = NULL;
    talk_init(&talk);
    for (size_t i = 0; i < count; i++)
        talk_apply(&talk, &events[i]);
    for (const struct turn *turn = talk.first; turn; turn = turn->next)
        for (const struct use *use = turn->uses; use; use = use->next)
            last = use;
    json_open(out, '{');
    json_key(out, "conversationHistory");
    write_history(out, arena, &talk);
    json_key(out, "lastToolCall");
    if (last) {
        json_object(out, J("id", last->id), J("name", last->name),
                    J_RAW("input", last->input ? last->input->raw : STR("{}")));
    } else {
        json_put_null(out);
    }
    json_members(out, J("iterationCount", state->iterations), J("status", run_status_name(state->status)));
    json_key(out, "usage");
    run_usage_write(out, &state->usage);
    json_close(out, '}');
    talk_done(&talk);
}
