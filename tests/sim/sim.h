/* The simulated world: some nodes, one database, a clock, people and agents. One seed makes one run, always the same.
 *
 * A node is the real gate on the real store (gate/, store/store.c with its threads, group.c, memory.c, judge.c), with
 * the real outbox of messages to people (notify/) and Nod's own agent (runtime/). The machine below it is not: threads
 * are fibers (fiber.c), the clock, timers, wakers and random numbers are the seed's (machine.c), the backend keeps its
 * rows in memory (database.c, rows.c), messages go to a receiver in messages.c, and the model's answers are made in
 * runs.c. Clients (clients.c) use gate.h.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/id.h"
#include "event/append.h"
#include "gate/gate.h"
#include "runtime/runtime.h"
#include "store/backend.h"
#include "store/group.h"

enum {
    NODES = 3,
    SESSIONS = 3,
    CALLS = 4, /* of a session: few, so that everything meets */
    SLOTS = SESSIONS * CALLS,
    TOOLS = 5,
    TOKENS = 6,
    FOLLOWERS = 4,
    ROWS_MAX = 1800,
    LATE_GROUPS = 3,
    USES_COUNTED = 256,
    CALL_ROWS_MAX = 1000, /* no client begins anything more: the rest is for answers and messages */
    ARRIVALS_MAX = 2000,
    SENDINGS_MAX = 64,
    CLIENTS_MAX = 24,
    STEPS = 1500,
    CALM_STEPS = 4000,
    CALM_MS = 120000, /* of the calm phase: everything that has a time is over by then */
};

/* Mistakes that can be made on purpose, to see that they are found; more of them are patches, in tests/mutants. The
 * number is a seed that finds it, tried before all others. A change of the program may make it another one, which
 * --mistakes prints. */
#define MISTAKES(X)                                                                     \
    X(NONE, 0, "none")                                                                  \
    X(SECOND_CALL, 1, "the store does not know that a call was made")                   \
    X(SECOND_RESPONSE, 2, "the store does not know that a call has a response")         \
    X(SECOND_START, 486, "the store does not know that a call was started")             \
    X(SECOND_RESULT, 2, "the store does not know that a call has a result")           \
    X(SECOND_ALERT, 2, "the store does not know that there was an alert")               \
    X(OLD_RULES, 25, "the store does not know that rules or tokens have changed")       \
    X(SECOND_RUN, 17, "a run is claimed without the need that nobody else has")          \
    X(EARLY_TIMEOUT, 1, "the clock of a node is a minute ahead, and nobody knows")      \
    X(NOT_SYNCED, 1, "a commit is acknowledged before it is synced")                    \
    X(TORN_GROUP, 173, "half of a group is left when the power fails")                  \
    X(DOUBT_TAKEN_FOR_KEPT, 2, "a commit in doubt is taken for kept")                   \
    X(DOUBT_TAKEN_FOR_LOST, 2, "a commit in doubt is taken for lost")                   \
    X(DOUBT_FORGOTTEN, 710, "a commit in doubt was kept, and nobody looks whether it stays there") \
    X(DOUBT_BY_LAST_LINK, 67, "a commit in doubt is found by the link of its last event alone") \
    X(DOUBT_UNLOCKED, 111, "between the look for a commit in doubt and its repetition the lock is free") \
    X(MARK_WITHOUT_LOCK, 47, "what became of a commit is read without the lock")        \
    X(NO_LOCK, 7, "a group is judged and written without the lock")                    \
    X(HISTORY_UNNOTICED, 4, "nobody looks whether history went backwards")              \
    X(NO_LOOK, 1841, "a follower whose notification is lost never looks by itself")     \
    X(FLIPPED_BYTE, 1, "a byte of a row is flipped")                                    \
    X(GONE_UNTOLD, 196, "numbers that are in archives are not listed")                  \
    X(RUNS_LEFT, 5, "a node that starts does not look for runs that are not over")      \
    X(OTHER_FILES, 89, "a tool acts on files that have changed since they were compared") \
    X(AGENT_DECIDES, 27, "nobody looks whether a token may decide")

enum mistake {
#define X(name, seed, words) MISTAKE_##name,
    MISTAKES(X)
#undef X
    MISTAKE_COUNT
};

