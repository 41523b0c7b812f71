/* An agent asks to use a tool: the call is judged, kept with its verdict, and waits for a person when it must be asked.
 *
 *   BEGIN --judge--> JUDGED --append the call, with its request--> KEPT --settle--> done, or WAITS --rung, time--> done
 *                      |  ^---- refused: session, rules or tokens have changed ---|
 *                      |  ^---- LOOKED, after a look at the file that is changed: only before a person is asked
 *                      |                                        |
 *                      |--- too much waits already ---v         | refused: there is such a call
 *   find --> STATUS --read the call, unless it was--> KNOWN <----
 *
 * The same id again is the same call. Somebody who only wants to know how a call stands begins with STATUS.
 */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/read.h"
#include "event/shapes.h"

/* Indexes into the append's needs; the third is tokens_installation_unchanged. */
enum { NEED_NO_CALL, NEED_SESSION_SAME };

/* ---- what is kept ---- */

static struct str call_data(struct arena *arena, const struct ask *ask, const struct verdict *verdict)
{
    struct str *ids = arena_array(arena, struct str, verdict->rule_count + 1);
    for (size_t i = 0; i < verdict->rule_count; i++)
        ids[i] = verdict->rules[i].id;
    struct data_verdict said = {.effect = str_of(effect_name(verdict->effect)), .rule = verdict->rule,
                                .source = verdict->source, .why = verdict->why, .rules = {ids, verdict->rule_count}};
    return DATA(arena, tool_call, .id = ask->id, .name = ask->name, .input = ask->input->raw, .cwd = ask->cwd,
                .dialect = ask->dialect, .verdict = &said);
}

/* The digest binds an answer to what was asked: session, call, tool, the input's bytes, where it would run, the
 * contents of the files that were shown. */
static struct str request_data(struct arena *arena, const struct ask *ask, int64_t deadline_ms, const void **ret_made)
{
    const struct verdict *verdict = ask->verdict;
    struct data_reason reason = {.source = verdict->source, .rule = verdict->rule, .why = verdict->why};
    char hex[DIGEST_HEX_BYTES];
    call_digest(&(struct call){.session = ask->session, .id = ask->id, .name = ask->name, .input = ask->input->raw,
                               .cwd = ask->cwd, .files = ask->files}, hex);
    struct data_tool_approval_request request = {
        .call = ask->id, .tool = ask->name, .reason = &reason, .digest = str_of(hex), .files = ask->files,
        .preview = ask->preview, .shown = ask->shown, .in_file = ask->in_file, .box = ask->box,
        .deadline = deadline_ms, .waits = ask->wait_ms > 0 || ask->withdraws, .withdraws = ask->withdraws,
        .routine = !verdict->risky, .people = verdict->people, .callback = ask->callback};
    return shape_made(arena, shape_tool_approval_request(), &request, ret_made);
}

/* Stores the use of a rule that has a limited number of uses, together with the call. */
static void add_uses(struct append *append, const struct ask *ask)
{
    struct event call = append->events[0];
    for (unsigned i = 0; i < ask->use_count && append->event_count < APPEND_EVENTS_MAX; i++) {
        const struct rule_use *use = &ask->uses[i];
        struct event event = {.kind = EVENT_RULE_CHANGED, .at_ms = call.at_ms, .actor = STR("nod")};
        if (use->of_session) {
            event.kind = EVENT_SESSION_CHANGED;
            event.session = call.session;
            event.data = DATA(&append->arena, session_used, .rules = {&use->id, 1});
        } else {
            event.data = DATA(&append->arena, rule_used, .id = use->id);
        }
        (void)append_event(append, event);
    }
}

/* One append: the call with its verdict, and the request if a person must answer. Its needs are that there is
 * no such call and that the session is as it was judged; the driver adds those on rules and tokens. */
struct append *ask_append(const struct ask *ask, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    const struct session *session = ask->op.session;
    bool asked = ask->verdict->effect == EFFECT_ASK;
    if (asked && session->timeout_seconds)
        append->deadline_ms = now.wall_ms + session->timeout_seconds * 1000;
    struct event event = {
        .kind = EVENT_TOOL_CALL,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, ask->session),
        .thread = arena_str(arena, ask->thread),
        .call = arena_str(arena, ask->id),
        .actor = arena_str(arena, ask->actor),
        .data = call_data(arena, ask, ask->verdict),
    };
    append_need(append, (struct need){
        .need = NEED_ABSENT, .kind = EVENT_TOOL_CALL, .session = event.session, .call = event.call});
    append_need(append, (struct need){
        .need = NEED_CHANGED_AT, .session = event.session, .seq = session->changed_seq});
    (void)append_event(append, event);
    if (asked) {
        event.kind = EVENT_TOOL_APPROVAL_REQUEST;
        event.data = request_data(arena, ask, append->deadline_ms, &event.made);
        (void)append_event(append, event);
    }
    return append;
}

