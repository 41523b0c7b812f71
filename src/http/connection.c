/* The life of a connection, from the first byte to the last (see connection.h for the invariants). */
#include "http/connection.h"

#include "base/small.h"
#include "http/due.h"
#include "http/output.h"
#include "http/owners.h"
#include "http/reader.h"
#include "http/server.h"
#include "http/strangers.h"
#include "http/tls.h"
#include "io/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

static const struct str go_on = {"HTTP/1.1 100 Continue\r\n\r\n", 25};

/* ---- begin and end ---- */

static size_t size_of(bool local)
{
    return offsetof(struct http_connection, uv) + (local ? sizeof(struct http_local) : sizeof(uv_tcp_t));
}

/* Makes the connection that uv_accept fills; the server counts it from here on. */
struct http_connection *http_connection_new(struct http_server *server, bool local)
{
    struct http_connection *connection = small_new(size_of(local));
    CHECK((local ? uv_pipe_init(server->uv, &connection->uv.local.pipe, 0)
                 : uv_tcp_init(server->uv, &connection->uv.tcp)) == 0);
    connection->uv.handle.data = connection;
    connection->server = server;
    connection->local = local;
    connection->phase = PHASE_READING;
    http_watch_enter(connection, WATCH_IDLE);
    server->handles++;
    server->figures.connections++;
    server->tcp_connections += !local;
    return connection;
}

/* The last callback of libuv for this handle: only here the memory may go. */
static void on_closed(uv_handle_t *handle)
{
    struct http_connection *connection = handle->data;
    struct http_server *server = connection->server;
    CHECK(connection->phase == PHASE_CLOSED && !connection->flush);
    http_watch_leave(connection);
    http_output_drop(connection);
    tls_session_free(connection->tls);
    small_free(connection, size_of(connection->local));
    http_server_released(server);
}

static void drop_early(struct http_connection *connection)
{
    if (connection->early)
        buf_done(connection->early);
    free(connection->early);
    connection->early = NULL;
}

/* A body counts while it is read; when it is whole it is the handler's. */
static void uncount_body(struct http_connection *connection)
{
    struct http_reader *reader = connection->reader;
    CHECK(connection->server->body_bytes >= reader->body_counted);
    connection->server->body_bytes -= reader->body_counted;
    reader->body_counted = 0;
}

/* The request goes on without its client; it is the handler's to answer or drop. */
static void leave_request(struct http_connection *connection)
{
    struct http_reader *reader = connection->reader;
    CHECK(reader && reader->request.connection == connection);
    connection->reader = NULL;
    reader->request.connection = NULL;
    if (reader->request.gone)
        reader->request.gone(&reader->request);
}

/* Ends what the connection was doing: the owner of its request, stream or socket is told that the client has gone. */
static void leave_phase(struct http_connection *connection)
{
    enum http_phase phase = connection->phase;
    connection->phase = PHASE_CLOSED;
    switch (phase) {
    case PHASE_READING:
        if (connection->reader) {
            uncount_body(connection);
            http_reader_free(connection->reader);
        }
        connection->reader = NULL;
        break;
    case PHASE_BUSY:
        leave_request(connection);
        break;
    case PHASE_STREAM:
        http_stream_left(connection);
        break;
    case PHASE_SOCKET:
        http_socket_left(connection);
        break;
    case PHASE_FLUSHING:
    case PHASE_LINGERING:
    case PHASE_CLOSED:
        break;
    }
}

/* At once, in any phase. The owner of the request or stream is told by leave_phase. */
void http_connection_close(struct http_connection *connection)
{
    if (connection->phase == PHASE_CLOSED)
        return;
    connection->server->figures.connections--;
    connection->server->tcp_connections -= !connection->local;
    http_strangers_leave(connection);
    http_due_leave(connection);
    http_watch(connection, WATCH_CLOSED);
    uv_close(&connection->uv.handle, on_closed);
    drop_early(connection);
    leave_phase(connection);
}

