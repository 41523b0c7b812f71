/* nod mcp: an MCP server on standard input and output, for --permission-prompt-tool and for agents that want
 * to ask a person.
 *
 * One thread reads; each call of a tool has a thread of its own, so that none waits behind another. While a
 * person thinks, progress keeps the client patient. A server that is not there when a call comes is a refusal
 * that says what to do; one that goes away while a person thinks is waited for. When the client closes our
 * standard input or dies, the questions go with us.
 */
#include "agents/lines.h"
#include "agents/mcp.h"
#include "agents/rpc.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/mcp_install.h"
#include "cli/relay/relay.h"
#include "cli/remote.h"

#include <stdlib.h>
#include <unistd.h>

enum { RPC_UNREADABLE = -32700 };

struct mcp {
    struct cli *cli;
    struct relay_gate gate;
    struct relay_record record;
    struct relay_pipe client;  /* our standard output */
    bool ready;                /* the record is started: from the first call on */
    pthread_mutex_t lock;      /* for the list */
    struct mcp_asking *first;
};

/* One call of a tool, in its own thread. */
struct mcp_asking {
    struct mcp *mcp;
    struct mcp_asking *next;
    struct arena arena;
    struct mcp_message message;
    struct mcp_ask ask;
    struct str id;
    unsigned times;
    atomic_bool cancelled;
};

static void put_line(struct mcp *mcp, const struct buf *line)
{
    if (line->n && !line->over)
        (void)relay_pipe_send(&mcp->client, line);
}

/* ---- one call ---- */

static void refuse(struct mcp_asking *asking, const struct err *why)
{
    BUF_SCOPE(line, LINE_BYTES_MAX);
    mcp_refuse(&line, &asking->message, arena_printf(&asking->arena, "Nod did not allow this: %s", why->text));
    put_line(asking->mcp, &line);
}

static void progress(void *arg)
{
    struct mcp_asking *asking = arg;
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (str_empty(asking->message.progress))
        return;
    mcp_progress(&line, &asking->message, ++asking->times);
    put_line(asking->mcp, &line);
}

/* The asking thread's last act. Until then the reader finds the call in the list and may cancel it. */
static void leave(struct mcp_asking *asking)
{
    struct mcp *mcp = asking->mcp;
    (void)pthread_mutex_lock(&mcp->lock);
    LIST_REMOVE(mcp->first, asking);
    (void)pthread_mutex_unlock(&mcp->lock);
    arena_free(asking);
}

/* A thread per call: clients send several before the first is answered. A call that was cancelled gets no answer, as
 * the protocol wants it. */
static void *ask(void *arg)
{
    struct mcp_asking *asking = arg;
    struct mcp *mcp = asking->mcp;
    struct err err = {.code = ERR_OK};
    BUF_SCOPE(line, LINE_BYTES_MAX);
    struct relay_ask asked = {.gate = &mcp->gate, .arena = &asking->arena, .cancelled = &asking->cancelled,
                              .waits = progress, .arg = asking};
    struct relay_question question = {
        .id = asking->id, .name = asking->ask.name, .input = asking->ask.input->raw, .cwd = mcp->gate.cwd,
        .by_default = STR("ask")}; /* the client asks because its own rules do not allow it */
    struct rc rc = relay_ask_about(&asked, &question, &err);
    if (rc_ok(rc))
        mcp_answer_call(&line, &asking->message, &asked.call);
    bool taken_back = atomic_load(&asking->cancelled);
    if (rc_ok(rc) && !taken_back)
        put_line(mcp, &line);
    else if (!taken_back)
        refuse(asking, &err);
    leave(asking);
    return NULL;
}

/* ---- messages ---- */

/* At the first call: NOD_SESSION, the session a token is bound to, Claude Code's own, a new one. */
static struct rc find_session(struct mcp *mcp, struct err *err)
{
    struct cli *cli = mcp->cli;
    if (!cli->identity)
        TRY(identity_load(cli, err));
    if (!mcp->ready)
        TRY(relay_record_start(&mcp->record, cli, err));
    mcp->ready = true;
    return relay_gate_session(&mcp->gate, err);
}

