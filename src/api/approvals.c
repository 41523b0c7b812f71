/* Calls that wait for an answer, and the answer. */
#include "api/cursor.h"

#include "base/stamp.h"
#include "io/clock.h"
#include "policy/policy.h"
#include "sign/sign.h"

/* ---- pending ---- */

/* An exchange that waits until marks are known; in its arena. */
struct unmarked {
    struct op op;
    void (*go)(struct exchange *x);
};

static void marks_known(struct op *op)
{
    struct exchange *x = op->owner;
    if (!x->token || !auth_revoked(x))
        ((struct unmarked *)op)->go(x);
}

void exchange_when_marked(struct exchange *x, void (*go)(struct exchange *x))
{
    if (gate_marks_known(x->gate)) {
        go(x);
        return;
    }
    struct unmarked *unmarked = arena_new(x->arena, struct unmarked);
    *unmarked = (struct unmarked){.op = exchange_op(x, marks_known), .go = go};
    gate_await_marks(x->gate, &unmarked->op);
}

/* The list shows verdicts, which need the calls' sessions: those that the gate does not know
 * at the moment are read first. */
struct pending_listing {
    struct pending_list list;
    size_t open;     /* sessions that are still being read */
    int64_t took_us;
};

/* Keys that were added with a recovery code and cannot sign yet: whoever looks at the list can still revoke them. */
static void write_new_keys(struct exchange *x, struct json_out *out)
{
    int64_t now_ms = clock_wall_ms();
    bool any = false;
    for (const struct person_key *key = gate_keys(x->gate)->keys; key; key = key->next) {
        if (!str_empty(x->token->session) || key->revoked_seq || key->from_ms <= now_ms)
            continue;
        if (!any) {
            json_open_member(out, "newKeys", '[');
        }
        any = true;
        ring_write_key(out, key);
    }
    if (any)
        json_close(out, ']');
}

/* The time it took goes into a header and into the metrics, without the time that other requests had in between. */
static void write_pending(struct exchange *x, struct pending_listing *listing)
{
    const struct pending_list *list = &listing->list;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    int64_t from_us = clock_steady_us();
    json_open(&out, '{');
    JSON_LIST(&out, "pendingApprovals")
        for (size_t i = 0; i < list->count; i++)
            gate_write_listed(x->gate, &out, &list->calls[i]);
    json_member_u64(&out, "total", list->total);
    if (list->more)
        cursor_write(&out, list->next);
    json_member_u64(&out, "seq", list->seq);
    write_new_keys(x, &out);
    json_close(&out, '}');
    int64_t took_us = listing->took_us + clock_steady_us() - from_us;
    x->api->queries++;
    x->api->query_us += (uint64_t)took_us;
    exchange_answer_timed(x, &buf, took_us);
}

/* Called once for each session that was looked up, in any order; the last one writes the answer. */
static void session_there(struct op *op)
{
    struct exchange *x = op->owner;
    struct pending_listing *listing = x->state; /* if the session is not found, the call is listed without it */
    if (--listing->open == 0)
        write_pending(x, listing);
}

/* Brings the sessions of the listed calls into memory, because a listed call names its session's title and folder.
 * The last look that comes back writes the answer; the first one names no session, so that there is one even when no
 * call waits. */
static void read_sessions(struct exchange *x, struct pending_listing *listing)
{
    const struct pending_list *list = &listing->list;
    struct session_look *looks = arena_array(x->arena, struct session_look, list->count + 1);
    looks[listing->open++] = (struct session_look){.op = gate_op(x->arena, session_there, x)}; /* one at least */
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || !str_eq(list->calls[i].session, list->calls[i - 1].session))
            looks[listing->open++] = (struct session_look){.op = gate_op(x->arena, session_there, x),
                                                           .id = list->calls[i].session};
    for (size_t i = 0, count = listing->open; i < count; i++)
        gate_session(x->gate, &looks[i]);
}

/* On a shared store the list is only made when this node has read what the others had stored at the time of the
 * request. */
