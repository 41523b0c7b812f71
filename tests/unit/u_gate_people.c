/* Calls that several persons must allow. */
#include "u_gate_decide.h"

static struct decide allow_by(struct arena *arena, const char *person, const char *token)
{
    struct decide d = answer_of(arena, DECISION_ALLOW_ONCE);
    d.actor = d.person = str_of(person);
    d.by = str_of(token);
    return d;
}

/* What was kept is delivered, as the driver does. */
static void deliver(const struct append *append)
{
    for (unsigned i = 0; i < append->event_count; i++)
        if (append->events[i].kind == EVENT_TOOL_APPROVAL_PARTIAL)
            people_take(&open, &append->events[i]);
}

/* The allow of one person, kept; whether it was the one that completes the number. */
static bool allows(struct decide *d)
{
    struct out out = step(&d->op);
    assert_non_null(out.append);
    bool whole = out.append->events[0].kind == EVENT_TOOL_APPROVAL_RESPONSE;
    deliver(out.append);
    out = given_back(d, out.append, APPEND_KEPT, 0);
    is_over(&out);
    assert_int_equal(gate_op_code(&d->op), whole ? ERR_OK : ERR_MORE_PEOPLE);
    return whole;
}

static void the_last_of_several_persons_lets_it_pass(void **state)
{
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a"), b = allow_by(&arena, "bob", "tok_b"),
                  c = allow_by(&arena, "carol", "tok_c");
    struct data_tool_approval_response data;
    (void)state;
    open_begin(3);
    assert_false(allows(&a));
    assert_true(a.have == 1 && a.need == 3);
    assert_false(allows(&b));
    assert_true(b.have == 2 && b.need == 3);
    struct out out = step(&c.op);
    assert_int_equal(out.append->event_count, 1);
    assert_true(READ_DATA(&arena, tool_approval_response, out.append->events[0].data, &data));
    assert_int_equal(data.people.count, 3);
    assert_true(str_is(data.people.items[0], "alice") && str_is(data.people.items[1], "bob") &&
                str_is(data.people.items[2], "carol"));
    append_free(out.append);
}

/* Two who answer at once: the second append is refused, and the first has been delivered by then. */
static void a_partial_answer_is_kept_only_behind_what_was_counted(void **state)
{
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a"), b = allow_by(&arena, "bob", "tok_b");
    (void)state;
    open_begin(2);
    core.delivered = 7;
    struct out first = step(&a.op), second = step(&b.op);
    assert_int_equal(second.append->need_count, 4);
    assert_int_equal(second.append->needs[3].need, NEED_NONE_AFTER);
    assert_true(str_is(second.append->needs[3].session, "ses_1"));
    assert_int_equal(second.append->needs[3].seq, 7);
    deliver(first.append);
    (void)given_back(&a, first.append, APPEND_KEPT, 0);
    core.delivered = 8;
    second = given_back(&b, second.append, APPEND_REFUSED, 3);
    /* Counted again: the second of two. */
    assert_int_equal(second.append->events[0].kind, EVENT_TOOL_APPROVAL_RESPONSE);
    append_free(second.append);
}

static void counting_again_has_an_end(void **state)
{
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a");
    unsigned times = 0;
    (void)state;
    open_begin(2);
    struct out out = step(&a.op);
    for (; out.append && times < 100; times++)
        out = given_back(&a, out.append, APPEND_REFUSED, 3);
    is_over(&out);
    assert_int_equal(times, 30);
    assert_int_equal(gate_op_code(&a.op), ERR_CONFLICT);
}

static void a_person_counts_once_with_every_device(void **state)
{
    static const char *const again[][2] = {{"alice", "tok_a"}, {"alice", "tok_phone"}, {"alicia", "tok_a"}};
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a");
    (void)state;
    open_begin(3);
    assert_false(allows(&a));
    for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
        struct decide d = allow_by(&arena, again[i][0], again[i][1]);
        struct out out = step(&d.op);
        is_over(&out); /* nothing is kept */
        assert_int_equal(gate_op_code(&d.op), ERR_MORE_PEOPLE);
        assert_true(d.have == 1 && d.need == 3);
    }
}

