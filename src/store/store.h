/* What happened is kept, in order, before anyone is told.
 *
 * The store owns a writer thread and reader threads; its callers live on the event loop and never block.
 * They hand over values (an append, a read) and get them back, filled in, on the loop.
 *
 * Promises
 *  1. An append is atomic: all of its events are kept, or none.
 *  2. It is kept only if all of its needs hold at that moment, in the one order of all appends.
 *  3. `done` of an append that was kept is called after it is durable (power loss included), never before.
 *  4. Committed events reach the follower in the order of `seq`, each exactly once, before `done` of the
 *     appends that brought them. Events of other processes on the same store come the same way.
 *  5. What has arrived while a commit was under way is committed as one group (one sync for all).
 *  6. Reads see every event the follower has been given; and whatever other processes have kept that a read has
 *     seen, the follower is given before its answer.
 *  7. No callback runs inside a call of store_append or store_read.
 *
 * Only a backend (backend.h) knows how bytes are kept; nothing here knows SQL.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "event/event.h"

struct loop;
struct store;

/* ---- needs: what must hold for an append to be kept ---- */
enum need_kind {
    NEED_NONE,
    NEED_ABSENT,     /* the session has no event of `kind` for `call` */
    NEED_PRESENT,    /* the session has one */
    NEED_CHANGED_AT, /* the last SESSION_CHANGED of `session` has this seq (0: the session is new) */
    NEED_RUN_AT,     /* the last RUN_STATUS of thread `call` in `session` has this seq (0: it has none) */
    NEED_LAST_AT,    /* the last event of `session` has this seq (0: it has none) */
    NEED_NONE_AFTER, /* `session` (empty: the installation, its tokens and rules) has no event after this seq */
};

struct need {
    enum need_kind need;
    enum event_kind kind;
    struct str session;
    struct str call;
    uint64_t seq;
};

enum { APPEND_NEEDS_MAX = 4, APPEND_EVENTS_MAX = 8 };

enum append_outcome {
    APPEND_KEPT,
    APPEND_REFUSED, /* need number `refused_need` did not hold; nothing was kept */
    APPEND_FAILED,  /* the store could not (full disk, …), or may not (the session was archived): `err` says
                       why; nothing was kept */
};

/* Made by append_new, filled in, handed over with store_append, given back to `done`, freed by the
 * receiver with append_free. All bytes it refers to live in its arena. */
struct append {
    struct arena arena;
    unsigned need_count;
    unsigned event_count;
    struct need needs[APPEND_NEEDS_MAX];
    struct event events[APPEND_EVENTS_MAX]; /* seq is filled in when kept */
    int64_t deadline_ms;  /* of the TOOL_APPROVAL_REQUEST among the events, 0: none */
    enum append_outcome outcome;
    unsigned refused_need;
    struct err err;
    void (*done)(struct append *append);
    void *arg;            /* the receiver's */
    int64_t queued_us;    /* the store's: when it was handed over, by the steady clock; 0: it was not */
    struct append *next;  /* the store's */
    struct read *others;  /* the store's: what other processes have kept before these events */
};

struct append *append_new(void);
void append_free(struct append *append);
/* Adds one; the strings must outlive the append or lie in its arena. */
void append_need(struct append *append, struct need need);
struct event *append_event(struct append *append, struct event event);

/* ---- reads ---- */
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

/* A session as its chain ends. */
struct chain_end {
    struct str session;
    uint64_t first_seq, last_seq;
    struct digest hash;
};

/* Numbers whose events are in archives. */
struct seq_range {
    uint64_t first, last;
};

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
    struct seq_range *gone; /* READ_EVENTS of all sessions and kinds: what is left out between the events */
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
void read_free(struct read *read);

/* ---- the store ---- */
struct store_options {
    const char *url;       /* "sqlite:/path/to/nod.db", "postgres://user@host/database" */
    unsigned readers;      /* threads; 0 means 2 */
    unsigned look_ms;      /* how often to look for what other processes keep even when nobody calls; 0: 500 */
    /* The events live as long as the call. A read may have answered with some of them before. */
    void (*follow)(void *arg, const struct event *events, size_t count);
    /* On the loop, each time it turns: nothing can be kept or read at the moment, or it can again. May be NULL. */
    void (*away)(void *arg, bool away);
    void *arg;
};

struct store_figures {
    uint64_t groups, appends, events;  /* committed since start */
    uint64_t refused, failed;          /* appends */
    uint64_t reads, read_us;
    uint64_t commit_us;
    uint64_t group_size_counts[8];     /* appends per group: 1, 2-3, 4-7, 8-15, … */
    bool healthy;                      /* as store_healthy says */
};

/* Opens (or creates) what `url` names, checks version and integrity, and starts the threads. */
struct rc store_open(struct loop *loop, const struct store_options *options, struct store **ret_store,
                     struct err *err);
/* Commits what was handed over, stops the threads; every append and read has been given back. Runs the
 * callbacks itself; what they hand over in turn fails. */
void store_close(struct store *store);

void store_append(struct store *store, struct append *append);
void store_read(struct store *store, struct read *read);
/* The seq of the last event that was kept when the store was opened or delivered since. */
uint64_t store_last_seq(const struct store *store);
struct store_figures store_figures(const struct store *store);
/* Other processes may write to it, too. */
bool store_is_shared(const struct store *store);
/* Whether events can be kept, as far as the last try says, and read. */
bool store_healthy(const struct store *store);

#include "store/store_archive.h"
#include "store/store_whole.h"

#endif
