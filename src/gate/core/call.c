/* One call: how it is known, read and told. */
#include "gate/core/core.h"

#include "base/local.h"
#include "event/append.h"
#include "event/archived.h"
#include "event/read.h"
#include "event/shapes.h"

/* The key of a call in the maps of the core; empty when the ids are too long to exist. */
struct call_key call_key(struct str session, struct str call)
{
    struct call_key key NOT_ZEROED;
    key.n = 0;
    if (session.n + call.n + 1 > sizeof key.bytes)
        return key;
    if (session.n)
        memcpy(key.bytes, session.p, session.n);
    key.bytes[session.n] = '\n';
    if (call.n)
        memcpy(key.bytes + session.n + 1, call.p, call.n);
    key.n = session.n + 1 + call.n;
    return key;
}

struct open *core_open(const struct core *core, struct str session, struct str call)
{
    struct call_key key = call_key(session, call);
    return map_get(&core->open, call_key_str(&key));
}

bool core_take_call(struct arena *arena, struct call *call, struct str session, const struct read *read)
{
    bool there = false;
    *call = (struct call){0};
    for (size_t i = 0; i < read->event_count; i++) {
        if (!str_eq(read->events[i].session, session))
            continue;
        call_apply(arena, call, &read->events[i]);
        there = true;
    }
    return there;
}

void gate_say_archived(struct err *err, const struct event *archived)
{
    ARENA_SCOPE(scratch);
    struct archived said = {.file = STR("an archive")};
    (void)archived_parse(&scratch, archived->data, &said);
    (void)err_set(err, ERR_GONE, "session %.*s is in the archive %.*s: see nod log --archive",
                  STR_ARG(archived->session), STR_ARG(said.file));
}

/* The result is kept with the permission under which it was done, so that it can be understood by itself. */
struct append *core_result_append(const struct call *call, struct str actor, struct str mode,
                                  const struct data_tool_result *result, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct data_permissions permissions = {
        .date = call->by_policy ? call->called_ms : call->decided_ms, .result = STR("approved"),
        .decision = call->decision, .mode = mode, .rule = call->rule, .allow_tools = call->rules,
        .by = call->by_policy ? STR("policy") : call->actor};
    struct data_tool_result data = *result;
    data.call = call->id;
    data.permissions = &permissions;
    struct event event = {
        .kind = EVENT_TOOL_RESULT,
        .at_ms = now.wall_ms,
        .session = arena_str(arena, call->session),
        .thread = arena_str(arena, call->thread),
        .call = arena_str(arena, call->id),
        .actor = arena_str(arena, actor),
        .data = shape_data(arena, shape_tool_result(), &data),
    };
    append_need(append, (struct need){
        .need = NEED_ABSENT, .kind = EVENT_TOOL_RESULT, .session = event.session, .call = event.call});
    (void)append_event(append, event);
    return append;
}
