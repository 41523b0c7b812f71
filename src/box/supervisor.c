/* The supervisor of a command: a process of its own between Nod and the shell, so that nothing that a command starts
 * outlives it.
 *
 *  1. It holds one end of a pipe whose other end only the server has. When the server closes it, or dies in whatever
 *     way, everything is killed.
 *  2. Orphans of the command become its children (subreaper), also those that left the process group or the session:
 *     when the shell has ended they are killed, too.
 *  3. It is this program, started anew under another name (supervisor_main): small, with one thread, and with nothing
 *     of the server in its memory or among its descriptors.
 *
 *     nod-supervisor FOLDER PROGRAM ARGUMENT...      descriptors: 3 output, 4 report, 5 life
 */
#include "box/supervisor.h"

#include "base/err.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    REAP_MS = 1000,      /* how often orphans that have ended are reaped */
    KILL_ROUNDS = 200,   /* after so many rounds of SIGKILL the kernel ends the remaining processes */
    KILL_NAP_MS = 10,
    ARGS_FIRST = 3,      /* our own arguments: name, folder, program; the program's arguments follow */
    ARGS_MAX = 256 + BOX_WORDS_MAX,
};

#define SUPERVISOR_NAME "nod-supervisor"

struct supervised_shell {
    pid_t pid;
    int status;
    bool ended;
};

static void report(enum supervisor_word word, int value)
{
    struct supervisor_report report = {.word = word, .value = value};
    ssize_t put = write(SUPERVISOR_FD_REPORT, &report, sizeof report);
    (void)put; /* an error means that the reader has gone: the report is not needed */
}

/* ---- the shell ---- */

/* Runs in the forked child. getppid is compared because the parent may have died before PDEATHSIG was set. */
static _Noreturn void become_shell(char **argv, pid_t supervisor)
{
    extern char **environ;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(1);
    (void)dup2(SUPERVISOR_FD_OUT, STDOUT_FILENO);
    (void)dup2(SUPERVISOR_FD_OUT, STDERR_FILENO);
    (void)close(SUPERVISOR_FD_OUT);
    (void)umask(S_IWGRP | S_IWOTH); /* the server's own is for its own files */
    if (chdir(argv[1]) == 0)
        (void)execve(argv[2], argv + ARGS_FIRST, environ);
    report(SUPERVISOR_FAILED, errno);
    _exit(127);
}

/* ---- the end ---- */

static void reap(struct supervised_shell *shell)
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

/* Kills all children, from the list in /proc; false when there is no such list. */
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

static void kill_all(struct supervised_shell *shell)
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

/* Until the shell has ended, or the server has closed `life`; then all descendants are killed. */
static _Noreturn void keep(char **argv)
{
    struct supervised_shell shell = {0};
    pid_t self = getpid();
    shell.pid = fork();
    if (shell.pid == 0)
        become_shell(argv, self);
    if (shell.pid < 0) {
        report(SUPERVISOR_FAILED, errno);
        _exit(1);
    }
    (void)setpgid(shell.pid, shell.pid); /* also done by the child: whichever runs first */
    (void)close(SUPERVISOR_FD_OUT);
    struct pollfd polls[] = {{.fd = SUPERVISOR_FD_LIFE, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, shell.pid, 0), .events = POLLIN}};
    while (!shell.ended) {
        (void)poll(polls, 2, polls[1].fd < 0 ? KILL_NAP_MS : REAP_MS);
        if (polls[0].revents)
            break;
        reap(&shell);
    }
    kill_all(&shell);
    report(SUPERVISOR_ENDED, shell.status);
    _exit(0);
}

bool supervisor_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[0], BOX_NAME) == 0)
        box_main(argc, argv);
    if (argc <= ARGS_FIRST || strcmp(argv[0], SUPERVISOR_NAME) != 0)
        return false;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)fcntl(SUPERVISOR_FD_REPORT, F_SETFD, FD_CLOEXEC);
    (void)fcntl(SUPERVISOR_FD_LIFE, F_SETFD, FD_CLOEXEC);
    keep(argv);
}

/* ---- from the server ---- */

static int prepare(const struct supervisor_start *start, posix_spawn_file_actions_t *actions)
{
    const int from[] = {start->out, start->report, start->life, start->net};
    int failed = 0;
    for (int fd = 0; fd < SUPERVISOR_FD_OUT && !failed; fd++)
        failed = start->keeps_streams ? posix_spawn_file_actions_adddup2(actions, start->streams[fd], fd)
                                      : posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    for (int i = 0; i < (start->net ? 4 : 3) && !failed; i++)
        failed = posix_spawn_file_actions_adddup2(actions, from[i], SUPERVISOR_FD_OUT + i);
    return failed;
}

/* Descriptors above those that the child gets by number, so that none is overwritten when they are arranged. */
int supervisor_pair(int ends[2], bool socket)
{
    if (socket ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 : pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        int above = fcntl(ends[i], F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS), why = errno;
        (void)close(ends[i]);
        ends[i] = above;
        if (above < 0 && i == 0) {
            (void)close(ends[1]);
            ends[1] = -1;
        }
        if (above < 0)
            return why;
    }
    return 0;
}

int supervisor_spawn(const struct supervisor_start *start, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    char *args[ARGS_MAX] = {start->box ? BOX_NAME : SUPERVISOR_NAME};
    size_t count = 1;
    for (size_t i = 0; start->box && start->box[i]; i++)
        args[count++] = start->box[i];
    args[count++] = (char *)start->folder;
    args[count++] = (char *)start->path;
    for (size_t i = 0; start->args[i]; i++) {
        CHECK(count + 1 < ARGS_MAX);
        args[count++] = start->args[i];
    }
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    int failed = prepare(start, &actions);
    if (!failed)
        failed = process_spawn("/proc/self/exe", args, start->environment, &actions, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}
