/* A lock with a condition on which threads wait for one another. */
#ifndef STORE_MONITOR_H
#define STORE_MONITOR_H

#include "base/err.h"

#include <pthread.h>
#include <stdint.h>

/* A lock and a condition. `asleep` counts the threads to wake: a running thread checks by itself. */
struct monitor {
    pthread_mutex_t lock;
    pthread_cond_t signalled;
    unsigned asleep;
    bool closing;
};

static inline void lock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_lock(mutex) == 0); }
static inline void unlock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_unlock(mutex) == 0); }

void monitor_init(struct monitor *monitor);
void monitor_done(struct monitor *monitor);
/* Unlocks the monitor, then wakes a thread: in this order, because the woken thread needs the lock first. */
void monitor_signal(struct monitor *monitor);
/* With the monitor locked. False when `wait_us` (0: for ever) went by without a signal. */
bool monitor_wait(struct monitor *monitor, int64_t wait_us);
void monitor_close(struct monitor *monitor);

#endif
