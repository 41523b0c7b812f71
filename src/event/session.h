/* A session: the sum of its SESSION_CHANGED events, whose data is described in shapes_session.h: tool policies
 * are merged, null takes one away. A thread's id begins with its session's id and a dot, so that a thread alone names
 * its session. */
#ifndef EVENT_SESSION_H
#define EVENT_SESSION_H

#include "base/arena.h"
#include "event/event.h"

/* A conversation in a session: the main one, or a sub-agent's. */
struct session_thread {
    struct str id;
    struct str parent; /* empty: none */
    struct str title;
    int64_t at_ms;
    struct session_thread *next;
};

struct session_tool {
    struct str tool;
    struct str effect; /* "allow", "deny", "ask" */
};

/* A rule of the session's own, as it was written; policy/ reads it. */
struct session_rule {
    struct str id, json, author;
    int64_t at_ms;
    uint64_t used;
    struct session_rule *next;
};

/* The state of a session: computed by session_apply. Owned by the gate's cache and lent for the time of a call. */
struct session {
    struct arena arena;
    struct str id, title, cwd, mode, owner, main_thread;
    bool cwd_proposed; /* an agent named the folder, without having been given it by a person */
    int64_t timeout_seconds; /* how long an approval waits; 0: forever */
    int64_t created_ms;
    struct session_tool *tools;
    size_t tool_count, tool_room;
    struct session_thread *threads; /* in order of creation */
    struct session_rule *rules;     /* in order of creation, too */
    uint64_t changed_seq;           /* seq of the last event applied; 0: there is no such session */
};

struct session *session_new(struct str id);
void session_free(struct session *session);
/* Takes the next SESSION_CHANGED event; one that was applied already is passed over. */
void session_apply(struct session *session, const struct event *event);
const struct session_thread *session_thread_find(const struct session *session, struct str thread);
/* The session's id within a thread's id; empty when the text is not a thread's id. */
struct str session_of_thread(struct str thread);
/* Writes the session as the API shows it. */
void session_write(struct json_out *out, const struct session *session);
void session_thread_write(struct json_out *out, const struct session_thread *thread);

#endif
