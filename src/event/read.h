/* A question to the store and its answer: a value. Made by read_new, filled in, handed over, given back to `done`,
 * freed by the receiver with read_free. */
#ifndef EVENT_READ_H
#define EVENT_READ_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "event/event.h"

enum read_kind {
    READ_EVENTS,   /* by scope, `after` a seq, ascending; a page: at most `limit`, at most some MiB */
    READ_CALL,     /* the events of call `call`: in `session`, or in all sessions when that is empty; `archived`
                      of the sessions that took such a call along */
    READ_OPEN,     /* calls that were asked and not answered, oldest first, by scope; all, or `limit` of
                      those asked `after` a seq */
    READ_SESSIONS, /* sessions by last event, newest first: their SESSION_CHANGED events; a page of `limit`
                      sessions whose last event is `before` a seq (0: all) */
    READ_SESSION,  /* the SESSION_CHANGED events of `session`, or its `archived` */
    READ_TOKENS,   /* the TOKEN_CHANGED events */
    READ_RULES,    /* the RULE_CHANGED events */
    READ_RUNS,     /* the last RUN_STATUS of every thread that has one, `after` a seq, ascending */
    READ_CHAINS,   /* sessions without open approvals whose last event is not younger than `until_ms`, by the
                      seq of their first event, `after` one; a page of `limit`. Or the one of `session` */
};

struct open_approval {
    struct event call;    /* TOOL_CALL */
    struct event request; /* TOOL_APPROVAL_REQUEST */
    int64_t deadline_ms;
};

/* The end of a session's chain. */
struct chain_end {
    struct str session;
    uint64_t first_seq, last_seq;
    struct digest hash;
};

/* A range of seqs whose events are in archives. */
struct seq_range {
    uint64_t first, last;
};

/* A call that a search of the history may have found. */
struct search_hit {
    uint64_t seq; /* of its TOOL_CALL */
    struct str session, call;
};

/* A question to the store and its answer. The store owns it between store_read and `done`. */
struct read {
    enum read_kind kind;
    struct arena arena;    /* owns the question's strings and the answer */
    struct str session;    /* scope; empty: every session */
    struct str thread;     /* scope; empty: every thread. READ_EVENTS and READ_OPEN: needs `session` too */
    struct str call;
    uint64_t kinds;        /* READ_EVENTS: bit 1 << kind; 0: all */
    uint64_t after;
    uint64_t before;
    int64_t until_ms;
    unsigned limit;

    struct err err;        /* code ERR_OK when it went well */
    struct event *events;
    size_t event_count;
    struct open_approval *open;
    size_t open_count;
    struct event *archived; /* SESSION_ARCHIVED events */
    size_t archived_count;
    struct chain_end *chains;
    size_t chain_count;
    struct seq_range *gone; /* READ_EVENTS of all sessions and kinds: archived ranges between the events */
    size_t gone_count;
    uint64_t covered;      /* READ_EVENTS, READ_OPEN, _TOKENS, _RULES: everything of the scope up to this seq has
                              been returned. READ_SESSIONS: `before` of the next page, 0: this was the last */
    uint64_t seen;         /* the last seq of the state it was answered from, when others write, too */
    int64_t took_us;       /* in the backend */

    void (*done)(struct read *read);
    void *arg;
    struct read *next;
};

struct read *read_new(enum read_kind kind);
/* Makes a read with these values and copies of the texts in them. */
struct read *read_new_of(struct read values);
/* A READ_CALL with copies of both ids. */
struct read *read_new_call(struct str session, struct str call);
void read_free(struct read *read);
/* Whether all seqs between these two are archived. True also for some that were archived after the events were read. */
bool read_in_a_row(const struct read *read, uint64_t before, uint64_t seq);

#endif
