/* One socket for everything: subscribe, decide, call.
 *
 * Messages are JSON objects with a "type"; "id" is echoed in the answer.
 *   {"type":"subscribe","id","after","session","thread","types":[…],"live"}
 *        → {"type":"subscribed","id"}, then {"type":"event","event":{…}} each, and
 *          {"type":"store","available":false} when no more can come for a while, true when it can again
 *          with "live": true also {"type":"live","live":{…}}: what is being said and is not kept as such
 *   {"type":"unsubscribe","id"}
 *        → {"type":"unsubscribed","id"}
 *   {"type":"decide","id","sessionId" or "threadId","toolCallId","decision",…}
 *   {"type":"call","id","threadId","wait","call":{"id","name","input","cwd"}}
 *        → {"type":"answer","id","status","body"}
 * decide and call go through the same routes as over HTTP, with the same checks.
 */
#include "api/exchange.h"
#include "api/forms.h"

#include "io/clock.h"

#include <stdlib.h>

enum { REQUESTS_OPEN_MAX = 256 };

/* One WebSocket. Freed when the socket is gone and the last of its requests was answered. */
struct socket_channel {
    struct api *api;
    struct http_socket *socket; /* NULL when it is gone */
    const struct token *token;
    struct watched what;
    struct watcher watcher;
    struct arena scope;         /* the strings of `what` */
    bool watching;
    unsigned open_requests;     /* requests that are not answered yet */
};

/* The channel outlives its connection while requests of it are open: their answers still write to it. */
static void free_if_over(struct socket_channel *channel)
{
    if (channel->socket || channel->open_requests)
        return;
    arena_done(&channel->scope);
    free(channel);
}

/* A client that does not read is disconnected by the HTTP server when its queue is full; here nothing waits for it.
 */
static void send_text(struct socket_channel *channel, struct str text)
{
    if (!channel->socket)
        return;
    struct shared *bytes = shared_new(text);
    (void)http_socket_send(channel->socket, bytes);
    shared_unref(bytes);
}

static void send_error(struct socket_channel *channel, struct str id, const char *code, const char *words)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", "error"), J_RAW("id", id), J_OBJECT("error", J("code", code), J("message", words)));
    send_text(channel, buf_str(&buf));
}

static void send_done(struct socket_channel *channel, const char *type, struct str id)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", type), J_RAW("id", id));
    send_text(channel, buf_str(&buf));
}

/* ---- events ---- */

struct shared *form_message(struct happening *happening)
{
    if (happening->forms[FORM_MESSAGE])
        return happening->forms[FORM_MESSAGE];
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES * 2);
    json_open(&out, '{');
    json_member(&out, "type", STR("event"));
    json_key(&out, "event");
    event_write(&out, happening->event);
    json_close(&out, '}');
    happening->forms[FORM_MESSAGE] = shared_new(buf_str(&buf));
    return happening->forms[FORM_MESSAGE];
}

/* On the loop, in the order of seq. The message is written once and shared by all sockets that follow the event. */
static void tell(struct watcher *watcher, struct happening *happening)
{
    struct socket_channel *channel = watcher->arg;
    if (channel->socket && channel->token->revoked_ms)
        http_socket_end(channel->socket, 1008, "this token was revoked");
    else if (channel->socket)
        (void)http_socket_send(channel->socket, form_message(happening));
}

static bool lags(const struct watcher *watcher)
{
    const struct socket_channel *channel = watcher->arg;
    return channel->socket && http_socket_queued(channel->socket) > LIMIT_STREAM_QUEUE_BYTES / 2;
}

static void away(struct watcher *watcher, bool is_away)
{
    send_text(watcher->arg, is_away ? STR("{\"type\":\"store\",\"available\":false}")
                                    : STR("{\"type\":\"store\",\"available\":true}"));
}

/* 1011 tells the client to connect again, perhaps to another node; it goes on behind the last seq that it has. */
static void broken(struct watcher *watcher, const struct err *err)
{
    struct socket_channel *channel = watcher->arg;
    send_error(channel, STR_NONE, err_wire(err->code), err->text);
    if (channel->socket)
        http_socket_end(channel->socket, 1011, err_wire(err->code));
}

