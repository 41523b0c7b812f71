/* The part of gate.h about what other nodes have kept; include gate.h. */
#ifndef GATE_GATE_CATCH_UP_H
#define GATE_GATE_CATCH_UP_H

#include "gate/gate_op.h"

struct gate;

/* Whether several nodes share the store: others may have made tokens that are not known here yet. */
bool gate_is_shared(const struct gate *gate);
/* Calls `done` when this node knows every event that any node had stored before this call, or with an error when the
 * store could not be read. One read serves all operations that wait. */
void gate_catch_up(struct gate *gate, struct op *op);

#endif
