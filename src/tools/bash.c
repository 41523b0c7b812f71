/* Bash: a command in the session's folder.
 *
 * It runs in a process group of its own with a small, clean environment (no keys, no tokens) and nothing on
 * standard input. When the time is over, or the run is cancelled, or the shell has ended, the whole group is
 * killed: nothing it started stays behind. Of long output the beginning and the end are kept.
 * With the sandbox on, bubblewrap gives it no network and only the session's folder to write in.
 */
#include "tools/tool.h"

#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 120000,
    TIMEOUT_MS_MAX = 600000,
    KEPT_BYTES = RESULT_BYTES_MAX / 2, /* of the beginning, and of the end */
    LOOK_MS = 50,                      /* how often cancelling is looked for */
    ARGS_MAX = 40,
    ENVIRONMENT_MAX = 24,
};

struct output {
    struct buf head, tail;
    size_t dropped;
};

struct child {
    pid_t pid;
    int out, pidfd;
    int status;
    bool ended, timed_out, cancelled;
};

static void output_add(struct output *output, struct str text)
{
    size_t first = KEPT_BYTES - output->head.n;
    if (first > text.n)
        first = text.n;
    buf_put(&output->head, str_sub(text, 0, first));
    buf_put(&output->tail, str_sub(text, first, text.n));
    if (output->tail.n <= (size_t)KEPT_BYTES * 2)
        return;
    size_t drop = output->tail.n - KEPT_BYTES;
    output->dropped += drop;
    buf_drop(&output->tail, drop);
}

static struct str output_text(struct output *output, struct arena *arena)
{
    if (output->tail.n > KEPT_BYTES) {
        size_t drop = output->tail.n - KEPT_BYTES;
        output->dropped += drop;
        buf_drop(&output->tail, drop);
    }
    struct str head = buf_str(&output->head), tail = buf_str(&output->tail);
    if (output->dropped == 0)
        return arena_printf(arena, "%.*s%.*s", STR_ARG(head), STR_ARG(tail));
    return arena_printf(arena, "%.*s\n… (%zu bytes left out) …\n%.*s", STR_ARG(head), output->dropped, STR_ARG(tail));
}

/* ---- starting ---- */

static void clean_environment(struct arena *arena, char *environment[ENVIRONMENT_MAX])
{
    static const char *const kept[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
                                       "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = getenv(kept[i]);
        if (value)
            environment[n++] = (char *)arena_printf(arena, "%s=%s", kept[i], value).p;
    }
    environment[n++] = "TERM=dumb";
    environment[n++] = "SHELL=/bin/bash";
    environment[n++] = "PAGER=cat";
    environment[n++] = "GIT_TERMINAL_PROMPT=0";
    CHECK(n < ENVIRONMENT_MAX);
    environment[n] = NULL;
}

