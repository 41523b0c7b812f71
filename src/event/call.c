/* A call as the sum of its events (call.h): call_apply takes them in order and computes the status by the table
 * in life.h. */
#include "event/call.h"

#include "event/life.h"
#include "event/shapes.h"

static const struct {
    const char *wire, *words;
    bool by_person;
} decisions[DECISION_COUNT] = {
#define X(name, wire, words, condition, by_person) [DECISION_##name] = {wire, words, by_person},
    DECISIONS(X)
#undef X
};

static const char *const status_names[CALL_STATUS_COUNT] = {
#define X(name, wire) [CALL_##name] = wire,
    CALL_STATUSES(X)
#undef X
};

const char *decision_name(enum decision decision)
{
    CHECK(decision > DECISION_NONE && decision < DECISION_COUNT);
    return decisions[decision].wire;
}

enum decision decision_parse(struct str name)
{
    for (int i = 1; i < DECISION_COUNT; i++)
        if (str_is(name, decisions[i].wire))
            return (enum decision)i;
    return DECISION_NONE;
}

struct str decision_words(struct str name)
{
    enum decision decision = decision_parse(name);
    return decision == DECISION_NONE ? name : str_of(decisions[decision].words);
}

bool decision_by_person(enum decision decision)
{
    CHECK(decision < DECISION_COUNT);
    return decisions[decision].by_person;
}

const char *call_status_name(enum call_status status)
{
    CHECK(status < CALL_STATUS_COUNT);
    return status_names[status];
}

static void take_call(struct arena *arena, struct call *call, const struct event *event)
{
    struct data_tool_call data;
    if (!READ_DATA(arena, tool_call, event->data, &data))
        return;
    static const struct data_verdict none = {0};
    const struct data_verdict *verdict = data.verdict ? data.verdict : &none;
    bool asked = str_is(verdict->effect, "ask"), allowed = str_is(verdict->effect, "allow");
    enum life_condition condition = asked ? LIFE_ASK : allowed ? LIFE_ALLOW : LIFE_DENY;
    if (!call_move(call->status, event->kind, condition, &call->status))
        return;
    call->id = arena_str(arena, event->call);
    call->session = arena_str(arena, event->session);
    call->thread = arena_str(arena, event->thread);
    call->name = arena_str(arena, data.name);
    call->cwd = arena_str(arena, data.cwd);
    call->dialect = arena_str(arena, data.dialect);
    call->input = arena_str(arena, data.input);
    call->agent_actor = arena_str(arena, event->actor);
    call->rule = arena_str(arena, verdict->rule);
    call->source = arena_str(arena, verdict->source);
    call->why = arena_str(arena, verdict->why);
    call->called_ms = event->at_ms;
    call->call_seq = event->seq;
    if (asked)
        return;
    call->by_policy = true;
    call->decision = allowed ? DECISION_ALLOW_ONCE : DECISION_DENY;
    call->actor = STR("policy");
    call->decided_ms = event->at_ms;
}

static void take_request(struct arena *arena, struct call *call, const struct event *event)
{
    struct data_tool_approval_request data;
    if (!READ_DATA(arena, tool_approval_request, event->data, &data))
        return;
    call->requested_ms = event->at_ms;
    call->digest = arena_str(arena, data.digest);
    call->files = arena_str(arena, data.files);
    call->deadline_ms = data.deadline;
}

static void take_response(struct arena *arena, struct call *call, const struct event *event)
{
    struct data_tool_approval_response data;
    if (!READ_DATA(arena, tool_approval_response, event->data, &data) ||
        !call_move(call->status, event->kind, decision_condition(data.decision), &call->status))
        return;
    call->decision = data.decision;
    call->actor = arena_str(arena, event->actor);
    call->by = arena_str(arena, data.by);
    call->feedback = arena_str(arena, data.feedback);
    call->updated_input = arena_str(arena, data.updated_input);
    call->rules = arena_str(arena, data.rules);
    call->rules_chosen = data.rules_chosen;
    call->reach = arena_str(arena, data.reach);
    call->rules_end_ms = data.rules_end;
    call->rules_uses = data.rules_uses;
    call->mode = arena_str(arena, data.mode);
    const struct json *signature = NULL;
    if (!str_empty(data.signature) && rc_ok(json_parse(arena, data.signature, &signature, NULL)))
        call->key = arena_str(arena, json_text(signature, "key"));
    call->decided_ms = event->at_ms;
    call->response_seq = event->seq;
}

