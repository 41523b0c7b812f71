/* The judge against a model that knows nothing but the list of all events and looks through it for every question.
 * Random groups over few sessions, threads and calls, so that they collide: outcomes, numbers, links and the list of
 * open approvals must be the same, however the appends are divided into groups, and with what memory remembers. */
#include "store/backend.h"
#include "store/memory.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROUNDS = 300, APPENDS = 120, EVENTS_MOST = 512, GROUP_MOST = 9 };

/* ---- chance ---- */

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((chance_state >> 33) % below);
}

/* ---- the model ---- */

struct model {
    struct event events[EVENTS_MOST];
    struct digest hashes[EVENTS_MOST];
    size_t count;
    uint64_t open[EVENTS_MOST]; /* requests without an answer, by seq */
    size_t open_count;
};

static uint64_t find_of_call(const struct model *model, struct str session, struct str call, enum event_kind kind)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->events[i].kind == kind && str_eq(model->events[i].session, session) &&
            str_eq(model->events[i].call, call))
            return model->events[i].seq;
    return 0;
}

static uint64_t last_where(const struct model *model, struct str session, bool all, enum event_kind kind,
                           const struct str *thread)
{
    uint64_t seq = 0;
    for (size_t i = 0; i < model->count; i++)
        if (str_eq(model->events[i].session, session) && (all || model->events[i].kind == kind) &&
            (!thread || str_eq(model->events[i].thread, *thread)))
            seq = model->events[i].seq;
    return seq;
}

static bool model_holds(const struct model *model, const struct need *need)
{
    switch (need->need) {
    case NEED_NONE:
        return true;
    case NEED_ABSENT:
        return find_of_call(model, need->session, need->call, need->kind) == 0;
    case NEED_PRESENT:
        return find_of_call(model, need->session, need->call, need->kind) != 0;
    case NEED_CHANGED_AT:
        return last_where(model, need->session, false, EVENT_SESSION_CHANGED, NULL) == need->seq;
    case NEED_RUN_AT:
        return last_where(model, need->session, false, EVENT_RUN_STATUS, &need->call) == need->seq;
    case NEED_LAST_AT:
        return last_where(model, need->session, true, EVENT_NONE, NULL) == need->seq;
    case NEED_NONE_AFTER:
        return last_where(model, need->session, true, EVENT_NONE, NULL) <= need->seq;
    }
    abort();
}

static void model_close(struct model *model, uint64_t request_seq)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->open_count; i++)
        if (model->open[i] != request_seq)
            model->open[kept++] = model->open[i];
    assert_true(kept == model->open_count - 1);
    model->open_count = kept;
}

static bool model_add(struct model *model, struct event event)
{
    struct digest before = {0};
    uint64_t last = last_where(model, event.session, true, EVENT_NONE, NULL);
    if (event_kind_of_call(event.kind)) {
        uint64_t call = find_of_call(model, event.session, event.call, EVENT_TOOL_CALL);
        uint64_t request = find_of_call(model, event.session, event.call, EVENT_TOOL_APPROVAL_REQUEST);
        if (find_of_call(model, event.session, event.call, event.kind) || (event.kind != EVENT_TOOL_CALL && !call) ||
            (event.kind == EVENT_TOOL_APPROVAL_RESPONSE && !request))
            return false;
        if (event.kind == EVENT_TOOL_APPROVAL_RESPONSE)
            model_close(model, request);
    }
    event.seq = model->count + 1;
    event.no = 1;
    for (size_t i = 0; i < model->count; i++)
        event.no += str_eq(model->events[i].session, event.session);
    if (last)
        before = model->hashes[last - 1];
    model->hashes[model->count] = chain_next(&before, &event);
    model->events[model->count++] = event;
    if (event.kind == EVENT_TOOL_APPROVAL_REQUEST)
        model->open[model->open_count++] = event.seq;
    return true;
}

/* All of the append or nothing of it; outcome and refused need as they should be. */
static enum append_outcome model_append(struct model *model, const struct append *append, unsigned *ret_refused)
{
    static struct model before;
    enum append_outcome outcome = APPEND_KEPT;
    before = *model;
    *ret_refused = 0;
    while (*ret_refused < append->need_count && model_holds(model, &append->needs[*ret_refused]))
        ++*ret_refused;
    if (*ret_refused < append->need_count)
        outcome = APPEND_REFUSED;
    for (unsigned i = 0; outcome == APPEND_KEPT && i < append->event_count; i++)
        if (!model_add(model, append->events[i]))
            outcome = APPEND_FAILED;
    if (outcome != APPEND_KEPT)
        *model = before;
    return outcome;
}

