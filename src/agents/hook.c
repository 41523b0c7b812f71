/* Hooks: a message of an agent becomes a struct, an answer of the gate becomes the agent's words.
 *
 * Most agents have taken over Claude Code's shape, which is here; agents/known/ says where one differs. All but Claude
 * Code go on when a hook has no opinion, so theirs waits for a person. Claude Code asks by itself what its own rules do
 * not allow: its PreToolUse is answered by rules alone, at once, and the person's answer goes to PermissionRequest,
 * beside the dialog in its terminal. In modes that never ask, PreToolUse waits too. A yes in the dialog leaves the hook
 * waiting: only that the call is over (PostToolUse), or the turn (Stop), tells that nobody has to be asked any more.
 */
#include "agents/agent.h"

#include "base/limits.h"

static const struct agent *const agents[] = {
#define X(name) &agent_##name,
    AGENTS(X)
#undef X
};

const struct agent *agent_at(size_t number)
{
    CHECK(number < AGENT_COUNT);
    return agents[number];
}

const struct agent *agent_named(struct str name)
{
    for (size_t i = 0; i < AGENT_COUNT; i++)
        if (str_is(name, agents[i]->name))
            return agents[i];
    return NULL;
}

const struct agent *agent_with_hooks(struct str name)
{
    const struct agent *agent = agent_named(name);
    return agent && agent->hooks.events ? agent : NULL;
}

size_t agent_number(const struct agent *agent)
{
    size_t number = 0;
    while (number < AGENT_COUNT && agents[number] != agent)
        number++;
    CHECK(number < AGENT_COUNT);
    return number;
}

/* ---- reading ---- */

/* Whether a Stop event lists agents that go on in the background: they may have dialogs open. */
static bool has_tasks(const struct json *message)
{
    const struct json *tasks = json_get(message, "background_tasks");
    return tasks && tasks->count > 0;
}

struct rc hook_read_plain(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                          struct err *err)
{
    struct hook *hook = ret_hook;
    *hook = (struct hook){.agent = agent};
    TRY(json_want_str(message, "hook_event_name", LIMIT_NAME_BYTES, &hook->event, err));
    for (const struct agent_event *event = agent->hooks.events; event->name; event++)
        if (str_is(hook->event, event->name))
            hook->kind = event->kind;
    if (str_empty(hook->event))
        return err_set(err, ERR_INVALID, "this is not a hook's message: it has no \"hook_event_name\"");
    if (has_tasks(message))
        hook->kind = HOOK_OTHER;
    if (hook->kind == HOOK_OTHER)
        return RC_OK;
    TRY(json_want_str(message, "session_id", LIMIT_ID_BYTES, &hook->session, err));
    if (hook->kind == HOOK_IDLE && !str_empty(hook->session))
        return RC_OK;
    TRY(json_want_str(message, "tool_name", LIMIT_NAME_BYTES, &hook->tool, err));
    TRY(json_want_str(message, "tool_use_id", LIMIT_ID_BYTES, &hook->call, err));
    TRY(json_want_str(message, "cwd", LIMIT_PATH_BYTES, &hook->cwd, err));
    TRY(json_want_object(message, "tool_input", &hook->input, err));
    if (str_empty(hook->tool) || !hook->input || str_empty(hook->session))
        return err_set(err, ERR_INVALID, "the hook's message lacks session_id, tool_name or tool_input");
    return RC_OK;
}

struct rc hook_read(const struct agent *agent, const struct json *message, struct hook *ret_hook, struct err *err)
{
    return (agent->hooks.read ? agent->hooks.read : hook_read_plain)(agent, message, ret_hook, err);
}

void hook_put(struct buf *buf, const struct hook *hook)
{
    if (hook->agent->hooks.put) {
        hook->agent->hooks.put(buf, hook);
        return;
    }
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_members(&out, J("session_id", hook->session), J("hook_event_name", hook->event));
    json_member(&out, "permission_mode", STR("bypassPermissions")); /* in which the agent asks nobody itself */
    json_members(&out, J("cwd", hook->cwd), J("tool_name", hook->tool), J("tool_use_id", hook->call),
                 J_RAW("tool_input", hook->input->raw));
    json_close(&out, '}');
}

/* ---- answers ---- */

static void open_specific(struct json_out *out, const char *event)
{
    json_open(out, '{');
    json_open_member(out, "hookSpecificOutput", '{');
    json_member(out, "hookEventName", str_of(event));
}

