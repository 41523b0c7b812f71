/* nod acp: between an editor and an agent that speak the Agent Client Protocol.
 *
 * A message that passes passes as its bytes. Held at the gate are, from the agent: session/request_permission,
 * fs/write_text_file, terminal/create (and fs/read_text_file, for rules alone), and a session that begins in a mode in
 * which the agent asks less; from the editor: switches to such a mode. Rewritten are initialize (forms of the agent are
 * questions at the gate where the editor shows none), session/new and its like (nod mcp proxy goes in front of MCP
 * servers, and some agents are so told to ask), and the prompt that follows a denial: its words come first. A line
 * that is not a message is dropped, reported and counted.
 */
#include "cli/relay/acp.h"

#include "agents/rpc.h"
#include "base/limits.h"
#include "base/lock.h"

#include <stdlib.h>
#include <unistd.h>

enum { DROPPED_MAX = 1000, RPC_NO_METHOD = -32601, RPC_UNREADABLE = -32700 };

/* A line that is not a message cannot be checked, so it is not passed on. After DROPPED_MAX such lines the agent is
 * ended. */
static void drop(struct acp *acp, const char *who, const char *why)
{
    if (acp->dropped++ == 0)
        cli_note("nod acp: %s wrote a line that is not a message, so it is not passed on: %s", who, why);
    if (acp->dropped < DROPPED_MAX)
        return;
    cli_note("nod acp: too many such lines; the agent is ended");
    acp_kill_agent(acp);
    (void)relay_pipe_close(&acp->child.in);
    (void)acp_wait_agent(acp);
    _exit(1);
}

/* Sends an error in place of a message that was dropped: to the sender of a request, to the receiver of an answer. */
static void answer_dropped(struct acp *acp, struct arena *arena, struct str line, bool of_agent, const char *why)
{
    BUF_SCOPE(out, LIMIT_BODY_BYTES);
    struct str id;
    bool is_request;
    if (!rpc_peek(arena, line, &id, &is_request))
        return;
    rpc_error(&out, id, RPC_UNREADABLE, arena_printf(arena, "Nod cannot read this message: %s", why));
    if (out.over)
        return;
    if (of_agent == is_request)
        (void)relay_pipe_send(&acp->child.in, &out);
    else
        acp_deliver(acp, id, str_sub(buf_str(&out), 0, out.n - 1));
}

/* False: there is nothing in the line that could be passed on. */
static bool read_message(struct acp *acp, struct arena *arena, struct str line, bool of_agent,
                         struct acp_message *ret_message)
{
    struct err err = {.code = ERR_OK};
    if (str_empty(str_trim(line)))
        return false;
    if (rc_ok(acp_read(arena, line, ret_message, &err)))
        return true;
    answer_dropped(acp, arena, line, of_agent, err.text);
    drop(acp, of_agent ? "the agent" : "the editor", err.text);
    return false;
}

/* ---- requests of the editor whose answers matter ---- */

static void heap_str(struct str *to, struct str from)
{
    free((char *)to->p);
    *to = STR_NONE;
    if (str_empty(from))
        return;
    char *copy = heap_new(from.n + 1);
    memcpy(copy, from.p, from.n);
    *to = (struct str){copy, from.n};
}

static void expect(struct acp *acp, const struct acp_message *m, int kind)
{
    LOCK_SCOPE(&acp->lock);
    struct acp_open *open = &acp->open[acp->open_next++ % ACP_OPEN_MAX];
    open->kind = str_c(m->id, open->id, sizeof open->id) ? kind : OPEN_NONE;
    heap_str(&open->session, m->session);
    heap_str(&open->cwd, json_text(m->params, "cwd"));
}

/* With the lock held. */
static struct acp_open *expected(struct acp *acp, struct str id)
{
    return ROW_FIND(acp->open, ACP_OPEN_MAX, row, row->kind != OPEN_NONE && str_is(id, row->id));
}

/* ---- from the editor ---- */

