/* The gate's answer, as a client reads it, and the words it holds for an agent. */
#include "agents/agents.h"

static struct str member(struct arena *arena, const struct json *object, const char *key)
{
    return arena_str(arena, json_text(object, key));
}

/* An answer that does not hold together is an error, and so a refusal: "allowed" needs a decision that allows, and an
 * input. */
struct rc agent_call_read(struct arena *arena, const struct json *answer, struct call *ret_call,
                          struct err *err)
{
    struct call call = {.status = CALL_UNKNOWN};
    struct str status = json_text(answer, "status");
    const struct json *input = json_get(answer, "input");
    const struct json *updated = json_get(answer, "updatedInput");
    const struct json *by = json_get(answer, "decidedBy");
    const struct json *rules = json_get(answer, "rules");
    for (int i = 0; i < CALL_STATUS_COUNT; i++)
        if (str_is(status, call_status_name((enum call_status)i)))
            call.status = (enum call_status)i;
    call.decision = decision_parse(json_text(answer, "decision"));
    if (call.status == CALL_UNKNOWN && !str_is(status, call_status_name(CALL_UNKNOWN)))
        return err_set(err, ERR_INVALID, "the server's answer has no status of a call");
    if (call.status == CALL_ALLOWED && (!call_allowed(&call) || !input || input->type != JSON_OBJECT))
        return err_set(err, ERR_INVALID, "the server's answer contradicts itself: allowed, but without an input or an "
                                         "allowing decision");
    call.no_opinion = call.status == CALL_UNKNOWN && json_bool(answer, "noOpinion", false);
    call.id = member(arena, answer, "toolCallId");
    call.session = member(arena, answer, "sessionId");
    call.thread = member(arena, answer, "threadId");
    call.feedback = member(arena, answer, "feedback");
    call.why = member(arena, answer, "reason");
    call.mode = member(arena, answer, "mode");
    call.actor = member(arena, by, "actor");
    call.by_policy = str_is(json_text(by, "kind"), "policy");
    if (input)
        call.input = arena_str(arena, input->raw);
    if (updated && updated->type == JSON_OBJECT)
        call.updated_input = arena_str(arena, updated->raw);
    if (rules && rules->type == JSON_ARRAY)
        call.rules = arena_str(arena, rules->raw);
    *ret_call = call;
    return RC_OK;
}

/* For the model: what a person said comes first; else a sentence by the status. Never empty. */
struct str agent_words(struct arena *arena, const struct call *call)
{
    if (!str_empty(call->feedback))
        return call->feedback;
    switch (call->status) {
    case CALL_DENIED:
    case CALL_ABORTED:
        if (call->by_policy)
            return arena_printf(arena, "Denied by policy: %.*s.", STR_ARG(call->why));
        if (str_empty(call->actor))
            return STR("Denied by a person.");
        return arena_printf(arena, "Denied by %.*s.", STR_ARG(call->actor));
    case CALL_TIMED_OUT: return STR("Nobody answered in time, so this was not allowed.");
    case CALL_CANCELLED: return STR("The question was taken back before anyone answered.");
    case CALL_AWAITING: return STR("Nobody has answered yet, so this is not allowed now. See nod pending.");
    case CALL_STARTED:
    case CALL_FINISHED:
    case CALL_INTERRUPTED: return STR("This call was allowed and run before; it is not run twice.");
    case CALL_UNKNOWN: return STR("A person has to answer this.");
    case CALL_ALLOWED: return STR("Allowed.");
    case CALL_STATUS_COUNT: break;
    }
    return STR("Not allowed.");
}
