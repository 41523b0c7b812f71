/* `nod bench`: a running server and the disk below it, measured side by side.
 *
 * A figure of one machine says little about another, and one of this minute little about the next: so every
 * figure stands beside a yardstick taken in the same seconds on the same file system, append 1 KB and
 * fdatasync. Blocks alternate, medians are kept, and a disk that changed in between is called noisy.
 *
 * The load comes from one thread, plain sockets and epoll, because it shares the machine with the server it
 * measures: requests are written before the clock starts, and of an answer only status and length are read.
 * What was acknowledged is counted again afterwards, by reading the events.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "base/buf.h"
#include "cli/cli.h"

#include <sys/socket.h>

/* ---- samples: times in microseconds ---- */
struct samples {
    uint32_t *us;
    size_t count, room;
};

void samples_add(struct samples *samples, int64_t us);
void samples_join(struct samples *samples, const struct samples *more);
/* The least value that so many thousandths of all do not exceed; 0 when there are none. Sorts. */
int64_t samples_at(struct samples *samples, unsigned permille);
void samples_done(struct samples *samples);
#define SAMPLES_SCOPE(name) __attribute__((cleanup(samples_done))) struct samples name = {0}
double median_of(double *values, size_t count);

/* ---- the yardstick ---- */
struct yard {
    int fd;             /* of a file without a name */
    struct samples all;
    double least, most; /* rates of the blocks so far */
};

/* Appends for so long or so often, whichever is over first. *ret_rate is per second; `more` may be NULL. */
struct rc yard_take(struct yard *yard, int64_t time_us, size_t times, struct samples *more, double *ret_rate,
                    struct err *err);
struct rc yard_open(struct yard *yard, const char *folder, struct err *err);
void yard_close(struct yard *yard);

/* ---- the wire ---- */
struct place {
    struct sockaddr_storage address;
    socklen_t bytes;
    char host[128]; /* for the Host header */
};

/* What is looked at of an answer. */
struct heard {
    int status;
    size_t bytes;   /* of the whole answer */
    struct str body;
};

enum { LINE_BYTES = 16 << 10, LINE_WAIT_S = 20 };

/* One connection, one request at a time. */
struct line {
    int fd;
    int64_t sent_us;
    size_t got;
    char bytes[LINE_BYTES];
};

struct rc place_find(const char *url, struct place *ret_place, struct err *err);
/* `source` > 0 connects from 127.0.0.(1 + source), where ports of one address would run out. */
struct rc place_connect(const struct place *place, unsigned source, int *ret_fd, struct err *err);
struct rc line_send(struct line *line, struct str request, struct err *err);
/* Waits for the whole answer. */
struct rc line_receive(struct line *line, struct heard *ret_heard, struct err *err);
/* False while it is not complete. Pure. */
bool heard_read(struct str bytes, struct heard *ret_heard);

/* ---- one run ---- */
struct bench_row {
    const char *part, *name; /* for programs: "gate", "perSecond" */
    const char *words;       /* for people */
    double value;
    const char *unit;
    double beside;           /* what it is compared with, in `beside_unit`; 0: nothing */
    const char *beside_unit;
    double ratio;            /* 0: none */
};

enum { BENCH_ROWS_MAX = 64 };

struct bench {
    struct cli *cli;
    struct arena *arena;
    uint64_t connections, calls, repeat, rounds, streams, events, open;
    int64_t time_us;
    bool keep;
    struct place place;
    struct yard yard;
    bool noisy;
    /* Who plays: an agent that asks and a person who answers, each with a token of its own. */
    struct http_client *agent;
    const char *agent_token, *person_token;
    struct str token_ids[2];
    unsigned token_count;
    struct bench_row rows[BENCH_ROWS_MAX];
    size_t row_count;
};

/* A session of the agent's. */
struct seat {
    struct str session, thread;
};

void bench_row(struct bench *bench, struct bench_row row);
/* A request with one's token, complete but for what is done to it later. */
void bench_request(struct buf *out, const struct bench *bench, const char *token, const char *head, struct str body);
/* Tokens, and afterwards their end. */
struct rc players_come(struct bench *bench, struct err *err);
void players_leave(struct bench *bench);
/* A session in which the tools Bash are asked about and Note are allowed. */
struct rc players_sit(struct bench *bench, struct seat *ret_seat, struct err *err);
/* The body of a call of about 1 KB; where the 8 digits of its number stand in it is told. */
void players_call(struct buf *out, unsigned who, size_t *ret_digits_at);

/* ---- the parts (bench.c has the table) ---- */
struct rc bench_disk(struct bench *bench, struct err *err);
struct rc bench_gate(struct bench *bench, struct err *err);
struct rc bench_one(struct bench *bench, struct err *err);
struct rc bench_answer(struct bench *bench, struct err *err);
struct rc bench_streams(struct bench *bench, struct err *err);

/* serve/fill.c: a new store with so many events, so many of its calls still open; real ones, in whole chains. */
struct fill_plan {
    const char *url;
    uint64_t events, open;
};
struct rc fill_store(const struct fill_plan *plan, struct err *err);

#endif
