/* MCP over streamable HTTP: one message per POST.
 *
 * A call that waits for a person is answered by a stream: progress every few seconds, since clients give up
 * on silence, then the result. A client that closes the stream takes the question back. A client that does not take
 * a stream gets a denial when its time is over.
 */
#include "agents/mcp.h"
#include "agents/rpc.h"
#include "api/exchange.h"

enum { PIECE_MS = 8000, PLAIN_MS = 50000 };

/* The state of one MCP call; it outlives its request once the stream has begun. */
struct mcp_call_held {
    struct arena arena;
    struct arena spare;         /* holds the message until the call begins to wait */
    struct arena piece;         /* memory of the current wait; a wait is split into pieces of PIECE_MS */
    struct exchange *x;         /* NULL: the stream has begun */
    struct gate *gate;
    struct http_stream *stream; /* NULL: not begun, or gone */
    struct mcp_message message;
    struct ask *ask;
    struct str actor, by;
    unsigned times;
    bool begun, answered, takes_stream; /* takes_stream: its client reads one */
};

/* ---- what the client hears ---- */

static void send_event(struct mcp_call_held *held, const struct buf *line)
{
    BUF_SCOPE(event, LIMIT_ANSWER_BYTES);
    BUF_ADD(&event, STR("event: message\ndata: "), buf_str(line), STR("\n"));
    struct shared *bytes = shared_new(buf_str(&event));
    (void)http_stream_send(held->stream, bytes);
    shared_unref(bytes);
}

/* A held call has arenas of its own: once a stream has begun, the exchange and its arena are gone. */
static void free_held(struct mcp_call_held *held)
{
    arena_done(&held->spare);
    arena_done(&held->piece);
    arena_free(held);
}

static void give(struct mcp_call_held *held, const struct buf *line)
{
    if (held->x) {
        exchange_answer(held->x, 200, line);
        free_held(held);
    } else if (held->stream) {
        send_event(held, line);
        held->answered = true;
        http_stream_end(held->stream); /* `gone` follows and frees */
    } else {
        free_held(held);
    }
}

static void refuse(struct mcp_call_held *held, const char *words)
{
    BUF_SCOPE(line, LIMIT_ANSWER_BYTES);
    mcp_refuse(&line, &held->message, arena_printf(&held->arena, "Nod refuses: %s", words));
    give(held, &line);
}

/* ---- giving up ---- */

static void withdrawn(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct mcp_call_held *held = decide->op.owner;
    if (held->x || held->stream)
        refuse(held, "nobody answered in time");
    else
        free_held(held);
}

/* Withdraws the call at the gate. If a person has answered meanwhile the gate refuses that, and `withdrawn` refuses
 * the client. */
static void withdraw(struct mcp_call_held *held)
{
    struct decide *decide = arena_new(&held->arena, struct decide);
    *decide = (struct decide){.op = gate_op(&held->arena, withdrawn, held), .session = held->ask->session,
                              .call_id = held->ask->id, .decision = DECISION_CANCELLED, .actor = held->actor,
                              .by = held->by};
    gate_decide(held->gate, decide);
}

static void stream_gone(struct http_stream *stream, void *arg)
{
    struct mcp_call_held *held = arg;
    (void)stream;
    held->stream = NULL;
    if (held->answered)
        free_held(held);
    else if (gate_forget(held->ask))
        withdraw(held);
    /* otherwise the pending callback frees it */
}

/* ---- waiting ---- */

/* True: the result goes into a stream. From here on held->x is NULL; false means that the connection broke in this
 * moment. */
static bool begin_stream(struct mcp_call_held *held)
{
    static const struct http_stream_owner owner = {.gone = stream_gone};
    if (held->begun)
        return held->stream != NULL;
    struct http_request *http = held->x->http;
    held->begun = true;
    held->x = NULL;
    http->gone = NULL;
    held->stream = http_stream_start(http, &owner, held);
    return held->stream != NULL;
}

