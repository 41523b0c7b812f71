/* The agent over one WebSocket, for pages that show a terminal: /api/terminal/ws/agent.
 *
 * In:  {"command":"run","prompt","continue","session_id","permission_mode","auto_approve_safe","approval_timeout",
 *       "cwd","model","max_tokens","system_prompt","max_iterations"}
 *      {"command":"tool_approval_response","request_id","approved","feedback"}
 *      {"command":"attach","session_id","after"}      a session that began on another socket, or before a restart
 *      {"command":"cancel","session_id"}
 * Out: {"type":"assistant","subtype":"text"|"tool_use","content"}, {"type":"tool_approval_request",…},
 *      {"type":"user","subtype":"tool_result","content"}, {"type":"result","subtype","content"}, {"type":"error",…}
 *      {"type":"tool_approval_status","request_id","tool_use_id","status","user_feedback"}: a request that somebody
 *      else has answered, or nobody in time (APPROVED, REJECTED, TIMEOUT); of its own answers a client is told nothing.
 * Messages are told from kept events, in their order (terminal_view.c). permission_mode sdk and toolApproval ask a
 * person; bypassPermissions asks nobody. A request waits for five minutes, or approval_timeout seconds.
 * A command that is not understood, in whole or in a part, is an error and does nothing.
 */
#include "api/terminal.h"

#include <stdlib.h>
#include <unistd.h>

enum { ACTS_OPEN_MAX = 64 };

struct str terminal_id(const struct json *message)
{
    const struct json *id = json_get(message, "id");
    return id && id->type != JSON_NULL ? id->raw : STR_NONE;
}

struct terminal_act *terminal_act_new(struct terminal *terminal, const struct json *message)
{
    struct terminal_act *act = heap_new(sizeof *act);
    act->terminal = terminal;
    act->id = arena_str(&act->arena, terminal_id(message));
    terminal->open++;
    return act;
}

/* Operations at the gate cannot be called back: the terminal stays until the last of them has ended. */
static void free_if_over(struct terminal *terminal)
{
    if (terminal->socket || terminal->open)
        return;
    while (terminal->views)
        terminal_view_free(terminal->views);
    arena_free(terminal);
}

/* May free the terminal, too: nothing of either may be used afterwards. */
void terminal_act_free(struct terminal_act *act)
{
    struct terminal *terminal = act->terminal;
    terminal->open--;
    arena_free(act);
    free_if_over(terminal);
}

void terminal_act_done(struct op *op)
{
    struct terminal_act *act = op->owner;
    if (op->err)
        terminal_error(act->terminal, act->id, str_of(op->err->text));
    terminal_act_free(act);
}

/* ---- out ---- */

void terminal_send(struct terminal *terminal, const struct buf *buf)
{
    if (!terminal->socket)
        return;
    if (buf->over) {
        http_socket_end(terminal->socket, 1009, "a message is too large; read it over HTTP");
        return;
    }
    struct shared *bytes = shared_new(buf_str(buf));
    (void)http_socket_send(terminal->socket, bytes);
    shared_unref(bytes);
}

void terminal_error(struct terminal *terminal, struct str id, struct str words)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", "error"), J("subtype", "error"), J_OBJECT("content", J("message", words)),
                J_RAW("id", id));
    terminal_send(terminal, &buf);
}

void terminal_refuse(struct terminal *terminal, struct str id, const struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", "error"), J("subtype", "error"),
                J_OBJECT("content", J("code", err_wire(err->code)), J("message", err->text)), J_RAW("id", id));
    terminal_send(terminal, &buf);
}

void terminal_ack(const struct terminal_act *act, const char *command, const struct view *view)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_object(&out, J("type", "ack"), J_RAW("id", act->id), J("command", command), J("session_id", view->session),
                J("thread_id", view->thread));
    terminal_send(act->terminal, &buf);
}

/* ---- answers ---- */

/* Another person, or the same one on another device, may have been first: then this client is shown the answer that
 * counts. */
static void decided(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct terminal_act *act = decide->op.owner;
    struct view *view = terminal_view_find(act->terminal, decide->session);
    struct terminal_ask *asked = view ? map_get(&view->calls, decide->call_id) : NULL;
    if (decide->op.err) {
        terminal_error(act->terminal, act->id, str_of(decide->op.err->text));
        if (asked)
            asked->answered = false; /* the decision failed: the call may be answered again */
    }
    if (gate_op_code(&decide->op) == ERR_ALREADY_DECIDED && view)
        terminal_view_send_status(view, decide->call_id, decide->call.decision, decide->call.feedback);
    terminal_act_free(act);
}

