/* The gate over HTTP: ask, look, report, give up. */
#include "api/exchange.h"

#include "base/id.h"
#include "notify/notify.h"

/* ---- ask ---- */

/* The token may have been revoked while the call waited: then not even the decision is told. */
static void answer_call(struct exchange *x, const struct call *call)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (auth_revoked(x))
        return;
    json_open(&out, '{');
    call_write_members(&out, call);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

static void asked(struct op *op)
{
    struct ask *ask = (struct ask *)op;
    struct exchange *x = ask->op.owner;
    if (ask->only_rules && ask->call->status == CALL_UNKNOWN)
        hooks_wrapped(x, ask->session, ask->id);
    answer_call(x, ask->call);
}

/* While it waits for a person the request, what was made of it, and the answer to be are not needed. */
static void let_go(struct ask *ask)
{
    struct exchange *x = ask->op.owner;
    ask->reread = true;
    ask->call = NULL;
    ask->input = NULL;
    x->body = NULL;
    http_shed(x->http);
}

/* The client left: what only waited is forgotten; what is on its way to the store is kept all the same. */
static void client_gone(struct http_request *request)
{
    if (gate_forget(request->arg))
        http_drop(request);
}

static struct rc read_wait(struct exchange *x, int64_t *ret_wait_ms, struct err *err)
{
    uint64_t seconds = 0;
    TRY(api_query_u64(x, "wait", LIMIT_WAIT_SECONDS, &seconds, err));
    *ret_wait_ms = (int64_t)seconds * 1000;
    return RC_OK;
}

static struct rc read_patience(struct exchange *x, struct ask *ask, struct err *err)
{
    uint64_t withdraws = 0;
    TRY(read_wait(x, &ask->wait_ms, err));
    TRY(api_query_u64(x, "withdraw", 1, &withdraws, err));
    ask->withdraws = withdraws;
    return RC_OK;
}

/* Where the answer is to be posted, if it may be. */
static struct rc read_callback(struct exchange *x, struct ask *ask, struct err *err)
{
    const struct json *callback = NULL;
    TRY(json_want_object(x->body, "callback", &callback, err));
    if (!callback)
        return RC_OK;
    ask->callback = arena_str(x->arena, json_text(callback, "url"));
    return notify_check_callback(x->api->notify, ask->callback, err);
}

/* An id of the client's makes the request safe to repeat; without one, each request is a new call. */
static struct rc read_ask(struct exchange *x, struct ask *ask, struct err *err)
{
    const struct json *input = NULL;
    struct str by_default = STR_NONE, source = STR_NONE;
    TRY(read_patience(x, ask, err));
    TRY(read_callback(x, ask, err));
    TRY(json_want_str(x->body, "source", LIMIT_ID_BYTES, &source, err));
    TRY(json_want_str(x->body, "id", LIMIT_ID_BYTES, &ask->id, err));
    TRY(json_want_str(x->body, "name", LIMIT_NAME_BYTES, &ask->name, err));
    TRY(json_want_str(x->body, "cwd", LIMIT_PATH_BYTES, &ask->cwd, err));
    TRY(json_want_str(x->body, "dialect", LIMIT_NAME_BYTES, &ask->dialect, err));
    TRY(json_want_str(x->body, "byDefault", LIMIT_NAME_BYTES, &by_default, err));
    if (by_default.p && !by_default_parse(by_default, &ask->by_default))
        return err_set(err, ERR_INVALID, "\"byDefault\" must be allow, ask, ask-acts or leave");
    TRY(json_want_bool(x->body, "onlyRules", &ask->only_rules, err));
    TRY(json_want_object(x->body, "input", &input, err));
    if (str_empty(ask->name))
        return err_set(err, ERR_INVALID, "\"name\" of the tool is missing");
    if (!input)
        return err_set(err, ERR_INVALID, "\"input\" is missing; it must be an object");
    if (ask->id.p && !id_acceptable(ask->id))
        return err_set(err, ERR_INVALID,
                       "\"id\" must be 1 to %d visible ASCII characters without / \\ \" ? # %%",
                       LIMIT_ID_BYTES);
    if (ask->cwd.n && ask->cwd.p[0] != '/')
        return err_set(err, ERR_INVALID, "\"cwd\" must be an absolute path");
    ask->id = arena_str(x->arena, ask->id.p ? ask->id : str_of(id_new("call").text));
    ask->name = arena_str(x->arena, ask->name);
    ask->cwd = arena_str(x->arena, ask->cwd);
    ask->dialect = arena_str(x->arena, ask->dialect);
    ask->input = input;
    return source.p ? gate_describe(x->gate, ask, source, err) : RC_OK;
}

static struct ask *new_ask(struct exchange *x)
{
    struct ask *ask = arena_new(x->arena, struct ask);
    ask->op = exchange_op(x, asked);
    ask->call = arena_new(&x->http->spare, struct call);
    ask->waits = let_go;
    ask->actor = x->actor;
    ask->by = x->token_id;
    x->http->arg = ask;
    x->http->gone = client_gone;
    return ask;
}

void api_calls_ask(struct exchange *x)
{
    struct ask *ask = new_ask(x);
    struct err err;
    ask->session = session_of_thread(x->params[0]);
    ask->thread = x->params[0];
    EXCHANGE_TRY(x, read_ask(x, ask, &err));
    gate_ask(x->gate, ask);
}

