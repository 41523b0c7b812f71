/* An MCP server on the web, as the two files that speak with it share it: proxy_web.c posts messages and reads their
 * answers, proxy_stream.c reads the stream in which the server speaks by itself.
 */
#ifndef CLI_RELAY_PROXY_WEB_H
#define CLI_RELAY_PROXY_WEB_H

#include "cli/relay/proxy.h"

#include "http/http.h"

enum { WEB_HEADERS_MAX = 24, WEB_REPEATED_MAX = 32, WEB_ID_BYTES = 256, WEB_SILENCE_S = 3600 };

/* The connection of a proxy to a server that is reached over HTTP; several threads post by it. */
struct proxy_web {
    const char *url;
    const char *given[WEB_HEADERS_MAX]; /* headers that the person named; NULL behind the last */
    pthread_mutex_t lock;               /* guards everything below */
    pthread_cond_t moved;               /* `endpoint` or `older_failed` was set */
    char session[WEB_ID_BYTES], version[64];
    /* The transport of 2024-11-05: messages are posted here, and all answers come in the stream. NULL: the server
     * speaks streamable HTTP. Set once. */
    const char *endpoint;
    bool older_failed;
    struct proxy_sending *sendings;     /* requests whose answers are read */
    bool listening;                     /* a thread reads the server's own stream */
};

/* Reads --header-env. */
struct rc proxy_web_given(struct cli *cli, struct proxy_web *web, struct err *err);
/* Headers of a request; `last_event`: "" or the event behind which a stream goes on; `more` may be NULL. NULL is behind
 * the last of either list. */
const char **proxy_web_headers(struct proxy_web *web, struct arena *arena, const char *last_event,
                               const char *const *more);
/* Handles a message of the server as one line; line ends inside it are replaced. */
void proxy_web_take(struct proxy *proxy, struct str text);
/* Keeps the id of the current event, for a request that resumes after it; an id that is too long is dropped. */
void proxy_web_keep_event(char event[WEB_ID_BYTES], struct str id);

/* proxy_headers.c: whether a text is a header's value as it stands. */
bool proxy_web_plain(struct str value);
/* proxy_headers.c: the headers in which a message of 2026 or later repeats itself; none for others. */
const char **proxy_web_repeat(struct proxy *proxy, struct arena *arena, const struct mcp_message *message);

/* proxy_stream.c */
/* Reads the server's own stream in a thread, if the server has one, and again whenever it breaks. */
void proxy_stream_listen(struct proxy *proxy);
/* Begins with the transport of 2024-11-05; returns when the server has named its endpoint. False: it does not. */
bool proxy_stream_begin_older(struct proxy *proxy);

#endif