/* The message's memory ends with its callback, so everything that the operation needs is copied. */
static void decide_asked(struct terminal *terminal, const struct json *message, const struct view *view,
                         struct decide answer)
{
    struct terminal_act *act = terminal_act_new(terminal, message);
    act->decide = answer;
    act->decide.op = gate_op(&act->arena, decided, act);
    act->decide.session = arena_str(&act->arena, view->session);
    act->decide.call_id = arena_str(&act->arena, answer.call_id);
    act->decide.feedback = arena_str(&act->arena, answer.feedback);
    act->decide.actor = arena_str(&act->arena, terminal->token->name);
    act->decide.by = arena_str(&act->arena, terminal->token->id);
    gate_decide(terminal->api->gate, &act->decide);
}

static struct rc read_answer(const struct json *message, struct str *ret_request, struct decide *ret_answer,
                             struct err *err)
{
    bool approved = false;
    TRY(json_want_str(message, "request_id", LIMIT_ID_BYTES, ret_request, err));
    TRY(json_want_bool(message, "approved", &approved, err));
    TRY(json_want_str(message, "feedback", LIMIT_FEEDBACK_BYTES, &ret_answer->feedback, err));
    const struct json *given = json_get(message, "approved");
    if (!given || given->type == JSON_NULL)
        return err_set(err, ERR_INVALID, "\"approved\" is missing: true or false");
    ret_answer->decision = approved ? DECISION_ALLOW_ONCE : DECISION_DENY;
    return RC_OK;
}

/* `answered` is set before the gate has stored the decision: a double click sends one decision, and an error sets it
 * back. */
static void on_answer(struct terminal *terminal, const struct json *message)
{
    struct str request = STR_NONE;
    struct decide answer = {0};
    struct view *view = NULL;
    struct err err;
    if (rc_bad(read_answer(message, &request, &answer, &err))) {
        terminal_error(terminal, terminal_id(message), str_of(err.text));
        return;
    }
    struct terminal_ask *asked = terminal_view_find_asked(terminal, request, &view, &answer.call_id);
    if (!asked || asked->answered) {
        terminal_error(terminal, terminal_id(message),
                       asked ? STR("the request is answered already")
                             : STR("there is no such request here; attach to its session first"));
        return;
    }
    asked->answered = true;
    decide_asked(terminal, message, view, answer);
}

/* ---- cancel ---- */

/* Cancels the run of the view's thread, whoever started it; the right to do so was checked in on_message. */
static void on_cancel(struct terminal *terminal, const struct json *message)
{
    struct str session = STR_NONE;
    struct err err;
    if (rc_bad(json_want_str(message, "session_id", LIMIT_ID_BYTES, &session, &err))) {
        terminal_error(terminal, terminal_id(message), str_of(err.text));
        return;
    }
    const struct view *view = session.n ? terminal_view_find(terminal, session) : terminal->views;
    if (!view) {
        terminal_error(terminal, terminal_id(message), session.n ? STR("attach to the session first")
                                                                 : STR("nothing is running"));
        return;
    }
    struct terminal_act *act = terminal_act_new(terminal, message);
    act->next = (struct run_op){
        .op = gate_op(&act->arena, terminal_act_done, act),
        .session = arena_str(&act->arena, view->session),
        .thread = arena_str(&act->arena, view->thread),
        .actor = arena_str(&act->arena, terminal->token->name),
    };
    runtime_cancel(terminal->api->runtime, &act->next);
}

/* ---- attach ---- */

/* "SEQ" or "SEQ.PART", as a message's cursor has it. */
static struct rc read_cursor(const struct json *message, struct cursor *ret_cursor, struct err *err)
{
    struct str text = STR_NONE, part;
    struct cursor cursor = {.part = UINT64_MAX};
    TRY(json_want_str(message, "after", LIMIT_ID_BYTES, &text, err));
    if (str_empty(text))
        return RC_OK;
    struct str seq = str_cut(text, '.', &part);
    if (!str_to_u64(seq, &cursor.seq) || (part.n && !str_to_u64(part, &cursor.part)))
        return err_set(err, ERR_INVALID, "\"after\" must be the cursor of a message");
    *ret_cursor = cursor;
    return RC_OK;
}

