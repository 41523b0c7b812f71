/* Counters of the store and its health, for /readyz and /metrics. The writer and the readers count with relaxed
 * atomics; the loop reads them. A figure may be a moment old, and two figures may be of different moments. */
#include "store/figures.h"

enum { COMMIT_SLOW_US = 5000000 };

static void add(_Atomic uint64_t *counter, uint64_t n) { atomic_fetch_add_explicit(counter, n, memory_order_relaxed); }
static uint64_t get(const _Atomic uint64_t *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

void figures_init(struct figures *figures)
{
    atomic_init(&figures->keeps, true);
    atomic_init(&figures->follows, true);
}

/* Called by whoever committed the group, once per group, kept or not. Bucket k counts groups of 2^k to
 * 2^(k+1)-1 appends, the last one all larger groups. */
void figures_count_group(struct figures *figures, const struct append *group, int64_t took_us)
{
    uint64_t size = 0;
    for (const struct append *append = group; append; append = append->next) {
        size++;
        switch (append->outcome) {
        case APPEND_KEPT:
            add(&figures->kept, 1);
            add(&figures->events, append->event_count);
            break;
        case APPEND_REFUSED:
            add(&figures->refused, 1);
            break;
        case APPEND_FAILED:
            add(&figures->failed, 1);
            break;
        }
    }
    unsigned bucket = 0;
    while (size >> (bucket + 1) && bucket < 7)
        bucket++;
    add(&figures->groups, 1);
    add(&figures->commit_us, (uint64_t)took_us);
    add(&figures->group_size_counts[bucket], 1);
}

void figures_count_read(struct figures *figures, int64_t took_us)
{
    add(&figures->reads, 1);
    add(&figures->read_us, (uint64_t)took_us);
}

bool figures_healthy(const struct figures *figures, int64_t now_us)
{
    int64_t began_us = atomic_load_explicit(&figures->commit_began_us, memory_order_relaxed);
    return atomic_load_explicit(&figures->keeps, memory_order_relaxed) &&
           atomic_load_explicit(&figures->follows, memory_order_relaxed) &&
           (began_us == 0 || now_us - began_us < COMMIT_SLOW_US);
}

struct store_figures figures_show(const struct figures *figures, int64_t now_us)
{
    struct store_figures shown = {
        .groups = get(&figures->groups),
        .appends = get(&figures->kept),
        .events = get(&figures->events),
        .refused = get(&figures->refused),
        .failed = get(&figures->failed),
        .reads = get(&figures->reads),
        .read_us = get(&figures->read_us),
        .commit_us = get(&figures->commit_us),
        .healthy = figures_healthy(figures, now_us),
    };
    for (size_t i = 0; i < 8; i++)
        shown.group_size_counts[i] = get(&figures->group_size_counts[i]);
    return shown;
}
