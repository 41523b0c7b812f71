/* An answer to a call, from a person, a deadline or the agent itself. The first response wins: it is kept under the
 * need that there is none, and everyone else is told who won.
 *
 *   find
 *     v
 *   BEGIN --check--> CHECKED --append the response--> KEPT --> done
 *     |               \--read the call--> CALL --judge--> JUDGED --append--> KEPT   "always", and what a person changed
 *     |                                                     ^-- refused: tokens or rules have changed --|
 *     |                   \--append a partial answer--> PARTIAL --> done, or counted again     several must allow it
 *     `------------ it is not open ------------> LOST <------- refused: somebody was faster ------------|
 */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/read.h"
#include "event/shapes.h"

enum { DECIDE_BEGIN, DECIDE_CHECKED, DECIDE_CALL, DECIDE_JUDGED, DECIDE_KEPT, DECIDE_PARTIAL,
       DECIDE_LOST };
/* The first two needs of the append are about the call. The third is tokens_installation_unchanged: an append that is
 * refused for that one is judged again, because nothing is wrong with the call. */
enum { NEEDS_OF_CALL = 2 };
enum { LOOKS_MAX = 3, PARTIAL_LOOKS_MAX = 30 };

/* ---- what is kept ---- */

struct str core_reach_name(const struct decide *d)
{
    static const struct str names[] = {[DECIDE_PROJECT] = STR("project"), [DECIDE_SESSION] = STR("session"),
                                       [DECIDE_EVERYWHERE] = STR("everywhere")};
    return d->decision == DECISION_ALLOW_ALWAYS ? names[d->reach] : STR_NONE;
}

/* An append that is kept only if the call was asked about and has no response yet: the store decides who is first. */
struct append *decide_append(const struct decide *d, const struct open *open, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {
        .kind = EVENT_TOOL_APPROVAL_RESPONSE,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, open->session),
        .thread = arena_str(arena, open->thread),
        .call = arena_str(arena, open->call),
        .actor = arena_str(arena, d->actor),
        .data = DATA(arena, tool_approval_response, .call = open->call, .decision = d->decision,
                     .feedback = d->feedback, .updated_input = d->updated_input ? d->updated_input->raw : STR_NONE,
                     .rules = d->rules, .rules_chosen = d->rules_chosen, .reach = core_reach_name(d),
                     .rules_end = d->rules_end_ms, .rules_uses = d->rules_uses, .mode = d->mode,
                     .by = d->by, .people = people_names(arena, open, d), .signature = d->signature),
    };
    append_need(append, (struct need){.need = NEED_PRESENT, .kind = EVENT_TOOL_APPROVAL_REQUEST,
                                      .session = event.session, .call = event.call});
    append_need(append, (struct need){.need = NEED_ABSENT, .kind = EVENT_TOOL_APPROVAL_RESPONSE,
                                      .session = event.session, .call = event.call});
    (void)append_event(append, event);
    return append;
}

static bool is_for_session(const struct decide *d)
{
    return d->decision == DECISION_ALLOW_SESSION ||
           (d->decision == DECISION_ALLOW_ALWAYS && d->reach == DECIDE_SESSION && !str_empty(d->rules));
}

/* The change of the session's settings that follows from the decision. */
static void add_settings(struct append *append, const struct decide *d, const struct open *open)
{
    struct arena *arena = &append->arena;
    bool session = is_for_session(d);
    if (!session && str_empty(d->mode))
        return;
    struct data_session_settings settings = {.call = open->call, .mode = d->mode, .timeout_seconds = -1};
    if (session && str_empty(d->rules))
        settings.policies = arena_printf(arena, "{%.*s:\"allow\"}", STR_ARG(shape_quote(arena, open->name)));
    else if (session)
        settings.rules = d->session_rules;
    struct event event = append->events[0];
    event.kind = EVENT_SESSION_CHANGED;
    event.call = STR_NONE;
    event.data = shape_data(arena, shape_session_settings(), &settings);
    (void)append_event(append, event);
}

/* "Always" beyond the session: rules of the user's layer, kept with the response. */
static void add_user_rules(struct append *append, const struct decide *d)
{
    const struct event *response = &append->events[0];
    for (unsigned i = 0; i < d->user_rule_count && append->event_count < APPEND_EVENTS_MAX; i++) {
        struct str data = DATA(&append->arena, rule_added, .call = response->call, .rule = d->user_rules[i]);
        (void)append_event(append, (struct event){.kind = EVENT_RULE_CHANGED, .at_ms = response->at_ms,
                                                  .actor = response->actor, .data = data});
    }
}

/* A definition of an MCP server's tool, or a file that names servers, is agreed to as it was shown (definitions.c). */
bool decide_is_definition(const struct decide *d, const struct open *open)
{
    bool allows = d->decision == DECISION_ALLOW_ONCE || d->decision == DECISION_ALLOW_SESSION ||
                  d->decision == DECISION_ALLOW_ALWAYS;
    return allows && (str_is(open->name, DEFINITION_TOOL) || str_is(open->name, SERVERS_TOOL));
}

