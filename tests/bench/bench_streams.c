/* Very many readers of one stream: what an idle one costs the server, and how soon an event has reached the
 * last of them; beside another server of streams (nginx with nchan), if there is one, in alternating visits:
 * all readers join, get a few events, and leave.
 *
 * A reader is a socket and a few bytes: what it reads goes into one buffer that all share, and is only looked
 * through for the mark of the round.
 */
#include "bench/bench.h"

#include "bench/bench_mark.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    READY_MAX = 512,
    JOIN_AT_ONCE = 250,        /* fewer than any backlog */
    READERS_PER_SOURCE = 10000,
    ROUNDS_PER_VISIT = 2,      /* that count; one before them does not */
    SHARED_BYTES = 64 << 10,
    SPARE_FILES = 100,
    ROUND_US_MAX = 30 * 1000000,
    SETTLE_MS = 500,
    WARM_READERS = 8,
    EVENT_BYTES = 950,         /* of one event on the wire, about */
};

struct reader {
    int fd;
    uint8_t matched;  /* bytes of the mark */
    bool done;        /* has what it waits for */
};

/* One server and its readers. */
struct crowd {
    struct place place;
    struct buf join, publish;
    size_t digits_at;        /* of the mark within `publish` */
    struct line publisher;
    struct reader *readers;
    size_t count;
    int epoll;
    size_t missing;          /* readers that are not done */
    struct samples rounds;
};

/* Without the long farewell that would keep the ports. */
static void leave(struct crowd *crowd)
{
    struct linger at_once = {.l_onoff = 1};
    for (size_t i = 0; i < crowd->count; i++) {
        (void)setsockopt(crowd->readers[i].fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(crowd->readers[i].fd);
    }
    crowd->count = 0;
}

static void crowd_done(struct crowd *crowd)
{
    leave(crowd);
    free(crowd->readers);
    if (crowd->epoll >= 0)
        (void)close(crowd->epoll);
    line_close(&crowd->publisher);
    buf_done(&crowd->join);
    buf_done(&crowd->publish);
    samples_done(&crowd->rounds);
}
#define CROWD_SCOPE(name) \
    __attribute__((cleanup(crowd_done))) struct crowd name = {.epoll = -1, .publisher.fd = -1}

/* ---- reading ---- */

static struct rc read_some(struct crowd *crowd, struct reader *reader, struct mark mark, struct err *err)
{
    static char bytes[SHARED_BYTES];
    ssize_t n = recv(reader->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return RC_OK;
    if (n <= 0)
        return err_set(err, ERR_UNAVAILABLE, "a stream ended: %s", n < 0 ? strerror(errno) : "by the server");
    if (reader->done || !mark_seen(mark, &reader->matched, (struct str){bytes, (size_t)n}))
        return RC_OK;
    CHECK(crowd->missing > 0);
    reader->done = true;
    crowd->missing--;
    return RC_OK;
}

static void expect_all(struct crowd *crowd, size_t from)
{
    for (size_t i = from; i < crowd->count; i++) {
        crowd->readers[i].matched = 0;
        crowd->readers[i].done = false;
    }
    crowd->missing = crowd->count - from;
}

static struct rc read_until(struct crowd *crowd, struct mark mark, struct err *err)
{
    struct epoll_event ready[READY_MAX];
    int64_t end_us = clock_steady_us() + ROUND_US_MAX;
    while (crowd->missing) {
        int n = epoll_wait(crowd->epoll, ready, READY_MAX, 1000);
        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for streams: %s", strerror(errno));
        for (int i = 0; i < n; i++)
            TRY(read_some(crowd, ready[i].data.ptr, mark, err));
        if (clock_steady_us() > end_us)
            return err_set(err, ERR_TIMEOUT, "%zu streams have not got the event", crowd->missing);
    }
    return RC_OK;
}

/* ---- joining ---- */

static struct rc join_one(struct crowd *crowd, struct err *err)
{
    struct reader *reader = &crowd->readers[crowd->count];
    struct epoll_event want = {.events = EPOLLIN, .data.ptr = reader};
    struct str request = buf_str(&crowd->join);
    TRY(place_connect(&crowd->place, (unsigned)(crowd->count / READERS_PER_SOURCE), &reader->fd, err));
    crowd->count++;
    if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, reader->fd, &want) != 0 ||
        send(reader->fd, request.p, request.n, MSG_NOSIGNAL) != (ssize_t)request.n)
        return err_set(err, ERR_IO, "cannot open a stream: %s", strerror(errno));
    return RC_OK;
}

