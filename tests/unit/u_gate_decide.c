/* Answering a call: what is kept, under which needs, and who has won. */
#include "u_gate_decide.h"

static struct event asked_events[] = {
    {.seq = 1, .kind = EVENT_TOOL_CALL, .session = STR("ses_1"), .thread = STR("ses_1.main"), .call = STR("c"),
     .data = STR("{\"id\":\"c\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"},\"verdict\":{\"effect\":\"ask\"}}")},
    {.seq = 2, .at_ms = 5, .kind = EVENT_TOOL_APPROVAL_REQUEST, .session = STR("ses_1"), .thread = STR("ses_1.main"),
     .call = STR("c"), .data = STR("{\"toolCallId\":\"c\",\"tool\":\"Bash\",\"digest\":\"d\"}")},
    {0},
};

static struct event response(const char *data)
{
    return (struct event){.seq = 3, .at_ms = 6, .kind = EVENT_TOOL_APPROVAL_RESPONSE, .session = STR("ses_1"),
                          .thread = STR("ses_1.main"), .call = STR("c"), .actor = STR("bob"), .data = str_of(data)};
}

static struct data_tool_approval_response kept_response(struct arena *arena, const struct append *append)
{
    struct data_tool_approval_response data;
    assert_int_equal(append->events[0].kind, EVENT_TOOL_APPROVAL_RESPONSE);
    assert_true(READ_DATA(arena, tool_approval_response, append->events[0].data, &data));
    return data;
}

/* ---- what is kept ---- */

static void an_answer_is_kept_for_the_call_that_was_asked_and_has_none(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_DENY);
    (void)state;
    open_begin(0);
    core.delivered = 40;
    d.feedback = STR("not now");
    d.digest = STR("d");
    struct out out = step(&d.op);
    const struct append *append = out.append;
    assert_int_equal(append->need_count, 3);
    assert_int_equal(append->needs[0].need, NEED_PRESENT);
    assert_int_equal(append->needs[0].kind, EVENT_TOOL_APPROVAL_REQUEST);
    assert_int_equal(append->needs[1].need, NEED_ABSENT);
    assert_int_equal(append->needs[1].kind, EVENT_TOOL_APPROVAL_RESPONSE);
    for (int i = 0; i < 2; i++)
        assert_true(str_is(append->needs[i].session, "ses_1") && str_is(append->needs[i].call, "c"));
    assert_int_equal(append->needs[2].need, NEED_NONE_AFTER);
    assert_int_equal(append->needs[2].seq, 40);
    assert_true(str_empty(append->needs[2].session));
    assert_int_equal(append->event_count, 1);
    assert_int_equal(append->events[0].at_ms, now.wall_ms);
    assert_true(str_is(append->events[0].thread, "ses_1.main") && str_is(append->events[0].actor, "alice"));
    struct data_tool_approval_response data = kept_response(&arena, append);
    assert_int_equal(data.decision, DECISION_DENY);
    assert_true(str_is(data.feedback, "not now") && str_is(data.by, "tok_a") && str_empty(data.reach));
    out = given_back(&d, out.append, APPEND_KEPT, 0);
    is_over(&out);
    assert_null(d.op.err);
    assert_int_equal(d.call.decision, DECISION_DENY);
    assert_int_equal(d.call.response_seq, 9);
    assert_int_equal(d.call.decided_ms, now.wall_ms);
}

static void what_holds_for_the_session_is_kept_with_the_answer(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_SESSION), mode = answer_of(&arena, DECISION_ALLOW_ONCE);
    (void)state;
    open_begin(0);
    struct out out = step(&d.op);
    assert_int_equal(out.append->event_count, 2);
    assert_int_equal(out.append->events[1].kind, EVENT_SESSION_CHANGED);
    assert_true(str_empty(out.append->events[1].call)); /* an event of the session, not of the call */
    assert_non_null(strstr(arena_c(&arena, out.append->events[1].data), "{\"Bash\":\"allow\"}"));
    append_free(out.append);
    mode.mode = STR("acceptEdits");
    out = step(&mode.op);
    assert_int_equal(out.append->event_count, 2);
    assert_non_null(strstr(arena_c(&arena, out.append->events[1].data), "acceptEdits"));
    assert_null(strstr(arena_c(&arena, out.append->events[1].data), "allow"));
    append_free(out.append);
}