/* ---- facts as a backend would load them ---- */

static void load(const struct model *model, struct facts *facts)
{
    facts->last_seq = model->count;
    if (model->count)
        facts->last_hash = model->hashes[model->count - 1];
    for (struct fact_head *head = facts->first_head; head; head = head->next) {
        struct fact_head told = *head;
        head->last_seq = last_where(model, head->session, true, EVENT_NONE, NULL);
        head->changed_seq = last_where(model, head->session, false, EVENT_SESSION_CHANGED, NULL);
        head->first_seq = 0;
        for (size_t i = model->count; i-- > 0;)
            if (str_eq(model->events[i].session, head->session))
                head->first_seq = model->events[i].seq;
        head->no = head->last_seq ? model->events[head->last_seq - 1].no : 0;
        if (head->last_seq)
            head->hash = model->hashes[head->last_seq - 1];
        if (told.known)
            assert_memory_equal(&told.first_seq, &head->first_seq, 5 * sizeof(uint64_t) + DIGEST_BYTES);
    }
    for (struct fact_call *call = facts->first_call; call; call = call->next) {
        struct fact_call told = *call;
        for (int kind = 1; kind < EVENT_KIND_END; kind++)
            call->seqs[kind] = event_kind_of_call((enum event_kind)kind)
                                   ? find_of_call(model, call->session, call->call, (enum event_kind)kind) : 0;
        if (told.known)
            assert_memory_equal(told.seqs, call->seqs, sizeof told.seqs);
    }
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        run->seq = last_where(model, run->session, false, EVENT_RUN_STATUS, &run->thread);
}

/* ---- load ---- */

static struct str pick(const char *const *words, unsigned count) { return str_of(words[chance(count)]); }

static const char *const sessions[] = {"s1", "s2", "s3"};
static const char *const threads[] = {"t1", "t2"};
static const char *const calls[] = {"c1", "c2", "c3", "c4", "c5", "c6"};
static const enum event_kind of_call[] = {EVENT_TOOL_CALL, EVENT_TOOL_APPROVAL_REQUEST, EVENT_TOOL_APPROVAL_RESPONSE,
                                          EVENT_TOOL_STARTED, EVENT_TOOL_RESULT, EVENT_TOOL_APPROVAL_ALERT};
static const enum event_kind of_session[] = {EVENT_SESSION_CHANGED, EVENT_USER_MESSAGE, EVENT_RUN_STATUS};

static uint64_t near(const struct model *model) { return model->count > 4 ? model->count - chance(4) : model->count; }

static void add_need(struct append *append, const struct model *model, struct str session, struct str call)
{
    struct need need = {.session = session, .call = call, .kind = of_call[chance(6)]};
    need.need = (enum need_kind)(1 + chance(6));
    if (need.need == NEED_CHANGED_AT && chance(3))
        need.seq = last_where(model, session, false, EVENT_SESSION_CHANGED, NULL);
    else if (need.need == NEED_LAST_AT && chance(3))
        need.seq = last_where(model, session, true, EVENT_NONE, NULL);
    else
        need.seq = near(model);
    if (need.need == NEED_RUN_AT) {
        need.call = pick(threads, 2);
        if (chance(3))
            need.seq = last_where(model, session, false, EVENT_RUN_STATUS, &need.call);
    }
    append_need(append, need);
}

static struct append *make_append(const struct model *model)
{
    struct append *append = append_new();
    struct str session = pick(sessions, 3), call = pick(calls, 6);
    for (unsigned i = chance(3); i > 0; i--)
        add_need(append, model, chance(5) ? session : STR_NONE, call);
    for (unsigned i = 1 + chance(3), step = chance(4) ? 0 : chance(6); i > 0; i--, step++) {
        struct event event = {.at_ms = (int64_t)chance(1000), .session = session, .thread = pick(threads, 2),
                              .actor = STR("a"), .data = STR("{}")};
        if (chance(4)) {
            event.kind = of_call[step % 6];
            event.call = chance(9) ? call : pick(calls, 6);
        } else if (chance(4)) {
            event.kind = of_session[chance(3)];
        } else {
            event.kind = EVENT_RULE_CHANGED;
            event.session = event.thread = STR_NONE;
        }
        (void)append_event(append, event);
    }
    append->deadline_ms = (int64_t)chance(100);
    return append;
}

