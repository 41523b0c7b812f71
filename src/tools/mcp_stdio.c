/* A server that is a program: messages are lines on its standard input and output.
 *
 * It runs in a process group of its own with a small, clean environment and what the file gives it, in a box where
 * commands run in one (mcp_box.c). One thread per
 * program reads what it writes, hands each answer to whoever waits for it, and keeps the end of what it says on
 * standard error for the words of an error. Each caller writes its question itself. When the program ends, everyone
 * who waits is told at once.
 */
#include "tools/mcp.h"

#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "box/supervisor.h"
#include "egress/egress.h"
#include "io/clock.h"
#include "io/process.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WRITE_MS = 5000,        /* a program that does not read for so long is given up */
    REPLY_MS = 1000,
    END_MS = 1000,          /* to end by itself when its input is closed */
    LAST_WORDS_BYTES = 1000,
    READER_STACK_BYTES = 512 << 10,
};

/* Someone who waits for an answer. */
struct waiting {
    uint64_t id;
    char *line;             /* the answer; belongs to whoever waits */
    size_t line_n;
    struct waiting *next;
};

struct stdio_link {
    struct server *server;
    pid_t pid;
    int in, out, err;       /* pipes of the program */
    int pidfd;
    int report, life;       /* pipes of its box's supervisor; -1: it runs without a box */
    struct egress *egress;
    pthread_t reader;
    pthread_mutex_t writing;
    pthread_mutex_t lock;   /* guards everything below */
    pthread_cond_t came;
    struct waiting *waiting;
    bool ended;
    char last_words[LAST_WORDS_BYTES];
    size_t last_n;
};

/* ---- writing ---- */

/* Writes the whole line. On failure the program must be restarted: half a message cannot be taken back. */
static bool write_line(struct stdio_link *link, struct str line, int64_t within_ms)
{
    int64_t until_us = clock_steady_us() + within_ms * 1000;
    lock_take(&link->writing);
    while (line.n) {
        ssize_t done = write(link->in, line.p, line.n);
        if (done > 0) {
            line = str_sub(line, (size_t)done, line.n);
            continue;
        }
        struct pollfd room = {.fd = link->in, .events = POLLOUT};
        if ((done < 0 && errno != EAGAIN && errno != EINTR) || clock_steady_us() > until_us)
            break;
        (void)poll(&room, 1, MCP_LOOK_MS);
    }
    lock_drop(&link->writing);
    if (line.n)
        (void)kill(-link->pid, SIGKILL);
    return line.n == 0;
}

/* ---- reading ---- */

/* On the reading thread. The waiting thread owns the copy of the line; an answer that nobody waits for is dropped. */
static void hand_over(struct stdio_link *link, uint64_t id, struct str line)
{
    LOCK_SCOPE(&link->lock);
    for (struct waiting *w = link->waiting; w; w = w->next) {
        if (w->id != id || w->line)
            continue;
        w->line = heap_new(line.n + 1);
        memcpy(w->line, line.p, line.n);
        w->line_n = line.n;
        CHECK(pthread_cond_broadcast(&link->came) == 0);
    }
}

/* In the reader's thread: answers go to their waiters, requests of the server are refused or answered, the rest
 * is dropped. */
static void take_line(struct stdio_link *link, struct str line)
{
    ARENA_SCOPE(arena);
    struct mcp_reply message;
    line = str_trim(line);
    if (line.n == 0 || rc_bad(mcp_message_read(&arena, line, &message, NULL)))
        return; /* some print a greeting */
    if (message.asks.n) {
        BUF_SCOPE(reply, MCP_MESSAGE_BYTES_MAX);
        mcp_put_reply(&reply, message.asks, message.method);
        (void)write_line(link, buf_str(&reply), REPLY_MS);
    } else if (str_is(message.method, "notifications/tools/list_changed")) {
        atomic_store(&link->server->stale, true);
    } else if (message.id) {
        hand_over(link, message.id, line);
    }
}

