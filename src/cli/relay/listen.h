/* The sessions of nod mcp proxy --listen: shared by proxy_listen.c (HTTP) and listen_sessions.c (processes, threads).
 *
 * The loop owns the sessions. Each has two threads, one that writes to its child and one that reads it; they meet the
 * loop in two queues under one lock.
 */
#ifndef CLI_RELAY_LISTEN_H
#define CLI_RELAY_LISTEN_H

#include "cli/relay/proxy.h"

#include "base/digest.h"
#include "base/id.h"
#include "http/http.h"
#include "io/loop.h"

enum {
    LISTEN_SESSIONS_MAX = 16,
    LISTEN_OPEN_MAX = 64,       /* requests of a session that wait for their answer */
    LISTEN_EARLY_MAX = 64,      /* messages that wait for a stream */
};

struct listen_queue {
    struct listen_line *first, **end;
    size_t bytes;
};

/* A request of the client that is not answered yet. */
struct listen_open {
    struct listen_session *session;
    struct str id, progress;    /* as the child knows them: JSON */
    struct str their_id, their_progress; /* as the client does */
    char *text;                 /* on the heap, all four */
    struct http_stream *stream; /* NULL: it is answered in one piece, to `request` */
    struct http_request *request;
};

/* A client's session: a child of its own, a thread that writes to it and one that reads from it. The loop owns the
 * session; threads use what is above "On the loop", under the listener's lock. */
struct listen_session {
    struct listen_session *next;
    struct listen_server *listener;
    struct id id;
    struct relay_child child;
    pthread_t writer, reader;
    pthread_cond_t more;        /* with the listener's lock: the queue or `closing` has changed */
    struct listen_queue to_child;
    bool stateless;             /* for all clients of a revision that has no sessions */
    bool closing;               /* the writer ends, and closes the child's input */
    bool reaping;               /* the reader waits for the child's process, whose number is free then */
    /* On the loop: */
    struct timer *patience;     /* when it fires, a child that has not ended with its session is killed */
    struct listen_open open[LISTEN_OPEN_MAX];
    struct http_stream *events; /* of GET */
    struct shared *early[LISTEN_EARLY_MAX];
    unsigned early_count;
    size_t early_bytes;
    unsigned stream_count;      /* streams that hold on to it */
    bool ended;                 /* nobody is let in any more */
    bool over;                  /* its child and its threads have ended */
};

/* `nod mcp proxy --listen`: sessions of several clients. Children's lines come to the loop by one queue. */
struct listen_server {
    struct cli *cli;
    struct loop *loop;
    struct http_server *server;
    struct waker *waker;
    struct digest token;
    char **argv;
    int port;
    struct listen_session *sessions;
    unsigned session_count;
    pthread_mutex_t lock;       /* guards the queues */
    pthread_cond_t room;
    struct listen_queue from_children;
};

/* On the loop. NULL: `err` says why; with no room the oldest session without a connection ends. */
struct listen_session *listen_session_new(struct listen_server *listener, struct err *err);
/* The session shared by all clients whose MCP revision has no sessions; NULL: `err` says why. */
struct listen_session *listen_session_shared(struct listen_server *listener, struct err *err);
struct listen_session *listen_session_find(struct listen_server *listener, struct str id);
/* One message for the child; a child that does not read them is given up. */
void listen_session_tell(struct listen_session *session, struct str message);
/* listen_session_find no longer returns the session. Its child's input is closed; a child that goes on is killed. */
void listen_session_end(struct listen_session *session);
/* Frees it if its child has ended and no stream holds on to it. */
void listen_session_free(struct listen_session *session);
/* The waker's function: hands on what the children have said. */
void listen_take(void *listener);

/* proxy_listen.c; on the loop: a message of the child, and its end. */
void proxy_listen_pass(struct listen_session *session, struct str message);
void proxy_listen_ended(struct listen_session *session);

#endif
