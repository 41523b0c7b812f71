/* The client's connection: a Unix socket or TCP, with a deadline for every wait. Used by client.c in commands;
 * blocking. */
#include "http/wire.h"

#include "io/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ---- */

static struct rc parse_host(struct str where, struct wire_address *address, struct err *err)
{
    struct str host = where;
    struct str port = STR("80");
    if (where.n && where.p[0] == '[') {
        host = str_cut(str_sub(where, 1, where.n), ']', &where);
        if (where.n && where.p[0] == ':')
            port = str_sub(where, 1, where.n);
    } else if (str_find(where, ':') < where.n) {
        host = str_cut(where, ':', &port);
    }
    uint64_t number;
    bool fits = str_c(host, address->host, sizeof address->host) &&
                str_c(port, address->port, sizeof address->port);
    if (!fits || host.n == 0 || !str_to_u64(port, &number) || number == 0 || number > 65535)
        return err_set(err, ERR_INVALID, "%s is not an address of a server", address->words);
    return RC_OK;
}

/* For the command line's own connection to its server. It has no TLS: over a network a tunnel or a proxy is needed.
 */
struct rc wire_parse(const char *url, struct wire_address *ret_address, struct err *err)
{
    struct wire_address address = {0};
    struct str s = {url, strlen(url)};
    (void)snprintf(address.words, sizeof address.words, "%s", url);
    if (str_starts(s, STR("unix:"))) {
        struct str path = str_sub(s, 5, s.n);
        if (path.n == 0 || !str_c(path, address.path, sizeof address.path))
            return err_set(err, ERR_INVALID, "the path of the socket is empty or longer than %zu bytes: %s",
                           sizeof address.path - 1, url);
    } else if (str_starts(s, STR("http://"))) {
        struct str rest;
        struct str where = str_cut(str_sub(s, 7, s.n), '/', &rest);
        if (rest.n)
            return err_set(err, ERR_INVALID, "the server's address has a path: %s", url);
        TRY(parse_host(where, &address, err));
    } else if (str_starts(s, STR("https://"))) {
        return err_set(err, ERR_INVALID, "https is not spoken here; http:// and Unix sockets are: %s", url);
    } else {
        return err_set(err, ERR_INVALID, "%s is not an address: write unix:/path or http://host:port", url);
    }
    *ret_address = address;
    return RC_OK;
}

/* ---- time ---- */

void wire_hurry(struct wire *wire, int64_t timeout_ms)
{
    wire->deadline_us = timeout_ms > 0 ? clock_steady_us() + timeout_ms * 1000 : 0;
}

static struct rc wait_for(const struct wire *wire, short events, struct err *err)
{
    for (;;) {
        int64_t left_ms = -1;
        if (wire->deadline_us) {
            left_ms = (wire->deadline_us - clock_steady_us() + 999) / 1000;
            if (left_ms <= 0)
                return err_set(err, ERR_TIMEOUT, "the server did not answer in time");
        }
        struct pollfd look = {.fd = wire->fd, .events = events};
        int ready = poll(&look, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (ready > 0)
            return RC_OK;
        if (ready < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for the server: %s", strerror(errno));
    }
}

/* ---- connecting ---- */

void wire_close(struct wire *wire)
{
    if (wire->fd >= 0)
        (void)close(wire->fd);
    wire->fd = -1;
}

/* One attempt; on failure nothing is left open. */
static struct rc connect_to(struct wire *wire, const struct sockaddr *where, socklen_t n,
                            const struct wire_address *address, struct err *err)
{
    CHECK(wire->fd == -1);
    wire->fd = socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why = wire->fd >= 0 && connect(wire->fd, where, n) == 0 ? 0 : errno;
    if (why == EINPROGRESS) {
        socklen_t size = sizeof why;
        struct rc rc = wait_for(wire, POLLOUT, err);
        if (rc_bad(rc)) {
            wire_close(wire);
            return rc;
        }
        if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
            why = errno;
    }
    if (why == 0)
        return RC_OK;
    wire_close(wire);
    return err_set(err, ERR_UNAVAILABLE, "cannot reach the server at %s: %s", address->words, strerror(why));
}

/* Tries every address of the name in turn; the error is that of the last one. */
static struct rc connect_tcp(struct wire *wire, const struct wire_address *address, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int on = 1;
    int failed = getaddrinfo(address->host, address->port, &hints, &found);
    if (failed)
        return err_set(err, ERR_UNAVAILABLE, "cannot reach the server at %s: %s", address->words,
                       gai_strerror(failed));
    struct rc rc = {ERR_UNAVAILABLE};
    for (struct addrinfo *at = found; at && rc.code == ERR_UNAVAILABLE; at = at->ai_next)
        rc = connect_to(wire, at->ai_addr, at->ai_addrlen, address, err);
    freeaddrinfo(found);
    TRY(rc);
    (void)setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(wire->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return RC_OK;
}

struct rc wire_connect(struct wire *wire, const struct wire_address *address, struct err *err)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    if (!address->path[0])
        return connect_tcp(wire, address, err);
    memcpy(where.sun_path, address->path, sizeof where.sun_path);
    return connect_to(wire, (struct sockaddr *)&where, sizeof where, address, err);
}

/* ---- bytes ---- */

struct rc wire_send(const struct wire *wire, struct str bytes, size_t *ret_sent, struct err *err)
{
    CHECK(wire->fd >= 0);
    *ret_sent = 0;
    while (*ret_sent < bytes.n) {
        ssize_t n = send(wire->fd, bytes.p + *ret_sent, bytes.n - *ret_sent, MSG_NOSIGNAL);
        if (n > 0)
            *ret_sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            TRY(wait_for(wire, POLLOUT, err));
        else if (n < 0 && errno != EINTR)
            return err_set(err, ERR_UNAVAILABLE, "the server went away: %s", strerror(errno));
    }
    return RC_OK;
}

/* 0 bytes and RC_OK is the end of the connection. */
struct rc wire_receive(const struct wire *wire, char *to, size_t bytes_max, size_t *ret_n, struct err *err)
{
    CHECK(wire->fd >= 0 && bytes_max > 0);
    for (;;) {
        ssize_t n = recv(wire->fd, to, bytes_max, 0);
        if (n >= 0) {
            *ret_n = (size_t)n;
            return RC_OK;
        }
        if (errno == EAGAIN)
            TRY(wait_for(wire, POLLIN, err));
        else if (errno != EINTR)
            return err_set(err, ERR_UNAVAILABLE, "the server went away: %s", strerror(errno));
    }
}

bool wire_peer(const struct wire *wire, uint32_t *ret_uid)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    if (wire->fd < 0 || getsockopt(wire->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    *ret_uid = peer.uid;
    return true;
}

bool wire_is_quiet(const struct wire *wire)
{
    char byte;
    return recv(wire->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}