/* The end of its standard error, for the message that says why the program ended. */
static void keep_last_words(struct stdio_link *link, struct str text)
{
    LOCK_SCOPE(&link->lock);
    if (text.n > LAST_WORDS_BYTES)
        text = str_sub(text, text.n - LAST_WORDS_BYTES, text.n);
    size_t over = link->last_n + text.n > LAST_WORDS_BYTES ? link->last_n + text.n - LAST_WORDS_BYTES : 0;
    memmove(link->last_words, link->last_words + over, link->last_n - over);
    link->last_n -= over;
    memcpy(link->last_words + link->last_n, text.p, text.n);
    link->last_n += text.n;
}

/* Only the new bytes are looked at for line ends; an unfinished line stays in `lines`, up to the limit of a message.
 */
static void take_lines(struct stdio_link *link, struct buf *lines, struct str text)
{
    size_t seen = lines->n, from = 0;
    buf_put(lines, text);
    for (size_t i = seen; i < lines->n; i++) {
        if (lines->p[i] != '\n')
            continue;
        take_line(link, str_sub(buf_str(lines), from, i));
        from = i + 1;
    }
    buf_drop(lines, from);
}

/* Reads all bytes that have come; false at the end of the program's output. */
static bool drain(struct stdio_link *link, int fd, struct buf *lines)
{
    char bytes[16 << 10];
    while (!lines->over) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got > 0 && fd == link->err)
            keep_last_words(link, (struct str){bytes, (size_t)got});
        else if (got > 0)
            take_lines(link, lines, (struct str){bytes, (size_t)got});
        else if (got == 0 || errno != EINTR)
            return got < 0 && errno == EAGAIN;
    }
    return false;
}

/* Keeps the supervisor's report, why the box could not be made, as the program's last words. */
static void keep_report(struct stdio_link *link)
{
    ARENA_SCOPE(arena);
    struct supervisor_report report;
    if (link->report >= 0 && read(link->report, &report, sizeof report) == sizeof report &&
        report.word == SUPERVISOR_FAILED)
        keep_last_words(link, arena_printf(&arena, "its box: %.*s: %s", (int)strnlen(report.step, sizeof report.step),
                                           report.step, strerror(report.value)));
}

/* The reading thread: ends with the program, also when a process that it started holds the output open. */
static void *read_all(void *arg)
{
    struct stdio_link *link = arg;
    BUF_SCOPE(lines, MCP_MESSAGE_BYTES_MAX);
    struct pollfd polls[] = {{.fd = link->out, .events = POLLIN}, {.fd = link->err, .events = POLLIN},
                             {.fd = link->pidfd, .events = POLLIN}};
    bool ended = false;
    while (!ended) {
        (void)poll(polls, 3, -1);
        ended = polls[2].revents != 0;
        if (polls[1].fd >= 0 && !drain(link, link->err, &lines))
            polls[1].fd = -1;
        ended = !drain(link, link->out, &lines) || ended;
    }
    (void)kill(-link->pid, SIGKILL); /* ends a program that closed its output or sent too long a message */
    keep_report(link);
    LOCK_SCOPE(&link->lock);
    link->ended = true;
    CHECK(pthread_cond_broadcast(&link->came) == 0);
    return NULL;
}

/* ---- starting and ending ---- */