static void take_start(struct arena *arena, struct call *call, const struct event *event)
{
    struct data_tool_started data;
    if (!READ_DATA(arena, tool_started, event->data, &data) ||
        !call_move(call->status, event->kind, LIFE_ANY, &call->status))
        return;
    call->started = true;
    call->child = arena_str(arena, data.child);
}

static void take_result(struct arena *arena, struct call *call, const struct event *event)
{
    struct data_tool_result data;
    if (!READ_DATA(arena, tool_result, event->data, &data) ||
        !call_move(call->status, event->kind, data.interrupted ? LIFE_INTERRUPTED : LIFE_ANY, &call->status))
        return;
    call->result = arena_str(arena, data.content);
    call->result_is_error = data.is_error;
    call->usage = arena_str(arena, data.usage);
    call->superseded_by = arena_str(arena, data.superseded_by);
    call->result_seq = event->seq;
}

void call_apply(struct arena *arena, struct call *call, const struct event *event)
{
    if (event->kind == EVENT_TOOL_CALL)
        take_call(arena, call, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        take_request(arena, call, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        take_response(arena, call, event);
    else if (event->kind == EVENT_TOOL_STARTED)
        take_start(arena, call, event);
    else if (event->kind == EVENT_TOOL_RESULT)
        take_result(arena, call, event);
}

void call_digest(const struct call *call, char hex[DIGEST_HEX_BYTES])
{
    const struct str pieces[] = {call->session, call->id, call->name, call->input, call->cwd, call->files};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
}

struct str call_effective_input(const struct call *call)
{
    return str_empty(call->updated_input) ? call->input : call->updated_input;
}

static struct str decider(enum decision decision)
{
    if (decision_by_person(decision))
        return STR("person");
    return decision == DECISION_TIMEOUT ? STR("timeout") : STR("agent");
}

static void write_decided_by(struct json_out *out, const struct call *call)
{
    if (call->decision == DECISION_NONE) {
        json_member_null(out, "decidedBy");
        return;
    }
    json_open_member(out, "decidedBy", '{');
    if (call->by_policy) {
        json_member(out, "kind", STR("policy"));
        json_member_or_null(out, "rule", call->rule);
        json_member(out, "source", call->source);
    } else {
        json_member(out, "kind", decider(call->decision));
        json_member(out, "actor", call->actor);
        json_member(out, "key", call->key);
    }
    json_close(out, '}');
}

void call_write_members(struct json_out *out, const struct call *call)
{
    json_member(out, "toolCallId", call->id);
    json_member(out, "sessionId", call->session);
    json_member(out, "threadId", call->thread);
    json_member(out, "status", str_of(call_status_name(call->status)));
    json_member_or_null(out, "decision",
                        call->decision == DECISION_NONE ? STR_NONE : str_of(decision_name(call->decision)));
    write_decided_by(out, call);
    json_member_flag(out, "noOpinion", call->no_opinion);
    json_member(out, "reason", call->why);
    json_member(out, "rule", call->rule);
    json_member_raw(out, "input", call_effective_input(call));
    json_member_raw(out, "updatedInput", call->updated_input);
    json_member(out, "feedback", call->feedback);
    json_member(out, "mode", call->mode);
    json_member_raw(out, "rules", call->rules);
    if (call->deadline_ms)
        json_member_time(out, "deadline", call->deadline_ms);
}

void call_write_winner(struct json_out *out, const struct call *call)
{
    json_open(out, '{');
    json_member(out, "decision", str_of(decision_name(call->decision)));
    json_member(out, "actor", call->actor);
    json_member_time(out, "at", call->decided_ms);
    json_member(out, "feedback", call->feedback);
    json_close(out, '}');
}