static void attach_found(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    struct terminal_act *act = op->owner;
    struct terminal *terminal = act->terminal;
    struct view *view = NULL;
    if (op->err)
        terminal_error(terminal, act->id, str_of(op->err->text));
    else if (!session || !token_may_see(terminal->token, session))
        terminal_refuse(terminal, act->id, &(struct err){ERR_NOT_FOUND, "there is no such session"});
    else if (terminal->socket && terminal_view_find(terminal, session->id))
        terminal_error(terminal, act->id, STR("the session is on this socket already"));
    else if (terminal->socket && !(view = terminal_view_new(terminal, session->id, session->main_thread)))
        terminal_error(terminal, act->id, STR("too many sessions run on this socket; open another"));
    if (view) {
        view->tagged = view->attached = true;
        view->has = act->after;
        terminal_ack(act, "attach", view);
        terminal_view_watch(view);
    }
    terminal_act_free(act);
}

static void on_attach(struct terminal *terminal, const struct json *message)
{
    struct str session = STR_NONE;
    struct cursor after = {0};
    struct err err;
    struct rc rc = json_want_str(message, "session_id", LIMIT_ID_BYTES, &session, &err);
    if (rc_ok(rc))
        rc = read_cursor(message, &after, &err);
    if (rc_bad(rc) || str_empty(session)) {
        terminal_error(terminal, terminal_id(message),
                       rc_bad(rc) ? str_of(err.text) : STR("\"session_id\" is missing"));
        return;
    }
    struct terminal_act *act = terminal_act_new(terminal, message);
    act->after = after;
    act->look = (struct session_look){.op = gate_op(&act->arena, attach_found, act),
                                      .id = arena_str(&act->arena, session)};
    gate_session(terminal->api->gate, &act->look);
}

/* ---- the socket ---- */

static const struct {
    struct socket_kind is;
    void (*take)(struct terminal *terminal, const struct json *message);
} commands[] = {
    {{"run", {SCOPE_RUN, BOUND_NEVER}}, terminal_run},
    {{"tool_approval_response", {SCOPE_DECIDE, BOUND_HERE}}, on_answer},
    {{"attach", {SCOPE_SEE, BOUND_HERE}}, on_attach},
    {{"cancel", {SCOPE_DECIDE, BOUND_HERE}}, on_cancel},
};

const struct socket_kind *terminal_message(size_t at)
{
    return at < sizeof commands / sizeof *commands ? &commands[at].is : NULL;
}

static void on_message(struct http_socket *socket, void *arg, struct str text)
{
    ARENA_SCOPE(scratch);
    struct terminal *terminal = arg;
    const struct json *message;
    struct err err;
    if (rc_bad(json_parse(&scratch, text, &message, &err))) {
        terminal_error(terminal, STR_NONE, str_of(err.text));
        return;
    }
    if (terminal->token->revoked_ms) {
        http_socket_end(socket, 1008, "this token was revoked");
        return;
    }
    if (terminal->open >= ACTS_OPEN_MAX) {
        terminal_error(terminal, terminal_id(message), STR("too many commands are under way"));
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!str_is(json_text(message, "command"), commands[i].is.name))
            continue;
        if (rc_bad(auth_allow(terminal->token, commands[i].is.right, &err)))
            terminal_refuse(terminal, terminal_id(message), &err);
        else
            commands[i].take(terminal, message);
        return;
    }
    terminal_error(terminal, terminal_id(message),
                   STR("\"command\" must be run, tool_approval_response, attach or cancel"));
}

static void on_drained(struct http_socket *socket, void *arg)
{
    struct terminal *terminal = arg;
    struct view *next;
    (void)socket;
    for (struct view *view = terminal->views; view; view = next) {
        next = view->next;
        terminal_view_go_on(view);
    }
}

/* Runs go on: a client that connects again attaches to their sessions. */
static void on_gone(struct http_socket *socket, void *arg)
{
    struct terminal *terminal = arg;
    (void)socket;
    terminal->socket = NULL;
    while (terminal->views)
        terminal_view_free(terminal->views);
    free_if_over(terminal);
}

void api_agent_terminal_open(struct exchange *x)
{
    struct terminal *terminal = heap_new(sizeof *terminal);
    struct http_socket_options options = {
        .message = on_message, .gone = on_gone, .drained = on_drained, .protocol = SOCKET_PROTOCOL, .arg = terminal};
    char here[LIMIT_PATH_BYTES];
    struct str cwd = STR_NONE;
    struct err err;
    if (rc_bad(api_query_text(x, "cwd", &cwd, &err)) || (cwd.n && cwd.p[0] != '/')) {
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
    if (!terminal->socket)
        arena_free(terminal);
}
