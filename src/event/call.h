/* A tool call: the sum of its events, whose data is described in shapes_call.h; life.h says how its status
 * moves. */
#ifndef EVENT_CALL_H
#define EVENT_CALL_H

#include "base/arena.h"
#include "base/digest.h"
#include "event/event.h"

/* decision, its name on the wire, its effect on the call's state (life.h), whether a person may choose it */
#define DECISIONS(X)                                                            \
    X(ALLOW_ONCE,     "allow_once",    "allowed",                 ALLOW,   true)  \
    X(ALLOW_SESSION,  "allow_session", "allowed for the session", ALLOW,   true)  \
    X(ALLOW_ALWAYS,   "allow_always",  "allowed from now on",     ALLOW,   true)  \
    X(DENY,           "deny",          "denied",                  DENY,    true)  \
    X(ABORT,          "abort",         "stopped",                 ABORT,   true)  \
    X(TIMEOUT,        "timeout",       "timed out",               TIMEOUT, false) \
    X(CANCELLED,      "cancelled",     "taken back",              CANCEL,  false)

enum decision {
    DECISION_NONE,
#define X(name, wire, words, status, by_person) DECISION_##name,
    DECISIONS(X)
#undef X
    DECISION_COUNT
};

#define CALL_STATUSES(X)            \
    X(UNKNOWN, "unknown")           \
    X(AWAITING, "awaiting")         \
    X(ALLOWED, "allowed")           \
    X(DENIED, "denied")             \
    X(ABORTED, "aborted")           \
    X(TIMED_OUT, "timed_out")       \
    X(CANCELLED, "cancelled")       \
    X(STARTED, "started")           \
    X(FINISHED, "finished")         \
    X(INTERRUPTED, "interrupted")

enum call_status {
#define X(name, wire) CALL_##name,
    CALL_STATUSES(X)
#undef X
    CALL_STATUS_COUNT
};

/* The state of a call: computed by call_apply from its events, never stored. */
struct call {
    struct str id, session, thread, name, cwd;
    struct str dialect;        /* the agent whose tool names are used; empty: not known */
    struct str input;          /* the bytes the agent sent */
    struct str updated_input;  /* the input as a person changed it; empty: unchanged */
    enum call_status status;
    enum decision decision;
    bool by_policy;            /* decided without a person */
    bool no_opinion;           /* CALL_UNKNOWN: no rule matches, the agent may go on as without Nod */
    struct str actor;          /* name of the one that decided */
    struct str by;             /* id of the token that decided */
    struct str key;            /* the person's key that signed the decision; empty: not signed */
    struct str feedback;
    struct str rule, source, why;  /* from the verdict */
    struct str rules, mode;    /* from the response: a JSON array, a mode's name */
    struct str reach;          /* for allow_always: "project", "session" or "everywhere" */
    int64_t rules_end_ms, rules_uses; /* when the rules end, for how many calls they are good; 0: no end */
    bool rules_chosen;         /* chosen by Nod, because the person named none */
    struct str digest;         /* digest of the request */
    struct str files;          /* digest of the files that were shown; empty: none were */
    struct str superseded_by;  /* the call that took its place, because the files had changed */
    bool started;
    struct str child;          /* thread of the sub-agent that executes the call; empty: none */
    struct str usage;          /* token usage of that sub-agent, JSON */
    struct str agent_actor;    /* name of the one that asked */
    struct str result;         /* JSON, as reported */
    bool result_is_error;
    int64_t called_ms, requested_ms, decided_ms, deadline_ms;
    uint64_t call_seq, response_seq, result_seq;
};

const char *decision_name(enum decision decision);
/* DECISION_NONE when there is none of that name. */
enum decision decision_parse(struct str name);
/* The words for people; a name that this version does not know stays as it is. */
struct str decision_words(struct str name);
/* Whether a person may choose this decision; the others are made by Nod or the agent. */
bool decision_by_person(enum decision decision);
const char *call_status_name(enum call_status status);

/* Takes the next event of the call; strings are copied into the arena. An event that does not fit the call's life
 * (a second response, say) is passed over. */
void call_apply(struct arena *arena, struct call *call, const struct event *event);
static inline bool call_allowed(const struct call *call)
{
    return call->decision == DECISION_ALLOW_ONCE || call->decision == DECISION_ALLOW_SESSION ||
           call->decision == DECISION_ALLOW_ALWAYS;
}
/* The digest that binds an answer to what was asked: session, call, tool, the input's bytes, the folder in which it
 * would run, the contents of the files that were shown. */
void call_digest(const struct call *call, char hex[DIGEST_HEX_BYTES]);
/* The input that is to run: the edited one where it was edited. */
struct str call_effective_input(const struct call *call);
/* The members of the gate's answer, without the braces. */
void call_write_members(struct json_out *out, const struct call *call);
/* {"decision","actor","at"} of the response. */
void call_write_winner(struct json_out *out, const struct call *call);

#endif
