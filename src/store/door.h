/* Where threads wait for one another. */
#ifndef STORE_DOOR_H
#define STORE_DOOR_H

#include "base/err.h"

#include <pthread.h>
#include <stdint.h>

/* A queue that threads wait at. `asleep` counts the threads to wake: a busy thread looks by itself. */
struct door {
    pthread_mutex_t lock;
    pthread_cond_t knock;
    unsigned asleep;
    bool closing;
};

static inline void lock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_lock(mutex) == 0); }
static inline void unlock(pthread_mutex_t *mutex) { CHECK(pthread_mutex_unlock(mutex) == 0); }

void door_init(struct door *door);
void door_done(struct door *door);
/* Unlocks the door and wakes somebody. In this order: who is woken needs the lock first of all. */
void door_knock(struct door *door);
/* With the door locked. False when `wait_ms` (0: for ever) went by without a knock. */
bool door_wait(struct door *door, int64_t wait_ms);
void door_close(struct door *door);

#endif
