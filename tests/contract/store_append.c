/* The contract of the store, for every backend: appends and their needs; what was kept stays. Each promise of
 * store.h has a test in one of these suites that can fail. What only one backend can do wrong is in its own file. */
#include "store_suite.h"

/* ---- appends ---- */

static void an_empty_store_has_nothing(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(store_last_seq(rig->store), 0);
    static const enum read_kind kinds[] = {READ_EVENTS, READ_OPEN, READ_SESSIONS, READ_TOKENS};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct read *read = rig_read(rig, read_new(kinds[i]));
        assert_int_equal(read->event_count, 0);
        assert_int_equal(read->open_count, 0);
        assert_int_equal(read->covered, 0);
        read_free(read);
    }
    rig_verify_well(rig, 0);
}

static void events_are_numbered_without_gaps(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}"), 1);
    assert_int_equal(rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT), 3);
    assert_int_equal(rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}"), 4);
    assert_int_equal(store_last_seq(rig->store), 4);
    assert_int_equal(rig->followed, 4);
}

static void bytes_come_back_as_they_went_in(void **state)
{
    struct rig *rig = *state;
    struct append *append = append_new();
    char *large = malloc(1 << 20);
    memset(large, 'x', 1 << 20);
    const struct event sent = {
        .kind = EVENT_TOOL_CALL,
        .at_ms = -5,
        .session = STR("s'1"),
        .thread = STR("t\"1"),
        .call = STR("c;1"),
        .actor = STR("\xc3\xa9\xf0\x9f\x99\x82 -- drop table"),
        .data = STR("{\"n\": 1.10e-7000,\n\t\"s\":\"\\u0001'\"}"),
    };
    (void)append_event(append, sent);
    (void)append_event(append, (struct event){.kind = EVENT_USER_MESSAGE, .session = STR("s'1"),
                                              .actor = STR("x"), .data = {large, 1 << 20}});
    (void)rig_append(rig, append, APPEND_KEPT);

    struct read *read = rig_read(rig, rig_question(READ_EVENTS, "s'1"));
    assert_int_equal(read->event_count, 2);
    const struct event *got = &read->events[0];
    assert_int_equal(got->kind, sent.kind);
    assert_int_equal(got->at_ms, sent.at_ms);
    assert_true(str_eq(got->session, sent.session));
    assert_true(str_eq(got->thread, sent.thread));
    assert_true(str_eq(got->call, sent.call));
    assert_true(str_eq(got->actor, sent.actor));
    assert_true(str_eq(got->data, sent.data));
    assert_true(str_eq(read->events[1].data, (struct str){large, 1 << 20}));
    assert_true(str_empty(read->events[1].call));
    assert_true(str_empty(read->events[1].thread));
    read_free(read);
    free(large);
    rig_verify_well(rig, 2);
}

static void a_refused_append_keeps_nothing(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    struct append *append = append_new();
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_event(append, EVENT_USER_MESSAGE, "s2", "", "{}");
    rig_need_changed_at(append, "s1", 1);
    rig_need(append, NEED_PRESENT, EVENT_TOOL_CALL, "s1", "nobody");
    rig_hand(rig, append);
    rig_wait(rig);
    check_outcome(append, APPEND_REFUSED);
    assert_int_equal(append->refused_need, 1);
    assert_int_equal(append->events[0].seq, 0);
    append_free(append);
    assert_int_equal(rig->followed, 1);
    rig_verify_well(rig, 1);
}

/* One need and what it should come to. */
static void try_need(struct rig *rig, struct need need, enum append_outcome outcome)
{
    struct append *append = append_new();
    append_need(append, need);
    rig_event(append, EVENT_USER_MESSAGE, "elsewhere", "", "{}");
    (void)rig_append(rig, append, outcome);
}

