#include "http/wire.h"

#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
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
    if (host.n == 0 || !str_to_u64(port, &number) || number == 0 || number > 65535 ||
        !str_c(host, address->host, sizeof address->host) || !str_c(port, address->port, sizeof address->port))
        return err_set(err, ERR_INVALID, "%s is no address of a server", address->words);
    return RC_OK;
}

struct rc wire_parse(const char *url, struct wire_address *ret_address, struct err *err)
{
    struct wire_address address = {0};
    struct str s = str_of(url);
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
        return err_set(err, ERR_INVALID,
                       "https is not spoken here: use http:// through a tunnel, or the Unix socket (%s)", url);
    } else {
        return err_set(err, ERR_INVALID, "%s is no address: unix:/path or http://host:port is", url);
    }
    *ret_address = address;
    return RC_OK;
}

/* ---- time ---- */

int64_t wire_deadline(int64_t timeout_ms)
{
    return timeout_ms > 0 ? clock_steady_us() + timeout_ms * 1000 : 0;
}

static struct rc wait_for(int fd, short events, int64_t deadline_us, struct err *err)
{
    for (;;) {
        int64_t left_ms = -1;
        if (deadline_us) {
            left_ms = (deadline_us - clock_steady_us() + 999) / 1000;
            if (left_ms <= 0)
                return err_set(err, ERR_TIMEOUT, "the server did not answer in time");
        }
        struct pollfd look = {.fd = fd, .events = events};
        int ready = poll(&look, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (ready > 0)
            return RC_OK;
        if (ready < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for the server: %s", strerror(errno));
    }
}

/* ---- connecting ---- */

static struct rc unreachable(const struct wire_address *address, int why, struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "cannot reach the server at %s: %s", address->words, strerror(why));
}

/* A non-blocking connect, waited for. On failure the socket is closed. */
static struct rc connect_to(int fd, const struct sockaddr *where, socklen_t n, const struct wire_address *address,
                            int64_t deadline_us, struct err *err)
{
    int why = connect(fd, where, n) == 0 ? 0 : errno;
    if (why == EINPROGRESS) {
        socklen_t size = sizeof why;
        struct rc rc = wait_for(fd, POLLOUT, deadline_us, err);
        if (rc_bad(rc)) {
            (void)close(fd);
            return rc;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
            why = errno;
    }
    if (why == 0)
        return RC_OK;
    (void)close(fd);
    return unreachable(address, why, err);
}

static struct rc connect_unix(const struct wire_address *address, int64_t deadline_us, int *ret_fd,
                              struct err *err)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    memcpy(where.sun_path, address->path, sizeof where.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return unreachable(address, errno, err);
    TRY(connect_to(fd, (struct sockaddr *)&where, sizeof where, address, deadline_us, err));
    *ret_fd = fd;
    return RC_OK;
}

static struct rc connect_one(const struct addrinfo *to, const struct wire_address *address, int64_t deadline_us,
                             int *ret_fd, struct err *err)
{
    int on = 1;
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return unreachable(address, errno, err);
    TRY(connect_to(fd, to->ai_addr, to->ai_addrlen, address, deadline_us, err));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    *ret_fd = fd;
    return RC_OK;
}

struct rc wire_connect(const struct wire_address *address, int64_t deadline_us, int *ret_fd, struct err *err)
{
    if (address->path[0])
        return connect_unix(address, deadline_us, ret_fd, err);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int failed = getaddrinfo(address->host, address->port, &hints, &found);
    if (failed)
        return err_set(err, ERR_UNAVAILABLE, "cannot reach the server at %s: %s", address->words,
                       gai_strerror(failed));
    struct rc rc = unreachable(address, EADDRNOTAVAIL, err);
    for (struct addrinfo *at = found; at && rc_bad(rc) && rc.code != ERR_TIMEOUT; at = at->ai_next)
        rc = connect_one(at, address, deadline_us, ret_fd, err);
    freeaddrinfo(found);
    return rc;
}

/* ---- bytes ---- */

struct rc wire_send(int fd, struct str bytes, int64_t deadline_us, size_t *ret_sent, struct err *err)
{
    *ret_sent = 0;
    while (*ret_sent < bytes.n) {
        ssize_t n = send(fd, bytes.p + *ret_sent, bytes.n - *ret_sent, MSG_NOSIGNAL);
        if (n > 0)
            *ret_sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            TRY(wait_for(fd, POLLOUT, deadline_us, err));
        else if (n < 0 && errno != EINTR)
            return err_set(err, ERR_UNAVAILABLE, "the server went away: %s", strerror(errno));
    }
    return RC_OK;
}

struct rc wire_receive(int fd, char *to, size_t bytes_max, int64_t deadline_us, size_t *ret_n, struct err *err)
{
    for (;;) {
        ssize_t n = recv(fd, to, bytes_max, 0);
        if (n >= 0) {
            *ret_n = (size_t)n;
            return RC_OK;
        }
        if (errno == EAGAIN)
            TRY(wait_for(fd, POLLIN, deadline_us, err));
        else if (errno != EINTR)
            return err_set(err, ERR_UNAVAILABLE, "the server went away: %s", strerror(errno));
    }
}

bool wire_is_quiet(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}
