/* Wakers: the way into the loop from other threads. Watches: descriptors of others. */
#include "io/loop.h"

#include "base/block.h"
#include "base/err.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 3, RINGS = 2000 };

/* A number that threads raise, and the loop has seen. */
struct bell {
    struct loop *loop;
    struct waker *waker, *other;
    atomic_uint raised;
    unsigned calls;
};

static void *ring_often(void *arg)
{
    struct bell *bell = arg;
    for (int i = 0; i < RINGS; i++) {
        (void)atomic_fetch_add(&bell->raised, 1);
        waker_wake(bell->waker);
    }
    return NULL;
}

static void count_until_all(void *arg)
{
    struct bell *bell = arg;
    bell->calls++;
    if (atomic_load(&bell->raised) == THREADS * RINGS)
        loop_stop(bell->loop);
}

/* The loop would sleep for ever if the last ring of all were lost. */
static void no_ring_is_lost(void **state)
{
    (void)state;
    struct bell bell = {0};
    pthread_t threads[THREADS];
    assert_int_equal(loop_new(&bell.loop, NULL).code, ERR_OK);
    bell.waker = waker_new(bell.loop, count_until_all, &bell);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ring_often, &bell), 0);
    loop_run(bell.loop);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&bell.raised), THREADS * RINGS);
    assert_true(bell.calls > 0 && bell.calls <= THREADS * RINGS);
    waker_free(bell.waker);
    loop_free(bell.loop);
}

static void never(void *arg)
{
    (void)arg;
    fail_msg("a waker was called after it was freed");
}

static void free_both(void *arg)
{
    struct bell *bell = arg;
    bell->calls++;
    waker_free(bell->waker);
    waker_free(bell->other);
}

/* Both have rung. The one that is called first frees them; without a waker the loop has nothing to wait for. */
static void a_waker_may_be_freed_by_what_it_calls(void **state)
{
    (void)state;
    struct bell bell = {0};
    assert_int_equal(loop_new(&bell.loop, NULL).code, ERR_OK);
    bell.other = waker_new(bell.loop, never, NULL);
    bell.waker = waker_new(bell.loop, free_both, &bell); /* the last that was made is called first */
    waker_wake(bell.other);
    waker_wake(bell.waker);
    waker_wake(bell.waker);
    loop_run(bell.loop);
    assert_int_equal(bell.calls, 1);
    loop_free(bell.loop);
}

/* A descriptor that its owner closes while it is watched. */
struct door {
    struct loop_watch *watch;
    unsigned calls;
};

static void end_at_third_call(void *arg)
{
    struct door *door = arg;
    if (++door->calls == 3)
        loop_watch_free(door->watch);
}

/* Nobody reads, so it is called again and again, until it is freed: then nothing keeps the loop. */
static void a_watch_outlives_its_owners_descriptor(void **state)
{
    (void)state;
    struct door door = {0};
    struct loop *loop;
    int ends[2];
    assert_int_equal(loop_new(&loop, NULL).code, ERR_OK);
    assert_int_equal(pipe(ends), 0);
    door.watch = loop_watch_new(loop, ends[0], end_at_third_call, &door);
    assert_non_null(door.watch);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    loop_run(loop);
    assert_int_equal(door.calls, 3);
    assert_int_equal(close(ends[1]), 0);
    assert_null(loop_watch_new(loop, ends[0], end_at_third_call, &door));
    loop_free(loop);
}

/* As by an answer that comes when everything is closed; what was freed before is given back all the same. */
static void a_loop_that_is_stopped_behind_its_run_is_freed(void **state)
{
    (void)state;
    struct loop *loop;
    assert_int_equal(loop_new(&loop, NULL).code, ERR_OK);
    timer_free(timer_new(loop, never, NULL));
    loop_stop(loop);
    loop_free(loop);
}

/* What a busy moment leaves with the loop's thread. */
struct busy {
    struct loop *loop;
    struct timer *timer;
    size_t before, after;
    bool over;
};

static size_t heap_in_use(void) { return mallinfo2().uordblks; }

static void keep_many(void *arg)
{
    struct busy *busy = arg;
    void *blocks[50][2];
    if (busy->over) {
        busy->after = heap_in_use();
        loop_stop(busy->loop);
        return;
    }
    busy->over = true;
    busy->before = heap_in_use();
    for (size_t i = 0; i < 50; i++) {
        blocks[i][0] = block_take(BLOCK_SMALL_BYTES);
        blocks[i][1] = block_take(BLOCK_REQUEST_BYTES);
    }
    for (size_t i = 0; i < 50; i++) {
        block_give(blocks[i][0], BLOCK_SMALL_BYTES);
        block_give(blocks[i][1], BLOCK_REQUEST_BYTES);
    }
    timer_start(busy->timer, 1000);
}

static void blocks_of_a_busy_moment_go_back(void **state)
{
    (void)state;
    struct busy busy = {0};
    assert_int_equal(loop_new(&busy.loop, NULL).code, ERR_OK);
    busy.timer = timer_new(busy.loop, keep_many, &busy);
    timer_start(busy.timer, 1);
    loop_run(busy.loop);
    assert_true(busy.after < busy.before + 10 * (BLOCK_SMALL_BYTES + BLOCK_REQUEST_BYTES));
    timer_free(busy.timer);
    loop_free(busy.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_a_busy_moment_go_back),
        cmocka_unit_test(no_ring_is_lost),
        cmocka_unit_test(a_waker_may_be_freed_by_what_it_calls),
        cmocka_unit_test(a_watch_outlives_its_owners_descriptor),
        cmocka_unit_test(a_loop_that_is_stopped_behind_its_run_is_freed),
    };
    return cmocka_run_group_tests_name("wakers and watches", tests, NULL, NULL);
}
