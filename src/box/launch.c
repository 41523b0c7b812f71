/* A box from its start to its end. Three processes:
 *
 *  - the outer one (box_main), in the host's namespaces: holds the protected names, makes the namespaces, waits;
 *  - the first one inside, process 1 of the box: builds the tree, gives up every capability, starts the command, and
 *    reports how it ended. When it exits the kernel kills whatever the command left behind. It is not dumpable and
 *    nothing inside can signal it;
 *  - the command.
 *
 * Descriptors are those of box/supervisor.h: 3 output, 4 report, 5 life. Closing the other end of `life` ends all. */
#include "box/inner.h"

#include "box/supervisor.h"
#include "io/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILTER_BYTES_MAX = 16 << 10, END_MS = 1000 };

char box_step[BOX_STEP_BYTES];

static unsigned char filter[FILTER_BYTES_MAX];
static size_t filter_bytes;

void box_set_step(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(box_step, sizeof box_step, format, arguments);
    va_end(arguments);
}

static void report(enum supervisor_word word, int value)
{
    struct supervisor_report report = {.word = word, .value = value};
    memcpy(report.step, box_step, sizeof report.step);
    ssize_t put = write(SUPERVISOR_FD_REPORT, &report, sizeof report);
    (void)put; /* the server has ended: it needs no report */
}

static _Noreturn void fail(void)
{
    report(SUPERVISOR_FAILED, errno);
    _exit(1);
}

/* ---- the command ---- */

/* In the command's process, up to execve: descriptors, limits, the folder, the filter. */
static _Noreturn void become_command(const struct box *box, char **argv)
{
    extern char **environ;
    (void)setsid();
    if (!box->keeps_streams) {
        (void)dup2(SUPERVISOR_FD_OUT, STDOUT_FILENO);
        (void)dup2(SUPERVISOR_FD_OUT, STDERR_FILENO);
    }
    /* The report pipe is closed by execve: a failure before that can be reported. */
    (void)close(SUPERVISOR_FD_OUT);
    (void)close(SUPERVISOR_FD_LIFE);
    if (system_close_from(SUPERVISOR_FD_LIFE + 1) != 0)
        fail();
    (void)umask(S_IWGRP | S_IWOTH);
    box_limit_resources();
    box_set_step("enter %.150s", argv[0]);
    if (chdir(argv[0]) != 0)
        fail();
    box_scope_signals();
    box_set_step("load the filter");
    if (box_filter_load(filter, filter_bytes) != 0)
        fail();
    box_set_step("start %.150s", argv[1]);
    (void)execve(argv[1], argv + 2, environ);
    fail();
}

/* ---- process 1 ---- */

/* Process 1 reaps everything, and ends with the command: the kernel then kills the rest. */
static _Noreturn void watch_command(pid_t command)
{
    struct pollfd polls[] = {{.fd = SUPERVISOR_FD_LIFE, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, command, 0), .events = POLLIN}};
    for (;;) {
        int status;
        pid_t pid;
        (void)poll(polls, 2, polls[1].fd < 0 ? 10 : END_MS);
        if (polls[0].revents)
            _exit(0);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid != command)
                continue;
            report(SUPERVISOR_ENDED, status);
            _exit(0);
        }
    }
}

/* Not dumpable, twice: changing ids resets the flag. */
static _Noreturn void be_first(const struct box *box, char **argv, uid_t uid, gid_t gid)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!box->no_user_namespace && box_map_ids(uid, gid) != 0)
        fail();
    (void)prctl(PR_SET_DUMPABLE, 0);
    box_set_step("name the host");
    if (sethostname("box", 3) != 0 || box_raise_loopback() != 0 || box_make_ports(box) != 0 ||
        box_make_tree(box) != 0 ||
        box_drop_capabilities() != 0)
        fail();
    (void)prctl(PR_SET_DUMPABLE, 0); /* a change of ids or capabilities may have reset the flag */
    box_set_step("fork");
    pid_t command = fork();
    if (command < 0)
        fail();
    if (command == 0)
        become_command(box, argv);
    (void)close(SUPERVISOR_FD_OUT);
    watch_command(command);
}

/* ---- outside ---- */

/* Whether `path` is `folder` or lies in it. */
static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* Whether the folder may be shown as a project. Not if it contains the home folder, whose secrets it would show, nor if
 * it is a system folder, which would become writable. */
static bool is_project(const struct box *box)
{
    static const char *const systems[] = {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run",
                                          "/sbin", "/sys", "/usr"};
    if (!box->project)
        return true;
    box_set_step("refuse a project that holds the home folder");
    if (is_below(box->home, box->project))
        return false;
    box_set_step("refuse a project in a folder of the system");
    return !ANY(size_t i = 0; i < sizeof systems / sizeof *systems; i++, is_below(box->project, systems[i]));
}

static void wait_for(pid_t first)
{
    struct pollfd polls[] = {{.fd = SUPERVISOR_FD_LIFE, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, first, 0), .events = POLLIN}};
    while (waitpid(first, NULL, WNOHANG) == 0) {
        (void)poll(polls, 2, polls[1].fd < 0 ? 10 : END_MS);
        if (polls[0].revents)
            (void)kill(first, SIGKILL);
    }
}

/* The outer process. Everything that can fail without namespaces is done before they are made. */
_Noreturn void box_main(int argc, char **argv)
{
    struct box box;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    (void)fcntl(SUPERVISOR_FD_REPORT, F_SETFD, FD_CLOEXEC);
    (void)fcntl(SUPERVISOR_FD_LIFE, F_SETFD, FD_CLOEXEC);
    (void)fcntl(SUPERVISOR_FD_NET, F_SETFD, FD_CLOEXEC);
    box_set_step("read the words");
    int first_word = box_read_words(argc, argv, &box);
    errno = EINVAL;
    if (first_word == 0 || argc - first_word < 3 || !is_project(&box))
        fail();
    box_set_step("make the filter");
    long made = box_filter_make(filter, sizeof filter);
    if (made < 0)
        fail();
    filter_bytes = (size_t)made;
    int held = box_writes_project(&box) ? box_names_hold(&box) : -1;
    if (held < 0 && box_writes_project(&box))
        fail();
    unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP |
                          (box.no_user_namespace ? 0 : CLONE_NEWUSER);
    box_set_step("make namespaces");
    pid_t first = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (first == 0)
        be_first(&box, argv + first_word, uid, gid);
    int reason = errno; /* of the clone: the socket is closed below, or was never there */
    (void)close(SUPERVISOR_FD_NET);
    if (first < 0)
        report(SUPERVISOR_FAILED, reason);
    else
        wait_for(first);
    if (held >= 0)
        box_names_release(&box, held);
    _exit(0);
}
