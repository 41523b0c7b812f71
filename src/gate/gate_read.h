/* Reading what is kept. Included by gate.h. */
#ifndef GATE_READ_H
#define GATE_READ_H

#include "event/call.h"
#include "event/read.h"

struct gate;

/* Reads what store.h can read; `read` comes back by its own `done`. */
void gate_read(struct gate *gate, struct read *read);
/* A READ_EVENTS without `limit`, answered with all there is instead of a page. */
void gate_read_whole(struct gate *gate, struct read *read);
/* The events of a READ_CALL answer as calls, one per session, in the read's arena. */
size_t gate_calls_of(struct read *read, struct call **ret_calls);

#endif
