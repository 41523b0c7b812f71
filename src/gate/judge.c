/* The driver's part of asks and decisions: it applies rules, looks at files and the clock, and makes ids of rules,
 * which the core (gate/core/) cannot do. */
#include "gate/boxes.h"
#include "gate/inner.h"
#include "gate/verdict.h"

#include "base/local.h"
#include "event/shapes.h"
#include "tools/tools.h"

enum { SHOWN_KEPT_BYTES = 16 << 10 };

bool by_default_parse(struct str name, enum by_default *ret_by_default)
{
    static const char *const names[] = {
#define X(name, wire) [BY_DEFAULT_##name] = wire,
        BY_DEFAULTS(X)
#undef X
    };
    size_t i = str_index(name, names, sizeof names / sizeof *names);
    if (i < sizeof names / sizeof *names)
        *ret_by_default = (enum by_default)i;
    return i < sizeof names / sizeof *names;
}

/* Handles an allow without a rule for a caller that does not accept that: it becomes an ask or, when this returns true,
 * the decision is left to the agent. */
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

static bool session_counts(const struct session *session, struct str id)
{
    for (const struct session_rule *rule = session->rules; rule; rule = rule->next)
        if (str_eq(rule->id, id))
            return str_has(rule->json, STR("\"uses\":"));
    return false;
}

/* Rules with a number of uses: each use is an event in the same append as the call. */
static void find_uses(struct gate *gate, struct ask *ask, struct arena *scratch)
{
    const struct verdict *verdict = ask->verdict;
    ask->uses = arena_array(scratch, struct rule_use, verdict->rule_count + 1);
    for (size_t i = 0; i < verdict->rule_count; i++) {
        struct str id = verdict->rules[i].id;
        const struct rule_record *record = rules_find(gate, id);
        if (record && record->source.counted)
            ask->uses[ask->use_count++] = (struct rule_use){id, false};
        else if (session_counts(ask->op.session, id))
            ask->uses[ask->use_count++] = (struct rule_use){id, true};
    }
}

static bool is_revoked(struct op *op, struct str by)
{
    if (!tokens_revoked(op->gate, by))
        return false;
    (void)err_set(gate_op_fail(op), ERR_UNAUTHENTICATED, "this token was revoked");
    return true;
}

