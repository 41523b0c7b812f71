/* One connection, and the server it belongs to. Private to http/.
 *
 * Invariants:
 *   1. A connection is in exactly one watch list; each list is ordered by the time its members entered.
 *   2. What belongs to one request (its reader) is gone once it is answered: an idle connection or stream
 *      is this struct and nothing else.
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
struct outgoing;
struct flush;
struct listener;
struct timer;

enum http_phase {
    PHASE_READING,   /* between two requests, or in the middle of one */
    PHASE_BUSY,      /* a handler has the request */
    PHASE_STREAM,
    PHASE_SOCKET,
    PHASE_FLUSHING,  /* the last bytes are on their way; then our side is shut */
    PHASE_LINGERING, /* shut; what still comes is thrown away, so that the client can read our last words */
    PHASE_CLOSED,
};

/* name, how long one may stay there (a field of http_options, or a constant) and what happens then */
#define HTTP_WATCHES(X)                                              \
    X(READY,  0,                          http_connection_ready)     \
    X(IDLE,   options->idle_timeout_ms,   http_connection_close)     \
    X(HEAD,   options->header_timeout_ms, http_connection_late)      \
    X(BODY,   options->body_timeout_ms,   http_connection_late)      \
    X(BUSY,   INT64_MAX,                  http_connection_close)     \
    X(HALF,   HALF_CLOSED_LOOK_MS,        http_connection_probe)     \
    X(FLUSH,  options->idle_timeout_ms,   http_connection_close)     \
    X(LINGER, LINGER_MS,                  http_connection_close)     \
    X(STREAM, options->heartbeat_ms,      http_stream_beat)          \
    X(SOCKET, options->heartbeat_ms,      http_socket_beat)          \
    X(CLOSED, INT64_MAX,                  http_connection_close)

enum http_watch {
#define X(name, period, late) WATCH_##name,
    HTTP_WATCHES(X)
#undef X
    WATCH_COUNT
};

enum {
    READ_BYTES = 64 << 10,           /* the loop's one read buffer */
    EARLY_BYTES_MAX = 64 << 10,      /* of requests sent before their turn; then we stop reading */
    FLUSH_BYTES = 256 << 10,         /* given to the kernel at once */
    LINGER_MS = 5000,
    LINGER_BYTES = 16 << 20,
    HALF_CLOSED_LOOK_MS = 1000,
    ANSWER_HEAD_BYTES_MAX = 64 << 10,
};

struct http_connection {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct http_server *server;
    struct http_connection *next, *previous; /* in its watch list */
    int64_t since_ms;                        /* when it entered that list */
    union {
        struct http_reader *reader;          /* READING, BUSY: the request, NULL between two */
        struct http_stream_options owner;    /* STREAM */
        struct http_socket *socket;
        size_t discarded;                    /* LINGERING */
    };
    struct buf *early;                       /* bytes that came before their turn, or NULL */
    struct outgoing *first, *last;           /* what the kernel did not take yet */
    struct flush *flush;                     /* what it is being offered */
    size_t queued;                           /* bytes from `first` on */
    uint8_t phase;                           /* enum http_phase */
    uint8_t watch;                           /* enum http_watch */
    uint8_t stalls;                          /* heartbeats due in a row without anything leaving */
    bool local : 1;
    bool processing : 1;                     /* input is being worked on, further up the stack */
    bool reading : 1;                        /* libuv reads */
    bool ended : 1;                          /* the client has shut its side */
    bool probed : 1;                         /* it was looked whether the client is there at all */
    bool broken : 1;                         /* writing failed, or the reader is too slow */
    bool ending : 1;                         /* a stream or socket that was told to end */
};

struct http_stream {
    struct http_connection connection;
};

struct watch_list {
    struct http_connection *first, *last;
    int64_t period_ms;
    void (*late)(struct http_connection *connection);
};

struct http_server {
    struct loop *loop;
    uv_loop_t *uv;
    struct http_options options;
    struct watch_list watches[WATCH_COUNT];
    struct listener *listeners;
    struct timer *sweep;      /* runs while there are connections */
    int64_t sweep_ms;
    struct timer *patience;   /* of a stop */
    uv_idle_t *ready;         /* runs while the ready list is not empty */
    struct buf head;          /* where response headers are put together */
    char date[40];            /* the Date header as it was at date_ms of the loop's clock */
    int64_t date_ms;
    struct shared *beat;      /* the heartbeats of streams and sockets */
    struct shared *ping;
    struct http_figures figures;
    size_t handles;           /* listeners and connections that libuv still knows */
    void (*ended)(void *arg);
    void *ended_arg;
    bool sweeping, stopping, freed;
    char read_buffer[READ_BYTES];
};

/* ---- connection.c ---- */
struct http_connection *http_connection_new(struct http_server *server, bool local);
void http_connection_start(struct http_connection *connection);
/* After the request was answered: on to the next one, or to the end. */
void http_connection_answered(struct http_connection *connection, bool keep);
/* Everything that was queued has left. */
void http_connection_drained(struct http_connection *connection);
/* Sends what is queued, shuts our side, and waits a little for the client to do the same. */
void http_connection_finish(struct http_connection *connection);
/* The end, at once; whoever owns the request, stream or socket is told. From the loop only. */
void http_connection_close(struct http_connection *connection);
/* The same, from anywhere: the close follows from the loop. */
void http_connection_break(struct http_connection *connection);
/* A stream or socket shall end in an orderly way; that, too, follows from the loop. */
void http_connection_end(struct http_connection *connection);
/* The request has become a stream or a socket. */
void http_connection_turn(struct http_connection *connection, enum http_phase phase);
void http_connection_ready(struct http_connection *connection);
void http_connection_late(struct http_connection *connection);
void http_connection_probe(struct http_connection *connection);

/* ---- server.c ---- */
void http_watch_enter(struct http_connection *connection, enum http_watch watch);
void http_watch_leave(struct http_connection *connection);
/* Moves it to the end of that list, with a new start of its time. */
void http_watch(struct http_connection *connection, enum http_watch watch);
void http_server_sweep(struct http_server *server);
void http_server_released(struct http_server *server);

/* ---- output.c ---- */
/* Writes what the kernel takes at once and queues a copy of the rest; false when the client is gone. */
bool http_output_write(struct http_connection *connection, const struct str *pieces, unsigned count);
/* The same for bytes that many share, with a few of its own before them: what remains is held, not copied. */
bool http_output_share(struct http_connection *connection, struct str head, struct shared *bytes);
void http_output_drop(struct http_connection *connection);

/* ---- stream.c, websocket.c ---- */
void http_stream_beat(struct http_connection *connection);
void http_stream_finish(struct http_connection *connection);
void http_socket_beat(struct http_connection *connection);
void http_socket_stop(struct http_connection *connection);
void http_socket_finish(struct http_connection *connection);
void http_socket_input(struct http_connection *connection, struct str bytes);
/* All that was sent has left. */
void http_socket_drained(struct http_connection *connection);
/* The connection is no more; tells the owner and frees what was needed. */
void http_stream_left(struct http_connection *connection);
void http_socket_left(struct http_connection *connection);

#endif
