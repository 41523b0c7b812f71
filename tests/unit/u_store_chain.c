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
        cmocka_unit_test(every_part_counts_and_so_do_its_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
