/* Errors: the table is whole, words fit, and wrapping puts the outer words in front. */
#include "base/err.h"
#include "base/shared.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void table(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_CODE_COUNT; i++) {
        enum err_code code = (enum err_code)i;
        assert_non_null(err_wire(code));
        assert_int_equal(err_from_wire(err_wire(code)), code);
        assert_true(err_http(code) >= 200 && err_http(code) <= 599);
        assert_true(err_exit(code) >= 0 && err_exit(code) <= 9); /* 10 and above are the answers of `nod call` */
        assert_int_equal(err_exit(code) == 0, code == ERR_OK);
        assert_int_equal(err_http(code) < 400, code == ERR_OK || code == ERR_MORE_PEOPLE);
    }
    assert_int_equal(err_from_wire("no such code"), ERR_INTERNAL);
}

static struct rc fails(struct err *err) { return err_set(err, ERR_NOT_FOUND, "no %s %d", "call", 7); }

static struct rc tries(struct err *err, int *steps)
{
    ++*steps;
    TRY(RC_OK);
    ++*steps;
    TRY(fails(err));
    ++*steps;
    return RC_OK;
}

static void words(void **state)
{
    (void)state;
    struct err err = {0};
    int steps = 0;
    struct rc rc = tries(&err, &steps);
    assert_int_equal(steps, 2);
    assert_true(rc_bad(rc) && !rc_ok(rc));
    assert_int_equal(rc.code, ERR_NOT_FOUND);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no call 7");
    assert_int_equal(fails(NULL).code, ERR_NOT_FOUND);
}

static void wrapping(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_wrap(&err, fails(&err), "reading %s", "x").code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "reading x: no call 7");
    assert_true(rc_ok(err_wrap(&err, RC_OK, "nothing")));
    assert_string_equal(err.text, "reading x: no call 7");
    assert_int_equal(err_wrap(NULL, fails(NULL), "reading").code, ERR_NOT_FOUND);
}

static void long_words_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    char many[2000];
    memset(many, 'w', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_int_equal(err_set(&err, ERR_IO, "%s", many).code, ERR_IO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(err_wrap(&err, (struct rc){ERR_IO}, "%s", many).code, ERR_IO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void shared_bytes(void **state)
{
    (void)state;
    struct shared *shared = shared_new(STR("event"));
    assert_int_equal(shared->n, 5);
    assert_ptr_equal(shared_ref(shared), shared);
    shared_unref(shared);
    assert_memory_equal(shared->p, "event", 5);
    shared_unref(shared);
    shared_unref(shared_new(STR_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),    cmocka_unit_test(words),
        cmocka_unit_test(wrapping), cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(shared_bytes),
    };
    return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
