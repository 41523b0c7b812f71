/* Which step a run takes next (runtime/core/turn.h), from its last answer and the calls of it. */
#include "runtime/core/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct turn_use unasked = {0}, asked = {.asked = true}, allowed = {.asked = true, .decided = true},
                             looks = {.asked = true, .decided = true, .beside = true},
                             done = {.asked = true, .decided = true, .settled = true},
                             child = {.asked = true, .decided = true, .child = true, .beside = true},
                             aborted = {.asked = true, .decided = true, .settled = true, .aborted = true};

static struct turn_view answer(size_t count, const struct turn_use *uses)
{
    struct turn_view view = {.answered = true, .iterations = 1, .iterations_max = 5, .count = count};
    for (size_t i = 0; i < count; i++)
        view.uses[i] = uses[i];
    return view;
}
#define ANSWER(...)                                                  \
    answer(sizeof (struct turn_use[]){__VA_ARGS__} / sizeof (struct turn_use), (struct turn_use[]){__VA_ARGS__})

static enum turn_step step(struct turn_view view) { return turn_next(&view).step; }

static void an_answer_without_uses_ends_the_run(void **state)
{
    (void)state;
    assert_int_equal(step((struct turn_view){.iterations_max = 1}), TURN_ASK_MODEL);
    assert_int_equal(step((struct turn_view){.iterations = 1, .iterations_max = 1}), TURN_LIMIT);
    assert_int_equal(step(answer(0, NULL)), TURN_COMPLETE);
    assert_int_equal(step((struct turn_view){.answered = true, .paused = true, .iterations_max = 5}), TURN_ASK_MODEL);
    assert_int_equal(step((struct turn_view){.answered = true, .cancelled = true}), TURN_STOP);
}

static void every_use_is_asked_before_any_is_done(void **state)
{
    (void)state;
    assert_int_equal(step(ANSWER(allowed, unasked)), TURN_ASK_CALLS);
    assert_int_equal(step(ANSWER(aborted, unasked)), TURN_ASK_CALLS); /* so that it has an outcome, too */
    assert_int_equal(step(ANSWER(allowed, aborted)), TURN_REJECT);
    assert_int_equal(step(ANSWER(done, done)), TURN_ASK_MODEL);
}

static void only_uses_that_look_are_done_together(void **state)
{
    (void)state;
    struct turn_view mixed = ANSWER(asked, looks, looks, allowed, looks), first = ANSWER(done, allowed, looks);
    assert_int_equal(turn_next(&mixed).uses, 1 << 1 | 1 << 2);
    assert_int_equal(turn_next(&first).uses, 1 << 1);
    assert_int_equal(step(mixed), TURN_EXECUTE);
}

static void a_run_waits_for_people_and_for_sub_agents(void **state)
{
    (void)state;
    struct turn_view person = ANSWER(done, asked), agent = ANSWER(done, child);
    assert_int_equal(step(person), TURN_WAIT);
    assert_true(turn_next(&person).awaits);
    assert_int_equal(step(agent), TURN_COLLECT);
    assert_false(turn_can_continue(&agent));
    agent.collected = true;
    assert_int_equal(step(agent), TURN_WAIT);
    assert_false(turn_next(&agent).awaits);
    assert_false(turn_can_continue(&person));
    person.uses[1] = allowed;
    assert_true(turn_can_continue(&person));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_without_uses_ends_the_run),
        cmocka_unit_test(every_use_is_asked_before_any_is_done),
        cmocka_unit_test(only_uses_that_look_are_done_together),
        cmocka_unit_test(a_run_waits_for_people_and_for_sub_agents),
    };
    return cmocka_run_group_tests_name("u_runtime_turn", tests, NULL, NULL);
}