/* A reader that lags behind misses nothing by missing it. */
static void hear(struct watcher *watcher, struct str json)
{
    struct socket_channel *channel = watcher->arg;
    ARENA_SCOPE(scratch);
    if (!channel->socket || channel->token->revoked_ms ||
        http_socket_queued(channel->socket) > LIMIT_STREAM_QUEUE_BYTES / 4)
        return;
    send_text(channel, arena_printf(&scratch, "{\"type\":\"live\",\"live\":%.*s}", STR_ARG(json)));
}

static void go_on(struct socket_channel *channel)
{
    if (!channel->watching || !channel->socket)
        return;
    if (channel->watcher.failed)
        http_socket_end(channel->socket, 1011, "the store cannot be read");
    else if (http_socket_queued(channel->socket) == 0)
        gate_watch_more(&channel->watcher);
}

static void caught_up(struct watcher *watcher) { go_on(watcher->arg); }

/* The scope's texts are in `scope`, which the watcher points into: it is freed after the watcher. */
static void stop_watching(struct socket_channel *channel)
{
    if (!channel->watching)
        return;
    gate_unwatch(&channel->watcher);
    channel->watching = false;
    arena_done(&channel->scope);
}

/* A subscribe message while its session is looked up. */
struct subscription {
    struct arena arena;
    struct socket_channel *channel;
    struct event_scope scope;
    struct str id;
    struct session_look look;
    struct op catch_up;
};

/* One subscription at a time; a new one takes the place of the last. */
static void subscribe(struct subscription *s)
{
    struct socket_channel *channel = s->channel;
    stop_watching(channel);
    send_done(channel, "subscribed", s->id);
    channel->what = (struct watched){
        .session = arena_str(&channel->scope, s->scope.session),
        .thread = arena_str(&channel->scope, s->scope.thread),
        .kinds = s->scope.kinds,
        .tell = tell,
        .hear = s->scope.live ? hear : NULL,
        .lags = lags,
        .away = away,
        .broken = broken,
        .caught_up = caught_up,
    };
    channel->watcher = (struct watcher){.what = &channel->what, .after = s->scope.after, .arg = channel};
    channel->watching = true;
    gate_watch(channel->api->gate, &channel->watcher);
}

static void subscription_free(struct subscription *s);

/* The client may have gone while the node caught up with the others: then `socket` is NULL and nothing is begun. */
static void subscribe_if_known(struct subscription *s)
{
    struct err err;
    if (rc_bad(events_scope_known(s->channel->api->gate, &s->scope, &err)))
        send_error(s->channel, s->id, err_wire(err.code), err.text);
    else if (s->channel->socket)
        subscribe(s);
    subscription_free(s);
}

static void caught_up_with_nodes(struct op *op)
{
    struct subscription *s = op->owner;
    if (!op->err) {
        subscribe_if_known(s);
        return;
    }
    send_error(s->channel, s->id, err_wire(op->err->code), op->err->text);
    subscription_free(s);
}

/* A position that this node does not know yet may come from another node: it is handled as in events.c. */
static void begin_subscription(struct subscription *s)
{
    struct gate *gate = s->channel->api->gate;
    if (rc_ok(events_scope_known(gate, &s->scope, NULL)) || !gate_is_shared(gate)) {
        subscribe_if_known(s);
        return;
    }
    s->catch_up = gate_op(&s->arena, caught_up_with_nodes, s);
    gate_catch_up(gate, &s->catch_up);
}

/* A subscription counts as an open request until it has begun, so that the channel stays. */
static void subscription_free(struct subscription *s)
{
    struct socket_channel *channel = s->channel;
    channel->open_requests--;
    arena_free(s);
    free_if_over(channel);
}

static void scope_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = op->err;
    struct subscription *s = op->owner;
    struct socket_channel *channel = s->channel;
    bool thread_missing = session && s->scope.thread.n && !session_thread_find(session, s->scope.thread);
    if (err)
        send_error(channel, s->id, err_wire(err->code), err->text);
    else if (!session || !token_may_see(channel->token, session) || thread_missing)
        send_error(channel, s->id, "not_found", "there is no such session or thread");
    else {
        begin_subscription(s);
        return;
    }
    subscription_free(s);
}

static struct rc read_kinds(const struct json *types, uint64_t *ret_kinds, struct err *err)
{
    if (types && types->type != JSON_ARRAY && types->type != JSON_NULL)
        return err_set(err, ERR_INVALID, "\"types\" must be an array of event types");
    for (const struct json *type = types ? types->first : NULL; type; type = type->next) {
        enum event_kind kind = type->type == JSON_STRING ? event_kind_parse(type->text) : EVENT_NONE;
        if (kind == EVENT_NONE)
            return err_set(err, ERR_INVALID, "\"types\" has an unknown type");
        *ret_kinds |= (uint64_t)1 << kind;
    }
    return RC_OK;
}

