/* What the tests' server answers. Its routes let a test look inside (GET /counters). */
#ifndef U_HTTP_HANDLERS_H
#define U_HTTP_HANDLERS_H

#include "u_http_talk.h"

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

static inline void rig_big(struct rig *rig, struct http_request *request)
{
    (void)rig;
    BUF_SCOPE(text, 64 << 20);
    uint64_t bytes = rig_number(request, "bytes");
    while (text.n < bytes)
        buf_putc(&text, (char)('a' + text.n % 26));
    const struct str headers = STR("Cache-Control: max-age=60\r\nX-More: yes\r\n");
    http_answer(request, 200, STR("text/plain"), headers, buf_str(&text));
}

static inline void rig_echo(struct http_request *request)
{
    struct str text = arena_printf(&request->arena, "%.*s %.*s%s%.*s local=%d [%.*s]",
                                   STR_ARG(request->method), STR_ARG(request->path),
                                   request->query.n ? "?" : "", STR_ARG(request->query), request->local,
                                   STR_ARG(request->body));
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
    static const struct http_stream_owner owner = {rig_stream_gone, rig_stream_drained};
    if (rig->stream_count == RIG_STREAMS_MAX) {
        http_answer_json(request, 503, STR("{}"));
        return;
    }
    struct http_stream *stream = http_stream_start(request, &owner, rig);
    if (stream)
        rig->streams[rig->stream_count++] = stream;
}

static inline void rig_upgrade(struct rig *rig, struct http_request *request)
{
    const struct http_socket_options options = {
        .message = rig_socket_message, .gone = rig_socket_gone, .arg = rig, .protocol = NULL};
    rig->socket = http_socket_start(request, &options);
}

static inline void rig_none(struct rig *rig, struct http_request *request)
{
    const struct err err = {ERR_NOT_FOUND, "there is \"nothing\""};
    (void)rig;
    http_answer_error(request, &err);
}

static inline void rig_empty(struct rig *rig, struct http_request *request)
{
    (void)rig;
    http_answer(request, 204, STR_NONE, STR_NONE, STR("never sent"));
}

static inline void rig_end(struct rig *rig, struct http_request *request)
{
    for (size_t i = 0; i < rig->stream_count; i++)
        http_stream_end(rig->streams[i]);
    http_answer_json(request, 200, STR("{}"));
}

static inline void rig_handle(void *arg, struct http_request *request)
{
    struct rig *rig = arg;
    static const struct {
        const char *path;
        void (*handle)(struct rig *rig, struct http_request *request);
    } routes[] = {
        {"/wait", rig_wait},     {"/release", rig_release}, {"/counters", rig_counters}, {"/end", rig_end},
        {"/events", rig_stream}, {"/emit", rig_emit},       {"/big", rig_big},           {"/ws", rig_upgrade},
        {"/none", rig_none},     {"/empty", rig_empty},
    };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (str_is(request->path, routes[i].path)) {
            routes[i].handle(rig, request);
            return;
        }
    rig_echo(request);
}

#endif
