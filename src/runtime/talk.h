/* A conversation: what a thread's events amount to for a model. Pure; private to runtime/.
 *
 *     talk_init(&talk);
 *     for each event, in order: talk_apply(&talk, event);
 *     … talk.first, talk_open_uses(&talk), talk.run …
 *     talk_done(&talk);
 */
#ifndef RUNTIME_TALK_H
#define RUNTIME_TALK_H

#include "base/map.h"
#include "event/call.h"
#include "event/shapes.h"
#include "runtime/runtime.h"

/* A use of a tool that the model asked for. */
struct use {
    struct str id, name;
    const struct json *input;
    struct use *next;
};

enum turn_kind { TURN_USER, TURN_AGENT };

struct turn {
    enum turn_kind kind;
    struct str text;             /* TURN_USER */
    const struct json *content;  /* TURN_AGENT: blocks */
    struct use *uses;            /* tool uses among these blocks, in order */
    bool paused;                 /* the provider has paused its answer (pause_turn); the next request lets it go on */
    struct turn *next;
};

/* A thread's conversation, computed from its events. */
struct talk {
    struct arena arena;
    struct turn *first, *last;
    struct map calls;            /* id → struct call */
    struct map looks;            /* tool and input → struct look, of those that only look */
    struct map repeats;          /* id of a call with the same result as an earlier one → the earlier struct look */
    struct run_state run;        /* the last one */
    struct str system;           /* system prompt that the run was started with */
    struct str told;             /* the last SYSTEM_PROMPT */
    int64_t context_tokens;      /* size of the context of the last answer */
    int64_t tasks;               /* sub-agents that the run has started */
    uint64_t compacted_seq;      /* seq of the last COMPACTION, from which this conversation can be rebuilt; 0: none */
    uint64_t seq;                /* seq of the last event applied */
};

void talk_init(struct talk *talk);
void talk_done(struct talk *talk);
void talk_apply(struct talk *talk, const struct event *event);
/* The state that a reader needs to begin at this point, for a COMPACTION. */
const struct data_basis *talk_basis(struct arena *arena, const struct talk *talk);

/* The parent in the form of events; NULL: the run is not a sub-agent's. */
const struct data_parent *status_parent_data(struct arena *arena, const struct run_parent *parent);

/* The uses of the last answer; NULL when there are none, or the user has spoken since. */
const struct use *talk_open_uses(const struct talk *talk);
/* The current call for a tool use: the last of those that superseded each other; NULL: not asked yet. */
const struct call *talk_call(const struct talk *talk, struct str id);
/* The id under which it is asked next, when talk_call is NULL. */
struct str talk_call_id(const struct talk *talk, struct str id);
/* Whether the call has an outcome that can be given to the model. */
bool talk_settled(const struct call *call);
/* The result for the model. When the use only looked, and saw what the same use had seen in an earlier turn that the
 * model still has before it, it is told just that. */
struct str talk_outcome(struct arena *arena, const struct talk *talk, const struct call *call, bool *ret_is_error);

#endif
