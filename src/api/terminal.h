/* Internals of /api/terminal/ws/agent; include it there only.
 *
 *   terminal.c        the socket: commands are read, checked and handed on
 *   terminal_run.c    "run": a new session or another prompt in one, under the mode that the prompt chose
 *   terminal_view.c   a session as this protocol tells it: messages are made of kept events, in their order
 * A socket holds no state of its own: a view can be made again from the events, on this socket or another.
 * docs/TERMINAL_SOCKET.md is the protocol for those who write clients.
 */
#ifndef API_TERMINAL_H
#define API_TERMINAL_H

#include "api/exchange.h"

#include "base/map.h"
#include "runtime/runtime.h"

enum { VIEWS_MAX = 16, UUID_BYTES = 37 };

struct view;

/* One terminal's WebSocket, with the sessions that it shows (views). */
struct terminal {
    struct api *api;
    struct http_socket *socket;  /* NULL: disconnected */
    const struct token *token;
    struct arena arena;
    struct str cwd;
    struct view *views;          /* newest first; the first is the one that "continue" and "cancel" mean */
    unsigned open;               /* messages of the client whose operations at the gate have not ended */
};

/* How far a client has read: all messages of the events before `seq`, and `part` of those that `seq` makes. */
struct cursor {
    uint64_t seq, part;
};

/* A session on this socket. */
struct view {
    struct terminal *terminal;
    struct view *next;
    struct arena arena;
    struct str session, thread;  /* the session and its main thread */
    struct map calls;            /* id → struct terminal_ask, until it is answered */
    struct watched what;
    struct watcher watcher;
    bool watching;
    bool tagged;                 /* its messages carry session_id and cursor: the client asked for it */
    bool caught_up;              /* all events before the attach have been sent */
    bool attached;               /* the client wants a message when `caught_up` becomes true */
    bool over;                   /* its last run has ended */
    struct str quiet;            /* sends nothing until this run begins; empty: sends everything */
    char status[24];             /* status of the last run */
    struct cursor has;           /* the client already has everything up to here */
    struct cursor at;            /* position of the message being sent */
};

/* A call, as it was made and asked about. */
struct terminal_ask {
    struct arena arena;
    struct str data;             /* data of the TOOL_CALL event */
    struct event request;        /* kind is EVENT_NONE until it is asked about */
    bool answered;               /* answered on this connection: the client need not be told */
};

/* A command of the client while its operation is under way. */
struct terminal_act {
    struct arena arena;
    struct terminal *terminal;
    struct str id;               /* JSON id of the command; empty: it had none */
    struct session_look look;
    struct session_change change;
    struct run_op start, next;   /* next: executes or cancels */
    struct decide decide;
    struct order *order;         /* for the command "run" */
    struct cursor after;         /* for the command "attach" */
};

/* ---- terminal.c ---- */
struct terminal_act *terminal_act_new(struct terminal *terminal, const struct json *message);
void terminal_act_free(struct terminal_act *act);
/* The end of an operation that the client is told of only when it failed. */
void terminal_act_done(struct op *op);
void terminal_send(struct terminal *terminal, const struct buf *buf);
/* {"type":"error","subtype":"error","content":{"message"}}, with the id of the command where it had one. */
void terminal_error(struct terminal *terminal, struct str id, struct str words);
/* Like terminal_error, with the error's code. */
void terminal_refuse(struct terminal *terminal, struct str id, const struct err *err);
/* {"type":"ack","id","command","session_id","thread_id"} */
void terminal_ack(const struct terminal_act *act, const char *command, const struct view *view);
/* The raw id of a command; empty when it has none. */
struct str terminal_id(const struct json *message);

/* ---- terminal_run.c ---- */
void terminal_run(struct terminal *terminal, const struct json *message);

/* ---- terminal_view.c ---- */
/* NULL when there is no such view on this socket. */
struct view *terminal_view_find(const struct terminal *terminal, struct str session);
/* A new first view; NULL when there are too many whose runs are not over. */
struct view *terminal_view_new(struct terminal *terminal, struct str session, struct str thread);
void terminal_view_free(struct view *view);
/* Makes the view the one that "continue" and "cancel" mean. */
void terminal_view_to_front(struct view *view);
/* Begins to send the session's messages; does nothing when it has begun already. */
void terminal_view_watch(struct view *view);
void terminal_view_go_on(struct view *view);
/* A call that waits under this id of a request, in any view. */
struct terminal_ask *terminal_view_find_asked(struct terminal *terminal, struct str request, struct view **ret_view,
                              struct str *ret_call);
void terminal_view_send_status(struct view *view, struct str call, enum decision decision, struct str feedback);

#endif
