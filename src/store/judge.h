/* The judge of a group of appends: which are kept and which are refused. Pure, the same for every backend.
 *
 *   facts_name    what must be known: heads of sessions, events of calls, last statuses of runs
 *   a backend (or memory.h) fills in what the store has
 *   judge_group   needs, the order of a call's events, numbers, links; what has to be written
 *
 * Appends are judged one after the other, each by what the earlier ones of its group have added. A refused or faulty
 * append adds nothing. Nothing here reads a clock, allocates outside the facts' arena, or calls anybody back.
 */
#ifndef STORE_JUDGE_H
#define STORE_JUDGE_H

#include "base/map.h"
#include "event/archived.h"
#include "store/store.h"

/* A session as its chain ends; all zero: it has no event. */
struct fact_head {
    struct str session;
    uint64_t first_seq, last_seq;
    uint64_t changed_seq;   /* of its last SESSION_CHANGED, 0: none */
    uint64_t archived_seq;  /* of its SESSION_ARCHIVED, 0: not archived */
    struct digest hash;     /* of its last event */
    bool known;             /* filled in */
    bool stored;            /* the store has a row of it, from before this group */
    bool dirty;             /* this group has changed it */
    struct fact_head *next;
};

struct fact_call {
    struct str session, call, key; /* the key: "session\ncall" */
    uint64_t seqs[EVENT_KIND_END]; /* by kind, 0: there is none */
    bool known;
    bool made;     /* an append of this group brings its TOOL_CALL */
    bool assumed;  /* filled in as absent without a look: writing finds out */
    struct fact_call *next;
};

struct fact_run {
    struct str session, thread;
    uint64_t seq; /* of its last RUN_STATUS, 0: none */
    struct fact_run *next;
};

struct facts {
    struct arena arena;
    struct fact_head *first_head, **end_head;
    struct fact_call *first_call, **end_call;
    struct fact_run *first_run, **end_run;
    size_t head_count, call_count, run_count;
    struct map heads, calls, runs; /* by session; by "session\ncall"; by "session\nthread"; empty while they are few */
    struct fact_head *recent_head; /* found last: the next question is mostly about the same */
    struct fact_call *recent_call;
    bool leaves;                   /* a session is to leave for an archive */
    bool recalled;                 /* last_seq is filled in, from memory */
    uint64_t last_seq;             /* the last of the store before this group */
    struct digest last_hash;       /* its link; zeros: not known, or there is none */
    uint64_t next_seq;
    struct digest next_hash;       /* of the event before next_seq */
};

/* One event to be written, in the order of seq. */
struct event_row {
    const struct event *event;
    struct digest hash;
    uint64_t chain;       /* the first seq of its session */
    uint64_t call_seq;    /* of the TOOL_CALL it is about; 0: it is that one, or of no call */
    int64_t deadline_ms;
    bool opens;           /* a request that stays unanswered */
    uint64_t closes;      /* a response: the seq of the request, which the store had before this group; 0: no such */
    const struct archived *leaves; /* the session's other events leave with this one; NULL: no */
};

struct rows {
    struct event_row *events;
    size_t count;
    bool whole;     /* every append is kept */
};

/* The group's events lose their numbers. The facts must be zeroed; they refer to the group's strings. */
void facts_name(struct facts *facts, struct append *group);
void facts_done(struct facts *facts);
struct fact_head *facts_head(struct facts *facts, struct str session);
struct fact_call *facts_call(struct facts *facts, struct str session, struct str call);
struct fact_run *facts_run(struct facts *facts, struct str session, struct str thread);

/* Once per facts. Outcomes, seqs; the rows live in the facts' arena. */
void judge_group(struct facts *facts, struct append *group, struct rows *ret_rows);

#endif
