/* One connection. Private to http/.
 *
 * Invariants:
 *   1. A connection is in exactly one watch list; each list is ordered by the time its members entered.
 *   2. The memory of one request (its reader) is gone once it is answered: an idle connection or stream is this
 *      struct and nothing else.
 *   3. The next request is read only when the last one is answered and its answer has left.
 *   4. Owners (handlers, streams, sockets) are told of the end from the loop only, never from inside a call
 *      they made: whatever goes wrong there puts the connection on the WATCH_READY list.
 *   5. The struct outlives every call that can see it: it is freed by libuv's close callback.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include "base/buf.h"
#include "http/http.h"

#include <uv.h>

struct http_reader;
struct http_stranger;
struct outgoing;
struct flush;

enum http_phase {
    PHASE_READING,   /* between two requests, or in the middle of one */
    PHASE_BUSY,      /* a handler has the request */
    PHASE_STREAM,
    PHASE_SOCKET,
    PHASE_FLUSHING,  /* the last bytes are on their way; then our side is shut */
    PHASE_LINGERING, /* shut down; further input is discarded, so that the client can read our answer */
    PHASE_CLOSED,
};

/* What a connection over a Unix socket has. */
struct http_local {
    uv_pipe_t pipe;
    uint64_t mark;                           /* http_mark */
};

/* Owned by libuv's handle inside it: freed in on_closed, after uv_close. */
struct http_connection {
    struct http_server *server;
    struct http_connection *next, *previous; /* neighbours in its watch list */
    int64_t since_ms;                        /* when it entered that list */
    union {
        struct http_reader *reader;          /* READING, BUSY: the request, NULL between two */
        struct {
            const struct http_stream_owner *owner;
            void *owner_arg;
        };                                   /* STREAM */
        struct http_socket *socket;
        size_t discarded;                    /* LINGERING */
    };
    struct http_stranger *stranger;               /* until a token was identified on it; NULL: it was, or it is local */
    struct buf *early;                       /* pipelined bytes that came while a request is handled, or NULL */
    struct outgoing *first;                  /* queue of bytes that the kernel has not taken yet */
    struct flush *flush;                     /* the write under way */
    struct tls_session *tls;                 /* NULL: no TLS */
    size_t queued;                           /* bytes from `first` on */
    uint64_t sent;                           /* bytes the kernel took */
    uint64_t taken;                          /* for a stream: http_output_taken at the last heartbeat */
    uint16_t due;                            /* its place among those that are written when the turn ends, from 1 on */
    uint8_t phase;                           /* enum http_phase */
    uint8_t watch;                           /* enum http_watch */
    uint8_t stalls;                          /* number of heartbeats in a row at which no bytes had left */
    bool local : 1;
    bool agents : 1;
    bool processing : 1;                     /* input is being processed further up the stack */
    bool reading : 1;                        /* libuv reads */
    bool ended : 1;                          /* the client has shut its side */
    bool probed : 1;                         /* it was checked whether the client is still connected */
    bool broken : 1;                         /* writing failed, or the reader is too slow */
    bool ending : 1;                         /* a stream or socket that was told to end */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        struct http_local local;             /* larger than the others: there is room for it in local ones only */
    } uv;
};

struct http_stream {
    struct http_connection connection;
};

struct http_connection *http_connection_new(struct http_server *server, bool local);
void http_connection_start(struct http_connection *connection, bool secure);
/* Called after the request was answered: reads the next one, or ends the connection. */
void http_connection_answered(struct http_connection *connection, bool keep);
/* Everything that was queued has left. */
void http_connection_drained(struct http_connection *connection);
/* Sends what is queued, shuts our side, and waits a little for the client to do the same. */
void http_connection_finish(struct http_connection *connection);
/* Closes at once; the owner of the request, stream or socket is told. From the loop only. */
void http_connection_close(struct http_connection *connection);
/* Like http_connection_close, but may be called anywhere: the loop closes it later. */
void http_connection_break(struct http_connection *connection);
/* Ends a stream or socket in an orderly way, later from the loop. */
void http_connection_end(struct http_connection *connection);
/* The request has become a stream or a socket. */
void http_connection_turn(struct http_connection *connection, enum http_phase phase);
void http_connection_ready(struct http_connection *connection);
void http_connection_late(struct http_connection *connection);
void http_connection_probe(struct http_connection *connection);

#endif
