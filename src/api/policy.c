/* Rules: listed by layer, added, revoked, explained, tried; and trust in a project's policy file. */
#include "api/exchange.h"

#include "event/shapes.h"

/* ---- list ---- */

static void write_policy(struct exchange *x, const struct session *session)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str lint = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, api_query_text(x, "lint", &lint, &err));
    gate_write_policy(x->gate, &out, session, str_is(lint, "true"));
    exchange_answer(x, 200, &buf);
}

void api_policy_show(struct exchange *x)
{
    struct str session = x->token->session;
    struct err err;
    EXCHANGE_TRY(x, api_query_text(x, "session", &session, &err));
    if (str_empty(session))
        write_policy(x, NULL);
    else
        exchange_with_session(x, session, write_policy);
}

/* Routes for rules need the right to a session's; the user's layer is for all sessions. */
static const struct right user_rules = {SCOPE_RULES_USER, BOUND_NEVER};

/* ---- add ---- */

/* Refuses a deny or ask that would stop nothing, unless the person confirms it. */
static struct rc check_rule(struct exchange *x, const struct json *object, const struct rule_source *source,
                            struct err *err)
{
    bool force = false;
    TRY(json_want_bool(object, "force", &force, err));
    if (force || rc_ok(gate_check_rule(x->arena, source, err)))
        return RC_OK;
    struct str words = arena_str(x->arena, str_of(err->text));
    return err_set(err, ERR_INVALID, "%.*s (\"force\": true stores it anyway)", STR_ARG(words));
}

/* A rule on its way into the store: `change` is used for the user's layer, `session` for a session's. */
struct addition {
    struct rule_change change;
    struct session_change session;
    struct rule_source source;
    struct str json;
};

/* The rule as it was stored, with its id and in its canonical form, which may differ from what was sent. */
static void answer_rule(struct exchange *x, const struct err *err)
{
    const struct addition *addition = x->state;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    if (err) {
        exchange_fail(x, err);
        return;
    }
    buf_put(&buf, addition->json);
    exchange_answer(x, 201, &buf);
}

static void user_rule_added(struct op *op) { answer_rule(op->owner, op->err); }
static void session_rule_added(struct op *op) { answer_rule(op->owner, op->err); }

/* The other settings stay as they are: -1 stands for "no change" of the timeout. */
static void add_to_session(struct exchange *x, const struct session *session)
{
    struct addition *addition = x->state;
    addition->session = (struct session_change){.op = gate_op(x->arena, session_rule_added, x),
                                                .id = arena_str(x->arena, session->id),
                                                .actor = x->actor};
    addition->session.data = DATA(x->arena, session_settings, .timeout_seconds = -1,
                                  .rules = arena_printf(x->arena, "[%.*s]", STR_ARG(addition->json)));
    gate_change_session(x->gate, &addition->session);
}

/* An allow loosens and may need a signature; a deny or an ask does not. */
void api_policy_add(struct exchange *x)
{
    struct addition *addition = arena_new(x->arena, struct addition);
    struct str session = STR_NONE, signature = STR_NONE;
    struct err err;
    x->state = addition;
    EXCHANGE_TRY(x, json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &session, &err));
    EXCHANGE_TRY(x, gate_prepare_rule(x->arena, x->body, &addition->json, &addition->source, &err));
    EXCHANGE_TRY(x, check_rule(x, x->body, &addition->source, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, addition->source.effect == EFFECT_ALLOW, &signature, &err));
    if (addition->source.layer == LAYER_SESSION) {
        exchange_with_session(x, session, add_to_session);
        return;
    }
    EXCHANGE_REFUSE(x, addition->source.layer != LAYER_USER, ERR_INVALID,
                    "\"layer\" must be user or session: the others are files");
    EXCHANGE_TRY(x, auth_allow(x->token, user_rules, &err));
    addition->change = (struct rule_change){.op = gate_op(x->arena, user_rule_added, x), .change = STR("added"),
                                            .rule = addition->json, .actor = x->actor};
    gate_change_rule(x->gate, &addition->change);
}

/* ---- revoke ---- */

static void answer_gone(struct exchange *x, const struct err *err)
{
    if (err)
        exchange_fail(x, err);
    else
        exchange_object(x, 200, J("removed", x->params[0]));
}

static void user_rule_gone(struct op *op) { answer_gone(op->owner, op->err); }
static void session_rule_gone(struct op *op) { answer_gone(op->owner, op->err); }

/* Checks the signature for removing a rule: needed for a deny or ask, because without it more calls are allowed. */
static bool may_go(struct exchange *x, struct str effect)
{
    struct str signature = STR_NONE;
    struct err err;
    if (rc_ok(exchange_check_signed(x, !str_is(effect, effect_name(EFFECT_ALLOW)), &signature, &err)))
        return true;
    exchange_fail(x, &err);
    return false;
}