static void whoever_asked_is_none_of_them(void **state)
{
    ARENA_SCOPE(arena);
    static const struct {
        const char *actor, *person;
        bool refused;
    } rows[] = {
        {"dave, laptop", "dave", true}, {"dave, phone", "dave", true}, {"dave", "dave", true},
        {"other", "dave", true}, /* signed with a key of the person who asked */
        {"dave, phone", "erin", true}, {"david", "david", false},
    };
    (void)state;
    open_begin(2);
    open.actor = STR("dave, laptop");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct decide d = allow_by(&arena, rows[i].person, "tok_x");
        d.actor = str_of(rows[i].actor);
        struct out out = step(&d.op);
        assert_int_equal(gate_op_code(&d.op), rows[i].refused ? ERR_FORBIDDEN : ERR_OK);
        assert_int_equal(out.append != NULL, !rows[i].refused);
        if (out.append)
            append_free(out.append);
        struct decide deny = d;
        deny.op = (struct op){.arena = &arena, .step = decide_step};
        deny.decision = DECISION_DENY; /* anybody may */
        out = step(&deny.op);
        assert_non_null(out.append);
        append_free(out.append);
    }
}

static void each_allows_this_call_and_nothing_beyond(void **state)
{
    static const enum decision wide[] = {DECISION_ALLOW_SESSION, DECISION_ALLOW_ALWAYS};
    ARENA_SCOPE(arena);
    (void)state;
    open_begin(2);
    for (size_t i = 0; i < 3; i++) {
        struct decide d = allow_by(&arena, "alice", "tok_a");
        if (i < 2)
            d.decision = wide[i];
        else
            d.mode = STR("acceptEdits");
        struct out out = step(&d.op);
        is_over(&out);
        assert_int_equal(gate_op_code(&d.op), ERR_INVALID);
    }
}

static void one_who_denies_is_enough(void **state)
{
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a"), no = allow_by(&arena, "bob", "tok_b");
    (void)state;
    open_begin(3);
    assert_false(allows(&a));
    no.decision = DECISION_DENY;
    assert_true(allows(&no));
    assert_int_equal(no.call.decision, DECISION_DENY);
}

/* All must have allowed the same. */
static void another_input_starts_the_count_again(void **state)
{
    ARENA_SCOPE(arena);
    struct decide a = allow_by(&arena, "alice", "tok_a"), b = allow_by(&arena, "bob", "tok_b"),
                  same = allow_by(&arena, "carol", "tok_c"), old = allow_by(&arena, "dora", "tok_d");
    (void)state;
    open_begin(2);
    assert_false(allows(&a));
    assert_true(rc_ok(json_parse(&arena, STR("{\"n\":1, \"m\":2}"), &b.updated_input, NULL)));
    assert_true(rc_ok(json_parse(&arena, STR("{\"n\":1,\"m\":2}"), &same.updated_input, NULL)));
    struct out out = step(&b.op);
    assert_true(out.judge.n);
    assert_false(allows(&b)); /* alice has allowed another one */
    assert_int_equal(b.have, 1);
    out = step(&old.op);
    assert_int_equal(out.append->events[0].kind, EVENT_TOOL_APPROVAL_PARTIAL); /* as asked: bob has not allowed that */
    append_free(out.append);
    out = step(&same.op);
    assert_true(out.judge.n);
    assert_true(allows(&same)); /* blanks are no difference */
}

/* Its answers count no more, and the next one stands behind those that are left. */
static void who_is_revoked_is_taken_out(void **state)
{
    static const char *const order[] = {"tok_a", "tok_b", "tok_c"};
    (void)state;
    for (size_t gone = 0; gone < 3; gone++) {
        ARENA_SCOPE(arena);
        open_begin(9);
        for (size_t i = 0; i < 3; i++) {
            struct decide d = allow_by(&arena, order[i] + 4, order[i]);
            assert_false(allows(&d));
        }
        people_drop(&open, str_of(order[gone]));
        people_drop(&open, STR("tok_of_nobody"));
        struct decide last = allow_by(&arena, "z", "tok_z");
        assert_false(allows(&last));
        assert_int_equal(last.have, 3);
        size_t count = 0;
        for (const struct partial *p = open.partials->first; p; p = p->next, count++)
            assert_false(str_is(p->by, order[gone]));
        assert_int_equal(count, 3);
        open_close();
        people_free(&open);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DECIDE_TEST(the_last_of_several_persons_lets_it_pass),
        DECIDE_TEST(a_partial_answer_is_kept_only_behind_what_was_counted),
        DECIDE_TEST(counting_again_has_an_end),
        DECIDE_TEST(a_person_counts_once_with_every_device),
        DECIDE_TEST(whoever_asked_is_none_of_them),
        DECIDE_TEST(each_allows_this_call_and_nothing_beyond),
        DECIDE_TEST(one_who_denies_is_enough),
        DECIDE_TEST(another_input_starts_the_count_again),
        DECIDE_TEST(who_is_revoked_is_taken_out),
    };
    return cmocka_run_group_tests_name("gate people", tests, NULL, NULL);
}
