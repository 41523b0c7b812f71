/* The server's state, and the watch lists that limit how long a connection may stay in each phase. Private to http/. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "base/map.h"
#include "http/connection.h"

struct listener;
struct timer;

/* name, how long one may stay there (a field of http_options, or a constant) and what happens then */
#define HTTP_WATCHES(X)                                              \
    X(READY,  0,                          http_connection_ready)     \
    X(IDLE,   options->idle_timeout_ms,   http_connection_close)     \
    X(SHAKE,  options->header_timeout_ms, http_connection_close)     \
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
    EARLY_BYTES_MAX = 16 << 10,      /* pipelined bytes kept; with more, we stop reading */
    FLUSH_BYTES = 256 << 10,         /* given to the kernel at once */
    LINGER_MS = 5000,
    LINGER_STOPPING_MS = 500,        /* for a client that has its answer and does not hang up, when we stop */
    LINGER_BYTES = 16 << 20,
    HALF_CLOSED_LOOK_MS = 1000,
    ANSWER_HEAD_BYTES_MAX = 64 << 10,
};

/* Connections in one state, by the time they entered it; `late` is called for those beyond the period. */
struct watch_list {
    struct http_connection *first, *last;
    int64_t period_ms;
    void (*late)(struct http_connection *connection);
};

/* Connections without a valid token, oldest first: when room is needed, they go. */
struct strangers {
    struct http_stranger *first, *last; /* by the time they came */
    size_t count;
    size_t held;              /* bytes of answers that they do not read */
    struct map by_address;    /* → size_t, how many */
    int64_t warn_ms;          /* no further warning before this time */
};

/* The server's state; used on the loop only. */
struct http_server {
    struct loop *loop;
    uv_loop_t *uv;
    struct http_options options;
    struct watch_list watches[WATCH_COUNT];
    struct listener *listeners;
    struct dues *dues;        /* connections that are written when the loop's turn ends */
    struct tls *tls;          /* NULL: it listens nowhere with TLS */
    struct timer *sweep;      /* runs while there are connections */
    int64_t sweep_ms;
    struct timer *patience;   /* how long a stop waits for open answers */
    uv_idle_t *ready;         /* runs while the ready list is not empty */
    struct buf head;          /* where response headers are put together */
    char date[40];            /* the Date header as it was at date_ms of the loop's clock */
    int64_t date_ms;
    struct shared *beat;      /* the heartbeats of streams and sockets */
    struct shared *ping;
    struct http_figures figures;
    size_t body_bytes;        /* bytes of bodies that are not complete yet */
    struct strangers strangers;
    size_t tcp_connections;
    int64_t warn_ms;          /* no further warning about refused connections before this time */
    size_t held;              /* bytes of answers that nobody has read yet */
    size_t handles;           /* listeners and connections that libuv still knows */
    void (*ended)(void *arg);
    void *ended_arg;
    bool sweeping, stopping, freed;
    char read_buffer[READ_BYTES];
};

void http_watch_enter(struct http_connection *connection, enum http_watch watch);
void http_watch_leave(struct http_connection *connection);
/* Moves the connection to the end of that list and restarts its time. */
void http_watch(struct http_connection *connection, enum http_watch watch);
void http_server_sweep(struct http_server *server);
void http_server_released(struct http_server *server);

#endif
