/* The process that keeps a command; private to tools/. See keeper.c. */
#ifndef TOOLS_KEEPER_H
#define TOOLS_KEEPER_H

#include <sys/types.h>

enum { KEEPER_DESCRIPTORS = 6 }; /* the numbers below are taken */

/* What it says on its report pipe, once. */
enum keeper_word {
    KEEPER_FAILED, /* the command could not be started: errno */
    KEEPER_ENDED,  /* it has ended, and all it had started: a status of wait(2) */
};

struct keeper_report {
    enum keeper_word word;
    int value;
};

struct keeper_start {
    const char *path;          /* the program, as execve wants it */
    char *const *args, *const *environment;
    const char *folder;        /* to start it in */
    int out;                   /* where it writes */
    int report;                /* a pipe's end to write to */
    int life;                  /* a pipe's end that ends everything when its other end is closed */
};

/* Starts one; an errno when it cannot be. The descriptors stay the caller's, and are at least KEEPER_DESCRIPTORS. */
int keeper_spawn(const struct keeper_start *start, pid_t *ret_pid);

#endif
