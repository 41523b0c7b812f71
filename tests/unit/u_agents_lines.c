/* The framing of agents that speak over pipes, at its ceiling of 64 MiB and around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/lines.h"

/* Puts `count` times `byte` where the reader wants it, in its own pieces; false when it wants no more. */
static bool put(struct lines *lines, char byte, size_t count)
{
    while (count) {
        struct str line;
        size_t room;
        char *to = lines_room(lines, &room);
        if (!to)
            return false;
        size_t n = count < room ? count : room;
        memset(to, byte, n);
        lines_add(lines, n);
        count -= n;
        assert_false(byte != '\n' && lines_next(lines, &line));
    }
    return true;
}

static void a_line_of_64_mebibytes(void **state)
{
    (void)state;
    struct lines lines = lines_init(LINE_BYTES_MAX);
    struct str line;
    size_t room;
    assert_int_equal(LINE_BYTES_MAX, 64 << 20);
    assert_true(put(&lines, 'x', LINE_BYTES_MAX));
    assert_true(put(&lines, '\n', 1));
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.n, LINE_BYTES_MAX);
    assert_true(line.p[0] == 'x' && line.p[line.n - 1] == 'x');
    assert_non_null(lines_room(&lines, &room));
    assert_true(lines.buf.cap <= LINE_KEPT_BYTES); /* what was so long does not stay */
    assert_true(put(&lines, 'y', 3) && put(&lines, '\n', 1));
    assert_true(lines_next(&lines, &line) && str_is(line, "yyy"));
    lines_done(&lines);
}

static void one_byte_more(void **state)
{
    (void)state;
    struct lines lines = lines_init(LINE_BYTES_MAX);
    struct str line;
    assert_true(put(&lines, 'x', LINE_BYTES_MAX + 1));
    assert_true(put(&lines, '\n', 1));
    assert_false(lines_next(&lines, &line));
    assert_true(lines.over);
    assert_false(put(&lines, 'y', 1)); /* nothing comes after a lost line */
    lines_done(&lines);
}

static void without_an_end(void **state)
{
    (void)state;
    struct lines lines = lines_init(LINE_BYTES_MAX);
    struct str line;
    assert_false(put(&lines, 'x', (size_t)LINE_BYTES_MAX * 2)); /* refused long before it is all there */
    assert_true(lines.over && lines.buf.n <= LINE_BYTES_MAX + LINE_END_BYTES);
    assert_false(lines_next(&lines, &line));
    lines_done(&lines);
}

static void the_last_line_may_end_with_the_stream(void **state)
{
    (void)state;
    struct lines lines = lines_init(4);
    struct str line;
    assert_true(put(&lines, 'x', 4));
    size_t room;
    assert_non_null(lines_room(&lines, &room));
    lines_add(&lines, 0);
    assert_true(lines_next(&lines, &line) && str_is(line, "xxxx"));
    assert_false(lines_next(&lines, &line) || lines.over);
    lines_done(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_64_mebibytes),
        cmocka_unit_test(one_byte_more),
        cmocka_unit_test(without_an_end),
        cmocka_unit_test(the_last_line_may_end_with_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
