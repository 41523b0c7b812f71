/* A program of the person's gets the message as JSON on its standard input, and the same in a few variables. It runs
 * without a shell, with a small environment, and is killed after 20 seconds. It ends with 0 when it has told the
 * person, with 75 (EX_TEMPFAIL) to be tried again, with anything else to be given up. */
#include "notify/inner.h"

#include "io/clock.h"
#include "io/file.h"
#include "io/process.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum { INPUT_BYTES_MAX = 1 << 20, VARIABLES_MAX = 24, LOOK_MS = 100 };

static struct rc check(const struct channel *channel, struct err *err)
{
    return channel->command ? RC_OK : err_set(err, ERR_INVALID, "\"command\" is missing");
}

static char *variable(struct arena *arena, const char *name, struct str value)
{
    return (char *)arena_printf(arena, "%s=%.*s", name, STR_ARG(value)).p;
}

/* PATH and the variables a desktop program needs to find its session; no token and no key of ours. */
static void make_environment(const struct sending *sending, char *environment[VARIABLES_MAX])
{
    static const char *const kept[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "DISPLAY",
                                       "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};
    const struct message *message = sending->message;
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = getenv(kept[i]);
        if (value)
            environment[n++] = variable(sending->arena, kept[i], str_of(value));
    }
    environment[n++] = variable(sending->arena, "NOTIFY_TYPE", str_of(purpose_name(message->purpose)));
    environment[n++] = variable(sending->arena, "NOTIFY_TITLE", message->title);
    environment[n++] = variable(sending->arena, "NOTIFY_BODY", message->body);
    environment[n++] = variable(sending->arena, "NOTIFY_URL", message->url);
    environment[n] = NULL;
}

/* In a process group of its own, with signals reset, so that it can be killed with all it started. */
static int start(const struct sending *sending, int input, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    char *environment[VARIABLES_MAX];
    make_environment(sending, environment);
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    char **command = sending->channel->command;
    int failed = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) ||
                         posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) ||
                         posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
                     ? ENOMEM
                     : process_spawn(command[0], command, environment, &actions, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The input lies in a file in memory: a program that does not read cannot hold us up. */
static int make_input(struct str text)
{
    int fd = system_open_memory("message");
    if (fd < 0)
        return -1;
    if (!file_put(fd, text)) {
        (void)close(fd);
        return -1;
    }
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Waits for the end by a descriptor of the process where the kernel has one, else by looking now and then. */
static struct rc wait_for(pid_t pid, struct sending *sending, struct err *err)
{
    int64_t until_us = clock_steady_us() + sending->seconds_max * 1000000;
    int status, pidfd = system_open_process(pid);
    pid_t got;
    while ((got = waitpid(pid, &status, WNOHANG)) == 0 && clock_steady_us() < until_us) {
        struct pollfd poll_on = {.fd = pidfd, .events = POLLIN};
        (void)poll(&poll_on, 1, pidfd < 0 ? LOOK_MS : (int)sending->seconds_max * 1000);
    }
    if (pidfd >= 0)
        (void)close(pidfd);
    if (got == 0) {
        (void)kill(-pid, SIGKILL);
        (void)process_wait(pid);
        return err_set(err, ERR_UNAVAILABLE, "it was killed after %d seconds", (int)sending->seconds_max);
    }
    sending->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    sending->final = WIFEXITED(status) && sending->status != EX_TEMPFAIL; /* one that was killed has said nothing */
    return sending->status == 0 ? RC_OK : err_set(err, sending->final ? ERR_INVALID : ERR_UNAVAILABLE,
                                                  "it ended with status %ld", sending->status);
}

/* On a worker thread. A program that does not exist is a final error: trying again would not help. */
static struct rc send(struct sending *sending, struct err *err)
{
    JSON_SCOPE(buf, out, INPUT_BYTES_MAX);
    pid_t pid;
    json_open(&out, '{');
    words_payload(&out, sending->message);
    json_member_raw(&out, "pending", sending->message->pending);
    json_close(&out, '}');
    buf_puts(&buf, "\n");
    int input = make_input(buf_str(&buf));
    if (input < 0)
        return err_set(err, ERR_IO, "no memory for its input: %s", strerror(errno));
    int failed = start(sending, input, &pid);
    (void)close(input);
    if (failed) {
        sending->final = failed == ENOENT || failed == EACCES;
        return err_set(err, ERR_IO, "%s cannot be started: %s", sending->channel->command[0], strerror(failed));
    }
    return wait_for(pid, sending, err);
}

const struct channel_kind channel_command = {
    .name = "command", .withdraws = true, .detail = DETAIL_FULL, .check = check, .send = send};
