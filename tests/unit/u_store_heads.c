/* The cache of chain heads: bounded, and what is not written yet is never lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/heads.h"

enum { MANY = 20000, BOUND = 5000 };

static struct str name_of(char text[16], int number)
{
    (void)snprintf(text, 16, "s%d", number);
    return str_of(text);
}

static void what_was_added_is_found(void **state)
{
    (void)state;
    struct heads heads = {0};
    assert_null(heads_get(&heads, STR("a")));
    struct head *a = heads_add(&heads, STR("a")), *installation = heads_add(&heads, STR_NONE);
    a->last_seq = 7;
    assert_ptr_equal(heads_get(&heads, STR("a")), a);
    assert_ptr_equal(heads_get(&heads, STR("")), installation);
    assert_true(str_is(head_session(a), "a"));
    assert_int_equal(installation->first_seq, 0);
    heads_clear(&heads);
    assert_null(heads_get(&heads, STR("a")));
    heads_clear(&heads);
}

static void it_is_bounded_and_keeps_what_is_used(void **state)
{
    (void)state;
    struct heads heads = {0};
    char text[16];
    (void)heads_add(&heads, STR("used"));
    for (int i = 0; i < MANY; i++) {
        (void)heads_add(&heads, name_of(text, i));
        assert_non_null(heads_get(&heads, STR("used")));
        assert_true(heads.count < BOUND);
        assert_int_equal(heads.count, heads.by_session.count);
    }
    assert_null(heads_get(&heads, name_of(text, 0)));
    assert_non_null(heads_get(&heads, name_of(text, MANY - 1)));
    heads_clear(&heads);
}

static void what_is_not_written_stays(void **state)
{
    (void)state;
    struct heads heads = {0};
    char text[16];
    for (int i = 0; i < MANY; i++) {
        struct head *head = heads_add(&heads, name_of(text, i));
        head->last_seq = (uint64_t)i;
        heads_touch(&heads, head);
        heads_touch(&heads, head);
    }
    int dirty = 0;
    for (const struct head *head = heads.dirty; head; head = head->next_dirty)
        dirty++;
    assert_int_equal(dirty, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(heads_get(&heads, name_of(text, i))->last_seq, i);
    heads_written(&heads);
    assert_null(heads.dirty);
    assert_true(heads_get(&heads, name_of(text, 5))->stored);
    assert_false(heads_get(&heads, name_of(text, 5))->dirty);
    for (int i = MANY; i < 2 * MANY; i++)
        (void)heads_add(&heads, name_of(text, i));
    assert_true(heads.count < MANY + MANY / 10); /* they take the places of those that are written */
    heads_clear(&heads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found),
        cmocka_unit_test(it_is_bounded_and_keeps_what_is_used),
        cmocka_unit_test(what_is_not_written_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
