#include "bench/bench_wire.h"

#include "io/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_WAIT_S = 70, STATUS_AT = 9 };

/* ---- places ---- */

static struct rc find_unix(struct str path, struct place *place, struct err *err)
{
    struct sockaddr_un *to = (struct sockaddr_un *)&place->address;
    to->sun_family = AF_UNIX;
    if (!str_c(path, to->sun_path, sizeof to->sun_path))
        return err_set(err, ERR_INVALID, "the path of the socket is too long: %.*s", STR_ARG(path));
    place->bytes = sizeof *to;
    (void)snprintf(place->host, sizeof place->host, "localhost");
    return RC_OK;
}

static struct rc find_host(struct str where, struct place *place, struct err *err)
{
    char host[256], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    size_t colon = where.n;
    while (colon > 0 && where.p[colon - 1] != ':')
        colon--;
    bool brackets = where.n && where.p[0] == '[' && colon >= 3;
    struct str name = brackets ? str_sub(where, 1, colon - 2) : str_sub(where, 0, colon ? colon - 1 : 0);
    if (!str_c(name, host, sizeof host) || !str_c(str_sub(where, colon, where.n), port, sizeof port))
        return err_set(err, ERR_INVALID, "http://%.*s is no address of a server", STR_ARG(where));
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed)
        return err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", host, gai_strerror(failed));
    CHECK(found->ai_addrlen <= sizeof place->address);
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->bytes = found->ai_addrlen;
    freeaddrinfo(found);
    (void)snprintf(place->host, sizeof place->host, "%.*s", STR_ARG(where));
    return RC_OK;
}

struct rc place_find(const char *url, struct place *ret_place, struct err *err)
{
    struct str s = str_of(url);
    struct str rest;
    *ret_place = (struct place){0};
    if (str_starts(s, STR("unix:")))
        return find_unix(str_sub(s, 5, s.n), ret_place, err);
    if (str_starts(s, STR("http://")))
        return find_host(str_cut(str_sub(s, 7, s.n), '/', &rest), ret_place, err);
    return err_set(err, ERR_INVALID, "%s is no address: unix:/path or http://host:port is", url);
}

static struct rc come_from(int fd, unsigned source, struct err *err)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int on = 1;
    CHECK(source < 250);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source);
    /* The port is chosen when the other end is known: the same one may serve several. */
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0)
        return err_set(err, ERR_IO, "cannot come from 127.0.0.%u: %s", 1 + source, strerror(errno));
    return RC_OK;
}

struct rc place_connect(const struct place *place, unsigned source, int *ret_fd, struct err *err)
{
    int on = 1;
    struct timeval patience = {.tv_sec = ANSWER_WAIT_S};
    struct rc rc = RC_OK;
    CHECK(place->bytes > 0);
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a socket: %s", strerror(errno));
    if (source && place->address.ss_family == AF_INET)
        rc = come_from(fd, source, err);
    if (rc_ok(rc) && connect(fd, (const struct sockaddr *)&place->address, place->bytes) != 0)
        rc = err_set(err, ERR_UNAVAILABLE, "cannot reach the server: %s", strerror(errno));
    if (rc_bad(rc)) {
        (void)close(fd);
        return rc;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    *ret_fd = fd;
    return RC_OK;
}

/* ---- answers ---- */

bool heard_read(struct str bytes, struct heard *ret_heard)
{
    static const char length[] = "\r\nContent-Length: ";
    static const char end[] = "\r\n\r\n";
    const char *body = bytes.n ? memmem(bytes.p, bytes.n, end, sizeof end - 1) : NULL;
    if (!body || bytes.n < STATUS_AT + 3)
        return false;
    size_t head = (size_t)(body - bytes.p) + sizeof end - 1;
    const char *at = memmem(bytes.p, head, length, sizeof length - 1);
    size_t size = 0;
    if (at)
        for (at += sizeof length - 1; *at >= '0' && *at <= '9' && size < INT32_MAX; at++)
            size = size * 10 + (size_t)(*at - '0');
    *ret_heard = (struct heard){.bytes = head + size, .body = {bytes.p + head, size}};
    for (const char *p = bytes.p + STATUS_AT; p < bytes.p + STATUS_AT + 3; p++)
        ret_heard->status = ret_heard->status * 10 + (*p - '0');
    return bytes.n >= head + size;
}

static struct rc check_status(const struct heard *heard, struct err *err)
{
    if (heard->status / 100 == 2)
        return RC_OK;
    return err_set(err, ERR_INTERNAL, "the server answered %d: %.*s", heard->status,
                   (int)(heard->body.n < 200 ? heard->body.n : 200), heard->body.p);
}

/* ---- lines ---- */

struct rc line_open(struct line *line, const struct place *place, struct err *err)
{
    line->fd = -1;
    line->got = 0;
    return place_connect(place, 0, &line->fd, err);
}

void line_close(struct line *line)
{
    if (line->fd >= 0)
        (void)close(line->fd);
    line->fd = -1;
}

struct rc line_send(struct line *line, struct str request, struct err *err)
{
    CHECK(line->fd >= 0 && request.n > 0);
    line->got = 0;
    line->sent_us = clock_steady_us();
    ssize_t n = send(line->fd, request.p, request.n, MSG_NOSIGNAL);
    if (n == (ssize_t)request.n)
        return RC_OK;
    return err_set(err, ERR_UNAVAILABLE, "cannot send: %s", n < 0 ? strerror(errno) : "there is no room");
}

/* Takes what is there; *ret_complete says whether the answer is. */
static struct rc line_take(struct line *line, int flags, struct heard *heard, bool *ret_complete,
                           struct err *err)
{
    CHECK(line->got < LINE_BYTES);
    ssize_t n = recv(line->fd, line->bytes + line->got, LINE_BYTES - line->got, flags);
    *ret_complete = false;
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && (flags & MSG_DONTWAIT))))
        return RC_OK;
    if (n < 0 && errno == EAGAIN)
        return err_set(err, ERR_TIMEOUT, "the server did not answer in %d s", ANSWER_WAIT_S);
    if (n <= 0)
        return err_set(err, ERR_UNAVAILABLE, "the server left: %s", n < 0 ? strerror(errno) : "it hung up");
    line->got += (size_t)n;
    if (heard_read((struct str){line->bytes, line->got}, heard)) {
        *ret_complete = true;
        return check_status(heard, err);
    }
    if (line->got == LINE_BYTES)
        return err_set(err, ERR_TOO_LARGE, "an answer is larger than %d bytes", LINE_BYTES);
    return RC_OK;
}

struct rc line_receive(struct line *line, struct heard *ret_heard, struct err *err)
{
    bool complete = false;
    while (!complete)
        TRY(line_take(line, 0, ret_heard, &complete, err));
    return RC_OK;
}

struct rc line_ask(struct line *line, struct str request, struct heard *ret_heard, struct err *err)
{
    TRY(line_send(line, request, err));
    return line_receive(line, ret_heard, err);
}

struct rc line_look(struct line *line, bool *ret_complete, struct err *err)
{
    struct heard heard;
    return line_take(line, MSG_DONTWAIT, &heard, ret_complete, err);
}
