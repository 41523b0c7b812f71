/* A program as a child: its pipes and its end. */
#include "cli/relay/relay.h"

#include "agents/lines.h"
#include "base/lock.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENDS_BY_ITSELF_MS = 3000, ENDS_WHEN_ASKED_MS = 2000, LOOK_MS = 20 };

extern char **environ;

/* ---- lines ---- */

void relay_pipe_init(struct relay_pipe *pipe, int fd)
{
    pipe->fd = fd;
    (void)pthread_mutex_init(&pipe->lock, NULL);
}

/* JSON may have returns between its tokens, and some readers end a line at each: they would find a message within
 * the message that we have read. */
static struct str without_returns(struct arena *arena, struct str line)
{
    if (!line.n || !memchr(line.p, '\r', line.n))
        return line;
    char *copy = arena_bytes(arena, line.n);
    for (size_t i = 0; i < line.n; i++)
        copy[i] = line.p[i] == '\r' ? ' ' : line.p[i];
    return (struct str){copy, line.n};
}

/* Writes two pieces in a row under the pipe's lock, so that no other message comes between them. */
static bool send_pieces(struct relay_pipe *pipe, struct str first, struct str second)
{
    ARENA_SCOPE(arena);
    first = without_returns(&arena, first);
    (void)pthread_mutex_lock(&pipe->lock);
    while (pipe->fd >= 0 && first.n + second.n) {
        struct iovec pieces[] = {{(void *)first.p, first.n}, {(void *)second.p, second.n}};
        ssize_t n = writev(pipe->fd, pieces, 2);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        size_t of_first = (size_t)n < first.n ? (size_t)n : first.n;
        first = str_sub(first, of_first, first.n);
        second = str_sub(second, (size_t)n - of_first, second.n);
    }
    (void)pthread_mutex_unlock(&pipe->lock);
    return first.n + second.n == 0;
}

bool relay_pipe_send(struct relay_pipe *pipe, const struct buf *line)
{
    CHECK(!line->over && line->n && line->p[line->n - 1] == '\n');
    return send_pieces(pipe, buf_str(line), STR_NONE);
}

bool relay_pipe_put(struct relay_pipe *pipe, struct str line) { return send_pieces(pipe, line, STR("\n")); }

void relay_pipe_close(struct relay_pipe *pipe)
{
    LOCK_SCOPE(&pipe->lock);
    if (pipe->fd >= 0)
        (void)close(pipe->fd);
    pipe->fd = -1;
}

/* Blocks until the end of the stream. False: a line was longer than the limit. */
bool relay_read_lines(int fd, size_t bytes_max, void (*take)(void *arg, struct str line), void *arg)
{
    struct lines lines = lines_init(bytes_max);
    for (bool more = true; more;) {
        size_t room;
        struct str line;
        char *to = lines_room(&lines, &room);
        ssize_t n = to ? read(fd, to, room) : -1;
        if (to && n < 0 && errno == EINTR)
            continue;
        more = n > 0;
        if (to)
            lines_add(&lines, more ? (size_t)n : 0);
        while (lines_next(&lines, &line))
            take(arg, line);
        more = more && !lines.over;
    }
    bool over = lines.over;
    lines_done(&lines);
    return !over;
}

/* ---- the process ---- */

/* In the child: never returns. The parent learns by `status` why it could not be started. */
static _Noreturn void become(char **argv, char **environment, const int ends[3])
{
    (void)setsid(); /* the child cannot open our terminal (/dev/tty), and Ctrl-C reaches only us */
    (void)signal(SIGPIPE, SIG_DFL);
    if (environment)
        environ = environment;
    if (dup2(ends[0], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
        (void)execvp(argv[0], argv);
    int why = errno;
    (void)!write(ends[2], &why, sizeof why);
    _exit(127);
}

/* A third pipe tells whether exec failed: it closes by itself when it did not. */
struct rc relay_child_start(char **argv, char **environment, struct relay_child *ret_child, struct err *err)
{
    int in[2], out[2], status[2], why = 0;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(status, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return err_set(err, ERR_IO, "no process: %s", strerror(errno));
    if (pid == 0)
        become(argv, environment, (const int[]){in[0], out[1], status[1]});
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(status[1]);
    ssize_t n = read(status[0], &why, sizeof why);
    (void)close(status[0]);
    ret_child->pid = pid;
    ret_child->out = out[0];
    relay_pipe_init(&ret_child->in, in[1]);
    if (n != (ssize_t)sizeof why)
        return RC_OK;
    (void)relay_child_wait(ret_child);
    ret_child->pid = 0;
    return err_set(err, ERR_NOT_FOUND, "cannot start '%s': %s", argv[0], strerror(why));
}

static int shell_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int relay_child_wait(struct relay_child *child)
{
    return shell_status(process_wait(child->pid));
}

static bool ends_within(const struct relay_child *child, int ms, int *ret_status)
{
    for (int waited = 0; waited < ms; waited += LOOK_MS) {
        if (waitpid(child->pid, ret_status, WNOHANG) == child->pid)
            return true;
        (void)poll(NULL, 0, LOOK_MS);
    }
    return false;
}

/* Its input is closed, so it should end by itself. If it does not in time, its process group gets SIGTERM, then
 * SIGKILL. Returns the exit status as a shell would. */
int relay_child_end(struct relay_child *child)
{
    int status = 0;
    if (ends_within(child, ENDS_BY_ITSELF_MS, &status))
        return shell_status(status);
    (void)kill(-child->pid, SIGTERM);
    if (ends_within(child, ENDS_WHEN_ASKED_MS, &status))
        return shell_status(status);
    (void)kill(-child->pid, SIGKILL);
    return relay_child_wait(child);
}
