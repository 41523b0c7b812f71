/* Events in notifications: what is written is read again, moved behind others' events; anything else is not taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/clock.h"
#include "store/postgres_notice.h"

#include <stdlib.h>

enum { KNOWN = 40, PEER = 77 };

/* A call of a session that is older, and the first event of one that begins here. */
static struct event events[] = {
    {.seq = KNOWN + 1, .no = 7, .kind = EVENT_TOOL_CALL, .at_ms = 1700000000123, .session = STR("ses_1"),
     .thread = STR("thr_1"), .call = STR("1:\xc3\xbc "), .actor = STR("agent"), .data = STR("{\"a\":\"b c:d\"}")},
    {.seq = KNOWN + 2, .no = 1, .kind = EVENT_SESSION_CHANGED, .at_ms = -5, .session = STR("ses_2"),
     .actor = STR("admin"), .data = STR("{}")},
};
static struct event_row event_rows[] = {
    {.event = &events[0], .hash.bytes = {1, 2}, .chain = 3},
    {.event = &events[1], .hash.bytes = {255}, .chain = KNOWN + 2},
};
static const struct rows rows = {.events = event_rows, .count = 2, .whole = true};
static const struct anchor last = {.seq = 50, .hash.bytes = {9}};

/* As keep() writes it, for a group that was put behind event `before`. */
static struct str notification(struct arena *arena, const char *node, const struct anchor *before)
{
    BUF_SCOPE(told, NOTICE_BYTES_MAX);
    char hex[DIGEST_HEX_BYTES];
    notice_write(&told, &rows);
    assert_true(told.n > 0);
    digest_hex(&before->hash, hex);
    return arena_printf(arena, "%s %d %d %d %s %.*s", node, (int)before->seq + 2, (int)before->seq, KNOWN, hex,
                        STR_ARG(buf_str(&told)));
}

static bool read_back(struct str text, struct arena *arena, struct notice *ret_notice)
{
    struct str node, rest;
    uint64_t seq;
    return notice_read_head(text, &node, &seq, &rest) && str_is(node, "w_1") &&
           notice_read_group(rest, seq, arena, ret_notice);
}

static void a_group_is_read_as_it_was_written(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct notice notice;
    assert_true(read_back(notification(&arena, "w_1", &last), &arena, &notice));
    assert_int_equal(notice.count, 2);
    assert_int_equal(notice.before.seq, 50);
    assert_true(digest_eq(&notice.before.hash, &last.hash));
    assert_int_equal(notice.last_seq, 52);
    for (size_t i = 0; i < 2; i++) {
        const struct event *event = &notice.events[i].event;
        assert_int_equal(event->seq, 51 + i);
        assert_int_equal(event->no, events[i].no);
        assert_int_equal(event->kind, events[i].kind);
        assert_int_equal(event->at_ms, events[i].at_ms);
        assert_true(str_eq(event->session, events[i].session) && str_eq(event->thread, events[i].thread));
        assert_true(str_eq(event->call, events[i].call) && str_eq(event->actor, events[i].actor));
        assert_true(str_eq(event->data, events[i].data));
        assert_true(digest_eq(&notice.events[i].hash, &event_rows[i].hash));
    }
    assert_int_equal(notice.events[0].chain, 3);
    assert_int_equal(notice.events[1].chain, 52);
}

