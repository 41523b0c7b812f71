#include "store/door.h"

#include <errno.h>
#include <time.h>

void door_init(struct door *door)
{
    pthread_condattr_t steady;
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&door->lock, NULL) == 0);
    CHECK(pthread_cond_init(&door->knock, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
}

void door_done(struct door *door)
{
    CHECK(pthread_cond_destroy(&door->knock) == 0);
    CHECK(pthread_mutex_destroy(&door->lock) == 0);
}

void door_knock(struct door *door)
{
    bool asleep = door->asleep > 0;
    unlock(&door->lock);
    if (asleep)
        CHECK(pthread_cond_signal(&door->knock) == 0);
}

bool door_wait(struct door *door, int64_t wait_ms)
{
    int failed;
    door->asleep++;
    if (wait_ms == 0) {
        failed = pthread_cond_wait(&door->knock, &door->lock);
    } else {
        struct timespec until;
        CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
        until.tv_sec += (time_t)(wait_ms / 1000);
        until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        failed = pthread_cond_timedwait(&door->knock, &door->lock, &until);
    }
    door->asleep--;
    CHECK(failed == 0 || failed == ETIMEDOUT);
    return failed == 0;
}

void door_close(struct door *door)
{
    lock(&door->lock);
    door->closing = true;
    CHECK(pthread_cond_broadcast(&door->knock) == 0);
    unlock(&door->lock);
}
