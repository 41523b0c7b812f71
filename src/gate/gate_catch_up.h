/* The part of gate.h about what other nodes have kept; include gate.h. */
#ifndef GATE_GATE_CATCH_UP_H
#define GATE_GATE_CATCH_UP_H

#include "gate/gate_op.h"

struct gate;

/* Other nodes may have made tokens that are not known here yet. */
bool gate_is_shared(const struct gate *gate);
/* `done` follows when everything is known that any node had kept before this call, with an error when the store could
 * not be read. One read serves all who wait. */
void gate_catch_up(struct gate *gate, struct op *op);

#endif
