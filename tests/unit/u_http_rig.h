/* A real server on its own thread, and raw sockets to talk to it. Included by the tests of http/. */
#ifndef U_HTTP_RIG_H
#define U_HTTP_RIG_H

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

enum { RIG_STREAMS_MAX = 16, RIG_WAITERS_MAX = 16, RIG_PATIENCE_MS = 20000 };

/* Everything but `port`, `path` and `ended` belongs to the server's thread; ask by GET /counters. */
struct rig {
    struct loop *loop;
    struct http_server *server;
    struct bell *stop;
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

/* ---- the server's side ---- */

static inline void rig_stream_gone(struct http_stream *stream, void *arg)
{
    struct rig *rig = arg;
    rig->streams_gone++;
    for (size_t i = 0; i < rig->stream_count; i++)
        if (rig->streams[i] == stream)
            rig->streams[i--] = rig->streams[--rig->stream_count];
}

static inline void rig_stream_drained(struct http_stream *stream, void *arg)
{
    struct rig *rig = arg;
    assert_int_equal(http_stream_queued(stream), 0);
    rig->drained++;
}

static inline void rig_request_gone(struct http_request *request)
{
    struct rig *rig = request->arg;
    assert_null(request->connection);
    rig->requests_gone++;
    for (size_t i = 0; i < rig->waiter_count; i++)
        if (rig->waiters[i] == request)
            rig->waiters[i--] = rig->waiters[--rig->waiter_count];
    http_drop(request);
}

static inline void rig_socket_message(struct http_socket *socket, void *arg, struct str text)
{
    (void)arg;
    if (str_is(text, "end")) {
        http_socket_end(socket, 4000, "as you wish");
        return;
    }
    struct shared *echo = shared_new(text);
    (void)http_socket_send(socket, echo);
    shared_unref(echo);
}

static inline void rig_socket_gone(struct http_socket *socket, void *arg)
{
    struct rig *rig = arg;
    assert_false(http_socket_send(socket, NULL));
    rig->sockets_gone++;
    if (rig->socket == socket)
        rig->socket = NULL;
}

static inline uint64_t rig_number(struct http_request *request, const char *name)
{
    bool there;
    struct str text;
    uint64_t number = 0;
    if (rc_ok(http_query(request, name, &there, &text, NULL)) && there)
        (void)str_to_u64(text, &number);
    return number;
}

static inline void rig_emit(struct rig *rig, struct http_request *request)
{
    BUF_SCOPE(text, 64 << 20);
    uint64_t bytes = rig_number(request, "bytes");
    buf_puts(&text, "data: ");
    while (text.n < bytes)
        buf_putc(&text, 'e');
    buf_puts(&text, "\n\n");
    struct shared *event = shared_new(buf_str(&text));
    for (uint64_t times = rig_number(request, "times") + 1; times; times--)
        for (size_t i = 0; i < rig->stream_count; i++)
            rig->refused_sends += !http_stream_send(rig->streams[i], event);
    shared_unref(event);
    http_answer_json(request, 200, STR("{}"));
}

static inline void rig_big(struct http_request *request)
{
    BUF_SCOPE(text, 64 << 20);
    uint64_t bytes = rig_number(request, "bytes");
    while (text.n < bytes)
        buf_putc(&text, (char)('a' + text.n % 26));
    http_answer(request, 200, STR("text/plain"), STR("X-More: yes\r\n"), buf_str(&text));
}

static inline void rig_echo(struct http_request *request)
{
    struct str text = arena_printf(&request->arena, "%.*s %.*s%s%.*s local=%d [%.*s]", STR_ARG(request->method),
                                   STR_ARG(request->path), request->query.n ? "?" : "", STR_ARG(request->query),
                                   request->local, STR_ARG(request->body));
    http_answer(request, 200, STR("text/plain"), STR_NONE, text);
}

static inline void rig_counters(struct rig *rig, struct http_request *request)
{
    struct http_figures figures = http_figures(rig->server);
    struct str text = arena_printf(
        &request->arena,
        "requests_gone=%u streams_gone=%u sockets_gone=%u drained=%u refused_sends=%u waiters=%zu "
        "connections=%llu streams=%llu sockets=%llu dropped=%llu refused=%llu.",
        rig->requests_gone, rig->streams_gone, rig->sockets_gone, rig->drained, rig->refused_sends,
        rig->waiter_count, (unsigned long long)figures.connections, (unsigned long long)figures.streams,
        (unsigned long long)figures.sockets, (unsigned long long)figures.dropped_slow_total,
        (unsigned long long)figures.refused_total);
    http_answer(request, 200, STR("text/plain"), STR_NONE, text);
}

static inline void rig_wait(struct rig *rig, struct http_request *request)
{
    if (rig->waiter_count == RIG_WAITERS_MAX) {
        http_answer_json(request, 503, STR("{}"));
        return;
    }
    request->arg = rig;
    request->gone = rig_request_gone;
    rig->waiters[rig->waiter_count++] = request;
}

static inline void rig_release(struct rig *rig, struct http_request *request)
{
    size_t count = rig->waiter_count;
    rig->waiter_count = 0;
    for (size_t i = 0; i < count; i++)
        http_answer(rig->waiters[i], 200, STR("text/plain"), STR_NONE, STR("released"));
    http_answer_json(request, 200, STR("{}"));
}

static inline void rig_stream(struct rig *rig, struct http_request *request)
{
    const struct http_stream_options options = {rig_stream_gone, rig_stream_drained, rig};
    if (rig->stream_count == RIG_STREAMS_MAX) {
        http_answer_json(request, 503, STR("{}"));
        return;
    }
    struct http_stream *stream = http_stream_start(request, &options);
    if (stream)
        rig->streams[rig->stream_count++] = stream;
}

static inline void rig_handle(void *arg, struct http_request *request)
{
    struct rig *rig = arg;
    struct err err = {ERR_NOT_FOUND, "there is \"nothing\""};
    const struct http_socket_options socket = {rig_socket_message, rig_socket_gone, NULL, rig};
    if (str_is(request->path, "/wait"))
        rig_wait(rig, request);
    else if (str_is(request->path, "/release"))
        rig_release(rig, request);
    else if (str_is(request->path, "/counters"))
        rig_counters(rig, request);
    else if (str_is(request->path, "/events"))
        rig_stream(rig, request);
    else if (str_is(request->path, "/emit"))
        rig_emit(rig, request);
    else if (str_is(request->path, "/big"))
        rig_big(request);
    else if (str_is(request->path, "/ws"))
        rig->socket = http_socket_start(request, &socket);
    else if (str_is(request->path, "/none"))
        http_answer_error(request, &err);
    else if (str_is(request->path, "/empty"))
        http_answer(request, 204, STR_NONE, STR_NONE, STR("never sent"));
    else if (str_is(request->path, "/end")) {
        for (size_t i = 0; i < rig->stream_count; i++)
            http_stream_end(rig->streams[i]);
        http_answer_json(request, 200, STR("{}"));
    } else
        rig_echo(request);
}

static inline void rig_ended(void *arg)
{
    struct rig *rig = arg;
    rig->ended = true;
    loop_stop(rig->loop);
}

static inline void rig_stop_rung(void *arg)
{
    struct rig *rig = arg;
    http_server_stop(rig->server, rig_ended, rig);
}

static inline void *rig_run(void *arg)
{
    struct rig *rig = arg;
    loop_run(rig->loop);
    return NULL;
}

/* rig_ok(f(a, b, RIG_ERR)): words when it fails. */
#define RIG_ERR (&rig_err)
#define rig_ok(call)                        \
    do {                                    \
        struct err rig_err = {0};           \
        if (rc_bad(call))                   \
            fail_msg("%s", rig_err.text);   \
    } while (0)

static inline struct rig *rig_start(struct http_options options)
{
    struct rig *rig = heap_new(sizeof *rig);
    options.handle = rig_handle;
    options.arg = rig;
    (void)snprintf(rig->path, sizeof rig->path, "/tmp/u_http_%d_%p.sock", (int)getpid(), (void *)rig);
    rig_ok(loop_new(&rig->loop, RIG_ERR));
    rig_ok(http_server_new(rig->loop, &options, &rig->server, RIG_ERR));
    rig_ok(http_listen_tcp(rig->server, "127.0.0.1:0", &rig->port, RIG_ERR));
    rig_ok(http_listen_unix(rig->server, rig->path, RIG_ERR));
    rig->stop = bell_new(rig->loop, rig_stop_rung, rig);
    assert_int_equal(pthread_create(&rig->thread, NULL, rig_run, rig), 0);
    return rig;
}

static inline void rig_stop(struct rig *rig)
{
    bell_ring(rig->stop);
    assert_int_equal(pthread_join(rig->thread, NULL), 0);
    assert_true(rig->ended);
    assert_int_equal(access(rig->path, F_OK), -1);
    http_server_free(rig->server);
    bell_free(rig->stop);
    loop_free(rig->loop);
    free(rig);
}

/* ---- the client's side ---- */

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
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
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