/* The effect is read from the stored rule and not from the request: removing a deny loosens and may need a signature.
 */
static void remove_from_session(struct exchange *x, const struct session *session)
{
    const struct session_rule *rule = session->rules;
    const struct json *json = NULL;
    while (rule && !str_eq(rule->id, x->params[0]))
        rule = rule->next;
    EXCHANGE_REFUSE(x, !rule || rc_bad(json_parse(x->arena, rule->json, &json, NULL)), ERR_NOT_FOUND,
                    "the session has no such rule");
    if (!may_go(x, json_text(json, "effect")))
        return;
    struct session_change *change = arena_new(x->arena, struct session_change);
    *change = (struct session_change){.op = gate_op(x->arena, session_rule_gone, x),
                                      .id = arena_str(x->arena, session->id), .actor = x->actor};
    change->data = DATA(x->arena, session_settings, .removed_rules = {&rule->id, 1}, .timeout_seconds = -1);
    gate_change_session(x->gate, change);
}

void api_policy_remove(struct exchange *x)
{
    struct str session = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, api_query_text(x, "session", &session, &err));
    if (!str_empty(session)) {
        exchange_with_session(x, session, remove_from_session);
        return;
    }
    EXCHANGE_TRY(x, auth_allow(x->token, user_rules, &err));
    if (!may_go(x, gate_user_rule_effect(x->gate, x->params[0])))
        return;
    struct rule_change *change = arena_new(x->arena, struct rule_change);
    *change = (struct rule_change){.op = gate_op(x->arena, user_rule_gone, x), .change = STR("removed"),
                                   .id = x->params[0], .actor = x->actor};
    gate_change_rule(x->gate, change);
}

/* ---- bind ---- */

static void rule_bound(struct op *op)
{
    struct rule_change *change = (struct rule_change *)op;
    write_policy(change->op.owner, NULL);
}

/* A new scope or folder may make the rule reach further, so that it needs the signature that a new allow needs. */
void api_policy_bind(struct exchange *x)
{
    struct rule_change *change = arena_new(x->arena, struct rule_change);
    struct err err;
    struct str signature = STR_NONE;
    *change = (struct rule_change){.op = exchange_op(x, rule_bound), .change = STR("bound"), .id = x->params[0],
                                   .actor = x->actor};
    EXCHANGE_TRY(x, gate_prepare_bond(x->arena, x->body, &change->rule, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, true, &signature, &err));
    gate_change_rule(x->gate, change);
}

/* ---- put: the user's layer as a whole ---- */

/* The changes (added, removed) that turn the old rules into the new ones; `at` is the next one to store. */
struct replacement {
    struct rule_change *changes;
    size_t count, at;
};

static void next_change(struct exchange *x);

/* Changes are stored one after the other. An error ends the replacement where it is: the rules stored so far stay. */
static void change_made(struct op *op)
{
    struct rule_change *change = (struct rule_change *)op;
    struct exchange *x = change->op.owner;
    struct replacement *replacement = x->state;
    if (change->op.err) {
        exchange_fail(x, change->op.err);
        return;
    }
    replacement->at++;
    next_change(x);
}

static void next_change(struct exchange *x)
{
    struct replacement *replacement = x->state;
    if (replacement->at == replacement->count)
        write_policy(x, NULL);
    else
        gate_change_rule(x->gate, &replacement->changes[replacement->at]);
}

/* All new rules are checked before the first old one is removed. */
static struct rc plan_replacement(struct exchange *x, struct replacement *ret_plan, struct err *err)
{
    const struct json *rules = json_get(x->body, "rules");
    struct rule_source source;
    size_t old_count;
    const struct str *old = gate_user_rule_ids(x->gate, x->arena, &old_count);
    if (!rules || rules->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID, "\"rules\" must be an array of rules");
    ret_plan->changes = arena_array(x->arena, struct rule_change, old_count + rules->count + 1);
    for (const struct json *rule = rules->first; rule; rule = rule->next) {
        struct rule_change *change = &ret_plan->changes[ret_plan->count++];
        *change = (struct rule_change){.op = gate_op(x->arena, change_made, x), .change = STR("added"),
                                       .actor = x->actor};
        TRY(gate_prepare_rule(x->arena, rule, &change->rule, &source, err));
        TRY(check_rule(x, rule, &source, err));
        if (source.layer != LAYER_USER)
            return err_set(err, ERR_INVALID, "only rules of the user's layer can be put");
    }
    for (size_t i = 0; i < old_count; i++)
        ret_plan->changes[ret_plan->count++] = (struct rule_change){
            .op = gate_op(x->arena, change_made, x), .change = STR("removed"), .id = old[i], .actor = x->actor};
    return RC_OK;
}

