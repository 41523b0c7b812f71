/* An answer to a call, from a person, a deadline or the agent itself. The first response wins: it is kept under the
 * need that there is none, and everyone else is told who won. */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "tools/tools.h"

static void read_call(struct gate *gate, struct str session, struct str call, void (*done)(struct read *),
                      void *arg)
{
    struct read *read = read_new(READ_CALL);
    read->session = arena_str(&read->arena, session);
    read->call = arena_str(&read->arena, call);
    read->done = done;
    read->arg = arg;
    store_read(gate->store, read);
}

static void apply_all(struct arena *arena, struct call *call, const struct read *read)
{
    *call = (struct call){0};
    for (size_t i = 0; i < read->event_count; i++)
        call_apply(arena, call, &read->events[i]);
}

/* ---- decisions ---- */

static bool same_json(struct str kept, const struct json *given)
{
    return given ? json_same_tokens(kept, given->raw) : str_empty(kept);
}

/* The same decision again by the same actor, word for word. */
static bool same_decision(const struct decide *d)
{
    const struct call *won = &d->call;
    return won->decision == d->decision && !won->by_policy && str_eq(won->by, d->by) &&
           str_eq(won->feedback, d->feedback) && str_eq(won->mode, d->mode) &&
           str_eq(won->reach, core_reach_name(d)) &&
           won->rules_chosen == d->rules_chosen && (d->rules_chosen || json_same_tokens(won->rules, d->rules)) &&
           same_json(won->updated_input, d->updated_input);
}

enum { LOOKS_MAX = 3 };

static void lost(struct read *read)
{
    struct decide *d = read->arg;
    d->op.err = read->err;
    apply_all(d->op.arena, &d->call, read);
    bool elsewhere = !str_empty(d->thread) && !str_eq(d->thread, d->call.thread);
    /* Another node has asked or answered just now: by the time of this answer we were told of it. */
    if (d->op.err.code == ERR_OK && d->call.decision == DECISION_NONE && d->call.requested_ms &&
        ++d->looks < LOOKS_MAX) {
        read_free(read);
        gate_decide(d->op.gate, d);
        return;
    }
    if (d->op.err.code != ERR_OK)
        ;
    else if (read->event_count == 0 || elsewhere)
        (void)err_set(&d->op.err, ERR_NOT_FOUND, "there is no such call");
    else if (d->call.decision == DECISION_NONE)
        (void)err_set(&d->op.err, ERR_CONFLICT, "the call changed meanwhile; try again");
    else if (!same_decision(d))
        (void)err_set(&d->op.err, ERR_ALREADY_DECIDED, "already decided: %s by %.*s",
                      decision_name(d->call.decision), STR_ARG(d->call.actor));
    read_free(read);
    op_end(&d->op);
}

enum { RESPONSE_NEEDS_OF_CALL = 2 }; /* of the call itself; the next is of the installation */

static void decide_again(struct decide *d);

static void response_kept(struct append *append)
{
    struct decide *d = append->arg;
    if (append->outcome == APPEND_REFUSED && append->refused_need == RESPONSE_NEEDS_OF_CALL) {
        append_free(append);
        decide_again(d);
        return;
    }
    if (append->outcome == APPEND_REFUSED) {
        append_free(append);
        read_call(d->op.gate, d->session, d->call_id, lost, d);
        return;
    }
    if (append->outcome == APPEND_FAILED)
        d->op.err = append->err;
    else
        call_apply(d->op.arena, &d->call, &append->events[0]);
    append_free(append);
    op_end(&d->op);
}

/* A rule that lets pass what `text` says, as it is kept; `where` has its reach. */
static void put_allow(struct json_out *out, struct str text, enum rule_layer layer, struct rule_source where)
{
    struct id id = id_new("rule");
    struct rule_source source = {.id = str_of(id.text), .effect = EFFECT_ALLOW, .text = text, .layer = layer,
                                 .reach = where.reach, .project = where.project};
    json_open(out, '{');
    rule_write(out, &source);
    json_close(out, '}');
}

static struct str session_rules_data(struct arena *arena, struct str rules)
{
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    const struct json *list = NULL;
    if (rc_bad(json_parse(arena, rules, &list, NULL)))
        return STR_NONE;
    json_open(&out, '[');
    for (const struct json *rule = list->first; rule; rule = rule->next)
        put_allow(&out, rule->text, LAYER_SESSION, (struct rule_source){0});
    json_close(&out, ']');
    return arena_str(arena, buf_str(&buf));
}

