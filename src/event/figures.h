/* Figures of the store, for metrics and health. */
#ifndef EVENT_FIGURES_H
#define EVENT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

/* Counters of this process, for metrics. */
struct store_figures {
    uint64_t groups, appends, events;  /* committed since start */
    uint64_t refused, failed;          /* appends */
    uint64_t reads, read_us;
    uint64_t commit_us;
    uint64_t group_size_counts[8];     /* appends per group: 1, 2-3, 4-7, 8-15, … */
    bool healthy;                      /* result of store_healthy */
};

#endif
