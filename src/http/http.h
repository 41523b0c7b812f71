/* Requests come in and go out; some streams stay open.
 *
 * Server, on the loop: HTTP/1.1 over TCP and Unix sockets, parsed by llhttp behind our own strict check of the header
 * block, one request at a time per connection (pipelined ones wait their turn). A request belongs to its handler until
 * it is answered, streamed or upgraded, exactly once; if the client leaves before that, the answer goes nowhere and
 * `gone` is called. The client, fetch.h and dial.h block: commands and worker threads use them.
 *
 * Limits: see base/limits.h. A request that is malformed, too large or too slow is answered by the server
 * itself with the error body of the API and never reaches the handler.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/shared.h"
#include "base/str.h"
#include "http/dial.h"
#include "http/fetch.h"
#include "http/proof.h"

#include <stdint.h>

struct loop;
struct http_server;
struct http_connection;

struct http_header {
    struct str name; /* as sent; compare with str_same_letters */
    struct str value;
};

struct http_request {
    struct arena arena;      /* owns everything below; the handler may allocate in it */
    struct arena spare;      /* owns headers, body, and what a waiting handler can free early: see http_shed */
    struct str method;       /* "POST" */
    struct str target;       /* path and query as they were sent */
    struct str path;         /* percent-decoded; never contains NUL; starts with '/' */
    struct str query;        /* behind '?', still encoded; see http_query */
    struct str body;
    const struct http_header *headers;
    size_t header_count;
    bool local, agents;      /* came over a Unix socket; over the one for agents */
    bool plain_query;        /* nothing in the query is encoded */
    int64_t started_us;      /* clock_steady_us when its first byte came */
    struct http_connection *connection; /* NULL: disconnected, or the request came as a WebSocket message */
    void (*gone)(struct http_request *request); /* set by a handler that waits; the request must still be
                                                   answered (or dropped with http_drop) */
    void *arg;               /* private to the handler */
    void *admitted;          /* result of options.admit for the handler: the identified sender */
    /* Set by the maker of a request that is not from a socket (a WebSocket message): receives the answer. */
    void (*answered)(struct http_request *request, int status, struct str body);
    void *answered_arg;
    /* Set when the request carries a proof of a token (proof.h): the answer is signed with this key. */
    const struct sign_key *prover;
};

struct http_options {
    void (*handle)(void *arg, struct http_request *request);
    void *arg;
    int64_t header_timeout_ms; /* from the first byte to the end of the header block; 0: 5 s */
    int64_t body_timeout_ms;   /* for the body; 0: 30 s */
    int64_t idle_timeout_ms;   /* a connection with nothing to do; 0: 120 s */
    int64_t heartbeat_ms;      /* on idle streams; 0: 15 s */
    int64_t stop_timeout_ms;   /* for answers under way when the server stops; 0: 5 s */
    size_t (*body_max)(struct str target); /* how large a body may be; NULL: LIMIT_BODY_BYTES */
    /* Called when the header block is complete, before the body is read: an error is answered at once, and the body is
     * never read. NULL: everyone may send one. */
    struct rc (*admit)(void *arg, struct http_request *request, struct err *err);
    size_t bodies_max;         /* limit for all bodies that are being read; 0: LIMIT_BODIES_BYTES */
    unsigned connections_max;  /* by TCP; further ones wait; 0: LIMIT_CONNECTIONS */
    unsigned strangers_max;    /* limit for connections without a token (http_known); 0: LIMIT_STRANGERS */
    unsigned strangers_per_address_max; /* 0: LIMIT_STRANGERS_PER_ADDRESS */
    size_t strangers_bytes_max;/* limit for unread answers of those; 0: LIMIT_STRANGERS_BYTES */
    size_t answers_max;        /* limit for all unread answers; 0: LIMIT_ANSWERS_BYTES */
};

/* refused_total: connections beyond the limit, and requests answered by the server itself. */
struct http_figures {
    uint64_t connections, connections_total, requests_total, streams, sockets, dropped_slow_total,
        refused_total;
};

struct rc http_server_new(struct loop *loop, const struct http_options *options,
                          struct http_server **ret_server, struct err *err);
/* "127.0.0.1:7717", "[::1]:0"; *ret_port is the real one. */
struct rc http_listen_tcp(struct http_server *server, const char *address, int *ret_port, struct err *err);
/* PEM files; they are read anew when they change. */
struct http_certificate {
    const char *cert_file, *key_file;           /* must outlive the server */
    void (*name)(void *arg, struct str name);   /* called with each name and address in it; may be NULL */
    void *arg;
};
/* Like http_listen_tcp, with TLS; once per server. */
struct rc http_listen_tls(struct http_server *server, const char *address, const struct http_certificate *certificate,
                          int *ret_port, struct err *err);
/* A Unix socket; a stale one is replaced. Our own user may connect, and those that `group` and `agents` add. */
struct http_unix {
    const char *path;
    const char *group; /* its members may connect; NULL: no group */
    bool agents;       /* every user may connect; requests from it have `agents` set */
};
struct rc http_listen_unix(struct http_server *server, const struct http_unix *where, struct err *err);
/* Stops listening, lets open answers finish, ends streams; then `ended` is called. */
void http_server_stop(struct http_server *server, void (*ended)(void *arg), void *arg);
void http_server_free(struct http_server *server);
struct http_figures http_figures(const struct http_server *server);

