/* The simulated world: some nodes, one store, a clock, people and agents. One seed makes one run, always the same. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "gate/core/core.h"
#include "gate/inner.h"

enum {
    NODES = 3,
    SESSIONS = 2,
    CALLS = 5, /* of a session: few, so that everything meets */
    SLOTS = SESSIONS * CALLS,
    ROWS_MAX = 4000,
    FLIGHTS_MAX = 64,
    OPS_MAX = 32,
    STEPS = 600,
    CALM_STEPS = 4000,
    CALM_MS = 120000, /* of the calm phase: everything that has a time is over by then */
};

/* Mistakes that can be made on purpose, to see that they are found. */
#define MISTAKES(X)                                                            \
    X(NONE, "none")                                                            \
    X(SECOND_RESPONSE, "a response is kept without the need that there is none") \
    X(NOT_REQUESTED, "a response is kept without the need that it was requested") \
    X(OLD_VERDICT, "a call is kept without the need that its session is unchanged") \
    X(OLD_RULES, "a call is kept without the need that the rules are unchanged") \
    X(SECOND_CALL, "a call is kept without the need that there is none")       \
    X(EARLY_TIMEOUT, "a deadline fires before its time")                       \
    X(SECOND_RESULT, "a result is kept without the need that there is none")   \
    X(EARLY_ANSWER, "an answer is given before it is durable")                 \
    X(SECOND_ALERT, "an alert is kept without the need that there is none")    \
    X(SECOND_RUN, "a run is claimed without the need that nobody else has")    \
    X(DEADLINE_LOST, "a deadline is not armed again after a restart")          \
    X(RING_LOST, "whoever waits is not rung")                                  \
    X(WAIT_FOREVER, "the end of a wait is not noticed")

enum mistake {
#define X(name, words) MISTAKE_##name,
    MISTAKES(X)
#undef X
    MISTAKE_COUNT
};

/* Faults, of which each seed has some. */
enum fault { FAULT_CRASH, FAULT_STORE_AWAY, FAULT_CLOCK, FAULT_SLOW, FAULT_HANG_UP, FAULT_COUNT };

enum op_kind { OP_NONE, OP_ASK, OP_STATUS, OP_DECIDE, OP_TIMEOUT, OP_REPORT };

/* An operation of a client of a node, or a deadline of the node itself. */
struct sim_op {
    union {
        struct op op;
        struct ask ask;
        struct decide decide;
        struct report report;
    };
    enum op_kind kind;     /* OP_NONE: the place is free */
    struct arena arena;
    struct read *read;     /* asked for and not answered */
    bool judge;            /* asked for */
    bool parked;
    int node, slot;
    int64_t began_ms;      /* by the node's wall clock, which may be set meanwhile */
    uint64_t judged_at, delivered; /* the session's last change, and the last seq told, when it was judged */
};

/* An append on its way to the store and back. */
struct flight {
    struct append *append; /* NULL: the place is free */
    struct sim_op *op;     /* whose it is; NULL: the node's own */
    int node, slot;
    uint64_t order;        /* of handing over */
    bool committed;
};

/* A process: its views, computed from what it was told so far. */
struct node {
    size_t told;           /* rows */
    struct arena arena;
    struct core core;
    uint64_t changed[SESSIONS], run_at[SESSIONS];
    int64_t skew_ms;       /* of its wall clock */
    bool restarted;
};

struct world {
    uint64_t seed, step, draws, order;
    const bool *left_out;  /* steps that are not taken, when a failure is made smaller; NULL: none */
    bool faults[FAULT_COUNT];
    enum mistake mistake;
    int64_t wall_ms, calm_until_ms;
    struct arena arena;
    struct event rows[ROWS_MAX];
    struct digest hashes[ROWS_MAX]; /* of the rows */
    size_t count;
    struct node nodes[NODES];
    struct flight flights[FLIGHTS_MAX];
    struct sim_op ops[OPS_MAX];
    uint64_t ended[OP_REPORT + 1];  /* operations, by kind */
    bool calm, trace;
    char failure[300];     /* empty: all is well */
};

/* sim.c */
uint64_t sim_random(struct world *world, uint64_t below);
void sim_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct str slot_call(int slot);
struct str slot_session(int slot);
int slot_of(const struct event *event);

/* store.c: the real judge over rows in memory. */
void store_commit_some(struct world *world);
struct read *store_answer(struct world *world, struct read *read);

/* ops.c: drives operations as gate/op.c does. */
struct sim_op *op_new(struct world *world, enum op_kind kind, int node, int slot);
void op_step(struct world *world, struct sim_op *op);
void op_give_judgement(struct world *world, struct sim_op *op);
void op_hang_up(struct world *world, struct sim_op *op);
void op_forget(struct sim_op *op);

/* node.c */
struct now node_now(const struct world *world, int node);
void node_follow(struct world *world, struct node *node, size_t rows);
void node_restart(struct world *world, struct node *node);
void node_done(struct node *node);
void node_fire(struct world *world, int node);
/* What was due, and is still open, is due again. */
void node_put_back(struct node *node, int slot, bool alerted);
void node_hand_back(struct world *world, struct flight *flight);
struct flight *flight_new(struct world *world, struct sim_op *op, int node, int slot, struct append *append);

/* check.c: shares no code with the core. */
void check_row(struct world *world, const struct flight *flight, const struct event *event);
void check_append(struct world *world, const struct append *append, bool committed);
void check_op(struct world *world, const struct sim_op *op);
void check_waiters(struct world *world, const struct node *node);
void check_end(struct world *world);

#endif
