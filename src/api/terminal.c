/* The agent over one WebSocket, for pages that show a terminal: /api/terminal/ws/agent.
 *
 * In:  {"command":"run","prompt","continue","permission_mode","auto_approve_safe","approval_timeout","cwd"}
 *      {"command":"tool_approval_response","request_id","approved","feedback"}
 *      {"command":"cancel"}
 * Out: {"type":"assistant","subtype":"text"|"tool_use","content"}, {"type":"tool_approval_request",…},
 *      {"type":"user","subtype":"tool_result","content"}, {"type":"result","subtype","content"}, {"type":"error",…}
 *      {"type":"tool_approval_status","request_id","tool_use_id","status","user_feedback"}: a request that somebody
 *      else has answered, or nobody in time (APPROVED, REJECTED, TIMEOUT); of its own answers a client is told nothing.
 * What goes out is told from kept events, in their order. permission_mode sdk and toolApproval ask a person;
 * bypassPermissions asks nobody. A request waits for five minutes, or approval_timeout seconds.
 * A request's id is a UUID made of the session's and the call's, so it is the same whenever it is told.
 */
#include "api/exchange.h"

#include "base/digest.h"
#include "base/map.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMEOUT_SECONDS = 300, OPEN_MAX = 64, UUID_BYTES = 37 };

struct terminal {
    struct api *api;
    struct http_socket *socket;  /* NULL when it is gone */
    const struct token *token;
    struct arena arena;          /* of the session at hand */
    struct str session, thread;
    struct str cwd;
    struct map calls;            /* id → struct asked, until it is answered */
    struct watcher watcher;
    bool watching;
    unsigned open;               /* acts that will still come back */
};

/* A call, as it was made. */
struct asked {
    struct str data;             /* of TOOL_CALL, in `bytes` */
    bool answered;               /* from here: it need not be told */
    char bytes[];
};

/* Something that was handed over and comes back. */
struct act {
    struct arena arena;
    struct terminal *terminal;
    struct session_change change;
    struct run_start start;
    struct run_go go;
    struct run_cancel cancel;
    struct decide decide;
};

static struct act *act_new(struct terminal *terminal)
{
    struct act *act = heap_new(sizeof *act);
    act->terminal = terminal;
    terminal->open++;
    return act;
}

static void forget_calls(struct terminal *terminal)
{
    size_t at = 0;
    struct str id;
    void *value;
    while (map_next(&terminal->calls, &at, &id, &value))
        free(value);
    map_done(&terminal->calls);
    terminal->calls = (struct map){0};
}

static void free_if_over(struct terminal *terminal)
{
    if (terminal->socket || terminal->open)
        return;
    forget_calls(terminal);
    arena_done(&terminal->arena);
    free(terminal);
}

static void act_free(struct act *act)
{
    struct terminal *terminal = act->terminal;
    terminal->open--;
    arena_done(&act->arena);
    free(act);
    free_if_over(terminal);
}

/* ---- out ---- */

static void send_buf(struct terminal *terminal, const struct buf *buf)
{
    if (!terminal->socket || buf->over)
        return;
    struct shared *bytes = shared_new(buf_str(buf));
    (void)http_socket_send(terminal->socket, bytes);
    shared_unref(bytes);
}

static void open_content(struct json_out *out, const char *type, const char *subtype)
{
    json_open(out, '{');
    json_member(out, "type", str_of(type));
    json_member(out, "subtype", str_of(subtype));
    json_key(out, "content");
    json_open(out, '{');
}

static void send_message(struct terminal *terminal, const char *type, const char *subtype, struct str words)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    open_content(&out, type, subtype);
    json_member(&out, "message", words);
    json_close(&out, '}');
    json_close(&out, '}');
    send_buf(terminal, &buf);
}

static void send_error(struct terminal *terminal, struct str words)
{
    send_message(terminal, "error", "error", words);
}

