/* How a call is treated that only a default or the mode would allow, no rule and no person; include gate.h. */
#ifndef GATE_GATE_BY_DEFAULT_H
#define GATE_GATE_BY_DEFAULT_H

#include "base/str.h"

#define BY_DEFAULTS(X)        \
    X(ALLOW, "allow")         \
    X(ASK, "ask")             \
    X(ASK_ACTS, "ask-acts") /* asked, except calls without effects, which are left to the agent */ \
    X(LEAVE, "leave")       /* left to the agent, which asks by itself: no opinion */

enum by_default {
#define X(name, wire) BY_DEFAULT_##name,
    BY_DEFAULTS(X)
#undef X
};

bool by_default_parse(struct str name, enum by_default *ret_by_default);

#endif
