/* Which runs this process works on, which wait, and which of other processes are left over: values in, values out.
 *
 * No clock, no thread, no store and no callback (dev/symbols checks it on symbols): the time is an argument, and a
 * struct runs_out says what is to be done. The driver (runtime/runs.c) does it on the loop.
 *
 *  1. A run that waits costs an entry in a map. It is woken by following: a response to one of its calls, whoever gave
 *     it and wherever. A wake while a job is at work on it makes it look once more when that is done, so that nothing
 *     that is kept between its last look and its end is missed.
 *  2. A process that works on runs says so with RUN_LEASE, several times within a lease; a claim says so, too. A
 *     process that has not been heard of for a lease is taken for dead. The time is measured here, from when the
 *     event came: clocks of different machines are not compared, and a process that has just started waits for a
 *     whole lease.
 *  3. Being wrong costs work and does no harm: the claim moves the fence, so that the old owner's next act is refused,
 *     and it puts the run down when it is told.
 * A store that only this process uses needs no leases: whoever owned a run before is gone.
 */
#ifndef RUNTIME_CORE_RUNS_H
#define RUNTIME_CORE_RUNS_H

#include "base/map.h"
#include "event/event.h"

/* Why a job has ended. */
enum run_end {
    RUN_OVER,    /* the run has ended */
    RUN_WAITS,   /* it waits for an answer, which wakes it */
    RUN_LEFT,    /* another process owns it, or it was released: not ours any more */
    RUN_TROUBLE, /* the store failed: tried again soon */
};

/* A run that someone works on here, or that waits for an answer. By thread: a thread has one at a time. */
struct run {
    struct str session, thread; /* in `bytes` */
    bool working, again;        /* again: an event came meanwhile, examine the run once more */
    enum run_end end;           /* result of the last job, written by that job */
    uint64_t from; /* written by the job: seq of a COMPACTION from which the next one may read; 0: from the start */
    void *job;                  /* private to the driver, while a job runs */
    struct run *next;           /* in a list of runs_out */
    char bytes[];
};

/* All runs that this process knows of, its own and others'. */
struct runs {
    struct map runs;            /* thread → struct run */
    struct map owners;          /* known processes → struct heard */
    struct map elsewhere;       /* threads of runs that another process owns, or none yet → struct elsewhere */
    struct str owner;           /* name of this process in RUN_STATUS events */
    int64_t lease_us;           /* 0: only this process uses the store */
    int64_t began_us;
    bool stopping;              /* no job begins any more */
};

/* Instructions for the driver. */
struct runs_out {
    struct run *start, *start_last; /* a job begins on each of these, in this order */
    struct run *cancel;         /* the job of each of these ends at its next step */
    bool trouble;               /* call runs_try_again in a while */
    bool cancel_children;       /* cancel the sub-agents of the event's thread: their results are not needed any more */
    bool end_commands;          /* end the background commands of the event's session */
};

/* Takes a delivered event: RUN_STATUS, RUN_LEASE, or the response to a call of the thread. */
void runs_follow(struct runs *runs, const struct event *event, int64_t now_us, struct runs_out *out);
/* The last RUN_STATUS of a thread, read at the start. */
void runs_recover(struct runs *runs, const struct event *event, int64_t now_us, struct runs_out *out);
/* Examines the run: now, or again after its current job ends. */
void runs_wake(struct runs *runs, struct str session, struct str thread, struct runs_out *out);
/* Called when a job has ended; the run may have been freed afterwards. */
void runs_ended(struct runs *runs, struct run *run, struct runs_out *out);
/* Examines again the runs whose last job ended with RUN_TROUBLE. */
void runs_try_again(struct runs *runs, struct runs_out *out);
/* Wakes the runs whose owner is silent; forgets owners that were silent for long. */
void runs_take_over(struct runs *runs, int64_t now_us, struct runs_out *out);
/* Whether no event of this owner came for the length of a lease. */
bool runs_silent(const struct runs *runs, struct str owner, int64_t now_us);
/* No job begins from now on; those at work are to end. */
void runs_stop(struct runs *runs, struct runs_out *out);
void runs_done(struct runs *runs);

#endif
