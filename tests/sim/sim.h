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
    REPORTS_MAX = 16,
    STEPS = 600,
    CALM_STEPS = 4000,
};

/* Mistakes that can be made on purpose, to see that they are found. */
#define MISTAKES(X)                                                            \
    X(NONE, "none")                                                            \
    X(SECOND_RESPONSE, "a response is kept without the need that there is none") \
    X(NOT_REQUESTED, "a response is kept without the need that it was requested") \
    X(OLD_VERDICT, "a call is kept without the need that its session is unchanged") \
    X(SECOND_CALL, "a call is kept without the need that there is none")       \
    X(EARLY_TIMEOUT, "a deadline fires before its time")                       \
    X(SECOND_RESULT, "a result is kept without the need that there is none")   \
    X(EARLY_ANSWER, "an answer is given before it is durable")                 \
    X(SECOND_ALERT, "an alert is kept without the need that there is none")    \
    X(DEADLINE_LOST, "a deadline is not armed again after a restart")

enum mistake {
#define X(name, words) MISTAKE_##name,
    MISTAKES(X)
#undef X
    MISTAKE_COUNT
};

enum flight_kind { FLIGHT_CALL, FLIGHT_RESPONSE, FLIGHT_ALERT, FLIGHT_CHANGE, FLIGHT_REPORT };

/* An append on its way to the store and back. */
struct flight {
    struct append *append; /* NULL: the place is free */
    enum flight_kind kind;
    int node, slot;
    uint64_t order;        /* of handing over */
    uint64_t judged_at;    /* FLIGHT_CALL: the change of the session that it was judged by */
    bool committed;
    struct report *report; /* FLIGHT_REPORT */
};

struct sim_report {
    struct report report;
    struct arena arena;
    struct read *read;     /* asked for and not answered */
    int node, slot;
    bool busy;
};

/* A process: its views, computed from what it was told so far. */
struct node {
    size_t told;           /* rows */
    struct arena arena;
    struct call calls[SLOTS];
    struct open *open[SLOTS];
    struct due due;
    uint64_t changed[SESSIONS];
    int64_t skew_ms;       /* of its wall clock */
    bool restarted;
};

struct world {
    uint64_t seed, steps, order;
    enum mistake mistake;
    int64_t wall_ms;
    struct arena arena;
    struct event rows[ROWS_MAX];
    struct digest hashes[ROWS_MAX]; /* of the rows */
    size_t count;
    struct node nodes[NODES];
    struct flight flights[FLIGHTS_MAX];
    struct sim_report reports[REPORTS_MAX];
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

/* node.c */
void node_follow(struct world *world, struct node *node, size_t rows);
void node_restart(struct world *world, struct node *node);
void node_fire(struct world *world, int node);
void node_hand_back(struct world *world, struct flight *flight);
struct flight *flight_new(struct world *world, enum flight_kind kind, int node, int slot, struct append *append);
void report_move(struct world *world, struct sim_report *report);

/* check.c: shares no code with the core. */
void check_row(struct world *world, const struct flight *flight, const struct event *event);
void check_answer(struct world *world, const struct flight *flight);
void check_end(struct world *world);

#endif
