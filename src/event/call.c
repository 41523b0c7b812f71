#include "event/call.h"

#include "base/stamp.h"

static const struct {
    const char *wire;
    enum call_status status;
    bool by_person;
} decisions[DECISION_COUNT] = {
#define X(name, wire, status, by_person) [DECISION_##name] = {wire, status, by_person},
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

static struct str raw_of(struct arena *arena, const struct json *data, const char *key)
{
    const struct json *member = json_get(data, key);
    return member && member->type != JSON_NULL ? arena_str(arena, member->raw) : STR_NONE;
}

static struct str text_of(struct arena *arena, const struct json *data, const char *key)
{
    return arena_str(arena, json_text(data, key));
}

static void take_call(struct arena *arena, struct call *call, const struct event *event,
                      const struct json *data)
{
    const struct json *verdict = json_get(data, "verdict");
    struct str effect = json_text(verdict, "effect");
    call->id = arena_str(arena, event->call);
    call->session = arena_str(arena, event->session);
    call->thread = arena_str(arena, event->thread);
    call->name = text_of(arena, data, "name");
    call->cwd = text_of(arena, data, "cwd");
    call->dialect = text_of(arena, data, "dialect");
    call->input = raw_of(arena, data, "input");
    call->agent_actor = arena_str(arena, event->actor);
    call->rule = text_of(arena, verdict, "rule");
    call->source = text_of(arena, verdict, "source");
    call->why = text_of(arena, verdict, "why");
    call->called_ms = event->at_ms;
    call->call_seq = event->seq;
    call->status = CALL_AWAITING;
    if (str_is(effect, "ask"))
        return;
    call->by_policy = true;
    call->decision = str_is(effect, "allow") ? DECISION_ALLOW_ONCE : DECISION_DENY;
    call->status = decisions[call->decision].status;
    call->actor = STR("policy");
    call->decided_ms = event->at_ms;
}

static void take_request(struct arena *arena, struct call *call, const struct event *event,
                         const struct json *data)
{
    call->requested_ms = event->at_ms;
    call->digest = text_of(arena, data, "digest");
    call->files = text_of(arena, data, "files");
    (void)stamp_parse(json_text(data, "deadline"), &call->deadline_ms);
}

static void take_response(struct arena *arena, struct call *call, const struct event *event,
                          const struct json *data)
{
    call->decision = decision_parse(json_text(data, "decision"));
    call->status = decisions[call->decision].status;
    call->actor = arena_str(arena, event->actor);
    call->by = text_of(arena, data, "by");
    call->feedback = text_of(arena, data, "feedback");
    call->updated_input = raw_of(arena, data, "updatedInput");
    call->rules = raw_of(arena, data, "rules");
    call->rules_chosen = json_bool(data, "rulesChosen", false);
    call->mode = text_of(arena, data, "mode");
    call->decided_ms = event->at_ms;
    call->response_seq = event->seq;
}

static void take_result(struct arena *arena, struct call *call, const struct event *event,
                        const struct json *data)
{
    call->status = json_bool(data, "interrupted", false) ? CALL_INTERRUPTED : CALL_FINISHED;
    call->result = raw_of(arena, data, "content");
    call->result_is_error = json_bool(data, "isError", false);
    call->usage = raw_of(arena, data, "usage");
    call->superseded_by = text_of(arena, data, "supersededBy");
    call->result_seq = event->seq;
}

static void take_start(struct arena *arena, struct call *call, const struct json *data)
{
    call->status = CALL_STARTED;
    call->started = true;
    call->child = text_of(arena, data, "threadId");
}

void call_apply(struct arena *arena, struct call *call, const struct event *event)
{
    const struct json *data = NULL;
    if (rc_bad(json_parse(arena, event->data, &data, NULL)))
        return;
    if (event->kind == EVENT_TOOL_CALL)
        take_call(arena, call, event, data);
    else if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        take_request(arena, call, event, data);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        take_response(arena, call, event, data);
    else if (event->kind == EVENT_TOOL_STARTED)
        take_start(arena, call, data);
    else if (event->kind == EVENT_TOOL_RESULT)
        take_result(arena, call, event, data);
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
    json_key(out, "decidedBy");
    if (call->decision == DECISION_NONE) {
        json_put_null(out);
        return;
    }
    json_open(out, '{');
    if (call->by_policy) {
        json_member(out, "kind", STR("policy"));
        json_key(out, "rule");
        if (str_empty(call->rule))
            json_put_null(out);
        else
            json_put_str(out, call->rule);
        json_member(out, "source", call->source);
    } else {
        json_member(out, "kind", decider(call->decision));
        json_member(out, "actor", call->actor);
    }
    json_close(out, '}');
}

void call_write_members(struct json_out *out, const struct call *call)
{
    json_member(out, "toolCallId", call->id);
    json_member(out, "sessionId", call->session);
    json_member(out, "threadId", call->thread);
    json_member(out, "status", str_of(call_status_name(call->status)));
    json_key(out, "decision");
    if (call->decision == DECISION_NONE)
        json_put_null(out);
    else
        json_put_str(out, str_of(decision_name(call->decision)));
    write_decided_by(out, call);
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