static struct rc read_scope(const struct socket_channel *channel, const struct json *message,
                            struct event_scope *scope, struct err *err)
{
    int64_t after = 0;
    TRY(json_want_i64(message, "after", 0, INT64_MAX, &after, err));
    TRY(json_want_str(message, "session", LIMIT_ID_BYTES, &scope->session, err));
    TRY(json_want_str(message, "thread", LIMIT_ID_BYTES, &scope->thread, err));
    TRY(json_want_bool(message, "live", &scope->live, err));
    TRY(read_kinds(json_get(message, "types"), &scope->kinds, err));
    scope->after = (uint64_t)after;
    return events_complete_scope(channel->token, scope, err);
}

/* The scope is checked like that of GET /api/events. */
static void on_subscribe(struct socket_channel *channel, const struct json *message, struct str id)
{
    struct subscription *s = heap_new(sizeof *s);
    struct err err;
    s->channel = channel;
    channel->open_requests++;
    struct rc rc = read_scope(channel, message, &s->scope, &err);
    s->id = arena_str(&s->arena, id);
    if (rc_bad(rc)) {
        send_error(channel, id, err_wire(err.code), err.text);
        subscription_free(s);
        return;
    }
    ARENA_KEEP(&s->arena, &s->scope.session, &s->scope.thread);
    if (str_empty(s->scope.session)) {
        begin_subscription(s);
        return;
    }
    s->look = (struct session_look){.op = gate_op(&s->arena, scope_found, s), .id = s->scope.session};
    gate_session(channel->api->gate, &s->look);
}

static void on_unsubscribe(struct socket_channel *channel, const struct json *message, struct str id)
{
    (void)message;
    stop_watching(channel);
    send_done(channel, "unsubscribed", id);
}

/* ---- decide and call: the routes, without a socket of their own ---- */

/* Where the answer to a request that came as a message goes. Lives in the request's own arena. */
struct inner_request {
    struct socket_channel *channel;
    struct str id;
};

/* The API's answer to the inner request. `request` is freed by the caller; the channel may go with its last one. */
static void inner_answered(struct http_request *request, int status, struct str body)
{
    struct inner_request *inner = request->answered_arg;
    struct socket_channel *channel = inner->channel;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", "answer"), J_RAW("id", inner->id), J("status", status), J_RAW("body", body));
    send_text(channel, buf_str(&buf));
    channel->open_requests--;
    free_if_over(channel);
}

/* A message becomes a request on the same routes as over HTTP: rights, limits and errors are checked in one place. */
static void dispatch(struct socket_channel *channel, struct str id, struct str path, struct str query,
                     struct str body)
{
    struct http_request *request = heap_new(sizeof *request);
    struct inner_request *inner = arena_new(&request->arena, struct inner_request);
    inner->channel = channel;
    inner->id = arena_str(&request->arena, id);
    request->method = STR("POST");
    request->path = arena_str(&request->arena, path);
    request->query = arena_str(&request->arena, query);
    request->body = arena_str(&request->spare, body);
    request->started_us = clock_steady_us();
    request->answered = inner_answered;
    request->answered_arg = inner;
    channel->open_requests++;
    api_dispatch(channel->api, request, channel->token);
}

static void on_decide(struct socket_channel *channel, const struct json *message, struct str id)
{
    struct str session = json_text(message, "sessionId");
    struct str thread = json_text(message, "threadId");
    struct str call = json_text(message, "toolCallId");
    bool by_thread = str_empty(session);
    if (str_empty(call) || (by_thread && str_empty(thread))) {
        send_error(channel, id, "invalid", "\"toolCallId\" and \"sessionId\" or \"threadId\" are needed");
        return;
    }
    ARENA_SCOPE(scratch);
    struct str scope = by_thread ? thread : session;
    struct str path = arena_printf(&scratch, "/api/%s/%.*s/approvals/%.*s",
                                   by_thread ? "threads" : "sessions", STR_ARG(scope), STR_ARG(call));
    dispatch(channel, id, path, STR_NONE, message->raw);
}