/* What the decision means for later calls of the session; empty: nothing. */
static struct str consequence(struct arena *arena, const struct decide *d, const struct open *open)
{
    bool always = d->decision == DECISION_ALLOW_ALWAYS && d->reach == DECIDE_SESSION && !str_empty(d->rules);
    bool session = d->decision == DECISION_ALLOW_SESSION || always;
    if (!session && str_empty(d->mode))
        return STR_NONE;
    struct data_session_settings settings = {.call = open->call, .mode = d->mode, .timeout_seconds = -1};
    if (session && str_empty(d->rules))
        settings.policies = arena_printf(arena, "{%.*s:\"allow\"}", STR_ARG(shape_quote(arena, open->name)));
    else if (session)
        settings.rules = session_rules_data(arena, d->rules);
    return shape_data(arena, shape_session_settings(), &settings);
}

/* allow_always: rules of the user's layer, kept with the response. */
static void add_user_rules(struct append *append, const struct decide *d, const struct event *response)
{
    const struct json *rules = NULL;
    struct rule_source where = {.reach = d->reach == DECIDE_EVERYWHERE ? REACH_EVERYWHERE : REACH_PROJECT,
                                .project = d->project};
    if (d->decision != DECISION_ALLOW_ALWAYS || d->reach == DECIDE_SESSION || str_empty(d->rules) ||
        rc_bad(json_parse(&append->arena, d->rules, &rules, NULL)))
        return;
    for (const struct json *rule = rules->first; rule; rule = rule->next) {
        BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
        struct json_out out = json_out(&buf);
        if (append->event_count == APPEND_EVENTS_MAX)
            break;
        put_allow(&out, rule->text, LAYER_USER, where);
        struct str data = DATA(&append->arena, rule_added, .call = response->call, .rule = buf_str(&buf));
        (void)append_event(append, (struct event){.kind = EVENT_RULE_CHANGED, .at_ms = response->at_ms,
                                                  .actor = response->actor, .data = data});
    }
}

static void keep_response(struct decide *d, const struct open *open)
{
    struct append *append = core_response_append(d, open, (struct now){.wall_ms = clock_wall_ms()});
    struct arena *arena = &append->arena;
    struct event event = append->events[0];
    CHECK(append->need_count == RESPONSE_NEEDS_OF_CALL);
    append_need(append, installation_unchanged(d->op.gate));
    add_user_rules(append, d, &append->events[0]);
    if (definitions_asked(d, open))
        definitions_agreed(append, &d->call, &append->events[0]);
    struct str change = consequence(arena, d, open);
    if (!str_empty(change)) {
        event.kind = EVENT_SESSION_CHANGED;
        event.call = STR_NONE;
        event.data = change;
        (void)append_event(append, event);
    }
    d->call.id = d->call_id;
    append->done = response_kept;
    append->arg = d;
    store_append(d->op.gate->store, append);
}

static void refuse(struct decide *d, enum err_code code, const char *words)
{
    (void)err_set(&d->op.err, code, "%s", words);
    op_end(&d->op);
}

static struct str narrowest(struct arena *arena, const struct question *question)
{
    struct suggestion suggestions[SUGGESTIONS_MAX];
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    if (policy_suggest(arena, question, suggestions) == 0)
        return STR_NONE;
    json_open(&out, '[');
    for (size_t i = 0; i < suggestions[0].rule_count; i++)
        json_put_str(&out, suggestions[0].rules[i]);
    json_close(&out, ']');
    return arena_str(arena, buf_str(&buf));
}

/* A person may change a call, but not into one that the rules deny. */
static void edited_with_session(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = &op->err;
    struct decide *d = op->owner;
    struct open *open = open_find(d->op.gate, d->session, d->call_id);
    if (err->code != ERR_OK || !session) {
        d->op.err = *err;
        if (err->code == ERR_OK)
            (void)err_set(&d->op.err, ERR_NOT_FOUND, "there is no such session");
        op_end(&d->op);
        return;
    }
    if (!open) {
        read_call(d->op.gate, d->session, d->call_id, lost, d);
        return;
    }
    struct tool_facts facts = tool_facts_from(d->op.arena, STR_NONE, open->name, d->updated_input);
    if (rc_bad(tool_facts_check(&facts, &d->op.err))) {
        op_end(&d->op);
        return;
    }
    struct verdict verdict = gate_judge(d->op.gate, d->op.arena, session, &facts, STR_NONE);
    if (verdict.effect == EFFECT_DENY) {
        (void)err_set(&d->op.err, ERR_NOT_ALLOWED, "the edited input is denied: %.*s", STR_ARG(verdict.why));
        op_end(&d->op);
        return;
    }
    keep_response(d, open);
}

