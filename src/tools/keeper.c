/* The keeper of a command: a process of its own between Nod and the shell, so that nothing a command starts outlives
 * what started it.
 *
 *  1. It holds one end of a pipe whose other end only the server has. When the server closes it, or dies in whatever
 *     way, everything is killed.
 *  2. Orphans of the command become its children (subreaper), also those that left the process group or the session:
 *     when the shell has ended they are killed, too.
 *  3. It is forked from a process with many threads and never calls exec, so after the fork it does nothing but make
 *     system calls: no memory is allocated, no lock is taken, nothing of libc with a state is touched.
 */
#include "tools/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FD_OUT = 3,
    FD_REPORT,
    FD_LIFE,
    FD_FREE,
    REAP_MS = 1000,      /* how often orphans that ended are looked for */
    KILL_ROUNDS = 200,   /* then what is left is left to the kernel: it has its SIGKILL */
    KILL_NAP_MS = 10,
    SIGNALS = 65,
};

struct shell {
    pid_t pid;
    int status;
    bool ended;
};

static void report(enum keeper_word word, int value)
{
    struct keeper_report report = {.word = word, .value = value};
    ssize_t put = write(FD_REPORT, &report, sizeof report);
    (void)put; /* nobody listens: then nobody needs it */
}

/* Everything but the three pipes is closed: sockets, locks and logs are the server's alone. */
static void settle_descriptors(const struct keeper_start *start)
{
    int out = fcntl(start->out, F_DUPFD, FD_FREE);
    int told = fcntl(start->report, F_DUPFD, FD_FREE);
    int life = fcntl(start->life, F_DUPFD, FD_FREE);
    int none = open("/dev/null", O_RDWR);
    if (out < 0 || told < 0 || life < 0 || none < 0)
        _exit(1);
    for (int fd = 0; fd < FD_OUT; fd++)
        (void)dup2(none, fd);
    (void)dup2(out, FD_OUT);
    (void)dup2(told, FD_REPORT);
    (void)dup2(life, FD_LIFE);
    (void)syscall(SYS_close_range, (unsigned)FD_FREE, ~0U, 0U);
    (void)fcntl(FD_REPORT, F_SETFD, FD_CLOEXEC);
    (void)fcntl(FD_LIFE, F_SETFD, FD_CLOEXEC);
}

/* ---- the shell ---- */

static _Noreturn void become_shell(const struct keeper_start *start, pid_t keeper)
{
    sigset_t none;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(1);
    (void)dup2(FD_OUT, STDOUT_FILENO);
    (void)dup2(FD_OUT, STDERR_FILENO);
    (void)close(FD_OUT);
    (void)umask(S_IWGRP | S_IWOTH); /* the server's own is for its own files */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(start->folder) == 0)
        (void)execve(start->path, start->args, start->environment);
    report(KEEPER_FAILED, errno);
    _exit(127);
}

/* ---- the end ---- */

static void reap(struct shell *shell)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != shell->pid)
            continue;
        shell->ended = true;
        shell->status = status;
    }
}

/* The processes that are ours now, from a list of numbers in /proc; false when there is no such list. */
static bool kill_children(void)
{
    char bytes[4096];
    uint64_t number = 0;
    ssize_t got;
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] >= '0' && bytes[i] <= '9') {
                number = number * 10 + (uint64_t)(bytes[i] - '0');
                continue;
            }
            if (number > 1)
                (void)kill((pid_t)number, SIGKILL);
            number = 0;
        }
    }
    (void)close(fd);
    return true;
}

static void kill_all(struct shell *shell)
{
    for (int round = 0; round < KILL_ROUNDS; round++) {
        (void)kill(-shell->pid, SIGKILL);
        bool listed = kill_children();
        reap(shell);
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
            return;
        if (!listed && shell->ended)
            return;
        (void)poll(NULL, 0, KILL_NAP_MS);
    }
}

static _Noreturn void keep(const struct keeper_start *start)
{
    struct shell shell = {0};
    pid_t self = getpid();
    shell.pid = fork();
    if (shell.pid == 0)
        become_shell(start, self);
    if (shell.pid < 0) {
        report(KEEPER_FAILED, errno);
        _exit(1);
    }
    (void)setpgid(shell.pid, shell.pid); /* whoever is first */
    (void)close(FD_OUT);
    struct pollfd polls[] = {{.fd = FD_LIFE, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, shell.pid, 0), .events = POLLIN}};
    while (!shell.ended) {
        (void)poll(polls, 2, polls[1].fd < 0 ? KILL_NAP_MS : REAP_MS);
        if (polls[0].revents)
            break;
        reap(&shell);
    }
    kill_all(&shell);
    report(KEEPER_ENDED, shell.status);
    _exit(0);
}

pid_t keeper_fork(const struct keeper_start *start)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the server may run in the keeper */
    pid_t pid = fork();
    if (pid == 0) {
        for (int number = 1; number < SIGNALS; number++)
            (void)signal(number, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        settle_descriptors(start);
        keep(start);
    }
    int failed = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failed;
    return pid;
}
