/* The names of relays for Claude Code: an agent's state as `requests` and `completedRequests`, and the
 * `permission` message that answers one of them.
 *
 *   GET  /api/sessions/:session/agent-state   {"requests":{ID:{tool,arguments,createdAt}},"completedRequests":{…}}
 *   POST /api/sessions/:session/permission    {id, approved, reason, mode, allowTools, decision}
 *
 * With Accept: text/event-stream the state comes once as `event: state`, and then each change as `event: change`: a
 * merge patch of it (RFC 7396), in which a request that was answered is null.
 *
 * Both are other words for what the session's events say and for a decision; times are milliseconds.
 */
#include "api/sse.h"

#include "base/grow.h"
#include "base/map.h"

#include <stdlib.h>

/* All calls of a session while its events are read. The map is on the heap: every way out of the read frees it. */
struct state_read {
    struct exchange *x;
    struct map calls;      /* id → struct call */
    struct call **ordered; /* the calls in the order in which they were asked */
    size_t count, room;
};

/* ---- the state ---- */

static void put_asked(struct json_out *out, const struct call *call)
{
    json_members(out, J("tool", call->name), J_RAW("arguments", call->input), J("createdAt", call->requested_ms));
}

/* In the relay's words, which has one for everything that ended without a person: "canceled". */
static const char *status_word(const struct call *call)
{
    if (call_allowed(call))
        return "approved";
    return decision_by_person(call->decision) ? "denied" : "canceled";
}

static void put_completed(struct json_out *out, const struct call *call)
{
    put_asked(out, call);
    json_members(out, J("completedAt", call->decided_ms), J("status", status_word(call)),
                 J("decision", decision_name(call->decision)), J("reason", call->feedback), J("mode", call->mode),
                 J_RAW("allowTools", call->rules));
}

/* Writes one list of calls for each member of the answer. Calls that rules decided were never asked about and are in
 * no list. */
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
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_key(&out, "requests");
    put_calls(&out, state, false);
    json_key(&out, "completedRequests");
    put_calls(&out, state, true);
    json_close(&out, '}');
    map_done(&state->calls);
    exchange_answer(state->x, 200, &buf);
}

/* Folds one event into the calls, in the order in which they began. */
static void take_event(struct state_read *state, const struct event *event)
{
    struct arena *arena = state->x->arena;
    struct call *call = map_get(&state->calls, event->call);
    if (!call) {
        ARENA_GROW(arena, state->ordered, state->count, state->room);
        call = arena_new(arena, struct call);
        (void)map_put(&state->calls, event->call, call);
        state->ordered[state->count++] = call;
    }
    call_apply(arena, call, event);
}

static void read_page(struct state_read *state, uint64_t after);

/* On the loop. Only an empty page is the end: a page also stops at a number of bytes. */
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
    gate_read(state->x->gate, read, page_read, state);
}

static void state_session_found(struct exchange *x, const struct session *session)
{
    struct state_read *state = arena_new(x->arena, struct state_read);
    (void)session;
    state->x = x;
    read_page(state, 0);
}

/* ---- the state as a stream ---- */

/* A call that waits, while the stream is open: its answer repeats what was asked, which its event does not. */
struct state_call {
    struct arena arena;
    struct call call;
};

/* A live stream of an agent's state; owned by the HTTP stream, freed when that is gone. */
struct state_stream {
    struct sse sse;
    struct map open;           /* id → struct state_call, asked and not answered */
    struct buf completed;      /* members of what was answered before the state was told */
    struct json_out members;
    bool told;
    struct sse_watched what;
    char session[];
};

static void state_call_free(struct state_call *known) { arena_free(known); }

/* `watcher.after` is the seq of the last event told, so that Last-Event-ID lets a client go on where it was. */
static void send_state(struct state_stream *s, const char *type, struct str json)
{
    BUF_SCOPE(text, LIMIT_ANSWER_BYTES);
    buf_printf(&text, "id: %llu\nevent: %s\n", (unsigned long long)s->sse.watcher.after, type);
    sse_put_data(&text, json);
    sse_send(&s->sse, buf_str(&text));
}

static void put_open(struct json_out *out, const struct call *call)
{
    json_key_str(out, call->id);
    json_open(out, '{');
    put_asked(out, call);
    json_close(out, '}');
}

/* Once, when the watcher has caught up: the state that all later changes refer to. */
static void tell_whole(struct state_stream *s)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (s->told)
        return;
    s->told = true;
    json_open(&out, '{');
    json_open_member(&out, "requests", '{');
    MAP_EACH(&s->open, each)
        if (((struct state_call *)each.value)->call.requested_ms)
            put_open(&out, &((struct state_call *)each.value)->call);
    json_close(&out, '}');
    json_key(&out, "completedRequests");
    json_close(&s->members, '}');
    json_put_raw(&out, buf_str(&s->completed));
    json_close(&out, '}');
    buf_done(&s->completed);
    s->completed = (struct buf){0};
    send_state(s, "state", buf_str(&buf));
}