void http_connection_end(struct http_connection *connection)
{
    bool open = connection->phase == PHASE_STREAM || connection->phase == PHASE_SOCKET;
    if (!open || connection->broken || connection->ending)
        return;
    connection->ending = true;
    http_watch(connection, WATCH_READY);
}

void http_connection_break(struct http_connection *connection)
{
    if (connection->broken || connection->phase == PHASE_CLOSED)
        return;
    connection->broken = true;
    http_watch(connection, WATCH_READY);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    struct http_connection *connection = handle->data;
    bool in_body = connection->phase == PHASE_READING && connection->reader && !connection->first &&
                   connection->reader->progress == HTTP_IN_BODY;
    bool large = !connection->tls &&
                 (connection->phase == PHASE_SOCKET || connection->phase >= PHASE_FLUSHING || in_body);
    (void)suggested;
    *ret_buf = uv_buf_init(connection->server->read_buffer, large ? READ_BYTES : EARLY_BYTES_MAX);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void read_on(struct http_connection *connection)
{
    if (connection->reading || connection->ended || connection->phase == PHASE_CLOSED)
        return;
    connection->reading = true;
    if (uv_read_start(&connection->uv.stream, on_alloc, on_read) != 0)
        http_connection_break(connection);
}

static void read_off(struct http_connection *connection)
{
    connection->reading = false;
    (void)uv_read_stop(&connection->uv.stream);
}

/* Starts reading from an accepted connection; with TLS its handshake comes first. One over TCP counts among those
 * without a token, of which there may be few, until a request names a valid one. */
void http_connection_start(struct http_connection *connection, bool secure)
{
    connection->server->figures.connections_total++;
    if (!connection->local) {
        (void)uv_tcp_nodelay(&connection->uv.tcp, 1);
        http_strangers_enter(connection);
    }
    if (secure) {
        connection->tls = tls_session_new(connection->server->tls, http_output_sealed, connection);
        http_watch(connection, WATCH_SHAKE);
    }
    http_server_sweep(connection->server);
    read_on(connection);
}

/* Keeps what came before its turn; when that is much, the client has to wait with the rest. */
static void keep_early(struct http_connection *connection, struct str bytes)
{
    if (!connection->early) {
        connection->early = heap_new(sizeof *connection->early);
        *connection->early = buf_init(EARLY_BYTES_MAX + READ_BYTES); /* one read may pass the limit */
    }
    buf_put(connection->early, bytes);
    CHECK(!connection->early->over);
    if (connection->early->n >= EARLY_BYTES_MAX)
        read_off(connection);
}

/* Answers bytes that are not a request; the connection cannot go on after it. */
static void refuse(struct http_connection *connection, const struct err *err)
{
    struct http_reader *reader = connection->reader;
    CHECK(connection->phase == PHASE_READING && reader);
    connection->server->figures.refused_total++;
    uncount_body(connection);
    reader->request.connection = connection;
    reader->keep_alive = false;
    connection->phase = PHASE_BUSY;
    http_answer_error(&reader->request, err);
}

void http_connection_late(struct http_connection *connection)
{
    struct err err;
    (void)err_set(&err, ERR_TIMEOUT, "the request did not come in time");
    refuse(connection, &err);
}

/* The request is whole: the handler gets it and owns it until it answers. */
static void hand_over(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct http_request *request = &connection->reader->request;
    CHECK(connection->phase == PHASE_READING && !connection->first);
    server->figures.requests_total++;
    uncount_body(connection);
    request->connection = connection;
    connection->phase = PHASE_BUSY;
    http_watch(connection, connection->ended ? WATCH_HALF : WATCH_BUSY);
    server->options.handle(server->options.arg, request);
}

/* A client that waits for our word before it sends the body gets it, unless the body is coming anyway. */
static void say_continue(struct http_connection *connection)
{
    if (connection->reader->wants_continue && !connection->reader->body_began)
        (void)http_output_write(connection, &go_on, 1);
    connection->reader->wants_continue = false;
}

/* Refuses a body from a client without a token, and any body when all unfinished ones together exceed the limit. */
static struct rc admit_body(struct http_connection *connection, bool begins, struct err *err)
{
    struct http_server *server = connection->server;
    struct http_reader *reader = connection->reader;
    if (begins && server->options.admit)
        TRY(server->options.admit(server->options.arg, &reader->request, err));
    server->body_bytes += reader->body.n - reader->body_counted;
    reader->body_counted = reader->body.n;
    if (server->body_bytes > server->options.bodies_max)
        return err_set(err, ERR_UNAVAILABLE, "too much is being sent at once; try again in a moment");
    return RC_OK;
}

/* Reads one request as far as the bytes go, and has it handled when it is whole. */
static void read_request(struct http_connection *connection, struct str *bytes)
{
    struct err err;
    if (!connection->reader) {
        connection->reader = http_reader_new();
        connection->reader->request.started_us = clock_steady_us();
        connection->reader->request.local = connection->local;
        connection->reader->request.agents = connection->agents;
        connection->reader->body_max_of = connection->server->options.body_max;
    }
    struct http_reader *reader = connection->reader;
    enum http_progress before = reader->progress;
    if (rc_bad(http_reader_feed(reader, bytes, &err))) {
        refuse(connection, &err);
        return;
    }
    switch (reader->progress) {
    case HTTP_IN_HEAD:
        if (connection->watch != WATCH_HEAD)
            http_watch(connection, WATCH_HEAD);
        break;
    case HTTP_IN_BODY:
        if (rc_bad(admit_body(connection, before == HTTP_IN_HEAD, &err))) {
            refuse(connection, &err);
            break;
        }
        if (before == HTTP_IN_HEAD)
            http_watch(connection, WATCH_BODY);
        say_continue(connection);
        break;
    case HTTP_WHOLE:
        hand_over(connection);
        break;
    }
}

/* Decides after a request what the connection waits for: writing, bytes that came early, or the next request. */
static void settle(struct http_connection *connection)
{
    if (connection->phase != PHASE_READING || connection->broken)
        return;
    if (connection->first)
        http_watch(connection, WATCH_FLUSH);
    else if (connection->early)
        http_watch(connection, WATCH_READY);
    else if (connection->ended)
        http_connection_close(connection);
    else if (!connection->reader && connection->server->stopping)
        http_connection_close(connection);
    else if (!connection->reader)
        http_watch(connection, WATCH_IDLE);
    else if (connection->watch == WATCH_FLUSH)
        http_watch(connection, WATCH_BODY);
    if (!connection->early)
        read_on(connection);
}

/* Reads requests out of the bytes until one is handed over; the rest waits in `early` until that is answered. */
static void process(struct http_connection *connection, struct str bytes)
{
    CHECK(!connection->processing);
    connection->processing = true;
    while (bytes.n && connection->phase == PHASE_READING && !connection->first && !connection->broken)
        read_request(connection, &bytes);
    connection->processing = false;
    CHECK(connection->phase != PHASE_READING || connection->first || connection->broken || bytes.n == 0);
    if (bytes.n && (connection->phase == PHASE_READING || connection->phase == PHASE_BUSY))
        keep_early(connection, bytes);
    else if (bytes.n && connection->phase == PHASE_SOCKET)
        http_socket_input(connection, bytes);
    settle(connection);
}

/* Called from the loop: does what a handler asked for while it could not be done inside the handler's call. */
void http_connection_ready(struct http_connection *connection)
{
    struct buf *early = connection->early;
    if (connection->broken || connection->phase == PHASE_LINGERING) {
        http_connection_close(connection);
        return;
    }
    if (connection->ending && connection->phase == PHASE_STREAM) {
        http_stream_finish(connection);
        return;
    }
    if (connection->ending) {
        http_socket_finish(connection);
        return;
    }
    CHECK(connection->phase == PHASE_READING || connection->phase == PHASE_SOCKET);
    connection->early = NULL;
    http_watch(connection, connection->phase == PHASE_SOCKET ? WATCH_SOCKET : WATCH_IDLE);
    process(connection, early ? buf_str(early) : STR_NONE);
    if (early)
        buf_done(early);
    free(early);
}

/* The answer was written: reads the next request, or closes if client or server wanted that (`keep` is false). */
void http_connection_answered(struct http_connection *connection, bool keep)
{
    CHECK(connection->phase == PHASE_BUSY);
    connection->phase = PHASE_READING;
    connection->reader = NULL;
    if (connection->broken)
        return;
    if (!keep)
        http_connection_finish(connection);
    else if (!connection->processing)
        settle(connection);
}

/* From a request to a stream or a WebSocket: no further requests on this connection. */
void http_connection_turn(struct http_connection *connection, enum http_phase phase)
{
    CHECK(connection->phase == PHASE_BUSY && (phase == PHASE_STREAM || phase == PHASE_SOCKET));
    connection->phase = (uint8_t)phase;
    connection->reader = NULL;
    if (phase == PHASE_STREAM)
        drop_early(connection);
    if (connection->early)
        http_watch(connection, WATCH_READY);
    else
        http_watch(connection, phase == PHASE_STREAM ? WATCH_STREAM : WATCH_SOCKET);
    if (connection->ended)
        http_connection_break(connection);
    read_on(connection);
}

/* ---- the way out ---- */

/* Sends what is queued, then closes our side and lets the peer read it (linger) before the connection is
 * closed. */
void http_connection_finish(struct http_connection *connection)
{
    CHECK(connection->phase != PHASE_CLOSED);
    connection->phase = PHASE_FLUSHING;
    connection->discarded = 0;
    drop_early(connection);
    http_watch(connection, WATCH_FLUSH);
    read_on(connection);
    if (connection->tls)
        tls_end(connection->tls);
    if (!connection->first)
        http_connection_drained(connection);
}

/* The queue is empty: called by output.c. */
void http_connection_drained(struct http_connection *connection)
{
    uv_os_fd_t fd;
    switch ((enum http_phase)connection->phase) {
    case PHASE_READING:
        settle(connection);
        break;
    case PHASE_STREAM:
        http_stream_drained(connection);
        break;
    case PHASE_SOCKET:
        http_socket_drained(connection);
        break;
    case PHASE_FLUSHING:
        connection->phase = PHASE_LINGERING;
        http_watch(connection, connection->ended ? WATCH_READY : WATCH_LINGER);
        if (uv_fileno(&connection->uv.handle, &fd) == 0)
            (void)shutdown(fd, SHUT_WR);
        break;
    case PHASE_BUSY:
    case PHASE_LINGERING:
    case PHASE_CLOSED:
        break;
    }
}

/* The process at the other end of a Unix socket, as the kernel knows it. */
bool http_peer(const struct http_request *request, uint32_t *ret_uid, int *ret_pid)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    uv_os_fd_t fd;
    if (!request->local || !request->connection || uv_fileno(&request->connection->uv.handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    *ret_uid = peer.uid;
    *ret_pid = peer.pid;
    return true;
}

uint64_t *http_mark(const struct http_request *request)
{
    return request->local && request->connection ? &request->connection->uv.local.mark : NULL;
}

/* ---- clients that have gone away ---- */

/* Whether both directions of the connection are closed. A TCP client that closed cannot be told from one that only shut
 * down its sending side until it answers our bytes with a reset. */
static bool is_gone(const struct http_connection *connection)
{
    struct pollfd look = {.fd = -1};
    if (uv_fileno(&connection->uv.handle, &look.fd) != 0)
        return true;
    return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

/* A client may shut its side behind its request and still wait for the answer; it does so at once. One
 * that ends later, while we make it wait, has left. */
static void half_closed(struct http_connection *connection)
{
    CHECK(connection->watch == WATCH_BUSY);
    int64_t waited_ms = (int64_t)uv_now(connection->server->uv) - connection->since_ms;
    if (is_gone(connection) || (!connection->local && waited_ms >= HALF_CLOSED_LOOK_MS))
        http_connection_close(connection);
    else
        http_watch(connection, WATCH_HALF);
}

/* Sends bytes that every HTTP/1.1 client ignores, so that the next check shows whether the client is still connected.
 * */
void http_connection_probe(struct http_connection *connection)
{
    CHECK(connection->phase == PHASE_BUSY);
    if (is_gone(connection)) {
        http_connection_close(connection);
        return;
    }
    if (!connection->probed && !connection->local && !connection->reader->old)
        (void)http_output_write(connection, &go_on, 1);
    connection->probed = true;
    if (!connection->broken)
        http_watch(connection, WATCH_HALF);
}

/* The client has closed its side. Requests that came before are still answered; a stream or socket has nobody to send
 * to. */
static void on_end(struct http_connection *connection)
{
    connection->ended = true;
    connection->reading = false;
    switch ((enum http_phase)connection->phase) {
    case PHASE_READING:
        if (!connection->first && !connection->early)
            http_connection_close(connection);
        break;
    case PHASE_BUSY:
        half_closed(connection);
        break;
    case PHASE_STREAM:
    case PHASE_SOCKET:
    case PHASE_LINGERING:
        http_connection_close(connection);
        break;
    case PHASE_FLUSHING:
    case PHASE_CLOSED:
        break;
    }
}

/* Bytes of the peer, opened if they came over TLS, by the phase of the connection. */
static void on_input(struct http_connection *connection, struct str bytes)
{
    switch ((enum http_phase)connection->phase) {
    case PHASE_READING:
        if (connection->first || connection->early)
            keep_early(connection, bytes);
        else
            process(connection, bytes);
        break;
    case PHASE_BUSY:
        keep_early(connection, bytes);
        break;
    case PHASE_SOCKET:
        if (connection->early)
            keep_early(connection, bytes);
        else
            http_socket_input(connection, bytes);
        break;
    case PHASE_FLUSHING:
    case PHASE_LINGERING:
        connection->discarded += bytes.n;
        if (connection->discarded > LINGER_BYTES)
            http_connection_close(connection);
        break;
    case PHASE_STREAM:
    case PHASE_CLOSED:
        break;
    }
}

/* Opens what came, all of it: nothing stays sealed but a record that is not whole. */
static void on_sealed(struct http_connection *connection, struct str sealed)
{
    enum tls_state state = TLS_OPEN;
    struct str bytes;
    tls_feed(connection->tls, sealed);
    while (connection->phase != PHASE_CLOSED && (bytes = tls_read(connection->tls, &state)).n)
        on_input(connection, bytes);
    if (connection->phase == PHASE_CLOSED)
        return;
    if (state == TLS_BROKEN) {
        http_connection_close(connection);
    } else if (state == TLS_ENDED) {
        read_off(connection);
        on_end(connection);
    } else if (state == TLS_OPEN && connection->watch == WATCH_SHAKE)
        http_watch(connection, WATCH_IDLE);
}

/* libuv's callback on the loop. Bytes of a TLS connection are opened first and come to on_input like any others. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_connection *connection = stream->data;
    CHECK(connection->phase != PHASE_CLOSED);
    if (n > 0 && connection->tls)
        on_sealed(connection, (struct str){buf->base, (size_t)n});
    else if (n > 0)
        on_input(connection, (struct str){buf->base, (size_t)n});
    else if (n == UV_EOF)
        on_end(connection);
    else if (n < 0)
        http_connection_close(connection);
}