static void find_session(struct acp *acp, struct acp_session *session)
{
    struct err err = {.code = ERR_OK};
    (void)pthread_mutex_lock(&acp->session_lock);
    struct rc rc = relay_gate_session(&session->gate, &err);
    (void)pthread_mutex_unlock(&acp->session_lock);
    if (rc_bad(rc))
        cli_note("nod acp: nothing will be allowed: %s", err.text);
}

static struct str prompt_text(struct arena *arena, const struct json *params)
{
    BUF_SCOPE(buf, ACP_SAID_BYTES_MAX);
    const struct json *prompt = json_get(params, "prompt");
    for (const struct json *block = prompt ? prompt->first : NULL; block; block = block->next)
        buf_put(&buf, json_text(block, "text"));
    return buf.over ? STR("a prompt that is too long to be kept") : arena_str(arena, buf_str(&buf));
}

/* Words of people for the agent (denials with a reason) wait for the next prompt and go with it. */
static void pass_prompt(struct acp *acp, const struct acp_message *m)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(line, ACP_LINE_BYTES * 2);
    expect(acp, m, OPEN_PROMPT);
    lock_take(&acp->lock);
    struct acp_session *session = acp_session(acp, m->session, STR_NONE);
    struct str words = STR_NONE;
    if (session) {
        words = arena_str(&arena, buf_str(&session->words));
        buf_clear(&session->words);
        buf_clear(&session->said);
        session->replays = false;
    }
    lock_drop(&acp->lock);
    if (session) {
        find_session(acp, session);
        relay_note(&session->gate, acp->name, "USER_MESSAGE", NULL, prompt_text(&arena, m->params));
        relay_note(&session->gate, acp->name, "RUN_STATUS", "running", STR_NONE);
    }
    if (!str_empty(words))
        acp_put_prompt(&line, m, words);
    if (line.n && !line.over)
        (void)relay_pipe_send(&acp->child.in, &line);
    else
        (void)relay_pipe_put(&acp->child.in, m->json->raw);
}

/* The editor's MCP servers are put behind Nod's proxy, as far as they can be; the others are left out and named. */
static void pass_session(struct acp *acp, const struct acp_message *m)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(line, ACP_LINE_BYTES * 2);
    expect(acp, m, OPEN_SESSION);
    if (!str_empty(m->session)) {
        lock_take(&acp->lock);
        struct acp_session *session = acp_session(acp, m->session, json_text(m->params, "cwd"));
        if (session)
            session->replays = true;
        lock_drop(&acp->lock);
    }
    unsigned left_out = acp_put_session(&line, &arena, m, acp->agent->acp.session_meta,
                                        acp->box ? NULL : acp->self, acp->identity);
    if (left_out)
        cli_note("nod acp: %u MCP servers of the editor are left out: %s", left_out,
                 acp->box ? "the agent in its box cannot start them" : "they are neither programs nor addresses");
    if (!line.over)
        (void)relay_pipe_send(&acp->child.in, &line);
    else
        drop(acp, "the editor", "a session with too many MCP servers");
}

static bool begins_session(struct str method)
{
    return str_is(method, "session/new") || str_is(method, "session/load") || str_is(method, "session/resume") ||
           str_is(method, "session/fork");
}

/* The lock is given up before the request is held: that starts a thread, which takes it. */
static void hold(struct acp *acp, const struct acp_message *m, struct str mode)
{
    lock_take(&acp->lock);
    struct acp_session *session = acp_session(acp, m->session, STR_NONE);
    lock_drop(&acp->lock);
    if (session && !str_empty(m->id))
        acp_hold(acp, session, m, mode);
    else
        drop(acp, str_empty(mode) ? "the agent" : "the editor", "a request without an id, or of too many sessions");
}

/* A mode that was allowed is left: it must be asked about again. */
static void leave_mode(struct acp *acp, const struct acp_message *m)
{
    LOCK_SCOPE(&acp->lock);
    struct acp_session *session = acp_session(acp, m->session, STR_NONE);
    if (session)
        session->mode = STR_NONE;
}

