/* nod acp -p: the agent's terminals. A command that was allowed runs as the line that was shown, in a shell of its own
 * under a supervisor: all that it starts ends with it, with its release, and with this process.
 *
 * Each terminal has a thread that reads its output. The thread frees it, after it has ended and was released.
 */
#include "cli/relay/acp.h"

#include "agents/rpc.h"
#include "base/list.h"
#include "base/lock.h"
#include "box/supervisor.h"
#include "io/file.h"
#include "io/place.h"
#include "io/process.h"
#include "io/system.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TERMINALS_MAX = 16,
    WAITERS_MAX = 8,
    OUTPUT_BYTES_MAX = 1 << 20, /* the agent may want less */
    RPC_FAILED = -32000,
    CANNOT_START = 127,
};

/* A command that the agent has started; freed when it has ended and the agent has released it. */
struct acp_terminal {
    struct acp_terminal *next;
    struct arena arena;
    struct acp *acp;
    struct acp_session *session;
    struct str id, call;               /* call: the gate's id of the command */
    pid_t supervisor;
    int out, report;                   /* the thread's own */
    int life;                          /* closing it ends the command; -1: closed */
    struct buf output;
    size_t bytes_max;                  /* of output that are kept: the end */
    struct str waiters[WAITERS_MAX];   /* ids of requests that wait for the end */
    unsigned waiter_count;
    int status;                        /* of wait(2), when it has ended */
    bool truncated, ended, released;
    bool answered;                     /* nobody waits for the end any more */
};

/* ---- answers ---- */

static void put_status(struct json_out *out, int status)
{
    json_key(out, "exitCode");
    if (WIFEXITED(status))
        json_put_i64(out, WEXITSTATUS(status));
    else
        json_put_null(out);
    json_key(out, "signal");
    if (WIFSIGNALED(status))
        json_put_str(out, str_of(system_signal_name(WTERMSIG(status))));
    else
        json_put_null(out);
}

static void answer_end(struct acp *acp, struct str id, int status)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    struct json_out out = rpc_open_result(&line, id);
    put_status(&out, status);
    rpc_close(&out);
    (void)relay_pipe_send(&acp->child.in, &line);
}

/* With the lock held. The text does not begin within a character. */
static struct str kept_output(struct acp_terminal *terminal)
{
    struct buf *output = &terminal->output;
    if (output->n > terminal->bytes_max) {
        buf_drop(output, output->n - terminal->bytes_max);
        terminal->truncated = true;
    }
    struct str text = buf_str(output);
    while (terminal->truncated && text.n && ((unsigned char)text.p[0] & 0xC0) == 0x80)
        text = str_sub(text, 1, text.n);
    return text;
}

/* ---- the thread ---- */