static void caught_up(struct read *read)
{
    struct exchange *x = read->arg;
    struct pending_listing *listing = x->state;
    struct err err = read->err;
    int64_t from_us = clock_steady_us();
    listing->took_us = read->took_us;
    read_free(read);
    if (err.code != ERR_OK) {
        exchange_fail(x, &err);
        return;
    }
    gate_list_pending(x->gate, x->arena, &listing->list);
    listing->took_us += clock_steady_us() - from_us;
    read_sessions(x, listing);
}

/* The list is in memory. An empty read of the store first brings the events that other nodes have stored. */
static void read_pending(struct exchange *x, struct str session, struct str thread)
{
    struct err err;
    uint64_t limit = LIMIT_PAGE_CALLS, after = UINT64_MAX;
    struct pending_listing *listing = arena_new(x->arena, struct pending_listing);
    EXCHANGE_TRY(x, api_query_u64(x, "limit", LIMIT_PAGE_EVENTS, &limit, &err));
    EXCHANGE_TRY(x, api_query_text(x, "agent", &listing->list.agent, &err));
    EXCHANGE_TRY(x, cursor_query(x, "after", &after, &err));
    listing->list.session = arena_str(x->arena, session);
    listing->list.thread = arena_str(x->arena, thread);
    listing->list.limit = limit ? limit : LIMIT_PAGE_CALLS;
    listing->list.in_order = after != UINT64_MAX;
    listing->list.after = listing->list.in_order ? after : 0;
    x->state = listing;
    gate_read(x->gate, read_new_call(STR("-"), STR("-")), caught_up, x);
}

static void pending_all(struct exchange *x)
{
    if (!(x->token->scopes & SCOPE_SEE_ALL) && str_empty(x->token->session))
        exchange_error(x, ERR_FORBIDDEN,
                       "an agent sees its own sessions only: ask /api/sessions/SESSION/approvals/pending");
    else
        read_pending(x, x->token->session, STR_NONE);
}

void api_pending_all(struct exchange *x) { exchange_when_marked(x, pending_all); }

/* One call, whole. */
static void waiting_call_read(struct read *read)
{
    struct exchange *x = read->arg;
    struct open_approval open = {0};
    bool answered = false;
    for (size_t i = 0; i < read->event_count; i++) {
        const struct event *event = &read->events[i];
        if (event->kind == EVENT_TOOL_CALL)
            open.call = *event;
        else if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
            open.request = *event;
        answered = answered || event->kind == EVENT_TOOL_APPROVAL_RESPONSE;
    }
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct call *calls;
    if (read->err.code != ERR_OK) {
        exchange_fail(x, &read->err);
    } else if (!open.request.seq || answered || gate_calls_of(read, &calls) == 0) {
        exchange_error(x, ERR_NOT_FOUND, "there is no such call that waits");
    } else {
        open.deadline_ms = calls[0].deadline_ms;
        gate_write_pending(x->gate, &out, &read->arena, &open,
                           x->token->scopes & SCOPE_DECIDE ? PENDING_IN_FILE : PENDING_WHOLE);
        exchange_answer(x, 200, &buf);
    }
    read_free(read);
}

static void pending_show_found(struct exchange *x, const struct session *session)
{
    gate_read(x->gate, read_new_call(session->id, x->params[1]), waiting_call_read, x);
}

static void pending_show(struct exchange *x) { exchange_with_session(x, x->params[0], pending_show_found); }

void api_pending_show(struct exchange *x) { exchange_when_marked(x, pending_show); }

static void pending_show_in_thread(struct exchange *x) { exchange_with_thread(x, x->params[0], pending_show_found); }

void api_pending_show_in_thread(struct exchange *x) { exchange_when_marked(x, pending_show_in_thread); }

static void pending_session_found(struct exchange *x, const struct session *session)
{
    read_pending(x, session->id, STR_NONE);
}

static void pending_session(struct exchange *x) { exchange_with_session(x, x->params[0], pending_session_found); }

void api_pending_session(struct exchange *x) { exchange_when_marked(x, pending_session); }

static void pending_thread_found(struct exchange *x, const struct session *session)
{
    read_pending(x, session->id, x->params[0]);
}

static void pending_thread(struct exchange *x) { exchange_with_thread(x, x->params[0], pending_thread_found); }

void api_pending_thread(struct exchange *x) { exchange_when_marked(x, pending_thread); }

/* ---- decide ---- */