/* The call as it will be once the append is stored, so that it need not be read back. If an answer is delivered
 * before that, take_answer adds it. The verdict's texts are copied: the session or rule that owns them may be freed
 * while the call waits. */
static struct call expected_call(const struct ask *ask, int64_t deadline_ms, struct now now)
{
    const struct verdict *verdict = ask->verdict;
    bool asked = verdict->effect == EFFECT_ASK, allowed = verdict->effect == EFFECT_ALLOW;
    struct call call = {
        .id = ask->id, .session = ask->session, .thread = ask->thread, .name = ask->name, .cwd = ask->cwd,
        .dialect = ask->dialect, .input = ask->input->raw, .agent_actor = ask->actor,
        .rule = arena_str(ask->op.arena, verdict->rule), .source = arena_str(ask->op.arena, verdict->source),
        .why = arena_str(ask->op.arena, verdict->why), .called_ms = now.wall_ms, .deadline_ms = deadline_ms,
        .requested_ms = asked ? now.wall_ms : 0, .status = CALL_AWAITING,
    };
    if (asked)
        return call;
    call.by_policy = true;
    call.actor = STR("policy");
    call.decided_ms = now.wall_ms;
    call.decision = allowed ? DECISION_ALLOW_ONCE : DECISION_DENY;
    call.status = allowed ? CALL_ALLOWED : CALL_DENIED;
    return call;
}

static struct append *keep_call(struct core *core, struct ask *ask, struct now now)
{
    struct append *append = ask_append(ask, now);
    append_need(append, (struct need){.need = NEED_NONE_AFTER, .seq = core->delivered});
    add_uses(append, ask);
    *ask->call = expected_call(ask, append->deadline_ms, now);
    return append;
}

/* ---- a new call ---- */

/* Whether the call is stored with its verdict. If not, `op.err` or `ask->call` already holds the answer. */
static bool is_to_be_kept(struct ask *ask)
{
    struct op *op = &ask->op;
    if (op->err)
        return false;
    if (!op->session || !session_thread_find(op->session, ask->thread)) {
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such thread");
        return false;
    }
    bool only_rules = ask->verdict->effect == EFFECT_ASK && ask->only_rules;
    if (!ask->left_to_agent && !only_rules)
        return true;
    *ask->call = (struct call){.status = CALL_UNKNOWN, .id = ask->id, .session = ask->session, .thread = ask->thread,
                              .input = ask->input->raw, .no_opinion = ask->left_to_agent,
                              .why = arena_str(op->arena, ask->verdict->why),
                              .rule = arena_str(op->arena, ask->verdict->rule)};
    return false;
}

static void judge(struct ask *ask, struct out *out)
{
    ask->op.phase = ASK_JUDGED;
    ask->use_count = 0;
    out->judge = ask->session;
}

/* The call exists already: reads it as it is. An answer that is delivered meanwhile belongs to that call. */
static void look_up(struct ask *ask, struct out *out)
{
    ask->op.phase = ASK_KNOWN;
    *ask->call = (struct call){.status = CALL_UNKNOWN};
    out->read = read_new_call(ask->session, ask->id);
}

/* ---- a call that exists already ---- */

/* Takes the answer from the wait if it was delivered while the call was being read. */
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

static bool is_same_call(const struct ask *ask, const struct call *known)
{
    return str_eq(known->name, ask->name) && json_same_tokens(known->input, ask->input->raw) &&
           (str_empty(ask->thread) || str_eq(known->thread, ask->thread));
}

/* The same id with another tool or input is an error: an agent must not get the answer to something else. */
static void check_known(struct ask *ask, const struct read *read, const struct call *known)
{
    struct op *op = &ask->op;
    gate_op_take(op, &read->err);
    if (op->err)
        return;
    if (!known && read->archived_count)
        gate_say_archived(gate_op_fail(op), &read->archived[0]);
    else if (!known && ask->refused)
        op->err = ask->refused;
    else if (!known)
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such call");
    else if (ask->input && !is_same_call(ask, known))
        (void)err_set(gate_op_fail(op), ERR_CALL_DIFFERS,
                      "the call %.*s exists already in this session with another tool, input or thread",
                      STR_ARG(ask->id));
}