/* ---- definitions of tools, told by a proxy in front of somebody's MCP server ---- */

static void answer_pinned(struct exchange *x)
{
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    buf_puts(&buf, "{\"status\":\"allowed\",\"decision\":\"allow_once\",\"input\":{},\"pinned\":true}");
    exchange_answer(x, 200, &buf);
}

/* `append` is the gate's and freed here, because its `done` is the last to see it. */
static void pinned(struct append *append)
{
    struct exchange *x = append->arg;
    struct err err = append->err;
    bool kept = append->outcome == APPEND_KEPT;
    append_free(append);
    if (kept)
        answer_pinned(x);
    else
        exchange_fail(x, &err);
}

static struct rc read_told(struct exchange *x, struct told_tool *ret_tool, struct err *err)
{
    struct str server = STR_NONE;
    TRY(json_want_str(x->body, "server", LIMIT_ID_BYTES, &server, err));
    TRY(json_want_str(x->body, "source", LIMIT_ID_BYTES, &ret_tool->source, err));
    TRY(json_want_object(x->body, "definition", &ret_tool->definition, err));
    struct str name = json_text(ret_tool->definition, "name");
    if (str_empty(server) || str_empty(ret_tool->source) || str_empty(name))
        return err_set(err, ERR_INVALID, "\"server\", \"source\" or \"definition\" with its \"name\" is missing");
    ret_tool->name = arena_printf(x->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(name));
    return ret_tool->name.n > LIMIT_NAME_BYTES ? err_set(err, ERR_INVALID, "the tool's name is too long") : RC_OK;
}

/* A new definition is stored; one that differs from the stored one is asked about as a call; the same again needs
 * nothing. */
static void tell_in_thread(struct exchange *x, const struct session *session)
{
    struct ask *ask = new_ask(x);
    struct told_tool tool = {0};
    struct gate_news news = {0};
    struct err err;
    (void)session;
    ask->session = x->session;
    ask->thread = x->params[0];
    EXCHANGE_TRY(x, read_told(x, &tool, &err));
    EXCHANGE_TRY(x, read_patience(x, ask, &err));
    EXCHANGE_TRY(x, gate_told(x->gate, ask, &tool, &news, &err));
    if (news.pins) {
        news.pins->done = pinned;
        news.pins->arg = x;
        x->http->gone = NULL; /* the definition is stored even if the client disconnects */
        gate_keep(x->gate, news.pins);
    } else if (news.ask_count) {
        *ask = news.asks[0];
        gate_ask(x->gate, ask);
    } else {
        answer_pinned(x);
    }
}

void api_definitions_tell(struct exchange *x) { exchange_with_thread(x, x->params[0], tell_in_thread); }

/* ---- look ---- */

static void write_detail(struct json_out *out, const struct call *call)
{
    json_open(out, '{');
    call_write_members(out, call);
    json_members(out, J_OBJECT("toolCall", J("id", call->id), J("name", call->name), J_RAW("input", call->input),
                               J("cwd", call->cwd)), J("agent", call->agent_actor),
                 J_TIME("calledAt", call->called_ms),
                 J_IF(call->requested_ms, J_TIME("requestedAt", call->requested_ms)),
                 J_IF(call->decided_ms, J_TIME("decidedAt", call->decided_ms)), J("digest", call->digest));
    if (call->result_seq) {
        json_members(out, J_OBJECT("result", J_RAW("content", call->result),
                                   J_BOOL("isError", call->result_is_error)));
    }
    json_close(out, '}');
}

static void shown(struct op *op)
{
    struct ask *ask = (struct ask *)op;
    struct exchange *x = ask->op.owner;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    write_detail(&out, ask->call);
    exchange_answer(x, 200, &buf);
}

void api_calls_show(struct exchange *x)
{
    struct ask *ask = new_ask(x);
    struct err err;
    ask->id = x->params[0];
    ask->op = exchange_op(x, shown);
    EXCHANGE_TRY(x, read_wait(x, &ask->wait_ms, &err));
    EXCHANGE_TRY(x, exchange_name_session(x, &ask->session, &err));
    gate_status(x->gate, ask);
}

/* ---- report ---- */

static void reported(struct op *op) { answer_call(op->owner, &((struct report *)op)->state); }

/* Content of any JSON type is stored as it came; without any it is null. */
void api_calls_result(struct exchange *x)
{
    struct report *report = arena_new(x->arena, struct report);
    const struct json *content = json_get(x->body, "content");
    struct err err;
    *report = (struct report){.op = exchange_op(x, reported), .call = x->params[0], .actor = x->actor,
                              .content = content ? content->raw : STR("null")};
    EXCHANGE_TRY(x, json_want_bool(x->body, "isError", &report->is_error, &err));
    EXCHANGE_TRY(x, exchange_name_session(x, &report->session, &err));
    gate_report(x->gate, report);
}

/* ---- give up ---- */

static void cancelled(struct op *op) { answer_call(op->owner, &((struct decide *)op)->call); }

void api_calls_cancel(struct exchange *x)
{
    struct decide *decide = arena_new(x->arena, struct decide);
    struct err err;
    *decide = (struct decide){.op = exchange_decision(x, cancelled), .call_id = x->params[0], .whole = true,
                              .decision = DECISION_CANCELLED, .actor = x->actor, .by = x->token_id};
    EXCHANGE_TRY(x, exchange_name_session(x, &decide->session, &err));
    gate_decide(x->gate, decide);
}
