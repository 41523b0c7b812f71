/* A mutex with a condition that counts who waits (monitor.h). Times are of the monotonic clock: setting the
 * wall clock neither wakes nor holds up a thread. */
#include "store/monitor.h"

#include <errno.h>
#include <time.h>

void monitor_init(struct monitor *monitor)
{
    pthread_condattr_t steady;
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&monitor->lock, NULL) == 0);
    CHECK(pthread_cond_init(&monitor->signalled, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
}

void monitor_done(struct monitor *monitor)
{
    CHECK(pthread_cond_destroy(&monitor->signalled) == 0);
    CHECK(pthread_mutex_destroy(&monitor->lock) == 0);
}

void monitor_signal(struct monitor *monitor)
{
    bool asleep = monitor->asleep > 0;
    unlock(&monitor->lock);
    if (asleep)
        CHECK(pthread_cond_signal(&monitor->signalled) == 0);
}

/* With the lock held, which is given up meanwhile. 0 waits without an end. False: the time is over. */
bool monitor_wait(struct monitor *monitor, int64_t wait_us)
{
    int failed;
    monitor->asleep++;
    if (wait_us == 0) {
        failed = pthread_cond_wait(&monitor->signalled, &monitor->lock);
    } else {
        struct timespec until;
        CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
        until.tv_sec += (time_t)(wait_us / 1000000);
        until.tv_nsec += (long)(wait_us % 1000000) * 1000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        failed = pthread_cond_timedwait(&monitor->signalled, &monitor->lock, &until);
    }
    monitor->asleep--;
    CHECK(failed == 0 || failed == ETIMEDOUT);
    return failed == 0;
}

void monitor_close(struct monitor *monitor)
{
    lock(&monitor->lock);
    monitor->closing = true;
    CHECK(pthread_cond_broadcast(&monitor->signalled) == 0);
    unlock(&monitor->lock);
}
