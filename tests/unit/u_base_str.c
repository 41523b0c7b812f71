/* Views of bytes: every function also on the empty view, which has no address. */
#include "base/str.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void comparing(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq(STR_NONE, STR("")));
    assert_true(str_is(STR_NONE, ""));
    assert_true(str_eq((struct str){"a\0b", 3}, (struct str){"a\0b", 3}));
    assert_false(str_eq((struct str){"a\0b", 3}, (struct str){"a\0c", 3}));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR_NONE, STR("a")) < 0);
    assert_int_equal(str_cmp(STR("same"), STR("same")), 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_true(str_same_letters(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_same_letters(STR("content-type"), STR("content_type")));
    assert_false(str_same_letters(STR("a["), STR("A{"))); /* 0x20 apart, but no letters */
    assert_true(str_same_letters(STR_NONE, STR_NONE));
    assert_true(str_same_letters(STR("Sec-Fetch-Site"), STR("sec-fetch-sitE")));
    assert_false(str_same_letters(STR("Sec-Fetch-Site"), STR("sec-fetch-sits")));
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            char x[] = "xxxxxxxxx", y[] = "XxxxXxxxx"; /* eight at once, whichever byte it is */
            x[3] = x[8] = (char)a;
            y[3] = y[8] = (char)b;
            bool same = str_lower((char)a) == str_lower((char)b);
            assert_int_equal(str_same_letters((struct str){x, 9}, (struct str){y, 9}), same);
        }
}

static void parts(void **state)
{
    (void)state;
    assert_true(str_starts(STR("prefix"), STR("pre")));
    assert_false(str_starts(STR("pre"), STR("prefix")));
    assert_true(str_starts(STR_NONE, STR_NONE));
    assert_true(str_ends(STR("name.txt"), STR(".txt")));
    assert_false(str_ends(STR("txt"), STR(".txt")));
    assert_true(str_ends(STR("x"), STR_NONE));
    assert_true(str_has(STR("haystack"), STR("st")));
    assert_true(str_has(STR("x"), STR("")));
    assert_false(str_has(STR_NONE, STR("x")));
    assert_int_equal(str_find(STR("a:b:c"), ':'), 1);
    assert_int_equal(str_find(STR("abc"), ':'), 3);
    assert_int_equal(str_find(STR_NONE, ':'), 0);
    assert_true(str_empty(str_sub(STR_NONE, 0, 0)));
}

static void trimming(void **state)
{
    (void)state;
    assert_true(str_is(str_trim(STR(" \t\r\n a b \n")), "a b"));
    assert_true(str_empty(str_trim(STR("   "))));
    assert_true(str_empty(str_trim(STR_NONE)));
    assert_int_equal(str_trim((struct str){"\0 ", 2}).n, 1); /* NUL is no blank */
}

static void cutting(void **state)
{
    (void)state;
    struct str rest;
    assert_true(str_is(str_cut(STR("key=value=x"), '=', &rest), "key"));
    assert_true(str_is(rest, "value=x"));
    assert_true(str_is(str_cut(STR("key"), '=', &rest), "key"));
    assert_true(str_empty(rest));
    assert_true(str_empty(str_cut(STR("=v"), '=', &rest)));
    assert_true(str_is(rest, "v"));
    assert_true(str_is(str_cut(STR("k="), '=', &rest), "k"));
    assert_true(str_empty(rest));
    assert_true(str_empty(str_cut(STR_NONE, '=', &rest)));
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } rows[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {"+1", false, 0},
        {"-1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1e3", false, 0},
        {"0x10", false, 0},
        {"1.0", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value = 42;
        assert_int_equal(str_to_u64(str_of(rows[i].text), &value), rows[i].good);
        assert_int_equal(value, rows[i].good ? rows[i].value : 42);
    }
    uint64_t value;
    assert_false(str_to_u64((struct str){"1\0", 2}, &value));
}

static void words(void **state)
{
    static const char *const list[] = {"allow", "ask", "a", "", "deny"};
    enum { COUNT = sizeof list / sizeof *list };
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(str_index(str_of(list[i]), list, COUNT), i);
    assert_int_equal(str_index(STR_NONE, list, COUNT), 3);
    assert_false(STR_IN(STR("al"), list)); /* a word begins with it */
    assert_false(STR_IN(STR("asks"), list)); /* it begins with a word */
    assert_false(STR_IN(STR("aslow"), list));
    assert_false(STR_IN(STR("allot"), list));
    assert_false(STR_IN(((struct str){"ask\0", 4}), list));
    /* Nothing is read behind the end of an empty word; the sanitizer sees it. */
    char *empty = calloc(1, 1);
    assert_non_null(empty);
    assert_int_equal(str_index((struct str){"\0x", 2}, (const char *const[]){empty}, 1), 1);
    assert_int_equal(str_index((struct str){"\0", 1}, (const char *const[]){empty}, 1), 1);
    free(empty);
}

static void to_c(void **state)
{
    (void)state;
    char out[4];
    assert_true(str_c(STR("abc"), out, sizeof out));
    assert_string_equal(out, "abc");
    assert_false(str_c(STR("abcd"), out, sizeof out));
    assert_false(str_c((struct str){"a\0", 2}, out, sizeof out));
    assert_true(str_c(STR_NONE, out, sizeof out));
    assert_string_equal(out, "");
    assert_true(str_empty(str_of(NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing), cmocka_unit_test(parts),   cmocka_unit_test(trimming),
        cmocka_unit_test(cutting),   cmocka_unit_test(numbers), cmocka_unit_test(to_c),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