static void what_is_cut_off_or_changed_is_not_read(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct notice notice;
    struct str whole = notification(&arena, "w_1", &last);
    for (size_t n = 0; n < whole.n; n++)
        assert_false(read_back(str_sub(whole, 0, n), &arena, &notice));
    assert_false(read_back(arena_printf(&arena, "%.*sx", STR_ARG(whole)), &arena, &notice));
    static const char *const wrong[] = {
        "", "w_1", "w_1 ", "w_1 5", "w_1 x", "w_1 5 5 5  ", "w_1 5 4 5  ", "w_1 99999999999999999999 0 0  ",
        "w_1 18446744073709551615 0 0  ", "w_1 1 0 0  1:1:99:0:1:0:0:0:0:0:0:", "w_1 2 1 1 zz 1:",
        "w_1 1 0 0  1:1:1:0:1:18446744073709551615:", "w_1 3 0 0  1:1:1:0:1:",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(read_back(str_of(wrong[i]), &arena, &notice));
}

static void a_large_group_is_not_written(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    BUF_SCOPE(told, NOTICE_BYTES_MAX);
    struct event large = events[0];
    large.data = (struct str){memset(arena_bytes(&arena, NOTICE_BYTES_MAX), ' ', NOTICE_BYTES_MAX), NOTICE_BYTES_MAX};
    struct event_row row = {.event = &large, .chain = 3};
    notice_write(&told, &(struct rows){.events = &row, .count = 1});
    assert_int_equal(told.n, 0);
}

/* ---- what the follower takes ---- */

struct ear {
    struct notices notices;
    struct memory *memory;
    struct arena arena;
};

static struct ear *new_ear(void)
{
    struct ear *ear = heap_new(sizeof *ear);
    ear->memory = memory_open("notice");
    memory_meet(ear->memory, &last);
    ear->notices.peers[0] = PEER;
    ear->notices.peer_count = 1;
    ear->notices.peers_us = clock_steady_us();
    return ear;
}

static void free_ear(struct ear *ear)
{
    notices_clear(&ear->notices);
    memory_close(ear->memory);
    arena_done(&ear->arena);
    free(ear);
}

static bool hear(struct ear *ear, const char *node, const struct anchor *before, int pid)
{
    return notices_take(&ear->notices, ear->memory, STR("w_own"), pid,
                      arena_c(&ear->arena, notification(&ear->arena, node, before)));
}

/* The number of events that the follower gets for `after`; -1: it must read. */
static int answered(struct ear *ear, uint64_t after)
{
    struct read *read = read_new(READ_EVENTS);
    read->after = after;
    int count = notices_answer(&ear->notices, ear->memory, read) ? (int)read->event_count : -1;
    if (count > 0) {
        assert_int_equal(read->covered, read->events[count - 1].seq);
        assert_int_equal(memory_anchor(ear->memory).seq, read->covered);
    }
    read_free(read);
    return count;
}

static void groups_in_a_row_are_taken(void **state)
{
    (void)state;
    struct ear *ear = new_ear();
    struct anchor next = {.seq = 52, .hash = event_rows[1].hash};
    assert_true(hear(ear, "w_1", &last, PEER));
    assert_true(hear(ear, "w_2", &next, PEER));
    assert_int_equal(memory_durable(ear->memory), 54);
    assert_int_equal(answered(ear, 50), 4);
    assert_int_equal(answered(ear, 54), -1); /* nothing was heard since */
    free_ear(ear);
}

static void own_groups_are_left_out(void **state)
{
    (void)state;
    struct ear *ear = new_ear();
    assert_false(hear(ear, "w_own", &last, PEER));
    assert_int_equal(memory_durable(ear->memory), 52);
    assert_int_equal(answered(ear, 50), -1);
    free_ear(ear);
}

/* Another number or link than that of the last event that is known; a gap; a group without its events. */
static void what_does_not_follow_is_read(void **state)
{
    (void)state;
    struct anchor other = {.seq = 50, .hash.bytes = {8}}, early = {.seq = 49, .hash = last.hash}, gap = {.seq = 53};
    const struct anchor *const firsts[] = {&other, &early, &gap};
    for (size_t i = 0; i < 3; i++) {
        struct ear *ear = new_ear();
        assert_true(hear(ear, "w_1", firsts[i], PEER));
        assert_int_equal(answered(ear, 50), -1);
        free_ear(ear);
    }
    struct ear *ear = new_ear();
    assert_true(hear(ear, "w_1", &last, PEER));
    assert_true(hear(ear, "w_1", &gap, PEER));
    assert_int_equal(answered(ear, 50), -1);
    notices_clear(&ear->notices);
    assert_true(hear(ear, "w_1", &last, PEER));
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER, "w_1 53"));
    assert_int_equal(answered(ear, 50), -1);
    free_ear(ear);
}

/* The writer has read the group before its notification came: there is nothing to read. A stranger's words are no
 * reason not to read, nor is a wake-up without any. */
static void old_news_is_not_read(void **state)
{
    (void)state;
    struct ear *ear = new_ear();
    assert_true(hear(ear, "w_1", &last, PEER));
    uint64_t told = memory_durable(ear->memory);
    assert_int_equal(answered(ear, told), 0);
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER, "w_1 1"));
    assert_int_equal(answered(ear, told), 0);
    assert_int_equal(answered(ear, told), -1);
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER, "w_1 1"));
    assert_int_equal(answered(ear, told - 1), -1);
    notices_clear(&ear->notices);
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER + 1, "w_1 1"));
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER, "w_1 1"));
    assert_int_equal(answered(ear, told), -1);
    free_ear(ear);
}

/* Every role can notify: a process that was not named as one of this role, or too long ago, is not believed. */
static void strangers_are_not_believed(void **state)
{
    (void)state;
    struct ear *ear = new_ear();
    assert_true(hear(ear, "w_1", &last, PEER + 1));
    assert_int_equal(answered(ear, 50), -1);
    notices_clear(&ear->notices);
    ear->notices.peers_us -= 2000000;
    assert_true(hear(ear, "w_1", &last, PEER));
    assert_int_equal(answered(ear, 50), -1);
    assert_int_equal(memory_durable(ear->memory), 0);
    free_ear(ear);
}

/* How far the store is durable is believed of the same processes; of one that was not known, once it is. */
static void strangers_do_not_say_what_is_durable(void **state)
{
    (void)state;
    struct ear *ear = new_ear();
    for (int i = 0; i < 2; i++) {
        (void)notices_take(&ear->notices, ear->memory, STR("w_own"), PEER + 1, i ? "w_own 999" : "w_1 999");
        notices_know_peers(&ear->notices, ear->memory);
        ear->notices.peers[ear->notices.peer_count++] = PEER + 1; /* the number was given out again */
        notices_know_peers(&ear->notices, ear->memory);
        ear->notices.peer_count--;
        assert_int_equal(memory_durable(ear->memory), 0);
    }
    assert_true(notices_take(&ear->notices, ear->memory, STR("w_own"), PEER + 2, "w_1 60"));
    assert_int_equal(memory_durable(ear->memory), 0);
    ear->notices.peers[ear->notices.peer_count++] = PEER + 2;
    notices_know_peers(&ear->notices, ear->memory);
    assert_int_equal(memory_durable(ear->memory), 60);
    free_ear(ear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_read_as_it_was_written), cmocka_unit_test(what_is_cut_off_or_changed_is_not_read),
        cmocka_unit_test(a_large_group_is_not_written),      cmocka_unit_test(groups_in_a_row_are_taken),
        cmocka_unit_test(own_groups_are_left_out),           cmocka_unit_test(what_does_not_follow_is_read),
        cmocka_unit_test(old_news_is_not_read),
        cmocka_unit_test(strangers_are_not_believed),        cmocka_unit_test(strangers_do_not_say_what_is_durable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