/* Rules change; the history of a call tells what they said when it was asked. */
static struct str write_shown(struct arena *arena, const struct verdict *verdict, const struct json *input)
{
    JSON_SCOPE(buf, out, SHOWN_KEPT_BYTES);
    verdict_keep_parts(&out, verdict, input);
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

static struct str where_it_runs(const struct gate *gate, const struct json *input)
{
    if (!gate->options.box || box_order_of(gate->options.box) == BOX_NONE)
        return STR("none");
    return boxes_outside(input) ? STR("outside") : STR("inside");
}

static void refuse_over_quota(struct gate *gate, struct ask *ask, uint64_t bytes)
{
    struct err err;
    if (rc_ok(quota_check(gate, ask->actor, ask->session, bytes, &err)))
        return;
    struct err *refused = arena_new(ask->op.arena, struct err);
    *refused = err;
    ask->refused = refused;
}

/* On the loop, as the step JUDGED of core/ask.c: rules, box, quota. Only reads; everything is kept by the
 * append. */
void judge_ask(struct op *op, struct arena *scratch)
{
    struct ask *ask = (struct ask *)op;
    struct gate *gate = op->gate;
    struct err err NOT_ZEROED;
    if (!op->session || is_revoked(op, ask->by))
        return;
    struct tool_facts facts = tool_facts_from(scratch, ask->dialect, ask->name, ask->input);
    if (rc_bad(tool_facts_check(&facts, &err))) {
        gate_op_take(op, &err);
        return;
    }
    facts.hints = ask->hints;
    struct verdict *verdict = arena_new(scratch, struct verdict);
    *verdict = gate_judge(gate, scratch, op->session, &facts, ask->cwd);
    if (verdict->effect == EFFECT_ALLOW && ask->only_person)
        *verdict = (struct verdict){.effect = EFFECT_ASK, .why = STR("only a person can agree to this")};
    /* A command that Nod runs itself: its box is part of the request. */
    bool runs = str_empty(ask->by) && str_is(ask->name, "Bash");
    if (runs)
        ask->box = where_it_runs(gate, ask->input);
    if (gate->options.box && runs) {
        struct boxes_want want = {.session = op->session, .input = ask->input};
        boxes_ask(gate, scratch, ask->input, verdict);
        ask->files = boxes_digest(op->arena, boxes_plan(gate, scratch, &want));
    }
    verdict->risky = verdict->risky || ask->only_person;
    ask->left_to_agent = leaves_to_agent(ask, &facts, verdict);
    ask->verdict = verdict;
    find_uses(gate, ask, scratch);
    bool asks = verdict->effect == EFFECT_ASK && !ask->only_rules && !ask->left_to_agent;
    if (asks)
        ask->shown = write_shown(scratch, verdict, ask->input); /* until it is kept, as the verdict */
    if (asks && look_wants(gate, op->session, ask, &facts))
        ask->look_root = arena_str(op->arena, op->session->cwd);
    uint64_t bytes = ask->input->raw.n + ask->preview.n + ask->in_file.n;
    if (asks && session_thread_find(op->session, ask->thread) && !open_find(gate, ask->session, ask->id))
        refuse_over_quota(gate, ask, bytes);
}

/* The user's rules are reserved until the append is back, so that two calls on their way cannot share the last use; a
 * session's are guarded by its need. */
static void change_reserved(struct gate *gate, const struct append *append, bool reserve)
{
    ARENA_SCOPE(scratch);
    for (unsigned i = 0; i < append->event_count; i++) {
        struct data_rule_used data;
        if (append->events[i].kind != EVENT_RULE_CHANGED ||
            !READ_DATA(&scratch, rule_used, append->events[i].data, &data))
            continue;
        struct rule_record *record = rules_find(gate, data.id);
        if (record && reserve)
            record->reserved++;
        else if (record && record->reserved)
            record->reserved--;
        gate->rules.version++;
    }
}

void judge_reserve(struct gate *gate, const struct append *append) { change_reserved(gate, append, true); }
void judge_release(struct gate *gate, const struct append *append) { change_reserved(gate, append, false); }

/* ---- a decision ---- */

/* Checks token, signature and person as they are now, between finding the call and keeping the answer. */
void judge_check_decide(struct op *op)
{
    struct decide *d = (struct decide *)op;
    const struct open *open = open_find(op->gate, d->session, d->call_id);
    struct err err NOT_ZEROED;
    CHECK(open);
    if (is_revoked(op, d->by))
        return; /* the token was revoked while the call was read from the store */
    if (decide_is_definition(d, open) && tokens_bound(op->gate, d->by))
        (void)err_set(gate_op_fail(op), ERR_SESSION_BOUND,
                      "this token is bound to one session, and what servers offer holds for all");
    else if (!str_empty(d->signature))
        return;
    else if (rc_ok(signed_check(op->gate, d, open, &err)))
        d->person = signed_person(op->gate, d);
    else
        gate_op_take(op, &err);
}

/* A person may change a call, but not into one that the rules deny. */
static void judge_edited(struct decide *d)
{
    struct op *op = &d->op;
    const struct open *open = open_find(op->gate, d->session, d->call_id);
    struct err err;
    if (!open)
        return; /* somebody was faster */
    struct tool_facts facts = tool_facts_from(op->arena, STR_NONE, open->name, d->updated_input);
    if (rc_bad(tool_facts_check(&facts, &err))) {
        gate_op_take(op, &err);
        return;
    }
    struct verdict verdict = gate_judge(op->gate, op->arena, op->session, &facts, STR_NONE);
    if (verdict.effect == EFFECT_DENY)
        (void)err_set(gate_op_fail(op), ERR_NOT_ALLOWED, "the edited input is denied: %.*s", STR_ARG(verdict.why));
}

/* Allow always without rules: chooses the narrowest rules that allow this call. */
static void choose_rules(struct decide *d)
{
    struct op *op = &d->op;
    struct suggestion suggestions[SUGGESTIONS_MAX];
    const struct json *input = NULL;
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    if (rc_bad(json_parse(op->arena, d->call.input, &input, NULL)))
        return;
    struct tool_facts facts = tool_facts_from(op->arena, d->call.dialect, d->call.name, input);
    struct question question = gate_question(op->gate, op->arena, op->session, &facts, d->call.cwd);
    if (policy_suggest(op->arena, &question, suggestions) == 0)
        return;
    JSON_LIST(&out, NULL)
        for (size_t i = 0; i < suggestions[0].rule_count; i++)
            json_put_str(&out, suggestions[0].rules[i]);
    d->rules = arena_str(op->arena, buf_str(&buf));
}

/* Writes an allow rule in its stored form; `where` has its reach. */
static void put_allow(struct json_out *out, const struct decide *d, struct str text, struct rule_source where)
{
    struct id id = id_new("rule");
    struct rule_source source = where;
    source.id = str_of(id.text);
    source.effect = EFFECT_ALLOW;
    source.text = text;
    source.expires_at_ms = d->rules_end_ms;
    json_open(out, '{');
    rule_write(out, &source);
    if (d->rules_uses)
        json_member_u64(out, "uses", (uint64_t)d->rules_uses);
    json_close(out, '}');
}

static void make_session_rules(struct decide *d, const struct json *list)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    JSON_LIST(&out, NULL)
        for (const struct json *rule = list->first; rule; rule = rule->next)
            put_allow(&out, d, rule->text, (struct rule_source){.layer = LAYER_SESSION});
    d->session_rules = arena_str(d->op.arena, buf_str(&buf));
}

