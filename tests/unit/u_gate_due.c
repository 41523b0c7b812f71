/* What is due, and marks on waiting calls. */
#include "u_gate_core.h"

static void the_nearest_is_due_first(void **state)
{
    enum { COUNT = 200 };
    static struct open calls[COUNT];
    struct core heap = {0};
    unsigned random = 2026;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1103515245 + 12345;
        calls[i] = (struct open){.requested_ms = 1000, .deadline_ms = random % 3 ? 2000 + random % 977 : 0};
        heap.alert_ms = random % 5 ? 500 + random % 991 : 0;
        core_due_add(&heap, &calls[i]);
        assert_int_equal(calls[i].due.heap_at != 0, calls[i].due.time != 0);
        if (i % 7 == 3)
            core_due_remove(&heap, &calls[i / 2]);
    }
    int64_t last = 0;
    for (struct open *open; (open = core_due_first(&heap, 1000000));) {
        assert_true(open->due.time >= last);
        assert_null(core_due_first(&heap, open->due.time - 1));
        last = open->due.time;
        core_due_remove(&heap, open);
    }
    assert_int_equal(heap.due.count, 0);
    due_done(&heap.due);
}

static void an_alert_comes_once_and_before_the_deadline(void **state)
{
    struct open open = {.requested_ms = 1000, .deadline_ms = 9000};
    (void)state;
    assert_int_equal(due_time(&open, 300), 1300);
    assert_int_equal(due_time(&open, 0), 9000);
    assert_int_equal(due_time(&open, 9000), 9000);
    open.alerted = true;
    assert_int_equal(due_time(&open, 300), 9000);
    open.deadline_ms = 0;
    assert_int_equal(due_time(&open, 300), 0);
    open.withdraw_ms = 5000;
    assert_int_equal(due_time(&open, 300), 5000);
    open.deadline_ms = 4000;
    assert_int_equal(due_time(&open, 300), 4000);
}

static void a_snooze_delays_the_alert_alone(void **state)
{
    struct open open = {.requested_ms = 1000, .deadline_ms = 9000};
    (void)state;
    core_due_add(&core, &open);
    struct event snooze = event(EVENT_TOOL_APPROVAL_SNOOZED, 5,
                                "{\"toolCallId\":\"c\",\"until\":\"1970-01-01T00:00:07Z\"}");
    marks_take(&core, &open, &snooze);
    assert_int_equal(due_time(&open, 300), 7000);
    assert_int_equal(due_time(&open, 8000), 9000);
    open.deadline_ms = 4000;
    assert_int_equal(due_time(&open, 300), 4000); /* the deadline holds */
    snooze = event(EVENT_TOOL_APPROVAL_SNOOZED, 6, "{\"toolCallId\":\"c\"}");
    marks_take(&core, &open, &snooze);
    assert_int_equal(due_time(&open, 300), 1300);
    core_due_remove(&core, &open);
    marks_free(&open);
}

/* At the start marks are read while new ones are followed. */
static void the_last_mark_counts_in_whatever_order_they_come(void **state)
{
    struct open open = {0};
    const struct event late = event(EVENT_TOOL_APPROVAL_ASSIGNED, 9, "{\"toolCallId\":\"c\",\"person\":\"bob\"}");
    const struct event early = event(EVENT_TOOL_APPROVAL_ASSIGNED, 8, "{\"toolCallId\":\"c\",\"person\":\"ann\"}");
    const struct event freed = event(EVENT_TOOL_APPROVAL_ASSIGNED, 10, "{\"toolCallId\":\"c\"}");
    (void)state;
    marks_take(&core, &open, &late);
    marks_take(&core, &open, &early);
    assert_int_equal(open.marks->assignee_bytes, 3);
    assert_memory_equal(open.marks->assignee, "bob", 3);
    marks_take(&core, &open, &freed);
    assert_int_equal(open.marks->assignee_bytes, 0);
    marks_free(&open);
}

/* What was kept before the start may put the alert off; the deadline is due whatever it says. */
static void an_alert_waits_until_marks_are_known(void **state)
{
    struct core heap = {.alert_ms = 300};
    struct open open = {.requested_ms = 1000, .deadline_ms = 9000, .unmarked = true}, ending = open;
    const struct event early = event(EVENT_TOOL_APPROVAL_ASSIGNED, 8, "{\"toolCallId\":\"c\",\"person\":\"ann\"}");
    (void)state;
    core_due_add(&heap, &open);
    assert_int_equal(open.due.time, 9000);
    marks_take(&heap, &open, &early);
    assert_int_equal(open.due.time, 9000);
    marks_known(&heap, &open);
    assert_int_equal(open.due.time, 1300);
    ending.ending = true; /* it is on its way out of the heap */
    marks_known(&heap, &ending);
    assert_false(ending.unmarked);
    assert_int_equal(heap.due.count, 1);
    core_due_remove(&heap, &open);
    marks_free(&open);
    due_done(&heap.due);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_nearest_is_due_first),
        TEST(a_snooze_delays_the_alert_alone),
        TEST(the_last_mark_counts_in_whatever_order_they_come),
        TEST(an_alert_waits_until_marks_are_known),
        TEST(an_alert_comes_once_and_before_the_deadline),
    };
    return cmocka_run_group_tests_name("gate due", tests, NULL, NULL);
}
