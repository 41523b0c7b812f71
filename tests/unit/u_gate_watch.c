/* Watchers: every event of the scope once and in order, whether it is read or told. */
#include "u_gate_views.h"

enum { SEEN_MAX = 64 };

struct seen {
    struct watched what;
    struct watcher watcher;
    uint64_t seqs[SEEN_MAX];
    size_t count, pages;
    uint64_t leaves_at; /* unwatches when it is told of this event */
    bool lags, was_away;
};

static void seen_tell(struct watcher *w, struct happening *happening)
{
    struct seen *seen = w->arg;
    assert_true(seen->count < SEEN_MAX);
    seen->seqs[seen->count++] = happening->event->seq;
    if (happening->event->seq == seen->leaves_at)
        gate_unwatch(w);
}

static void seen_caught_up(struct watcher *w) { ((struct seen *)w->arg)->pages++; }
static bool seen_lags(const struct watcher *w) { return ((const struct seen *)w->arg)->lags; }
static void seen_away(struct watcher *w, bool away) { ((struct seen *)w->arg)->was_away = away; }

static void watch(struct seen *seen, uint64_t after, const char *session)
{
    seen->watcher.after = after;
    seen->what.session = str_of(session);
    seen->what.tell = seen_tell;
    seen->what.caught_up = seen_caught_up;
    seen->what.lags = seen_lags;
    seen->what.away = seen_away;
    seen->watcher.what = &seen->what;
    seen->watcher.arg = seen;
    gate_watch(&gate, &seen->watcher);
}

static struct event event_of(uint64_t seq, const char *session, enum event_kind kind)
{
    return (struct event){.seq = seq, .session = str_of(session), .thread = str_of(session), .kind = kind,
                          .data = STR("{}")};
}

static void tell(uint64_t seq, const char *session)
{
    struct event event = event_of(seq, session, EVENT_AGENT_MESSAGE);
    watch_follow(&gate, &event, 1);
}

static void saw(const struct seen *seen, const uint64_t *seqs)
{
    size_t count = 0;
    while (seqs[count])
        count++;
    assert_int_equal(seen->count, count);
    assert_memory_equal(seen->seqs, seqs, count * sizeof *seqs);
}

#define SAW(seen, ...) saw((seen), (const uint64_t[]){__VA_ARGS__ __VA_OPT__(,) 0})

static void whoever_is_live_is_told_what_is_in_its_scope(void **state)
{
    struct seen all = {0}, one = {0}, thread = {0}, kind = {0};
    (void)state;
    gate.core.delivered = 4;
    thread.what.thread = STR("b");
    kind.what.kinds = (uint64_t)1 << EVENT_TOOL_CALL;
    watch(&all, 4, NULL);
    watch(&one, 9, "a"); /* ahead of what was told: it waits for that */
    watch(&thread, 4, "b");
    watch(&kind, 4, NULL);
    assert_null(asked_of_store());
    tell(5, "a");
    tell(9, "a");
    tell(10, "a");
    tell(11, "b");
    struct event of_b = event_of(12, "b", EVENT_TOOL_CALL), of_none = {.seq = 13, .kind = EVENT_TOKEN_CHANGED};
    of_b.thread = STR("c");
    watch_follow(&gate, (struct event[]){of_b, of_none}, 2);
    SAW(&all, 5, 9, 10, 11, 12, 13);
    SAW(&one, 10);
    SAW(&thread, 11);
    SAW(&kind, 12);
    assert_int_equal(gate.core.delivered, 13);
    gate_unwatch(&one.watcher);
    gate_unwatch(&one.watcher); /* once is enough */
    tell(14, "a");
    SAW(&one, 10);
    SAW(&all, 5, 9, 10, 11, 12, 13, 14);
    assert_int_equal(gate.watcher_count, 3);
}

/* What is told while a page is read comes in the next page, and in no other way. */
static void a_page_under_way_misses_nothing_and_repeats_nothing(void **state)
{
    struct seen one = {0};
    struct event events[] = {event_of(3, "a", EVENT_AGENT_MESSAGE), event_of(4, "a", EVENT_AGENT_MESSAGE)};
    (void)state;
    gate.core.delivered = 4;
    watch(&one, 2, "a");
    struct read *read = asked_of_store();
    assert_int_equal(read->after, 2);
    assert_true(str_is(read->session, "a"));
    tell(5, "a");
    SAW(&one);
    gate_watch_more(&one.watcher); /* one page at a time */
    assert_null(asked_of_store());
    store_answers(read, events, 2, 4);
    SAW(&one, 3, 4);
    assert_true(!one.watcher.live && one.pages == 1);
    gate_watch_more(&one.watcher);
    read = asked_of_store();
    assert_int_equal(read->after, 4);
    store_answers(read, (struct event[]){event_of(5, "a", EVENT_AGENT_MESSAGE)}, 1, 5);
    assert_true(one.watcher.live);
    gate_watch_more(&one.watcher);
    assert_null(asked_of_store());
    tell(6, "a");
    SAW(&one, 3, 4, 5, 6);
}

