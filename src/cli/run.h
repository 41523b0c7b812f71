/* Internals of `nod run`. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/buf.h"
#include "cli/remote.h"

/* A run that this command follows. */
struct running {
    struct cli *cli;
    struct str id, session, thread; /* ids of the request, its session and its thread */
    struct str status;     /* of the request when it was executed */
    bool asks;             /* the person at this terminal is asked */
    struct buf said;       /* text shown while it was streamed, of the answer under way */
    struct buf told;       /* id of the call whose output was shown while it ran */
    unsigned told_lines;   /* lines of that call's output shown so far */
    bool fresh;            /* the cursor stands at the beginning of a line */
    uint64_t after;
    bool over;
    struct run_screen *screen; /* the conversation that shows everything; NULL: lines of output do */
    bool busy;             /* with a screen: a run is under way */
};

/* ---- run.c ---- */

/* Asks for a run of this prompt, in a new session when `session` is empty, and sets the ids. */
struct rc run_begin(struct running *running, struct str prompt, struct str session, struct err *err);
struct rc run_execute(struct running *running, struct err *err);
/* Skips the events that are there already. */
struct rc run_last_event(struct running *running, struct err *err);
/* Shows events until the run is over, through restarts of the server. */
struct rc run_follow(struct running *running, struct err *err);

/* ---- run_screen.c: a conversation in the whole terminal ---- */

struct rc run_screen_command(struct running *running, struct err *err);
/* For the thread that follows the events: around all that it says. Unlocking has it drawn. */
void run_screen_lock(struct run_screen *screen);
void run_screen_unlock(struct run_screen *screen);
/* Add to the conversation on screen, like chat_say and chat_stream (tui/chat.h); the status stands at the right of
 * the first line. */
void run_screen_say(struct run_screen *screen, char mark, const char *lead, struct str text);
void run_screen_stream(struct run_screen *screen, struct str text);
void run_screen_status(struct run_screen *screen, struct str status);

/* ---- run_ask.c ---- */


/* Shows what a waiting call would do and asks; the answer is sent, unless somebody else was quicker. */
struct rc run_ask(struct running *running, struct arena *arena, struct str call, struct err *err);
/* The name of the sub-agent that asks; empty when it is the agent itself. */
struct str run_sub_agent(struct str actor);

#endif
