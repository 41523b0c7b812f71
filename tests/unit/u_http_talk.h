/* The tests' server as a struct, and how to talk to it: bytes over sockets, never waiting without end. */
#ifndef U_HTTP_TALK_H
#define U_HTTP_TALK_H

#include "base/buf.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { RIG_STREAMS_MAX = 128, RIG_WAITERS_MAX = 16, RIG_PATIENCE_MS = 60000 };

/* Everything but `port`, `path` and `ended` belongs to the server's thread; ask by GET /counters. */
struct rig {
    struct loop *loop;
    struct http_server *server;
    struct waker *stop;
    pthread_t thread;
    int port;
    char path[64];
    bool ended;
    struct http_stream *streams[RIG_STREAMS_MAX];
    size_t stream_count;
    struct http_request *waiters[RIG_WAITERS_MAX];
    size_t waiter_count;
    struct http_socket *socket;
    unsigned requests_gone, streams_gone, sockets_gone, drained, refused_sends;
};

static inline int dial(const struct rig *rig)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)rig->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline int dial_unix(const struct rig *rig)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, rig->path, strlen(rig->path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void say_bytes(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0)
            fail_msg("cannot send: %s", strerror(errno));
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
}

static inline void say(int fd, const char *words) { say_bytes(fd, str_of(words)); }

/* One read; 0 at the end, -1 on a reset. Fails the test when nothing comes. */
static inline ssize_t hear_some(int fd, char *to, size_t n)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    if (poll(&look, 1, RIG_PATIENCE_MS) != 1)
        fail_msg("the server is silent");
    return recv(fd, to, n, 0);
}

/* Reads until `end` is the end of what came (NULL: until the server ends the connection). */
static inline void hear_until(int fd, struct buf *heard, const char *end)
{
    for (;;) {
        char bytes[65536];
        if (end && str_ends(buf_str(heard), str_of(end)))
            return;
        ssize_t n = hear_some(fd, bytes, sizeof bytes);
        if (n < 0)
            fail_msg("the server reset the connection: %s", strerror(errno));
        if (n == 0 && !end)
            return;
        if (n == 0)
            fail_msg("the connection ended after: %.*s", STR_ARG(buf_str(heard)));
        buf_put(heard, (struct str){bytes, (size_t)n});
        assert_false(heard->over);
    }
}

static inline bool heard_has(const struct buf *heard, const char *part)
{
    return str_has(buf_str(heard), str_of(part));
}

#define assert_heard(heard, part)                                                            \
    do {                                                                                     \
        if (!heard_has(&(heard), part))                                                      \
            fail_msg("\"%s\" is not in what was heard: %.*s", part, STR_ARG(buf_str(&(heard)))); \
    } while (0)

#define HEARD(name) BUF_SCOPE(name, 128 << 20)

/* One request on a connection of its own; the answer up to the end of the connection. */
static inline void ask(const struct rig *rig, const char *target, struct buf *heard)
{
    char request[4096];
    int fd = dial(rig);
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                   target);
    say(fd, request);
    hear_until(fd, heard, NULL);
    (void)close(fd);
}

static inline void tell(const struct rig *rig, const char *target)
{
    HEARD(heard);
    ask(rig, target, &heard);
    assert_heard(heard, "HTTP/1.1 200 OK\r\n");
}

/* Asks for the counters until `words` are in them. */
static inline void await_counter(const struct rig *rig, const char *words)
{
    int64_t end = clock_steady_us() + RIG_PATIENCE_MS * 1000LL;
    for (;;) {
        HEARD(heard);
        ask(rig, "/counters", &heard);
        if (heard_has(&heard, words))
            return;
        if (clock_steady_us() > end)
            fail_msg("%s did not come: %.*s", words, STR_ARG(buf_str(&heard)));
        (void)usleep(5000);
    }
}

#endif
