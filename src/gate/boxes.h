/* The box of one command: what the rules open in it, and the digest that binds an answer to that; gate/ only. */
#ifndef GATE_BOXES_H
#define GATE_BOXES_H

#include "box/box.h"
#include "policy/policy.h"

struct gate;
struct servers_plan;
struct session;

/* A call that Nod itself would run as a command. */
struct boxes_want {
    const struct session *session;
    const struct json *input;
};

/* Whether the call's input asks to run without a box. */
bool boxes_outside(const struct json *input);
/* The openings of the call's box; lives in the arena. Looks at the folder and at the paths that rules name. On the
 * loop. */
struct box_opened *boxes_plan(struct gate *gate, struct arena *arena, const struct boxes_want *want);
/* For servers_box: what rules open in the box of an MCP server's program. `arg` is the gate; from any other thread. */
void boxes_plan_server(void *arg, struct arena *arena, struct str root, struct servers_plan *ret_plan);
/* Hex: the folder by its inode, and all that rules open. Openings for the command itself (git) follow from its
 * text. */
struct str boxes_digest(struct arena *arena, const struct box_opened *opened);
/* Changes the verdict to "ask" when commands must run in a box and this one cannot, or asks not to. */
void boxes_ask(const struct gate *gate, struct arena *arena, const struct json *input, struct verdict *verdict);

#endif
