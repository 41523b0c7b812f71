/* One connection of the proxy: read what is wanted, have it judged and kept, connect, pass bytes on.
 *
 * Everything waits in slices of LOOK_MS, so that a line ends soon after its box. */
#include "egress/inner.h"

#include "http/http.h"
#include "io/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE_BYTES = 32 << 10, WHY_BYTES = EGRESS_WHY_BYTES, HTTPS_PORT = 443 };

/* ---- waiting ---- */

/* Whether it is ready in time. */
static bool wait_on(const struct line *line, int fd, short events, int ms)
{
    int64_t until_us = clock_steady_us() + (int64_t)ms * 1000;
    struct pollfd look = {.fd = fd, .events = events};
    while (!egress_ended(line->egress) && clock_steady_us() < until_us)
        if (poll(&look, 1, LOOK_MS) > 0)
            return true;
    return false;
}

static bool send_all(const struct line *line, int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t sent = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (sent > 0)
            bytes = str_sub(bytes, (size_t)sent, bytes.n);
        else if ((sent < 0 && errno != EAGAIN && errno != EINTR) || !wait_on(line, fd, POLLOUT, IDLE_MS))
            return false;
    }
    return true;
}

/* One more piece of the client's into `in`; false at its end, or when it takes too long. */
static bool read_more(struct line *line)
{
    for (;;) {
        char *room = buf_room(&line->in, PIECE_BYTES);
        ssize_t got = room ? recv(line->client, room, PIECE_BYTES, 0) : 0;
        if (got > 0) {
            line->in.n += (size_t)got;
            return true;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR) || !wait_on(line, line->client, POLLIN, HEAD_MS))
            return false;
    }
}

/* ---- answers to the client ---- */

static void answer(const struct line *line, enum egress_speech speech, int status, const char *words)
{
    char text[WHY_BYTES + 200];
    static const char socks_refused[] = {5, 2, 0, 1, 0, 0, 0, 0, 0, 0};
    if (speech == SPEECH_SOCKS) {
        (void)send_all(line, line->client, (struct str){socks_refused, sizeof socks_refused});
        return;
    }
    int n = snprintf(text, sizeof text, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                                        "Connection: close\r\n\r\nnod: %s\n",
                     status, status == 403 ? "Refused by Nod" : status == 400 ? "Bad Request" : "Bad Gateway",
                     strlen(words) + 6, words);
    (void)send_all(line, line->client, (struct str){text, (size_t)n});
}