/* Without a box: only for a server of the person's own file that says so, or where boxes are switched off. */
static int spawn(const struct server *server, const int ends[3], pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int failed = 0;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    for (int i = 0; i < 3 && !failed; i++)
        failed = posix_spawn_file_actions_adddup2(&actions, ends[i], i);
    if (server->folder && !failed)
        failed = posix_spawn_file_actions_addchdir_np(&actions, server->folder);
    if (!failed)
        failed = process_spawn(server->args[0], server->args, server->environment, &actions, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The condition uses the steady clock: a timeout must not change when somebody sets the time. */
static void start_reader(struct stdio_link *link)
{
    pthread_attr_t attributes;
    pthread_condattr_t steady;
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&link->lock, NULL) == 0);
    CHECK(pthread_mutex_init(&link->writing, NULL) == 0);
    CHECK(pthread_cond_init(&link->came, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, READER_STACK_BYTES) == 0);
    CHECK(pthread_create(&link->reader, &attributes, read_all, link) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
}

/* The program gets the three streams themselves (keeps_streams). Our ends of the supervisor's pipes are left in
 * `link`. */
static int spawn_in_box(const struct server *server, const struct mcp_box *box, const int ends[3],
                        struct stdio_link *link)
{
    int report[2] = {-1, -1}, life[2] = {-1, -1}, net[2] = {-1, -1};
    int failed = supervisor_pair(report, false);
    failed = failed ? failed : supervisor_pair(life, false);
    if (box->listeners && !failed)
        failed = supervisor_pair(net, true);
    const struct supervisor_start start = {
        .path = box->program, .args = server->args, .environment = box->environment, .folder = box->folder,
        .box = box->words, .keeps_streams = true, .streams = {ends[0], ends[1], ends[2]}, .out = ends[1],
        .report = report[1], .life = life[0], .net = box->listeners ? net[1] : 0};
    failed = failed ? failed : supervisor_spawn(&start, &link->pid);
    close_descriptor(&report[1]);
    close_descriptor(&life[0]);
    close_descriptor(&net[1]);
    link->report = report[0];
    link->life = life[1];
    if (!failed && box->listeners)
        link->egress = mcp_box_egress(server, net[0], box);
    else
        close_descriptor(&net[0]);
    return failed;
}

/* Only one thread at a time starts a server (SERVER_STARTING). On an error nothing is left: no process, no
 * descriptor. */
static struct rc open_program(struct server *server, void **ret_link, struct err *err)
{
    ARENA_SCOPE(arena);
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int failed = 0;
    struct mcp_box box = {0};
    bool boxed = server->boxes->setting && !server->unboxed;
    if (boxed)
        TRY(mcp_box_make(&arena, server, &box, err));
    struct stdio_link *link = heap_new(sizeof *link);
    link->report = link->life = -1;
    for (int i = 0; i < 3 && !failed; i++)
        failed = supervisor_pair(pipes[i], false);
    const int theirs[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
    if (!failed)
        failed = boxed ? spawn_in_box(server, &box, theirs, link) : spawn(server, theirs, &link->pid);
    for (int i = 0; i < 3; i++)
        close_descriptor(&theirs[i]);
    link->server = server;
    link->in = pipes[0][1];
    link->out = pipes[1][0];
    link->err = pipes[2][0];
    if (failed) {
        close_descriptor(&link->in);
        close_descriptor(&link->out);
        close_descriptor(&link->err);
        close_descriptor(&link->report);
        close_descriptor(&link->life);
        free(link);
        return err_set(err, ERR_UNAVAILABLE, "%s cannot be started: %s", server->args[0], strerror(failed));
    }
    (void)fcntl(link->in, F_SETFL, O_NONBLOCK);
    (void)fcntl(link->out, F_SETFL, O_NONBLOCK);
    (void)fcntl(link->err, F_SETFL, O_NONBLOCK);
    link->pidfd = system_open_process(link->pid);
    start_reader(link);
    log_line(LOG_INFO, boxed ? "MCP server started in a box" : "MCP server started",
             LOG_S("server", server->name), LOG_I("pid", link->pid));
    *ret_link = link;
    return RC_OK;
}

/* The kernel is asked, too: the reading thread may not have run since the program died, and a call that is handed to a
 * dead program has an unknown effect where a new one would have been asked. */
static bool alive(void *arg)
{
    struct stdio_link *link = arg;
    struct pollfd process = {.fd = link->pidfd, .events = POLLIN};
    LOCK_SCOPE(&link->lock);
    return !link->ended && poll(&process, 1, 0) <= 0;
}

/* Sleeps until something came, at most so long. The lock is held. */
static void sleep_on(struct stdio_link *link, int64_t ms)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int failed = pthread_cond_timedwait(&link->came, &link->lock, &until);
    CHECK(failed == 0 || failed == ETIMEDOUT);
}

/* Closing its input is the request to end; after END_MS it is killed. */
static void close_program(void *arg)
{
    struct stdio_link *link = arg;
    int64_t until_us = clock_steady_us() + END_MS * 1000;
    lock_take(&link->writing);
    close_descriptor(&link->in);
    link->in = -1;
    lock_drop(&link->writing);
    lock_take(&link->lock);
    while (!link->ended && clock_steady_us() < until_us)
        sleep_on(link, MCP_LOOK_MS);
    lock_drop(&link->lock);
    (void)kill(-link->pid, SIGKILL);
    CHECK(pthread_join(link->reader, NULL) == 0);
    (void)process_wait(link->pid);
    close_descriptor(&link->out);
    close_descriptor(&link->err);
    close_descriptor(&link->pidfd);
    close_descriptor(&link->report);
    close_descriptor(&link->life);
    egress_end(link->egress);
    CHECK(!link->waiting);
    CHECK(pthread_mutex_destroy(&link->lock) == 0);
    CHECK(pthread_mutex_destroy(&link->writing) == 0);
    CHECK(pthread_cond_destroy(&link->came) == 0);
    free(link);
}

/* ---- asking ---- */

static void leave(struct stdio_link *link, struct waiting *own)
{
    LIST_REMOVE(link->waiting, own);
}

/* The server is told that nobody waits any more. Whether it stops is its affair. */
static void give_up(struct stdio_link *link, uint64_t id, const char *why)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 1000);
    struct str params = arena_printf(&arena, "{\"requestId\":%llu,\"reason\":\"%s\"}", (unsigned long long)id, why);
    mcp_put_notification(&buf, "notifications/cancelled", params);
    (void)write_line(link, buf_str(&buf), REPLY_MS);
}

