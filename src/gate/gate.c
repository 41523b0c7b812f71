/* The gate: from the question to what is kept, and from what was kept to whoever waits.
 *
 * Invariants (docs/ARCHITECTURE.md numbers the promises they carry)
 *  1. Nothing is said to anyone before it is durable: answers are given in `done` of an append, rings and
 *     tellings come from `follow`.
 *  2. A call is kept together with its verdict, and with the request when the verdict is to ask, in one
 *     append, under the needs that no such call exists and that the session, the rules and the tokens it was judged by
 *     are unchanged.
 *  3. A response is kept only for a requested call, under the need that there is none yet (decide.c).
 *  4. Everything in memory is a view: followers are served in the order sessions, open approvals, tokens,
 *     waiters, watchers, so that whoever is rung sees the new state.
 */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <stdlib.h>

static void follow(void *arg, const struct event *events, size_t count)
{
    struct gate *gate = arg;
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i], *before = i ? &events[i - 1] : &gate->last_call;
        sessions_follow(gate, event);
        journal_follow(gate, event);
        if (event->seq > gate->read_open)
            open_follow(gate, event, before);
        if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
            journal_requested(gate, event);
        if (event->seq > gate->read_tokens)
            tokens_follow(gate, event);
        if (event->seq > gate->read_rules)
            rules_follow(gate, event);
        waiters_follow(gate, event);
    }
    arena_done(&gate->last_call_arena);
    gate->last_call = (struct event){.kind = EVENT_NONE};
    if (count && events[count - 1].kind == EVENT_TOOL_CALL)
        gate->last_call = event_copy(&gate->last_call_arena, &events[count - 1]);
    watch_follow(gate, events, count);
}

static void away(void *arg, bool is_away) { watch_away(arg, is_away); }

static void broken(void *arg, const struct err *err)
{
    struct gate *gate = arg;
    watch_broken(gate, err);
    if (gate->broken)
        gate->broken(gate->broken_arg, err);
}

struct rc gate_open(struct loop *loop, const struct gate_options *options, struct gate **ret_gate,
                    struct err *err)
{
    struct gate *gate = heap_new(sizeof *gate);
    gate->loop = loop;
    gate->home = str_of(options->home);
    gate->quotas.limits = options->limits;
    gate->timeout_seconds = options->timeout_seconds;
    gate->alert_ms = options->alert_seconds * 1000;
    gate->withdraw_ms = options->withdraw_seconds * 1000;
    gate->box = options->box;
    gate->store_url = options->store_url;
    gate->archive_folder = options->archive_folder;
    gate->web_private = options->web_private;
    gate->broken = options->broken;
    gate->broken_arg = options->arg;
    gate->servers = options->servers;
    gate->key = options->key;
    gate->signed_when = options->signed_when;
    struct store_options store = {.url = options->store_url, .follow = follow, .away = away, .broken = broken,
                                  .arg = gate};
    struct rc rc = store_open(loop, &store, &gate->store, err);
    if (rc_bad(rc)) {
        free(gate);
        return rc;
    }
    gate->shells = shells_new();
    gate->delivered = store_last_seq(gate->store);
    gate->read_tokens = gate->read_rules = gate->read_open = UINT64_MAX;
    ops_init(gate);
    deadlines_init(gate);
    sessions_init(gate);
    rules_init(gate, options);
    *ret_gate = gate;
    return RC_OK;
}

void gate_close(struct gate *gate)
{
    execute_done(gate);
    archive_stop(gate);
    store_stop(gate->store);
    do
        (void)ops_serve(gate);
    while (store_deliver(gate->store) || gate->ended);
    store_free(gate->store);
    loop_forget(gate->loop, &gate->before_sleep);
    deadlines_done(gate);
    open_done(gate);
    sessions_done(gate);
    tokens_done(gate);
    rules_done(gate);
    map_done(&gate->waiters);
    map_done(&gate->watchers);
    arena_done(&gate->last_call_arena);
    quota_done(gate);
    free(gate);
}

void gate_read(struct gate *gate, struct read *read) { store_read(gate->store, read); }

size_t gate_calls_of(struct read *read, struct call **ret_calls)
{
    struct call *calls = arena_array(&read->arena, struct call, read->event_count);
    size_t count = 0;
    for (size_t i = 0; i < read->event_count; i++) {
        const struct event *event = &read->events[i];
        size_t at = 0;
        while (at < count && !str_eq(calls[at].session, event->session))
            at++;
        if (at == count) {
            count++;
            calls[at].session = event->session;
        }
        call_apply(&read->arena, &calls[at], event);
    }
    *ret_calls = calls;
    return count;
}

/* The answer may have been told while the call itself was still being kept or read. */
static void take_answer(struct call *call, const struct call *rung)
{
    if (!rung->response_seq || call->response_seq)
        return;
    call->decision = rung->decision;
    call->status = rung->status;
    call->actor = rung->actor;
    call->by = rung->by;
    call->feedback = rung->feedback;
    call->mode = rung->mode;
    call->rules = rung->rules;
    call->updated_input = rung->updated_input;
    call->decided_ms = rung->decided_ms;
    call->response_seq = rung->response_seq;
}

