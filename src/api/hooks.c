/* Hooks over HTTP: an agent's own message comes in, the answer in its own words goes out.
 *
 *   POST /api/hooks/:agent?wait=SECONDS&call=ID&strict=1      agent: AGENTS of agents/agent.h
 *
 * The agent's session becomes one of ours, of the same id for as long as the same token speaks: the id is
 * made from both, so that a restart changes nothing. Once the token is known, every answer is 200 and every failure
 * is a refusal in it, since these agents go on when a hook answers with an error. A client that hangs up and stays
 * away takes the question back. So does an answer in the agent's own terminal, once a hook tells of it.
 */
#include "agents/agent.h"
#include "api/exchange.h"

#include "event/shapes.h"

/* The prefix of ids that Nod gives to calls without one, such as permission dialogs. */
#define OUR_ID "call_"

enum { WAIT_SECONDS_DEFAULT = 590, WAIT_SECONDS_MAX = 7 * 86400 };

/* A hook's request while its call waits. */
struct hooking {
    struct exchange *x;
    struct hook hook;
    struct ask *ask;
    struct decide *withdrawal;
    struct str session;
    unsigned ending; /* withdrawals that are not stored yet */
    bool gone;
    bool joins;      /* the call has the agent's own id: whoever else asks about it asks about the same */
    bool joined;     /* the call was found in another thread of the session */
};

/* ---- one call, told of twice ----
 *
 * Claude Code asks its hooks before each call (PreToolUse, with the call's id) and again when it would ask a person
 * (PermissionRequest, without it). Where `nod claude` stands in front of the same conversation and has told of the same
 * id, the second takes it from the first: then both ask about one call. The answer is a person's either way. After a
 * restart an open question about the same is taken up. */

static struct digest told_digest(struct str session, const char *about, struct str tool, struct str input)
{
    const struct str pieces[] = {session, str_of(about), tool, input};
    return digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
}

/* A ring: the oldest entry goes. A call that is forgotten is asked about twice, which is a nuisance and no danger. */
static void remember(struct api *api, struct digest what, struct str id)
{
    struct hook_call *told = &api->hook_calls[api->hook_call_next++ % HOOK_CALLS_MAX];
    told->what = what;
    if (!str_c(id, told->id, sizeof told->id))
        told->id[0] = '\0';
}

/* Returns the newest call with this digest; NULL when there is none. */
static struct hook_call *recall(struct api *api, const struct digest *what)
{
    for (size_t i = 1; i <= HOOK_CALLS_MAX && i <= api->hook_call_next; i++) {
        struct hook_call *told = &api->hook_calls[(api->hook_call_next - i) % HOOK_CALLS_MAX];
        if (told->id[0] && digest_eq(&told->what, what))
            return told;
    }
    return NULL;
}

static void remember_call(struct hooking *h)
{
    remember(h->x->api, told_digest(h->session, "before", h->hook.tool, h->hook.input->raw), h->hook.call);
}

static void join_call(struct hooking *h, struct str id)
{
    h->ask->id = arena_str(h->x->arena, id);
    h->joins = true;
    remember(h->x->api, told_digest(h->session, "dialog", h->ask->id, STR_NONE), h->ask->id);
}

void hooks_wrapped(struct exchange *x, struct str session, struct str call)
{
    remember(x->api, told_digest(session, "wrapped", call, STR_NONE), call);
}

/* The id under which the agent told of this call before, when a wrapper will ask about it, too. */
static bool recall_call(struct hooking *h)
{
    struct digest what = told_digest(h->session, "before", h->hook.tool, h->hook.input->raw);
    struct hook_call *told = recall(h->x->api, &what);
    if (!told)
        return false;
    struct digest wrapped = told_digest(h->session, "wrapped", str_of(told->id), STR_NONE);
    bool joins = recall(h->x->api, &wrapped);
    if (joins)
        join_call(h, str_of(told->id));
    told->id[0] = '\0';
    return joins;
}

static bool was_dialog(struct hooking *h, struct str call)
{
    struct digest what = told_digest(h->session, "dialog", call, STR_NONE);
    return str_starts(call, STR(OUR_ID)) || recall(h->x->api, &what);
}

/* ---- answers ---- */

/* A client that has gone gets nothing, but its request is still to be freed. */
static void give(struct hooking *h, const struct buf *body)
{
    if (h->gone)
        http_drop(h->x->http);
    else
        exchange_answer(h->x, 200, body);
}

static void refuse(struct hooking *h, const char *words)
{
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    hook_refuse(&buf, &h->hook, arena_printf(h->x->arena, "Nod refuses: %s", words));
    give(h, &buf);
}

/* Whether or not the withdrawal was stored: the hook is refused. A person's answer that came first is on record, and
 * the agent may ask again. */
static void withdrawn(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct hooking *h = decide->op.owner;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    hook_refuse(&buf, &h->hook, STR("Nobody answered in time, so this was not allowed."));
    give(h, &buf);
}

