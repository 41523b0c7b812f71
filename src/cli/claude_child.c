/* Claude Code as a child: its pipes, its command line, its end. */
#include "cli/claude.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUR_WORDS_MAX = 20 };

bool claude_pipe_send(struct claude_pipe *pipe, const struct buf *line)
{
    struct str rest = buf_str(line);
    CHECK(!line->over && line->n && line->p[line->n - 1] == '\n');
    (void)pthread_mutex_lock(&pipe->lock);
    while (pipe->fd >= 0 && rest.n) {
        ssize_t n = write(pipe->fd, rest.p, rest.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        rest = str_sub(rest, (size_t)n, rest.n);
    }
    (void)pthread_mutex_unlock(&pipe->lock);
    return rest.n == 0;
}

void claude_pipe_close(struct claude_pipe *pipe)
{
    (void)pthread_mutex_lock(&pipe->lock);
    if (pipe->fd >= 0)
        (void)close(pipe->fd);
    pipe->fd = -1;
    (void)pthread_mutex_unlock(&pipe->lock);
}

/* The control protocol, and nothing from the repository that could answer before us. */
static char **compose(struct cli *cli, const struct claude_args *args, const char *session)
{
    static const char *const words[] = {"-p", "--verbose", "--input-format", "stream-json", "--output-format",
                                        "stream-json", "--permission-prompt-tool", "stdio"};
    size_t room = args->kept_count + OUR_WORDS_MAX, n = 0;
    const char **argv = arena_array(&cli->arena, const char *, room);
    argv[n++] = cli->settings.claude;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        argv[n++] = words[i];
    if (!args->has_sources) {
        argv[n++] = "--setting-sources";
        argv[n++] = "user";
    }
    if (!args->has_settings) {
        argv[n++] = "--settings";
        argv[n++] = "{\"useAutoModeDuringPlan\":false}";
    }
    if (!args->mode) {
        argv[n++] = "--permission-mode";
        argv[n++] = "default";
    }
    if (session) {
        argv[n++] = "--session-id";
        argv[n++] = session;
    }
    for (size_t i = 0; i < args->kept_count; i++)
        argv[n++] = args->kept[i];
    CHECK(n < room);
    return (char **)argv;
}

/* In the child: never returns. The parent learns by `status` why it could not be started. */
static _Noreturn void become(char **argv, int in, int out, int status)
{
    (void)setpgid(0, 0); /* Ctrl-C is ours to pass on */
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        (void)execvp(argv[0], argv);
    int why = errno;
    (void)!write(status, &why, sizeof why);
    _exit(127);
}

struct rc claude_child_start(struct cli *cli, const struct claude_args *args, const char *session,
                             struct claude_child *ret_child, struct err *err)
{
    int in[2], out[2], status[2], why = 0;
    char **argv = compose(cli, args, session);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(status, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return err_set(err, ERR_IO, "no process: %s", strerror(errno));
    if (pid == 0)
        become(argv, in[0], out[1], status[1]);
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(status[1]);
    ssize_t n = read(status[0], &why, sizeof why);
    (void)close(status[0]);
    ret_child->pid = pid;
    ret_child->out = out[0];
    ret_child->in.fd = in[1];
    (void)pthread_mutex_init(&ret_child->in.lock, NULL);
    if (n != (ssize_t)sizeof why)
        return RC_OK;
    (void)claude_child_wait(ret_child);
    return err_set(err, ERR_NOT_FOUND, "cannot start Claude Code ('%s': %s): install it, or say where it is with "
                                       "NOD_CLAUDE", argv[0], strerror(why));
}

int claude_child_wait(struct claude_child *child)
{
    int status = 0;
    pid_t pid;
    do
        pid = waitpid(child->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
