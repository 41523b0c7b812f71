/* A mutex that is held until the end of the block:
 *
 *     LOCK_SCOPE(&server->lock);
 *     return server->count;
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/err.h"

#include <pthread.h>

static inline void lock_take(pthread_mutex_t *mutex) { CHECK(pthread_mutex_lock(mutex) == 0); }
static inline void lock_drop(pthread_mutex_t *mutex) { CHECK(pthread_mutex_unlock(mutex) == 0); }
static inline void lock_end(pthread_mutex_t **mutex) { lock_drop(*mutex); }

#define LOCK_SCOPE(mutex) \
    __attribute__((cleanup(lock_end), unused)) pthread_mutex_t *lock_of_scope = (lock_take(mutex), (mutex))

#endif
