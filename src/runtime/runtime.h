/* Our own agent: from events to events, one plain loop.
 *
 * A run is one execution of a prompt in a thread. Its checkpoint is its events: conversation, calls, how far it
 * is, whether someone works on it, all is read from them. A fresh start, an approval after days and the first
 * moment after a crash are the same entry: read the events, see what is next, do it, keep it, and so on. A run
 * that must wait for a person ends its job; an answer that is kept wakes it.
 *
 * Events of a run, beside those of its calls (event/call.h):
 *   USER_MESSAGE   {"runId","text"}
 *   USER_SYSTEM_PROMPT {"runId","text"}       what the model is told of itself by whoever asked for the run
 *   SYSTEM_PROMPT  {"runId","text"}           and by Nod; when it differs from what the thread's last one says
 *   AGENT_MESSAGE  {"runId","content":[blocks as the model gave them],"stopReason","model","usage":{…}}
 *   RUN_STATUS     {"runId","status","reason","model","maxIterations","maxTokens","owner",
 *                   of a sub-agent: "agent","depth","parent":{"threadId","callId","runId"}}
 *   COMPACTION     {"runId","summary","usage","basis"}     what came before is not sent to the model any more
 *   RUN_LEASE      {"owner"}                  of no session: a process that works on runs is alive (core/runs.h)
 *   LOCAL_SYSTEM_MESSAGE {"runId","text"}     for people: a retry, a limit
 * Status: pending → running ⇄ awaiting_approval → completed | rejected | failed | cancelled.
 * A run that only waits for its sub-agents is running and has no owner.
 * A run's id begins with its session's id and a dot, like a thread's.
 *
 * Everything here is for the loop. See src/runtime/README.md for how it works inside.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "event/event.h"
#include "event/run.h"
#include "gate/gate.h"

struct loop;
struct runtime;

enum { PROVIDERS_MAX = 4, PRICES_MAX = 32 };

/* A model's server. Kinds: "anthropic", "openai" (chat completions). */
struct provider_options {
    const char *kind;
    const char *url;   /* without the path of the API */
    const char *model;
    const char *key;   /* empty: none is sent */
};

/* Prices per million tokens, in millionths of a dollar. */
struct price {
    struct str model;      /* with or without the date behind it */
    int64_t input, output, cache_read, cache_write;
    int64_t input_max;     /* the price holds for so many tokens of input; 0: for any */
};
/* MODEL=INPUT/OUTPUT[/READ/WRITE], in dollars; the price's strings are the text's. */
struct rc price_parse(struct str text, struct price *ret_price, struct err *err);

struct runtime_options {
    struct gate *gate;
    struct provider_options providers[PROVIDERS_MAX]; /* in the order in which they are tried */
    size_t provider_count;
    struct price prices[PRICES_MAX]; /* come before those that are known; the strings must live as long */
    size_t price_count;
    int64_t iterations_max;   /* most answers of the model to one prompt */
    int64_t context_tokens;   /* beyond this the conversation is summed up */
    int64_t answer_tokens;    /* most tokens of one answer */
    bool web_search;          /* the provider's own search may be used, where rules allow WebSearch */
    bool parallel_tools;      /* the model may use several tools in one answer */
    int64_t lease_seconds;    /* a process without a sign of life for so long loses its runs to others */
    bool only_process;        /* no other process uses the store: earlier owners of runs are dead */
};

struct runtime *runtime_new(struct loop *loop, const struct runtime_options *options);
/* Goes on with every run that is not over, and from then on with whatever is answered. */
void runtime_start(struct runtime *runtime);
/* Interrupts every run (it goes on after the next start); then `ended` is called on the loop. */
void runtime_stop(struct runtime *runtime, void (*ended)(void *arg), void *arg);
/* Whether a job is under way. */
bool runtime_busy(const struct runtime *runtime);
/* After runtime_stop has ended, and after the gate is closed. */
void runtime_free(struct runtime *runtime);

/* ---- runs ---- */
/* Something that is to become of a run; op.done is called as for an operation of the gate. */
struct run_op {
    struct op op;
    struct str session, thread; /* must exist */
    struct str actor;
    struct str id;              /* create: filled in; execute, cancel: empty: the thread's last one */
    struct str prompt, model, system; /* create */
    int64_t iterations_max;     /* create; 0: as in the options */
    int64_t answer_tokens;      /* create: most tokens of one answer; 0: as in the options */
    struct runtime *runtime;    /* private, as the next */
    struct str child_of;        /* cancel: only the run of a sub-agent of this thread */
};
/* Keeps the prompt; the run is pending until it is executed. ERR_CONFLICT: the thread has a run that is not over. */
void runtime_create(struct runtime *runtime, struct run_op *start);
/* Begins or goes on, unless someone is at it already: calling it again is harmless. Once `done` is called
 * the run will go on, whatever happens to this process. A run that failed goes on where it failed, when it is
 * named, is still the thread's last and nobody's sub-agent. */
void runtime_execute(struct runtime *runtime, struct run_op *go);
/* ERR_CONFLICT: it is over already. */
void runtime_cancel(struct runtime *runtime, struct run_op *cancel);

/* ---- reading: pure functions of a thread's events ---- */
struct run_usage {
    int64_t input, output, cache_read, cache_write; /* tokens; `input` is what was neither read from nor put
                                                       into the cache */
    int64_t cost;               /* in billionths of a dollar */
    bool cost_unknown;          /* some part has no known price, so the sum has none */
};
/* {"input","output","cacheRead","cacheWrite","costUsd"}; the last only when it is known. */
void run_usage_write(struct json_out *out, const struct run_usage *usage);

/* The parent of a sub-agent: its thread, the Task call that the sub-agent executes, and the parent's run. */
struct run_parent {
    struct str thread, call, run;
    struct str agent;  /* the sub-agent's name */
    int64_t depth;     /* 0: nobody's */
};

/* A run as its events say. */
struct run_state {
    struct str id, reason, model, prompt, text; /* text: what the model said last */
    enum run_status status;
    struct str owner;
    struct run_parent parent;
    int64_t iterations, iterations_max, answer_tokens, created_ms, changed_ms;
    uint64_t status_seq;
    struct run_usage usage;
};
/* The state of run `id` (empty: the last one) in these events of one thread; false when there is none. */
bool run_state_of(struct arena *arena, const struct event *events, size_t count, struct str id,
                  struct run_state *ret_state);
/* {"conversationHistory","lastToolCall","iterationCount","status","usage"} */
void run_write_checkpoint(struct json_out *out, struct arena *arena, const struct event *events, size_t count,
                          const struct run_state *state);
/* Kinds of events that run_state_of and run_write_checkpoint need, as bits. */
uint64_t run_event_kinds(void);

#endif