/* ---- a call that exists already ---- */

static void differs(struct ask *ask, const struct call *known)
{
    if (str_eq(known->name, ask->name) && json_same_tokens(known->input, ask->input->raw) &&
        (str_empty(ask->thread) || str_eq(known->thread, ask->thread)))
        return;
    (void)err_set(&ask->op.err, ERR_CALL_DIFFERS,
                  "the call %.*s exists already in this session with another tool, input or thread",
                  STR_ARG(ask->id));
}

/* What the events say of it, and what was told while they were read. */
static struct call call_from(struct arena *arena, const struct read *read, const struct call *rung)
{
    struct call call = {0};
    for (size_t i = 0; i < read->event_count; i++)
        call_apply(arena, &call, &read->events[i]);
    if (read->event_count)
        take_answer(&call, rung);
    return call;
}

static void call_read(struct read *read)
{
    struct ask *ask = read->arg;
    struct call rung = ask->call;
    ask->op.err = read->err;
    ask->call = call_from(&read->arena, read, &rung);
    if (ask->op.err.code == ERR_OK && read->event_count == 0 && read->archived_count)
        gate_say_archived(&ask->op.err, &read->archived[0]);
    else if (ask->op.err.code == ERR_OK && read->event_count == 0 && ask->refused.code != ERR_OK)
        ask->op.err = ask->refused;
    else if (ask->op.err.code == ERR_OK && read->event_count == 0)
        (void)err_set(&ask->op.err, ERR_NOT_FOUND, "there is no such call");
    else if (ask->op.err.code == ERR_OK && ask->input)
        differs(ask, &ask->call);
    /* Whoever will wait is told of the call when that is over; until then it costs no memory. */
    if (ask->op.err.code == ERR_OK && ask->call.status == CALL_AWAITING && ask->registered) {
        ask->call = (struct call){.status = CALL_AWAITING};
        ask->reread = true;
    } else {
        ask->call = call_from(ask->op.arena, read, &rung);
    }
    read_free(read);
    waiter_settle(ask);
}

static void read_call_of(struct ask *ask)
{
    struct read *read = read_new(READ_CALL);
    read->session = arena_str(&read->arena, ask->session);
    read->call = arena_str(&read->arena, ask->id);
    read->done = call_read;
    read->arg = ask;
    store_read(ask->op.gate->store, read);
}

void gate_reread(struct ask *ask)
{
    CHECK(!ask->registered && !ask->parked);
    ask->reread = false;
    read_call_of(ask);
}

void gate_status(struct gate *gate, struct ask *ask)
{
    waiter_register(gate, ask);
    read_call_of(ask);
}

/* ---- a new call ---- */

static void ask_again(struct ask *ask);

/* Uses that were reserved for an append that was not kept. */
static void release_counted(struct gate *gate, const struct append *append)
{
    ARENA_SCOPE(scratch);
    for (unsigned i = 0; i < append->event_count; i++) {
        struct data_rule_used data;
        if (append->events[i].kind != EVENT_RULE_CHANGED ||
            !READ_DATA(&scratch, rule_used, append->events[i].data, &data))
            continue;
        struct rule_record *record = rules_find(gate, data.id);
        if (record && record->reserved)
            record->reserved--;
        gate->rules.version++;
    }
}

static void call_kept(struct append *append)
{
    struct ask *ask = append->arg;
    if (ask->counted)
        quota_give(ask->op.gate, ask->actor, ask->session, ask->counted);
    ask->counted = 0;
    if (append->outcome != APPEND_KEPT)
        release_counted(ask->op.gate, append);
    if (append->outcome == APPEND_REFUSED) {
        bool exists = append->refused_need == 0;
        append_free(append);
        if (exists) {
            gate_status(ask->op.gate, ask);
        } else if (tokens_revoked(ask->op.gate, ask->by)) {
            (void)err_set(&ask->op.err, ERR_UNAUTHENTICATED, "this token was revoked");
            waiter_settle(ask);
        } else {
            ask_again(ask);
        }
        return;
    }
    ask->call.call_seq = append->events[0].seq;
    if (append->outcome == APPEND_FAILED)
        ask->op.err = append->err;
    append_free(append);
    waiter_settle(ask);
}

static bool session_counts(const struct session *session, struct str id)
{
    for (const struct session_rule *rule = session->rules; rule; rule = rule->next)
        if (str_eq(rule->id, id))
            return str_has(rule->json, STR("\"uses\":"));
    return false;
}

/* A rule that is good for a number of calls: its use is kept with the call. The user's are reserved until
 * then, so that two calls on their way cannot share the last use; a session's are guarded by its need. */
