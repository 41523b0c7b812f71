/* Whether a run of our own agent is over. */
#ifndef EVENT_RUN_H
#define EVENT_RUN_H

#include "event/event.h"

bool run_status_over(struct str status);
/* By the data of its last RUN_STATUS. A conversation that runs elsewhere says what it likes there: only a status with a
 * "runId" is ours, and only ours goes on by itself. */
bool run_is_over(struct str data);

#endif
