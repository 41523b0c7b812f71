/* The state machines of calls and runs: one table each, used by all code that computes state from events. */
#ifndef EVENT_LIFE_H
#define EVENT_LIFE_H

#include "event/call.h"
#include "event/run.h"

/* The condition that an event carries beside its kind. */
enum life_condition {
    LIFE_ANY,
    LIFE_ASK,   /* the verdict of rules */
    LIFE_ALLOW, /* the verdict of rules, or a decision */
    LIFE_DENY,
    LIFE_ABORT,
    LIFE_TIMEOUT,
    LIFE_CANCEL,
    LIFE_INTERRUPTED, /* a result: nobody knows how far the tool came */
};

/*    from, event, condition, to */
#define CALL_MOVES(X)                                            \
    X(UNKNOWN, TOOL_CALL, ASK, AWAITING)                         \
    X(UNKNOWN, TOOL_CALL, ALLOW, ALLOWED)                        \
    X(UNKNOWN, TOOL_CALL, DENY, DENIED)                          \
    X(AWAITING, TOOL_APPROVAL_RESPONSE, ALLOW, ALLOWED)          \
    X(AWAITING, TOOL_APPROVAL_RESPONSE, DENY, DENIED)            \
    X(AWAITING, TOOL_APPROVAL_RESPONSE, ABORT, ABORTED)          \
    X(AWAITING, TOOL_APPROVAL_RESPONSE, TIMEOUT, TIMED_OUT)      \
    X(AWAITING, TOOL_APPROVAL_RESPONSE, CANCEL, CANCELLED)       \
    X(ALLOWED, TOOL_STARTED, ANY, STARTED)                       \
    X(ALLOWED, TOOL_RESULT, ANY, FINISHED)                       \
    X(ALLOWED, TOOL_RESULT, INTERRUPTED, INTERRUPTED)            \
    X(STARTED, TOOL_RESULT, ANY, FINISHED)                       \
    X(STARTED, TOOL_RESULT, INTERRUPTED, INTERRUPTED)

/* The next status; false when the table has no such move. A call in CALL_UNKNOWN accepts the events of any later state,
 * too, because its first events may not have been read. */
bool call_move(enum call_status from, enum event_kind kind, enum life_condition condition, enum call_status *ret_to);
/*    from, to. A run that is taken up, or put down to wait for a sub-agent, goes from running to running. */
#define RUN_MOVES(X)                \
    X(UNKNOWN, PENDING)             \
    X(UNKNOWN, RUNNING)             \
    X(PENDING, RUNNING)             \
    X(PENDING, CANCELLED)           \
    X(RUNNING, RUNNING)             \
    X(RUNNING, AWAITING_APPROVAL)   \
    X(RUNNING, COMPLETED)           \
    X(RUNNING, REJECTED)            \
    X(RUNNING, FAILED)              \
    X(RUNNING, CANCELLED)           \
    X(AWAITING_APPROVAL, RUNNING)   \
    X(AWAITING_APPROVAL, CANCELLED) \
    X(FAILED, RUNNING)

/* Whether the table has the move. */
bool life_run_move(enum run_status from, enum run_status to);

/* The condition that stands for a decision in the table of calls. */
enum life_condition decision_condition(enum decision decision);

#endif