/* Reads until the command and all it started have closed the pipe; of long output the newest part is kept. */
static void take_output(struct acp_terminal *terminal)
{
    char piece[16 << 10];
    ssize_t n;
    while ((n = read(terminal->out, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        lock_take(&terminal->acp->lock);
        if (terminal->output.n + (size_t)n > terminal->output.max)
            (void)kept_output(terminal);
        buf_put(&terminal->output, (struct str){piece, (size_t)n});
        lock_drop(&terminal->acp->lock);
    }
}

/* The supervisor reports the end of the command. Without a report it was killed, and so was the command. */
static int wait_for_end(struct acp_terminal *terminal)
{
    struct supervisor_report report = {0};
    ssize_t got = file_get(terminal->report, &report, sizeof report);
    (void)process_wait(terminal->supervisor);
    if (got != sizeof report)
        return SIGKILL; /* in the form of a status of wait(2) */
    if (report.word == SUPERVISOR_ENDED)
        return report.value;
    lock_take(&terminal->acp->lock);
    buf_printf(&terminal->output, "it cannot be started: %s\n", strerror(report.value));
    lock_drop(&terminal->acp->lock);
    return CANNOT_START << 8;
}

/* With the lock held. */
static void free_terminal(struct acp_terminal *terminal)
{
    terminal->acp->terminal_count--;
    buf_done(&terminal->output);
    arena_free(terminal);
}

/* With the lock held. */
static void forget(struct acp_terminal *terminal)
{
    LIST_REMOVE(terminal->acp->terminals, terminal);
    free_terminal(terminal);
}

/* The output becomes the result of the call that the command was allowed by. */
static void report_end(struct acp_terminal *terminal)
{
    JSON_SCOPE(content, out, OUTPUT_BYTES_MAX * 8);
    lock_take(&terminal->acp->lock);
    json_put_str(&out, kept_output(terminal));
    lock_drop(&terminal->acp->lock);
    bool failed = !WIFEXITED(terminal->status) || WEXITSTATUS(terminal->status) != 0;
    if (!str_empty(terminal->call))
        relay_report(&terminal->session->gate, terminal->call, buf_str(&content), failed);
}

/* One thread per terminal: output, the end, then those who wait for the end. */
static void *watch(void *arg)
{
    struct acp_terminal *terminal = arg;
    struct acp *acp = terminal->acp;
    take_output(terminal);
    terminal->status = wait_for_end(terminal);
    close_descriptor(&terminal->out);
    close_descriptor(&terminal->report);
    report_end(terminal);
    lock_take(&acp->lock);
    terminal->ended = true;
    close_descriptor(&terminal->life);
    terminal->life = -1;
    lock_drop(&acp->lock);
    for (unsigned i = 0; i < terminal->waiter_count; i++) /* none is added once it has ended */
        answer_end(acp, terminal->waiters[i], terminal->status);
    lock_take(&acp->lock);
    terminal->answered = true;
    if (terminal->released)
        forget(terminal);
    lock_drop(&acp->lock);
    return NULL;
}

/* ---- starting ---- */

enum { OUT, REPORT, LIFE, PIPES };

/* With the environment of `nod acp`, which is the person's: in headless use this stands for the editor's terminal. */
static struct rc start(struct acp_terminal *terminal, const struct acp_ask *ask, struct err *err)
{
    extern char **environ;
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, failed = 0;
    struct arena *arena = &terminal->arena;
    char *args[] = {"/bin/bash", "-c", (char *)arena_c(arena, ask->command), NULL};
    for (int i = 0; i < PIPES && !failed; i++)
        failed = supervisor_pair(pipes[i], false);
    struct supervisor_start begin = {
        .path = args[0], .args = args, .environment = environ,
        .folder = arena_c(arena, str_empty(ask->cwd) ? terminal->session->gate.cwd : ask->cwd),
        .out = pipes[OUT][1], .report = pipes[REPORT][1], .life = pipes[LIFE][0]};
    failed = failed ? failed : supervisor_spawn(&begin, &terminal->supervisor);
    close_descriptor(&pipes[OUT][1]);
    close_descriptor(&pipes[REPORT][1]);
    close_descriptor(&pipes[LIFE][0]);
    terminal->out = pipes[OUT][0];
    terminal->report = pipes[REPORT][0];
    terminal->life = pipes[LIFE][1];
    if (!failed)
        return RC_OK;
    close_descriptor(&terminal->out);
    close_descriptor(&terminal->report);
    close_descriptor(&terminal->life);
    return err_set(err, ERR_IO, "it cannot be started: %s", strerror(failed));
}

/* The new terminal counts against the limit from here on, while it is starting; it is listed once it runs. */
static struct acp_terminal *new_terminal(struct acp *acp, struct acp_session *session, const struct json *params,
                                         struct str call)
{
    struct acp_terminal *terminal = heap_new(sizeof *terminal);
    int64_t wanted = OUTPUT_BYTES_MAX;
    (void)json_want_i64(params, "outputByteLimit", 0, INT64_MAX, &wanted, NULL);
    terminal->acp = acp;
    terminal->session = session;
    terminal->bytes_max = wanted < OUTPUT_BYTES_MAX ? (size_t)wanted : OUTPUT_BYTES_MAX;
    terminal->output = buf_init((size_t)OUTPUT_BYTES_MAX * 2);
    terminal->call = arena_str(&terminal->arena, call);
    LOCK_SCOPE(&acp->lock);
    bool room = acp->terminal_count++ < TERMINALS_MAX;
    if (room)
        terminal->id = arena_printf(&terminal->arena, "terminal-%u", ++acp->terminal_number);
    else
        free_terminal(terminal);
    return room ? terminal : NULL;
}

static void list_terminal(struct acp *acp, struct acp_terminal *terminal)
{
    LOCK_SCOPE(&acp->lock);
    terminal->next = acp->terminals;
    acp->terminals = terminal;
}

/* The thread that watches it is detached. The terminal is freed when it has ended, its waiters are answered and the
 * agent has released it. */
struct rc acp_serve_terminal(struct acp *acp, struct acp_session *session, const struct acp_message *message,
                             const struct acp_ask *ask, struct str call, struct buf *out, struct err *err)
{
    ARENA_SCOPE(arena);
    pthread_t thread;
    struct rc rc = RC_OK;
    struct acp_terminal *terminal = new_terminal(acp, session, message->params, call);
    if (!terminal)
        rc = err_set(err, ERR_UNAVAILABLE, "too many terminals are open already; release some");
    struct str id = terminal ? arena_str(&arena, terminal->id) : STR_NONE;
    if (rc_ok(rc))
        rc = start(terminal, ask, err);
    if (rc_ok(rc)) {
        list_terminal(acp, terminal);
        CHECK(pthread_create(&thread, NULL, watch, terminal) == 0);
        struct json_out answer = rpc_open_result(out, message->id);
        json_member(&answer, "terminalId", id);
        rpc_close(&answer);
        (void)pthread_detach(thread);
        return RC_OK;
    }
    rpc_error(out, message->id, RPC_FAILED, str_of(err->text));
    if (!terminal)
        return rc;
    LOCK_SCOPE(&acp->lock);
    free_terminal(terminal);
    return rc;
}

/* ---- requests about a terminal ---- */

/* With the lock held. */
static struct acp_terminal *find(struct acp *acp, const struct acp_message *m)
{
    struct str id = json_text(m->params, "terminalId");
    struct acp_terminal *terminal = acp->terminals;
    while (terminal && !(str_eq(terminal->id, id) && str_eq(terminal->session->id, m->session) && !terminal->released))
        terminal = terminal->next;
    return terminal;
}

static void put_output(struct json_out *out, struct acp_terminal *terminal)
{
    json_members(out, J_ALWAYS("output", kept_output(terminal)), J_BOOL("truncated", terminal->truncated));
    if (!terminal->ended)
        return;
    json_open_member(out, "exitStatus", '{');
    put_status(out, terminal->status);
    json_close(out, '}');
}

/* With the lock held: fills the answer in; false: the terminal's thread answers at its end. */
static bool answer(struct acp_terminal *terminal, const struct acp_message *m, struct buf *line)
{
    bool waits = str_is(m->method, "terminal/wait_for_exit"), shows = str_is(m->method, "terminal/output");
    if (waits && !terminal->ended) {
        if (terminal->waiter_count == WAITERS_MAX)
            rpc_error(line, m->id, RPC_FAILED, STR("too many requests wait for this terminal already"));
        else
            terminal->waiters[terminal->waiter_count++] = arena_str(&terminal->arena, m->id);
        return line->n > 0;
    }
    struct json_out out = rpc_open_result(line, m->id);
    if (waits)
        put_status(&out, terminal->status);
    if (shows)
        put_output(&out, terminal);
    rpc_close(&out);
    if (waits || shows)
        return true;
    close_descriptor(&terminal->life); /* terminal/kill, terminal/release */
    terminal->life = -1;
    terminal->released = str_is(m->method, "terminal/release");
    if (terminal->released && terminal->answered)
        forget(terminal);
    return true;
}

/* False: the message is not about a terminal of ours. A wait for the end is answered later, by the watching thread.
 */
bool acp_ask_terminal(struct acp *acp, const struct acp_message *m)
{
    BUF_SCOPE(line, ACP_LINE_BYTES);
    if (!str_starts(m->method, STR("terminal/")) || acp_acts(m->method) || str_empty(m->id))
        return false;
    lock_take(&acp->lock);
    struct acp_terminal *terminal = find(acp, m);
    bool now = !terminal || answer(terminal, m, &line);
    lock_drop(&acp->lock);
    if (!terminal)
        rpc_error(&line, m->id, RPC_FAILED, STR("there is no such terminal"));
    if (now)
        (void)relay_pipe_send(&acp->child.in, &line);
    return true;
}