/* "Always" belongs to the project of the session; without saying what, it is the narrowest rules that would let this
 * call pass. */
static void choose_with_session(struct op *op)
{
    const struct session *session = ((struct session_look *)op)->session;
    const struct err *err = &op->err;
    struct decide *d = op->owner;
    struct open *open = open_find(d->op.gate, d->session, d->call_id);
    const struct json *input = NULL;
    if (!open) {
        read_call(d->op.gate, d->session, d->call_id, lost, d);
        return;
    }
    if (err->code == ERR_OK && session)
        d->project = project_of(d->op.arena, session->cwd);
    if (d->rules_chosen && err->code == ERR_OK && session &&
        rc_ok(json_parse(d->op.arena, d->call.input, &input, NULL))) {
        struct tool_facts facts = tool_facts_from(d->op.arena, d->call.dialect, open->name, input);
        struct question question = gate_question(d->op.gate, d->op.arena, session, &facts, d->call.cwd);
        d->rules = narrowest(d->op.arena, &question);
    }
    keep_response(d, open);
}

static void choose_rules(struct read *read)
{
    struct decide *d = read->arg;
    apply_all(d->op.arena, &d->call, read);
    d->op.err = read->err;
    read_free(read);
    if (d->op.err.code != ERR_OK) {
        op_end(&d->op);
        return;
    }
    struct session_look *want = arena_new(d->op.arena, struct session_look);
    want->id = d->session;
    want->op.done = choose_with_session;
    want->op.owner = d;
    gate_session(d->op.gate, want);
}

static void definition_read(struct read *read)
{
    struct decide *d = read->arg;
    struct open *open = open_find(d->op.gate, d->session, d->call_id);
    apply_all(d->op.arena, &d->call, read);
    d->op.err = read->err;
    read_free(read);
    if (d->op.err.code != ERR_OK)
        op_end(&d->op);
    else if (open)
        keep_response(d, open);
    else
        read_call(d->op.gate, d->session, d->call_id, lost, d);
}

static void judge_edited(struct decide *d)
{
    struct session_look *want = arena_new(d->op.arena, struct session_look);
    want->id = d->session;
    want->op.done = edited_with_session;
    want->op.owner = d;
    gate_session(d->op.gate, want);
}

/* Tokens or rules have changed, here or at another node, before the response could be kept. */
static void decide_again(struct decide *d)
{
    struct open *open = open_find(d->op.gate, d->session, d->call_id);
    if (tokens_revoked(d->op.gate, d->by))
        refuse(d, ERR_UNAUTHENTICATED, "this token was revoked");
    else if (!open)
        read_call(d->op.gate, d->session, d->call_id, lost, d);
    else if (d->updated_input)
        judge_edited(d);
    else
        keep_response(d, open);
}

void gate_decide(struct gate *gate, struct decide *d)
{
    d->rules_chosen = d->decision == DECISION_ALLOW_ALWAYS && str_empty(d->rules);
    struct open *open = open_find(gate, d->session, d->call_id);
    d->op.gate = gate;
    if (!open) {
        read_call(gate, d->session, d->call_id, lost, d);
        return;
    }
    if (!str_empty(d->thread) && !str_eq(d->thread, open->thread)) {
        refuse(d, ERR_NOT_FOUND, "there is no such call");
        return;
    }
    if (!str_empty(d->digest) && !str_eq(d->digest, open->digest)) {
        refuse(d, ERR_CONFLICT, "what you saw is not what is asked now; look again");
        return;
    }
    bool definition = definitions_asked(d, open);
    if (definition && tokens_bound(gate, d->by)) {
        refuse(d, ERR_SESSION_BOUND, "this token is bound to one session, and what servers offer holds for all");
        return;
    }
    if (definition) {
        /* It is agreed to as it was shown, and nothing follows from it for other calls. */
        d->decision = DECISION_ALLOW_ONCE;
        d->rules_chosen = false;
        d->updated_input = NULL;
        d->rules = STR_NONE;
    }
    if (str_empty(d->signature) && rc_bad(signed_check(gate, d, open, &d->op.err)))
        op_end(&d->op);
    else if (definition)
        read_call(gate, d->session, d->call_id, definition_read, d);
    else if (d->updated_input)
        judge_edited(d);
    else if (d->decision == DECISION_ALLOW_ALWAYS)
        read_call(gate, d->session, d->call_id, choose_rules, d);
    else
        keep_response(d, open);
}