/* Rules are made of the call as it was asked, and judged, before anything is kept. */
static void always_is_kept_with_its_rules(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ALWAYS);
    struct str rules[] = {STR("{\"id\":\"r1\"}"), STR("{\"id\":\"r2\"}")};
    (void)state;
    open_begin(0);
    struct out out = step(&d.op);
    assert_true(!out.append && d.rules_chosen); /* none was named */
    out = read_back(&d, out.read, asked_events, 2);
    assert_true(str_is(out.judge, "ses_1") && !out.append);
    assert_true(str_is(d.call.input, "{\"command\":\"ls\"}"));
    core.delivered = 41;
    d.user_rules = rules;
    d.user_rule_count = 2;
    out = step(&d.op);
    assert_int_equal(out.append->event_count, 3);
    assert_int_equal(out.append->needs[2].seq, 41); /* as of the verdict */
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(out.append->events[i].kind, EVENT_RULE_CHANGED);
        assert_true(str_empty(out.append->events[i].session)); /* of the installation */
        assert_non_null(strstr(arena_c(&arena, out.append->events[i].data), i == 1 ? "\"r1\"" : "\"r2\""));
    }
    assert_true(str_is(kept_response(&arena, out.append).reach, "project"));
    append_free(out.append);
}

static void a_changed_input_is_judged_before_it_is_kept(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ONCE), denied = d;
    (void)state;
    open_begin(0);
    assert_true(rc_ok(json_parse(&arena, STR("{\"command\":\"ls  -l\"}"), &d.updated_input, NULL)));
    struct out out = step(&d.op);
    assert_true(str_is(out.judge, "ses_1") && !out.append && !out.read);
    out = step(&d.op);
    assert_true(str_is(kept_response(&arena, out.append).updated_input, "{\"command\":\"ls  -l\"}"));
    append_free(out.append);
    denied.updated_input = d.updated_input;
    (void)step(&denied.op);
    (void)err_set(gate_op_fail(&denied.op), ERR_FORBIDDEN, "the rules deny it");
    out = step(&denied.op);
    is_over(&out);
}

/* A definition is agreed to as it was shown: for it there is no "always", and no other input. */
static void a_yes_to_a_definition_pins_it_in_the_same_append(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ALWAYS), no = answer_of(&arena, DECISION_DENY);
    struct event events[] = {
        event(EVENT_TOOL_CALL, 1, "{\"id\":\"c\",\"name\":\"" DEFINITION_TOOL "\","
              "\"input\":{\"root\":\"/p\",\"tool\":\"t\",\"definition\":{\"name\":\"t\"}},"
              "\"verdict\":{\"effect\":\"ask\"}}"),
        event(EVENT_TOOL_APPROVAL_REQUEST, 2,
              "{\"toolCallId\":\"c\",\"tool\":\"x\",\"digest\":\"d\",\"files\":\"f00\"}"),
    };
    (void)state;
    open_begin(0);
    open.name = STR(DEFINITION_TOOL);
    d.rules = STR("[\"Bash\"]");
    struct out out = step(&d.op);
    out = read_back(&d, out.read, events, 2);
    assert_int_equal(out.append->event_count, 2);
    assert_int_equal(kept_response(&arena, out.append).decision, DECISION_ALLOW_ONCE);
    assert_true(str_empty(kept_response(&arena, out.append).rules));
    assert_int_equal(out.append->events[1].kind, EVENT_RULE_CHANGED);
    struct data_rule_pinned pinned;
    assert_true(READ_DATA(&arena, rule_pinned, out.append->events[1].data, &pinned));
    assert_true(str_is(pinned.tool, "t") && str_is(pinned.root, "/p") && str_is(pinned.digest, "f00"));
    append_free(out.append);
    out = step(&no.op);
    assert_int_equal(out.append->event_count, 1);
    append_free(out.append);
}

/* ---- what is refused ---- */

static void only_what_was_shown_is_answered(void **state)
{
    ARENA_SCOPE(arena);
    struct decide digest = answer_of(&arena, DECISION_ALLOW_ONCE), thread = digest, check = digest, told = digest;
    (void)state;
    open_begin(0);
    digest.digest = STR("of something else");
    struct out out = step(&digest.op);
    is_over(&out);
    assert_int_equal(gate_op_code(&digest.op), ERR_CONFLICT);
    thread.thread = STR("ses_1.other");
    out = step(&thread.op);
    is_over(&out);
    assert_int_equal(gate_op_code(&thread.op), ERR_NOT_FOUND);
    out = refused_by_check(&check, ERR_SIGNATURE_REQUIRED);
    is_over(&out);
    assert_int_equal(gate_op_code(&check.op), ERR_SIGNATURE_REQUIRED);
    (void)err_set(&told.refused, ERR_FORBIDDEN, "by the API");
    out = step(&told.op);
    is_over(&out);
    assert_string_equal(told.op.err->text, "by the API");
}

static void a_store_that_cannot_keep_it_is_told(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ONCE);
    (void)state;
    open_begin(0);
    struct out out = step(&d.op);
    (void)err_set(&out.append->err, ERR_UNAVAILABLE, "the disk is full");
    out = given_back(&d, out.append, APPEND_FAILED, 0);
    is_over(&out);
    assert_string_equal(d.op.err->text, "the disk is full");
    assert_int_equal(d.call.decision, DECISION_NONE);
}

/* ---- who has won ---- */

