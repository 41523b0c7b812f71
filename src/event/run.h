/* Whether a run of our own agent is over, by its last RUN_STATUS. */
#ifndef EVENT_RUN_H
#define EVENT_RUN_H

#include "event/event.h"

/* A conversation that runs elsewhere says what it likes in its RUN_STATUS: only one with a "runId" is ours, and only
 * ours goes on by itself. */
bool run_is_over(struct str data);

#endif
