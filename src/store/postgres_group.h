/* What one group is about, as far as the store has to be asked or remembered. Private to the PostgreSQL files. */
#ifndef STORE_POSTGRES_GROUP_H
#define STORE_POSTGRES_GROUP_H

#include "base/map.h"
#include "store/postgres.h"

/* The last event that is known here, and its link. */
struct anchor {
    uint64_t seq; /* 0: none */
    struct digest hash;
};

struct group_head {
    struct str session;
    uint64_t first_seq, last_seq, changed_seq, archived_seq;
    struct digest hash;
    bool dirty;
    struct group_head *next;
};

struct group_call {
    struct str session, call;
    uint64_t seqs[EVENT_KIND_END]; /* by kind, 0: there is none */
    bool assumed;                  /* that there is none at all: WRITE finds out */
    struct group_call *next;
};

struct group_run {
    struct str session, thread;
    uint64_t seq;
    struct group_run *next;
};

struct group {
    struct arena arena;
    struct map heads, calls, runs; /* by session; by "session\ncall"; by "session\nthread" */
    struct group_head *first_head, **end_head;
    struct group_call *first_call, **end_call;
    struct group_run *first_run, **end_run;
    uint64_t first_seq, next_seq;
    struct digest hash_before, hash_last; /* of the events before first_seq and before next_seq; zeros: none */
    bool any_kept;
    bool any_leaves;
    bool commit_sent;
};

/* ---- postgres_memory.c: the store as it was at one seq, as far as anybody has asked ---- */
struct memory;
/* Of that place, shared by all of its handles in this process; closed as often as opened. */
struct memory *memory_open(const char *place);
void memory_close(struct memory *memory);
void memory_clear(struct memory *memory);
/* Fills in what the group is about and its first seq. False: not all of it is remembered. */
bool memory_recall(struct memory *memory, struct group *group);
/* What the group has learnt and written, after its commit. */
void memory_keep(struct memory *memory, const struct group *group);
/* Events that somebody kept, in a row, from row `first` on: EVENT_COLUMNS, hash, chain. */
struct rc memory_follow(struct memory *memory, const PGresult *rows, int first, struct err *err);
/* The last event of the store, as it was found when it was opened. */
void memory_meet(struct memory *memory, const struct anchor *last);
struct anchor memory_anchor(struct memory *memory);
/* History has gone backwards before `seq`: nothing is read or kept through this memory any more. ERR_HISTORY. */
struct rc memory_break(struct memory *memory, uint64_t seq, struct err *err);
/* The same again, once that has happened. */
struct rc memory_check(struct memory *memory, struct err *err);

/* ---- postgres_history.c ---- */
/* `anchor` is what was asked for, `hash` what the store has under its number, if anything was `found`. */
struct rc postgres_check_history(struct backend_handle *handle, const struct anchor *anchor, bool found,
                                 const struct digest *hash, struct err *err);

#endif