static void send_block(struct terminal *terminal, const struct json *block)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    struct str type = json_text(block, "type");
    const struct json *input = json_get(block, "input");
    if (str_is(type, "text")) {
        open_content(&out, "assistant", "text");
        json_member(&out, "text", json_text(block, "text"));
    } else if (str_is(type, "tool_use")) {
        open_content(&out, "assistant", "tool_use");
        json_member(&out, "id", json_text(block, "id"));
        json_member(&out, "name", json_text(block, "name"));
        json_member_raw(&out, "input", input ? input->raw : STR("{}"));
    } else {
        return;
    }
    json_close(&out, '}');
    json_close(&out, '}');
    send_buf(terminal, &buf);
}

struct uuid {
    char text[UUID_BYTES];
};

/* Version 8: made as its maker likes. */
static struct uuid request_id(struct str session, struct str call)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {session, call};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    struct uuid uuid;
    digest_hex(&digest, hex);
    hex[12] = '8';
    hex[16] = "89ab"[(unsigned char)hex[16] % 4];
    int n = snprintf(uuid.text, sizeof uuid.text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
                     hex + 20);
    CHECK(n == UUID_BYTES - 1);
    return uuid;
}

/* A call that took another's place stands for the same use. */
static struct str use_id(struct str call)
{
    while (str_ends(call, STR(".again")))
        call = str_sub(call, 0, call.n - 6);
    return call;
}

static void send_result(struct terminal *terminal, struct str call, struct str text, bool is_error)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    open_content(&out, "user", "tool_result");
    json_member(&out, "tool_use_id", use_id(call));
    json_key(&out, "content");
    json_put_str(&out, text);
    json_member_bool(&out, "is_error", is_error);
    json_close(&out, '}');
    json_close(&out, '}');
    send_buf(terminal, &buf);
}

static void put_member(struct json_out *out, const struct json *object, const char *key)
{
    const struct json *member = json_get(object, key);
    json_key(out, key);
    json_put_raw(out, member ? member->raw : STR("null"));
}

static void write_preview_data(struct json_out *out, const struct json *preview)
{
    static const char *const of_diff[] = {"file_path", "is_new_file", "original_lines", "new_lines"};
    static const char *const of_command[] = {"command", "description", "cwd", "parts", "warnings"};
    bool command = str_is(json_text(preview, "type"), "command");
    bool diff = json_get(preview, "unified") != NULL;
    json_key(out, "preview_data");
    if (!command && !diff) {
        json_put_raw(out, preview ? preview->raw : STR("{}"));
        return;
    }
    json_open(out, '{');
    for (size_t i = 0; diff && i < sizeof of_diff / sizeof *of_diff; i++)
        put_member(out, preview, of_diff[i]);
    for (size_t i = 0; command && i < sizeof of_command / sizeof *of_command; i++)
        put_member(out, preview, of_command[i]);
    json_close(out, '}');
}

static void write_diff_lines(struct json_out *out, const struct json *preview)
{
    const struct json *lines = json_get(preview, "unified");
    json_key(out, "diff_lines");
    json_open(out, '[');
    for (const struct json *line = lines ? lines->first : NULL; line; line = line->next)
        if (!str_starts(line->text, STR("\\ ")))
            json_put_raw(out, line->raw);
    json_close(out, ']');
}

static void send_request(struct terminal *terminal, const struct event *event, const struct json *request,
                         const struct json *call)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    const struct json *preview = json_get(request, "preview");
    struct str type = json_text(preview, "type");
    json_open(&out, '{');
    json_member(&out, "type", STR("tool_approval_request"));
    json_member(&out, "request_id", str_of(request_id(event->session, event->call).text));
    json_member(&out, "tool_name", json_text(call, "name"));
    json_member_raw(&out, "tool_input", json_get(call, "input") ? json_get(call, "input")->raw : STR("{}"));
    json_member(&out, "tool_use_id", use_id(event->call));
    json_member(&out, "preview_type", type.n ? type : STR("generic"));
    write_preview_data(&out, preview);
    put_member(&out, preview, "file_path");
    put_member(&out, preview, "original_content");
    put_member(&out, preview, "new_content");
    write_diff_lines(&out, preview);
    if (!str_eq(event->thread, terminal->thread))
        json_member(&out, "agent", event->actor);
    json_member(&out, "status", STR("PENDING"));
    json_member_null(&out, "user_feedback");
    json_close(&out, '}');
    send_buf(terminal, &buf);
}

