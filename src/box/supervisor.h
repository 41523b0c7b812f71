/* The process between Nod and a command, with a box (launch.c) or without (supervisor.c): how it is started, and what
 * it reports. It is this program, started anew. */
#ifndef BOX_SUPERVISOR_H
#define BOX_SUPERVISOR_H

#include "box/box.h"

#include <sys/types.h>

enum {
    SUPERVISOR_FD_OUT = 3, /* in the supervisor: output of the command */
    SUPERVISOR_FD_REPORT,  /* one struct supervisor_report */
    SUPERVISOR_FD_LIFE,    /* when its other end is closed, everything is killed */
    SUPERVISOR_FD_NET,     /* for a box with ports: a socket by which it passes their listeners; else unused */
    SUPERVISOR_DESCRIPTORS, /* first free descriptor number */
};

/* The kind of the one message on the report pipe. */
enum supervisor_word {
    SUPERVISOR_FAILED, /* the command could not be started: errno */
    SUPERVISOR_ENDED,  /* it has ended, and all it had started: a status of wait(2) */
};

/* Written once into the pipe, by the supervisor, when the command has ended or could not be started. */
struct supervisor_report {
    enum supervisor_word word;
    int value;
    char step[BOX_STEP_BYTES]; /* for a box: the name of the setup step that failed */
};

/* A command to be started. Descriptors stay the caller's, who closes its copies after supervisor_spawn. */
struct supervisor_start {
    const char *path;          /* the program, as execve wants it */
    char *const *args, *const *environment;
    const char *folder;        /* working directory */
    char *const *box;          /* box_words, or NULL: no box */
    int out;                   /* where it writes */
    int report;                /* a pipe's end to write to */
    int life;                  /* a pipe's end that ends everything when its other end is closed */
    int net;                   /* a socket for SUPERVISOR_FD_NET; 0: none */
    bool keeps_streams;        /* the command has these three, and not `out`; for a box whose words say so */
    int streams[3];
};

/* A pipe or a pair of sockets for it; returns an errno on failure, with -1 for an end that is not open. The supervisor
 * gets its ends under low numbers, so these are above them. */
int supervisor_pair(int ends[2], bool socket);
/* Starts a supervisor; returns an errno on failure. The descriptors stay the caller's; all are at least
 * SUPERVISOR_DESCRIPTORS. */
int supervisor_spawn(const struct supervisor_start *start, pid_t *ret_pid);

/* First thing in main: does not return in a process that was started by supervisor_spawn; else it is false. */
bool supervisor_main(int argc, char **argv);

#endif