/* The caller gets the call when the wait is over; until then it costs no memory. */
static void take_known(struct ask *ask, struct read *read)
{
    struct call rung = *ask->call, known;
    bool there = core_take_call(&read->arena, &known, ask->session, read);
    if (there)
        take_answer(&known, &rung);
    check_known(ask, read, there ? &known : NULL);
    if (!ask->op.err && known.status == CALL_AWAITING && ask->registered) {
        *ask->call = (struct call){.status = CALL_AWAITING};
        ask->reread = true;
    } else if (core_take_call(ask->op.arena, ask->call, ask->session, read)) {
        take_answer(ask->call, &rung);
    }
}

/* The call that was read to find its session is used, unless the client waits for an answer. */
static bool is_status_found(struct ask *ask)
{
    struct read *found = ask->op.found;
    struct call known;
    return found && core_take_call(&found->arena, &known, ask->session, found) &&
           (known.status != CALL_AWAITING || ask->wait_ms <= 0);
}

/* ---- the end, or waiting ---- */

/* The call that was let go while it waited, from memory: answered a moment ago, or still open. */
static bool is_in_memory(const struct core *core, struct ask *ask)
{
    struct arena *arena = ask->op.arena;
    return ask->answered ? recent_find(&core->recent, arena, ask->session, ask->id, ask->call)
                         : waits_open_call(core, arena, ask->session, ask->id, ask->call);
}

/* Waits if the call is open and there is time; else the operation ends with the call as it stands. */
static void settle(struct core *core, struct ask *ask, struct now now, struct out *out)
{
    struct op *op = &ask->op;
    bool open = !op->err && ask->call->status == CALL_AWAITING && !ask->answered;
    bool in_time = now.steady_us < ask->wait.time;
    ask->released = open && core->released;
    if (open && ask->registered && in_time && !core->released && !ask->hung_up) {
        op->phase = ASK_WAITS;
        ask->parked = out->park = true;
        due_put(&core->waits, &ask->wait);
        return;
    }
    if (op->phase == ASK_WAITS && !ask->answered && ask->brief)
        ask->reread = false;
    waits_leave(core, ask, ask->hung_up, now);
    if (ask->reread && !op->err) {
        ask->reread = false;
        if (!is_in_memory(core, ask))
            look_up(ask, out);
    }
}

void ask_step(struct core *core, struct op *op, struct now now, struct out *out)
{
    struct ask *ask = (struct ask *)op;
    if (!ask->call) {
        ask->call = arena_new(op->arena, struct call);
        ask->call->status = op->phase == ASK_WAITS ? CALL_AWAITING : CALL_UNKNOWN;
    }
    switch (op->phase) {
    case ASK_BEGIN:
        if (!str_empty(ask->session)) {
            judge(ask, out);
            return;
        }
        (void)err_set(gate_op_fail(op), ERR_NOT_FOUND, "there is no such thread");
        break;
    case ASK_STATUS:
        if (is_status_found(ask)) {
            take_known(ask, op->found);
            break;
        }
        read_free(op->found);
        op->found = NULL;
        waits_add(core, ask, now);
        look_up(ask, out);
        return;
    case ASK_JUDGED:
        if (!is_to_be_kept(ask))
            break;
        if (!str_empty(ask->look_root) && !ask->looked && !ask->refused) {
            op->phase = ASK_LOOKED;
            out->work = WORK_LOOK;
            return;
        }
        waits_add(core, ask, now); /* before it is kept or read: no answer can slip between */
        if (ask->refused) {
            look_up(ask, out); /* a call that exists already keeps its state: only a new one is refused */
            return;
        }
        op->phase = ASK_KEPT;
        out->append = keep_call(core, ask, now);
        return;
    case ASK_LOOKED: /* rules and session may have changed meanwhile */
        ask->looked = true;
        judge(ask, out);
        return;
    case ASK_KEPT:
        if (op->append->outcome == APPEND_REFUSED && op->append->refused_need == NEED_NO_CALL) {
            look_up(ask, out);
            return;
        }
        if (op->append->outcome == APPEND_REFUSED) {
            judge(ask, out);
            return;
        }
        ask->call->call_seq = op->append->events[0].seq;
        if (op->append->outcome == APPEND_FAILED)
            gate_op_take(op, &op->append->err);
        break;
    case ASK_KNOWN:
        take_known(ask, op->read);
        break;
    case ASK_WAITS: /* rung, or its time is over */
        break;
    }
    settle(core, ask, now, out);
}
