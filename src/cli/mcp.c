/* nod mcp: an MCP server on standard input and output, for --permission-prompt-tool and for agents that want
 * to ask a person.
 *
 * One thread reads; each call of a tool has a thread of its own, so that none waits behind another. While a
 * person thinks, progress keeps the client patient. A server that is not there when a call comes is a refusal
 * that says what to do; one that goes away while a person thinks is waited for. When the client closes our
 * standard input or dies, the questions go with us.
 */
#include "agents/agents.h"
#include "agents/lines.h"
#include "agents/mcp.h"
#include "agents/rpc.h"
#include "base/id.h"
#include "base/limits.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/mcp_install.h"
#include "cli/remote.h"
#include "http/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE_S = 10, ANSWER_MS_MORE = 30000, AWAY_US = 500000, LINE_BYTES = 64 << 20 };

struct mcp {
    struct cli *cli;
    pthread_mutex_t lock; /* standard output, and the list */
    struct mcp_asking *first;
    struct str session, thread, cwd;
    struct lines lines;
};

struct mcp_asking {
    struct mcp *mcp;
    struct mcp_asking *next;
    struct arena arena;
    struct mcp_message message;
    struct mcp_ask ask;
    struct str id, body;
    struct http_client *client;
    unsigned times;
    bool cancelled, heard;
};

static void put_line(struct mcp *mcp, const struct buf *line)
{
    struct str rest = buf_str(line);
    (void)pthread_mutex_lock(&mcp->lock);
    while (rest.n) {
        ssize_t n = write(STDOUT_FILENO, rest.p, rest.n);
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            rest = str_sub(rest, (size_t)n, rest.n);
    }
    (void)pthread_mutex_unlock(&mcp->lock);
}

/* ---- one call ---- */

static bool is_cancelled(struct mcp_asking *asking)
{
    (void)pthread_mutex_lock(&asking->mcp->lock);
    bool cancelled = asking->cancelled;
    (void)pthread_mutex_unlock(&asking->mcp->lock);
    return cancelled;
}

static void refuse(struct mcp_asking *asking, const char *words)
{
    BUF_SCOPE(line, LINE_BYTES);
    mcp_refuse(&line, &asking->message, str_of(words));
    put_line(asking->mcp, &line);
}

static void progress(struct mcp_asking *asking)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(asking->message.progress))
        return;
    mcp_progress(&line, &asking->message, ++asking->times);
    put_line(asking->mcp, &line);
}

static void answer(struct mcp_asking *asking, const struct call *call)
{
    BUF_SCOPE(line, LINE_BYTES);
    mcp_answer_call(&line, &asking->message, call);
    put_line(asking->mcp, &line);
}

/* Sends the call and waits PIECE_S for a decision. True when the client has got its answer; else it is called again. */
static bool attempt(struct mcp_asking *asking)
{
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    struct err err = {.code = ERR_OK};
    const struct json *json = NULL;
    struct call call;
    struct str target = arena_printf(&arena, "/api/threads/%.*s/tool-calls?withdraw=1&large=1&wait=%d",
                                     STR_ARG(asking->mcp->thread), PIECE_S);
    struct rc rc = http_client_call(asking->client, &arena, "POST", target, asking->body,
                                    PIECE_S * 1000 + ANSWER_MS_MORE, &response, &err);
    bool away = rc.code == ERR_UNAVAILABLE || rc.code == ERR_TIMEOUT || response.status == 503;
    asking->heard = asking->heard || http_client_cut(asking->client);
    if (away && asking->heard) {
        (void)usleep(AWAY_US);
        return false;
    }
    if (away) {
        refuse(asking, "Nod did not allow this: there is no nod server; start it with `nod serve`.");
        return true;
    }
    if (rc_ok(rc))
        rc = json_parse(&arena, response.body, &json, &err);
    if (rc_ok(rc) && response.status != 200)
        rc = err_set(&err, ERR_INVALID, "status %d: %.*s", response.status,
                     STR_ARG(json_text(json_get(json, "error"), "message")));
    if (rc_ok(rc))
        rc = agent_call_read(&arena, json, &call, &err);
    if (rc_bad(rc)) {
        refuse(asking, arena_printf(&arena, "Nod did not allow this: %s", err.text).p);
        return true;
    }
    asking->heard = true;
    if (call.status == CALL_AWAITING || is_cancelled(asking))
        return false;
    answer(asking, &call);
    return true;
}

