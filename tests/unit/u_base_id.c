/* Names and secrets: their form, that they differ, and what an agent may bring as one. */
#include "base/id.h"

#include "base/limits.h"
#include "base/map.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static bool of_alphabet(const char *text, size_t n)
{
    return strspn(text, "0123456789abcdefghjkmnpqrstvwxyz") == n && text[n] == '\0';
}

static void form(void **state)
{
    (void)state;
    struct id id = id_new("ses");
    assert_memory_equal(id.text, "ses_", 4);
    assert_true(of_alphabet(id.text + 4, 26));
    assert_true(id_acceptable(str_of(id.text)));
    assert_true(of_alphabet(id_short().text, 8));
    char secret[ID_SECRET_BYTES];
    id_secret(secret);
    assert_memory_equal(secret, "nod_", 4);
    assert_true(of_alphabet(secret + 4, 52)); /* 260 bits */
}

static void they_differ(void **state)
{
    (void)state;
    struct map seen = {0};
    for (int i = 0; i < 20000; i++) {
        struct id id = id_new("x");
        assert_null(map_put(&seen, str_of(id.text), &seen));
    }
    map_done(&seen);
}

static void random_fills_all(void **state)
{
    (void)state;
    unsigned char bytes[1000] = {0}, or[1000] = {0};
    for (int round = 0; round < 20; round++) {
        id_random(bytes, sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++)
            or[i] |= bytes[i];
    }
    for (size_t i = 0; i < sizeof or; i++)
        assert_int_not_equal(or[i], 0);
    id_random(bytes, 0);
}

static void what_an_agent_may_bring(void **state)
{
    (void)state;
    static const char *const good[] = {"toolu_01AbC", "call-1", "1", "a.b", "...a", "x:y@z", "a,b;c", "~"};
    static const char *const bad[] = {"", ".", "..", "...", "a b", "a/b", "a\"b", "a'b", "a`b", "a\\b", "a?b",
                                      "a#b", "a%41", "\t", "a\n", "\x7f", "\xc3\xa4", "/"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!id_acceptable(str_of(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (id_acceptable(str_of(bad[i])))
            fail_msg("taken: %s", bad[i]);
    assert_false(id_acceptable((struct str){"a\0b", 3}));
    char longest[LIMIT_ID_BYTES + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(id_acceptable((struct str){longest, LIMIT_ID_BYTES}));
    assert_false(id_acceptable((struct str){longest, LIMIT_ID_BYTES + 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form),
        cmocka_unit_test(they_differ),
        cmocka_unit_test(random_fills_all),
        cmocka_unit_test(what_an_agent_may_bring),
    };
    return cmocka_run_group_tests_name("base/id", tests, NULL, NULL);
}
