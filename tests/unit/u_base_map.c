/* The map against a plain array that does the same slowly. */
#include "base/map.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

enum { KEYS = 400, STEPS = 60000 };

static char marks[STEPS];

static struct str key_of(unsigned i, char out[16])
{
    int n = snprintf(out, 16, i % 3 ? "number-%u" : "k%u", i);
    return (struct str){out, (size_t)n};
}

static void against_an_array(void **state)
{
    (void)state;
    struct map map = {0};
    void *model[KEYS] = {0};
    size_t count = 0;
    uint32_t random = 12345;
    for (int step = 0; step < STEPS; step++) {
        char text[16];
        random = random * 1664525u + 1013904223u;
        unsigned i = (random >> 8) % KEYS;
        struct str key = key_of(i, text);
        /* The share of removals rises and falls, so that the map fills and empties several times. */
        bool take = (random >> 28) < (unsigned)(step / 10000 % 2 ? 10 : 4);
        assert_ptr_equal(map_get(&map, key), model[i]);
        void *before = take ? map_take(&map, key) : map_put(&map, key, &marks[step]);
        assert_ptr_equal(before, model[i]);
        count += (!take && !model[i]) - (size_t)(take && model[i]);
        model[i] = take ? NULL : &marks[step];
        assert_int_equal(map.count, count);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        char text[16];
        assert_ptr_equal(map_get(&map, key_of(i, text)), model[i]);
    }
    map_done(&map);
}

static void walks_over_each_once(void **state)
{
    (void)state;
    struct map map = {0};
    int values[100], seen[100] = {0};
    for (unsigned i = 0; i < 100; i++) {
        char text[16];
        assert_null(map_put(&map, key_of(i, text), &values[i]));
    }
    size_t steps = 0;
    MAP_EACH(&map, each) {
        char text[16];
        size_t i = (size_t)((int *)each.value - values);
        assert_true(str_eq(each.key, key_of((unsigned)i, text)));
        seen[i]++;
        steps++;
    }
    assert_int_equal(steps, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    map_done(&map);
}

static void empty_map(void **state)
{
    (void)state;
    struct map map = {0};
    struct map_entry entry = {0};
    assert_null(map_get(&map, STR("x")));
    assert_null(map_take(&map, STR("x")));
    assert_false(map_next(&map, &entry));
    map_done(&map);
    map_done(&map);
}

static void any_bytes_are_a_key(void **state)
{
    (void)state;
    struct map map = {0};
    int a, b, c;
    assert_null(map_put(&map, STR_NONE, &a));
    assert_null(map_put(&map, (struct str){"\0", 1}, &b));
    assert_null(map_put(&map, (struct str){"\0\0", 2}, &c));
    assert_ptr_equal(map_get(&map, STR("")), &a);
    assert_ptr_equal(map_get(&map, (struct str){"\0", 1}), &b);
    assert_ptr_equal(map_take(&map, (struct str){"\0\0", 2}), &c);
    map_done(&map);
}

/* A slot that was found a moment ago is tried by the key's end: all the other bytes must count, too. */
static void every_byte_of_a_key_counts(void **state)
{
    enum { BYTES_MAX = 70 };
    (void)state;
    for (size_t n = 1; n <= BYTES_MAX; n++) {
        struct map map = {0};
        char key[BYTES_MAX];
        struct str view = {key, n};
        memset(key, 'k', n);
        assert_null(map_put(&map, view, &map));
        for (size_t i = 0; i < n; i++) {
            assert_ptr_equal(map_get(&map, view), &map); /* now it is remembered */
            key[i] = 'x';
            assert_null(map_get(&map, view));
            key[i] = 'k';
        }
        map_done(&map);
    }
}

static void keys_are_copied(void **state)
{
    (void)state;
    struct map map = {0};
    char key[] = "mine";
    assert_null(map_put(&map, str_of(key), key));
    key[0] = 'x';
    assert_non_null(map_get(&map, STR("mine")));
    assert_null(map_get(&map, STR("xine")));
    map_done(&map);
}

/* Every byte and the length count. */
static void hash_sees_everything(void **state)
{
    (void)state;
    char zeros[32] = {0};
    uint64_t seen[33];
    for (size_t n = 0; n <= 32; n++) {
        seen[n] = map_hash((struct str){zeros, n});
        for (size_t k = 0; k < n; k++)
            assert_true(seen[k] != seen[n]);
    }
    for (size_t i = 0; i < 32; i++) {
        zeros[i] = (char)0x80;
        assert_true(map_hash((struct str){zeros, 32}) != seen[32]);
        zeros[i] = 0;
    }
    assert_true(map_hash((struct str){zeros, 32}) == seen[32]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_an_array),    cmocka_unit_test(walks_over_each_once),
        cmocka_unit_test(empty_map),           cmocka_unit_test(any_bytes_are_a_key),
        cmocka_unit_test(every_byte_of_a_key_counts),
        cmocka_unit_test(keys_are_copied),     cmocka_unit_test(hash_sees_everything),
    };
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
