/* A session as the sum of its events (session.h): session_apply takes them in order. Texts are copied into its
 * own arena. */
#include "event/session.h"

#include "base/grow.h"
#include "base/list.h"
#include "event/shapes.h"

struct session *session_new(struct str id)
{
    struct session *session = heap_new(sizeof *session);
    session->id = arena_str(&session->arena, id);
    session->mode = STR("default");
    return session;
}

void session_free(struct session *session) { arena_free(session); }

/* Copies a setting into the session, if it is present. */
static void take_text(struct session *session, struct str said, struct str *field)
{
    if (said.n)
        *field = arena_str(&session->arena, said);
}

static struct session_tool *find_tool(struct session *session, struct str tool)
{
    return ROW_FIND(session->tools, session->tool_count, row, str_eq(row->tool, tool));
}

static void set_tool(struct session *session, struct str tool, struct str effect)
{
    struct session_tool *slot = find_tool(session, tool);
    if (!slot) {
        ARENA_GROW(&session->arena, session->tools, session->tool_count, session->tool_room);
        slot = &session->tools[session->tool_count++];
        slot->tool = arena_str(&session->arena, tool);
    }
    slot->effect = arena_str(&session->arena, effect);
}

static void unset_tool(struct session *session, struct str tool)
{
    struct session_tool *slot = find_tool(session, tool);
    if (slot)
        *slot = session->tools[--session->tool_count];
}

static void take_tools(struct session *session, struct arena *scratch, struct str policies)
{
    const struct json *json = NULL;
    if (!policies.n || rc_bad(json_parse(scratch, policies, &json, NULL)))
        return;
    for (const struct json *p = json->first; p; p = p->next) {
        if (p->type == JSON_STRING)
            set_tool(session, p->key, p->text);
        else
            unset_tool(session, p->key);
    }
}

static void add_thread(struct session *session, struct session_thread thread)
{
    struct session_thread **last = &session->threads;
    while (*last)
        last = &(*last)->next;
    *last = arena_new(&session->arena, struct session_thread);
    **last = thread;
}

static struct session_rule **find_rule(struct session *session, struct str id)
{
    struct session_rule **link = &session->rules;
    while (*link && !str_eq((*link)->id, id))
        link = &(*link)->next;
    return link;
}

static void add_rules(struct session *session, struct arena *scratch, struct str rules, const struct event *event)
{
    const struct json *list = NULL;
    if (!rules.n || rc_bad(json_parse(scratch, rules, &list, NULL)))
        return;
    for (const struct json *r = list->first; r; r = r->next) {
        struct session_rule **link = find_rule(session, json_text(r, "id"));
        if (*link)
            continue;
        *link = arena_new(&session->arena, struct session_rule);
        (*link)->id = arena_str(&session->arena, json_text(r, "id"));
        (*link)->json = arena_str(&session->arena, r->raw);
        (*link)->author = arena_str(&session->arena, event->actor);
        (*link)->at_ms = event->at_ms;
    }
}

/* ---- one function per change ---- */

static void take_created(struct session *session, struct arena *scratch, const struct event *event)
{
    struct data_session_created data;
    if (!READ_DATA(scratch, session_created, event->data, &data))
        return;
    session->created_ms = event->at_ms;
    take_text(session, data.owner, &session->owner);
    take_text(session, data.thread, &session->main_thread);
    add_thread(session, (struct session_thread){.id = session->main_thread, .at_ms = event->at_ms});
    take_text(session, data.title, &session->title);
    take_text(session, data.cwd, &session->cwd);
    session->cwd_proposed = data.cwd_proposed;
    take_text(session, data.mode, &session->mode);
    if (data.timeout_seconds >= 0)
        session->timeout_seconds = data.timeout_seconds;
    take_tools(session, scratch, data.policies);
}

static void take_settings(struct session *session, struct arena *scratch, const struct event *event)
{
    struct data_session_settings data;
    if (!READ_DATA(scratch, session_settings, event->data, &data))
        return;
    if (data.title.p)
        session->title = arena_str(&session->arena, data.title);
    take_text(session, data.cwd, &session->cwd);
    if (data.cwd.n) /* only people change it */
        session->cwd_proposed = false;
    take_text(session, data.mode, &session->mode);
    if (data.timeout_seconds >= 0)
        session->timeout_seconds = data.timeout_seconds;
    take_tools(session, scratch, data.policies);
    add_rules(session, scratch, data.rules, event);
    for (size_t i = 0; i < data.removed_rules.count; i++) {
        struct session_rule **link = find_rule(session, data.removed_rules.items[i]);
        if (*link)
            *link = (*link)->next;
    }
}

static void take_used(struct session *session, struct arena *scratch, const struct event *event)
{
    struct data_session_used data;
    if (!READ_DATA(scratch, session_used, event->data, &data))
        return;
    for (size_t i = 0; i < data.rules.count; i++) {
        struct session_rule **link = find_rule(session, data.rules.items[i]);
        if (*link)
            (*link)->used++;
    }
}

static void take_thread(struct session *session, struct arena *scratch, const struct event *event)
{
    struct data_session_thread data;
    if (!READ_DATA(scratch, session_thread, event->data, &data) || !data.thread || !data.thread->id.n)
        return;
    add_thread(session, (struct session_thread){.id = arena_str(&session->arena, data.thread->id),
                                                .parent = arena_str(&session->arena, data.thread->parent),
                                                .title = arena_str(&session->arena, data.thread->title),
                                                .at_ms = event->at_ms});
}

void session_apply(struct session *session, const struct event *event)
{
    ARENA_SCOPE(scratch);
    if (event->seq <= session->changed_seq || event->kind != EVENT_SESSION_CHANGED)
        return;
    session->changed_seq = event->seq;
    struct str change = shape_change(event->data); /* an unknown one, of a newer program, changes nothing */
    if (str_is(change, "created"))
        take_created(session, &scratch, event);
    else if (str_is(change, "thread"))
        take_thread(session, &scratch, event);
    else if (str_is(change, "settings"))
        take_settings(session, &scratch, event);
    else if (str_is(change, "used"))
        take_used(session, &scratch, event);
}

const struct session_thread *session_thread_find(const struct session *session, struct str thread)
{
    return LIST_FIND(session->threads, t, str_eq(t->id, thread));
}

struct str session_of_thread(struct str thread)
{
    size_t dot = str_find(thread, '.');
    return dot < thread.n ? str_sub(thread, 0, dot) : STR_NONE;
}

void session_thread_write(struct json_out *out, const struct session_thread *thread)
{
    json_object(out, J("id", thread->id), J_OR_NULL("parentId", thread->parent), J("title", thread->title),
                J_TIME("createdAt", thread->at_ms));
}

void session_write(struct json_out *out, const struct session *session)
{
    json_open(out, '{');
    json_members(out, J("id", session->id), J("threadId", session->main_thread), J_ALWAYS("title", session->title),
                 J_ALWAYS("cwd", session->cwd), J_FLAG("cwdProposed", session->cwd_proposed),
                 J("permissionMode", session->mode));
    json_open_member(out, "toolPolicies", '{');
    for (size_t i = 0; i < session->tool_count; i++) {
        json_key_str(out, session->tools[i].tool);
        json_put_str(out, session->tools[i].effect);
    }
    json_close(out, '}');
    json_members(out, J("approvalTimeoutSeconds", session->timeout_seconds), J_TIME("createdAt", session->created_ms),
                 J("owner", session->owner));
    JSON_LIST(out, "threads")
        for (const struct session_thread *t = session->threads; t; t = t->next)
            session_thread_write(out, t);
    json_close(out, '}');
}
