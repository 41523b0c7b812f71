/* `nod bench`: a running server and the disk below it, measured side by side.
 *
 * A figure of one machine says little about another, and one of this minute little about the next: so every
 * figure stands beside a yardstick taken in the same seconds on the same file system, append 1 KB and
 * fdatasync. Blocks alternate, medians are kept, and a disk that changed in between is called noisy. What
 * was acknowledged is counted again afterwards, by reading the events.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/bench_measure.h"
#include "bench/bench_wire.h"
#include "cli/cli.h"

/* Every figure that a part may tell; printed in this order.
 *
 *    id, part and name for programs, unit, words for people */
#define FIGURES(X)                                                                                         \
    X(DISK_RATE, "disk", "perSecond", "/s", "the yardstick: append 1 KB, fdatasync")                       \
    X(DISK_P50, "disk", "p50", "us", "the yardstick over the whole run: p50")                              \
    X(DISK_P99, "disk", "p99", "us", "  p99")                                                              \
    X(GATE_RATE, "gate", "perSecond", "/s", "durable calls, many agents; beside the disk")                 \
    X(GATE_PING, "gate", "toPing", "/s", "the same; beside an empty POST")                                 \
    X(GATE_P99, "gate", "p99", "us", "p99 of one call; beside p50")                                        \
    X(GATE_KEPT, "gate", "acknowledged", "", "calls acknowledged; found again in the log")                 \
    X(ONE_P50, "one", "p50", "us", "a durable call, one agent, p50; beside the disk's")                    \
    X(ONE_P99, "one", "p99", "us", "  p99")                                                                \
    X(ANSWER_P50, "answer", "p50", "us", "decision until the waiting agent has it, p50; beside the disk's") \
    X(ANSWER_RESTED, "answer", "rested", "us", "  p50; beside a disk that rests as long before")           \
    X(ANSWER_P99, "answer", "p99", "us", "  p99")                                                          \
    X(STREAMS_JOIN, "streams", "join", "ms", "all readers join")                                           \
    X(STREAMS_MEMORY, "streams", "memory", "B", "the server's memory for each idle reader")                \
    X(STREAMS_LAST, "streams", "last", "ms", "one event to the last reader; beside the other server's")    \
    X(STREAMS_WORST, "streams", "worst", "ms", "  slowest round")

enum figure_id {
#define X(id, part, name, unit, words) FIGURE_##id,
    FIGURES(X)
#undef X
    FIGURE_COUNT
};

struct figure {
    bool told;
    double value;
    double beside; /* what it is compared with, in the same unit; 0: nothing */
    double ratio;  /* 0: none */
    bool noisy;    /* the disk changed too much meanwhile */
};

enum { BENCH_CONNECTIONS_MAX = 1024, BENCH_REPEAT_MAX = 100 };

struct bench {
    struct cli *cli;
    struct arena *arena;
    /* The plan, from the options. */
    uint64_t connections, sessions, calls, repeat, rounds, streams, events, open;
    int64_t time_us;
    const char *against, *person_at;
    bool keep;
    /* Who plays: an agent that asks and a person who answers, each with a token of its own. */
    struct place place;
    struct http_client *agent, *person;
    const char *agent_token, *person_token;
    struct str token_ids[2];
    unsigned token_count;
    /* What came of it. */
    struct yard yard;
    struct figure figures[FIGURE_COUNT];
};

/* With `ratio` -1 it is computed. */
void bench_tell(struct bench *bench, enum figure_id id, double value, double beside, double ratio);
/* Whether two values of what should be the same are too far apart. */
bool bench_apart(double a, double b);

/* ---- bench_players.c: tokens, sessions, requests ---- */

/* A session of the agent's, in which Bash is asked about. */
struct seat {
    struct str session, thread;
};

struct rc players_come(struct bench *bench, struct err *err);
void players_leave(struct bench *bench);
struct rc players_sit(struct bench *bench, struct seat *ret_seat, struct err *err);
/* "POST /target", with the token; content type and length when there is a body. */
void players_request(struct buf *out, const struct bench *bench, const char *token, const char *what,
                     struct str body);
/* A call of Bash with 1 KB of input, by client number `who`; *ret_digits_at is where its number stands. */
void players_call(struct buf *out, const struct bench *bench, const struct seat *seat, unsigned who,
                  size_t *ret_digits_at);
/* Where the session's events end now. */
struct rc players_position(struct bench *bench, const struct seat *seat, uint64_t *ret_seq, struct err *err);
/* How many calls of this session were kept and asked about, read back from the server. */
struct rc players_count(struct bench *bench, const struct seat *seat, uint64_t *ret_count, struct err *err);

/* ---- the parts; bench.c has the table ---- */
struct rc bench_disk(struct bench *bench, struct err *err);
struct rc bench_gate(struct bench *bench, struct err *err);
struct rc bench_asks(struct bench *bench, struct err *err);
struct rc bench_one(struct bench *bench, struct err *err);
struct rc bench_answer(struct bench *bench, struct err *err);
struct rc bench_streams(struct bench *bench, struct err *err);
struct rc bench_fill(struct bench *bench, struct err *err);

/* bench_fill.c: makes a new store with so many events, so many of its calls unanswered. */
struct fill_plan {
    const char *url;
    uint64_t events, open;
};
struct rc fill_store(const struct fill_plan *plan, struct err *err);

/* The whole of it. */
struct rc bench_run(struct cli *cli, struct err *err);

#endif
