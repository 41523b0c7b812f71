/* An answer to an open call, taken step by step. Included by u_gate_decide.c and u_gate_people.c. */
#ifndef U_GATE_DECIDE_H
#define U_GATE_DECIDE_H

#include "u_gate_core.h"

static struct open open;

static inline void open_begin(unsigned people)
{
    open = (struct open){.session = STR("ses_1"), .call = STR("c"), .thread = STR("ses_1.main"), .name = STR("Bash"),
                         .actor = STR("agent"), .digest = STR("d"), .people = people, .seq = 2};
    struct call_key key = call_key(open.session, open.call);
    assert_null(map_put(&core.open, call_key_str(&key), &open));
}

/* A response was delivered. */
static inline void open_close(void)
{
    struct call_key key = call_key(open.session, open.call);
    assert_ptr_equal(map_take(&core.open, call_key_str(&key)), &open);
}

static inline int open_end(void **state)
{
    (void)state;
    people_free(&open);
    map_done(&core.open);
    core = (struct core){0};
    return 0;
}

static inline struct decide answer_of(struct arena *arena, enum decision decision)
{
    return (struct decide){.op = {.arena = arena, .step = decide_step}, .session = STR("ses_1"), .call_id = STR("c"),
                           .decision = decision, .actor = STR("alice"), .by = STR("tok_a"), .person = STR("alice")};
}

/* Like step(), where the driver's check finds something. */
static inline struct out refused_by_check(struct decide *d, enum err_code code)
{
    struct out out = {0};
    decide_step(&core, &d->op, now, &out);
    assert_true(out.check && !out.append && !out.read);
    (void)err_set(gate_op_fail(&d->op), code, "said by the check");
    out = (struct out){0};
    decide_step(&core, &d->op, now, &out);
    return out;
}

/* What a step has asked to be kept, given back with this outcome. */
static inline struct out given_back(struct decide *d, struct append *append, enum append_outcome outcome, unsigned need)
{
    assert_non_null(append);
    append->outcome = outcome;
    append->refused_need = need;
    for (unsigned i = 0; i < append->event_count; i++)
        append->events[i].seq = 9 + i;
    d->op.append = append;
    struct out out = step(&d->op);
    append_free(append);
    return out;
}

/* The answer to the read that a step has asked for. */
static inline struct out read_back(struct decide *d, struct read *read, struct event *events, size_t count)
{
    assert_non_null(read);
    assert_int_equal(read->kind, READ_CALL);
    assert_true(str_is(read->session, "ses_1") && str_is(read->call, "c"));
    read->events = events;
    read->event_count = count;
    d->op.read = read;
    struct out out = step(&d->op);
    read_free(read);
    return out;
}

static inline void is_over(const struct out *out)
{
    assert_true(!out->append && !out->read && !out->judge.n && !out->park);
}

#define DECIDE_TEST(name) cmocka_unit_test_teardown(name, open_end)

#endif
