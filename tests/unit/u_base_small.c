/* Small things keep to themselves, come zeroed, and go back. */
#include "base/small.h"

#include "base/arena.h"
#include "base/err.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 5000, SIZES = SMALL_BYTES_MAX + 200 };

static void test_zeroed_and_apart(void **state)
{
    unsigned char **things = heap_new(MANY * sizeof *things);
    (void)state;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            size_t bytes = i % SIZES;
            things[i] = small_new(bytes);
            assert_int_equal((uintptr_t)things[i] % 16, 0);
            for (size_t at = 0; at < bytes; at++)
                assert_int_equal(things[i][at], 0);
            memset(things[i], (int)(i % 251) + 1, bytes);
        }
        for (size_t i = 0; i < MANY; i++)
            for (size_t at = 0; at < i % SIZES; at++)
                assert_int_equal(things[i][at], i % 251 + 1);
        for (size_t i = 0; i < MANY; i++) /* every other one first: slabs empty out of order */
            small_free(things[(i * 2 + (i >= MANY / 2)) % MANY], ((i * 2 + (i >= MANY / 2)) % MANY) % SIZES);
    }
    small_free(NULL, 10);
    free(things);
}

/* What was given back is used again: a program that goes on for days does not grow. */
static void test_goes_back(void **state)
{
    void *things[MANY];
    size_t used[4];
    (void)state;
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < MANY; i++)
            things[i] = small_new(200);
        for (size_t i = 0; i < MANY; i++)
            small_free(things[i], 200);
        used[round] = mallinfo2().uordblks;
    }
    assert_int_equal(used[1], used[3]);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true; /* a sanitizer keeps what was freed */
#else
static const bool sanitized = false;
#endif

static long resident_pages(void)
{
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
    (void)fclose(file);
    return resident;
}

/* Pages go back to the system although the heap around them has grown meanwhile. */
static void test_pages_go_back(void **state)
{
    enum { THINGS = 20000, BYTES = 2000, PAGE_BYTES = 4096 };
    void **things = heap_new(THINGS * sizeof *things), **others = heap_new(THINGS * sizeof *others);
    (void)state;
    for (size_t i = 0; i < THINGS; i++) {
        things[i] = small_new(BYTES);
        others[i] = heap_new(100);
    }
    long full = resident_pages();
    for (size_t i = 0; i < THINGS; i++)
        small_free(things[i], BYTES);
    long most = resident_pages();
    small_trim();
    if (!sanitized) {
        assert_true(full - most > (long)THINGS * BYTES / PAGE_BYTES * 9 / 10);
        assert_true(resident_pages() < most);
    }
    for (size_t i = 0; i < THINGS; i++)
        free(others[i]);
    free(others);
    free(things);
}

static void *churn(void *arg)
{
    unsigned seed = *(const unsigned *)arg;
    char *kept[64] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        unsigned at = (seed = seed * 1103515245 + 12345) >> 16 & 63;
        small_free(kept[at], 8 * at + 1);
        kept[at] = small_new(8 * at + 1);
        CHECK(kept[at][8 * at] == 0);
        kept[at][8 * at] = 1;
    }
    for (unsigned at = 0; at < 64; at++)
        small_free(kept[at], 8 * at + 1);
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    unsigned seeds[4] = {1, 2, 3, 4};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &seeds[i]), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_and_apart),
        cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_pages_go_back),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
