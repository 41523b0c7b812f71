/* The contract of the store, for every backend: order, groups, delivery, and everything at once. */
#include "store_suite.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_at_once_are_kept_in_order_as_groups),
        TEST(a_session_is_read_across_the_whole_log),
        TEST(a_receiver_may_append_again),
        TEST(a_read_sees_what_the_follower_was_given),
        TEST(readers_and_writer_work_at_once),
    };
    return RUN_SUITE(tests);
}