static void needs_hold_or_do_not(void **state)
{
    struct rig *rig = *state;
    const struct str s1 = STR("s1"), s2 = STR("s2"), none = STR("s9"), c1 = STR("c1"), c9 = STR("c9");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    const struct {
        struct need need;
        bool holds;
    } rows[] = {
        {{NEED_ABSENT, EVENT_TOOL_CALL, s1, c1, 0}, false},
        {{NEED_ABSENT, EVENT_TOOL_CALL, s2, c1, 0}, true},
        {{NEED_ABSENT, EVENT_TOOL_CALL, s1, c9, 0}, true},
        {{NEED_ABSENT, EVENT_TOOL_APPROVAL_REQUEST, s1, c1, 0}, false},
        {{NEED_ABSENT, EVENT_TOOL_APPROVAL_RESPONSE, s1, c1, 0}, true},
        {{NEED_ABSENT, EVENT_TOOL_RESULT, none, c1, 0}, true},
        {{NEED_PRESENT, EVENT_TOOL_CALL, s1, c1, 0}, true},
        {{NEED_PRESENT, EVENT_TOOL_CALL, s2, c1, 0}, false},
        {{NEED_PRESENT, EVENT_TOOL_APPROVAL_REQUEST, s1, c1, 0}, true},
        {{NEED_PRESENT, EVENT_TOOL_APPROVAL_RESPONSE, s1, c1, 0}, false},
        {{NEED_CHANGED_AT, 0, s1, STR_NONE, 1}, true},
        {{NEED_CHANGED_AT, 0, s1, STR_NONE, 2}, false},
        {{NEED_CHANGED_AT, 0, s2, STR_NONE, 2}, true},
        {{NEED_CHANGED_AT, 0, s1, STR_NONE, 0}, false},
        {{NEED_CHANGED_AT, 0, none, STR_NONE, 0}, true},
        {{NEED_CHANGED_AT, 0, none, STR_NONE, 1}, false},
    };
    for (int reopened = 0; reopened < 2; reopened++) { /* from memory, and from what was kept */
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            try_need(rig, rows[i].need, rows[i].holds ? APPEND_KEPT : APPEND_REFUSED);
        rig_close(rig);
        rig_open(rig);
    }
}

static void a_change_of_the_session_moves_what_is_needed(void **state)
{
    struct rig *rig = *state;
    uint64_t first = rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    uint64_t second = rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", first), APPEND_REFUSED);
    (void)rig_append(rig, rig_ask("s1", "c1", second), APPEND_KEPT);
}

static void rules_that_changed_refuse_what_they_judged(void **state)
{
    struct rig *rig = *state;
    uint64_t seen = rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    try_need(rig, (struct need){.need = NEED_NONE_AFTER, .seq = 0}, APPEND_KEPT);
    uint64_t rule = rig_one(rig, EVENT_RULE_CHANGED, "", "", "{}");
    try_need(rig, (struct need){.need = NEED_NONE_AFTER, .seq = seen}, APPEND_REFUSED);
    try_need(rig, (struct need){.need = NEED_NONE_AFTER, .seq = rule}, APPEND_KEPT);
    try_need(rig, (struct need){.need = NEED_NONE_AFTER, .seq = rule + 100}, APPEND_KEPT);
    rig_close(rig);
    rig_open(rig);
    try_need(rig, (struct need){.need = NEED_NONE_AFTER, .seq = seen}, APPEND_REFUSED);
}

static void a_run_is_claimed_by_its_last_status(void **state)
{
    struct rig *rig = *state;
    const struct str s1 = STR("s1"), main = STR("s1-main"), side = STR("s1-side");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, main, 0}, APPEND_KEPT);
    uint64_t first = rig_one(rig, EVENT_RUN_STATUS, "s1", "", "{}");
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, main, 0}, APPEND_REFUSED);
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, main, first}, APPEND_KEPT);
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, side, 0}, APPEND_KEPT);
    (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}");
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, main, first}, APPEND_KEPT);
    uint64_t second = rig_one(rig, EVENT_RUN_STATUS, "s1", "", "{}");
    try_need(rig, (struct need){NEED_RUN_AT, 0, s1, main, first}, APPEND_REFUSED);
    struct read *read = read_new(READ_RUNS);
    rig_read(rig, read);
    assert_int_equal(read->event_count, 1);
    assert_int_equal(read->events[0].seq, second);
    read_free(read);
}