static void close_specific(struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
}

void hook_say_before(struct buf *buf, const char *decision, struct str words, struct str input)
{
    struct json_out out = json_out(buf);
    open_specific(&out, "PreToolUse");
    json_members(&out, J("permissionDecision", decision), J("permissionDecisionReason", words),
                 J_RAW("updatedInput", input));
    close_specific(&out);
}

void hook_say_permission(struct buf *buf, const char *behavior, struct str words, struct str input)
{
    struct json_out out = json_out(buf);
    open_specific(&out, "PermissionRequest");
    json_members(&out, J_OBJECT("decision", J("behavior", behavior), J("message", words),
                                J_RAW("updatedInput", input)));
    close_specific(&out);
}

void hook_allow_plain(struct buf *out, const struct hook *hook, struct str edited, struct str words)
{
    if (hook->kind == HOOK_PERMISSION)
        hook_say_permission(out, "allow", STR_NONE, edited);
    else
        hook_say_before(out, "allow", words, edited);
}

void hook_refuse(struct buf *out, const struct hook *hook, struct str words)
{
    CHECK(!str_empty(words));
    if (hook->agent->hooks.deny)
        hook->agent->hooks.deny(out, hook, words);
    else if (hook->kind == HOOK_PERMISSION)
        hook_say_permission(out, "deny", words, STR_NONE);
    else
        hook_say_before(out, "deny", words, STR_NONE);
}

/* The input as a person has changed it, where the hook cannot carry it: the agent may ask again with that. */
static void refuse_edited(struct buf *out, const struct hook *hook, struct str edited)
{
    ARENA_SCOPE(scratch);
    hook_refuse(out, hook, arena_printf(&scratch, "A person wants another input; ask again with it: %.*s",
                                        STR_ARG(edited)));
}

void hook_answer(struct buf *out, const struct hook *hook, const struct call *call)
{
    ARENA_SCOPE(scratch);
    const struct agent_hooks *hooks = &hook->agent->hooks;
    CHECK(hook_asks(hook));
    struct str words = agent_words(&scratch, call), edited = call->updated_input;
    if (call->status == CALL_ALLOWED && call_allowed(call)) {
        if (!str_empty(edited) && !(hooks->edits & HOOK_BIT(hook->kind)))
            refuse_edited(out, hook, edited);
        else
            (hooks->allow ? hooks->allow : hook_allow_plain)(out, hook, edited, words);
    } else if (call->status == CALL_UNKNOWN && (hook->asks_later || call->no_opinion)) {
        buf_puts(out, hooks->nothing);
    } else {
        hook_refuse(out, hook, words);
    }
}

/* ---- settings ---- */

static void put_address(struct json_out *out, struct str url)
{
    json_members(out, J("type", "http"), J("url", url), J_OBJECT("headers", J("Authorization", "Bearer $NOD_TOKEN")),
                 J_RAW("allowedEnvVars", STR("[\"NOD_TOKEN\"]")));
}

void agent_put_group(struct json_out *out, const struct agent_entry *entry, const char *more)
{
    json_open(out, '{');
    json_member(out, "matcher", STR("*"));
    json_open_member(out, "hooks", '[');
    json_open(out, '{');
    if (!str_empty(entry->url)) {
        put_address(out, entry->url);
    } else {
        json_members(out, J("type", "command"), J("command", entry->command));
    }
    json_member_i64(out, "timeout", entry->timeout);
    buf_puts(out->buf, more);
    json_close(out, '}');
    json_close(out, ']');
    json_close(out, '}');
}

/* ---- files that are ours as a whole ---- */

struct rc agent_put_text(struct buf *buf, const char *text, struct str command, struct err *err)
{
    struct json_out out = json_out(buf);
    if (str_find(command, '\n') != command.n)
        return err_set(err, ERR_INVALID, "paths with line breaks cannot be written down");
    for (struct str rest = str_of(text); !str_empty(rest);) {
        if (str_starts(rest, STR("{command}"))) {
            buf_put(buf, command);
            rest = str_sub(rest, strlen("{command}"), rest.n);
        } else if (str_starts(rest, STR("{json}"))) {
            out.comma = false;
            json_put_str(&out, command);
            rest = str_sub(rest, strlen("{json}"), rest.n);
        } else {
            buf_putc(buf, rest.p[0]);
            rest = str_sub(rest, 1, rest.n);
        }
    }
    return RC_OK;
}
