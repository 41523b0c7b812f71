/* The names of relays for Claude Code: an agent's state as `requests` and `completedRequests`, and the
 * `permission` message that answers one of them.
 *
 *   GET  /api/sessions/:session/agent-state   {"requests":{ID:{tool,arguments,createdAt}},"completedRequests":{…}}
 *   POST /api/sessions/:session/permission    {id, approved, reason, mode, allowTools, decision}
 *
 * Both are other words for what the session's events say and for a decision; times are milliseconds.
 */
#include "api/exchange.h"

#include "base/map.h"

struct state_read {
    struct exchange *x;
    struct map calls;      /* id → struct call */
    struct call **ordered; /* as they were asked */
    size_t count, room;
};

/* ---- the state ---- */

static void put_asked(struct json_out *out, const struct call *call)
{
    json_member(out, "tool", call->name);
    json_member_raw(out, "arguments", call->input);
    json_member_i64(out, "createdAt", call->requested_ms);
}

static const char *status_word(const struct call *call)
{
    if (call_allowed(call))
        return "approved";
    return decision_by_person(call->decision) ? "denied" : "canceled";
}

static void put_completed(struct json_out *out, const struct call *call)
{
    put_asked(out, call);
    json_member_i64(out, "completedAt", call->decided_ms);
    json_member(out, "status", str_of(status_word(call)));
    json_member(out, "decision", str_of(decision_name(call->decision)));
    json_member(out, "reason", call->feedback);
    json_member(out, "mode", call->mode);
    json_member_raw(out, "allowTools", call->rules);
}

static void put_calls(struct json_out *out, const struct state_read *state, bool completed)
{
    json_open(out, '{');
    for (size_t i = 0; i < state->count; i++) {
        const struct call *call = state->ordered[i];
        if (!call->requested_ms || (call->response_seq != 0) != completed)
            continue;
        json_key_str(out, call->id);
        json_open(out, '{');
        if (completed)
            put_completed(out, call);
        else
            put_asked(out, call);
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void answer_state(struct state_read *state)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_key(&out, "requests");
    put_calls(&out, state, false);
    json_key(&out, "completedRequests");
    put_calls(&out, state, true);
    json_close(&out, '}');
    map_done(&state->calls);
    exchange_answer(state->x, 200, &buf);
}

static void take_event(struct state_read *state, const struct event *event)
{
    struct arena *arena = state->x->arena;
    struct call *call = map_get(&state->calls, event->call);
    if (!call && state->count == state->room) {
        size_t room = state->room ? state->room * 2 : 64;
        struct call **grown = arena_array(arena, struct call *, room);
        if (state->count)
            memcpy(grown, state->ordered, state->count * sizeof *grown);
        state->ordered = grown;
        state->room = room;
    }
    if (!call) {
        call = arena_new(arena, struct call);
        (void)map_put(&state->calls, event->call, call);
        state->ordered[state->count++] = call;
    }
    call_apply(arena, call, event);
}

static void read_page(struct state_read *state, uint64_t after);

static void page_read(struct read *read)
{
    struct state_read *state = read->arg;
    if (read->err.code != ERR_OK) {
        map_done(&state->calls);
        exchange_fail(state->x, &read->err);
        read_free(read);
        return;
    }
    for (size_t i = 0; i < read->event_count; i++)
        take_event(state, &read->events[i]);
    uint64_t last = read->event_count ? read->events[read->event_count - 1].seq : 0;
    read_free(read);
    if (last)
        read_page(state, last);
    else
        answer_state(state);
}

static void read_page(struct state_read *state, uint64_t after)
{
    struct read *read = read_new(READ_EVENTS);
    read->session = arena_str(&read->arena, state->x->session);
    read->kinds = (uint64_t)1 << EVENT_TOOL_CALL | (uint64_t)1 << EVENT_TOOL_APPROVAL_REQUEST |
                  (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE;
    read->after = after;
    read->limit = LIMIT_PAGE_EVENTS;
    read->done = page_read;
    read->arg = state;
    gate_read(state->x->gate, read);
}

static void state_session_found(struct exchange *x, const struct session *session)
{
    struct state_read *state = arena_new(x->arena, struct state_read);
    (void)session;
    state->x = x;
    read_page(state, 0);
}

void agent_state(struct exchange *x) { exchange_with_session(x, x->params[0], state_session_found); }

/* ---- the answer ---- */

static const struct {
    const char *theirs, *ours;
} modes[] = {{"yolo", "bypassPermissions"}, {"safe-yolo", "default"}};

static struct str our_mode(struct str mode)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (str_is(mode, modes[i].theirs))
            return str_of(modes[i].ours);
    return mode;
}

static const char *our_decision(bool approved, struct str decision, bool allows_tools)
{
    if (!approved)
        return str_is(decision, "abort") ? "abort" : "deny";
    return str_is(decision, "approved_for_session") || allows_tools ? "allow_session" : "allow_once";
}

static struct rc translate(struct exchange *x, struct err *err)
{
    BUF_SCOPE(buf, LIMIT_BODY_BYTES * 2);
    struct json_out out = json_out(&buf);
    struct str id = STR_NONE, reason = STR_NONE, mode = STR_NONE, decision = STR_NONE;
    const struct json *approved = json_get(x->body, "approved");
    const struct json *tools = json_get(x->body, "allowTools");
    bool allows = tools && tools->type == JSON_ARRAY && tools->count > 0;
    TRY(json_want_str(x->body, "id", LIMIT_ID_BYTES, &id, err));
    TRY(json_want_str(x->body, "reason", LIMIT_FEEDBACK_BYTES, &reason, err));
    TRY(json_want_str(x->body, "mode", LIMIT_NAME_BYTES, &mode, err));
    TRY(json_want_str(x->body, "decision", LIMIT_NAME_BYTES, &decision, err));
    if (str_empty(id) || !approved || (approved->type != JSON_TRUE && approved->type != JSON_FALSE))
        return err_set(err, ERR_INVALID, "\"id\" and \"approved\" (true or false) are needed");
    bool yes = approved->type == JSON_TRUE;
    json_open(&out, '{');
    json_member(&out, "decision", str_of(our_decision(yes, decision, allows)));
    json_member(&out, "feedback", reason);
    json_member(&out, "mode", our_mode(mode));
    if (yes && allows)
        json_member_raw(&out, "rules", tools->raw);
    json_close(&out, '}');
    x->params[1] = id;
    return json_parse(x->arena, arena_str(x->arena, buf_str(&buf)), &x->body, err);
}

void permission(struct exchange *x)
{
    struct err err = {.code = ERR_OK};
    if (rc_bad(translate(x, &err)))
        exchange_fail(x, &err);
    else
        decide_session(x);
}