static void leave(struct mcp_asking *asking)
{
    struct mcp *mcp = asking->mcp;
    (void)pthread_mutex_lock(&mcp->lock);
    struct mcp_asking **link = &mcp->first;
    while (*link != asking)
        link = &(*link)->next;
    *link = asking->next;
    (void)pthread_mutex_unlock(&mcp->lock);
    if (asking->client)
        http_client_free(asking->client);
    arena_done(&asking->arena);
    free(asking);
}

static void *ask(void *arg)
{
    struct mcp_asking *asking = arg;
    bool over = false;
    while (!over && !is_cancelled(asking)) {
        over = attempt(asking);
        if (!over && !is_cancelled(asking))
            progress(asking);
    }
    leave(asking);
    return NULL;
}

/* ---- the session ---- */

static struct str session_body(struct mcp *mcp)
{
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    struct arena *arena = &mcp->cli->arena;
    struct json_out out = json_out(&buf);
    const char *claude = getenv("CLAUDE_CODE_SESSION_ID");
    json_open(&out, '{');
    json_member(&out, "title", arena_printf(arena, "mcp in %.*s", STR_ARG(local_title(mcp->cwd))));
    json_member(&out, "cwd", mcp->cwd);
    if (claude && claude[0]) {
        json_member(&out, "agent", STR("claude"));
        json_member(&out, "agentSession", str_of(claude));
    }
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

/* At the first call: NOD_SESSION, the session a token is bound to, Claude Code's own, a new one. */
static struct rc find_session(struct mcp *mcp, struct err *err)
{
    struct cli *cli = mcp->cli;
    struct reply reply;
    if (!str_empty(mcp->thread))
        return RC_OK;
    if (!cli->identity)
        TRY(identity_load(cli, err));
    TRY(remote_get(cli, STR("/api/me"), &reply, err));
    struct str named = json_text(reply.json, "sessionId");
    if (cli->settings.session[0])
        named = str_of(cli->settings.session);
    if (str_empty(named))
        TRY(remote_post(cli, STR("/api/sessions"), session_body(mcp), &reply, err));
    else
        TRY(remote_get(cli, arena_printf(&cli->arena, "/api/sessions/%s", remote_escape(&cli->arena, named).p),
                       &reply, err));
    mcp->session = json_text(reply.json, "id");
    mcp->thread = json_text(reply.json, "threadId");
    return str_empty(mcp->thread) ? err_set(err, ERR_INTERNAL, "this is no nod server") : RC_OK;
}

/* ---- messages ---- */

static struct str call_body(struct mcp_asking *asking)
{
    JSON_SCOPE(buf, out, LINE_BYTES);
    json_open(&out, '{');
    json_member(&out, "id", asking->id);
    json_member(&out, "name", asking->ask.name);
    json_member_raw(&out, "input", asking->ask.input->raw);
    json_member(&out, "cwd", asking->mcp->cwd);
    json_member(&out, "byDefault", STR("ask")); /* the client asks because its own rules do not allow it */
    json_close(&out, '}');
    return arena_str(&asking->arena, buf_str(&buf));
}

static struct rc start(struct mcp_asking *asking, struct str line, struct err *err)
{
    pthread_t thread;
    TRY(mcp_read(&asking->arena, line, &asking->message, err));
    TRY(find_session(asking->mcp, err));
    TRY(mcp_ask_read(&asking->arena, &asking->message, &asking->ask, err));
    asking->id = asking->ask.id;
    if (str_empty(asking->id))
        asking->id = arena_str(&asking->arena, str_of(id_new("call").text));
    asking->body = call_body(asking);
    TRY(remote_client(asking->mcp->cli, &asking->client, err));
    if (pthread_create(&thread, NULL, ask, asking) != 0)
        return err_set(err, ERR_INTERNAL, "no thread could be started");
    (void)pthread_detach(thread);
    return RC_OK;
}

static void take_call(struct mcp *mcp, struct str line)
{
    struct mcp_asking *asking = heap_new(sizeof *asking);
    struct err err = {.code = ERR_OK};
    asking->mcp = mcp;
    (void)pthread_mutex_lock(&mcp->lock);
    asking->next = mcp->first;
    mcp->first = asking;
    (void)pthread_mutex_unlock(&mcp->lock);
    if (rc_ok(start(asking, arena_str(&asking->arena, line), &err)))
        return;
    refuse(asking, arena_printf(&asking->arena, "Nod did not allow this: %s", err.text).p);
    leave(asking);
}

static void show_pending(struct mcp *mcp, const struct mcp_message *message)
{
    BUF_SCOPE(line, LINE_BYTES);
    struct cli *cli = mcp->cli;
    struct reply reply;
    struct err err = {.code = ERR_OK};
    struct rc rc = find_session(mcp, &err);
    if (rc_ok(rc))
        rc = remote_get(cli, arena_printf(&cli->arena, "/api/sessions/%.*s/approvals/pending", STR_ARG(mcp->session)),
                        &reply, &err);
    if (rc_ok(rc))
        mcp_answer_text(&line, message, reply.body);
    else
        mcp_refuse(&line, message, str_of(err.text));
    put_line(mcp, &line);
}

/* The call's thread is woken by the server's answer, or ends with its current wait. */
static void cancel(struct mcp *mcp, struct str id)
{
    ARENA_SCOPE(arena);
    struct str call = STR_NONE;
    struct reply reply;
    (void)pthread_mutex_lock(&mcp->lock);
    for (struct mcp_asking *asking = mcp->first; asking; asking = asking->next) {
        if (!str_eq(asking->message.id, id))
            continue;
        asking->cancelled = true;
        call = arena_str(&arena, remote_escape(&arena, asking->id));
    }
    (void)pthread_mutex_unlock(&mcp->lock);
    if (!str_empty(call))
        (void)!remote_post(mcp->cli, arena_printf(&arena, "/api/tool-calls/%.*s/cancel?session=%.*s", STR_ARG(call),
                                                  STR_ARG(mcp->session)), STR("{}"), &reply, NULL).code;
}

/* Calls that need the gate get a thread; everything else is answered here. */
static void take_line(struct mcp *mcp, struct str text)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(line, LINE_BYTES);
    struct mcp_message message;
    struct err err = {.code = ERR_OK};
    if (str_empty(str_trim(text)))
        return;
    if (rc_bad(mcp_read(&arena, text, &message, &err)))
        rpc_error(&line, STR_NONE, -32700, str_of(err.text));
    else if (message.tool == MCP_PENDING_CALLS && mcp_needs_gate(&message))
        show_pending(mcp, &message);
    else if (mcp_needs_gate(&message))
        take_call(mcp, text);
    else if (!str_empty(message.cancels))
        cancel(mcp, message.cancels);
    else
        mcp_answer(&line, &message);
    if (line.n)
        put_line(mcp, &line);
}

