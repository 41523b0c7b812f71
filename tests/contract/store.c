/* The contract of the store, for every backend of the table. Each promise of store.h has a test here that
 * can fail. What only one backend can do wrong is in store_<backend>.c. */
#include "store_rig.h"

#include "base/limits.h"

#include <sys/wait.h>

static const char *scheme; /* of the backend that is tested */

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig_init(rig, scheme);
    rig_open(rig);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static void check_outcome(struct append *append, enum append_outcome outcome)
{
    if (append->outcome != outcome)
        fail_msg("outcome %d instead of %d: %s", append->outcome, outcome, append->err.text);
}

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

/* ---- order, groups, delivery ---- */

struct order {
    unsigned next; /* whose turn it is to be done */
};

static void done_in_turn(struct append *append)
{
    struct rig *rig = append->arg;
    struct order *order = rig->arg;
    unsigned turn;
    assert_false(rig->handing);
    assert_int_equal(sscanf(append->events[0].data.p, "{\"n\":%u}", &turn), 1);
    assert_int_equal(turn, order->next);
    order->next++;
    check_outcome(append, APPEND_KEPT);
    assert_true(rig->followed >= append->events[0].seq);
    append_free(append);
    if (--rig->pending == 0)
        loop_stop(rig->loop);
}

static void many_at_once_are_kept_in_order_as_groups(void **state)
{
    struct rig *rig = *state;
    enum { MANY = 10000 }; /* more than fit into one group */
    struct order order = {0};
    rig->arg = &order;
    for (unsigned i = 0; i < MANY; i++) {
        struct append *append = append_new();
        rig_event(append, EVENT_USER_MESSAGE, i % 3 ? "s1" : "s2", "", "{}");
        append->events[0].data = rig_text(append, "{\"n\":%u}", i);
        append->done = done_in_turn;
        append->arg = rig;
        rig->pending++;
        rig->handing = true;
        store_append(rig->store, append);
        rig->handing = false;
    }
    rig_wait(rig);
    assert_int_equal(order.next, MANY);
    assert_int_equal(rig->followed, MANY);
    struct store_figures figures = store_figures(rig->store);
    uint64_t groups = 0;
    for (int i = 0; i < 8; i++)
        groups += figures.group_size_counts[i];
    assert_int_equal(figures.appends, MANY);
    assert_int_equal(figures.events, MANY);
    assert_int_equal(figures.groups, groups);
    assert_true(figures.groups < MANY / 10);
    assert_int_equal(figures.refused + figures.failed, 0);
    rig_verify_well(rig, MANY);
}

/* Beside a session that is active all the time, one that is not: long stretches of the log hold nothing of
 * it. */
static void a_session_is_read_across_the_whole_log(void **state)
{
    struct rig *rig = *state;
    enum { STRETCH = 9000, STRETCHES = 3 };
    static struct append *appends[STRETCH];
    for (unsigned stretch = 0; stretch < STRETCHES; stretch++) {
        for (unsigned i = 0; i < STRETCH; i++) {
            appends[i] = append_new();
            rig_event(appends[i], EVENT_USER_MESSAGE, i == STRETCH / 2 ? "rare" : "busy", "", "{}");
            rig_hand(rig, appends[i]);
        }
        rig_wait(rig);
        for (unsigned i = 0; i < STRETCH; i++)
            append_free(appends[i]);
    }
    for (unsigned limit = 1; limit <= STRETCHES + 1; limit++) {
        uint64_t after = 0;
        for (unsigned found = 0; found < STRETCHES;) {
            struct read *read = rig_question(READ_EVENTS, "rare");
            read->after = after;
            read->limit = limit;
            read = rig_read(rig, read);
            assert_true(read->event_count > 0 && read->event_count <= limit);
            for (size_t i = 0; i < read->event_count; i++, found++)
                assert_int_equal(read->events[i].seq, found * STRETCH + STRETCH / 2 + 1);
            after = read->covered;
            read_free(read);
        }
    }
    uint64_t after = 0, count = 0;
    while (after < store_last_seq(rig->store)) {
        struct read *read = rig_question(READ_EVENTS, "busy");
        read->after = after;
        read->limit = 1000;
        read = rig_read(rig, read);
        assert_true(read->covered > after);
        count += read->event_count;
        after = read->covered;
        read_free(read);
    }
    assert_int_equal(count, STRETCHES * (STRETCH - 1));
    rig_close(rig);
    rig_open(rig);
}

