/* Conversations as they are read from events. */
#include "event/life.h"
#include "runtime/talk.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

static uint64_t next_seq;

static void tell(struct talk *talk, enum event_kind kind, const char *call, const char *data)
{
    struct event event = {
        .seq = ++next_seq, .kind = kind, .at_ms = 1700000000000, .session = STR("ses_1"), .thread = STR("ses_1.main"),
        .call = str_of(call), .actor = STR("tester"), .data = str_of(data),
    };
    talk_apply(talk, &event);
}

static void begin(struct talk *talk)
{
    next_seq = 0;
    talk_init(talk);
    tell(talk, EVENT_USER_MESSAGE, NULL, "{\"runId\":\"ses_1.r\",\"text\":\"do it\"}");
    tell(talk, EVENT_RUN_STATUS, NULL, "{\"runId\":\"ses_1.r\",\"status\":\"pending\",\"maxIterations\":9}");
    tell(talk, EVENT_AGENT_MESSAGE, NULL,
         "{\"runId\":\"ses_1.r\",\"content\":[{\"type\":\"text\",\"text\":\"well\"},"
         "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"Bash\",\"input\":{\"command\":\"x\"}}],"
         "\"usage\":{\"input\":5,\"output\":2,\"cacheRead\":3}}");
}

static void ask(struct talk *talk, const char *id)
{
    char call[200];
    (void)snprintf(call, sizeof call,
                   "{\"id\":\"%s\",\"name\":\"Bash\",\"input\":{},\"verdict\":{\"effect\":\"ask\"}}", id);
    tell(talk, EVENT_TOOL_CALL, id, call);
    tell(talk, EVENT_TOOL_APPROVAL_REQUEST, id, "{\"files\":\"abc\"}");
}

static void expect_outcome(const struct talk *talk, const char *id, bool is_error, const char *want)
{
    ARENA_SCOPE(arena);
    bool bad;
    struct str text = talk_outcome(&arena, talk, talk_call(talk, str_of(id)), &bad);
    assert_int_equal(bad, is_error);
    assert_string_equal(arena_c(&arena, text), want);
}

static void test_state(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    assert_true(talk.run.status == RUN_PENDING && str_is(talk.run.prompt, "do it"));
    assert_true(str_is(talk.run.text, "well"));
    assert_int_equal(talk.run.iterations, 1);
    assert_int_equal(talk.run.iterations_max, 9);
    assert_int_equal(talk.run.usage.cache_read, 3);
    assert_int_equal(talk.context_tokens, 10);
    assert_int_equal(talk.run.status_seq, 2);
    assert_true(str_is(talk.last->uses->id, "c1"));
    assert_null(talk_call(&talk, STR("c1")));
    talk_done(&talk);
}

static void test_outcomes(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    ask(&talk, "c1");
    assert_false(talk_settled(talk_call(&talk, STR("c1"))));
    tell(&talk, EVENT_TOOL_APPROVAL_RESPONSE, "c1", "{\"decision\":\"deny\",\"feedback\":\"Use X\"}");
    assert_true(talk_settled(talk_call(&talk, STR("c1"))));
    expect_outcome(&talk, "c1", true, "User rejected: Use X");
    ask(&talk, "c2");
    tell(&talk, EVENT_TOOL_APPROVAL_RESPONSE, "c2", "{\"decision\":\"allow_once\"}");
    assert_false(talk_settled(talk_call(&talk, STR("c2"))));
    tell(&talk, EVENT_TOOL_STARTED, "c2", "{}");
    tell(&talk, EVENT_TOOL_RESULT, "c2", "{\"content\":\"out\",\"isError\":false}");
    expect_outcome(&talk, "c2", false, "out");
    ask(&talk, "c3");
    tell(&talk, EVENT_TOOL_APPROVAL_RESPONSE, "c3", "{\"decision\":\"timeout\"}");
    expect_outcome(&talk, "c3", true, "Nobody answered in time; it was not run");
    expect_outcome(&talk, "none", true, "Cancelled before anyone answered; it was not run");
    talk_done(&talk);
}