/* ---- the comparison ---- */

static void check_row(const struct model *model, const struct event_row *row, uint64_t last_before)
{
    const struct event *event = row->event;
    const struct event *should = &model->events[event->seq - 1];
    assert_true(should->kind == event->kind && str_eq(should->session, event->session));
    assert_true(str_eq(should->call, event->call));
    assert_true(digest_eq(&row->hash, &model->hashes[event->seq - 1]));
    uint64_t call = event_kind_of_call(event->kind) && event->kind != EVENT_TOOL_CALL
                        ? find_of_call(model, event->session, event->call, EVENT_TOOL_CALL) : 0;
    assert_true(row->call_seq == call);
    uint64_t response = find_of_call(model, event->session, event->call, EVENT_TOOL_APPROVAL_RESPONSE);
    uint64_t request = find_of_call(model, event->session, event->call, EVENT_TOOL_APPROVAL_REQUEST);
    assert_true(row->opens == (event->kind == EVENT_TOOL_APPROVAL_REQUEST && response == 0));
    assert_true(row->closes == (event->kind == EVENT_TOOL_APPROVAL_RESPONSE && request <= last_before ? request : 0));
    assert_null(row->leaves);
}

/* The store's list of open approvals as rows change it. */
static void apply_open(uint64_t *open, size_t *count, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->events[i].opens)
            open[(*count)++] = rows->events[i].event->seq;
        for (size_t k = 0; rows->events[i].closes && k < *count; k++)
            if (open[k] == rows->events[i].closes) {
                memmove(&open[k], &open[k + 1], (--*count - k) * sizeof *open);
                break;
            }
    }
}

static size_t kept_total, refused_total, failed_total, found_total;

/* A reader of the store as it is now asks memory for every call. */
static void check_found(const struct model *model, struct memory *memory)
{
    uint64_t seqs[MEMORY_CALL_KINDS], after;
    size_t count;
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions * (sizeof calls / sizeof *calls); i++) {
        struct str session = str_of(sessions[i % 3]), call = str_of(calls[i / 3]);
        bool sure = memory_find_call(memory, session, call, model->count, seqs, &count, &after);
        size_t have = 0, late = 0;
        for (size_t at = 0; at < model->count; at++) {
            const struct event *event = &model->events[at];
            bool fits = str_eq(event->session, session) && str_eq(event->call, call);
            have += fits;
            late += fits && event->seq > after;
            for (size_t k = 0; k < count; k++)
                assert_true(seqs[k] != event->seq || fits);
        }
        assert_true(count ? sure && count == have : !sure || late == 0);
        found_total += count > 0;
    }
}

static void judge_one(struct model *model, struct memory *memory, struct append *group, uint64_t *open,
                      size_t *open_count)
{
    struct facts facts = {0};
    struct rows rows;
    uint64_t last_before = model->count;
    size_t events = 0;
    facts_name(&facts, group);
    if (memory_recall(memory, &facts))
        assert_true(facts.last_seq == model->count);
    load(model, &facts);
    judge_group(&facts, group, &rows);
    for (struct append *append = group; append; append = append->next) {
        unsigned refused;
        enum append_outcome should = model_append(model, append, &refused);
        assert_int_equal(append->outcome, should);
        if (should == APPEND_REFUSED)
            assert_int_equal(append->refused_need, refused);
        for (unsigned i = 0; i < append->event_count; i++)
            assert_true(append->events[i].seq == (should == APPEND_KEPT ? last_before + ++events : 0));
        kept_total += should == APPEND_KEPT;
        refused_total += should == APPEND_REFUSED;
        failed_total += should == APPEND_FAILED;
    }
    assert_true(rows.count == events && facts.next_seq == model->count + 1);
    for (size_t i = 0; i < rows.count; i++)
        check_row(model, &rows.events[i], last_before);
    apply_open(open, open_count, &rows);
    assert_true(*open_count == model->open_count);
    assert_memory_equal(open, model->open, *open_count * sizeof *open);
    check_found(model, memory); /* it does not know of the group yet */
    if (chance(4))
        memory_keep(memory, &facts);
    else
        memory_clear(memory);
    check_found(model, memory);
    facts_done(&facts);
}

