/* Connections out of a box; for the files of gate/ only. */
#ifndef GATE_NETS_H
#define GATE_NETS_H

#include "policy/policy.h"

struct egress_host;
struct gate;

/* The verdict on a call of the tool `Net`, that is, one connection out of a box. */
struct verdict nets_judge(struct arena *arena, const struct question *question);
/* Judges the connections of one command's box and keeps them; belongs to the proxy. Any thread. */
struct egress_host *nets_host(struct gate *gate, struct str session, struct str thread, struct str call,
                              struct str actor);

#endif
