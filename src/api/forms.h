/* Filters of events, and their serialized forms in streams and sockets. */
#ifndef API_FORMS_H
#define API_FORMS_H

#include "gate/gate.h"

/* FORM_MESSAGE is for sockets. Of streams: each event under its type; each as a "message"; the same as CloudEvents. */
enum form { FORM_SSE, FORM_MESSAGE, FORM_SSE_MESSAGE, FORM_SSE_CLOUD, FORM_COUNT };
_Static_assert((int)FORM_COUNT == (int)HAPPENING_FORMS, "each form has its place");

/* Which events a page or a stream shows. */
struct event_scope {
    struct str session, thread; /* empty: all */
    uint64_t kinds;             /* bits; 0: all */
    uint64_t after;
    unsigned limit;
    bool live;                  /* text that is being said, too */
    enum form form;             /* the serialized form of a stream's events */
};

/* Fills in the session a thread or token implies; refuses what this token may not see as a whole. */
/* ERR_GONE when it begins behind the end of the log. */
struct rc events_scope_known(const struct gate *gate, const struct event_scope *scope, struct err *err);
struct rc events_complete_scope(const struct token *token, struct event_scope *scope, struct err *err);

/* The serialized event; made once and shared by all watchers. */
struct shared *form_sse(struct happening *happening, enum form form);
struct shared *form_message(struct happening *happening);

#endif
