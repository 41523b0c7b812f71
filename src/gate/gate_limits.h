/* How much may wait for people, and how often one agent may ask them. Included by gate.h. */
#ifndef GATE_LIMITS_H
#define GATE_LIMITS_H

#include <stdint.h>

/* 0: no limit. */
struct gate_limits {
    int64_t calls_per_token, calls_per_session, calls;
    int64_t bytes_per_token, bytes;      /* total size of waiting inputs, per token and in all */
    int64_t asks_per_second, asks_burst; /* rate limit of one token */
};

#endif
