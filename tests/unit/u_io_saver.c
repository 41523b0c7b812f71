/* Small files are written beside other work, and are there when that is waited for. */
#include "io/file.h"
#include "io/saver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[40];
static struct arena arena;

static const char *at(const char *name) { return arena_printf(&arena, "%s/%s", folder, name).p; }

static void files_are_there_at_the_end(void **state)
{
    (void)state;
    struct err err = {0};
    struct str text;
    struct saver *saver = saver_new(folder);
    saver_add(saver, at("one"), STR("1"), NULL);
    saver_add(saver, at("two"), STR("2"), "two is missing");
    saver_begin(saver);
    assert_true(rc_ok(saver_end(&saver, &err)));
    assert_null(saver);
    assert_true(rc_ok(file_read(&arena, at("one"), 9, &text, &err)) && str_is(text, "1"));
    assert_true(rc_ok(file_read(&arena, at("two"), 9, &text, &err)) && str_is(text, "2"));
    assert_int_equal(unlink(at("one")) + unlink(at("two")), 0);
}

static void a_file_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct err err = {0};
    struct saver *saver = saver_new(folder);
    saver_add(saver, at("none/optional"), STR("1"), "one is missing");
    saver_begin(saver);
    assert_true(rc_ok(saver_end(&saver, &err)));
    saver = saver_new(folder);
    saver_add(saver, at("none/needed"), STR("1"), NULL);
    saver_begin(saver);
    assert_int_equal(saver_end(&saver, &err).code, ERR_IO);
    assert_non_null(strstr(err.text, "none/needed"));
}

static void one_that_was_not_begun_writes_nothing(void **state)
{
    (void)state;
    struct saver *saver = saver_new(folder), *none = NULL;
    saver_add(saver, at("one"), STR("1"), NULL);
    assert_true(rc_ok(saver_end(&saver, NULL)));
    assert_true(access(at("one"), F_OK) != 0);
    assert_true(rc_ok(saver_end(&none, NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_there_at_the_end),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told),
        cmocka_unit_test(one_that_was_not_begun_writes_nothing),
    };
    (void)snprintf(folder, sizeof folder, "/tmp/nod-saver-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_done(&arena);
    return rmdir(folder) != 0 || failed;
}