static void the_first_broken_need_is_named(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    struct append *both = rig_ask("s1", "c1", 99), *changed = rig_ask("s1", "c2", 99);
    struct append *absent = rig_ask("s1", "c1", 1);
    rig_hand(rig, both);
    rig_hand(rig, changed);
    rig_hand(rig, absent);
    rig_wait(rig);
    check_outcome(both, APPEND_REFUSED);
    assert_int_equal(both->refused_need, 0);
    check_outcome(changed, APPEND_REFUSED);
    assert_int_equal(changed->refused_need, 1);
    check_outcome(absent, APPEND_REFUSED);
    assert_int_equal(absent->refused_need, 0);
    append_free(both);
    append_free(changed);
    append_free(absent);
    assert_int_equal(rig->followed, 3);
    rig_verify_well(rig, 3);
}

static void one_of_twenty_answers_wins(void **state)
{
    struct rig *rig = *state;
    struct append *answers[20];
    unsigned kept = 0;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    for (int i = 0; i < 20; i++) {
        char data[32];
        (void)snprintf(data, sizeof data, "{\"n\":%d}", i);
        answers[i] = rig_answer("s1", "c1", data);
        rig_hand(rig, answers[i]);
    }
    rig_wait(rig);
    for (int i = 0; i < 20; i++) {
        kept += answers[i]->outcome == APPEND_KEPT;
        if (answers[i]->outcome != APPEND_KEPT) {
            check_outcome(answers[i], APPEND_REFUSED);
            assert_int_equal(answers[i]->refused_need, 1);
        }
        append_free(answers[i]);
    }
    assert_int_equal(kept, 1);
    assert_int_equal(rig->followed, 4);
    rig_verify_well(rig, 4);
}

static struct append *claim(const char *session, const char *thread, uint64_t run_at)
{
    struct append *append = append_new();
    append_need(append, (struct need){.need = NEED_RUN_AT, .session = rig_text(append, "%s", session),
                                      .call = rig_text(append, "%s", thread), .seq = run_at});
    rig_event(append, EVENT_RUN_STATUS, session, "", "{\"status\":\"running\"}");
    append->events[0].thread = rig_text(append, "%s", thread);
    return append;
}

/* The session begins in the same group, so that nothing of it is kept yet when the needs are looked up. */
static void one_of_several_claims_a_run(void **state)
{
    struct rig *rig = *state;
    struct append *first = append_new(), *claims[5];
    rig_event(first, EVENT_SESSION_CHANGED, "s1", "", "{}");
    rig_hand(rig, first);
    for (int i = 0; i < 5; i++)
        rig_hand(rig, claims[i] = claim("s1", "t1", 0));
    rig_wait(rig);
    for (int i = 0; i < 5; i++) {
        check_outcome(claims[i], i == 0 ? APPEND_KEPT : APPEND_REFUSED);
        append_free(claims[i]);
    }
    append_free(first);
    (void)rig_append(rig, claim("s1", "t2", 0), APPEND_KEPT); /* 3 */
    (void)rig_append(rig, claim("s1", "t1", 3), APPEND_REFUSED);
    (void)rig_append(rig, claim("s1", "t1", 2), APPEND_KEPT); /* 4 */
    struct read *read = rig_read(rig, read_new(READ_RUNS));
    assert_int_equal(read->event_count, 2);
    assert_int_equal(read->events[0].seq, 3);
    assert_int_equal(read->events[1].seq, 4);
    assert_int_equal(read->covered, 4);
    read_free(read);
}

/* What no caller should do fails for that caller alone, whoever is in the same group. */
static void a_faulty_append_harms_no_other(void **state)
{
    struct rig *rig = *state;
    enum { OTHERS = 30 };
    struct append *good[OTHERS], *faulty[4];
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);
    for (int i = 0; i < 4; i++)
        faulty[i] = append_new();
    rig_event(faulty[0], EVENT_USER_MESSAGE, "s1", "", "{}");
    rig_event(faulty[0], EVENT_TOOL_CALL, "s1", "c1", "{}");              /* made already */
    rig_event(faulty[1], EVENT_TOOL_APPROVAL_RESPONSE, "s1", "c1", "{}"); /* answered already */
    rig_event(faulty[2], EVENT_TOOL_RESULT, "s1", "c9", "{}");            /* never made */
    rig_event(faulty[3], EVENT_TOOL_CALL, "s1", "c8", "{}");
    rig_event(faulty[3], EVENT_TOOL_APPROVAL_RESPONSE, "s1", "c8", "{}"); /* never asked */
    for (int i = 0; i < OTHERS; i++) {
        good[i] = append_new();
        rig_event(good[i], EVENT_USER_MESSAGE, i % 2 ? "s1" : "s2", "", "{}");
        rig_hand(rig, good[i]);
        if (i % 8 == 3)
            rig_hand(rig, faulty[i / 8]);
    }
    rig_wait(rig);
    for (int i = 0; i < OTHERS; i++) {
        check_outcome(good[i], APPEND_KEPT);
        append_free(good[i]);
    }
    for (int i = 0; i < 4; i++) {
        check_outcome(faulty[i], APPEND_FAILED);
        assert_int_not_equal(faulty[i]->err.code, ERR_OK);
        assert_int_equal(faulty[i]->events[0].seq, 0);
        append_free(faulty[i]);
    }
    assert_true(store_figures(rig->store).healthy);
    rig_verify_well(rig, 4 + OTHERS);
}

