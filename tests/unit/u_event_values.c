/* What is in a row, when some of it is in archives. */
#include "event/read.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void numbers_between_are_in_archives(void **state)
{
    struct seq_range gone[] = {{4, 6}, {7, 7}, {20, 30}};
    struct read read = {.gone = gone, .gone_count = sizeof gone / sizeof *gone};
    (void)state;
    assert_true(read_in_a_row(&read, 1, 2));
    assert_true(read_in_a_row(&read, 3, 8));
    assert_true(read_in_a_row(&read, 19, 31));
    assert_false(read_in_a_row(&read, 1, 3));  /* 2 is missing */
    assert_false(read_in_a_row(&read, 3, 9));  /* and 8 */
    assert_false(read_in_a_row(&read, 18, 31));
    assert_false(read_in_a_row(&read, 5, 5));
    assert_false(read_in_a_row(&read, 5, 4));
}

static void an_event_may_leave_after_it_was_read(void **state)
{
    struct seq_range gone[] = {{4, 9}}; /* 6 was there when events were read, 4 and 5 were not */
    struct read read = {.gone = gone, .gone_count = 1};
    (void)state;
    assert_true(read_in_a_row(&read, 3, 6));
    assert_true(read_in_a_row(&read, 6, 7));
    assert_true(read_in_a_row(&read, 7, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_between_are_in_archives),
        cmocka_unit_test(an_event_may_leave_after_it_was_read),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