/* Faults, of which each seed has some. */
#define FAULTS(X)                                                           \
    X(CRASH)    /* kill -9 of a node */                                     \
    X(POWER)    /* of the one node of a store of its own: what was not synced is gone */ \
    X(AWAY)     /* the database cannot be reached for a while */            \
    X(DOUBT)    /* the connection is lost when COMMIT was sent */           \
    X(STUCK)    /* a node stops in the middle of sending a group */         \
    X(DEAF)     /* notifications are lost */                                \
    X(PROMOTED) /* a standby that lacks the last events takes over */       \
    X(CLOCK)    /* wall clocks differ and are set */                        \
    X(SLOW)     /* readers and followers lag */                             \
    X(HANG_UP)  /* agents leave while they wait */

enum fault {
#define X(name) FAULT_##name,
    FAULTS(X)
#undef X
    FAULT_COUNT
};

/* ---- the database ---- */

struct row {
    struct event event;
    struct digest hash;
    uint64_t chain;      /* the first seq of its session */
    int64_t deadline_ms; /* of a request */
    uint64_t group;      /* rows of one are kept together */
    bool gone;           /* in an archive */
    struct str owner;    /* of runs: the name of the process that wrote it */
};

struct backend_handle {
    int node;
    enum backend_role role;
    struct memory *memory;
    struct append *group;      /* at hand */
    uint64_t seen_seq;
    unsigned generation;       /* of the database's connections, when the lock was taken */
    struct group_sent sent;    /* count 0: nothing was */
    bool locked;               /* since the facts were loaded */
    bool used;                 /* by a thread, or by the loop */
};

/* A COMMIT that is on its way though its sender has lost the connection. It holds the lock. */
struct ghost {
    struct row rows[64];
    size_t count;
};

/* A group that the server has not read yet though its sender has lost the connection: it may come at any time. */
struct late {
    int node;
    struct facts facts;        /* what it rests on */
    struct ghost group;        /* count 0: there is none */
};

struct database {
    bool shared;               /* several nodes, as on PostgreSQL; else one, as on SQLite */
    struct row rows[ROWS_MAX];
    size_t count, synced;
    uint64_t groups;
    size_t shown;              /* that reads see: a commit is seen when it is synced, or found by the next process */
    struct row before[ROWS_MAX]; /* the rows as they were before a standby was promoted */
    size_t before_count, kept_count; /* and how many of them it had; 0: none was */
    void *lock;                /* a handle, the ghost, or NULL */
    struct ghost ghost;
    struct late late[LATE_GROUPS];
    bool notified[NODES];
    unsigned generation;       /* of connections */
    int64_t away_until_us;
};

/* ---- nodes ---- */

struct node {
    struct gate *gate;         /* NULL: it is down */
    struct notify *notify;
    struct runtime *runtime;
    struct timer *timers;
    struct waker *wakers;
    struct before_sleep *before_sleep;
    bool again;                /* loop_again was called */
    int64_t skew_ms;           /* of its wall clock */
    bool ready, dead;          /* dead: killed, nothing that it does counts any more */
    bool broken;               /* it has found that history went backwards, or could not begin: it is started again */
    unsigned epoch;            /* promotions before it started */
};

/* ---- clients ---- */

enum client_kind { CLIENT_NONE, CLIENT_ASK, CLIENT_STATUS, CLIENT_DECIDE, CLIENT_REPORT, CLIENT_EXECUTE, CLIENT_NOTE,
                   CLIENT_SESSION, CLIENT_RULE, CLIENT_TOKEN, CLIENT_CATCH_UP, CLIENT_KEEP, CLIENT_RUN,
                   CLIENT_RUN_DECIDE, CLIENT_KINDS };

struct client {
    union {
        struct op op;
        struct ask ask;
        struct decide decide;
        struct report report;
        struct execute execute;
        struct note note;
        struct mark mark;
        struct session_change session;
        struct rule_change rule;
        struct token_change token;
        struct run_op run;
    };
    enum client_kind kind;
    struct arena arena;
    int node, slot, by;        /* by: a token */
    uint64_t acked;            /* the last seq that anybody had been told of when it began */
    unsigned epoch;
    bool caught_up;            /* its token was looked for */
    bool told_of_token;        /* that the token exists was acknowledged before */
    void (*go)(struct client *client); /* once the token is known */
};

/* Of an append, on its way to the store and back: in its arena, as its `arg`. */
struct submitted {
    void (*done)(struct append *append);
    void *arg;
    int node;
    uint64_t refused_at;       /* the last seq that the refusal may rest on */
};

struct token_known {
    char id[ID_BYTES], name[20];
    bool made, revoking;       /* acknowledged; somebody has begun to make or revoke it */
    unsigned epoch;            /* promotions before somebody began to make it: a standby may lack it */
};

