/* Which runs are at work, wait or are left over (runtime/core): values in, values out, no thread. */
#include "runtime/core/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { LEASE_US = 9000000 };

static struct event status_of(const char *thread, const char *data)
{
    return (struct event){.kind = EVENT_RUN_STATUS, .session = STR("ses_1"), .thread = str_of(thread),
                          .data = str_of(data)};
}

#define RUNNING(owner) "{\"status\":\"running\",\"owner\":\"" owner "\"}"
static const char waiting[] = "{\"status\":\"awaiting_approval\"}", cancelled[] = "{\"status\":\"cancelled\"}",
                  completed[] = "{\"status\":\"completed\"}";

static struct runs_out follow(struct runs *runs, struct event event, int64_t now_us)
{
    struct runs_out out = {0};
    runs_follow(runs, &event, now_us, &out);
    return out;
}

static struct runs_out wake(struct runs *runs, const char *thread)
{
    struct runs_out out = {0};
    runs_wake(runs, STR("ses_1"), str_of(thread), &out);
    return out;
}

static struct runs_out end(struct runs *runs, struct run *run, enum run_end how)
{
    struct runs_out out = {0};
    run->end = how;
    runs_ended(runs, run, &out);
    return out;
}

static void a_wake_during_a_job_is_not_missed(void **state)
{
    struct runs runs = {.owner = STR("us")};
    (void)state;
    struct run *run = wake(&runs, "t").start;
    assert_true(run && run->working && str_is(run->thread, "t") && !run->next);
    assert_null(wake(&runs, "t").start);
    assert_ptr_equal(end(&runs, run, RUN_WAITS).start, run);
    assert_null(end(&runs, run, RUN_WAITS).start);
    assert_int_equal(runs.runs.count, 1);
    struct event response = {.kind = EVENT_TOOL_APPROVAL_RESPONSE, .session = STR("ses_1"), .thread = STR("t")};
    assert_ptr_equal(follow(&runs, response, 0).start, run);
    assert_null(end(&runs, run, RUN_OVER).start);
    assert_int_equal(runs.runs.count, 0);
    runs_done(&runs);
}

static void trouble_is_tried_again(void **state)
{
    struct runs runs = {.owner = STR("us")};
    struct runs_out out = {0};
    (void)state;
    struct run *run = wake(&runs, "t").start;
    assert_true(end(&runs, run, RUN_TROUBLE).trouble);
    runs_try_again(&runs, &out);
    assert_ptr_equal(out.start, run);
    out = (struct runs_out){0};
    runs_try_again(&runs, &out);
    assert_null(out.start);
    (void)end(&runs, run, RUN_LEFT);
    runs_done(&runs);
}

static void whoever_lost_a_run_ends_its_job(void **state)
{
    struct runs runs = {.owner = STR("us"), .lease_us = LEASE_US};
    (void)state;
    struct run *run = wake(&runs, "t").start;
    assert_null(follow(&runs, status_of("t", RUNNING("us")), 0).cancel);
    assert_ptr_equal(follow(&runs, status_of("t", RUNNING("them")), 0).cancel, run);
    struct runs_out out = follow(&runs, status_of("t", cancelled), 0);
    assert_ptr_equal(out.cancel, run);
    assert_true(out.cancel_children && out.end_commands);
    assert_false(follow(&runs, status_of("t", completed), 0).cancel_children);
    (void)end(&runs, run, RUN_LEFT);
    runs_done(&runs);
}

static void the_end_of_a_sub_agent_wakes_its_parent(void **state)
{
    struct runs runs = {.owner = STR("us")};
    (void)state;
    (void)follow(&runs, status_of("main", waiting), 0);
    assert_int_equal(runs.runs.count, 1);
    static const char failed[] = "{\"status\":\"failed\",\"parent\":{\"threadId\":\"main\"}}";
    struct runs_out out = follow(&runs, status_of("sub", failed), 0);
    assert_true(out.start && str_is(out.start->thread, "main"));
    assert_true(out.cancel_children && !out.end_commands);
    (void)end(&runs, out.start, RUN_OVER);
    runs_done(&runs);
}

static void the_runs_of_a_silent_process_are_taken_over(void **state)
{
    struct runs runs = {.owner = STR("us"), .lease_us = LEASE_US};
    struct event lease = {.kind = EVENT_RUN_LEASE, .data = STR("{\"owner\":\"them\"}")};
    struct event running = status_of("t", RUNNING("them"));
    struct runs_out out = {0};
    (void)state;
    runs_recover(&runs, &running, 0, &out);
    assert_null(out.start); /* whoever works on it may be alive */
    (void)follow(&runs, lease, LEASE_US / 2);
    runs_take_over(&runs, LEASE_US + 1, &out);
    assert_null(out.start);
    assert_false(runs_silent(&runs, STR("them"), LEASE_US + 1));
    runs_take_over(&runs, LEASE_US + LEASE_US / 2 + 1, &out);
    assert_true(out.start && str_is(out.start->thread, "t"));
    assert_true(runs_silent(&runs, STR("them"), LEASE_US + LEASE_US / 2 + 1));
    (void)end(&runs, out.start, RUN_OVER);
    runs_done(&runs);
}

static void alone_a_process_takes_up_all_runs_at_once(void **state)
{
    struct runs runs = {.owner = STR("us")};
    struct event events[] = {status_of("a", RUNNING("gone")), status_of("b", completed), status_of("c", waiting),
                             status_of("d", "{\"status\":\"pending\"}")};
    struct runs_out out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        runs_recover(&runs, &events[i], 0, &out);
    assert_true(str_is(out.start->thread, "a") && str_is(out.start->next->thread, "c") && !out.start->next->next);
    struct run *first = out.start, *second = first->next;
    out = (struct runs_out){0};
    runs_stop(&runs, &out);
    assert_true(out.cancel && out.cancel->next && !out.cancel->next->next);
    assert_null(wake(&runs, "e").start);
    (void)end(&runs, first, RUN_LEFT);
    (void)end(&runs, second, RUN_WAITS);
    assert_int_equal(runs.runs.count, 0);
    runs_done(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_during_a_job_is_not_missed),
        cmocka_unit_test(trouble_is_tried_again),
        cmocka_unit_test(whoever_lost_a_run_ends_its_job),
        cmocka_unit_test(the_end_of_a_sub_agent_wakes_its_parent),
        cmocka_unit_test(the_runs_of_a_silent_process_are_taken_over),
        cmocka_unit_test(alone_a_process_takes_up_all_runs_at_once),
    };
    return cmocka_run_group_tests_name("runtime runs", tests, NULL, NULL);
}
