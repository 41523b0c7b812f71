/* A stream of Server-Sent Events that follows the gate: common to the streams of events, of an agent's state and of a
 * request. Private to api/. */
#ifndef API_SSE_H
#define API_SSE_H

#include "api/exchange.h"

struct sse;

/* The scope that a stream watches, and functions that the stream calls. Streams of the same scope may share one. */
struct sse_watched {
    struct watched watched;        /* its `caught_up` is sse_caught_up */
    void (*live)(struct sse *sse); /* everything stored was told: called once or more; may be NULL */
    void (*free)(struct sse *sse);
};

/* The first member of whatever has such a stream. */
struct sse {
    struct watcher watcher; /* `arg` is set by sse_start; its `what` is the first member of a struct sse_watched */
    struct http_stream *stream;
    const struct token *token;
};

/* Begins the answer, and with it the watching. From here on the stream owns `sse`: it is given to its `free` when the
 * client has gone. */
void sse_start(struct exchange *x, struct sse *sse);
void sse_caught_up(struct watcher *watcher);
void sse_send(struct sse *sse, struct str text);
/* Ends the stream when its token was revoked. Looked at for every event. */
bool sse_revoked(struct sse *sse);
/* The value as lines of data, and the end of the event. */
void sse_put_data(struct buf *buf, struct str json);

#endif