/* ---- events ---- */

static void on_agent_message(struct terminal *terminal, const struct event *event, const struct json *data)
{
    const struct json *content = json_get(data, "content");
    if (!str_eq(event->thread, terminal->thread))
        return; /* a sub-agent speaks to the agent */
    for (const struct json *block = content ? content->first : NULL; block; block = block->next)
        send_block(terminal, block);
}

static void on_call(struct terminal *terminal, const struct event *event, const struct json *data)
{
    struct asked *asked = heap_new(sizeof *asked + event->data.n);
    asked->data = (struct str){asked->bytes, event->data.n};
    memcpy(asked->bytes, event->data.p, event->data.n);
    free(map_put(&terminal->calls, event->call, asked));
    const struct json *verdict = json_get(data, "verdict");
    if (str_is(json_text(verdict, "effect"), "deny"))
        send_result(terminal, event->call, json_text(verdict, "why"), true);
}

static void on_request(struct terminal *terminal, const struct event *event, const struct json *data)
{
    ARENA_SCOPE(scratch);
    const struct json *call = NULL;
    const struct asked *asked = map_get(&terminal->calls, event->call);
    if (asked)
        (void)json_parse(&scratch, asked->data, &call, NULL).code;
    send_request(terminal, event, data, call);
}

/* NULL: the end of the run says it. */
static const char *status_of(enum decision decision)
{
    switch (decision) {
    case DECISION_ALLOW_ONCE:
    case DECISION_ALLOW_SESSION:
    case DECISION_ALLOW_ALWAYS:
        return "APPROVED";
    case DECISION_DENY:
    case DECISION_ABORT:
        return "REJECTED";
    case DECISION_TIMEOUT:
        return "TIMEOUT";
    case DECISION_NONE:
    case DECISION_CANCELLED:
    case DECISION_COUNT:
        break;
    }
    return NULL;
}

static void send_status(struct terminal *terminal, struct str call, enum decision decision, struct str feedback)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    if (!status_of(decision))
        return;
    json_open(&out, '{');
    json_member(&out, "type", STR("tool_approval_status"));
    json_member(&out, "request_id", str_of(request_id(terminal->session, call).text));
    json_member(&out, "tool_use_id", use_id(call));
    json_member(&out, "status", str_of(status_of(decision)));
    json_key(&out, "user_feedback");
    if (feedback.n)
        json_put_str(&out, feedback);
    else
        json_put_null(&out);
    json_close(&out, '}');
    send_buf(terminal, &buf);
}

static void on_response(struct terminal *terminal, const struct event *event, const struct json *data)
{
    ARENA_SCOPE(scratch);
    enum decision decision = decision_parse(json_text(data, "decision"));
    struct str feedback = json_text(data, "feedback");
    struct asked *asked = map_take(&terminal->calls, event->call);
    if (!asked || !asked->answered)
        send_status(terminal, event->call, decision, feedback);
    free(asked);
    if (decision == DECISION_TIMEOUT)
        send_result(terminal, event->call, STR("Nobody answered in time; it was not run"), true);
    if (decision == DECISION_DENY || decision == DECISION_ABORT)
        send_result(terminal, event->call,
                    feedback.n ? arena_printf(&scratch, "User rejected: %.*s", STR_ARG(feedback))
                               : STR("User rejected this tool call"),
                    true);
}

static void on_result(struct terminal *terminal, const struct event *event, const struct json *data)
{
    free(map_take(&terminal->calls, event->call));
    if (str_empty(json_text(data, "supersededBy")))
        send_result(terminal, event->call, json_text(data, "content"), json_bool(data, "isError", false));
}

