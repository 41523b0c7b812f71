/* Server-Sent Events: an answer that does not end.
 *
 * The body has no length and is not chunked: it ends with the connection ("Connection: close"). That is
 * the smallest that works, also through proxies: an event is the same bytes for every reader, so that one
 * buffer serves ten thousand of them, and a stream needs no state beyond its connection.
 */
#include "http/owners.h"

#include "base/limits.h"
#include "http/answer.h"
#include "http/output.h"
#include "http/reader.h"
#include "http/server.h"

static const char stream_head[] = "HTTP/1.1 200 OK\r\n"
                                  "Content-Type: text/event-stream\r\n"
                                  "Cache-Control: no-store\r\n"
                                  "X-Content-Type-Options: nosniff\r\n"
                                  "X-Accel-Buffering: no\r\n"
                                  "Connection: close\r\n";

static struct http_connection *connection_of(struct http_stream *stream) { return &stream->connection; }

/* Frees the request. NULL: the client is gone, or asked by HEAD. */
struct http_stream *http_stream_start(struct http_request *request, const struct http_stream_owner *owner, void *arg)
{
    CHECK(!request->answered && owner->gone);
    struct http_connection *connection = request->connection;
    char proof[PROOF_LINE_BYTES];
    struct str line = proof_line(request, 200, STR_NONE, proof);
    const struct str head[] = {{stream_head, sizeof stream_head - 1}, line, STR("\r\n")};
    if (connection && http_reader_of(request)->head_only) {
        http_answer(request, 200, STR("text/event-stream"), STR_NONE, STR_NONE);
        return NULL;
    }
    http_request_free(request);
    if (!connection)
        return NULL;
    http_connection_turn(connection, PHASE_STREAM);
    connection->owner = owner;
    connection->owner_arg = arg;
    connection->server->figures.streams++;
    (void)http_output_write(connection, head, sizeof head / sizeof *head);
    return (struct http_stream *)connection;
}

/* A reader that is slow for so long that its queue is full is dropped: it can connect again and go on behind the last
 * event. */
bool http_stream_send(struct http_stream *stream, struct shared *bytes)
{
    struct http_connection *connection = connection_of(stream);
    if (connection->broken || connection->ending || connection->phase != PHASE_STREAM)
        return false;
    if (connection->queued >= LIMIT_STREAM_QUEUE_BYTES) {
        connection->server->figures.dropped_slow_total++;
        http_connection_break(connection);
        return false;
    }
    if (!http_output_share(connection, STR_NONE, bytes))
        return false;
    if (!connection->first)
        http_watch(connection, WATCH_STREAM);
    return true;
}

void http_stream_drained(struct http_connection *connection)
{
    if (connection->owner->drained && !connection->ending)
        connection->owner->drained((struct http_stream *)connection, connection->owner_arg);
}

size_t http_stream_queued(const struct http_stream *stream) { return stream->connection.queued; }

void http_stream_left(struct http_connection *connection)
{
    connection->server->figures.streams--;
    connection->owner->gone((struct http_stream *)connection, connection->owner_arg);
}

void http_stream_end(struct http_stream *stream) { http_connection_end(connection_of(stream)); }

/* Ends a stream that its owner has asked to end: queued bytes are still sent, and the owner gets no more callbacks. */
void http_stream_finish(struct http_connection *connection)
{
    CHECK(connection->phase == PHASE_STREAM && connection->ending);
    const struct http_stream_owner *owner = connection->owner;
    void *arg = connection->owner_arg; /* the next phase has something else in its place */
    http_connection_finish(connection);
    connection->server->figures.streams--;
    owner->gone((struct http_stream *)connection, arg);
}

/* Nothing was sent for a heartbeat's time: sends one, or closes the stream when the client has stopped reading. */
void http_stream_beat(struct http_connection *connection)
{
    const struct http_options *options = &connection->server->options;
    uint64_t taken = http_output_taken(connection);
    if (taken != connection->taken)
        connection->stalls = 0; /* slowly, but it reads */
    connection->taken = taken;
    if (!connection->first) {
        (void)http_output_share(connection, STR_NONE, connection->server->beat);
    } else if (!connection->due && (++connection->stalls * options->heartbeat_ms >= options->idle_timeout_ms ||
                                     connection->stalls == UINT8_MAX)) {
        connection->server->figures.dropped_slow_total++;
        http_connection_break(connection);
    }
    if (!connection->broken)
        http_watch(connection, WATCH_STREAM);
}