/* ---- what is kept stays ---- */

static void leave_in_done(struct append *append)
{
    _exit(append->outcome == APPEND_KEPT ? 42 : 43);
}

static void append_and_leave(const char *url)
{
    struct loop *loop;
    struct store *store;
    if (rc_bad(loop_new(&loop, NULL)) ||
        rc_bad(store_open(loop, &(struct store_options){.url = url}, &store, NULL)))
        _exit(44);
    struct append *append = rig_ask("s1", "c2", 1);
    append->done = leave_in_done;
    store_append(store, append);
    loop_run(loop);
    _exit(45);
}

static void done_means_durable(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    rig_close(rig);
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        append_and_leave(rig->url);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);

    rig_open(rig);
    assert_int_equal(store_last_seq(rig->store), 3);
    struct read *read = rig_read(rig, rig_question(READ_OPEN, ""));
    assert_int_equal(read->open_count, 1);
    assert_true(str_is(read->open[0].call.call, "c2"));
    read_free(read);
    rig_verify_well(rig, 3);
}

static void a_reopened_store_goes_on_where_it_was(void **state)
{
    struct rig *rig = *state;
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(store_last_seq(rig->store), 2 * i);
        (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
        (void)rig_one(rig, EVENT_USER_MESSAGE, "s2", "", "{}");
        rig_close(rig);
        rig_verify_well(rig, 2 * i + 2);
        rig_open(rig);
    }
}

static void done_at_close(struct append *append)
{
    struct rig *rig = append->arg;
    rig->pending--;
    if (append->outcome == APPEND_KEPT) {
        struct append *late = append_new();
        rig_event(late, EVENT_USER_MESSAGE, "s1", "", "{}");
        late->done = done_at_close;
        late->arg = rig;
        rig->pending++;
        store_append(rig->store, late);
    } else {
        check_outcome(append, APPEND_FAILED);
        assert_int_equal(append->err.code, ERR_UNAVAILABLE);
    }
    append_free(append);
}

static void closing_commits_what_was_handed_over(void **state)
{
    struct rig *rig = *state;
    for (int i = 0; i < 100; i++) {
        struct append *append = append_new();
        rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
        append->done = done_at_close;
        append->arg = rig;
        rig->pending++;
        store_append(rig->store, append);
    }
    struct read *read = rig_question(READ_EVENTS, "");
    rig_hand_read(rig, read);
    rig_close(rig);
    assert_int_equal(rig->pending, 0);
    assert_int_equal(read->err.code, ERR_OK);
    read_free(read);
    rig_verify_well(rig, 100);
    rig_open(rig);
}

/* ---- a group in doubt ---- */

#define LOCKS "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="                          \
              " (SELECT oid FROM pg_database WHERE datname = current_database()) AND NOT granted"

/* Two nodes keep the same event at the same millisecond, as when a call times out. The group of the second one has
 * another event before it, and its connection is lost while it waits for the lock: that the first node's event is there
 * does not mean that the group was kept. */
