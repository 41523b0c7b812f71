/* A shell command under way, with all that it starts; private to tools/. */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include "tools/tool.h"

#include <sys/types.h>

/* A command's output; of long output only the beginning and the end are kept. */
struct output {
    struct buf head, tail;
    size_t dropped;
};

struct output output_init(void);
void output_done(struct output *output);
void output_add(struct output *output, struct str text);
struct str output_text(struct output *output, struct arena *arena);

/* A running command; ended and freed by child_end. */
struct child {
    pid_t supervisor; /* -1: a child of the executor process */
    int out;     /* the command's output, non-blocking */
    int report;  /* readable when it has ended */
    int life;    /* closing it kills everything */
    int status;  /* status as of wait(2), after it has ended */
    int failed;  /* errno, when it could not be started */
    char step[BOX_STEP_BYTES]; /* name of the failed step of making its box */
    struct egress *egress;     /* the proxy for connections out of its box; NULL: none is possible */
};

/* The command's ends of what connects it with the server. */
struct child_ends {
    int out, report, life;
    int net; /* -1: its box has no way out */
};

/* Starts a command as this user, in its box; the ends stay the caller's. */
struct rc child_spawn(const struct tool_use *use, const struct child_ends *ends, pid_t *ret_supervisor,
                      struct err *err);
struct rc child_start(const struct tool_use *use, struct child *child, struct err *err);
/* Waits up to `ms` for output or the end. Output that has come is handed to `take`. True when it has ended. */
bool child_wait(struct child *child, int ms, void (*take)(void *arg, struct str text), void *arg);
/* Kills the rest of its processes, passes on its remaining output, and frees it. */
void child_end(struct child *child, void (*take)(void *arg, struct str text), void *arg);

#endif
