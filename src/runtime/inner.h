/* Internals of runtime/; include it there only.
 *
 * The loop knows which runs there are and who owns them (core/runs.c). A run is worked on by a job of the pool: it
 * reads the thread's events, does one step after the other (turn.c) and asks the loop for all the rest (worker.c). */
#ifndef RUNTIME_INNER_H
#define RUNTIME_INNER_H

#include "base/id.h"
#include "base/limits.h"
#include "gate/gate.h"
#include "io/work.h"
#include "runtime/core/runs.h"
#include "runtime/provider.h"
#include "runtime/runtime.h"
#include "runtime/talk.h"

struct fetch_line;

/* The job that is at work on a run. */
struct run_job {
    struct runtime *runtime;
    struct run *run;
    struct job job;
    atomic_bool cancelled;      /* set: the job ends at its next step */
};

/* All of runtime/; used on the loop. Workers reach it through their struct worker. */
struct runtime {
    struct loop *loop;
    struct gate *gate;
    struct runtime_options options;
    struct arena arena;
    struct work_pool *pool;
    struct runs runs;
    struct watched what;
    struct watcher watcher;
    struct timer *trouble;      /* wakes the runs whose last job ended with RUN_TROUBLE */
    struct timer *rest;         /* after the last job */
    struct timer *leases;       /* fires several times within a lease */
    struct str tools;           /* definitions */
    bool started;
    bool unread;                /* the runs could not be read: tried again when `trouble` fires */
    void (*ended)(void *arg);
    void *ended_arg;
};

/* ---- the state of a job ---- */
struct worker {
    struct run *run;
    struct run_job *job;
    struct runtime *runtime;
    struct arena arena;         /* for as long as the job */
    struct talk talk;
    struct str root;            /* the session's folder */
    struct str actor;           /* the actor of its calls */
    bool may_search;            /* rules allow WebSearch */
    bool main;                  /* the thread is the session's main one */
    uint64_t fence;             /* seq of the RUN_STATUS that says it is ours */
    struct fetch_line *line;
};

static inline bool worker_cancelled(const struct worker *w)
{
    return atomic_load_explicit(&w->job->cancelled, memory_order_relaxed);
}

/* ---- runs.c ---- */
/* Examines the run: now, or again after its current job ends. */
void runtime_wake(struct runtime *runtime, struct str session, struct str thread);

/* ---- moves.c ---- */
/* Cancels the runs of the thread's sub-agents that are not over. */
void move_cancel_children(struct runtime *runtime, struct str session, struct str thread);

/* ---- status.c: RUN_STATUS ---- */
struct status_change {
    enum run_status to;
    const char *reason;
    struct str owner;           /* empty: nobody is at work on it */
    bool figures;               /* the state was read from all events, so its sums are complete */
};
struct str run_status_data(struct arena *arena, const struct run_state *run, const struct status_change *change);

/* ---- task.c: sub-agents ---- */
/* Whether this run may start one more sub-agent, besides those that wait to start; the error is written for the model.
 * */
struct rc task_check(const struct worker *w, int64_t waiting, struct err *why);
/* Fills in how the sub-agent begins: its thread, its prompt, its status; all in the execute's arena. */
struct rc task_prepare(struct worker *w, const struct call *call, struct execute *execute, struct err *err);
/* Whether a sub-agent of an open call has ended. */
struct rc task_ready(struct worker *w, bool *ret_ready, struct err *err);
/* Stores the final texts of sub-agents that have ended as the results of their calls. */
struct rc task_collect(struct worker *w, struct err *err);
/* Whether this is the run of a sub-agent whose parent no longer waits for it. */
struct rc task_orphaned(struct worker *w, bool *ret_orphaned, struct err *err);

/* turn.c: the job. */
void run_work(struct job *job);

/* offer.c: the definitions of tools for the next question. */
struct rc offer_tools(struct worker *w, struct str *ret_tools, struct err *err);

/* model.c: one answer, after retries and other providers. */
struct rc model_ask(struct worker *w, struct request *request, struct answer *answer, struct err *err);

/* ---- worker.c: requests of a job to the loop; each returns when it is done ---- */
/* Brings the talk up to date with the thread's events. */
struct rc worker_load(struct worker *w, struct err *err);
/* The state of run `id` in another thread of the session, from its events of these kinds; empty when there is none. */
struct worker_run {
    struct arena *arena;
    struct str thread, id;
    uint64_t kinds;
    struct run_state state;
};
struct rc worker_run(struct worker *w, struct worker_run *run, struct err *err);
void worker_wake(struct worker *w, struct str thread);
/* Whether the run's owner is taken for dead (core/runs.h). */
bool worker_owner_silent(struct worker *w);
/* Reads the session's folder, and the description of this thread in its session. */
struct rc worker_root(struct worker *w, struct err *err);
/* Keeps one event of the thread under the fence. ERR_CONFLICT: the run is not ours any more. */
struct rc worker_keep(struct worker *w, enum event_kind kind, struct str data, uint64_t *ret_seq, struct err *err);
/* Stores an append unchanged, and frees it; ERR_CONFLICT when a need did not hold. */
struct rc worker_append(struct worker *w, struct append *append, struct err *err);
void worker_ask(struct worker *w, struct ask *asks, size_t count);
void worker_execute(struct worker *w, struct execute *executes, size_t count);
void worker_decide(struct worker *w, struct decide *decide);
void worker_say(struct worker *w, struct str json);

#endif