static void test_a_call_that_took_another_s_place(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    ask(&talk, "c1");
    tell(&talk, EVENT_TOOL_APPROVAL_RESPONSE, "c1", "{\"decision\":\"allow_once\"}");
    tell(&talk, EVENT_TOOL_RESULT, "c1", "{\"content\":\"x\",\"isError\":true,\"supersededBy\":\"c1.again\"}");
    assert_null(talk_call(&talk, STR("c1")));
    assert_true(str_is(talk_call_id(&talk, STR("c1")), "c1.again"));
    ask(&talk, "c1.again");
    assert_true(str_is(talk_call(&talk, STR("c1"))->id, "c1.again"));
    talk_done(&talk);
}

static void look(struct talk *talk, const char *id, const char *input, const char *saw)
{
    char text[1000];
    (void)snprintf(text, sizeof text, "{\"content\":[{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"Read\"}]}", id);
    tell(talk, EVENT_AGENT_MESSAGE, NULL, text);
    (void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"name\":\"Read\",\"input\":%s,"
                   "\"verdict\":{\"effect\":\"allow\"}}", id, input);
    tell(talk, EVENT_TOOL_CALL, id, text);
    (void)snprintf(text, sizeof text, "{\"content\":\"%s%300s\",\"isError\":false}", saw, ".");
    tell(talk, EVENT_TOOL_RESULT, id, text);
}

static bool told_in_full(const struct talk *talk, const char *id)
{
    ARENA_SCOPE(arena);
    bool bad;
    struct str text = talk_outcome(&arena, talk, talk_call(talk, str_of(id)), &bad);
    assert_false(bad);
    return text.n > 300;
}

static void test_a_result_is_told_once(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    look(&talk, "r1", "{\"file_path\":\"a\"}", "old");
    look(&talk, "r2", "{\"file_path\":\"a\"}", "old");
    look(&talk, "r3", "{\"file_path\":\"b\"}", "old");
    look(&talk, "r4", "{\"file_path\":\"a\"}", "new");
    look(&talk, "r5", "{\"file_path\":\"a\"}", "old");
    assert_true(told_in_full(&talk, "r1") && !told_in_full(&talk, "r2") && told_in_full(&talk, "r3"));
    assert_true(told_in_full(&talk, "r4") && told_in_full(&talk, "r5"));
    tell(&talk, EVENT_COMPACTION, NULL, "{\"summary\":\"short\"}");
    look(&talk, "r6", "{\"file_path\":\"a\"}", "old");
    assert_true(told_in_full(&talk, "r6"));
    talk_done(&talk);
}

static void test_events_twice_and_broken(void **state)
{
    struct talk talk;
    struct event old = {.seq = 1, .kind = EVENT_USER_MESSAGE, .data = STR("{\"text\":\"again\"}")};
    (void)state;
    begin(&talk);
    talk_apply(&talk, &old);
    assert_true(str_is(talk.first->text, "do it"));
    tell(&talk, EVENT_AGENT_MESSAGE, NULL, "{\"content\":");
    tell(&talk, EVENT_AGENT_MESSAGE, NULL, "{}");
    assert_null(talk.last->uses);
    tell(&talk, EVENT_COMPACTION, NULL, "{\"summary\":\"short\"}");
    assert_true(talk.first == talk.last && str_has(talk.first->text, STR("short")));
    assert_true(str_has(talk.first->text, STR("do it")));
    talk_done(&talk);
}

