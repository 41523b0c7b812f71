/* Internals of `nod run`. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/buf.h"
#include "cli/remote.h"

struct running {
    struct cli *cli;
    struct str id, session, thread; /* ids of the request, its session and its thread */
    bool asks;             /* the person at this terminal is asked */
    struct buf said;       /* text shown while it was streamed, of the answer under way */
    struct buf told;       /* id of the call whose output was shown while it ran */
    unsigned told_lines;   /* lines of that call's output shown so far */
    bool fresh;            /* the cursor stands at the beginning of a line */
    uint64_t after;
    bool over;
};

/* Shows what a waiting call would do and asks; the answer is sent, unless somebody else was quicker. */
struct rc run_ask(struct running *running, struct arena *arena, struct str call, struct err *err);
/* The name of the sub-agent that asks; empty when it is the agent itself. */
struct str run_sub_agent(struct str actor);

#endif
