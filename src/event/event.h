/* Events: everything that matters is stored as one, and state is computed from them.
 *
 * An event is immutable. `data` is a JSON object whose bytes are kept exactly as they were written; a
 * tool's input stands in it with the bytes the agent sent. The state of a session, a
 * call or a token is computed from its events by the pure functions of session.h, call.h and token.h, never stored.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include "base/json.h"
#include "base/str.h"

#include <stdint.h>

/* The number is what the store keeps: never change or reuse one. To add a kind: a line here, and see docs/ADDING.md.
 * An event of an `of call` kind names its call and happens at most once per call. */
#define EVENT_KINDS(X)                       \
    X(1, USER_MESSAGE, false)                \
    X(2, AGENT_MESSAGE, false)               \
    X(3, TOOL_CALL, true)                    \
    X(4, TOOL_APPROVAL_REQUEST, true)        \
    X(5, TOOL_APPROVAL_RESPONSE, true)       \
    X(6, TOOL_STARTED, true)                 \
    X(7, TOOL_RESULT, true)                  \
    X(8, LOCAL_SYSTEM_MESSAGE, false)        \
    X(9, SYSTEM_PROMPT, false)               \
    X(10, USER_SYSTEM_PROMPT, false)         \
    X(11, COMPACTION, false)                 \
    X(12, RUN_STATUS, false)                 \
    X(13, SESSION_CHANGED, false)            \
    X(14, TOKEN_CHANGED, false)              \
    X(15, RULE_CHANGED, false)               \
    X(16, SESSION_ARCHIVED, false)           \
    X(17, TOOL_APPROVAL_ALERT, true)         \
    X(18, RUN_LEASE, false)                  \
    X(19, DELIVERY_ENDED, false)             \
    X(20, DELIVERY_CLAIMED, false)           \
    X(21, EGRESS, false)                     \
    X(22, TOOL_APPROVAL_PARTIAL, false)      \
    X(23, DELIVERY_HELD, false)              \
    X(24, TOOL_APPROVAL_SNOOZED, false)      \
    X(25, TOOL_APPROVAL_ASSIGNED, false)

enum event_kind {
    EVENT_NONE = 0,
#define X(number, name, of_call) EVENT_##name = (number),
    EVENT_KINDS(X)
#undef X
    EVENT_KIND_END
};

/* Its texts belong to whoever holds the event: an append, a read, or an arena (event_copy). */
struct event {
    uint64_t seq;         /* one order for the whole store, from 1; without gaps but for what is in archives */
    uint64_t no;          /* its number within its session, from 1; 0: kept before sessions counted theirs */
    enum event_kind kind;
    int64_t at_ms;
    struct str session;   /* empty: the whole installation (tokens, rules) */
    struct str thread;    /* empty: the session as such */
    struct str call;      /* empty unless the kind is of a call */
    struct str actor;     /* name of the one that caused it: a token's name, "policy", "nod" */
    struct str data;      /* JSON object */
    const void *made;     /* what shape_made says of `data`, as long as its append lives; NULL: it is to be read */
};

const char *event_kind_name(enum event_kind kind);
/* EVENT_NONE when there is no such kind. */
enum event_kind event_kind_parse(struct str name);
bool event_kind_of_call(enum event_kind kind);
/* Whether agents whose conversations run outside Nod may send this kind, with data of their own. */
bool event_kind_is_note(enum event_kind kind);
/* Whether a member of the data is never shown: the digest of a token's secret. */
bool event_hides(enum event_kind kind, struct str member);

/* The event as the wire shows it: {"seq","sessionId","threadId","type","at","actor","data"}. */
void event_write(struct json_out *out, const struct event *event);
/* A copy whose bytes live in the arena. */
struct event event_copy(struct arena *arena, const struct event *event);

#endif
