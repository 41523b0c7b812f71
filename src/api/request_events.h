/* The events of one agent request as text_chunk, tool_call, tool_result and completion. Private to api/. */
#ifndef API_REQUEST_EVENTS_H
#define API_REQUEST_EVENTS_H

#include "api/exchange.h"

/* Goes through the events of the request's thread in order and names those that are the request's own. */
struct request_teller {
    struct str run;      /* the request's id */
    bool mine;           /* the thread's current run is the requested one */
    bool over;           /* the requested run is over */
    /* Gets each: its type, the event's seq, which of the event's messages it is (from 1), and the object itself. */
    void (*put)(void *arg, const char *type, uint64_t seq, unsigned part, struct str json);
    void *arg;
};
void request_tell(struct request_teller *teller, const struct event *event);

/* Answers with a live stream of them, behind the cursor in Last-Event-ID or after=. It ends when the request does. */
void request_stream(struct exchange *x, struct str thread);

#endif