/* A page of nothing moves it, too: what it covers is over. */
static void what_a_page_covers_is_not_read_again(void **state)
{
    struct seen one = {0};
    (void)state;
    gate.core.delivered = 1000;
    watch(&one, 2, "a");
    store_answers(asked_of_store(), NULL, 0, 900);
    assert_int_equal(one.watcher.after, 900);
    gate_watch_more(&one.watcher);
    struct read *read = asked_of_store();
    assert_int_equal(read->after, 900);
    store_answers(read, NULL, 0, 1000);
    assert_true(one.watcher.live);
}

/* A standby that is promoted may lack the last events: nobody hears of what this process was not told. */
static void what_was_not_told_comes_when_it_is_told(void **state)
{
    struct seen one = {0};
    struct event events[] = {event_of(3, "a", EVENT_AGENT_MESSAGE), event_of(4, "a", EVENT_AGENT_MESSAGE)};
    (void)state;
    gate.core.delivered = 3;
    watch(&one, 2, "a");
    store_answers(asked_of_store(), events, 2, 4);
    SAW(&one, 3);
    assert_true(one.watcher.live);
    assert_int_equal(one.watcher.after, 3);
    tell(4, "a");
    SAW(&one, 3, 4);
}

static void whoever_lags_reads_from_where_it_was(void **state)
{
    struct seen slow = {0}, quick = {0};
    (void)state;
    watch(&quick, 0, "a");
    watch(&slow, 0, "a"); /* stands before it in the list */
    tell(1, "a");
    slow.lags = true;
    tell(2, "a");
    slow.lags = false;
    tell(3, "a"); /* it is not live any more */
    SAW(&slow, 1);
    SAW(&quick, 1, 2, 3);
    gate_watch_more(&slow.watcher);
    struct read *read = asked_of_store();
    assert_int_equal(read->after, 1);
    struct event events[] = {event_of(2, "a", EVENT_AGENT_MESSAGE), event_of(3, "a", EVENT_AGENT_MESSAGE)};
    store_answers(read, events, 2, 3);
    SAW(&slow, 1, 2, 3);
    assert_true(slow.watcher.live);
}

static void whoever_leaves_is_told_no_more(void **state)
{
    struct seen in_page = {.leaves_at = 3}, live = {.leaves_at = 6}, reading = {0}, last = {0};
    struct event events[] = {event_of(3, "a", EVENT_AGENT_MESSAGE), event_of(4, "a", EVENT_AGENT_MESSAGE)};
    (void)state;
    gate.core.delivered = 4;
    watch(&in_page, 2, "a");
    store_answers(asked_of_store(), events, 2, 4);
    SAW(&in_page, 3);
    assert_int_equal(in_page.pages, 0);
    watch(&reading, 2, "a");
    struct read *read = asked_of_store();
    gate_unwatch(&reading.watcher); /* its owner may free it now */
    assert_null(read->arg);
    store_answers(read, events, 2, 4); /* finds nobody */
    SAW(&reading);
    watch(&last, 4, "a");
    watch(&live, 4, "a"); /* stands before it in the list */
    for (uint64_t seq = 5; seq <= 7; seq++)
        tell(seq, "a");
    SAW(&live, 5, 6);
    SAW(&last, 5, 6, 7);
    gate_unwatch(&last.watcher);
    assert_int_equal(gate.watcher_count, 0);
    assert_int_equal(gate.watchers.count, 0);
}

/* A page that fails while the store is away is asked for again when it is back; any other failure is said. */
static void a_page_waits_for_the_store(void **state)
{
    struct seen one = {0};
    (void)state;
    gate.core.delivered = 4;
    watch(&one, 2, "a");
    watch_away(&gate, true);
    assert_true(one.was_away);
    store_fails(asked_of_store());
    assert_true(!one.watcher.failed && one.pages == 0);
    gate_watch_more(&one.watcher); /* a heartbeat has left */
    assert_null(asked_of_store());
    watch_away(&gate, false);
    assert_true(!one.was_away && one.pages == 1);
    gate_watch_more(&one.watcher);
    store_fails(asked_of_store());
    assert_true(one.watcher.failed && one.pages == 2);
    assert_int_equal(one.watcher.after, 2);
}

static int watch_end(void **state)
{
    (void)state;
    map_done(&gate.watchers);
    return 0;
}

#define WATCH_TEST(name) cmocka_unit_test_setup_teardown(name, views_begin, watch_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCH_TEST(whoever_is_live_is_told_what_is_in_its_scope),
        WATCH_TEST(a_page_under_way_misses_nothing_and_repeats_nothing),
        WATCH_TEST(what_a_page_covers_is_not_read_again),
        WATCH_TEST(what_was_not_told_comes_when_it_is_told),
        WATCH_TEST(whoever_lags_reads_from_where_it_was),
        WATCH_TEST(whoever_leaves_is_told_no_more),
        WATCH_TEST(a_page_waits_for_the_store),
    };
    return cmocka_run_group_tests_name("gate watch", tests, NULL, NULL);
}
