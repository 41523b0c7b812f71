/* Lists by the member `next`: items behind the last, and out of any place. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    struct item *next;
};

struct list {
    struct item *first, *last;
};

static void added_behind_the_last(void **state)
{
    struct item items[3] = {0};
    struct list list = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        LIST_ADD(&list, &items[i]);
    assert_ptr_equal(list.first, &items[0]);
    assert_ptr_equal(items[0].next, &items[1]);
    assert_ptr_equal(items[1].next, &items[2]);
    assert_null(items[2].next);
    assert_ptr_equal(list.last, &items[2]);
}

static void removed_from_any_place(void **state)
{
    struct item items[3] = {{&items[1]}, {&items[2]}, {NULL}}, *first = &items[0];
    (void)state;
    LIST_REMOVE(first, &items[1]);
    assert_ptr_equal(first, &items[0]);
    assert_ptr_equal(items[0].next, &items[2]);
    LIST_REMOVE(first, &items[0]);
    assert_ptr_equal(first, &items[2]);
    LIST_REMOVE(first, &items[2]);
    assert_null(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_behind_the_last),
        cmocka_unit_test(removed_from_any_place),
    };
    return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