/* In groups, each answered before the next comes: no backlog overflows. */
static struct rc join(struct crowd *crowd, size_t count, struct err *err)
{
    while (crowd->count < count) {
        size_t from = crowd->count;
        for (size_t i = 0; i < JOIN_AT_ONCE && crowd->count < count; i++)
            TRY(join_one(crowd, err));
        expect_all(crowd, from);
        TRY(read_until(crowd, MARK_OF_HEAD, err));
    }
    return RC_OK;
}

static struct rc open_crowd(struct crowd *crowd, size_t count, struct err *err)
{
    crowd->readers = heap_new(count * sizeof *crowd->readers);
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (crowd->epoll < 0)
        return err_set(err, ERR_IO, "cannot wait for streams: %s", strerror(errno));
    return line_open(&crowd->publisher, &crowd->place, err);
}

/* ---- one round ---- */

static struct rc play_round(struct crowd *crowd, uint32_t number, bool counts, struct err *err)
{
    char text[MARK_BYTES];
    struct heard heard;
    struct mark mark = mark_of_round(text, number);
    memcpy(crowd->publish.p + crowd->digits_at, mark.text.p, mark.text.n);
    expect_all(crowd, 0);
    TRY(line_send(&crowd->publisher, buf_str(&crowd->publish), err));
    TRY(read_until(crowd, mark, err));
    if (counts)
        samples_add(&crowd->rounds, clock_steady_us() - crowd->publisher.sent_us);
    return line_receive(&crowd->publisher, &heard, err);
}

/* ---- Nod's streams ---- */

/* An agent may keep its list of things to do without being asked about it: one event, no answer needed. */
static void put_note(struct crowd *crowd, const struct bench *bench, const struct seat *seat)
{
    BUF_SCOPE(body, REQUEST_BYTES_MAX);
    BUF_SCOPE(what, REQUEST_BYTES_MAX);
    enum { AROUND = 400 }; /* what Nod puts around the text */
    buf_puts(&body, "{\"name\":\"TodoWrite\",\"input\":{\"todos\":[],\"text\":\"");
    for (int i = 0; i < EVENT_BYTES - AROUND; i++)
        buf_putc(&body, 'n');
    size_t digits_at = body.n;
    buf_puts(&body, MARK_BLANK "\"}}");
    buf_printf(&what, "POST /api/threads/%.*s/tool-calls", STR_ARG(seat->thread));
    players_request(&crowd->publish, bench, bench->agent_token, buf_c(&what), buf_str(&body));
    crowd->digits_at = crowd->publish.n - body.n + digits_at;
}

static struct rc prepare_nod(struct bench *bench, struct crowd *crowd, struct err *err)
{
    struct seat seat;
    uint64_t position;
    TRY(players_sit(bench, &seat, err));
    TRY(players_position(bench, &seat, &position, err));
    crowd->place = bench->place;
    crowd->join = buf_init(REQUEST_BYTES_MAX);
    crowd->publish = buf_init(REQUEST_BYTES_MAX);
    put_note(crowd, bench, &seat);
    buf_printf(&crowd->join, "GET /api/events?session=%.*s&after=%llu HTTP/1.1\r\nHost: %s\r\n"
               "Accept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n", STR_ARG(seat.session),
               (unsigned long long)position, bench->place.host, bench->person_token);
    return open_crowd(crowd, bench->streams, err);
}

/* ---- the other server's ---- */

/* nchan: GET /sub is a stream, POST /pub publishes to it. The event is as long on the wire as Nod's. */
static struct rc prepare_other(struct bench *bench, struct crowd *crowd, struct err *err)
{
    enum { AROUND = 25 };  /* what nchan puts around it */
    TRY(place_find(bench->against, &crowd->place, err));
    crowd->join = buf_init(REQUEST_BYTES_MAX);
    crowd->publish = buf_init(REQUEST_BYTES_MAX);
    buf_printf(&crowd->join, "GET /sub HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
               crowd->place.host);
    buf_printf(&crowd->publish, "POST /pub HTTP/1.1\r\nHost: %s\r\nContent-Type: text/plain\r\n"
               "Content-Length: %d\r\n\r\n", crowd->place.host, EVENT_BYTES - AROUND);
    for (int i = 0; i < EVENT_BYTES - AROUND - MARK_BYTES; i++)
        buf_putc(&crowd->publish, 'n');
    crowd->digits_at = crowd->publish.n;
    buf_puts(&crowd->publish, MARK_BLANK);
    return open_crowd(crowd, bench->streams, err);
}

