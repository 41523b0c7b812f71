/* Processes of this machine, as /proc shows them: whose child one is. */
#ifndef IO_PROCESS_H
#define IO_PROCESS_H

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Names one process for good: its pid may be given to another process later, but not with the same start time. */
struct process_id {
    pid_t pid;
    uint64_t started; /* in ticks since the machine's start */
};

/* False when there is none, or /proc does not show it to us. */
bool process_look(pid_t pid, struct process_id *ret_process, pid_t *ret_parent);
/* Whether there is a process of this number, visible in /proc or not. */
bool process_lives(pid_t pid);
/* Whether it takes in orphans of others (systemd, tini, a terminal multiplexer): its children are not its own. */
bool process_adopts(pid_t pid);

enum process_shell {
    SHELL_NONE,
    SHELL_LINE,        /* runs one line: sh -c … */
    SHELL_INTERACTIVE, /* reads from a person */
};
enum process_shell process_shell(pid_t pid);
/* Whether its first word (argv[0]) is this one. */
bool process_is_called(pid_t pid, const char *name);

/* Waits for the end of a child, whatever signals come in between; its status as waitpid() tells it. -1, which is no
 * such status: there is no such child (a pid below 1 is none). Blocks. */
int process_wait(pid_t pid);

/* Starts a program, looked up in PATH unless it is a path, in a process group of its own and with every signal as the
 * system has it. Returns 0 or an errno. */
int process_spawn(const char *program, char *const *args, char *const *environment,
                  const posix_spawn_file_actions_t *actions, pid_t *ret_pid);

#endif
