/* The status of a run of our own agent. life.h says how it moves. */
#ifndef EVENT_RUN_H
#define EVENT_RUN_H

#include "event/event.h"

/*    status, wire, whether the run is over */
#define RUN_STATUSES(X)                                \
    X(UNKNOWN, "unknown", false)                       \
    X(PENDING, "pending", false)                       \
    X(RUNNING, "running", false)                       \
    X(AWAITING_APPROVAL, "awaiting_approval", false)   \
    X(COMPLETED, "completed", true)                    \
    X(REJECTED, "rejected", true)                      \
    X(FAILED, "failed", true)                          \
    X(CANCELLED, "cancelled", true)

enum run_status {
#define X(name, wire, over) RUN_##name,
    RUN_STATUSES(X)
#undef X
    RUN_STATUS_COUNT
};

const char *run_status_name(enum run_status status);
/* RUN_UNKNOWN for any other word: conversations outside Nod may send a status of their own. */
enum run_status run_status_parse(struct str name);
bool run_status_over(enum run_status status);
/* Whether the run is over, by the data of its last RUN_STATUS. A status without "runId" is not one of our runs and
 * counts as over. */
bool run_is_over(struct str data);

#endif
