/* Times as text, against the C library's calendar over eight hundred years. */
#include "base/stamp.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <time.h>

static const int64_t day_ms = 86400000;

static void agrees_with_the_c_library(void **state)
{
    (void)state;
    for (int64_t days = -146097; days < 146097; days++) {
        int64_t at_ms = days * day_ms + (days * 7919 % day_ms + day_ms) % day_ms;
        int64_t second = at_ms / 1000 - (at_ms % 1000 < 0), back = 0;
        time_t t = (time_t)second;
        struct tm tm;
        char want[64], have[STAMP_BYTES];
        assert_non_null(gmtime_r(&t, &tm));
        (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                       (int)(at_ms - second * 1000));
        stamp_format(at_ms, have);
        if (strcmp(have, want) != 0)
            fail_msg("%s for %s", have, want);
        if (!stamp_parse(str_of(have), &back) || back != at_ms)
            fail_msg("%s came back as %lld", have, (long long)back);
    }
}

static void known_times(void **state)
{
    (void)state;
    static const struct {
        int64_t at_ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1582934400000, "2020-02-29T00:00:00.000Z"},
        {4107542399999, "2100-02-28T23:59:59.999Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[STAMP_BYTES];
        int64_t back;
        stamp_format(rows[i].at_ms, text);
        assert_string_equal(text, rows[i].text);
        assert_true(stamp_parse(str_of(rows[i].text), &back));
        assert_true(back == rows[i].at_ms);
    }
}

/* No time that an integer can hold may do harm; what has no four-digit year shows the nearest that has. */
static void far_away(void **state)
{
    (void)state;
    char text[STAMP_BYTES];
    stamp_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    stamp_format(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00.000Z");
    stamp_format(253402300800000, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

static void accepted_forms(void **state)
{
    (void)state;
    int64_t at_ms;
    assert_true(stamp_parse(STR("2024-02-29T12:00:00Z"), &at_ms));
    assert_true(at_ms == 1709208000000);
    assert_true(stamp_parse(STR("2016-12-31T23:59:60.000Z"), &at_ms)); /* a leap second is the next one */
    assert_true(at_ms == 1483228800000);
}

static void refused_forms(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00.12Z", "2024-01-01T00:00:00.000Zx", "2024-01-01T00:00:00.000+01:00",
        "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
        "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2100-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "24-01-01T00:00:00Z",
        "-024-01-01T00:00:00Z", "2024-1-01T00:00:00Z", " 2024-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t at_ms = 42;
        if (stamp_parse(str_of(rows[i]), &at_ms) || at_ms != 42)
            fail_msg("taken: %s", rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_c_library), cmocka_unit_test(known_times),
        cmocka_unit_test(far_away),                  cmocka_unit_test(accepted_forms),
        cmocka_unit_test(refused_forms),
    };
    return cmocka_run_group_tests_name("base/stamp", tests, NULL, NULL);
}
