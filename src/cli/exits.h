/* Exit statuses, as help and manual print them. Errors have theirs in base/err.h. */
#ifndef CLI_EXITS_H
#define CLI_EXITS_H

#include "event/call.h"

#define EXITS(X)                                                                \
    X(0, "all went well")                                                       \
    X(1, "something failed, or (doctor, verify) is not as it should be")        \
    X(2, "the command line, a setting or an input is wrong")                    \
    X(3, "no token, or not one that may do this")                               \
    X(4, "there is no such session, call or token")                             \
    X(5, "already decided differently, or sent with another input")              \
    X(6, "the server cannot be reached or is busy")

/*    status of the call, exit status of nod call, words; none: those of the line before */
#define CALL_EXITS(X)                                                           \
    X(ALLOWED, 0, "allowed: go ahead")                                          \
    X(DENIED, 10, "denied, by a rule or a person")                              \
    X(TIMED_OUT, 11, "nobody answered in time")                                 \
    X(ABORTED, 12, "denied, and the whole run is to stop")                      \
    X(CANCELLED, 13, "withdrawn (Ctrl-C)")                                      \
    X(STARTED, 14, "started before, or its effect unknown: do not run it again")  \
    X(FINISHED, 14, "")                                                         \
    X(INTERRUPTED, 14, "")                                                      \
    X(AWAITING, 20, "still waiting for a person")

#endif
