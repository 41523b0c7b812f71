/* Internals of MCP servers: messages, transports, a server. Private to tools/.
 *
 * A tool's thread enters the server, asks and leaves; the first one to enter starts it:
 *     TRY(server_enter(server, cancelled, err));
 *     rc = server_ask(server, &exchange, "tools/call", params, err);
 *     server_leave(server);
 */
#ifndef TOOLS_MCP_H
#define TOOLS_MCP_H

#include "base/map.h"
#include "egress/egress.h"
#include "tools/tool.h"
#include "tools/tool_servers.h"

#include <pthread.h>

enum {
    MCP_MESSAGE_BYTES_MAX = 8 << 20,
    MCP_DEFINITION_BYTES_MAX = 64 << 10,
    MCP_OFFERED_BYTES_MAX = 4 << 20, /* limit for all definitions given to a model at once */
    MCP_TOOLS_MAX = 256,          /* per server */
    MCP_SERVERS_MAX = 32,
    MCP_PINS_MAX = 8192,          /* in all, forever: a server cannot fill the log with tools */
    MCP_NAME_BYTES_MAX = 64,      /* mcp__SERVER__TOOL: the most that models' APIs take */
    MCP_LOOK_MS = 50,             /* how often cancelling is looked for */
    MCP_HOSTS_MAX = 16,           /* "hosts" of one server's entry */
};

/* ---- mcp_message.c: JSON-RPC, one message a line. Pure. ---- */

void mcp_put_request(struct buf *buf, uint64_t id, const char *method, struct str params);
void mcp_put_notification(struct buf *buf, const char *method, struct str params);
/* Answers a server's request: only ping is supported. */
void mcp_put_reply(struct buf *buf, struct str id, struct str method);

struct mcp_reply {
    uint64_t id;                /* of a response: the id of our request; 0: it is not a response */
    struct str asks;            /* of a request by the server: its id, JSON; empty: it is not a request */
    struct str method;
    const struct json *result;  /* result of a response; NULL: the response is an error */
    struct str error;
};
struct rc mcp_message_read(struct arena *arena, struct str text, struct mcp_reply *ret_message, struct err *err);
/* The text of a tool's result: text blocks; what cannot be shown is named. */
struct str mcp_result_text(struct arena *arena, const struct json *result);

/* ---- mcp_definition.c: what a tool is, in a form that can be compared and shown. Pure. ---- */

/* The definition as canonical text, independent of key order and blanks; empty: too large. `whole`: with members that
 * only clients of a proxy use: title, hints, outputs. */
struct str mcp_definition_text(struct arena *arena, struct str tool, const struct json *definition, bool whole);
struct str mcp_definition_digest(struct arena *arena, struct str text);
struct str mcp_definition_preview(struct arena *arena, struct str tool, struct str before, struct str after);
struct str mcp_definition_file_preview(struct arena *arena, struct str path, struct str text);

/* ---- servers ---- */

struct server_tool {
    struct str name;            /* mcp__SERVER__TOOL */
    struct str own;             /* its name on the server */
    struct str description;
    struct str definition;      /* JSON: {"description","inputSchema"} */
    struct str schema, text, digest;
};

enum server_state { SERVER_DOWN, SERVER_STARTING, SERVER_READY };

/* One MCP server: its settings, and its connection while it runs. */
struct server {
    /* from the file */
    struct arena arena;
    struct str name;
    const struct transport *transport;
    char **args;                /* a program, and its environment */
    char **environment;
    const char *url;            /* address of a web server, and headers to send */
    const char **headers;
    size_t header_count;
    int64_t timeout_ms;
    const char *folder;         /* where a program is started; NULL: where we are */
    const struct servers_boxes *boxes; /* a program runs in a box; boxes->setting NULL: without one */
    bool unboxed;               /* the entry says that it runs without a box */
    struct egress_target hosts[MCP_HOSTS_MAX]; /* that a program in a box may reach */
    size_t host_count;

