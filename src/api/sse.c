/* Streams of Server-Sent Events that follow the gate (sse.h). */
#include "api/sse.h"

void sse_send(struct sse *sse, struct str text)
{
    struct shared *bytes = shared_new(text);
    (void)http_stream_send(sse->stream, bytes);
    shared_unref(bytes);
}

bool sse_revoked(struct sse *sse)
{
    bool revoked = sse->token->revoked_ms;
    if (revoked)
        http_stream_end(sse->stream);
    return revoked;
}

/* Blanks between an input's tokens are kept as they came, and may hold line ends. */
void sse_put_data(struct buf *buf, struct str json)
{
    while (json.n) {
        size_t end = 0;
        while (end < json.n && json.p[end] != '\n' && json.p[end] != '\r')
            end++;
        BUF_ADD(buf, STR("data: "), str_sub(json, 0, end), STR("\n"));
        json = str_sub(json, end < json.n ? end + 1 : end, json.n);
    }
    buf_putc(buf, '\n');
}

static const struct sse_watched *watched_by(const struct sse *sse)
{
    return (const struct sse_watched *)sse->watcher.what;
}

/* The next page is asked for when the last one has left. */
static void go_on(struct sse *sse)
{
    if (sse->watcher.failed)
        http_stream_end(sse->stream);
    else if (sse->watcher.live && watched_by(sse)->live)
        watched_by(sse)->live(sse);
    else if (http_stream_queued(sse->stream) == 0)
        gate_watch_more(&sse->watcher);
}

void sse_caught_up(struct watcher *watcher) { go_on(watcher->arg); }

static void drained(struct http_stream *stream, void *arg)
{
    (void)stream;
    go_on(arg);
}

static void gone(struct http_stream *stream, void *arg)
{
    struct sse *sse = arg;
    (void)stream;
    gate_unwatch(&sse->watcher);
    watched_by(sse)->free(sse);
}

static const struct http_stream_owner owner = {gone, drained};

void sse_start(struct exchange *x, struct sse *sse)
{
    struct gate *gate = x->gate; /* the exchange may be gone when the stream has begun */
    sse->token = x->token;
    sse->watcher.arg = sse;
    x->api->answers[2]++;
    sse->stream = http_stream_start(x->http, &owner, sse);
    if (sse->stream)
        gate_watch(gate, &sse->watcher);
    else
        watched_by(sse)->free(sse);
}
