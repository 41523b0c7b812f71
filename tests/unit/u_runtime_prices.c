/* What answers cost: to the billionth of a dollar, or not at all. */
#include "runtime/prices.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

static void expect(const struct runtime_options *options, const char *model, struct run_usage usage, const char *want)
{
    ARENA_SCOPE(arena);
    price_usage(options, str_of(model), &usage);
    struct data_usage data = prices_usage_data(&arena, &usage);
    struct run_usage again = prices_read_usage(&data);
    assert_true(str_is(data.cost, want));
    assert_int_equal(again.cost, usage.cost);
    assert_int_equal(again.cost_unknown, usage.cost_unknown);
}

static void test_published(void **state)
{
    struct runtime_options none = {0};
    struct run_usage each = {.input = 1000000, .output = 1000000, .cache_read = 1000000, .cache_write = 1000000};
    (void)state;
    expect(&none, "claude-opus-4-5-20251101", each, "36.75");
    expect(&none, "claude-3-5-haiku-20241022", each, "5.88");
    expect(&none, "claude-sonnet-4-20250514", (struct run_usage){.input = 10, .output = 1}, "0.000045");
    expect(&none, "gpt-4o", (struct run_usage){.input = 1, .cache_read = 1}, "0.00000375");
    expect(&none, "claude-sonnet-4", (struct run_usage){0}, "0");
}

static void test_never_guessed(void **state)
{
    struct runtime_options none = {0};
    struct run_usage some = {.input = 10};
    (void)state;
    expect(&none, "claude-opus-9", some, "");
    expect(&none, "claude-sonnet-4-x", some, "");
    expect(&none, "claude-sonnet-4-2025051x", some, "");
    expect(&none, "gpt-4o-audio-preview", some, "");
    expect(&none, "", some, "");
    expect(&none, "claude-sonnet-4", (struct run_usage){.input = 100000, .cache_read = 100001}, "");
}

static void test_own(void **state)
{
    struct runtime_options own = {.price_count = 2};
    (void)state;
    assert_true(rc_ok(price_parse(STR("mine=1/2.5"), &own.prices[0], NULL)));
    assert_true(rc_ok(price_parse(STR("gpt-4o=0.000001/0/0/0"), &own.prices[1], NULL)));
    expect(&own, "mine", (struct run_usage){.input = 1000, .output = 2000, .cache_read = 10}, "0.00601");
    expect(&own, "gpt-4o", (struct run_usage){.input = 1000}, "0.000000001");
}

static void test_nonsense(void **state)
{
    static const char *const bad[] = {"", "x", "x=", "x=1", "x=1/", "x=1/b", "x=-1/2", "x=1/2/3/4/5", "=1/2", "x=1e3/2",
                                      "x=1.0000001/2", "x=10000000000/1"};
    struct price price;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(rc_bad(price_parse(str_of(bad[i]), &price, &err)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_never_guessed),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