/* The call waits on in pieces of PIECE_MS; between them the client gets progress. */
static void wait_on(struct mcp_call_held *held)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (!begin_stream(held)) {
        withdraw(held);
        return;
    }
    if (!str_empty(held->message.progress)) {
        mcp_progress(&line, &held->message, ++held->times);
        send_event(held, &line);
    }
    struct ask now = *held->ask;
    arena_done(&held->piece);
    struct ask *again = arena_new(&held->piece, struct ask);
    *again = (struct ask){.op = gate_op(&held->piece, now.op.done, held), .session = now.session, .id = now.id,
                          .actor = held->actor, .wait_ms = PIECE_MS, .brief = true};
    held->ask = again;
    gate_status(held->gate, again);
}

/* Frees the message while the call waits for a person; the input is read again for the answer. */
static void let_go(struct ask *ask)
{
    struct mcp_call_held *held = ask->op.owner;
    held->message.params = held->message.arguments = NULL;
    ask->input = NULL;
    ask->call->input = STR_NONE;
    ask->reread = true;
    arena_done(&held->spare);
    if (held->x)
        http_shed(held->x->http);
}

/* On the loop, each time that a wait has ended: with an answer, with an error, or because PIECE_MS are over. */
static void asked(struct op *op)
{
    struct ask *ask = (struct ask *)op;
    struct mcp_call_held *held = ask->op.owner;
    BUF_SCOPE(line, LIMIT_ANSWER_BYTES);
    bool left = held->begun ? !held->stream : !held->x->http->connection;
    if (ask->op.err) {
        refuse(held, ask->op.err->text);
    } else if (ask->call->status != CALL_AWAITING) {
        mcp_answer_call(&line, &held->message, ask->call);
        give(held, &line);
    } else if (!left && held->takes_stream) {
        wait_on(held);
    } else {
        withdraw(held);
    }
}

/* ---- the call ---- */

/* Before the stream has begun. When the gate has the operation in hand, `asked` finds that the client has left. */
static void client_gone(struct http_request *request)
{
    struct mcp_call_held *held = request->arg;
    if (gate_forget(held->ask))
        withdraw(held);
}

static void session_found(void *arg, const struct session *session, const struct err *err)
{
    struct mcp_call_held *held = arg;
    if (!session) {
        refuse(held, err->text);
        return;
    }
    held->ask->session = arena_str(&held->arena, session->id);
    held->ask->thread = arena_str(&held->arena, session->main_thread);
    gate_ask(held->gate, held->ask);
}

static struct agent_session agent_of(struct exchange *x)
{
    struct str id = http_header(x->http, "mcp-session-id");
    return (struct agent_session){.name = STR("mcp"), .id = str_empty(id) ? STR("default") : id};
}

/* Copies what is needed later: the exchange may be gone while the call waits. */
static struct rc prepare(struct mcp_call_held *held, struct str text, struct err *err)
{
    struct mcp_ask what;
    struct ask *ask = held->ask;
    struct rc rc = mcp_read(&held->spare, arena_str(&held->spare, text), &held->message, err);
    ARENA_KEEP(&held->arena, &held->message.id, &held->message.progress);
    held->message.method = held->message.cancels = STR_NONE;
    TRY(rc);
    TRY(mcp_ask_read(&held->spare, &held->message, &what, err));
    ask->id = arena_str(&held->arena, str_empty(what.id) ? str_of(id_new("call").text) : what.id);
    if (!id_acceptable(ask->id))
        return err_set(err, ERR_INVALID, "\"tool_use_id\" is too long or has characters that are not allowed");
    ask->name = arena_str(&held->arena, what.name);
    ask->by_default = BY_DEFAULT_ASK; /* the client asks because its own rules do not allow it */
    ask->input = what.input;
    ask->brief = true;
    ask->waits = let_go;
    return RC_OK;
}

