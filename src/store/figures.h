/* Counters of a store, and whether it works: written by its threads, read by anyone. */
#ifndef STORE_FIGURES_H
#define STORE_FIGURES_H

#include "store/store.h"

#include <stdatomic.h>

/* Written by the store's threads, read by the loop. */
struct figures {
    _Atomic uint64_t groups, kept, events, refused, failed, reads, read_us, commit_us;
    _Atomic uint64_t group_size_counts[8];
    _Atomic bool keeps, follows;     /* the last commit, the last look for what others keep, went well */
    _Atomic int64_t commit_began_us; /* start of the commit that is under way; 0: none is */
};

void figures_init(struct figures *figures);
void figures_count_group(struct figures *figures, const struct append *group, int64_t took_us);
void figures_count_read(struct figures *figures, int64_t took_us);
/* Whether the last commit and the last look succeeded, and no commit has been running for longer than a caller should
 * wait. */
bool figures_healthy(const struct figures *figures, int64_t now_us);
struct store_figures figures_show(const struct figures *figures, int64_t now_us);

#endif
