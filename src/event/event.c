/* Kinds of events, and an event as JSON (event.h). */
#include "event/event.h"

#include "base/arena.h"
#include "base/err.h"

static const struct {
    const char *name;
    bool of_call;
} kinds[EVENT_KIND_END] = {
#define X(number, name, of_call) [number] = {#name, of_call},
    EVENT_KINDS(X)
#undef X
};

const char *event_kind_name(enum event_kind kind)
{
    CHECK(kind > EVENT_NONE && kind < EVENT_KIND_END);
    return kinds[kind].name;
}

enum event_kind event_kind_parse(struct str name)
{
    for (int i = 1; i < EVENT_KIND_END; i++)
        if (kinds[i].name && str_is(name, kinds[i].name))
            return (enum event_kind)i;
    return EVENT_NONE;
}

bool event_kind_of_call(enum event_kind kind)
{
    CHECK(kind > EVENT_NONE && kind < EVENT_KIND_END);
    return kinds[kind].of_call;
}

bool event_kind_is_note(enum event_kind kind)
{
    return kind == EVENT_USER_MESSAGE || kind == EVENT_AGENT_MESSAGE || kind == EVENT_LOCAL_SYSTEM_MESSAGE ||
           kind == EVENT_SYSTEM_PROMPT || kind == EVENT_USER_SYSTEM_PROMPT || kind == EVENT_RUN_STATUS;
}

bool event_hides(enum event_kind kind, struct str member)
{
    return (kind == EVENT_TOKEN_CHANGED && str_is(member, "hash")) ||
           (kind == EVENT_TOOL_APPROVAL_REQUEST && str_is(member, "inFile"));
}

static bool may_hide(const struct event *event)
{
    return event->kind == EVENT_TOKEN_CHANGED ||
           (event->kind == EVENT_TOOL_APPROVAL_REQUEST && str_has(event->data, STR("\"inFile\":")));
}

static void put_data(struct json_out *out, const struct event *event)
{
    ARENA_SCOPE(arena);
    const struct json *data = NULL;
    if (!may_hide(event) || rc_bad(json_parse(&arena, event->data, &data, NULL))) {
        json_member_raw(out, "data", event->data);
        return;
    }
    json_open_member(out, "data", '{');
    for (const struct json *member = data->first; member; member = member->next)
        if (!event_hides(event->kind, member->key))
            json_put_member(out, member);
    json_close(out, '}');
}

void event_write(struct json_out *out, const struct event *event)
{
    json_open(out, '{');
    json_member_u64(out, "seq", event->seq);
    json_member_or_null(out, "sessionId", event->session);
    json_member_or_null(out, "threadId", event->thread);
    json_member(out, "type", str_of(event_kind_name(event->kind)));
    json_member_time(out, "at", event->at_ms);
    json_member(out, "actor", event->actor);
    put_data(out, event);
    json_close(out, '}');
}

struct event event_copy(struct arena *arena, const struct event *event)
{
    struct event copy = *event;
    copy.made = NULL;
    ARENA_KEEP(arena, &copy.session, &copy.thread, &copy.call, &copy.actor, &copy.data);
    return copy;
}