struct follower {
    struct watcher watcher;
    struct watched watched;    /* what it watches */
    int node;                  /* -1: it is connected to none */
    uint64_t told;             /* the last seq */
    unsigned epoch;            /* promotions before it connected */
    bool lost_told, new_told;  /* of events that a promoted standby lacked; that only it has */
    bool lagging;
};

/* What the receiver of messages has seen, and what is on its way. */
struct messages {
    bool wanted;               /* else no node has a route, and follows nothing */
    struct arrival {
        int slot;
        bool asks;             /* else it is a withdrawal */
    } arrived[ARRIVALS_MAX];
    size_t count;
    struct sending_now {
        char delivery[40];     /* empty: none */
        int node, slot;
        bool asks;
    } sending[SENDINGS_MAX];
};

struct world {
    uint64_t seed, step, draws, ids;
    const bool *left_out;      /* steps that are not taken, when a failure is made smaller; NULL: none */
    bool faults[FAULT_COUNT];
    enum mistake mistake;
    int64_t steady_us, wall_ms;
    int64_t most_skew_ms;      /* that any node ever had */
    int at;                    /* the node whose loop runs */
    unsigned node_count, epoch;
    struct arena arena;
    struct database db;
    struct node nodes[NODES];
    struct client clients[CLIENTS_MAX];
    struct token_known tokens[TOKENS];
    struct follower followers[FOLLOWERS];
    struct messages messages;
    uint64_t acked;            /* the last seq that anybody was told of */
    unsigned effects[SLOTS];
    unsigned uses, effects_of_uses[USES_COUNTED]; /* of tools, by Nod's own agent */
    int files;                 /* version of the files that tools show */
    uint64_t ended;            /* operations that had an answer */
    bool calm, trace;
    char failure[300];         /* empty: all is well */
};

extern struct world *sim;

/* sim.c */
uint64_t sim_random(uint64_t below);
bool sim_luck(enum fault fault, uint64_t one_of);
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct str sim_session(int slot);
struct str sim_thread(int slot);
struct str sim_call(int slot);
struct str sim_tool(int slot);
int sim_slot(const struct event *event); /* -1: of no call */

/* machine.c */
void node_start(int number);
/* kill -9: its views are gone, what it had not committed never happened, whoever waited gets no answer. */
void node_kill(int number);
/* A turn of its loop: wakers, timers, what has ended. */
void node_turn(int number);

struct client *clients_new(enum client_kind kind, int node, int slot);
void clients_free(struct client *client);
int clients_slot(const struct client *client); /* of the call that it is about */
void clients_make_session(int node, int slot);

/* runs.c */
void runs_open(int number);
void runs_kill(int number);
bool runs_busy(int number);
struct str runs_owner(int number);
void runs_effect(struct str command, struct str files);
void runs_check_row(const struct row *row);
void runs_act(int node);
struct str runs_open_call(void);
void runs_check_end(void);

/* messages.c */
void messages_open(int number);
bool messages_sending(int number);
/* After a kill: whether it still is at work on any. */
bool messages_busy(int number);
void messages_check_node(const struct node *node);
void messages_check_end(void);

/* database.c, rows.c */
extern const struct backend backend_shared, backend_alone;
void database_power_cut(void);
void database_promote(void);
void database_end_ghost(bool kept);
void database_read_late(void);
void database_drop_connections(void);
void rows_load(struct facts *facts, bool all);
/* Whether that is the link of the session's last row; NULL: it has none. */
bool rows_end_with(struct str session, const struct digest *hash);
void rows_answer(struct read *read);
/* Writes what the judge kept of the group, compared with a look through all rows. */
void rows_settle(struct append *group, const struct rows *rows, struct ghost *ghost);
void rows_add(const struct row *row);
const struct row *rows_find(struct str session, struct str call, enum event_kind kind);

/* clients.c */
void clients_act(int node);
void clients_leave(int node);
bool clients_open(int node); /* whether some have no answer yet */
void clients_hang_up(int number);
void followers_act(int number);
void followers_leave(int node);

/* check.c: shares no code with the gate, the judge or the policy. */
void check_row(const struct row *row);
void check_done(const struct client *client);
void check_told(struct follower *follower, const struct event *event);
/* `count`: the acts of this call, or NULL: it is one of the slots. */
void check_effect(struct str session, struct str call, struct str files, unsigned *count);
void check_node(int number);
void check_end(void);

#endif