void api_policy_put(struct exchange *x)
{
    struct replacement *replacement = arena_new(x->arena, struct replacement);
    struct str signature = STR_NONE;
    struct err err;
    x->state = replacement;
    EXCHANGE_TRY(x, exchange_check_signed(x, true, &signature, &err));
    EXCHANGE_TRY(x, plan_replacement(x, replacement, &err));
    next_change(x);
}

/* ---- explain ---- */

/* Judges and stores nothing. `session` may be one that was never stored, made of the folder and the mode in the
 * request. */
static void explain_in(struct exchange *x, const struct session *session)
{
    const struct explain *asked = x->state;
    struct explain explain = *asked;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    explain.session = session;
    gate_explain(x->gate, &out, x->arena, &explain);
    exchange_answer(x, 200, &buf);
}

void api_policy_explain(struct exchange *x)
{
    struct explain *explain = arena_new(x->arena, struct explain);
    struct str session = x->token->session, mode = STR_NONE;
    struct err err;
    x->state = explain;
    EXCHANGE_TRY(x, json_want_str(x->body, "name", LIMIT_NAME_BYTES, &explain->name, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "dialect", LIMIT_NAME_BYTES, &explain->dialect, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "cwd", LIMIT_PATH_BYTES, &explain->cwd, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "permissionMode", LIMIT_NAME_BYTES, &mode, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &session, &err));
    EXCHANGE_TRY(x, json_want_object(x->body, "input", &explain->input, &err));
    EXCHANGE_REFUSE(x, str_empty(explain->name) || !explain->input, ERR_INVALID,
                    "\"name\" and \"input\" of the call are needed");
    if (!str_empty(session)) {
        exchange_with_session(x, session, explain_in);
        return;
    }
    struct session *none = arena_new(x->arena, struct session);
    none->cwd = explain->cwd;
    none->mode = mode.p ? mode : STR("default");
    explain_in(x, none);
}

/* ---- try ---- */

enum { TRY_EVENTS = LIMIT_PAGE_EVENTS, TRY_WINDOW = 50000 };

/* Past calls of the store are judged again under the rule that is tried; none of their events changes. */
static void history_read(struct read *read)
{
    struct exchange *x = read->arg;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (read->err.code != ERR_OK) {
        exchange_fail(x, &read->err);
    } else {
        gate_try(x->gate, &out, x->state, read);
        exchange_answer(x, 200, &buf);
    }
    read_free(read);
}

/* Counts how many of the last calls the rule would have covered. */
void api_policy_try(struct exchange *x)
{
    struct rule_source *source = arena_new(x->arena, struct rule_source);
    struct str json;
    struct err err;
    EXCHANGE_TRY(x, gate_prepare_rule(x->arena, x->body, &json, source, &err));
    uint64_t last = gate_figures(x->gate).last_seq;
    struct read *read = read_new(READ_EVENTS);
    source->effect = EFFECT_ALLOW; /* only whether the rule matches is counted, so its effect does not matter */
    source->trusted = true;
    x->state = source;
    read->kinds = (uint64_t)1 << EVENT_TOOL_CALL;
    read->after = last > TRY_WINDOW ? last - TRY_WINDOW : 0;
    read->limit = TRY_EVENTS;
    gate_read(x->gate, read, history_read, x);
}

/* ---- trust ---- */

static void trust_changed(struct op *op)
{
    struct rule_change *change = (struct rule_change *)op;
    struct exchange *x = change->op.owner;
    exchange_with_session(x, x->session, write_policy);
}

/* The hash must be that of the file as it is now: trust is given to contents, not to a path. */
static void trust_in(struct exchange *x, const struct session *session)
{
    struct str path, hash, wanted = STR_NONE;
    struct err err;
    bool trust = true;
    EXCHANGE_TRY(x, json_want_str(x->body, "hash", LIMIT_NAME_BYTES, &wanted, &err));
    EXCHANGE_TRY(x, json_want_bool(x->body, "trusted", &trust, &err));
    EXCHANGE_REFUSE(x, !gate_project_file(x->gate, x->arena, session, &path, &hash), ERR_NOT_FOUND,
                    "the session's folder has no .nod/policy.json that can be read");
    EXCHANGE_REFUSE(x, trust && !str_eq(wanted, hash), ERR_CONFLICT,
                    "\"hash\" is not that of the file as it is now: read the file again");
    struct rule_change *change = arena_new(x->arena, struct rule_change);
    *change = (struct rule_change){.op = exchange_op(x, trust_changed),
                                   .change = trust ? STR("trusted") : STR("distrusted"), .path = path,
                                   .hash = trust ? hash : STR_NONE, .actor = x->actor};
    gate_change_rule(x->gate, change);
}

void api_policy_trust(struct exchange *x)
{
    struct str session = STR_NONE, signature = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, json_want_str(x->body, "sessionId", LIMIT_ID_BYTES, &session, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, json_bool(x->body, "trusted", true), &signature, &err));
    exchange_with_session(x, session, trust_in);
}
