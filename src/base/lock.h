/* A mutex that is held until the end of the block:
 *
 *     LOCK_SCOPE(&server->lock);
 *     return server->count;
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/err.h"

#include <pthread.h>

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
    CHECK(pthread_mutex_lock(mutex) == 0);
    return mutex;
}
static inline void lock_release(pthread_mutex_t **mutex) { CHECK(pthread_mutex_unlock(*mutex) == 0); }

#define LOCK_SCOPE(mutex) \
    __attribute__((cleanup(lock_release), unused)) pthread_mutex_t *lock_of_scope = lock_take(mutex)

#endif