/* A conversation that is read from its last COMPACTION is the one that is read from its beginning. */
static void test_from_a_compaction(void **state)
{
    struct talk all, late;
    ARENA_SCOPE(arena);
    (void)state;
    next_seq = 0;
    talk_init(&all);
    tell(&all, EVENT_USER_MESSAGE, NULL, "{\"runId\":\"ses_1.r\",\"text\":\"do it\"}");
    tell(&all, EVENT_RUN_STATUS, NULL,
         "{\"runId\":\"ses_1.r\",\"status\":\"running\",\"maxIterations\":9,\"model\":\"m\",\"system\":\"s\","
         "\"agent\":\"a\",\"depth\":1,\"parent\":{\"threadId\":\"t\",\"callId\":\"c\",\"runId\":\"r\"}}");
    tell(&all, EVENT_AGENT_MESSAGE, NULL, "{\"content\":[],\"usage\":{\"input\":5,\"output\":2,\"costUsd\":0.5}}");
    ask(&all, "c0");
    tell(&all, EVENT_TOOL_APPROVAL_RESPONSE, "c0", "{\"decision\":\"allow_once\"}");
    tell(&all, EVENT_TOOL_STARTED, "c0", "{\"threadId\":\"ses_1.x\"}");
    struct data_usage usage = {.input = 1, .cost = STR("0.25")};
    const char *data = arena_c(&arena, DATA(&arena, compaction, .run = STR("ses_1.r"), .summary = STR("short"),
                                            .usage = &usage, .basis = talk_basis(&arena, &all)));
    talk_init(&late);
    late.seq = next_seq;
    tell(&all, EVENT_COMPACTION, NULL, data);
    next_seq--;
    tell(&late, EVENT_COMPACTION, NULL, data);
    struct talk *both[] = {&all, &late};
    for (int i = 0; i < 2; i++) {
        struct talk *talk = both[i];
        next_seq = 10;
        tell(talk, EVENT_RUN_STATUS, NULL, "{\"runId\":\"ses_1.r\",\"status\":\"awaiting_approval\"}");
        const struct run_state *run = &talk->run;
        assert_true(str_is(run->id, "ses_1.r") && str_is(run->prompt, "do it") && str_is(run->model, "m"));
        assert_true(str_is(talk->system, "s") && run->status == RUN_AWAITING_APPROVAL && run->status_seq == 11);
        assert_true(str_is(run->parent.thread, "t") && str_is(run->parent.call, "c") && str_is(run->parent.run, "r"));
        assert_true(str_is(run->parent.agent, "a") && run->parent.depth == 1 && run->created_ms == 1700000000000);
        assert_true(run->iterations == 1 && run->iterations_max == 9 && talk->tasks == 1);
        assert_true(run->usage.input == 6 && run->usage.output == 2 && run->usage.cost == 750000000);
        assert_true(!run->usage.cost_unknown && talk->context_tokens == 0 && talk->compacted_seq == 8);
        assert_true(talk->first == talk->last && str_has(talk->first->text, STR("short")));
        talk_done(talk);
    }
}

static void test_statuses(void **state)
{
    (void)state;
    assert_true(run_status_over(RUN_COMPLETED) && run_status_over(run_status_parse(STR("failed"))));
    assert_false(run_status_over(RUN_AWAITING_APPROVAL) || run_status_over(run_status_parse(STR(""))));
    for (int i = RUN_PENDING; i < RUN_STATUS_COUNT; i++)
        assert_int_equal(run_status_parse(str_of(run_status_name((enum run_status)i))), i);
    assert_int_equal(run_status_parse(STR("thinking")), RUN_UNKNOWN);
    assert_true(life_run_move(RUN_PENDING, RUN_RUNNING) && life_run_move(RUN_FAILED, RUN_RUNNING));
    assert_false(life_run_move(RUN_COMPLETED, RUN_RUNNING) || life_run_move(RUN_PENDING, RUN_COMPLETED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_a_call_that_took_another_s_place),
        cmocka_unit_test(test_a_result_is_told_once),
        cmocka_unit_test(test_events_twice_and_broken),
        cmocka_unit_test(test_from_a_compaction),
        cmocka_unit_test(test_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
