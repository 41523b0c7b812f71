/* A command that waits for an answer takes its question back when it is told to end. */
#ifndef CLI_TAKE_BACK_H
#define CLI_TAKE_BACK_H

#include "cli/remote.h"

struct taking_back {
    struct str call;
    const char *session; /* the call's session; may be NULL */
    bool has_reader;     /* also withdraw it when the reader of our standard output has gone */
    int status;          /* exit status when the question could not be withdrawn */
};

/* From here on SIGINT, SIGTERM and SIGHUP belong to a thread of its own, since the main one is deep in a blocking wait:
 * it cancels the call, whose answer then reaches whoever waits for it. Once per process. */
struct rc take_back_on_end(struct cli *cli, const struct taking_back *what, struct err *err);
/* Before the process ends by itself: waits for a cancellation that is on its way, and lets none begin. */
void take_back_over(void);

#endif