static struct rc start(struct mcp_asking *asking, struct str line, struct err *err)
{
    TRY(mcp_read(&asking->arena, line, &asking->message, err));
    TRY(find_session(asking->mcp, err));
    TRY(mcp_ask_read(&asking->arena, &asking->message, &asking->ask, err));
    asking->id = asking->ask.id;
    if (str_empty(asking->id))
        asking->id = arena_str(&asking->arena, str_of(id_new("call").text));
    return cli_start_thread(ask, asking, err);
}

/* On the reading thread. In the list before its thread runs, so that a cancellation that follows at once finds it. */
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
    refuse(asking, &err);
    leave(asking);
}

static void show_pending(struct mcp *mcp, struct buf *line, const struct mcp_message *message)
{
    struct cli *cli = mcp->cli;
    struct reply reply;
    struct err err = {.code = ERR_OK};
    struct rc rc = find_session(mcp, &err);
    if (rc_ok(rc))
        rc = remote_get(cli, arena_printf(&cli->arena, "/api/sessions/%.*s/approvals/pending",
                                          STR_ARG(mcp->gate.session)), &reply, &err);
    if (rc_ok(rc))
        mcp_answer_text(line, message, reply.body);
    else
        mcp_refuse(line, message, str_of(err.text));
}

/* The call's thread is woken by the server's answer, or ends with its current wait. */
static void cancel(struct mcp *mcp, struct str id)
{
    LOCK_SCOPE(&mcp->lock);
    for (struct mcp_asking *asking = mcp->first; asking; asking = asking->next) {
        if (!str_eq(asking->message.id, id))
            continue;
        atomic_store(&asking->cancelled, true);
        relay_ask_cancel(&mcp->gate, asking->id);
    }
}

/* Calls that need the gate get a thread; everything else is answered here. */
static void take_line(void *arg, struct str text)
{
    struct mcp *mcp = arg;
    ARENA_SCOPE(arena);
    BUF_SCOPE(line, LINE_BYTES_MAX);
    struct mcp_message message;
    struct err err = {.code = ERR_OK};
    if (str_empty(str_trim(text)))
        return;
    if (rc_bad(mcp_read(&arena, text, &message, &err)))
        rpc_error(&line, STR_NONE, RPC_UNREADABLE, str_of(err.text));
    else if (message.tool == MCP_PENDING_CALLS && mcp_needs_gate(&message))
        show_pending(mcp, &line, &message);
    else if (mcp_needs_gate(&message))
        take_call(mcp, text);
    else if (!str_empty(message.cancels))
        cancel(mcp, message.cancels);
    else
        mcp_answer(&line, &message);
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
    json_object(&out, J("command", self),
                J_LIST("args", J_ALWAYS(NULL, STR("mcp")), J_ALWAYS(NULL, STR("--identity")),
                       J_ALWAYS(NULL, str_of(path))));
    buf_putc(&buf, '\n');
    cli_note("the entry for an MCP client, such as \"mcpServers\":{\"nod\":…} in .mcp.json:");
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* Ends with its input, by _exit: threads that wait for people are not waited for. */
struct rc mcp_command(struct cli *cli, struct err *err)
{
    static struct mcp mcp = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* threads look at it until the process ends */
    const char *cwd, *claude = getenv("CLAUDE_CODE_SESSION_ID");
    TRY(local_folder(cli, ".", &cwd, err));
    bool installs = cli->argc > 0 && strcmp(cli->argv[0], "install") == 0;
    if (installs && cli->argc == 2)
        return mcp_install_client(cli, cli->argv[1], err);
    if (installs)
        return install(cli, cwd, err);
    if (cli->argc > 0)
        return err_set(err, ERR_INVALID, "nod mcp takes nothing or install; see nod mcp --help");
    mcp.cli = cli;
    relay_gate_init(&mcp.gate, cli, &mcp.record);
    relay_pipe_init(&mcp.client, STDOUT_FILENO);
    mcp.gate.cwd = str_of(cwd);
    mcp.gate.title = arena_printf(&cli->arena, "mcp in %.*s", STR_ARG(local_title(mcp.gate.cwd)));
    if (claude && claude[0]) {
        mcp.gate.agent = STR("claude");
        mcp.gate.agent_session = str_of(claude);
    }
    bool whole = relay_read_lines(STDIN_FILENO, LINE_BYTES_MAX, take_line, &mcp);
    _exit(whole ? 0 : 1); /* the server withdraws the calls that still wait */
}
