/* Output of a connection: an answer is written to the kernel at once, and only the remainder is queued. What streams
 * and sockets send is queued and written when the loop's turn ends (due.c): one write for all events of a turn.
 *
 * The usual answer costs one system call and no allocation. When the kernel takes less, the rest
 * waits in a list of counted buffers, offered FLUSH_BYTES at a time; all later bytes queue behind it. Over TLS all of
 * this is about sealed bytes: http_output_sealed is given them, at once, and each connection holds its own.
 */
#include "http/output.h"

#include "base/small.h"
#include "http/due.h"
#include "http/server.h"
#include "http/strangers.h"
#include "http/tls.h"
#include "io/system.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Bytes that the kernel has not taken yet. */
struct outgoing {
    struct outgoing *next;
    struct outgoing *last; /* of the queue; in its first item only, so that an idle connection has no room for it */
    struct str left;
    struct shared *bytes; /* the buffer that holds them; NULL: they are constant */
    size_t held;          /* bytes counted for this connection; 0 when others share the buffer, or it is constant */
};

enum {
    FLUSH_PIECES = 32,
    GATHER_BYTES = 64 << 10, /* more than that is not kept back until the turn ends */
};

/* A write that libuv has under way. */
struct flush {
    uv_write_t write;
    struct http_connection *connection;
    size_t bytes;
};

/* The first `bytes` of the queue have left. */
static void take_off(struct http_connection *connection, size_t bytes)
{
    CHECK(bytes <= connection->queued);
    connection->queued -= bytes;
    while (bytes) {
        struct outgoing *first = connection->first;
        if (bytes < first->left.n) {
            first->left = str_sub(first->left, bytes, first->left.n);
            return;
        }
        bytes -= first->left.n;
        connection->first = first->next;
        if (first->next)
            first->next->last = first->last;
        http_strangers_release(connection, first->held);
        if (first->bytes)
            shared_unref(first->bytes);
        small_free(first, sizeof *first);
    }
}

static void offer(struct http_connection *connection);

/* The front of the queue, as much as is given to the kernel at once. */
static unsigned front(const struct http_connection *connection, struct iovec pieces[FLUSH_PIECES], size_t *ret_bytes)
{
    unsigned count = 0;
    *ret_bytes = 0;
    for (struct outgoing *out = connection->first; out && count < FLUSH_PIECES && *ret_bytes < FLUSH_BYTES;
         out = out->next) {
        size_t n = out->left.n;
        if (n > FLUSH_BYTES - *ret_bytes)
            n = FLUSH_BYTES - *ret_bytes;
        pieces[count++] = (struct iovec){(void *)(uintptr_t)out->left.p, n};
        *ret_bytes += n;
    }
    return count;
}

/* A piece of the queue was written: the next is offered, or the phase goes on. */
static void on_flushed(uv_write_t *write, int status)
{
    struct flush *flush = write->data;
    struct http_connection *connection = flush->connection;
    size_t bytes = flush->bytes;
    free(flush);
    connection->flush = NULL;
    if (connection->phase == PHASE_CLOSED)
        return;
    if (status < 0) {
        http_connection_close(connection);
        return;
    }
    take_off(connection, bytes);
    connection->sent += bytes;
    connection->stalls = 0;
    http_watch(connection, connection->watch);
    if (connection->first)
        offer(connection);
    else
        http_connection_drained(connection);
}

/* Hands the front of the queue to libuv, which waits until the kernel takes it. */
static void offer(struct http_connection *connection)
{
    CHECK(!connection->flush && connection->first);
    struct iovec at[FLUSH_PIECES];
    uv_buf_t pieces[FLUSH_PIECES];
    struct flush *flush = heap_new(sizeof *flush);
    unsigned count = front(connection, at, &flush->bytes);
    for (unsigned i = 0; i < count; i++)
        pieces[i] = uv_buf_init(at[i].iov_base, (unsigned)at[i].iov_len);
    CHECK(count > 0 && flush->bytes <= connection->queued);
    flush->connection = connection;
    flush->write.data = flush;
    connection->flush = flush;
    int failed = uv_write(&flush->write, &connection->uv.stream, pieces, count, on_flushed);
    if (failed) {
        free(flush);
        connection->flush = NULL;
        http_connection_break(connection);
    }
}

/* Puts bytes at the end of the queue. `bytes`, where there are, hold them: that reference is now ours. */
static void append(struct http_connection *connection, struct str left, struct shared *bytes)
{
    struct outgoing *first = connection->first;
    CHECK(left.n && (!first || !first->last->next));
    struct outgoing *out = small_bytes(sizeof *out);
    *out = (struct outgoing){.left = left, .bytes = bytes, .held = bytes && bytes->refs == 1 ? bytes->n : 0};
    if (first)
        first->last->next = out;
    else
        connection->first = first = out;
    first->last = out;
    connection->queued += left.n;
    http_strangers_hold(connection, out->held);
}

static void enqueue(struct http_connection *connection, struct str left, struct shared *bytes)
{
    append(connection, left, bytes);
    if (!connection->flush && !connection->broken)
        offer(connection);
}