static void the_judge_and_the_model_agree(void **state)
{
    (void)state;
    struct model *model = calloc(1, sizeof *model);
    uint64_t *open = calloc(EVENTS_MOST, sizeof *open);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct memory *memory = memory_open("a place of the test");
        size_t open_count = 0;
        chance_state = round;
        model->count = model->open_count = 0;
        for (unsigned done = 0; done < APPENDS;) {
            struct append *group = NULL, **end = &group;
            for (unsigned i = 1 + chance(GROUP_MOST); i > 0; i--, done++) {
                *end = make_append(model);
                end = &(*end)->next;
            }
            judge_one(model, memory, group, open, &open_count);
            for (struct append *next; group; group = next) {
                next = group->next;
                /* the model's events refer to words that live for ever */
                append_free(group);
            }
        }
        memory_close(memory);
    }
    /* The load has to reach all of it. */
    assert_true(kept_total > 5000 && refused_total > 2000 && failed_total > 2000 && found_total > 5000);
    free(open);
    free(model);
}

/* What happened in between may have been in any session. */
static void memory_forgets_when_an_event_was_not_followed(void **state)
{
    struct memory *memory = memory_open("another place of the test");
    struct digest hash = {.bytes = {1}};
    struct event event = {.seq = 1, .kind = EVENT_SESSION_CHANGED, .session = STR("s1"), .data = STR("{}")};
    (void)state;
    for (int gap = 0; gap < 2; gap++) {
        struct facts facts = {0};
        struct append *append = append_new();
        memory_clear(memory);
        event.session = STR("s1");
        event.seq = 10 * (uint64_t)gap + 1;
        memory_follow(memory, &event, event.seq, &hash);
        event.session = STR("s2");
        event.seq += 1 + (uint64_t)gap;
        memory_follow(memory, &event, event.seq, &hash);
        (void)append_event(append, (struct event){.kind = event.kind, .session = STR("s1"), .data = event.data});
        facts_name(&facts, append);
        assert_true(memory_recall(memory, &facts));
        assert_int_equal(facts_head(&facts, STR("s1"))->known, gap == 0);
        facts_done(&facts);
        append_free(append);
    }
    memory_close(memory);
}

/* ---- a group that moves ---- */

static void add_event(struct append *append, enum event_kind kind, const char *session, const char *call)
{
    (void)append_event(append, (struct event){.kind = kind, .session = str_of(session), .thread = STR("t1"),
                                              .call = str_of(call), .actor = STR("a"), .data = STR("{}")});
}

/* Others kept seven events after the end, 10, that the group was judged by: its own numbers move, older ones stay. */
static void a_group_behind_others_events_takes_its_numbers_along(void **state)
{
    (void)state;
    struct facts facts = {0};
    struct rows rows;
    struct append *group = append_new(), *second = group->next = append_new();
    add_event(group, EVENT_TOOL_CALL, "new", "c1");
    add_event(group, EVENT_TOOL_APPROVAL_REQUEST, "new", "c1");
    add_event(second, EVENT_SESSION_CHANGED, "old", "");
    add_event(second, EVENT_RUN_STATUS, "old", "");
    facts_name(&facts, group);
    facts.last_seq = 10;
    struct fact_head *old = facts_head(&facts, STR("old")), *fresh = facts_head(&facts, STR("new"));
    *old = (struct fact_head){.session = old->session, .next = old->next, .first_seq = 2, .changed_seq = 3,
                              .last_seq = 5, .no = 4};
    judge_group(&facts, group, &rows);
    assert_true(group->outcome == APPEND_KEPT && second->outcome == APPEND_KEPT && rows.count == 4);
    judge_move(&facts, &rows, 17);
    for (size_t i = 0; i < rows.count; i++)
        assert_true(rows.events[i].event->seq == 18 + i);
    assert_true(rows.events[0].chain == 18 && rows.events[1].chain == 18 && rows.events[3].chain == 2);
    assert_true(rows.events[1].call_seq == 18);
    assert_true(fresh->first_seq == 18 && fresh->last_seq == 19);
    assert_true(old->first_seq == 2 && old->changed_seq == 20 && old->last_seq == 21);
    assert_true(facts.first_call->seqs[EVENT_TOOL_CALL] == 18);
    assert_true(facts.first_call->seqs[EVENT_TOOL_APPROVAL_REQUEST] == 19);
    assert_true(facts.last_seq == 17 && facts.next_seq == 22);
    facts_done(&facts);
    append_free(second);
    append_free(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_judge_and_the_model_agree),
        cmocka_unit_test(a_group_behind_others_events_takes_its_numbers_along),
        cmocka_unit_test(memory_forgets_when_an_event_was_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
