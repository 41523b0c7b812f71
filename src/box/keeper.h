/* The process between Nod and a command, with a box (launch.c) or without (keeper.c): how it is started, and what it
 * reports. It is this program, started anew. */
#ifndef BOX_KEEPER_H
#define BOX_KEEPER_H

#include "box/box.h"

#include <sys/types.h>

enum {
    KEEPER_FD_OUT = 3, /* of the started process: what the command writes */
    KEEPER_FD_REPORT,  /* one struct keeper_report */
    KEEPER_FD_LIFE,    /* when its other end is closed, everything is killed */
    KEEPER_FD_NET,     /* of a box that has ports: a socket on which it hands them out; else nothing */
    KEEPER_DESCRIPTORS, /* the numbers below are taken */
};

/* The message on its report pipe, written once. */
enum keeper_word {
    KEEPER_FAILED, /* the command could not be started: errno */
    KEEPER_ENDED,  /* it has ended, and all it had started: a status of wait(2) */
};

struct keeper_report {
    enum keeper_word word;
    int value;
    char step[BOX_STEP_BYTES]; /* of a box: the step that failed */
};

struct keeper_start {
    const char *path;          /* the program, as execve wants it */
    char *const *args, *const *environment;
    const char *folder;        /* to start it in */
    char *const *box;          /* box_words, or NULL: no box */
    int out;                   /* where it writes */
    int report;                /* a pipe's end to write to */
    int life;                  /* a pipe's end that ends everything when its other end is closed */
    int net;                   /* a socket for KEEPER_FD_NET; 0: none */
    bool keeps_streams;        /* the command has these three, and not `out`; for a box whose words say so */
    int streams[3];
};

/* Starts one; an errno when it cannot be. The descriptors stay the caller's, and are at least KEEPER_DESCRIPTORS. */
int keeper_spawn(const struct keeper_start *start, pid_t *ret_pid);

/* First thing in main: does not return in a process that was started by keeper_spawn; else it is false. */
bool keeper_main(int argc, char **argv);

#endif
