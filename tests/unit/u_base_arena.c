/* Memory of one lifetime: alignment, zeroes, terminators, moving, and the sizes at the edges. */
#include "base/arena.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void zeroed_and_aligned(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    for (size_t bytes = 1; bytes < 3000; bytes += 7) {
        (void)arena_bytes(&arena, bytes % 5); /* leaves the position at odd places */
        unsigned char *p = arena_alloc(&arena, bytes);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, bytes);
    }
}

static void pieces_do_not_overlap(void **state)
{
    (void)state;
    enum { PIECES = 500 };
    ARENA_SCOPE(arena);
    unsigned char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = arena_alloc(&arena, i);
        memset(pieces[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(pieces[i][k], i & 0xff);
}

/* Texts that just fit into what is left of a block, and that do not. */
static void prints_of_every_length(void **state)
{
    (void)state;
    char text[1200];
    memset(text, 'x', sizeof text);
    for (int left = 0; left < 40; left++) {
        for (int n = 0; n < 40; n++) {
            ARENA_SCOPE(arena);
            struct str before = arena_printf(&arena, "%.*s", 40, text);
            (void)arena_bytes(&arena, (size_t)(arena.end - arena.at - left));
            struct str printed = arena_printf(&arena, "%.*s", n, text);
            assert_int_equal(printed.n, n);
            assert_memory_equal(printed.p, text, (size_t)n);
            assert_int_equal(printed.p[n], '\0');
            assert_int_equal(strlen(before.p), 40);
        }
    }
}

static void nothing_is_a_size_too(void **state)
{
    (void)state;
    ARENA_SCOPE(fresh);
    assert_non_null(arena_alloc(&fresh, 0));
    ARENA_SCOPE(other);
    assert_non_null(arena_bytes(&other, 0));
    ARENA_SCOPE(third);
    struct str s = arena_str(&third, STR_NONE);
    assert_int_equal(s.n, 0);
    assert_string_equal(s.p, "");
}

static void copies_are_terminated(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct str s = arena_str(&arena, (struct str){"a\0b", 3});
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b\0", 4);
    assert_string_equal(arena_c(&arena, STR("word")), "word");
}

static void printf_takes_any_length(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    assert_string_equal(arena_printf(&arena, "%d-%s", 7, "x").p, "7-x");
    assert_int_equal(arena_printf(&arena, "%20000s", "y").n, 20000);
    assert_int_equal(arena_printf(&arena, "%s", "").n, 0);
}

static void large_blocks(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    char *small = arena_alloc(&arena, 10);
    char *large = arena_alloc(&arena, 3 << 20);
    char *after = arena_alloc(&arena, 10);
    memset(large, 1, 3 << 20);
    for (int i = 0; i < 10; i++)
        assert_true(small[i] == 0 && after[i] == 0);
}

static void take_moves_everything(void **state)
{
    (void)state;
    ARENA_SCOPE(from);
    struct str word = arena_str(&from, STR("moved"));
    struct arena to = arena_take(&from);
    assert_null(from.blocks);
    arena_done(&from);
    assert_string_equal(word.p, "moved");
    (void)arena_alloc(&from, 8);
    arena_done(&to);
    assert_null(to.blocks);
    arena_done(&to);
}

static void heap_is_zeroed(void **state)
{
    (void)state;
    char *p = heap_new(100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 0);
    memset(p, 'x', 100);
    p = heap_grow(p, 1000);
    assert_int_equal(p[99], 'x');
    free(p);
    free(heap_new(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_and_aligned),   cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(prints_of_every_length),
        cmocka_unit_test(nothing_is_a_size_too), cmocka_unit_test(copies_are_terminated),
        cmocka_unit_test(printf_takes_any_length), cmocka_unit_test(large_blocks),
        cmocka_unit_test(take_moves_everything), cmocka_unit_test(heap_is_zeroed),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