static void enqueue_copy(struct http_connection *connection, struct str left)
{
    struct shared *copy = shared_new(left);
    enqueue(connection, (struct str){copy->p, copy->n}, copy);
}

/* Returns the number of bytes that the kernel took; -1 when the client is gone. */
static ssize_t write_now(struct http_connection *connection, const uv_buf_t *pieces, unsigned count)
{
    if (connection->broken || connection->phase == PHASE_CLOSED)
        return -1;
    if (connection->first)
        return 0;
    int written = uv_try_write(&connection->uv.stream, pieces, count);
    if (written == UV_EAGAIN || written == UV_ENOBUFS || written == UV_EINTR)
        return 0;
    if (written < 0)
        http_connection_break(connection);
    else
        connection->sent += (uint64_t)written;
    return written < 0 ? -1 : written;
}

bool http_output_sealed(void *arg, struct str sealed)
{
    struct http_connection *connection = arg;
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)sealed.p, (unsigned)sealed.n);
    ssize_t written = write_now(connection, &piece, 1);
    if (written >= 0 && (size_t)written < sealed.n)
        enqueue_copy(connection, str_sub(sealed, (size_t)written, sealed.n));
    return written >= 0;
}

static bool seal(struct http_connection *connection, const struct str *pieces, unsigned count)
{
    if (!connection->broken && connection->phase != PHASE_CLOSED && tls_write(connection->tls, pieces, count))
        return true;
    http_connection_break(connection);
    return false;
}

/* The buffer is shared by all who are sent these bytes. */
bool http_output_share(struct http_connection *connection, struct str head, struct shared *bytes)
{
    if (connection->tls)
        return seal(connection, (const struct str[]){head, {bytes->p, bytes->n}}, 2);
    if (connection->broken || connection->phase == PHASE_CLOSED)
        return false;
    bool now = !connection->first && !http_due(connection);
    if (head.n) {
        struct shared *copy = shared_new(head);
        append(connection, (struct str){copy->p, copy->n}, copy);
    }
    if (bytes->n)
        append(connection, (struct str){bytes->p, bytes->n}, shared_ref(bytes));
    if ((now || connection->queued >= GATHER_BYTES) && !connection->flush && connection->first)
        http_output_took(connection, http_output_push(connection));
    return !connection->broken;
}

/* -1: the client has gone. */
ssize_t http_output_push(const struct http_connection *connection)
{
    struct iovec pieces[FLUSH_PIECES];
    size_t bytes;
    uv_os_fd_t fd;
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = front(connection, pieces, &bytes)};
    if (uv_fileno(&connection->uv.handle, &fd) != 0)
        return -1;
    ssize_t n = message.msg_iovlen == 1 ? send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                                        : sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
        return 0;
    return n;
}

void http_output_took(struct http_connection *connection, ssize_t bytes)
{
    CHECK(!connection->flush && connection->first);
    if (bytes < 0) {
        http_connection_break(connection);
        return;
    }
    take_off(connection, (size_t)bytes);
    connection->sent += (uint64_t)bytes;
    if (connection->first)
        offer(connection);
    else
        http_watch(connection, connection->watch);
}

bool http_output_write(struct http_connection *connection, const struct str *pieces, unsigned count)
{
    return http_output_last(connection, pieces, count, count);
}

/* Pieces from `lasting` on stay valid and are queued without a copy. */
bool http_output_last(struct http_connection *connection, const struct str *pieces, unsigned count, unsigned lasting)
{
    enum { PIECES_MAX = 5 };
    uv_buf_t bufs[PIECES_MAX] = {0};
    CHECK(count <= PIECES_MAX);
    if (connection->tls)
        return seal(connection, pieces, count);
    for (unsigned i = 0; i < count; i++)
        bufs[i] = uv_buf_init((char *)(uintptr_t)pieces[i].p, (unsigned)pieces[i].n);
    ssize_t written = write_now(connection, bufs, count);
    if (written < 0)
        return false;
    size_t skip = (size_t)written;
    for (unsigned i = 0; i < count; i++) {
        if (skip < pieces[i].n && i >= lasting)
            enqueue(connection, str_sub(pieces[i], skip, pieces[i].n), NULL);
        else if (skip < pieces[i].n)
            enqueue_copy(connection, str_sub(pieces[i], skip, pieces[i].n));
        skip -= skip < pieces[i].n ? skip : pieces[i].n;
    }
    return true;
}

uint64_t http_output_taken(const struct http_connection *connection)
{
    int fd, waiting = -1;
    if (uv_fileno(&connection->uv.handle, &fd) == 0)
        waiting = system_unsent_bytes(fd);
    if (waiting < 0)
        return connection->sent;
    return (uint64_t)waiting < connection->sent ? connection->sent - (uint64_t)waiting : 0;
}

size_t http_output_held(const struct http_connection *connection)
{
    size_t held = 0;
    for (const struct outgoing *out = connection->first; out; out = out->next)
        held += out->held;
    return held;
}

void http_output_drop(struct http_connection *connection)
{
    take_off(connection, connection->queued);
    CHECK(!connection->first);
}