static void on_call(struct socket_channel *channel, const struct json *message, struct str id)
{
    struct str thread = json_text(message, "threadId");
    const struct json *call = json_get(message, "call");
    const struct json *wait = json_get(message, "wait");
    if (wait && wait->type != JSON_NUMBER) {
        send_error(channel, id, "invalid", "\"wait\" must be a number of seconds");
        return;
    }
    if (str_empty(thread) || !call) {
        send_error(channel, id, "invalid", "\"threadId\" and \"call\" are needed");
        return;
    }
    ARENA_SCOPE(scratch);
    struct str path = arena_printf(&scratch, "/api/threads/%.*s/tool-calls", STR_ARG(thread));
    struct str query = wait ? arena_printf(&scratch, "wait=%.*s", STR_ARG(wait->raw)) : STR_NONE;
    dispatch(channel, id, path, query, call->raw);
}

/* {"type":"permission","sessionId","id":the call's,"approved",…}: see agent_state.c. */
static void on_permission(struct socket_channel *channel, const struct json *message, struct str id)
{
    struct str session = json_text(message, "sessionId");
    if (str_empty(session)) {
        send_error(channel, id, "invalid", "\"sessionId\" is needed");
        return;
    }
    ARENA_SCOPE(scratch);
    struct str path = arena_printf(&scratch, "/api/sessions/%.*s/permission", STR_ARG(session));
    dispatch(channel, id, path, STR_NONE, message->raw);
}

/* ---- the socket ---- */

static const struct {
    struct socket_kind is;
    bool routed; /* a route answers it, and is what refuses it */
    void (*handle)(struct socket_channel *channel, const struct json *message, struct str id);
} messages[] = {
    {{"subscribe", {SCOPE_SEE, BOUND_HERE}}, false, on_subscribe},
    {{"unsubscribe", {SCOPE_SEE, BOUND_HERE}}, false, on_unsubscribe},
    {{"decide", {SCOPE_DECIDE, BOUND_HERE}}, true, on_decide},
    {{"call", {SCOPE_ASK, BOUND_HERE}}, true, on_call},
    {{"permission", {SCOPE_DECIDE, BOUND_HERE}}, true, on_permission},
};

const struct socket_kind *socket_message(size_t at)
{
    return at < sizeof messages / sizeof *messages ? &messages[at].is : NULL;
}

/* An unknown type is answered with an error and not ignored: the client would wait for an answer. Requests that wait
 * for a person stay open, so their number is limited. */
static void on_message(struct http_socket *socket, void *arg, struct str text)
{
    struct socket_channel *channel = arg;
    ARENA_SCOPE(scratch);
    const struct json *message = NULL;
    struct err err;
    (void)socket;
    if (rc_bad(json_parse_given(&scratch, text, &message, &err))) {
        send_error(channel, STR_NONE, "invalid", err.text);
        return;
    }
    const struct json *id = json_get(message, "id");
    struct str id_raw = id ? id->raw : STR_NONE;
    struct str type = json_text(message, "type");
    if (channel->token->revoked_ms) {
        http_socket_end(socket, 1008, "this token was revoked");
        return;
    }
    if (channel->open_requests >= REQUESTS_OPEN_MAX) {
        send_error(channel, id_raw, "too_many", "too many requests are open on this socket");
        return;
    }
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (!str_is(type, messages[i].is.name))
            continue;
        if (!messages[i].routed && rc_bad(auth_allow(channel->token, messages[i].is.right, &err)))
            send_error(channel, id_raw, err_wire(err.code), err.text);
        else
            messages[i].handle(channel, message, id_raw);
        return;
    }
    send_error(channel, id_raw, "invalid", "\"type\" must be subscribe, unsubscribe, decide, call or permission");
}

static void on_drained(struct http_socket *socket, void *arg)
{
    (void)socket;
    go_on(arg);
}

static void on_gone(struct http_socket *socket, void *arg)
{
    struct socket_channel *channel = arg;
    (void)socket;
    stop_watching(channel);
    channel->socket = NULL;
    free_if_over(channel);
}

void api_socket_open(struct exchange *x)
{
    struct socket_channel *channel = heap_new(sizeof *channel);
    struct http_socket_options options = {
        .message = on_message, .gone = on_gone, .drained = on_drained, .protocol = SOCKET_PROTOCOL, .arg = channel};
    channel->api = x->api;
    channel->token = x->token;
    channel->socket = http_socket_start(x->http, &options);
    if (!channel->socket)
        free(channel);
}