/* 409 with the winner. */
static void answer_lost(struct exchange *x, const struct err *err, const struct call *winner)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    json_members(&out, J_OBJECT("error", J("code", err_wire(err->code)), J("message", err->text)));
    json_key(&out, "winner");
    call_write_winner(&out, winner);
    json_close(&out, '}');
    exchange_answer(x, err_http(err->code), &buf);
}

/* 202: the answer is stored, the call still waits. */
static void answer_partial(struct exchange *x, const struct decide *decide)
{
    exchange_object(x, err_http(decide->op.err->code), J("toolCallId", decide->call_id),
                    J("sessionId", decide->session), J("message", decide->op.err->text), J("have", decide->have),
                    J("need", decide->need));
}

bool exchange_undecided(struct exchange *x, const struct decide *decide)
{
    const struct err *err = decide->op.err;
    if (!err)
        return false;
    if (err->code == ERR_ALREADY_DECIDED)
        answer_lost(x, err, &decide->call);
    else if (err->code == ERR_MORE_PEOPLE)
        answer_partial(x, decide);
    else
        exchange_fail(x, err);
    return true;
}

static void decision_failed(struct op *op) { (void)exchange_undecided(op->owner, (struct decide *)op); }

struct op exchange_decision(struct exchange *x, void (*done)(struct op *op))
{
    struct op op = exchange_op(x, done);
    op.failed = decision_failed;
    return op;
}

void exchange_decided(struct exchange *x, const struct decide *decide)
{
    exchange_object(x, 200, J("toolCallId", decide->call_id), J("sessionId", decide->session),
                    J("decision", decision_name(decide->call.decision)), J("actor", decide->call.actor),
                    J_TIME("at", decide->call.decided_ms), J("seq", decide->call.response_seq));
}

static void decided(struct op *op) { exchange_decided(op->owner, (struct decide *)op); }

enum { RULES_PER_DECISION = 5 };

/* Each rule is checked here, so that a decision is refused as a whole before anything of it is stored. */
static struct rc read_rules(struct exchange *x, struct str *ret_rules, struct err *err)
{
    const struct json *rules = json_get(x->body, "rules");
    if (!rules || rules->type == JSON_NULL)
        return RC_OK;
    if (rules->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID, "\"rules\" must be an array of strings");
    if (rules->count > RULES_PER_DECISION)
        return err_set(err, ERR_INVALID, "\"rules\" has more than %d rules", RULES_PER_DECISION);
    for (const struct json *rule = rules->first; rule; rule = rule->next) {
        struct str canonical;
        if (rule->type != JSON_STRING)
            return err_set(err, ERR_INVALID, "\"rules\" must be an array of strings");
        TRY(rule_check(x->arena, rule->text, &canonical, err));
    }
    if (rules->count)
        *ret_rules = rules->raw;
    return RC_OK;
}

/* Where the rules of an allow_always are to hold. */
static struct rc read_reach(struct exchange *x, struct decide *d, struct err *err)
{
    struct str scope = STR_NONE;
    TRY(json_want_str(x->body, "scope", LIMIT_NAME_BYTES, &scope, err));
    if (!str_empty(scope) && d->decision != DECISION_ALLOW_ALWAYS)
        return err_set(err, ERR_INVALID, "\"scope\" goes with allow_always");
    if (str_is(scope, "session"))
        d->reach = DECIDE_SESSION;
    else if (str_is(scope, "everywhere"))
        d->reach = DECIDE_EVERYWHERE;
    else if (!str_empty(scope) && !str_is(scope, "project"))
        return err_set(err, ERR_INVALID, "\"scope\" must be session, project or everywhere");
    return RC_OK;
}

/* For how long, and for how many calls, the rules of the answer hold. */
static struct rc read_end(struct exchange *x, struct decide *d, struct err *err)
{
    struct str end = STR_NONE;
    TRY(json_want_str(x->body, "expiresAt", LIMIT_ID_BYTES, &end, err));
    TRY(json_want_i64(x->body, "uses", 1, INT32_MAX, &d->rules_uses, err));
    if (end.p && !stamp_parse(end, &d->rules_end_ms))
        return err_set(err, ERR_INVALID, "\"expiresAt\" must be a time like 2030-01-31T12:00:00Z");
    bool rules = d->decision == DECISION_ALLOW_ALWAYS ||
                 (d->decision == DECISION_ALLOW_SESSION && !str_empty(d->rules));
    if ((d->rules_end_ms || d->rules_uses) && !rules)
        return err_set(err, ERR_INVALID,
                       "\"expiresAt\" and \"uses\" go with allow_always, or with allow_session and rules");
    return RC_OK;
}

