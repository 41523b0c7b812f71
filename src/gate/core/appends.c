/* What the gate keeps of a call: built from values, with the needs under which it holds. */
#include "gate/core/core.h"

#include "base/digest.h"
#include "event/shapes.h"
#include "gate/inner.h"

static struct shape_texts rule_ids(struct arena *arena, const struct verdict *verdict)
{
    struct str *ids = arena_array(arena, struct str, verdict->rule_count + 1);
    for (size_t i = 0; i < verdict->rule_count; i++)
        ids[i] = verdict->rules[i].id;
    return (struct shape_texts){ids, verdict->rule_count};
}

static struct str call_data(struct arena *arena, const struct ask *ask, const struct verdict *verdict)
{
    struct data_verdict said = {.effect = str_of(effect_name(verdict->effect)),
                                .rule = verdict->rule,
                                .source = verdict->source,
                                .why = verdict->why,
                                .rules = rule_ids(arena, verdict)};
    return DATA(arena, tool_call, .id = ask->id, .name = ask->name, .input = ask->input->raw, .cwd = ask->cwd,
                .dialect = ask->dialect, .verdict = &said);
}

/* Binds an answer to what was asked: session, call, tool, the input's bytes, where it would run, the contents of
 * the files that were shown. */
static struct str digest_of_ask(const struct ask *ask, char hex[DIGEST_HEX_BYTES])
{
    const struct str pieces[] = {ask->session, ask->id, ask->name, ask->input->raw, ask->cwd, ask->files};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    return str_of(hex);
}

static struct str request_data(struct arena *arena, const struct ask *ask, const struct verdict *verdict,
                               int64_t deadline_ms)
{
    char hex[DIGEST_HEX_BYTES];
    struct data_reason reason = {.source = verdict->source, .rule = verdict->rule, .why = verdict->why};
    return DATA(arena, tool_approval_request, .call = ask->id, .tool = ask->name, .reason = &reason,
                .digest = digest_of_ask(ask, hex), .files = ask->files, .preview = ask->preview,
                .deadline = deadline_ms, .waits = ask->wait_ms > 0 || ask->withdraws, .withdraws = ask->withdraws,
                .routine = !verdict->risky, .callback = ask->callback);
}

struct data_permissions core_permissions(const struct call *call, struct str mode)
{
    return (struct data_permissions){
        .date = call->by_policy ? call->called_ms : call->decided_ms, .result = STR("approved"),
        .decision = call->decision, .mode = mode, .rule = call->rule, .allow_tools = call->rules,
        .by = call->by_policy ? STR("policy") : call->actor};
}

static struct need absent(enum event_kind kind, const struct event *event)
{
    return (struct need){.need = NEED_ABSENT, .kind = kind, .session = event->session, .call = event->call};
}

struct append *core_call_append(const struct ask *ask, const struct session *session, const struct verdict *verdict,
                                struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    bool asked = verdict->effect == EFFECT_ASK;
    if (asked && session->timeout_seconds)
        append->deadline_ms = now.wall_ms + session->timeout_seconds * 1000;
    struct event event = {
        .kind = EVENT_TOOL_CALL,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, ask->session),
        .thread = arena_str(arena, ask->thread),
        .call = arena_str(arena, ask->id),
        .actor = arena_str(arena, ask->actor),
        .data = call_data(arena, ask, verdict),
    };
    append_need(append, absent(EVENT_TOOL_CALL, &event));
    append_need(append, (struct need){
        .need = NEED_CHANGED_AT, .session = event.session, .seq = session->changed_seq});
    (void)append_event(append, event);
    if (!asked)
        return append;
    event.kind = EVENT_TOOL_APPROVAL_REQUEST;
    event.data = request_data(arena, ask, verdict, append->deadline_ms);
    (void)append_event(append, event);
    return append;
}

/* Words of the verdict are the session's or a rule's, which may be gone before the call is answered. */
struct call core_expected_call(const struct ask *ask, const struct verdict *verdict, int64_t deadline_ms,
                               struct now now)
{
    bool asked = verdict->effect == EFFECT_ASK;
    struct call call = {
        .id = ask->id, .session = ask->session, .thread = ask->thread, .name = ask->name, .cwd = ask->cwd,
        .dialect = ask->dialect,
        .input = ask->input->raw, .agent_actor = ask->actor,
        .rule = arena_str(ask->op.arena, verdict->rule), .source = arena_str(ask->op.arena, verdict->source),
        .why = arena_str(ask->op.arena, verdict->why),
        .called_ms = now.wall_ms, .deadline_ms = deadline_ms, .requested_ms = asked ? now.wall_ms : 0,
        .status = CALL_AWAITING,
    };
    if (asked)
        return call;
    call.by_policy = true;
    call.actor = STR("policy");
    call.decided_ms = now.wall_ms;
    call.decision = verdict->effect == EFFECT_ALLOW ? DECISION_ALLOW_ONCE : DECISION_DENY;
    call.status = verdict->effect == EFFECT_ALLOW ? CALL_ALLOWED : CALL_DENIED;
    return call;
}

static struct event event_of_open(struct arena *arena, const struct open *open, enum event_kind kind, struct now now)
{
    return (struct event){
        .kind = kind,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, open->session),
        .thread = arena_str(arena, open->thread),
        .call = arena_str(arena, open->call),
        .actor = STR("nod"),
    };
}

struct str core_reach_name(const struct decide *d)
{
    static const struct str names[] = {[DECIDE_PROJECT] = STR("project"), [DECIDE_SESSION] = STR("session"),
                                       [DECIDE_EVERYWHERE] = STR("everywhere")};
    return d->decision == DECISION_ALLOW_ALWAYS ? names[d->reach] : STR_NONE;
}

struct append *core_response_append(const struct decide *d, const struct open *open, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = event_of_open(arena, open, EVENT_TOOL_APPROVAL_RESPONSE, now);
    event.actor = arena_str(arena, d->actor);
    event.data = DATA(arena, tool_approval_response, .call = open->call, .decision = d->decision,
                      .feedback = d->feedback, .updated_input = d->updated_input ? d->updated_input->raw : STR_NONE,
                      .rules = d->rules, .rules_chosen = d->rules_chosen, .reach = core_reach_name(d), .mode = d->mode,
                      .by = d->by, .signature = d->signature);
    append_need(append, (struct need){.need = NEED_PRESENT, .kind = EVENT_TOOL_APPROVAL_REQUEST,
                                      .session = event.session, .call = event.call});
    append_need(append, absent(EVENT_TOOL_APPROVAL_RESPONSE, &event));
    (void)append_event(append, event);
    return append;
}

struct append *core_alert_append(const struct open *open, struct now now)
{
    struct append *append = append_new();
    struct event event = event_of_open(&append->arena, open, EVENT_TOOL_APPROVAL_ALERT, now);
    event.data = DATA(&append->arena, tool_approval_alert, .call = open->call, .tool = open->name,
                      .requested_ms = open->requested_ms);
    append_need(append, absent(EVENT_TOOL_APPROVAL_ALERT, &event));
    append_need(append, absent(EVENT_TOOL_APPROVAL_RESPONSE, &event));
    (void)append_event(append, event);
    return append;
}