    atomic_bool stale;          /* the server said that its tools have changed */
    atomic_uint_fast64_t next_id; /* of our requests */
    pthread_mutex_t lock;       /* for everything below */
    pthread_cond_t moved; /* `state` or `users` has changed */
    enum server_state state;
    unsigned users;             /* threads that use the connection now; while there are any, it stays open */
    void *link;                 /* private to the transport */
    int64_t opened_us, retry_us, listed_us; /* retry_us: not started again before this time */
    unsigned failures; /* short lives in a row: each doubles the delay */
    struct err trouble; /* why it could not be started last */
    struct arena list_arena; /* owns the tools; replaced with each new list */
    struct server_tool *tools;
    size_t tool_count;
};

/* The servers of one file. */
struct server_set {
    struct str root, digest;    /* the repository and its file's digest; both empty: the person's own file */
    struct arena arena;
    struct server servers[MCP_SERVERS_MAX];
    size_t count;
    struct server_set *next;
};

/* All servers of the process; see tool_servers.h for the threads. */
struct servers {
    struct servers_boxes boxes;
    bool projects;              /* repositories may configure servers */
    struct server_set own;
    pthread_mutex_t lock;       /* for everything below */
    struct server_set *sets;    /* sets of repositories; never freed before the end */
    struct map pins;            /* the key is "FOLDER\nTOOL"; the value a struct pin */
    struct map trusted;         /* path → digest, a C string */
};

/* servers_sets.c: the sets of servers for a folder, the user's and the repository's. Returns how many, at most two.
 * A repository's file that is not trusted with these contents becomes news (ret_news may be NULL). */
size_t servers_sets(struct servers *servers, struct arena *arena, struct str root, struct server_set *ret_sets[2],
                    struct server_news **ret_news);
void servers_free_pins(struct servers *servers);

/* A question to a server and its answer. */
struct mcp_exchange {
    struct arena *arena;
    uint64_t id;
    struct str message;         /* a line */
    int64_t timeout_ms;
    const atomic_bool *cancelled;
    struct mcp_reply answer;
};

/* exchange: ERR_UNAVAILABLE when the server went away (what it did is unknown), ERR_TIMEOUT, ERR_CONFLICT when it
 * was cancelled, ERR_NOT_FOUND when the server has forgotten us and did nothing. In the second and third case the
 * server is told. */
struct transport {
    struct rc (*open)(struct server *server, void **ret_link, struct err *err);
    struct rc (*exchange)(struct server *server, struct mcp_exchange *exchange, struct err *err);
    void (*notify)(struct server *server, struct str message);
    void (*agreed)(struct server *server, struct str version); /* the handshake is over; may be NULL */
    bool (*alive)(void *link);
    void (*close)(void *link);
};
extern const struct transport transport_stdio, transport_http;

/* servers_file.c: one entry. With server->folder it is one of a repository's file, which gets nothing of our
 * environment but what every program gets. */
struct rc server_read(struct arena *arena, const struct json *entry, struct server *server, struct err *err);

/* mcp_box.c: the box of a program. */
struct mcp_box {
    char **words, **environment;
    const char *program, *folder;
    unsigned listeners;         /* number of listeners that the box passes out; 0: no network */
    const int *own_ports;
};
struct rc mcp_box_make(struct arena *arena, const struct server *server, struct mcp_box *ret_box, struct err *err);
struct egress *mcp_box_egress(const struct server *server, int channel, const struct mcp_box *box);

/* ---- server.c: one server ---- */
/* Starts the server if needed, and keeps it running until server_leave. */
struct rc server_enter(struct server *server, const atomic_bool *cancelled, struct err *err);
void server_leave(struct server *server);
/* Between the two. */
struct rc server_ask(struct server *server, struct mcp_exchange *exchange, const char *method, struct str params,
                     struct err *err);
struct rc server_list(struct server *server, const atomic_bool *cancelled, struct err *err);
/* Ends the server if no thread uses it; server_enter starts it again. */
void server_rest(struct server *server);
void server_init(struct server *server);
void server_done(struct server *server);

static inline bool is_set(const atomic_bool *flag)
{
    return flag && atomic_load_explicit(flag, memory_order_relaxed);
}

#endif