/* ---- the server's memory ---- */

/* The process behind the data folder's socket; 0 when it is not to be seen from here. */
static pid_t server_pid(const struct cli *cli)
{
    ARENA_SCOPE(scratch);
    struct place place;
    struct ucred who = {0};
    socklen_t bytes = sizeof who;
    int fd;
    const char *url = arena_printf(&scratch, "unix:%s", cli->settings.socket).p;
    if (rc_bad(place_find(url, &place, NULL)) || rc_bad(place_connect(&place, 0, &fd, NULL)))
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0)
        who.pid = 0;
    (void)close(fd);
    return who.pid;
}

/* In KB; 0 when it cannot be seen. */
static uint64_t resident_kb(pid_t pid)
{
    ARENA_SCOPE(scratch);
    char bytes[4096];
    uint64_t kb = 0;
    int fd = pid > 0 ? open(arena_printf(&scratch, "/proc/%d/status", (int)pid).p, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    struct str text = {bytes, n > 0 ? (size_t)n : 0};
    while (text.n) {
        struct str value, rest;
        struct str name = str_cut(str_cut(text, '\n', &text), ':', &value);
        if (str_is(name, "VmRSS") && !str_to_u64(str_cut(str_trim(value), ' ', &rest), &kb))
            return 0;
    }
    return kb;
}

static void settle(void)
{
    struct timespec time = {.tv_nsec = SETTLE_MS * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* A few readers first, so that what the server makes once is not counted as theirs. */
static struct rc weigh(struct bench *bench, struct crowd *nod, struct err *err)
{
    pid_t pid = server_pid(bench->cli);
    size_t some = bench->streams < WARM_READERS ? bench->streams : WARM_READERS;
    TRY(join(nod, some, err));
    TRY(play_round(nod, 0, false, err));
    settle();
    uint64_t before_kb = resident_kb(pid);
    int64_t from_us = clock_steady_us();
    TRY(join(nod, bench->streams, err));
    double took_ms = (double)(clock_steady_us() - from_us) / 1000;
    settle();
    uint64_t after_kb = resident_kb(pid);
    double more_bytes = ((double)after_kb - (double)before_kb) * 1024;
    bench_tell(bench, FIGURE_STREAMS_JOIN, took_ms, 0, 0);
    if (before_kb && after_kb && nod->count > some)
        bench_tell(bench, FIGURE_STREAMS_MEMORY, more_bytes / (double)(nod->count - some), 0, 0);
    return RC_OK;
}

/* ---- the part ---- */

static struct rc want_files(uint64_t count, struct err *err)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return err_set(err, ERR_IO, "cannot see how many files may be open: %s", strerror(errno));
    if (files.rlim_cur >= count)
        return RC_OK;
    struct rlimit more = {.rlim_cur = count, .rlim_max = count > files.rlim_max ? count : files.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &more) != 0)
        return err_set(err, ERR_IO, "%llu files would have to be open, %llu may be: fewer --streams, or "
                       "ulimit -n", (unsigned long long)count, (unsigned long long)files.rlim_max);
    return RC_OK;
}

static struct rc visit(struct bench *bench, struct crowd *crowd, uint32_t *number, struct err *err)
{
    TRY(join(crowd, bench->streams, err));
    for (int i = 0; i <= ROUNDS_PER_VISIT; i++)
        TRY(play_round(crowd, ++*number, i > 0, err));
    leave(crowd);
    settle();
    return RC_OK;
}

static double at_ms(struct crowd *crowd, unsigned permille)
{
    return (double)samples_at(&crowd->rounds, permille) / 1000;
}

struct rc bench_streams(struct bench *bench, struct err *err)
{
    CROWD_SCOPE(nod);
    CROWD_SCOPE(other);
    uint32_t number = 0;
    TRY(want_files(bench->streams + SPARE_FILES, err));
    TRY(prepare_nod(bench, &nod, err));
    if (bench->against)
        TRY(prepare_other(bench, &other, err));
    TRY(weigh(bench, &nod, err));
    while (nod.rounds.count < bench->repeat) {
        TRY(visit(bench, &nod, &number, err));
        if (bench->against)
            TRY(visit(bench, &other, &number, err));
    }
    bench_tell(bench, FIGURE_STREAMS_LAST, at_ms(&nod, 500), at_ms(&other, 500), -1);
    bench_tell(bench, FIGURE_STREAMS_WORST, at_ms(&nod, 1000), at_ms(&other, 1000), 0);
    return RC_OK;
}