/* Notes whether the editor can show forms. Without forms questions are asked on the page and in terminals only. */
static void pass_initialize(struct acp *acp, const struct acp_message *m)
{
    BUF_SCOPE(offer, ACP_LINE_BYTES * 2);
    bool offers = acp_offer_forms(&offer, m);
    lock_take(&acp->lock);
    acp->shows_forms = offers;
    lock_drop(&acp->lock);
    if (offers)
        (void)relay_pipe_send(&acp->child.in, &offer);
    else
        (void)relay_pipe_put(&acp->child.in, m->json->raw);
}

/* In the main thread: each line of the editor, passed on, rewritten or held. */
void acp_from_editor(void *arg, struct str line)
{
    struct acp *acp = arg;
    ARENA_SCOPE(arena);
    struct acp_message m;
    if (!read_message(acp, &arena, line, false, &m))
        return;
    struct str mode = acp_mode_wanted(&m);
    if (!str_empty(mode) && !acp_mode_is_safe(acp->agent, mode)) {
        hold(acp, &m, mode);
        return;
    }
    if (!str_empty(mode))
        leave_mode(acp, &m);
    if (str_is(m.method, "session/set_config_option"))
        expect(acp, &m, OPEN_OPTION);
    if (str_is(m.method, "initialize")) {
        pass_initialize(acp, &m);
        return;
    }
    if (begins_session(m.method)) {
        pass_session(acp, &m);
        return;
    }
    if (str_is(m.method, "session/prompt")) {
        pass_prompt(acp, &m);
        return;
    }
    if (str_is(m.method, "session/cancel"))
        (void)acp_take_back(acp, m.session, STR_NONE);
    (void)relay_pipe_put(&acp->child.in, line);
}

/* ---- from the agent ---- */

/* The mode in which it asks less, and which nobody has allowed; empty: it is in none. */
static struct str mode_unasked(struct acp *acp, const struct json *told, const struct acp_session *session)
{
    struct str mode = acp_mode_unsafe(acp->agent, told);
    LOCK_SCOPE(&acp->lock);
    bool allowed = session && str_eq(session->mode, mode);
    return allowed ? STR_NONE : mode;
}

void acp_end_agent(struct acp *acp)
{
    cli_note("nod acp: the agent is in a mode in which it asks less; it is ended");
    acp_kill_agent(acp); /* first: at the end of its input it could still do something, and nobody would be asked */
    relay_pipe_close(&acp->child.in);
}

/* Notes what the agent said and which tools it uses; a held call gets its result from the update that ends the
 * tool. */
static void take_update(struct acp *acp, const struct acp_message *m)
{
    const struct json *update = json_get(m->params, "update"), *id = json_get(update, "toolCallId");
    struct str what = json_text(update, "sessionUpdate"), status = json_text(update, "status");
    struct str call = STR_NONE;
    ARENA_SCOPE(arena);
    lock_take(&acp->lock);
    struct acp_session *session = acp_session(acp, m->session, STR_NONE);
    if (session && str_is(what, "agent_message_chunk") && !session->replays)
        buf_put(&session->said, json_text(json_get(update, "content"), "text"));
    if (session && str_starts(what, STR("tool_call")) && id && id->type == JSON_STRING && !session->replays) {
        struct acp_known *known = acp_known(session, id->text);
        acp_tool_learn(&known->arena, &known->tool, update);
        if (!str_empty(known->call) && (str_is(status, "completed") || str_is(status, "failed"))) {
            call = arena_str(&arena, known->call);
            known->call = STR_NONE;
        }
    }
    lock_drop(&acp->lock);
    const struct json *content = json_get(update, "content");
    if (!str_empty(call))
        relay_report(&session->gate, call, content ? content->raw : STR_NONE, str_is(status, "failed"));
    if (!str_empty(mode_unasked(acp, update, session)))
        acp_end_agent(acp);
    if (acp->headless)
        acp_show(acp, update);
}