/* Tokens or rules have changed since it was checked: nothing is wrong with the call. */
static void an_answer_that_was_checked_too_early_is_judged_again(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ONCE);
    (void)state;
    open_begin(0);
    core.delivered = 40;
    struct out out = step(&d.op);
    core.delivered = 45;
    out = given_back(&d, out.append, APPEND_REFUSED, 2);
    assert_true(str_is(out.judge, "ses_1") && !out.append);
    out = step(&d.op);
    assert_int_equal(out.append->needs[2].seq, 45);
    open_close(); /* answered while that was kept */
    out = given_back(&d, out.append, APPEND_REFUSED, 2);
    out = step(&d.op);
    assert_true(out.read && !out.append);
    read_free(out.read);
}

static enum err_code lost_to(struct decide *d, const char *winner)
{
    asked_events[2] = response(winner);
    struct out out = step(&d->op);
    out = given_back(d, out.append, APPEND_REFUSED, 1);
    out = read_back(d, out.read, asked_events, 3);
    is_over(&out);
    return gate_op_code(&d->op);
}

/* The same answer of the same token is no second one: its client may have missed that it was kept. */
static void whoever_repeats_the_winning_answer_has_won(void **state)
{
    static const struct {
        const char *winner;
        bool same;
    } rows[] = {
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\"}", true},
        {"{\"toolCallId\":\"c\",\"decision\":\"deny\",\"by\":\"tok_a\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_session\",\"by\":\"tok_a\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_b\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\",\"feedback\":\"x\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\",\"mode\":\"plan\"}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\",\"updatedInput\":{}}", false},
        {"{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\",\"uses\":2}", false},
    };
    (void)state;
    open_begin(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARENA_SCOPE(arena);
        struct decide d = answer_of(&arena, DECISION_ALLOW_ONCE);
        assert_int_equal(lost_to(&d, rows[i].winner), rows[i].same ? ERR_OK : ERR_ALREADY_DECIDED);
        assert_int_equal(d.call.response_seq, 3); /* the winner, for both */
        assert_true(str_is(d.call.actor, "bob"));
    }
}

/* Another node has asked a moment ago, and this one has not been told: the store is asked a few times. */
static void a_call_that_is_open_elsewhere_is_tried_again_for_a_while(void **state)
{
    ARENA_SCOPE(arena);
    struct decide d = answer_of(&arena, DECISION_ALLOW_ONCE), late = d;
    unsigned looks = 1;
    (void)state;
    struct out out = step(&d.op);
    for (; out.read && looks < 10; looks++)
        out = read_back(&d, out.read, asked_events, 2);
    is_over(&out);
    assert_int_equal(looks, 4);
    assert_int_equal(gate_op_code(&d.op), ERR_CONFLICT);
    out = step(&late.op);
    open_begin(0); /* now it is told */
    out = read_back(&late, out.read, asked_events, 2);
    assert_non_null(out.append);
    append_free(out.append);
}

static void a_call_that_is_nowhere_is_not_found(void **state)
{
    ARENA_SCOPE(arena);
    struct decide none = answer_of(&arena, DECISION_ALLOW_ONCE), unasked = none, thread = none;
    (void)state;
    struct out out = step(&none.op);
    out = read_back(&none, out.read, NULL, 0);
    is_over(&out);
    assert_int_equal(gate_op_code(&none.op), ERR_NOT_FOUND);
    out = step(&unasked.op);
    out = read_back(&unasked, out.read, asked_events, 1); /* rules let it pass: nobody was asked */
    is_over(&out);
    assert_int_not_equal(gate_op_code(&unasked.op), ERR_OK);
    thread.thread = STR("ses_1.other");
    asked_events[2] = response("{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"by\":\"tok_a\"}");
    out = step(&thread.op);
    out = read_back(&thread, out.read, asked_events, 3);
    assert_int_equal(gate_op_code(&thread.op), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DECIDE_TEST(an_answer_is_kept_for_the_call_that_was_asked_and_has_none),
        DECIDE_TEST(what_holds_for_the_session_is_kept_with_the_answer),
        DECIDE_TEST(always_is_kept_with_its_rules),
        DECIDE_TEST(a_changed_input_is_judged_before_it_is_kept),
        DECIDE_TEST(a_yes_to_a_definition_pins_it_in_the_same_append),
        DECIDE_TEST(only_what_was_shown_is_answered),
        DECIDE_TEST(a_store_that_cannot_keep_it_is_told),
        DECIDE_TEST(an_answer_that_was_checked_too_early_is_judged_again),
        DECIDE_TEST(whoever_repeats_the_winning_answer_has_won),
        DECIDE_TEST(a_call_that_is_open_elsewhere_is_tried_again_for_a_while),
        DECIDE_TEST(a_call_that_is_nowhere_is_not_found),
    };
    return cmocka_run_group_tests_name("gate decide", tests, NULL, NULL);
}