/* A yes to a changed definition pins it in the same append: there is no moment between. */
static void add_definition(struct append *append, const struct call *call)
{
    struct arena *arena = &append->arena;
    const struct event *response = &append->events[0];
    const struct json *input = NULL;
    if (str_empty(call->files) || rc_bad(json_parse(arena, arena_str(arena, call->input), &input, NULL)))
        return;
    const struct json *definition = json_get(input, "definition");
    struct str file = json_text(input, "file"), data;
    CHECK(definition || file.n);
    if (file.n)
        data = DATA(arena, rule_trusted, .path = file, .hash = call->files, .call = response->call);
    else
        data = DATA(arena, rule_pinned, .root = json_text(input, "root"), .tool = json_text(input, "tool"),
                    .digest = call->files, .definition = definition->raw, .call = response->call);
    (void)append_event(append, (struct event){.kind = EVENT_RULE_CHANGED, .at_ms = response->at_ms,
                                              .actor = response->actor, .data = data});
}

void decide_add_use(struct append *append, const struct decide *d)
{
    struct event event = append->events[0];
    if (!d->counter || append->event_count == APPEND_EVENTS_MAX)
        return;
    (void)append_event(append, (struct event){.kind = EVENT_TOKEN_CHANGED, .at_ms = event.at_ms, .actor = event.actor,
                                              .data = DATA(&append->arena, key_used, .id = d->claim->key,
                                                           .counter = d->counter)});
}

/* NEED_NONE_AFTER: no token, rule or key of the installation has changed since the answer was checked. */
static struct append *keep_response(struct decide *d, const struct open *open, struct now now)
{
    struct append *append = decide_append(d, open, now);
    CHECK(append->need_count == NEEDS_OF_CALL);
    append_need(append, (struct need){.need = NEED_NONE_AFTER, .seq = d->checked_seq});
    add_user_rules(append, d);
    if (decide_is_definition(d, open))
        add_definition(append, &d->call);
    add_settings(append, d, open);
    decide_add_use(append, d);
    d->call.id = d->call_id;
    return append;
}

/* ---- checks before a decision is stored ---- */

/* Reduces the decision to allow_once with the input as shown: it makes no rules for other calls. */
static void narrow(struct decide *d)
{
    d->decision = DECISION_ALLOW_ONCE;
    d->rules_chosen = false;
    d->updated_input = NULL;
    d->rules = STR_NONE;
    d->rules_end_ms = d->rules_uses = 0;
}

static bool may_decide(struct decide *d, const struct open *open)
{
    if (!str_empty(d->thread) && !str_eq(d->thread, open->thread))
        (void)err_set(gate_op_fail(&d->op), ERR_NOT_FOUND, "there is no such call");
    else if (!str_empty(d->digest) && !str_eq(d->digest, open->digest))
        (void)err_set(gate_op_fail(&d->op), ERR_CONFLICT, "the request has changed since you saw it; look at it again");
    else
        people_check_form(open, d);
    return !d->op.err;
}

/* Whether the driver must judge the decision first: a changed input needs a verdict, and new rules need ids. */
static bool must_be_judged(const struct decide *d)
{
    return d->updated_input || d->decision == DECISION_ALLOW_ALWAYS || (is_for_session(d) && !str_empty(d->rules));
}

/* ---- who won ---- */

/* Whether the same actor repeats the same decision with the same values. */
static bool is_same_decision(const struct decide *d)
{
    const struct call *won = &d->call;
    bool same_input = d->updated_input ? json_same_tokens(won->updated_input, d->updated_input->raw)
                                       : str_empty(won->updated_input);
    return won->decision == d->decision && !won->by_policy && str_eq(won->by, d->by) &&
           str_eq(won->feedback, d->feedback) && str_eq(won->mode, d->mode) && str_eq(won->reach, core_reach_name(d)) &&
           won->rules_end_ms == d->rules_end_ms && won->rules_uses == d->rules_uses &&
           won->rules_chosen == d->rules_chosen && (d->rules_chosen || json_same_tokens(won->rules, d->rules)) &&
           same_input;
}

/* Takes the call as the store has it, and sets the error that tells who answered first. False: the call still has no
 * answer there (another node has only just asked), and the decision is tried again. */
static bool take_winner(struct decide *d, const struct read *read)
{
    struct op *op = &d->op;
    bool there = core_take_call(d->op.arena, &d->call, d->session, read);
    bool elsewhere = !str_empty(d->thread) && !str_eq(d->thread, d->call.thread);
    gate_op_take(op, &read->err);
    if (op->err)
        return true;
    if (d->call.decision == DECISION_NONE && d->call.requested_ms && ++d->looks < LOOKS_MAX)
        return false;
    if (!there || elsewhere)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such call");
    else if (d->call.decision == DECISION_NONE)
        (void)err_set(gate_op_fail(op), ERR_CONFLICT, "the call changed meanwhile; try again");
    else if (!is_same_decision(d))
        (void)err_set(gate_op_fail(op), ERR_ALREADY_DECIDED, "already decided: %s by %.*s",
                      decision_name(d->call.decision), STR_ARG(d->call.actor));
    return true;
}

/* ---- step by step ---- */