static void use_counted(struct gate *gate, const struct session *session, struct append *append,
                        const struct verdict *verdict)
{
    const struct event *call = &append->events[0];
    for (size_t i = 0; i < verdict->rule_count && append->event_count < APPEND_EVENTS_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];
        struct event event = {.at_ms = call->at_ms, .actor = STR("nod")};
        struct rule_record *record = rules_find(gate, rule->id);
        if (record && record->source.counted) {
            record->reserved++;
            gate->rules.version++;
            event.kind = EVENT_RULE_CHANGED;
            event.data = DATA(&append->arena, rule_used, .id = rule->id);
        } else if (session_counts(session, rule->id)) {
            event.kind = EVENT_SESSION_CHANGED;
            event.session = call->session;
            event.data = DATA(&append->arena, session_used, .rules = {&rule->id, 1});
        } else {
            continue;
        }
        (void)append_event(append, event);
    }
}

static void keep_call(struct ask *ask, const struct session *session, const struct verdict *verdict)
{
    struct now now = {.wall_ms = clock_wall_ms()};
    struct append *append = core_call_append(ask, session, verdict, now);
    ask->call = core_expected_call(ask, verdict, append->deadline_ms, now);
    append_need(append, installation_unchanged(ask->op.gate));
    if (verdict->effect == EFFECT_ASK) {
        ask->counted = 1 + ask->input->raw.n + ask->preview.n;
        quota_take(ask->op.gate, ask->actor, ask->session, ask->counted);
    }
    use_counted(ask->op.gate, session, append, verdict);
    append->done = call_kept;
    append->arg = ask;
    store_append(ask->op.gate->store, append);
}

bool by_default_parse(struct str name, enum by_default *ret_by_default)
{
    static const char *const names[] = {
#define X(name, wire) [BY_DEFAULT_##name] = wire,
        BY_DEFAULTS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_is(name, names[i])) {
            *ret_by_default = (enum by_default)i;
            return true;
        }
    }
    return false;
}

/* An allow that no rule gave, for whoever does not take that: asked about instead, or, when this returns true, left to
 * the agent. */
static bool leaves_to_agent(const struct ask *ask, const struct tool_facts *facts, struct verdict *verdict)
{
    bool acts = facts->class != TOOL_TASK && facts->class != TOOL_AGENT;
    if (verdict->effect != EFFECT_ALLOW || !str_empty(verdict->rule) || ask->by_default == BY_DEFAULT_ALLOW)
        return false;
    if (ask->by_default == BY_DEFAULT_LEAVE || (ask->by_default == BY_DEFAULT_ASK_ACTS && !acts))
        return true;
    verdict->effect = EFFECT_ASK;
    verdict->why = STR("no rule allows it, and the agent would not ask");
    return false;
}

static void ask_with_session(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = &op->err;
    struct ask *ask = op->owner;
    ask->op.err = *err;
    if (err->code == ERR_OK && (!session || !session_thread_find(session, ask->thread)))
        (void)err_set(&ask->op.err, ERR_NOT_FOUND, "there is no such thread");
    if (ask->op.err.code != ERR_OK) {
        waiter_settle(ask);
        return;
    }
    ARENA_SCOPE(scratch); /* what is kept of the verdict is copied */
    struct tool_facts facts = tool_facts_from(&scratch, ask->dialect, ask->name, ask->input);
    if (rc_bad(tool_facts_check(&facts, &ask->op.err))) {
        waiter_settle(ask);
        return;
    }
    struct verdict verdict = gate_judge(ask->op.gate, &scratch, session, &facts, ask->cwd);
    if (verdict.effect == EFFECT_ALLOW && ask->only_person)
        verdict = (struct verdict){.effect = EFFECT_ASK, .why = STR("only a person can agree to this")};
    bool leaves = leaves_to_agent(ask, &facts, &verdict);
    if (leaves || (verdict.effect == EFFECT_ASK && ask->only_rules)) {
        ask->call = (struct call){.status = CALL_UNKNOWN, .id = ask->id, .session = ask->session,
                                  .thread = ask->thread, .input = ask->input->raw, .no_opinion = leaves,
                                  .why = arena_str(ask->op.arena, verdict.why),
                                  .rule = arena_str(ask->op.arena, verdict.rule)};
        waiter_settle(ask);
        return;
    }
    uint64_t bytes = ask->input->raw.n + ask->preview.n;
    if (verdict.effect == EFFECT_ASK && !open_find(ask->op.gate, ask->session, ask->id) &&
        rc_bad(quota_check(ask->op.gate, ask->actor, ask->session, bytes, &ask->refused)))
        gate_status(ask->op.gate, ask); /* one that exists already has an answer all the same */
    else
        keep_call(ask, session, &verdict);
}

static void ask_again(struct ask *ask)
{
    struct session_look *look = arena_new(ask->op.arena, struct session_look);
    *look = (struct session_look){.op = gate_op(ask->op.arena, ask_with_session, ask), .id = ask->session};
    gate_session(ask->op.gate, look);
}

void gate_ask(struct gate *gate, struct ask *ask)
{
    CHECK(ask->input && ask->input->type == JSON_OBJECT);
    ask->op.gate = gate;
    waiter_register(gate, ask);
    ask_again(ask);
}
