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

/* The head of a session's chain; all zero: the session has no events. */
struct fact_head {
    struct str session;
    uint64_t key_hash;      /* map_hash of the session */
    uint64_t first_seq, last_seq;
    uint64_t no;            /* the number of its last event within the session */
    uint64_t changed_seq;   /* seq of its last SESSION_CHANGED event, 0: none */
    uint64_t archived_seq;  /* seq of its SESSION_ARCHIVED event, 0: not archived */
    struct digest hash;     /* chain hash of its last event */
    struct digest hash_before; /* the same before this group */
    bool known;             /* filled in */
    bool stored;            /* the store had a row for it before this group */
    bool dirty;             /* this group has changed it */
    bool changed;           /* the head is new, or more of it than the end of its chain has changed */
    struct fact_head *next, *next_in_bucket;
};

/* A call as far as it is known: the seq of each of its events. */
struct fact_call {
    struct str session, call, key; /* the key: "session\ncall" */
    uint64_t key_hash;
    struct fact_head *head;        /* of the session */
    uint64_t seqs[EVENT_KIND_END]; /* by kind, 0: there is none */
    bool known;
    bool made;     /* an append of this group brings its TOOL_CALL */
    bool assumed;  /* filled in as absent without reading the store; the write detects when that is wrong */
    struct fact_call *next, *next_in_bucket;
};

/* The last status of a thread's run, by its seq. */
struct fact_run {
    struct str session, thread;
    uint64_t seq; /* seq of its last RUN_STATUS event, 0: none */
    struct fact_run *next;
};

/* Everything that a group depends on. Made for one group and thrown away with it. */
struct facts {
    struct arena arena;
    struct fact_head *first_head, **end_head;
    struct fact_call *first_call, **end_call;
    struct fact_run *first_run, **end_run;
    size_t head_count, call_count, run_count;
    struct fact_head **heads;      /* by session: a hash table in the arena; NULL while they are few */
    struct fact_call **calls;      /* likewise, by "session\ncall" */
    struct map runs;               /* by "session\nthread" */
    struct fact_head *recent_head; /* the one found last: the next lookup is mostly for the same */
    struct fact_head *installation; /* the head of events that belong to no session */
    struct fact_call *recent_call;
    bool leaves;                   /* the group archives a session */
    bool recalled;                 /* last_seq is filled in, from memory */
    uint64_t known_after;          /* then: a session or call that memory does not know has no event after this one */
    uint64_t last_seq;             /* last seq in the store before this group */
    struct digest last_hash;       /* chain hash of that event; zeros: not known, or there is none */
    uint64_t next_seq;
    struct digest next_hash;       /* chain hash of the event before next_seq */
};

/* One event to be written, in the order of seq. */
struct event_row {
    struct event *event;
    const struct fact_call *call; /* NULL: it is of none */
    struct digest hash;
    uint64_t chain;       /* the first seq of its session */
    uint64_t call_seq;    /* seq of its call's TOOL_CALL; 0: it is that event, or belongs to no call */
    int64_t deadline_ms;
    bool opens;           /* a request that this group does not answer */
    uint64_t closes;      /* of a response: seq of the request if it was stored before this group; 0: otherwise */
    const struct archived *leaves; /* set: this event archives its session, whose other events are deleted */
};

/* The rows that a kept group adds, in the order of seq. */
struct rows {
    struct event_row *events;
    size_t count;
    bool whole;     /* every append of the group is accepted */
};

/* Collects the facts that the group depends on, the heads of all their sessions among them, and clears the seqs of its
 * events. The facts must be zeroed; they refer to the group's strings. */
void facts_name(struct facts *facts, struct append *group);
void facts_done(struct facts *facts);
struct fact_head *facts_head(struct facts *facts, struct str session);
struct fact_call *facts_call(struct facts *facts, struct str session, struct str call);
struct fact_run *facts_run(struct facts *facts, struct str session, struct str thread);
/* The key of a call or run in a map: session and id, parted by a newline, which neither may contain. */
struct str facts_pair(struct arena *arena, struct str a, struct str b);

/* Judges the group: sets outcomes and seqs; the rows to write live in the facts' arena. Call it once per facts. */
void judge_group(struct facts *facts, struct append *group, struct rows *ret_rows);
/* Other processes' events came in between, none of them about a session that the facts name: gives the events of the
 * group the numbers behind `last_seq`, and changes all that refers to them. */
void judge_move(struct facts *facts, struct rows *rows, uint64_t last_seq);

#endif
