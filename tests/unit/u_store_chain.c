/* A link of the chain, against values that another program (Python's hashlib) computed from the words of
 * chain.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/backend.h"

static const struct event first = {
    .seq = 1, .kind = EVENT_SESSION_CHANGED, .at_ms = 1700000000123, .session = STR("ses_1"),
    .actor = STR("admin"), .data = STR("{\"title\":\"t\"}"),
};
static const struct event second = {
    .seq = 2, .kind = EVENT_TOOL_CALL, .at_ms = -1, .session = STR("ses_1"), .thread = STR("thr_1"),
    .call = STR("\xc3\xbc"), .actor = STR("agent"), .data = STR("{}"),
};

static void check_hex(const struct digest *digest, const char *expected)
{
    char hex[DIGEST_HEX_BYTES];
    digest_hex(digest, hex);
    assert_string_equal(hex, expected);
}

static void links_are_as_documented(void **state)
{
    (void)state;
    struct digest zeros = {0};
    struct digest a = chain_next(&zeros, &first);
    check_hex(&a, "4879d9c86ab23114dc64eada719ed0473ef682242156627c9686c5b24dca5300");
    struct digest b = chain_next(&a, &second);
    check_hex(&b, "d31e0764950d68fa9fa867b42442ebc6f79d495acb6bf1a395f6dc46905a0c1f");
}

/* The first event of a session that is numbered follows the last that was not. */
static void numbered_links_follow_older_ones(void **state)
{
    (void)state;
    struct digest zeros = {0};
    struct event one = first, two = second;
    one.no = 1;
    two.no = 2;
    struct digest a = chain_next(&zeros, &one), b = chain_next(&a, &two);
    check_hex(&a, "132a807417f52e3681ec3acc345e60b12e52ed436cc8f853cba580031d837836");
    check_hex(&b, "56370bb6149c93cc4795695b2884ca329fa923e7f10c9e781d4e2b5b87995493");
    two.no = 1;
    struct digest old = chain_next(&zeros, &first), mixed = chain_next(&old, &two);
    check_hex(&mixed, "4fc8c8ae35105d3217fb3a62dcae738f6dc042dac30715e379f41e2a4b2cb74a");
    two.seq = 99;
    struct digest elsewhere = chain_next(&old, &two);
    assert_true(digest_eq(&elsewhere, &mixed)); /* its place in the store is covered by its group */
    struct digest_sum *sum = chain_group_begin(&zeros);
    chain_group_add(sum, &a);
    chain_group_add(sum, &b);
    struct digest group = chain_group_end(sum, 2);
    check_hex(&group, "0c091a12b15e9bc4fa00da842923c685407453152fef3605563c01b1e6749ee4");
}

static void every_part_counts_and_so_do_its_borders(void **state)
{
    (void)state;
    struct digest zeros = {0}, ones = {{1}};
    struct event changed[] = {second, second, second, second, second, second, second, second, second};
    changed[0].seq++;
    changed[1].kind = EVENT_TOOL_RESULT;
    changed[2].at_ms++;
    changed[3].session = STR("ses_2");
    changed[4].thread = STR_NONE;
    changed[5].call = STR("u");
    changed[6].actor = STR("agenT");
    changed[7].data = STR("{ }");
    changed[8].session = STR("ses_1t"); /* the same bytes in a row, cut elsewhere */
    changed[8].thread = STR("hr_1");
    struct digest should = chain_next(&zeros, &second);
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        struct digest other = chain_next(&zeros, &changed[i]);
        assert_false(digest_eq(&other, &should));
    }
    struct digest elsewhere = chain_next(&ones, &second);
    assert_false(digest_eq(&elsewhere, &should));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_as_documented),
        cmocka_unit_test(numbered_links_follow_older_ones),
        cmocka_unit_test(every_part_counts_and_so_do_its_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