/* Shared by HTTP and the sockets, so that an answer means the same everywhere. */
struct rc approvals_read_decision(struct exchange *x, struct decide *d, struct err *err)
{
    struct str name = STR_NONE;
    enum permission_mode mode;
    TRY(json_want_str(x->body, "decision", LIMIT_NAME_BYTES, &name, err));
    TRY(json_want_str(x->body, "feedback", LIMIT_FEEDBACK_BYTES, &d->feedback, err));
    TRY(json_want_str(x->body, "mode", LIMIT_NAME_BYTES, &d->mode, err));
    TRY(json_want_str(x->body, "digest", LIMIT_NAME_BYTES, &d->digest, err));
    TRY(json_want_object(x->body, "updatedInput", &d->updated_input, err));
    TRY(read_rules(x, &d->rules, err));
    TRY(exchange_claim(x, &d->claim, err));
    d->decision = decision_parse(name);
    if (d->decision == DECISION_NONE || !decision_by_person(d->decision))
        return err_set(err, ERR_INVALID,
                       "\"decision\" must be allow_once, allow_session, allow_always, deny or abort");
    TRY(read_reach(x, d, err));
    TRY(read_end(x, d, err));
    if (d->mode.p && !policy_mode_parse(d->mode, &mode))
        return err_set(err, ERR_INVALID, "\"mode\" is not a permission mode");
    if (d->mode.p)
        d->mode = str_of(policy_mode_name(mode));
    bool wide = d->decision == DECISION_ALLOW_SESSION || d->decision == DECISION_ALLOW_ALWAYS;
    if (!wide && !str_empty(d->rules))
        return err_set(err, ERR_INVALID, "\"rules\" go with allow_session or allow_always");
    bool denies = d->decision == DECISION_DENY || d->decision == DECISION_ABORT;
    if (denies && d->updated_input)
        return err_set(err, ERR_INVALID, "\"updatedInput\" goes with an allow, not with %s",
                       decision_name(d->decision));
    return RC_OK;
}

/* An answer that holds beyond its call (a rule, a mode) needs the rights for that, too. */
static struct rc check_reach(const struct exchange *x, const struct decide *d, struct err *err)
{
    bool here = d->decision == DECISION_ALLOW_SESSION || d->reach == DECIDE_SESSION;
    if (d->decision == DECISION_ALLOW_ALWAYS && !here)
        TRY(auth_allow(x->token, (struct right){SCOPE_RULES_USER, BOUND_NEVER}, err));
    if (here)
        TRY(auth_allow(x->token, (struct right){SCOPE_RULES_SESSION, BOUND_HERE}, err));
    if (!str_empty(d->mode))
        TRY(auth_allow(x->token, (struct right){SCOPE_SETTINGS, BOUND_HERE}, err));
    return RC_OK;
}

/* d->refused is set when the token has no right to a decision beyond this call (for the session, always); the gate then
 * refuses with that error. */
static void decide(struct exchange *x, struct str session, struct str thread)
{
    struct decide *d = arena_new(x->arena, struct decide);
    struct err err;
    *d = (struct decide){.op = exchange_decision(x, decided), .session = session, .thread = thread,
                         .call_id = x->params[1], .actor = x->actor, .by = x->token_id};
    if (str_empty(session)) {
        exchange_error(x, ERR_NOT_FOUND, "there is no such thread");
    } else if (rc_bad(approvals_read_decision(x, d, &err))) {
        exchange_fail(x, &err);
    } else {
        (void)rc_ok(check_reach(x, d, &d->refused));
        gate_decide(x->gate, d);
    }
}

void api_decide_session(struct exchange *x) { decide(x, x->params[0], STR_NONE); }
void api_decide_thread(struct exchange *x) { decide(x, session_of_thread(x->params[0]), x->params[0]); }
