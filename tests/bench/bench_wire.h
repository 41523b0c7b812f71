/* The load: plain sockets and epoll in one thread, because it shares the machine with what it measures.
 *
 * Requests are written before the clock starts; of an answer only status and length are read. A line has
 * one request under way at a time.
 */
#ifndef BENCH_BENCH_WIRE_H
#define BENCH_BENCH_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "bench/bench_measure.h"

#include <sys/socket.h>

struct place {
    struct sockaddr_storage address;
    socklen_t bytes;
    char host[300]; /* for the Host header */
};

/* "unix:/path" or "http://host:port". */
struct rc place_find(const char *url, struct place *ret_place, struct err *err);
/* `source` > 0 comes from 127.0.0.(1 + source), for when the ports of one address run out. */
struct rc place_connect(const struct place *place, unsigned source, int *ret_fd, struct err *err);

/* What is looked at of an answer. */
struct heard {
    int status;
    size_t bytes; /* of the whole answer */
    struct str body;
};

/* False while it is not complete. Pure. */
bool heard_read(struct str bytes, struct heard *ret_heard);

enum { LINE_BYTES = 16 << 10 };

struct line {
    int fd; /* -1: none */
    int64_t sent_us;
    size_t got;
    char bytes[LINE_BYTES];
};

struct rc line_open(struct line *line, const struct place *place, struct err *err);
void line_close(struct line *line);
struct rc line_send(struct line *line, struct str request, struct err *err);
/* Waits for the whole answer, which must be a 2xx. The body lives until the next one. */
struct rc line_receive(struct line *line, struct heard *ret_heard, struct err *err);
struct rc line_ask(struct line *line, struct str request, struct heard *ret_heard, struct err *err);
/* Takes what has come, without waiting. */
struct rc line_look(struct line *line, bool *ret_complete, struct err *err);

/* ---- many at once ---- */

/* One client: asks the same again and again, with a new number each time. */
struct asker {
    struct line line;
    struct buf request;
    size_t digits_at;     /* where the number stands in the request, DIGITS hexadecimal ones; 0: nowhere */
    uint32_t next, end;   /* numbers */
};

enum { DIGITS = 8, REQUEST_BYTES_MAX = 8 << 10 };

struct load {
    struct asker *askers;
    size_t count;
    int64_t time_us;         /* no request is sent after this */
    uint64_t requests_max;
    /* What came of it: */
    uint64_t answered;       /* with 2xx, all of them */
    struct samples samples;  /* without the first few of each asker */
    double per_second;
};

void digits_put(char *at, uint32_t number);
/* Every answer must be a 2xx. */
struct rc load_run(struct load *load, struct err *err);
void load_done(struct load *load);

#endif