/* Makes an identity for the agents of this folder, and prints the entry for an MCP client's settings. */
static struct rc install(struct cli *cli, const char *cwd, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    struct identity_want want = {.kind = STR("mcp"), .about = str_of(cwd), .folder = str_of(cwd),
                                 .path = option_text(cli, "identity")};
    const char *path, *self;
    want.name = arena_printf(&cli->arena, "mcp in %.*s", STR_ARG(local_title(str_of(cwd))));
    TRY(local_self(cli, &self, err));
    TRY(identity_have(cli, &want, &path, err));
    json_open(&out, '{');
    json_member(&out, "command", str_of(self));
    json_open_member(&out, "args", '[');
    json_put_str(&out, STR("mcp"));
    json_put_str(&out, STR("--identity"));
    json_put_str(&out, str_of(path));
    json_close(&out, ']');
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    cli_note("the entry for an MCP client, such as \"mcpServers\":{\"nod\":…} in .mcp.json:");
    cli_out(buf_str(&buf));
    return RC_OK;
}

struct rc mcp_command(struct cli *cli, struct err *err)
{
    static struct mcp mcp = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* threads look at it until the process ends */
    const char *cwd;
    mcp.cli = cli;
    mcp.lines = lines_init(LINE_BYTES_MAX);
    TRY(local_folder(cli, ".", &cwd, err));
    bool installs = cli->argc > 0 && strcmp(cli->argv[0], "install") == 0;
    if (installs && cli->argc == 2)
        return mcp_install_client(cli, cli->argv[1], err);
    if (installs)
        return install(cli, cwd, err);
    if (cli->argc > 0)
        return err_set(err, ERR_INVALID, "nod mcp takes nothing or install; see nod mcp --help");
    mcp.cwd = str_of(cwd);
    for (bool more = true; more;) {
        size_t room;
        struct str line;
        char *to = lines_room(&mcp.lines, &room);
        ssize_t n = to ? read(STDIN_FILENO, to, room) : -1;
        if (to && n < 0 && errno == EINTR)
            continue;
        more = n > 0;
        lines_add(&mcp.lines, more ? (size_t)n : 0);
        while (lines_next(&mcp.lines, &line))
            take_line(&mcp, line);
    }
    _exit(mcp.lines.over ? 1 : 0); /* the server withdraws the calls that still wait */
}