static void on_status(struct terminal *terminal, const struct event *event, const struct json *data)
{
    struct str status = json_text(data, "status"), reason = json_text(data, "reason");
    if (!str_eq(event->thread, terminal->thread))
        return;
    if (str_is(status, "completed"))
        send_message(terminal, "result", "success", STR("Conversation complete"));
    else if (str_is(status, "cancelled"))
        send_message(terminal, "result", "cancelled", STR("Cancelled"));
    else if (run_status_over(status))
        send_message(terminal, "result", "error", reason.n ? reason : status);
}

static const struct {
    enum event_kind kind;
    void (*take)(struct terminal *terminal, const struct event *event, const struct json *data);
} takers[] = {
    {EVENT_AGENT_MESSAGE, on_agent_message}, {EVENT_TOOL_CALL, on_call},
    {EVENT_TOOL_APPROVAL_REQUEST, on_request}, {EVENT_TOOL_APPROVAL_RESPONSE, on_response},
    {EVENT_TOOL_RESULT, on_result}, {EVENT_RUN_STATUS, on_status},
};

static void tell(struct watcher *watcher, struct happening *happening)
{
    ARENA_SCOPE(scratch);
    struct terminal *terminal = watcher->arg;
    const struct event *event = happening->event;
    const struct json *data;
    if (terminal->token->revoked_ms && terminal->socket) {
        http_socket_end(terminal->socket, 1008, "this token was revoked");
        return;
    }
    if (rc_bad(json_parse(&scratch, event->data, &data, NULL)))
        return;
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (takers[i].kind == event->kind)
            takers[i].take(terminal, event, data);
}

static void caught_up(struct watcher *watcher)
{
    struct terminal *terminal = watcher->arg;
    if (terminal->socket && watcher->failed)
        http_socket_end(terminal->socket, 1011, "the store cannot be read");
    else if (terminal->socket && http_socket_queued(terminal->socket) == 0)
        gate_watch_more(watcher);
}

static void stop_watching(struct terminal *terminal)
{
    if (terminal->watching)
        gate_unwatch(&terminal->watcher);
    terminal->watching = false;
}

static void watch(struct terminal *terminal)
{
    terminal->watcher = (struct watcher){
        .session = terminal->session, .tell = tell, .caught_up = caught_up, .arg = terminal};
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        terminal->watcher.kinds |= (uint64_t)1 << takers[i].kind;
    terminal->watching = true;
    gate_watch(terminal->api->gate, &terminal->watcher);
}

/* ---- run ---- */

static void executed(struct run_go *go)
{
    struct act *act = go->arg;
    if (go->err.code != ERR_OK)
        send_error(act->terminal, str_of(go->err.text));
    act_free(act);
}

static void started(struct run_start *start)
{
    struct act *act = start->arg;
    struct terminal *terminal = act->terminal;
    if (start->err.code != ERR_OK) {
        send_error(terminal, str_of(start->err.text));
        act_free(act);
        return;
    }
    if (!terminal->watching && terminal->socket)
        watch(terminal);
    act->go = (struct run_go){
        .arena = &act->arena, .session = start->session, .thread = start->thread, .actor = start->actor,
        .done = executed, .arg = act,
    };
    runtime_execute(terminal->api->runtime, &act->go);
}

static void begin(struct act *act)
{
    struct terminal *terminal = act->terminal;
    act->start.arena = &act->arena;
    act->start.session = arena_str(&act->arena, terminal->session);
    act->start.thread = arena_str(&act->arena, terminal->thread);
    act->start.actor = arena_str(&act->arena, terminal->token->name);
    act->start.done = started;
    act->start.arg = act;
    runtime_create(terminal->api->runtime, &act->start);
}

