/* Tests of the pure part of the gate (gate/core): values in, values out, no process. Included by u_gate_*.c. */
#ifndef U_GATE_CORE_H
#define U_GATE_CORE_H

#include "gate/core/core.h"

#include "event/shapes.h"
#include "gate/inner.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct now now = {.wall_ms = 1767323045678};
static struct core core;

static inline struct event event(enum event_kind kind, uint64_t seq, const char *data)
{
    return (struct event){.seq = seq, .kind = kind, .at_ms = 1000, .session = STR("ses_1"), .thread = STR("ses_1.main"),
                          .call = STR("c"), .actor = STR("alice"), .data = str_of(data)};
}

static inline void nothing(struct op *op) { (void)op; }

static inline struct report report(struct arena *arena, const char *content)
{
    return (struct report){.op = {.step = report_step, .arena = arena, .done = nothing},
                           .session = STR("ses_1"), .call = STR("c"), .actor = STR("bob"), .content = str_of(content)};
}

/* Gives a step the events of the call, as the store would. */
static inline struct out answer_read(struct report *r, const struct event *events, size_t count)
{
    struct out out = {0};
    struct read read = {.events = (struct event *)events, .event_count = count};
    r->op.read = &read;
    r->op.step(&core, &r->op, now, &out);
    r->op.read = NULL;
    return out;
}

static inline struct out answer_append(struct report *r, struct append *append, enum append_outcome outcome)
{
    struct out out = {0};
    append->outcome = outcome;
    append->events[0].seq = 9;
    r->op.append = append;
    r->op.step(&core, &r->op, now, &out);
    r->op.append = NULL;
    append_free(append);
    return out;
}

static const char allowed[] = "{\"id\":\"c\",\"name\":\"Read\",\"input\":{},\"verdict\":{\"effect\":\"allow\"}}";
static const char asked[] = "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{},\"verdict\":{\"effect\":\"ask\"}}";

static inline struct out begin(struct report *r)
{
    struct out out = {0};
    r->op.step(&core, &r->op, now, &out);
    assert_non_null(out.read);
    assert_null(out.append);
    assert_int_equal(out.read->kind, READ_CALL);
    assert_true(str_is(out.read->session, "ses_1") && str_is(out.read->call, "c"));
    read_free(out.read);
    return out;
}

struct asking {
    struct ask ask;
    struct verdict verdict;
    struct session session;
    struct session_thread thread;
};

static inline struct out step(struct op *op)
{
    struct out out = {0};
    do {
        out = (struct out){0};
        if (op->finding == FIND_DONE || core_find(op, &out))
            op->step(&core, op, now, &out);
    } while (out.check); /* everyone may */
    op->read = NULL;
    op->append = NULL;
    return out;
}

static inline void begin_ask(struct asking *a, struct arena *arena, int64_t wait_ms)
{
    *a = (struct asking){.verdict = {.effect = EFFECT_ASK}, .session = {.changed_seq = 7}};
    a->thread.id = STR("main");
    a->session.threads = &a->thread;
    a->ask = (struct ask){.op = {.arena = arena, .step = ask_step, .phase = ASK_BEGIN}, .session = STR("ses_1"),
                          .thread = STR("main"), .id = STR("c"), .name = STR("Bash"), .actor = STR("agent"),
                          .wait_ms = wait_ms};
    assert_true(rc_ok(json_parse(arena, STR("{}"), &a->ask.input, NULL)));
    assert_true(str_is(step(&a->ask.op).judge, "ses_1"));
    a->ask.verdict = &a->verdict;
    a->ask.op.session = &a->session;
}

static inline struct out keep_ask(struct asking *a, struct out out, enum append_outcome outcome, unsigned need)
{
    struct append *append = out.append;
    assert_non_null(append);
    append->outcome = outcome;
    append->refused_need = need;
    append->events[0].seq = 9;
    a->ask.op.append = append;
    out = step(&a->ask.op);
    append_free(append);
    return out;
}

/* The asks of a test that failed are gone with its stack: the next test must not meet them. */
static inline int forget_failed(void **state)
{
    (void)state;
    if (core.waiting)
        core = (struct core){0};
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, forget_failed)

#endif
