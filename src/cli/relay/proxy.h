/* Internals of `nod mcp proxy`.
 *
 * One thread reads the client, one the server (of a web server: one for each answer). Each held call has a thread that
 * waits at the gate. They share the two ways out, the list of held calls and the list of tools, behind one lock.
 */
#ifndef CLI_RELAY_PROXY_H
#define CLI_RELAY_PROXY_H

#include "agents/mcp.h"
#include "cli/relay/relay.h"

enum { PROXY_LINE_BYTES = 32 << 20, PROXY_HELD_MAX = 64 };

/* A transport to the server. */
struct proxy;
/* The two kinds of server behind the proxy: a program (proxy_stdio.c) and an address (proxy_web.c). */
struct proxy_back {
    /* Sends a message, without its line end. False: the server is gone. */
    bool (*send)(struct proxy *proxy, struct str message);
    /* Called when the client has ended; returns when the server has ended, too. */
    void (*end)(struct proxy *proxy);
};
extern const struct proxy_back proxy_stdio;

/* A tool as the server describes it. */
struct proxy_tool {
    struct str name, definition; /* JSON */
    bool agreed;                 /* the definition is equal to the pinned one */
};

/* The server's tools, as it listed them to us: the client's list may be old by the time of a call. */
struct proxy_list {
    struct arena arena;
    struct proxy_tool *tools;
    size_t count, bytes;
};

/* One `nod mcp proxy`; static, because threads use it until the process ends. */
struct proxy {
    struct cli *cli;
    struct relay_gate gate;
    struct relay_record record;
    struct relay_pipe client;    /* our standard output */
    struct relay_child child;    /* the server's process (proxy_stdio) */
    struct proxy_web *web;       /* the connection to a server on the web; NULL: the server is a process */
    const struct proxy_back *back;
    struct str name;             /* name of the server, as in mcp__NAME__tool */
    struct str source;           /* digest of the command or address for which definitions are pinned */
    pthread_mutex_t lock;        /* guards everything below */
    pthread_cond_t listed; /* a list is complete, or a new one is due */
    struct proxy_held *first;
    unsigned held_count;
    struct proxy_list list, next; /* next: the list while it is being fetched */
    unsigned list_number;         /* number of the current or last tools/list request */
    struct str cursor;            /* cursor for the next tools/list request */
    bool listing, stale, has_list, question_due, modern; /* stale: the list changed while it was fetched */
    bool shows_forms;             /* we answer the server's forms, since the client shows none */
    int64_t listed_us; /* when the list was complete, by the steady clock */
    unsigned dropped;             /* messages that could not be read */
    bool ending;
};

struct rc proxy_stdio_start(struct proxy *proxy, char **argv, struct err *err);
struct rc proxy_web_start(struct proxy *proxy, const char *url, struct err *err);
/* Sets the protocol revision that client and server agreed on. */
void proxy_web_version(struct proxy *proxy, struct str version);

/* proxy_listen.c: serves clients over HTTP, each session by a child process. Without `url` the server is a program. */
struct rc proxy_listen(struct cli *cli, const char *address, const char *url, struct err *err);

/* proxy.c: every message comes through one of these. */
void proxy_from_client(void *proxy, struct str message);
void proxy_from_server(void *proxy, struct str message);
void proxy_server_gone(struct proxy *proxy);
/* The client is gone: withdraws its waiting calls. */
void proxy_take_back(struct proxy *proxy);

/* proxy_tools.c */
struct rc proxy_list_start(struct proxy *proxy, struct err *err);
/* Asks the server for its tools; if such a request is under way, once more after it. */
void proxy_list_ask(struct proxy *proxy);
/* Whether the message is an answer to our tools/list request; then it is handled. */
bool proxy_list_take(struct proxy *proxy, struct str id, const struct json *message);
/* The tool's definition, up to date, in the arena; waits for the server's list. ERR_NOT_FOUND: it is not offered. */
struct rc proxy_tool(struct proxy *proxy, struct arena *arena, struct str name, struct proxy_tool *ret_tool,
                     struct err *err);
void proxy_tool_agreed(struct proxy *proxy, const struct proxy_tool *tool);

#endif
