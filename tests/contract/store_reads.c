/* The contract of the store, for every backend: what can be asked. */
#include "store_suite.h"

#include "base/limits.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_are_read_by_scope_and_in_pages),
        TEST(a_page_is_bounded_in_bytes),
        TEST(a_call_is_found_in_its_session_or_in_all),
        TEST(open_approvals_come_and_go),
        TEST(sessions_are_listed_by_last_event),
        TEST(tokens_and_rules_belong_to_the_installation),
    };
    return RUN_SUITE(tests);
}