/* Withdraws a call that nobody waits for any more, unless somebody else asks about it, too. */
static void withdraw(struct hooking *h)
{
    struct exchange *x = h->x;
    struct decide *decide = arena_new(x->arena, struct decide);
    CHECK(!h->withdrawal);
    if (gate_awaited(h->ask)) {
        decide->op.owner = h;
        withdrawn(&decide->op);
        return;
    }
    h->withdrawal = decide;
    decide->op = gate_op(x->arena, withdrawn, h);
    decide->session = h->session;
    decide->call_id = h->ask->id;
    decide->decision = DECISION_CANCELLED;
    decide->actor = x->actor;
    decide->by = x->token_id;
    gate_decide(x->gate, decide);
}

/* The gate's answer, or the end of the time: then the hook refuses, and the call is withdrawn. */
static void asked(struct op *op)
{
    struct ask *ask = (struct ask *)op;
    struct hooking *h = ask->op.owner;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    if (!h->gone && auth_revoked(h->x))
        return;
    if (gate_op_code(&ask->op) == ERR_CALL_DIFFERS && h->joins && !h->joined) {
        h->joined = true;
        ask->op.err = NULL;
        ask->thread = STR_NONE;
        gate_status(h->x->gate, ask);
    } else if (ask->op.err) {
        refuse(h, ask->op.err->text);
    } else if (ask->call->status == CALL_AWAITING && ask->released && !h->gone) { /* the hook repeats its request */
        exchange_error(h->x, ERR_UNAVAILABLE, "the server is being restarted; ask again");
    } else if (ask->call->status == CALL_AWAITING && h->gone) {
        http_drop(h->x->http);
    } else if (ask->call->status == CALL_AWAITING) {
        withdraw(h);
    } else {
        if (ask->call->status == CALL_UNKNOWN && h->hook.kind == HOOK_BEFORE && !str_empty(h->hook.call))
            remember_call(h);
        hook_answer(&buf, &h->hook, ask->call);
        give(h, &buf);
    }
}

/* Frees the agent's message while its call waits for a person: the answer is made from the decision alone. */
static void let_go(struct ask *ask)
{
    struct hooking *h = ask->op.owner;
    h->hook = (struct hook){.agent = h->hook.agent, .kind = h->hook.kind, .asks_later = h->hook.asks_later};
    ask->input = NULL;
    ask->call->input = STR_NONE;
    h->x->body = NULL;
    http_shed(h->x->http);
}

/* gate_forget returns false when the gate has the operation in hand: then `asked` comes later and finds `gone`. */
static void client_gone(struct http_request *request)
{
    struct hooking *h = request->arg;
    h->gone = true;
    if (!h->withdrawal && gate_forget(h->ask))
        http_drop(request);
}

/* ---- what is over ---- */

static void answer_nothing(struct hooking *h)
{
    BUF_SCOPE(nothing, LIMIT_NAME_BYTES);
    buf_puts(&nothing, "{}");
    exchange_answer(h->x, 200, &nothing);
}

static void ended(struct op *op)
{
    struct decide *decide = (struct decide *)op;
    struct hooking *h = decide->op.owner;
    CHECK(h->ending);
    if (--h->ending == 0) /* the call may have been answered meanwhile, which is not an error */
        answer_nothing(h);
}

/* Compares tool and input, blanks aside: after a restart nothing else connects the two messages of one call. */
static bool is_same(const struct hooking *h, struct arena *arena, const struct open_approval *open)
{
    struct data_tool_call call;
    return READ_DATA(arena, tool_call, open->call.data, &call) && str_eq(call.name, h->hook.tool) &&
           json_same_tokens(call.input, h->hook.input->raw);
}

/* After a call: the question about it. After a turn: whatever the agent's dialogs asked. */
static bool is_over(struct hooking *h, struct arena *arena, const struct open_approval *open)
{
    if (h->hook.kind == HOOK_AFTER && !str_empty(h->hook.call) && str_eq(open->request.call, h->hook.call))
        return true;
    if (!was_dialog(h, open->request.call))
        return false;
    return h->hook.kind == HOOK_IDLE || is_same(h, arena, open);
}

/* The agent's own terminal has answered some of its calls: those are cancelled here. */
static void open_read(struct read *read)
{
    struct hooking *h = read->arg;
    struct exchange *x = h->x;
    h->ending = 1;
    for (size_t i = 0; i < read->open_count; i++) {
        if (!is_over(h, &read->arena, &read->open[i]))
            continue;
        struct decide *decide = arena_new(x->arena, struct decide);
        *decide = (struct decide){.op = gate_op(x->arena, ended, h), .session = h->session,
                                  .decision = DECISION_CANCELLED,
                                  .call_id = arena_str(x->arena, read->open[i].request.call),
                                  .feedback = STR("answered in the agent's own terminal"), .actor = x->actor,
                                  .by = x->token_id};
        h->ending++;
        gate_decide(x->gate, decide);
    }
    read_free(read);
    if (--h->ending == 0)
        answer_nothing(h);
}

