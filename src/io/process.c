/* Processes as /proc shows them (process.h). A process is known by number and start time, since numbers are
 * used again. */
#include "io/process.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

static size_t read_small(pid_t pid, const char *name, char text[LINE_BYTES])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, LINE_BYTES - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* PID (NAME) STATE PARENT …; the name may hold anything. The start is the 19th field behind the parent. */
bool process_look(pid_t pid, struct process_id *ret_process, pid_t *ret_parent)
{
    char text[LINE_BYTES];
    int parent;
    uint64_t started;
    const char *end = pid > 0 && read_small(pid, "stat", text) ? strrchr(text, ')') : NULL;
    if (!end || sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                       &parent, &started) != 2)
        return false;
    *ret_process = (struct process_id){pid, started};
    *ret_parent = (pid_t)parent;
    return true;
}

bool process_lives(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

bool process_adopts(pid_t pid)
{
    static const char *const names[] = {"systemd", "init", "tini", "dumb-init", "tmux: server", "screen", "login",
                                        "sshd"};
    char text[LINE_BYTES];
    struct str name = str_trim((struct str){text, read_small(pid, "comm", text)});
    return pid <= 1 || STR_IN(name, names);
}

/* The last part of argv[0], without the dash of a login shell; `ret_rest` begins with argv[1]. */
static struct str first_word(char text[LINE_BYTES], size_t n, struct str *ret_rest)
{
    struct str name = str_cut((struct str){text, n}, '\0', ret_rest);
    for (size_t i = name.n; i > 0; i--)
        if (name.p[i - 1] == '/')
            return str_sub(name, i, name.n);
    return str_starts(name, STR("-")) ? str_sub(name, 1, name.n) : name;
}

/* Read from /proc, which the process itself may have changed: a hint for the tripwire, not a proof. */
enum process_shell process_shell(pid_t pid)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ash", "ksh", "fish"};
    char text[LINE_BYTES];
    struct str rest, name = first_word(text, read_small(pid, "cmdline", text), &rest);
    if (!STR_IN(name, shells))
        return SHELL_NONE;
    while (rest.n) {
        struct str option = str_cut(rest, '\0', &rest);
        if (option.n < 2 || option.p[0] != '-')
            return SHELL_NONE; /* it runs a script */
        if (option.p[1] != '-' && memchr(option.p, 'c', option.n))
            return SHELL_LINE;
    }
    return SHELL_INTERACTIVE;
}

bool process_is_called(pid_t pid, const char *name)
{
    char text[LINE_BYTES];
    struct str rest;
    return str_is(first_word(text, read_small(pid, "cmdline", text), &rest), name);
}

int process_wait(pid_t pid)
{
    int status = -1;
    pid_t got = pid > 0 ? waitpid(pid, &status, 0) : -1;
    while (got < 0 && errno == EINTR && pid > 0)
        got = waitpid(pid, &status, 0);
    return got < 0 ? -1 : status;
}

/* In a process group of its own and with default signals: ours are not the program's. */
int process_spawn(const char *program, char *const *args, char *const *environment,
                  const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    CHECK(posix_spawnattr_init(&attributes) == 0 && posix_spawnattr_setflags(&attributes, flags) == 0);
    CHECK(posix_spawnattr_setpgroup(&attributes, 0) == 0 && posix_spawnattr_setsigmask(&attributes, &none) == 0);
    CHECK(posix_spawnattr_setsigdefault(&attributes, &all) == 0);
    int failed = posix_spawnp(ret_pid, program, actions, &attributes, args, environment);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}
