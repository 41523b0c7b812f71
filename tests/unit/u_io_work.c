/* Pools of threads beside a loop. */
#include "io/work.h"

#include "base/err.h"
#include "io/loop.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static sem_t begun, may_end;

static void wait_in_thread(struct job *job)
{
    (void)job;
    assert_int_equal(sem_post(&begun), 0);
    assert_int_equal(sem_wait(&may_end), 0);
}

static void never(struct job *job)
{
    (void)job;
    fail_msg("a job is over for a loop that has left");
}

static unsigned threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void *nothing(void *arg) { return arg; }

/* ThreadSanitizer starts a thread of its own, for good, with the first that the program starts. */
static unsigned threads_before(void)
{
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, nothing, NULL), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    return threads();
}

/* The job ends after the loop has been freed: it rings nobody. */
static void a_loop_leaves_a_pool_that_works(void **state)
{
    enum { PAUSE_US = 2000, PAUSES_MAX = 60 * 500 };
    (void)state;
    struct loop *loop;
    static struct work_pool *pool; /* nobody frees it */
    static struct job job = {.run = wait_in_thread, .done = never};
    unsigned before = threads_before();
    assert_int_equal(loop_new(&loop, NULL).code, ERR_OK);
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    assert_int_equal(sem_init(&may_end, 0, 0), 0);
    pool = work_pool_new(loop, 2);
    work_submit(pool, &job);
    assert_int_equal(sem_wait(&begun), 0);
    work_pool_leave(pool);
    loop_free(loop);
    assert_int_equal(sem_post(&may_end), 0);
    for (int i = 0; threads() != before; i++) {
        assert_true(i < PAUSES_MAX);
        (void)usleep(PAUSE_US);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_loop_leaves_a_pool_that_works)};
    return cmocka_run_group_tests_name("pools", tests, NULL, NULL);
}