/* After a restart the memory of calls (hook_calls) is gone, the open questions are not. The first that matches is
 * joined. */
static void take_up(struct read *read)
{
    struct hooking *h = read->arg;
    for (size_t i = 0; i < read->open_count; i++) {
        if (is_same(h, &read->arena, &read->open[i])) {
            join_call(h, read->open[i].request.call);
            break;
        }
    }
    read_free(read);
    gate_ask(h->x->gate, h->ask);
}

static void read_open(struct hooking *h, void (*done)(struct read *read))
{
    struct read *read = read_new(READ_OPEN);
    read->session = arena_str(&read->arena, h->session);
    gate_read(h->x->gate, read, done, h);
}

/* A message that only tells something (a call is over, the agent is idle) makes no session and is never refused. */
static void session_found(void *arg, const struct session *session, const struct err *err)
{
    struct hooking *h = arg;
    if (!session && !hook_asks(&h->hook)) {
        answer_nothing(h);
        return;
    }
    if (!session) {
        refuse(h, err->text);
        return;
    }
    h->session = arena_str(h->x->arena, session->id);
    if (!hook_asks(&h->hook)) {
        read_open(h, open_read);
        return;
    }
    h->ask->session = h->session;
    h->ask->thread = arena_str(h->x->arena, session->main_thread);
    if (h->hook.kind == HOOK_PERMISSION && str_empty(h->hook.call) && !recall_call(h))
        read_open(h, take_up);
    else
        gate_ask(h->x->gate, h->ask);
}

/* ---- the question ---- */

/* Reads the whole request into h->hook and h->ask. The session is looked for afterwards. */
static struct rc prepare(struct hooking *h, struct err *err)
{
    struct exchange *x = h->x;
    struct ask *ask = h->ask;
    uint64_t wait_seconds = WAIT_SECONDS_DEFAULT, strict = 0;
    TRY(hook_read(h->hook.agent, x->body, &h->hook, err));
    if (!hook_asks(&h->hook))
        return RC_OK;
    TRY(api_query_u64(x, "wait", WAIT_SECONDS_MAX, &wait_seconds, err));
    TRY(api_query_u64(x, "strict", 1, &strict, err));
    TRY(api_query_text(x, "call", &ask->id, err));
    if (!str_empty(h->hook.call))
        ask->id = h->hook.call;
    if (str_empty(ask->id))
        ask->id = arena_str(x->arena, str_of(id_new("call").text));
    if (!id_acceptable(ask->id) || ask->id.n > LIMIT_ID_BYTES)
        return err_set(err, ERR_INVALID, "the call's id is too long or has characters that are not allowed");
    if (h->hook.cwd.n && h->hook.cwd.p[0] != '/')
        return err_set(err, ERR_INVALID, "\"cwd\" must be an absolute path");
    ask->id = arena_str(x->arena, ask->id);
    ask->name = arena_str(x->arena, h->hook.tool);
    ask->dialect = str_of(h->hook.agent->name);
    ask->input = h->hook.input;
    ask->cwd = arena_str(x->arena, h->hook.cwd);
    ask->brief = true;
    ask->waits = let_go;
    ask->only_rules = h->hook.asks_later && !strict;
    ask->by_default = ask->only_rules                 ? BY_DEFAULT_LEAVE
                      : h->hook.kind == HOOK_BEFORE ? BY_DEFAULT_ASK_ACTS
                                                    : BY_DEFAULT_ASK;
    ask->wait_ms = ask->only_rules ? 0 : (int64_t)wait_seconds * 1000;
    ask->withdraws = true;
    return RC_OK;
}

/* A message that cannot be read is refused when the agent would wait for an answer, and otherwise ignored: a new kind
 * of message must not stop an agent. */
void api_hooks_ask(struct exchange *x)
{
    struct hooking *h = arena_new(x->arena, struct hooking);
    struct err err = {.code = ERR_OK};
    h->x = x;
    h->ask = arena_new(x->arena, struct ask);
    h->ask->op = gate_op(x->arena, asked, h);
    h->ask->actor = x->actor;
    h->ask->by = x->token_id;
    h->hook.agent = agent_with_hooks(x->params[0]);
    EXCHANGE_REFUSE(x, !h->hook.agent, ERR_NOT_FOUND, "hooks are of" AGENT_WORDS);
    bool unread = rc_bad(prepare(h, &err)), tells = h->hook.kind == HOOK_AFTER || h->hook.kind == HOOK_IDLE;
    if (unread && !tells) {
        refuse(h, err.text);
        return;
    }
    if (h->hook.kind == HOOK_OTHER || unread) {
        answer_nothing(h);
        return;
    }
    if (hook_asks(&h->hook)) {
        x->http->arg = h;
        x->http->gone = client_gone;
    }
    struct agent_session agent = {.name = str_of(h->hook.agent->name), .id = h->hook.session,
                                  .cwd = h->hook.cwd, .must_exist = tells};
    exchange_with_agent(x, &agent, session_found, h);
}
