/* The counts of quota.c. Included by inner.h. */
#ifndef GATE_QUOTA_H
#define GATE_QUOTA_H

#include "base/map.h"
#include "gate/gate_limits.h"

/* The counters of an agent or a session with waiting calls (quota.c). */
enum { MANY_DENIALS = 5 };
/* The calls of one agent (or session) that wait, and how often it asks and is denied. */
struct asker {
    uint64_t calls, bytes;
    int64_t credit, asked_us;
    int64_t denied_us[MANY_DENIALS]; /* times of the last denials, a ring buffer */
    unsigned denials;
    int64_t warn_us;                 /* no further warning before this time */
};

/* How many calls wait, and how many bytes they hold, in total, per token's name and per session. */
struct quotas {
    struct gate_limits limits;
    struct map askers;   /* name → struct asker */
    struct map sessions; /* id → struct asker, of which only `calls` counts */
    uint64_t calls, bytes;
};

#endif
