/* The part of gate.h about what other nodes have kept; include gate.h. */
#ifndef GATE_GATE_CATCH_UP_H
#define GATE_GATE_CATCH_UP_H

#include "base/err.h"

struct gate;

/* Other nodes may have made tokens that are not known here yet. */
bool gate_is_shared(const struct gate *gate);
struct catch_up {
    struct err err;  /* the store could not be read */
    void (*done)(struct catch_up *catch_up);
    void *arg;
    struct catch_up *next; /* the gate's */
};
/* `done` follows when everything is known that any node had kept before this call. One read serves all who wait. */
void gate_catch_up(struct gate *gate, struct catch_up *catch_up);

#endif