static void ask_for(struct decide *d, unsigned phase, struct out *out)
{
    d->op.phase = phase;
    if (phase == DECIDE_JUDGED)
        out->judge = d->session;
    else
        out->read = read_new_call(d->session, d->call_id);
}

static void say_more_people(struct decide *d)
{
    (void)err_set(gate_op_fail(&d->op), ERR_MORE_PEOPLE, "kept: %u of %u persons have allowed it", d->have, d->need);
}

/* True when more persons must allow it: it is not the response. */
static bool keep_partial(struct core *core, struct decide *d, const struct open *open, struct now now, struct out *out)
{
    bool again;
    if (!people_wanted(open, d) || (d->have = people_with(open, d, &again)) >= open->people)
        return false;
    d->need = open->people;
    d->op.phase = DECIDE_PARTIAL;
    if (again)
        say_more_people(d);
    else
        out->append = people_append(core, d, open, now);
    return true;
}

/* The call may have been answered while the step waited: then the answer is lost, and the winner is told. */
static void keep(struct core *core, struct decide *d, struct now now, struct out *out)
{
    const struct open *open = core_open(core, d->session, d->call_id);
    if (!open) {
        ask_for(d, DECIDE_LOST, out);
        return;
    }
    if (keep_partial(core, d, open, now, out))
        return;
    d->op.phase = DECIDE_KEPT;
    out->append = keep_response(d, open, now);
}

/* First of all whether the call is open; then whether this token may decide it. */
static void begin(struct core *core, struct decide *d, struct out *out)
{
    const struct open *open = core_open(core, d->session, d->call_id);
    d->rules_chosen = d->rules_chosen || (d->decision == DECISION_ALLOW_ALWAYS && str_empty(d->rules));
    if (!open) {
        ask_for(d, DECIDE_LOST, out);
        return;
    }
    if (!may_decide(d, open))
        return;
    if (decide_is_definition(d, open))
        narrow(d);
    d->op.phase = DECIDE_CHECKED;
    out->check = true;
}

/* The step after the driver's check. Answers that make rules or change the input need the call itself. */
static void go_on(struct core *core, struct decide *d, struct now now, struct out *out)
{
    const struct open *open = core_open(core, d->session, d->call_id);
    d->checked_seq = core->delivered;
    if (open && !d->op.err)
        people_check_person(open, d);
    if (d->op.err)
        return;
    if ((open && decide_is_definition(d, open)) || (d->decision == DECISION_ALLOW_ALWAYS && !d->updated_input) ||
        (d->whole && !d->call.call_seq))
        ask_for(d, DECIDE_CALL, out);
    else if (must_be_judged(d))
        ask_for(d, DECIDE_JUDGED, out);
    else
        keep(core, d, now, out);
}

/* The append of a partial answer came back. Refused: something else was stored in the session. It has been delivered
 * by now, so the persons are counted again. */
static void partial_kept(struct core *core, struct decide *d, struct out *out)
{
    const struct append *append = d->op.append;
    if (append->outcome == APPEND_KEPT)
        say_more_people(d);
    else if (append->outcome == APPEND_FAILED)
        gate_op_take(&d->op, &append->err);
    else if (append->refused_need <= NEEDS_OF_CALL)
        ask_for(d, append->refused_need == NEEDS_OF_CALL ? DECIDE_JUDGED : DECIDE_LOST, out);
    else if (++d->looks < PARTIAL_LOOKS_MAX)
        begin(core, d, out);
    else
        (void)err_set(gate_op_fail(&d->op), ERR_CONFLICT, "too much happens in this session; try again");
}

void decide_step(struct core *core, struct op *op, struct now now, struct out *out)
{
    struct decide *d = (struct decide *)op;
    switch (op->phase) {
    case DECIDE_BEGIN:
        gate_op_take(op, &d->refused);
        if (op->found)
            (void)core_take_call(op->arena, &d->call, d->session, op->found);
        if (!op->err)
            begin(core, d, out);
        return;
    case DECIDE_CHECKED:
        go_on(core, d, now, out);
        return;
    case DECIDE_CALL:
        gate_op_take(op, &op->read->err);
        (void)core_take_call(op->arena, &d->call, d->session, op->read);
        if (op->err)
            return;
        if (must_be_judged(d))
            ask_for(d, DECIDE_JUDGED, out);
        else
            keep(core, d, now, out);
        return;
    case DECIDE_JUDGED:
        d->checked_seq = core->delivered;
        if (!op->err)
            keep(core, d, now, out);
        return;
    case DECIDE_KEPT:
        if (op->append->outcome == APPEND_REFUSED)
            ask_for(d, op->append->refused_need == NEEDS_OF_CALL ? DECIDE_JUDGED : DECIDE_LOST, out);
        else if (op->append->outcome == APPEND_FAILED)
            gate_op_take(op, &op->append->err);
        else
            call_apply(op->arena, &d->call, &op->append->events[0]);
        return;
    case DECIDE_PARTIAL:
        partial_kept(core, d, out);
        return;
    case DECIDE_LOST:
        if (!take_winner(d, op->read))
            begin(core, d, out);
        return;
    }
}
