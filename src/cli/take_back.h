/* A command that waits for an answer takes its question back when it is told to end. */
#ifndef CLI_TAKE_BACK_H
#define CLI_TAKE_BACK_H

#include "cli/remote.h"

/* The call to withdraw when this process ends. */
struct taking_back {
    struct str call;
    const char *session; /* the call's session; may be NULL */
    bool has_reader;     /* also withdraw it when the reader of our standard output has gone */
    int status;          /* exit status when the question could not be withdrawn */
};

/* From here on a separate thread handles SIGINT, SIGTERM and SIGHUP, since the main thread is in a blocking wait: it
 * cancels the call, and the waiting thread gets that answer. Once per process. */
struct rc take_back_on_end(struct cli *cli, const struct taking_back *what, struct err *err);
/* Call it before the process ends: waits for a cancellation under way, and lets none begin. */
void take_back_over(void);

#endif