/* ERR_UNAVAILABLE: the caller adds that the effect is unknown, since the program may have acted before it ended. */
static struct rc gone(struct stdio_link *link, const struct server *server, struct err *err)
{
    LOCK_SCOPE(&link->lock);
    struct rc rc = err_set(err, ERR_UNAVAILABLE, "the server %.*s ended%s%.*s", STR_ARG(server->name),
                           link->last_n ? ": " : "", (int)(link->last_n < 300 ? link->last_n : 300),
                           link->last_words + (link->last_n < 300 ? 0 : link->last_n - 300));
    return rc;
}

/* The waiter is registered before the message is written; it leaves the list before its stack is gone. */
static struct rc exchange_lines(struct server *server, struct mcp_exchange *x, struct err *err)
{
    struct stdio_link *link = server->link;
    struct waiting own = {.id = x->id};
    int64_t until_us = clock_steady_us() + x->timeout_ms * 1000;
    lock_take(&link->lock);
    own.next = link->waiting;
    link->waiting = &own;
    lock_drop(&link->lock);
    bool sent = write_line(link, x->message, WRITE_MS);
    lock_take(&link->lock);
    while (sent && !own.line && !link->ended && clock_steady_us() < until_us && !is_set(x->cancelled))
        sleep_on(link, MCP_LOOK_MS);
    leave(link, &own);
    bool ended = link->ended || !sent;
    lock_drop(&link->lock);
    if (own.line) {
        struct str line = arena_str(x->arena, (struct str){own.line, own.line_n});
        free(own.line);
        return mcp_message_read(x->arena, line, &x->answer, err);
    }
    if (ended)
        return gone(link, server, err);
    bool cancelled = is_set(x->cancelled);
    give_up(link, x->id, cancelled ? "cancelled" : "it took too long");
    if (cancelled)
        return err_set(err, ERR_CONFLICT, "Cancelled while it ran");
    return err_set(err, ERR_TIMEOUT, "no answer of the server %.*s in %lld ms", STR_ARG(server->name),
                   (long long)x->timeout_ms);
}

static void notify(struct server *server, struct str message) { (void)write_line(server->link, message, WRITE_MS); }

const struct transport transport_stdio = {
    .open = open_program,
    .exchange = exchange_lines,
    .notify = notify,
    .alive = alive,
    .close = close_program,
};