static bool answer_connected(const struct line *line, enum egress_speech speech)
{
    static const char socks_done[] = {5, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    if (speech == SPEECH_SOCKS)
        return send_all(line, line->client, (struct str){socks_done, sizeof socks_done});
    return speech == SPEECH_HTTP || send_all(line, line->client, STR("HTTP/1.1 200 Connected\r\n\r\n"));
}

/* ---- what is wanted ---- */

static bool read_socks(struct line *line)
{
    static const char no_authentication[] = {5, 0};
    enum egress_read got;
    size_t bytes = 0;
    while ((got = egress_socks_greeting(buf_str(&line->in), &bytes)) == HEAD_MORE)
        if (!read_more(line))
            return false;
    if (got == HEAD_BAD || !send_all(line, line->client, (struct str){no_authentication, 2}))
        return false;
    buf_drop(&line->in, bytes);
    while ((got = egress_socks_request(buf_str(&line->in), &bytes, &line->target)) == HEAD_MORE)
        if (!read_more(line))
            return false;
    if (got == HEAD_BAD)
        answer(line, SPEECH_SOCKS, 0, "");
    buf_drop(&line->in, bytes);
    return got == HEAD_DONE;
}

/* Removes the head from `in`; a request in absolute form is put back in origin form, as the server expects it. */
static bool read_http(struct line *line, enum egress_speech *ret_speech)
{
    struct egress_head head;
    enum egress_read got;
    while ((got = egress_head_read(buf_str(&line->in), &head)) == HEAD_MORE)
        if (!read_more(line))
            return false;
    if (got == HEAD_BAD) {
        answer(line, SPEECH_HTTP, 400, "the proxy cannot read this request exactly, so it is refused");
        return false;
    }
    line->target = head.target;
    *ret_speech = head.speech;
    struct buf rest = buf_init(2 * EGRESS_HEAD_BYTES_MAX + 2 * PIECE_BYTES);
    if (head.speech == SPEECH_HTTP)
        egress_head_write(&rest, &head);
    buf_put(&rest, str_sub(buf_str(&line->in), head.bytes, line->in.n));
    buf_done(&line->in);
    line->in = rest;
    return !rest.over;
}

static bool read_target(struct line *line, enum egress_speech *ret_speech)
{
    if (line->forward) {
        *ret_speech = SPEECH_HTTP;
        return egress_target_set(&line->target, STR("localhost"), line->forward);
    }
    if (!read_more(line))
        return false;
    *ret_speech = line->in.p[0] == 5 ? SPEECH_SOCKS : SPEECH_CONNECT;
    return *ret_speech == SPEECH_SOCKS ? read_socks(line) : read_http(line, ret_speech);
}

/* ---- the way there ---- */

/* Whether both ends of a connection are this machine: then the port is one of its own. */
static bool is_own(int fd, const struct sockaddr_storage *peer)
{
    struct sockaddr_storage self;
    socklen_t bytes = sizeof self;
    if (getsockname(fd, (struct sockaddr *)&self, &bytes) != 0 || self.ss_family != peer->ss_family)
        return true;
    if (self.ss_family == AF_INET)
        return ((struct sockaddr_in *)(void *)&self)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
    return memcmp(&((struct sockaddr_in6 *)(void *)&self)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static bool connect_to(struct line *line, const struct sockaddr_storage *address, socklen_t bytes, bool private_too,
                       char *why)
{
    int failed = 0, one = 1;
    socklen_t failed_bytes = sizeof failed;
    line->server = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (line->server < 0 ||
        (connect(line->server, (const struct sockaddr *)address, bytes) != 0 && errno != EINPROGRESS))
        failed = errno;
    else if (!wait_on(line, line->server, POLLOUT, CONNECT_MS))
        failed = ETIMEDOUT;
    else if (getsockopt(line->server, SOL_SOCKET, SO_ERROR, &failed, &failed_bytes) != 0)
        failed = errno;
    if (failed) {
        (void)snprintf(why, WHY_BYTES, "%s:%u cannot be reached: %s", line->target.host, line->target.port,
                       strerror(failed));
        return false;
    }
    (void)setsockopt(line->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (is_own(line->server, address) && (!private_too || is_own_port(line->egress->own_ports, line->target.port))) {
        (void)snprintf(why, WHY_BYTES, "%s:%u is this machine itself", line->target.host, line->target.port);
        return false;
    }
    return true;
}

/* Connects to the target; returns 0, or the HTTP status of the refusal with the reason in `why`. */
static int open_way(struct line *line, bool private_too, char *why)
{
    struct sockaddr_storage address;
    const char *name = line->forward ? "127.0.0.1" : line->target.host;
    socklen_t bytes = lookup_host(name, line->target.port, LOOKUP_MS, &line->egress->ended, &address, why, WHY_BYTES);
    if (!bytes)
        return 502;
    const char *kind = private_too ? NULL : fetch_address_kind((const struct sockaddr *)&address);
    if (kind) {
        (void)snprintf(why, WHY_BYTES, "%s is %s", line->target.host, kind);
        return 403;
    }
    if (connect_to(line, &address, bytes, private_too, why))
        return 0;
    return line->server >= 0 && strstr(why, "this machine") ? 403 : 502;
}

/* ---- passing on ---- */

/* Checks that a TLS connection to port 443 names the host that was judged. */
static bool check_hello(struct line *line, char *why)
{
    char whole[EGRESS_HELLO_BYTES_MAX];
    struct str name;
    enum egress_read got;
    while ((got = egress_hello_read(buf_str(&line->in), whole, &name)) == HEAD_MORE)
        if (!read_more(line))
            return true; /* the connection has ended: nothing was sent */
    if (got == HEAD_DONE && str_same_letters(name, str_of(line->target.host)))
        return true;
    (void)snprintf(why, WHY_BYTES, got == HEAD_BAD ? "the connection to %s:443 does not begin with TLS that names it"
                                                   : "the connection to %s:443 names another host in its TLS handshake",
                   line->target.host);
    return false;
}

/* One direction of a connection. */
struct flow {
    int from, to;
    bool over;      /* the end was seen and passed on */
    uint64_t bytes;
};

/* Reads the bytes that are there now; false: the connection is over. */
static bool pass(struct line *line, struct flow *flow, bool up)
{
    char piece[PIECE_BYTES];
    ssize_t got = recv(flow->from, piece, sizeof piece, 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0) {
        flow->over = true;
        return shutdown(flow->to, SHUT_WR) == 0;
    }
    flow->bytes += (uint64_t)got;
    if (up && atomic_fetch_add(&line->egress->up, (uint64_t)got) + (uint64_t)got > UP_BYTES_MAX)
        return false;
    return send_all(line, flow->to, (struct str){piece, (size_t)got});
}

static void pass_all(struct line *line)
{
    struct flow up = {.from = line->client, .to = line->server, .bytes = line->in.n};
    struct flow down = {.from = line->server, .to = line->client};
    int64_t last_us = clock_steady_us();
    bool open = send_all(line, line->server, buf_str(&line->in));
    atomic_fetch_add(&line->egress->up, line->in.n);
    while (open && !(up.over && down.over) && !egress_ended(line->egress)) {
        struct pollfd polls[] = {{.fd = up.over ? -1 : up.from, .events = POLLIN},
                                 {.fd = down.over ? -1 : down.from, .events = POLLIN}};
        if (poll(polls, 2, LOOK_MS) > 0)
            last_us = clock_steady_us();
        if (polls[0].revents)
            open = pass(line, &up, true);
        if (open && polls[1].revents)
            open = pass(line, &down, false);
        open = open && clock_steady_us() - last_us < (int64_t)IDLE_MS * 1000;
    }
    egress_count(line->egress, line->used, up.bytes, down.bytes);
}

/* ---- one connection, from its first bytes to its end ---- */

/* 0, or the status of the answer. */
static int decide(struct line *line, struct egress_verdict *verdict)
{
    struct egress_want want = {.target = &line->target, .ended = &line->egress->ended};
    line->used = egress_used(line->egress, &line->target);
    if (!line->used) {
        (void)snprintf(verdict->why, WHY_BYTES, "this command has asked for %d hosts already", HOSTS_MAX);
        return 403;
    }
    if (atomic_load(&line->egress->up) > UP_BYTES_MAX) {
        (void)snprintf(verdict->why, WHY_BYTES, "this command has sent %d MiB already", UP_BYTES_MAX >> 20);
        return 403;
    }
    if (line->forward) /* a rule opened exactly this port */
        *verdict = (struct egress_verdict){.allowed = true, .private_too = true};
    else
        line->egress->host->judge(line->egress->host, &want, verdict);
    if (verdict->allowed && !egress_keep(line->egress, line->used, EGRESS_OPENED, "")) {
        (void)snprintf(verdict->why, WHY_BYTES, "it could not be kept in the log");
        return 502;
    }
    return verdict->allowed ? 0 : 403;
}

static void refuse(struct line *line, enum egress_speech speech, int status, const char *why)
{
    if (line->used && status == 403)
        (void)egress_keep(line->egress, line->used, EGRESS_REFUSED, why);
    if (!line->forward)
        answer(line, speech, status, why);
}

void line_serve(struct line *line)
{
    enum egress_speech speech = SPEECH_HTTP;
    struct egress_verdict verdict = {0};
    struct egress_host *host = line->egress->host;
    line->in = buf_init(2 * EGRESS_HEAD_BYTES_MAX + 4 * PIECE_BYTES);
    bool served = line->forward && host->serve &&
                  host->serve(host, line->forward, line->client, &line->egress->ended);
    if (!served && read_target(line, &speech)) {
        int status = decide(line, &verdict);
        status = status ? status : open_way(line, verdict.private_too, verdict.why);
        if (status)
            refuse(line, speech, status, verdict.why);
        else if (answer_connected(line, speech)) {
            bool checked = speech == SPEECH_HTTP || line->target.port != HTTPS_PORT || verdict.private_too ||
                           check_hello(line, verdict.why);
            if (checked)
                pass_all(line);
            else
                (void)egress_keep(line->egress, line->used, EGRESS_REFUSED, verdict.why);
        }
    }
    buf_done(&line->in);
    if (line->server >= 0)
        (void)close(line->server);
    (void)close(line->client);
}