static void session_made(struct session_change *change)
{
    struct act *act = change->arg;
    struct terminal *terminal = act->terminal;
    if (change->err.code != ERR_OK || !terminal->socket) {
        send_error(terminal, str_of(change->err.text));
        act_free(act);
        return;
    }
    stop_watching(terminal);
    forget_calls(terminal);
    terminal->session = arena_str(&terminal->arena, change->id);
    terminal->thread = arena_str(&terminal->arena, change->thread);
    begin(act);
}

static struct str session_data(struct arena *arena, const struct terminal *terminal, const struct json *message)
{
    struct str mode = json_text(message, "permission_mode");
    struct str cwd = json_text(message, "cwd");
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "title", STR("terminal"));
    json_member(&out, "cwd", cwd.n ? cwd : terminal->cwd);
    if (str_is(mode, "bypassPermissions"))
        json_member(&out, "permissionMode", mode);
    if (!json_bool(message, "auto_approve_safe", true))
        json_member_raw(&out, "toolPolicies", STR("{\"Read\":\"ask\",\"Glob\":\"ask\",\"Grep\":\"ask\","
                                                  "\"TodoWrite\":\"ask\",\"WebFetch\":\"ask\",\"Task\":\"ask\"}"));
    int64_t seconds = terminal->api->timeout_seconds ? terminal->api->timeout_seconds : TIMEOUT_SECONDS;
    (void)json_i64(json_get(message, "approval_timeout"), &seconds); /* on_run has looked at it */
    json_member_i64(&out, "approvalTimeoutSeconds", seconds);
    json_member(&out, "owner", terminal->token->id);
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

