/* A team: every part of a work is done once, whoever does it, and none is under way when the work has returned. */
#include "io/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { PARTS_MAX = 1000 };

static void count_part(void *arg, size_t number)
{
    unsigned *times = arg;
    times[number]++;
}

static void each_part_is_done_once(void **state)
{
    const size_t counts[] = {0, 1, 15, 16, 17, 64, 999, PARTS_MAX};
    struct team *team = team_new();
    (void)state;
    for (int turn = 0; turn < 50; turn++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            unsigned times[PARTS_MAX + 1] = {0};
            team_run(team, counts[i], count_part, times);
            for (size_t at = 0; at <= PARTS_MAX; at++)
                assert_int_equal(times[at], at < counts[i]);
        }
    team_free(team);
}

static void a_team_may_end_without_work(void **state)
{
    (void)state;
    team_free(team_new());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_done_once),
        cmocka_unit_test(a_team_may_end_without_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