static void append_again(struct append *append)
{
    struct rig *rig = append->arg;
    if (rig->followed < 50) {
        struct append *next = append_new();
        rig_event(next, EVENT_USER_MESSAGE, "s1", "", "{}");
        next->done = append_again;
        next->arg = rig;
        store_append(rig->store, next);
    } else {
        loop_stop(rig->loop);
    }
    append_free(append);
}

static void a_receiver_may_append_again(void **state)
{
    struct rig *rig = *state;
    struct append *append = append_new();
    rig_event(append, EVENT_USER_MESSAGE, "s1", "", "{}");
    append->done = append_again;
    append->arg = rig;
    store_append(rig->store, append);
    loop_run(rig->loop);
    assert_int_equal(rig->followed, 50);
}

static void look_while_following(struct rig *rig, const struct event *events, size_t count)
{
    struct read *read = rig_question(READ_EVENTS, "");
    read->after = events[count - 1].seq - 1;
    read->limit = 1;
    rig->on_follow = NULL;
    rig->arg = read;
    rig_hand_read(rig, read);
}

static void a_read_sees_what_the_follower_was_given(void **state)
{
    struct rig *rig = *state;
    for (uint64_t i = 1; i <= 100; i++) {
        rig->on_follow = look_while_following;
        assert_int_equal(rig_one(rig, EVENT_USER_MESSAGE, "s1", "", "{}"), i);
        struct read *read = rig->arg;
        assert_int_equal(read->event_count, 1);
        assert_int_equal(read->events[0].seq, i);
        read_free(read);
    }
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

/* ---- reads ---- */

/* Three sessions; s1 has two threads. Seqs 1 to 3 are the sessions' beginnings. */
static void fill(struct rig *rig)
{
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{\"n\":1}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{\"n\":2}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s3", "", "{\"n\":3}");
    for (int i = 0; i < 30; i++) {
        struct append *append = append_new();
        rig_event(append, i % 5 ? EVENT_USER_MESSAGE : EVENT_AGENT_MESSAGE, i % 3 ? "s1" : "s2", "", "{}");
        if (i % 3 == 1)
            append->events[0].thread = STR("s1-side");
        (void)rig_append(rig, append, APPEND_KEPT);
    }
}

static bool in_scope(const struct event *event, const struct read *read)
{
    return (str_empty(read->session) || str_eq(event->session, read->session)) &&
           (str_empty(read->thread) || str_eq(event->thread, read->thread)) &&
           (read->kinds == 0 || (read->kinds >> event->kind & 1)) && event->seq > read->after;
}

static struct read *scoped(const char *session, const char *thread, uint64_t kinds)
{
    struct read *read = rig_question(READ_EVENTS, session);
    read->thread = arena_str(&read->arena, str_of(thread));
    read->kinds = kinds;
    return read;
}

/* Pages of `limit` put together are what a look at all events gives. */
static void check_pages(struct rig *rig, const char *session, const char *thread, uint64_t kinds, unsigned limit)
{
    struct read *all = rig_read(rig, scoped("", "", 0));
    assert_int_equal(all->covered, store_last_seq(rig->store));
    uint64_t after = 0;
    size_t at = 0;
    for (;;) {
        struct read *page = scoped(session, thread, kinds);
        page->after = after;
        page->limit = limit;
        page = rig_read(rig, page);
        assert_true(page->event_count <= limit);
        for (size_t i = 0; i < page->event_count; i++) {
            while (at < all->event_count && !in_scope(&all->events[at], page))
                at++;
            assert_true(at < all->event_count);
            assert_int_equal(page->events[i].seq, all->events[at++].seq);
        }
        bool full = page->event_count == limit;
        assert_int_equal(page->covered, full ? page->events[limit - 1].seq : store_last_seq(rig->store));
        after = page->covered;
        read_free(page);
        if (!full)
            break;
    }
    struct read *rest = scoped(session, thread, kinds);
    for (; at < all->event_count; at++)
        assert_false(in_scope(&all->events[at], rest));
    read_free(rest);
    read_free(all);
}

static void events_are_read_by_scope_and_in_pages(void **state)
{
    struct rig *rig = *state;
    fill(rig);
    static const unsigned limits[] = {1, 2, 7, 33, 1000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        check_pages(rig, "", "", 0, limits[i]);
        check_pages(rig, "s1", "", 0, limits[i]);
        check_pages(rig, "s2", "", 0, limits[i]);
        check_pages(rig, "s1", "s1-side", 0, limits[i]);
        check_pages(rig, "s1", "", 1u << EVENT_AGENT_MESSAGE, limits[i]);
        check_pages(rig, "", "", 1u << EVENT_SESSION_CHANGED | 1u << EVENT_AGENT_MESSAGE, limits[i]);
        check_pages(rig, "nobody", "", 0, limits[i]);
        check_pages(rig, "s2", "s1-side", 0, limits[i]);
    }
}

static void a_page_is_bounded_in_bytes(void **state)
{
    struct rig *rig = *state;
    enum { EVENTS = 12, BYTES = 900 << 10 };
    char *large = calloc(1, BYTES + 1);
    memset(large, 'x', BYTES);
    for (int i = 0; i < EVENTS; i++)
        (void)rig_one(rig, EVENT_USER_MESSAGE, "s1", "", large);
    free(large);
    unsigned pages = 0, events = 0;
    for (uint64_t after = 0; after < EVENTS; pages++) {
        struct read *page = rig_question(READ_EVENTS, "s1");
        page->after = after;
        page->limit = 1000;
        page = rig_read(rig, page);
        assert_true(page->event_count > 0);
        assert_true(page->event_count * BYTES < LIMIT_READ_BYTES + 2 * BYTES);
        assert_int_equal(page->covered, page->events[page->event_count - 1].seq);
        events += (unsigned)page->event_count;
        after = page->covered;
        read_free(page);
    }
    assert_int_equal(events, EVENTS);
    assert_true(pages > 1);
}

static struct read *calls(struct rig *rig, const char *session, const char *call)
{
    struct read *read = rig_question(READ_CALL, session);
    read->call = arena_str(&read->arena, str_of(call));
    return rig_read(rig, read);
}

static void a_call_is_found_in_its_session_or_in_all(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "c1", 1), APPEND_KEPT);  /* 3 4 */
    (void)rig_append(rig, rig_ask("s2", "c1", 2), APPEND_KEPT);  /* 5 6 */
    (void)rig_append(rig, rig_ask("s1", "c10", 1), APPEND_KEPT); /* 7 8 */
    (void)rig_append(rig, rig_answer("s1", "c1", "{}"), APPEND_KEPT);       /* 9 */
    (void)rig_one(rig, EVENT_TOOL_STARTED, "s1", "c1", "{}");               /* 10 */
    (void)rig_one(rig, EVENT_TOOL_RESULT, "s1", "c1", "{}");                /* 11 */
    struct read *read = calls(rig, "s1", "c1");
    static const uint64_t of_s1[] = {3, 4, 9, 10, 11}, of_all[] = {3, 4, 5, 6, 9, 10, 11};
    assert_int_equal(read->event_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(read->events[i].seq, of_s1[i]);
    read_free(read);
    read = calls(rig, "", "c1");
    assert_int_equal(read->event_count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(read->events[i].seq, of_all[i]);
    read_free(read);
    read = calls(rig, "s2", "c10");
    assert_int_equal(read->event_count, 0);
    read_free(read);
}

static void check_open(struct rig *rig, const char *session, const char *thread, const char *const *expected)
{
    struct read *read = rig_question(READ_OPEN, session);
    read->thread = arena_str(&read->arena, str_of(thread));
    read = rig_read(rig, read);
    size_t count = 0;
    for (; expected[count]; count++) {
        assert_true(count < read->open_count);
        const struct open_approval *open = &read->open[count];
        assert_true(str_is(open->call.call, expected[count]));
        assert_int_equal(open->call.kind, EVENT_TOOL_CALL);
        assert_int_equal(open->request.kind, EVENT_TOOL_APPROVAL_REQUEST);
        assert_true(str_eq(open->call.call, open->request.call));
        assert_true(str_is(open->call.data, "{\"name\":\"Bash\"}"));
        assert_int_equal(open->deadline_ms, 1800000000000);
    }
    assert_int_equal(read->open_count, count);
    read_free(read);
}

static void open_approvals_come_and_go(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{}");
    (void)rig_append(rig, rig_ask("s1", "z", 1), APPEND_KEPT);
    (void)rig_append(rig, rig_ask("s2", "y", 2), APPEND_KEPT);
    struct append *side = rig_ask("s1", "x", 1);
    side->events[0].thread = side->events[1].thread = STR("side");
    (void)rig_append(rig, side, APPEND_KEPT);
    for (int reopened = 0; reopened < 2; reopened++) {
        check_open(rig, "", "", (const char *const[]){"z", "y", "x", NULL});
        check_open(rig, "s1", "", (const char *const[]){"z", "x", NULL});
        check_open(rig, "s1", "side", (const char *const[]){"x", NULL});
        check_open(rig, "s1", "s1-main", (const char *const[]){"z", NULL});
        check_open(rig, "s2", "side", (const char *const[]){NULL});
        rig_close(rig);
        rig_open(rig);
    }
    struct read *page = rig_question(READ_OPEN, "");
    page->limit = 2;
    page = rig_read(rig, page);
    assert_int_equal(page->open_count, 2);
    struct read *next = rig_question(READ_OPEN, "");
    next->limit = 2;
    next->after = page->covered;
    next = rig_read(rig, next);
    assert_int_equal(next->open_count, 1);
    assert_true(str_is(next->open[0].call.call, "x"));
    assert_int_equal(next->covered, store_last_seq(rig->store));
    read_free(page);
    read_free(next);
    (void)rig_append(rig, rig_answer("s1", "z", "{}"), APPEND_KEPT);
    check_open(rig, "", "", (const char *const[]){"y", "x", NULL});
    (void)rig_append(rig, rig_answer("s2", "y", "{}"), APPEND_KEPT);
    (void)rig_append(rig, rig_answer("s1", "x", "{}"), APPEND_KEPT);
    check_open(rig, "", "", (const char *const[]){NULL});
    rig_verify_well(rig, 11);
}

static void sessions_are_listed_by_last_event(void **state)
{
    struct rig *rig = *state;
    fill(rig); /* last events: s1 33, s2 31, s3 3 */
    (void)rig_one(rig, EVENT_TOKEN_CHANGED, "", "", "{}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s2", "", "{\"n\":22}"); /* 35: s2 is the newest now */
    struct read *read = rig_read(rig, read_new(READ_SESSIONS));
    static const uint64_t expected[] = {2, 35, 1, 3};
    assert_int_equal(read->event_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(read->events[i].seq, expected[i]);
    assert_int_equal(read->covered, 0);
    read_free(read);
    uint64_t before = 0;
    static const uint64_t first_of_page[] = {2, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        read = read_new(READ_SESSIONS);
        read->limit = 1;
        read->before = before;
        read = rig_read(rig, read);
        assert_int_equal(read->event_count, i == 0 ? 2 : 1);
        assert_int_equal(read->events[0].seq, first_of_page[i]);
        before = read->covered;
        read_free(read);
    }
    read = read_new(READ_SESSIONS);
    read->before = before;
    read = rig_read(rig, read);
    assert_int_equal(read->event_count, 0);
    read_free(read);
    read = rig_read(rig, rig_question(READ_SESSION, "s2"));
    assert_int_equal(read->event_count, 2);
    assert_true(str_is(read->events[1].data, "{\"n\":22}"));
    read_free(read);
    read = rig_read(rig, rig_question(READ_SESSION, "nobody"));
    assert_int_equal(read->event_count, 0);
    read_free(read);
}

static void tokens_and_rules_belong_to_the_installation(void **state)
{
    struct rig *rig = *state;
    (void)rig_one(rig, EVENT_TOKEN_CHANGED, "", "", "{\"t\":1}");
    (void)rig_one(rig, EVENT_SESSION_CHANGED, "s1", "", "{}");
    (void)rig_one(rig, EVENT_TOKEN_CHANGED, "", "", "{\"t\":2}");
    struct read *read = rig_read(rig, read_new(READ_TOKENS));
    assert_int_equal(read->event_count, 2);
    assert_int_equal(read->events[1].seq, 3);
    assert_true(str_empty(read->events[1].session));
    read_free(read);
    (void)rig_one(rig, EVENT_RULE_CHANGED, "", "", "{\"r\":1}");
    read = rig_read(rig, read_new(READ_RULES));
    assert_int_equal(read->event_count, 1);
    assert_int_equal(read->events[0].seq, 4);
    read_free(read);
    rig_verify_well(rig, 4);
}

/* ---- everything at once, for the thread sanitizer above all ---- */

struct load {
    struct rig *rig;
    unsigned appends_left, reads_left, running;
    uint64_t kept;
};

static void load_append(struct load *load);
static void load_read(struct load *load);

static void load_ended(struct load *load)
{
    if (--load->running == 0)
        loop_stop(load->rig->loop);
}

static void load_append_done(struct append *append)
{
    struct load *load = append->arg;
    check_outcome(append, APPEND_KEPT);
    load->kept++;
    append_free(append);
    if (load->appends_left)
        load_append(load);
    else
        load_ended(load);
}

static void load_append(struct load *load)
{
    char call[32], session[8];
    unsigned n = --load->appends_left;
    (void)snprintf(call, sizeof call, "call-%u", n * 7919u % 100003u);
    (void)snprintf(session, sizeof session, "s%u", n % 5);
    struct append *append = append_new();
    rig_need(append, NEED_ABSENT, EVENT_TOOL_CALL, session, call);
    rig_event(append, EVENT_TOOL_CALL, session, call, "{}");
    rig_event(append, EVENT_TOOL_APPROVAL_REQUEST, session, call, "{}");
    append->done = load_append_done;
    append->arg = load;
    store_append(load->rig->store, append);
}

static void load_read_done(struct read *read)
{
    struct load *load = read->arg;
    assert_int_equal(read->err.code, ERR_OK);
    read_free(read);
    if (load->reads_left)
        load_read(load);
    else
        load_ended(load);
}

static void load_read(struct load *load)
{
    static const enum read_kind kinds[] = {READ_EVENTS, READ_OPEN, READ_SESSIONS, READ_CALL};
    unsigned n = --load->reads_left;
    struct read *read = rig_question(kinds[n % 4], n % 3 ? "s1" : "");
    read->limit = 20;
    read->call = arena_str(&read->arena, STR("call-7919"));
    read->done = load_read_done;
    read->arg = load;
    (void)store_figures(load->rig->store);
    store_read(load->rig->store, read);
}

static void readers_and_writer_work_at_once(void **state)
{
    struct rig *rig = *state;
    struct load load = {.rig = rig, .appends_left = 4000, .reads_left = 1000, .running = 64 + 8};
    for (int i = 0; i < 64; i++)
        load_append(&load);
    for (int i = 0; i < 8; i++)
        load_read(&load);
    loop_run(rig->loop);
    assert_int_equal(load.kept, 4000);
    assert_int_equal(store_figures(rig->store).reads, 1000);
    rig_verify_well(rig, 8000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        TEST(the_first_broken_need_is_named),
        TEST(one_of_twenty_answers_wins),
        TEST(one_of_several_claims_a_run),
        TEST(a_faulty_append_harms_no_other),
        TEST(many_at_once_are_kept_in_order_as_groups),
        TEST(a_session_is_read_across_the_whole_log),
        TEST(a_receiver_may_append_again),
        TEST(a_read_sees_what_the_follower_was_given),
        TEST(done_means_durable),
        TEST(a_reopened_store_goes_on_where_it_was),
        TEST(closing_commits_what_was_handed_over),
        TEST(events_are_read_by_scope_and_in_pages),
        TEST(a_page_is_bounded_in_bytes),
        TEST(a_call_is_found_in_its_session_or_in_all),
        TEST(open_approvals_come_and_go),
        TEST(sessions_are_listed_by_last_event),
        TEST(tokens_and_rules_belong_to_the_installation),
        TEST(readers_and_writer_work_at_once),
    };
    int failed = 0;
    const struct backend *backend;
    for (size_t i = 0; (backend = backend_at(i)); i++) {
        scheme = backend->scheme;
        if (strcmp(scheme, "postgres") == 0 && !rig_postgres()) {
            print_message("skipped: %s (no NOD_TEST_POSTGRES; tests/postgres/run.py sets it)\n", scheme);
            continue;
        }
        failed += cmocka_run_group_tests_name(scheme, tests, NULL, NULL);
    }
    return failed;
}
