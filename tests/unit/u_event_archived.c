/* What a SESSION_ARCHIVED event says: written and read alike, and nothing else is taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/archived.h"
#include "event/run.h"

static struct archived example(void)
{
    struct archived archived = {.file = STR("archive-1.db"), .events = 3, .calls = 1, .first_seq = 4, .last_seq = 9};
    archived.file_digest = digest_of(STR("file"));
    archived.hash = digest_of(STR("hash"));
    return archived;
}

static void what_is_written_is_read(void **state)
{
    ARENA_SCOPE(arena);
    struct archived before = example(), after;
    (void)state;
    assert_true(archived_parse(&arena, archived_data(&arena, &before), &after));
    assert_true(str_eq(before.file, after.file));
    assert_true(digest_eq(&before.file_digest, &after.file_digest) && digest_eq(&before.hash, &after.hash));
    assert_true(before.events == after.events && before.calls == after.calls);
    assert_true(before.first_seq == after.first_seq && before.last_seq == after.last_seq);
}

static void numbers_must_fit_together(void **state)
{
    ARENA_SCOPE(arena);
    struct archived wrong[6], after;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        wrong[i] = example();
    wrong[0].events = 0;
    wrong[1].events = 7; /* more than there are numbers */
    wrong[2].calls = 4;
    wrong[3].first_seq = 0;
    wrong[4].first_seq = 10;
    wrong[5].file = STR("");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(archived_parse(&arena, archived_data(&arena, &wrong[i]), &after));
}

static void other_data_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "null", "[]", "{}", "{\"archive\":\"a\"}",
        ("{\"archive\":\"a\",\"archiveDigest\":\"00\",\"events\":1,\"calls\":0,\"firstSeq\":1,\"lastSeq\":1,"
         "\"hash\":\"00\"}"),
    };
    ARENA_SCOPE(arena);
    struct archived after;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(archived_parse(&arena, str_of(texts[i]), &after));
}

static void runs_are_over_or_not(void **state)
{
    (void)state;
    assert_true(run_is_over(STR("{\"runId\":\"r\",\"status\":\"completed\"}")));
    assert_true(run_is_over(STR("{\"runId\":\"r\",\"status\":\"cancelled\"}")));
    assert_false(run_is_over(STR("{\"runId\":\"r\",\"status\":\"running\"}")));
    assert_false(run_is_over(STR("{\"runId\":\"r\",\"status\":\"pending\"}")));
    assert_true(run_is_over(STR("{\"status\":\"running\",\"agent\":\"claude\"}"))); /* not ours */
    assert_false(run_is_over(STR("not JSON")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(numbers_must_fit_together),
        cmocka_unit_test(other_data_is_refused),
        cmocka_unit_test(runs_are_over_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