/* ---- one request ---- */
struct str http_header_str(const struct http_request *request, struct str name); /* STR_NONE: not there */
#define http_header(request, name) http_header_str((request), str_of(name)) /* of a length known to the compiler */
struct str http_cookie(const struct http_request *request, struct str name); /* likewise */
bool http_peer(const struct http_request *request, uint32_t *ret_uid, int *ret_pid); /* false: no Unix socket */
uint64_t *http_mark(const struct http_request *request); /* the handlers' own, 0 at first; NULL: no Unix socket */
/* The decoded value of a query parameter; false when it is not there. ERR_INVALID on a bad escape. */
struct rc http_query(struct http_request *request, const char *name, bool *ret_there, struct str *ret_value,
                     struct err *err);
/* Answers and frees the request. `headers` are extra lines ("Retry-After: 1\r\n"), may be empty; when they
 * begin with Cache-Control, that replaces the usual no-store. */
void http_answer(struct http_request *request, int status, struct str content_type, struct str headers,
                 struct str body);
void http_answer_json(struct http_request *request, int status, struct str body);
/* Like http_answer, for a body that lives as long as the process and is not copied. */
void http_answer_lasting(struct http_request *request, int status, struct str content_type, struct str headers,
                         struct str body);
/* {"error":{"code","message"}} with the status of the code. */
void http_answer_error(struct http_request *request, const struct err *err);
void http_answer_error_as(struct http_request *request, int status, struct str headers, const struct err *err);
/* Marks the sender as identified: the connection is not a stranger's any more. */
void http_known(struct http_request *request);
/* Frees the headers, the body and the arena `spare`, so that a waiting request needs little memory. */
void http_shed(struct http_request *request);
/* Gives up a request whose client has left. */
void http_drop(struct http_request *request);

/* ---- streams (Server-Sent Events) ---- */
struct http_stream;

/* Called back about a stream. Shared by all streams of one kind, because there may be very many. */
struct http_stream_owner {
    /* Called exactly once, last, from the loop: the client left, was dropped, or the stream was ended. */
    void (*gone)(struct http_stream *stream, void *arg);
    void (*drained)(struct http_stream *stream, void *arg); /* all that was sent has left; may be NULL */
};

/* Consumes the request; sends 200 and the headers. NULL when the client has left already. */
struct http_stream *http_stream_start(struct http_request *, const struct http_stream_owner *owner, void *arg);
/* Queued, and written when the loop's turn ends; false when the reader is gone or too slow: then `gone` follows from
 * the loop. At most LIMIT_STREAM_QUEUE_BYTES and one event are queued. */
bool http_stream_send(struct http_stream *stream, struct shared *bytes);
size_t http_stream_queued(const struct http_stream *stream);
/* Queued bytes are still sent; `gone` follows from the loop. */
void http_stream_end(struct http_stream *stream);

/* ---- WebSocket (framing by wslay) ---- */
struct http_socket;

struct http_socket_options {
    void (*message)(struct http_socket *socket, void *arg, struct str text);
    void (*gone)(struct http_socket *socket, void *arg); /* as for streams */
    void (*drained)(struct http_socket *socket, void *arg);
    void *arg;
    const char *protocol; /* chosen when the client offers it; NULL: none is */
};

/* Consumes the request; answers 101, or an error when it is not a valid upgrade (then NULL). */
struct http_socket *http_socket_start(struct http_request *request, const struct http_socket_options *options);
bool http_socket_send(struct http_socket *socket, struct shared *text);
size_t http_socket_queued(const struct http_socket *socket);
void http_socket_end(struct http_socket *socket, int code, const char *reason);

/* ---- client: blocking, for commands ---- */
struct http_client;

struct http_response {
    int status;
    struct str body;      /* in the arena of the call */
    struct str content_type;
};

/* "unix:/path/nod.sock" or "http://host:port". Connects at the first request and again when needed. */
struct rc http_client_new(const char *url, const char *token, struct http_client **ret_client, struct err *err);
/* Uses this identity, which must outlive the client: sends no secret, and accepts only answers of the server that it
 * names. */
void http_client_identify(struct http_client *client, const struct http_identity *identity);
/* Under whose uid the server at a Unix socket runs; false when it is at none, or not there. */
bool http_client_peer(struct http_client *client, uint32_t *ret_uid);
void http_client_free(struct http_client *client);
/* timeout_ms covers the whole exchange, 0: none. ERR_UNAVAILABLE when the server cannot be reached or went
 * away before it answered. */
struct rc http_client_call(struct http_client *client, struct arena *arena, const char *method, struct str target,
                           struct str body, int64_t timeout_ms, struct http_response *ret_response, struct err *err);
/* Whether the last call was sent and its connection ended before the answer: the server may have kept it. */
bool http_client_cut(const struct http_client *client);
/* Reads an event stream: `event` is called with each event's id and data until it returns false. */
struct rc http_client_stream(struct http_client *client, struct str target,
                             bool (*event)(void *arg, struct str id, struct str type, struct str data),
                             void *arg, struct err *err);

#endif