static void an_equal_event_of_another_node_does_not_settle_a_doubt(void **state)
{
    struct rig *a = *state, b = *a;
    pid_t holder;
    if (strcmp(scheme, "postgres") != 0)
        skip();
    (void)rig_one(a, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(a, EVENT_SESSION_CHANGED, "s2", "", "{}");
    /* A node of its own, with its own memory. */
    CHECK((size_t)snprintf(b.url, sizeof b.url, "%s&keepalives=1", a->url) < sizeof b.url);
    struct err err = {0};
    assert_true(rc_ok(loop_new(&b.loop, &err)));
    rig_open(&b);
    (void)rig_one(&b, EVENT_USER_MESSAGE, "s1", "", "{}"); /* both know the sessions, so that a group is sent at once */
    (void)rig_one(&b, EVENT_USER_MESSAGE, "s2", "", "{}");
    read_free(rig_read(a, rig_question(READ_EVENTS, "")));
    rig_sql(a, &holder, "BEGIN; SELECT pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);"
                        " SELECT pg_sleep(60)");
    rig_wait_sql(a, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                    " AND query LIKE '%events%sleep(60)%'");
    struct append *one = append_new(), *two = append_new();
    rig_event(one, EVENT_USER_MESSAGE, "s2", "", "{\"text\":\"equal\"}");
    rig_hand(a, one);
    rig_wait_sql(a, "(" LOCKS ") = 1");
    rig_event(two, EVENT_USER_MESSAGE, "s1", "", "{\"text\":\"own\"}");
    rig_event(two, EVENT_USER_MESSAGE, "s2", "", "{\"text\":\"equal\"}");
    rig_hand(&b, two);
    rig_wait_sql(a, "(" LOCKS ") = 2");
    rig_sql(a, NULL, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                     " ORDER BY waitstart DESC LIMIT 1");
    rig_wait_sql(a, "(" LOCKS ") = 2"); /* it looks for its group, behind the first node */
    rig_sql(a, NULL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%events%sleep(60)%'"
                     " AND pid <> pg_backend_pid()");
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    rig_wait(a);
    rig_wait(&b);
    check_outcome(one, APPEND_KEPT);
    check_outcome(two, APPEND_KEPT);
    append_free(one);
    append_free(two);
    store_close(b.store);
    loop_free(b.loop);
    rig_verify_well(a, 7);
}

/* ---- beside another node ---- */

enum { GROUP = 16 }; /* appends that make a group worth waiting for, and more */

/* While another node writes in between, the writer waits after a large group for as many appends again; not for ever.
 * The first append of a round finds the other node's event before it, whatever part of the round its group is. */
static void a_call_behind_a_large_group_is_kept_though_none_follows(void **state)
{
    struct rig *a = *state, b = *a;
    if (strcmp(scheme, "postgres") != 0)
        skip();
    CHECK((size_t)snprintf(b.url, sizeof b.url, "%s&keepalives=1", a->url) < sizeof b.url);
    struct err err = {0};
    assert_true(rc_ok(loop_new(&b.loop, &err)));
    rig_open(&b);
    for (int round = 0; round < 5; round++) {
        struct append *appends[GROUP];
        (void)rig_one(&b, EVENT_USER_MESSAGE, "other", "", "{}");
        for (int i = 0; i < GROUP; i++) {
            appends[i] = append_new();
            rig_event(appends[i], EVENT_USER_MESSAGE, "s1", "", "{}");
            rig_hand(a, appends[i]);
        }
        rig_wait(a);
        for (int i = 0; i < GROUP; i++) {
            check_outcome(appends[i], APPEND_KEPT);
            append_free(appends[i]);
        }
        (void)rig_one(a, EVENT_USER_MESSAGE, "s1", "", "{}");
    }
    store_close(b.store);
    loop_free(b.loop);
    rig_verify_well(a, 5 * (GROUP + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_store_has_nothing),
        TEST(events_are_numbered_without_gaps),
        TEST(bytes_come_back_as_they_went_in),
        TEST(a_refused_append_keeps_nothing),
        TEST(needs_hold_or_do_not),
        TEST(a_change_of_the_session_moves_what_is_needed),
        TEST(a_run_is_claimed_by_its_last_status),
        TEST(rules_that_changed_refuse_what_they_judged),
        TEST(the_first_broken_need_is_named),
        TEST(one_of_twenty_answers_wins),
        TEST(one_of_several_claims_a_run),
        TEST(a_faulty_append_harms_no_other),
        TEST(done_means_durable),
        TEST(a_reopened_store_goes_on_where_it_was),
        TEST(closing_commits_what_was_handed_over),
        TEST(an_equal_event_of_another_node_does_not_settle_a_doubt),
        TEST(a_call_behind_a_large_group_is_kept_though_none_follows),
    };
    return RUN_SUITE(tests);
}
