/* The number that a store keeps of its version: what it says, and which are refused, in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "store/version.h"

static const struct version known = {9, 26};

static void a_number_says_steps_and_kinds(void **state)
{
    static const struct {
        int64_t number, steps, kinds;
    } cases[] = {{1, 1, 25}, {9, 9, 25}, {999, 999, 25}, {1025, 1, 25}, {9025, 9, 25}, {9026, 9, 26},
                 {10025, 10, 25}, {12345999, 12345, 999}, {INT64_MAX, INT64_MAX / 1000, INT64_MAX % 1000},
                 {0, 0, 0}, {-1, 0, 0}, {-9025, 0, 0}, {INT64_MIN, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct version version = version_read(cases[i].number);
        assert_int_equal(version.steps, cases[i].steps);
        assert_int_equal(version.kinds, cases[i].kinds);
        if (cases[i].number >= 1000)
            assert_int_equal(version_number(version), cases[i].number);
    }
}

static void a_program_knows_its_highest_kind(void **state)
{
    (void)state;
    struct version mine = version_of_steps(9);
    assert_int_equal(mine.steps, 9);
    assert_int_equal(mine.kinds, EVENT_KIND_END - 1);
    assert_int_equal(version_number((struct version){9, 26}), 9026);
}

static void fewer_of_either_is_taken(void **state)
{
    static const int64_t numbers[] = {1, 8, 9, 8025, 8026, 9025, 9026};
    struct version version;
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(version_check("x", numbers[i], known, &version, NULL).code, ERR_OK);
    assert_int_equal(version.steps, 9);
    assert_int_equal(version.kinds, 26);
}

static void more_of_either_is_refused_by_name(void **state)
{
    static const struct {
        int64_t number;
        const char *has;
    } cases[] = {{10, "x has version 10 with events of kinds up to 25,"},
                 {9027, "x has version 9 with events of kinds up to 27,"},
                 {8027, "x has version 8 with events of kinds up to 27,"}, /* a lower number, and yet */
                 {10025, "x has version 10 with events of kinds up to 25,"}};
    struct version version;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        assert_int_equal(version_check("x", cases[i].number, known, &version, &err).code, ERR_CORRUPT);
        assert_non_null(strstr(err.text, cases[i].has));
        assert_non_null(strstr(err.text, "knows version 9 with events of kinds up to 26: use a newer nod"));
    }
}

static void what_is_no_version_is_refused(void **state)
{
    static const int64_t numbers[] = {0, -1, -9026, INT64_MIN};
    struct version version;
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct err err = {0};
        assert_int_equal(version_check("x", numbers[i], known, &version, &err).code, ERR_CORRUPT);
        assert_string_equal(err.text, "x does not say which version it has: restore a backup");
    }
}

static void an_outdated_node_is_told_both(void **state)
{
    struct err err = {0};
    (void)state;
    assert_int_equal(version_outdated("x", 9027, known, &err).code, ERR_OUTDATED);
    assert_string_equal(err.text, "x has version 9 with events of kinds up to 27 now, this node knows version 9 with"
                                  " events of kinds up to 26: install a newer nod");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_says_steps_and_kinds),     cmocka_unit_test(a_program_knows_its_highest_kind),
        cmocka_unit_test(fewer_of_either_is_taken),          cmocka_unit_test(more_of_either_is_refused_by_name),
        cmocka_unit_test(what_is_no_version_is_refused),     cmocka_unit_test(an_outdated_node_is_told_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
