/* The gate in figures, for metrics and health. Included by gate.h. */
#ifndef GATE_FIGURES_H
#define GATE_FIGURES_H

#include "event/call.h"
#include "event/figures.h"

struct gate;

enum { GATE_BUCKETS = 12 };
/* A copy of the counters, for /metrics and /readyz; since the start of this process unless a field says
 * otherwise. */
struct gate_figures {
    uint64_t calls;
    uint64_t requested, answered[DECISION_COUNT], recovered;
    uint64_t recovered_answered, recovered_lost; /* of the calls open at start: answered by a person; ended otherwise */
    uint64_t pending, waiting, watchers, tokens;
    uint64_t response_buckets[GATE_BUCKETS + 1]; /* see gate_bucket_ms; the last is "longer" */
    uint64_t response_ms_sum;
    uint64_t last_seq; /* seq of the last stored event; a watcher that starts after it misses nothing */
    struct store_figures store;
};
extern const int64_t gate_bucket_ms[GATE_BUCKETS];
struct gate_figures gate_figures(const struct gate *gate);
/* Whether calls can be kept right now. */
bool gate_healthy(const struct gate *gate);

#endif
