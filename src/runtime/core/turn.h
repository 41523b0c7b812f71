/* Which step a run takes next. Only computes: turn.c describes the last answer of the model and the uses of tools in it
 * as a struct turn_view, does what turn_next says, and asks again with what has become of it.
 *
 *   ASK_MODEL --an answer is kept--> ASK_CALLS --all were asked--> EXECUTE --each that may be done--> COLLECT
 *   --sub-agents that ended gave their results--> ASK_MODEL again, or WAIT for people and sub-agents.
 * An answer without uses completes the run; an aborted call rejects it.
 */
#ifndef RUNTIME_CORE_TURN_H
#define RUNTIME_CORE_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TURN_USES_MAX = 64 };

enum turn_step {
    TURN_ASK_MODEL,
    TURN_LIMIT,     /* the model has answered as often as it may */
    TURN_ASK_CALLS, /* some uses were not asked about */
    TURN_EXECUTE,   /* `uses` are done, side by side */
    TURN_COLLECT,   /* sub-agents are looked at: those that have ended give a result */
    TURN_WAIT,      /* the job ends; `awaits`: for a person, else for sub-agents only */
    TURN_REJECT,    /* a person ended the run with an answer */
    TURN_COMPLETE,
    TURN_STOP,      /* the job was cancelled */
};

/* A use of a tool, as the call that stands for it now. */
struct turn_use {
    bool asked;   /* there is one */
    bool decided; /* by rules or a person */
    bool settled; /* it has an outcome for the model */
    bool aborted; /* the answer was: end the run */
    bool child;   /* a sub-agent is at work on it */
    bool beside;  /* it only looks, or a sub-agent does it: others may be done at the same time */
};

/* All that the next step depends on. */
struct turn_view {
    bool cancelled;
    bool answered;  /* the last message is the model's */
    bool paused;    /* the model asked to go on without an answer (pause_turn) */
    bool collected; /* sub-agents were looked at since anything was done */
    int64_t iterations, iterations_max;
    size_t count;
    struct turn_use uses[TURN_USES_MAX];
};

struct turn_next {
    enum turn_step step;
    uint64_t uses; /* TURN_EXECUTE: a bit for each */
    bool awaits;   /* TURN_WAIT */
};

struct turn_next turn_next(const struct turn_view *view);
/* Whether a run that waits can go on, as far as its calls say; its sub-agents may have ended, too. */
bool turn_can_continue(const struct turn_view *view);

#endif
