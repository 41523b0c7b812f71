/* A buffer grows to its ceiling, never past it, and remembers that it was asked to. */
#include "base/buf.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void grows(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 1 << 20);
    for (int i = 0; i < 10000; i++)
        buf_putc(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.n, 10000);
    assert_false(buf.over);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf.p[i], 'a' + i % 26);
}

static void stops_at_the_ceiling(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 5);
    buf_puts(&buf, "12345");
    assert_false(buf.over);
    buf_putc(&buf, '6');
    assert_true(buf.over);
    assert_string_equal(buf_c(&buf), "12345");
    buf_clear(&buf);
    assert_false(buf.over);
    buf_puts(&buf, "again");
    assert_string_equal(buf_c(&buf), "again");
}

/* What does not fit is left out whole, and so is everything behind it: no text with a hole in it. */
static void overflow_sticks(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 8);
    buf_puts(&buf, "1234");
    buf_puts(&buf, "567890");
    buf_puts(&buf, "5");
    buf_printf(&buf, "%d", 6);
    buf_u64(&buf, 7);
    assert_true(buf.over);
    assert_string_equal(buf_c(&buf), "1234");
}

static void no_room_at_all(void **state)
{
    (void)state;
    struct buf zeroed = {0};
    assert_string_equal(buf_c(&zeroed), "");
    assert_int_equal(buf_str(&zeroed).n, 0);
    buf_puts(&zeroed, "");
    assert_false(zeroed.over);
    buf_putc(&zeroed, 'x');
    assert_true(zeroed.over);
    assert_int_equal(zeroed.n, 0);
    buf_done(&zeroed);
}

static void numbers(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 200);
    buf_u64(&buf, 0);
    buf_putc(&buf, ' ');
    buf_u64(&buf, UINT64_MAX);
    buf_putc(&buf, ' ');
    buf_i64(&buf, INT64_MIN);
    buf_putc(&buf, ' ');
    buf_i64(&buf, INT64_MAX);
    buf_putc(&buf, ' ');
    buf_i64(&buf, -1);
    assert_string_equal(buf_c(&buf),
                        "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
}

static void printf_fits_exactly(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 10);
    buf_printf(&buf, "%s", "0123456789");
    assert_false(buf.over);
    assert_int_equal(buf.n, 10);
    buf_printf(&buf, "%s", "");
    assert_false(buf.over);
    buf_printf(&buf, "%c", 'x');
    assert_true(buf.over);
}

static void drop_from_the_front(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 100);
    buf_puts(&buf, "head and tail");
    buf_drop(&buf, 0);
    buf_drop(&buf, 9);
    assert_string_equal(buf_c(&buf), "tail");
    buf_drop(&buf, 4);
    assert_int_equal(buf.n, 0);
    buf_puts(&buf, "new");
    assert_string_equal(buf_c(&buf), "new");
}

static void room_is_written_in_place(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 100);
    char *to = buf_room(&buf, 3);
    memcpy(to, "abc", 3);
    buf.n += 3;
    assert_string_equal(buf_c(&buf), "abc");
    assert_null(buf_room(&buf, 98));
    assert_true(buf.over);
    assert_null(buf_room(&buf, SIZE_MAX));
}

static void bytes_of_any_kind(void **state)
{
    (void)state;
    BUF_SCOPE(buf, 100);
    buf_put(&buf, (struct str){"\0\xff\0", 3});
    buf_put(&buf, STR_NONE);
    assert_int_equal(buf.n, 3);
    assert_memory_equal(buf.p, "\0\xff\0", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),          cmocka_unit_test(stops_at_the_ceiling),
        cmocka_unit_test(overflow_sticks), cmocka_unit_test(no_room_at_all),
        cmocka_unit_test(numbers),        cmocka_unit_test(printf_fits_exactly),
        cmocka_unit_test(drop_from_the_front), cmocka_unit_test(room_is_written_in_place),
        cmocka_unit_test(bytes_of_any_kind),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