/* Takes the agent's answer to a request of ours; false: it is held back, because the agent asks less than it should. */
static bool take_answer(struct acp *acp, const struct acp_message *m)
{
    ARENA_SCOPE(arena);
    const struct json *result = json_get(m->json, "result");
    struct acp_session *session = NULL;
    lock_take(&acp->lock);
    struct acp_open *open = expected(acp, m->id);
    int kind = open ? (int)open->kind : OPEN_NONE;
    if (kind == OPEN_SESSION && result) {
        struct str id = json_text(result, "sessionId");
        session = acp_session(acp, str_empty(id) ? open->session : id, open->cwd);
    } else if (kind != OPEN_NONE) {
        session = acp_session(acp, open->session, STR_NONE);
    }
    if (open)
        open->kind = OPEN_NONE;
    struct str said = session ? arena_str(&arena, buf_str(&session->said)) : STR_NONE;
    lock_drop(&acp->lock);
    struct str mode = mode_unasked(acp, result, session);
    if (!str_empty(mode) && kind == OPEN_SESSION && session) {
        acp_hold(acp, session, m, mode);
        return false;
    }
    if (!str_empty(mode))
        acp_end_agent(acp);
    if (kind != OPEN_PROMPT || !session)
        return true;
    relay_note(&session->gate, acp->name, "AGENT_MESSAGE", NULL, said);
    relay_note(&session->gate, acp->name, "RUN_STATUS", result ? "completed" : "failed",
               json_text(result, "stopReason"));
    return true;
}

/* On the thread that reads the agent. Without an editor (headless) only answers to our own requests are waited for.
 */
void acp_deliver(struct acp *acp, struct str id, struct str line)
{
    if (!acp->headless) {
        (void)relay_pipe_put(&acp->editor, line);
        return;
    }
    if (!str_starts(id, STR("\"nod:")))
        return;
    LOCK_SCOPE(&acp->lock);
    arena_done(&acp->reply_arena);
    acp->reply = arena_str(&acp->reply_arena, line);
    (void)pthread_cond_broadcast(&acp->moved);
}

/* A form of the agent that we show; one outside of any session is refused, as the agent was told nothing of such. */
static bool is_our_form(struct acp *acp, const struct acp_message *m)
{
    LOCK_SCOPE(&acp->lock);
    return acp->shows_forms && str_is(m->method, "elicitation/create") && !str_empty(m->session);
}

static void refuse_unknown(struct acp *acp, const struct acp_message *m)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    rpc_error(&line, m->id, RPC_NO_METHOD, STR("nobody is here to answer this"));
    (void)relay_pipe_send(&acp->child.in, &line);
}

/* The agent cancels a request that waits here: the editor has never heard of it. */
static bool is_taken_back(struct acp *acp, const struct acp_message *m)
{
    const struct json *id = str_is(m->method, "$/cancel_request") ? json_get(m->params, "requestId") : NULL;
    return id && acp_take_back(acp, STR_NONE, id->raw);
}

/* In the thread that reads the agent: each of its lines. */
void acp_from_agent(void *arg, struct str line)
{
    struct acp *acp = arg;
    ARENA_SCOPE(arena);
    struct acp_message m;
    if (!read_message(acp, &arena, line, true, &m))
        return;
    if (str_empty(m.method)) {
        if (take_answer(acp, &m))
            acp_deliver(acp, m.id, line);
        return;
    }
    if (str_is(m.method, "session/request_permission") || acp_acts(m.method) || is_our_form(acp, &m)) {
        hold(acp, &m, STR_NONE);
        return;
    }
    if (is_taken_back(acp, &m))
        return;
    if (str_is(m.method, "session/update"))
        take_update(acp, &m);
    if (acp->headless && acp_ask_terminal(acp, &m))
        return;
    if (!acp->headless && !(acp->shows_forms && str_is(m.method, "elicitation/create")))
        (void)relay_pipe_put(&acp->editor, line);
    else if (!str_empty(m.id))
        refuse_unknown(acp, &m);
}
