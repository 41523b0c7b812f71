/* The tables that the SQLite backend fills late (sqlite_late.c): nothing is lost, everything is found. */
#include "sqlite_rig.h"

#define INDEXED "SELECT value FROM meta WHERE name = 'indexed'"

/* In a process that dies without closing anything. */
static void fill_and_die(struct rig *rig)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rig_open(rig);
        (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
        (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
        (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void events_that_a_crash_left_unlisted_are_listed_at_start(void **state)
{
    struct rig *rig = *state;
    fill_and_die(rig);
    assert_true(ask_sql(rig, INDEXED) <= 4); /* 0, unless the process was stopped for seconds */
    rig_verify_well(rig, 4);
    rig_open(rig);
    assert_int_equal(ask_sql(rig, INDEXED), 4);
    assert_int_equal(ask_sql(rig, "SELECT count(*) FROM session_events"), 4);
    assert_int_equal(ask_sql(rig, "SELECT last_seq FROM chains"), 4);
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_REFUSED);
    rig_verify_well(rig, 4);
}

/* The writer has forgotten the sessions and calls that are not listed yet. */
static void what_is_forgotten_is_listed_first(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    run_sql(rig, "INSERT INTO meta VALUES('visitor', 1); DELETE FROM meta WHERE name = 'visitor'");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_REFUSED);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_REFUSED);
    assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), 5);
    rig_verify_well(rig, 5);
}

/* So many that they are listed while it goes on; each is found, listed or not. */
static void events_are_listed_many_at_once(void **state)
{
    enum { CALLS = 600 };
    struct rig *rig = *state;
    char call[16];
    rig_open(rig);
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    for (unsigned i = 0; i < CALLS; i++) {
        (void)snprintf(call, sizeof call, "c%u", i);
        (void)rig_append(rig, rig_ask("s1", call, 1), APPEND_KEPT);
    }
    int64_t indexed = ask_sql(rig, INDEXED);
    assert_true(indexed >= 512);
    struct read *all = rig_question(READ_EVENTS, "s1");
    all->limit = 2 + 2 * CALLS;
    assert_int_equal(rig_read(rig, all)->event_count, 1 + 2 * CALLS);
    read_free(all);
    for (unsigned i = 0; i < CALLS; i += 37) {
        struct read *read = rig_question(READ_CALL, "s1");
        read->call = arena_printf(&read->arena, "c%u", i);
        assert_int_equal(rig_read(rig, read)->event_count, 2);
        read_free(read);
    }
    rig_verify_well(rig, 1 + 2 * CALLS);
    rig_close(rig);
    assert_int_equal(ask_sql(rig, INDEXED), 1 + 2 * CALLS);
    rig_verify_well(rig, 1 + 2 * CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_that_a_crash_left_unlisted_are_listed_at_start),
        TEST(what_is_forgotten_is_listed_first),
        TEST(events_are_listed_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