/* On the heap and not in the exchange's arena, because it outlives the exchange when a stream is begun. */
static void take_call(struct exchange *x)
{
    struct mcp_call_held *held = heap_new(sizeof *held);
    struct agent_session agent = agent_of(x);
    struct err err = {.code = ERR_OK};
    held->x = x;
    held->gate = x->gate;
    held->takes_stream = str_has(http_header(x->http, "accept"), STR("text/event-stream"));
    held->actor = arena_str(&held->arena, x->actor);
    held->by = arena_str(&held->arena, x->token_id);
    held->ask = arena_new(&held->arena, struct ask);
    *held->ask = (struct ask){.op = gate_op(&held->arena, asked, held), .actor = held->actor, .by = held->by};
    held->ask->withdraws = true;
    held->ask->wait_ms = held->takes_stream ? PIECE_MS : PLAIN_MS;
    if (rc_bad(prepare(held, x->http->body, &err))) {
        refuse(held, err.text);
        return;
    }
    x->http->arg = held;
    x->http->gone = client_gone;
    exchange_with_agent(x, &agent, session_found, held);
}

/* ---- what still waits ---- */

static void pending_session_found(void *arg, const struct session *session, const struct err *err)
{
    struct exchange *x = arg;
    JSON_SCOPE(text, out, LIMIT_ANSWER_BYTES);
    BUF_SCOPE(line, LIMIT_ANSWER_BYTES);
    if (!session) {
        mcp_refuse(&line, x->state, str_of(err->text));
        exchange_answer(x, 200, &line);
        return;
    }
    struct pending_list list = {.session = session->id, .limit = LIMIT_PAGE_CALLS};
    gate_list_pending(x->gate, x->arena, &list);
    JSON_LIST(&out, NULL)
        for (size_t i = 0; i < list.count; i++)
            gate_write_listed(x->gate, &out, &list.calls[i]);
    mcp_answer_text(&line, x->state, buf_str(&text));
    exchange_answer(x, 200, &line);
}

/* Marks are known, or they cannot be read; the agent reads JSON-RPC only. */
static void marks_known(struct op *op)
{
    struct exchange *x = op->owner;
    struct agent_session agent = agent_of(x);
    if (op->err)
        pending_session_found(x, NULL, op->err);
    else if (!auth_revoked(x))
        exchange_with_agent(x, &agent, pending_session_found, x);
}

static void list_pending(struct exchange *x)
{
    struct op *op = arena_new(x->arena, struct op);
    *op = gate_op(x->arena, marks_known, x);
    gate_await_marks(x->gate, op);
}

/* ---- one message ---- */

/* A message that is not JSON is answered 400 with an error of JSON-RPC, every other failure 200 with one: that is what
 * clients read. */
void api_mcp_message(struct exchange *x)
{
    struct mcp_message *message = arena_new(x->arena, struct mcp_message);
    BUF_SCOPE(line, LIMIT_ANSWER_BYTES);
    struct err err = {.code = ERR_OK};
    if (rc_bad(mcp_read(&x->http->spare, x->http->body, message, &err))) {
        rpc_error(&line, STR_NONE, -32700, str_of(err.text));
        exchange_answer(x, 400, &line);
        return;
    }
    x->state = message;
    if (message->tool == MCP_PENDING_CALLS && mcp_needs_gate(message)) {
        list_pending(x);
        return;
    }
    if (mcp_needs_gate(message)) {
        take_call(x);
        return;
    }
    mcp_answer(&line, message);
    if (line.n == 0) {
        http_answer(x->http, 202, STR("application/json"), STR_NONE, STR_NONE);
    } else if (str_is(message->method, "initialize")) {
        struct str header = arena_printf(x->arena, "Mcp-Session-Id: %s\r\n", id_new("mcp").text);
        http_answer(x->http, 200, STR("application/json"), header, buf_str(&line));
    } else {
        exchange_answer(x, 200, &line);
    }
}