/* Makes the user rules of an allow_always, for the session's project or for everywhere. */
static void make_user_rules(struct decide *d, const struct json *list)
{
    struct arena *arena = d->op.arena;
    struct rule_source where = {.layer = LAYER_USER, .reach = REACH_EVERYWHERE};
    if (d->reach == DECIDE_PROJECT) {
        where.reach = REACH_PROJECT;
        where.project = project_of(arena, d->op.session->cwd);
    }
    d->user_rules = arena_array(arena, struct str, list->count + 1);
    d->user_rule_count = 0;
    for (const struct json *rule = list->first; rule; rule = rule->next) {
        JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
        put_allow(&out, d, rule->text, where);
        d->user_rules[d->user_rule_count++] = arena_str(arena, buf_str(&buf));
    }
}

/* An edited input is judged again, and the rules that the answer asks for are made, with their ids. */
void judge_decide(struct op *op, struct arena *scratch)
{
    struct decide *d = (struct decide *)op;
    const struct json *list = NULL;
    bool always = d->decision == DECISION_ALLOW_ALWAYS, for_session = d->decision == DECISION_ALLOW_SESSION;
    const struct open *open = open_find(op->gate, d->session, d->call_id);
    struct err err;
    if (is_revoked(op, d->by))
        return;
    if (open && rc_bad(signed_check(op->gate, d, open, &err))) {
        gate_op_take(op, &err);
        return;
    }
    if (!d->updated_input && !always && !for_session)
        return;
    if (!op->session) {
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such session");
        return;
    }
    if (d->updated_input)
        judge_edited(d);
    if (d->rules_chosen && !d->updated_input && str_empty(d->rules))
        choose_rules(d);
    if (str_empty(d->rules) || rc_bad(json_parse(scratch, d->rules, &list, NULL)))
        return;
    if (for_session || d->reach == DECIDE_SESSION)
        make_session_rules(d, list);
    else
        make_user_rules(d, list);
}