static void put_answered(struct json_out *out, const struct call *call)
{
    json_key_str(out, call->id);
    json_open(out, '{');
    put_completed(out, call);
    json_close(out, '}');
}

/* A merge patch: an answered request becomes null and appears among the completed ones. */
static void tell_change(struct state_stream *s, const struct call *call)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    bool answered = call->response_seq != 0;
    json_open(&out, '{');
    json_open_member(&out, "requests", '{');
    if (answered) {
        json_key_str(&out, call->id);
        json_put_null(&out);
    } else {
        put_open(&out, call);
    }
    json_close(&out, '}');
    if (answered) {
        json_open_member(&out, "completedRequests", '{');
        put_answered(&out, call);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    send_state(s, "change", buf_str(&buf));
}

static void state_told(struct watcher *watcher, struct happening *happening)
{
    struct state_stream *s = watcher->arg;
    const struct event *event = happening->event;
    struct state_call *known = map_get(&s->open, event->call);
    if (sse_revoked(&s->sse))
        return;
    if (watcher->live)
        tell_whole(s);
    if (!known && event->kind != EVENT_TOOL_CALL)
        return;
    if (!known) {
        known = heap_new(sizeof *known);
        (void)map_put(&s->open, event->call, known);
    }
    call_apply(&known->arena, &known->call, event);
    const struct call *call = &known->call;
    if (s->told && call->requested_ms)
        tell_change(s, call);
    else if (call->response_seq && call->requested_ms)
        put_answered(&s->members, call);
    if (call->response_seq || call->by_policy)
        state_call_free(map_take(&s->open, event->call));
}

static void state_live(struct sse *sse) { tell_whole((struct state_stream *)sse); }

static void state_stream_free(struct sse *sse)
{
    struct state_stream *s = (struct state_stream *)sse;
    MAP_EACH(&s->open, each)
        state_call_free(each.value);
    map_done(&s->open);
    buf_done(&s->completed);
    free(s);
}

/* The stream lives on without the exchange: s owns what it needs. */
static void stream_session_found(struct exchange *x, const struct session *session)
{
    struct state_stream *s = heap_new(sizeof *s + session->id.n);
    memcpy(s->session, session->id.p, session->id.n);
    s->completed = buf_init(LIMIT_ANSWER_BYTES);
    s->members = json_out(&s->completed);
    json_open(&s->members, '{');
    s->what.watched = (struct watched){
        .session = {s->session, session->id.n},
        .kinds = (uint64_t)1 << EVENT_TOOL_CALL | (uint64_t)1 << EVENT_TOOL_APPROVAL_REQUEST |
                 (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE,
        .tell = state_told, .caught_up = sse_caught_up,
    };
    s->what.live = state_live;
    s->what.free = state_stream_free;
    s->sse.watcher.what = &s->what.watched;
    sse_start(x, &s->sse);
}

void api_agent_state(struct exchange *x)
{
    bool stream = str_has(http_header(x->http, "accept"), STR("text/event-stream"));
    exchange_with_session(x, x->params[0], stream ? stream_session_found : state_session_found);
}

/* ---- the answer ---- */

static const struct {
    const char *theirs, *ours;
} modes[] = {{"yolo", "bypassPermissions"}, {"safe-yolo", "default"}};

static struct str our_mode(struct str mode)
{
    return ROW_VALUE(modes, row, str_is(mode, row->theirs), str_of(row->ours), mode);
}

/* Tools that are allowed along with the call hold for the session: a relay has no word for "always". */
static const char *our_decision(bool approved, struct str decision, bool allows_tools)
{
    if (!approved)
        return str_is(decision, "abort") ? "abort" : "deny";
    return str_is(decision, "approved_for_session") || allows_tools ? "allow_session" : "allow_once";
}

/* Rewrites the body into that of a decision; from there on it is an answer like any other. */
static struct rc translate(struct exchange *x, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES * 2);
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
    json_object(&out, J("decision", our_decision(yes, decision, allows)), J("feedback", reason),
                J("mode", our_mode(mode)), J_IF(yes && allows, J_RAW("rules", tools->raw)));
    x->params[1] = id;
    return json_parse(x->arena, arena_str(x->arena, buf_str(&buf)), &x->body, err);
}

void api_permission(struct exchange *x)
{
    struct err err = {.code = ERR_OK};
    EXCHANGE_TRY(x, translate(x, &err));
    api_decide_session(x);
}