static void on_run(struct terminal *terminal, const struct json *message)
{
    static const char *const modes[] = {"", "sdk", "bypassPermissions", "toolApproval"};
    struct str prompt = json_text(message, "prompt"), mode = json_text(message, "permission_mode");
    struct str cwd = json_text(message, "cwd");
    struct err err;
    int64_t seconds;
    bool known = false;
    if (rc_bad(json_want_i64(message, "approval_timeout", 1, LIMIT_TIMEOUT_SECONDS, &seconds, &err))) {
        send_error(terminal, str_of(err.text));
        return;
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        known = known || str_is(mode, modes[i]);
    if (str_empty(str_trim(prompt)) || !known || (cwd.n && cwd.p[0] != '/')) {
        send_error(terminal, !known ? STR("permission_mode must be sdk, bypassPermissions or toolApproval")
                                    : STR("\"prompt\" is missing, or \"cwd\" is no absolute path"));
        return;
    }
    struct act *act = act_new(terminal);
    act->start.prompt = arena_str(&act->arena, prompt);
    if (json_bool(message, "continue", false) && !str_empty(terminal->session)) {
        begin(act);
        return;
    }
    act->change = (struct session_change){
        .arena = &act->arena,
        .data = session_data(&act->arena, terminal, message),
        .actor = arena_str(&act->arena, terminal->token->name),
        .done = session_made,
        .arg = act,
    };
    gate_change_session(terminal->api->gate, &act->change);
}

/* ---- answers ---- */

static void decided(struct decide *decide)
{
    struct act *act = decide->arg;
    if (decide->err.code != ERR_OK)
        send_error(act->terminal, str_of(decide->err.text));
    if (decide->err.code == ERR_ALREADY_DECIDED)
        send_status(act->terminal, decide->call_id, decide->call.decision, decide->call.feedback);
    act_free(act);
}

/* The call that waits under this id of a request. */
static struct asked *find_asked(const struct terminal *terminal, struct str id, struct str *ret_call)
{
    size_t at = 0;
    void *asked;
    while (map_next(&terminal->calls, &at, ret_call, &asked))
        if (str_is(id, request_id(terminal->session, *ret_call).text))
            return asked;
    return NULL;
}

static void on_answer(struct terminal *terminal, const struct json *message)
{
    struct str id = json_text(message, "request_id");
    struct str call;
    bool approved = json_bool(message, "approved", false);
    struct asked *asked = find_asked(terminal, id, &call);
    if (!asked || asked->answered) {
        send_error(terminal, asked ? STR("the request is answered already") : STR("there is no such request"));
        return;
    }
    asked->answered = true;
    struct act *act = act_new(terminal);
    act->decide = (struct decide){
        .arena = &act->arena,
        .session = arena_str(&act->arena, terminal->session),
        .call_id = arena_str(&act->arena, call),
        .decision = approved ? DECISION_ALLOW_ONCE : DECISION_DENY,
        .feedback = arena_str(&act->arena, json_text(message, "feedback")),
        .actor = arena_str(&act->arena, terminal->token->name),
        .by = arena_str(&act->arena, terminal->token->id),
        .done = decided,
        .arg = act,
    };
    gate_decide(terminal->api->gate, &act->decide);
}

static void cancelled(struct run_cancel *cancel)
{
    struct act *act = cancel->arg;
    if (cancel->err.code != ERR_OK)
        send_error(act->terminal, str_of(cancel->err.text));
    act_free(act);
}

static void on_cancel(struct terminal *terminal, const struct json *message)
{
    (void)message;
    if (str_empty(terminal->session)) {
        send_error(terminal, STR("nothing is running"));
        return;
    }
    struct act *act = act_new(terminal);
    act->cancel = (struct run_cancel){
        .arena = &act->arena,
        .session = arena_str(&act->arena, terminal->session),
        .thread = arena_str(&act->arena, terminal->thread),
        .actor = arena_str(&act->arena, terminal->token->name),
        .done = cancelled,
        .arg = act,
    };
    runtime_cancel(terminal->api->runtime, &act->cancel);
}

/* ---- the socket ---- */

static const struct {
    const char *name;
    void (*take)(struct terminal *terminal, const struct json *message);
} commands[] = {{"run", on_run}, {"tool_approval_response", on_answer}, {"cancel", on_cancel}};

static void on_message(struct http_socket *socket, void *arg, struct str text)
{
    ARENA_SCOPE(scratch);
    struct terminal *terminal = arg;
    const struct json *message;
    struct err err;
    if (rc_bad(json_parse(&scratch, text, &message, &err))) {
        send_error(terminal, str_of(err.text));
        return;
    }
    if (terminal->token->revoked_ms) {
        http_socket_end(socket, 1008, "this token was revoked");
        return;
    }
    if (terminal->open >= OPEN_MAX) {
        send_error(terminal, STR("too many commands are under way"));
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (str_is(json_text(message, "command"), commands[i].name)) {
            commands[i].take(terminal, message);
            return;
        }
    }
    send_error(terminal, STR("\"command\" must be run, tool_approval_response or cancel"));
}

static void on_drained(struct http_socket *socket, void *arg)
{
    struct terminal *terminal = arg;
    (void)socket;
    if (terminal->watching)
        caught_up(&terminal->watcher);
}

static void on_gone(struct http_socket *socket, void *arg)
{
    struct terminal *terminal = arg;
    (void)socket;
    stop_watching(terminal);
    terminal->socket = NULL;
    free_if_over(terminal);
}

void agent_terminal_open(struct exchange *x)
{
    struct terminal *terminal = heap_new(sizeof *terminal);
    struct http_socket_options options = {
        .message = on_message, .gone = on_gone, .drained = on_drained, .arg = terminal};
    char here[LIMIT_PATH_BYTES];
    struct str cwd = STR_NONE;
    struct err err;
    if (rc_bad(query_text(x, "cwd", &cwd, &err)) || (cwd.n && cwd.p[0] != '/')) {
        exchange_error(x, ERR_INVALID, "cwd= must be an absolute path");
        free(terminal);
        return;
    }
    if (cwd.n == 0)
        cwd = str_of(getcwd(here, sizeof here) ? here : "/");
    terminal->cwd = arena_str(&terminal->arena, cwd);
    terminal->api = x->api;
    terminal->token = x->token;
    terminal->socket = http_socket_start(x->http, &options);
    if (!terminal->socket) {
        arena_done(&terminal->arena);
        free(terminal);
    }
}