/* The server's umask is for its own files; a command gets the usual one. */
static void arguments(const struct tool_use *use, char *args[ARGS_MAX])
{
    char *root = (char *)arena_c(use->arena, use->root);
    char *command = (char *)arena_c(use->arena, json_text(use->input, "command"));
    char *const sandbox[] = {"bwrap", "--die-with-parent", "--new-session", "--unshare-net", "--unshare-pid",
                             "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                             "--bind", root, root, "--chdir", root, "--"};
    char *const shell[] = {"/bin/bash", "-c", "umask 022; exec /bin/bash -c \"$1\"", "bash", command, NULL};
    size_t n = 0;
    if (use->sandbox) {
        memcpy(args, sandbox, sizeof sandbox);
        n = sizeof sandbox / sizeof *sandbox;
    }
    CHECK(n + sizeof shell / sizeof *shell <= ARGS_MAX);
    memcpy(args + n, shell, sizeof shell);
}

static int spawn(const struct tool_use *use, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *args[ARGS_MAX];
    char *environment[ENVIRONMENT_MAX];
    arguments(use, args);
    clean_environment(use->arena, environment);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawnattr_init(&attributes) == 0);
    int failed = posix_spawn_file_actions_addchdir_np(&actions, arena_c(use->arena, use->root));
    failed = failed ? failed : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, out, 1);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, out, 2);
    CHECK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF) == 0);
    CHECK(posix_spawnattr_setpgroup(&attributes, 0) == 0);
    CHECK(posix_spawnattr_setsigmask(&attributes, &none) == 0);
    CHECK(posix_spawnattr_setsigdefault(&attributes, &all) == 0);
    failed = failed ? failed : posix_spawnp(ret_pid, args[0], &actions, &attributes, args, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

static struct rc start(const struct tool_use *use, struct child *child, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe for its output: %s", strerror(errno));
    int failed = spawn(use, ends[1], &child->pid);
    (void)close(ends[1]);
    child->out = ends[0];
    if (failed)
        return err_set(err, ERR_IO, "it cannot be started in %.*s: %s%s", STR_ARG(use->root), strerror(failed),
                       use->sandbox ? " (the sandbox needs bubblewrap)" : "");
    (void)fcntl(child->out, F_SETFL, O_NONBLOCK);
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return RC_OK;
}

/* ---- waiting ---- */

/* False when there is nothing more to come. */
static bool drain(struct child *child, struct output *output)
{
    char bytes[16 << 10];
    for (;;) {
        ssize_t got = read(child->out, bytes, sizeof bytes);
        if (got > 0)
            output_add(output, (struct str){bytes, (size_t)got});
        else if (got < 0 && errno == EINTR)
            continue;
        else
            return got < 0 && errno == EAGAIN;
    }
}

static bool reap(struct child *child, int flags)
{
    pid_t got;
    do {
        got = waitpid(child->pid, &child->status, flags);
    } while (got < 0 && errno == EINTR);
    child->ended = child->ended || got == child->pid;
    return child->ended;
}

static void wait_for(const struct tool_use *use, struct child *child, struct output *output, int64_t timeout_ms)
{
    int64_t until_us = clock_steady_us() + timeout_ms * 1000;
    bool open = true;
    while (!reap(child, WNOHANG)) {
        struct pollfd polls[] = {{.fd = child->pidfd, .events = POLLIN},
                                 {.fd = open ? child->out : -1, .events = POLLIN}};
        (void)poll(polls, 2, LOOK_MS);
        if (open)
            open = drain(child, output);
        child->timed_out = clock_steady_us() > until_us;
        child->cancelled = use_cancelled(use);
        if (child->timed_out || child->cancelled)
            break;
    }
    (void)kill(-child->pid, SIGKILL);
    (void)reap(child, 0);
    if (open)
        (void)drain(child, output);
}

static struct rc judge(const struct tool_use *use, const struct child *child, struct str output, int64_t timeout_ms,
                       struct str *ret_text, struct err *err)
{
    const char *end = output.n && output.p[output.n - 1] != '\n' ? "\n" : "";
    if (child->cancelled)
        *ret_text = arena_printf(use->arena, "%.*s%sCancelled while it ran", STR_ARG(output), end);
    else if (child->timed_out)
        *ret_text = arena_printf(use->arena, "%.*s%sStopped after %lld ms: it took too long", STR_ARG(output), end,
                                 (long long)timeout_ms);
    else if (WIFSIGNALED(child->status))
        *ret_text = arena_printf(use->arena, "%.*s%sEnded by signal %d", STR_ARG(output), end,
                                 WTERMSIG(child->status));
    else if (WEXITSTATUS(child->status) != 0)
        *ret_text = arena_printf(use->arena, "%.*s%sExit code %d", STR_ARG(output), end, WEXITSTATUS(child->status));
    else {
        *ret_text = output.n ? output : STR("(no output)");
        return RC_OK;
    }
    return err_set(err, ERR_INVALID, "the command failed");
}

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct output output = {.head = buf_init(KEPT_BYTES), .tail = buf_init((size_t)KEPT_BYTES * 4)};
    struct child child = {.out = -1, .pidfd = -1};
    int64_t timeout_ms = TIMEOUT_MS;
    struct str command = json_text(use->input, "command");
    TRY(json_want_i64(use->input, "timeout", 1, TIMEOUT_MS_MAX, &timeout_ms, err));
    if (command.n == 0 || use->root.n == 0)
        return err_set(err, ERR_INVALID, command.n ? "the session has no folder to work in" : "\"command\" is empty");
    struct rc rc = start(use, &child, err);
    if (rc_ok(rc)) {
        wait_for(use, &child, &output, timeout_ms);
        rc = judge(use, &child, output_text(&output, use->arena), timeout_ms, ret_text, err);
    }
    close_descriptor(&child.out);
    close_descriptor(&child.pidfd);
    buf_done(&output.head);
    buf_done(&output.tail);
    return rc;
}

const struct hands hands_bash = {
    .name = "Bash",
    .description = "Runs a command with bash in the project's folder and returns its output. Nothing can be typed "
                   "into it, and nothing it starts goes on after it.",
    .schema = "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"},"
              "\"description\":{\"type\":\"string\",\"description\":\"What it is for, in a few words\"},"
              "\"timeout\":{\"type\":\"integer\",\"description\":\"Milliseconds; at most 600000\"}},"
              "\"required\":[\"command\"]}",
    .run = run,
};
