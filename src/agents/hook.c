/* Hooks of Claude Code, Codex, Gemini, Qwen Code and Copilot CLI: one shape, five dialects.
 *
 *   claude  PreToolUse: allow, deny or ask; PermissionRequest: allow or deny, the input may be edited
 *   codex   the same names, but PreToolUse knows only deny, or allow together with another input, and any
 *           member it does not expect voids the answer; PermissionRequest takes no edited input
 *   gemini  BeforeTool: decision allow or deny; its tools have names of their own
 *   qwen    as claude, but an edited input is ignored and the original runs: an edit is a denial with words
 *   copilot as claude, without an id of the call
 *
 * All but Claude Code go on when a hook has no opinion, so theirs waits for a person. Claude Code asks by
 * itself what its own rules do not allow: its PreToolUse is answered by rules alone, at once, and the
 * person's answer goes to PermissionRequest, beside the dialog in its terminal. In modes that never ask, PreToolUse
 * waits too. A yes in the dialog leaves the hook waiting: only that the call is over (PostToolUse), or the turn
 * (Stop), tells that nobody has to be asked any more.
 */
#include "agents/agents.h"

#include "base/limits.h"

static const struct {
    const char *name;
    enum hook_kind kind;
} events[] = {
    {"PreToolUse", HOOK_BEFORE},
    {"BeforeTool", HOOK_BEFORE},
    {"PermissionRequest", HOOK_PERMISSION},
    {"PostToolUse", HOOK_AFTER},
    {"PostToolUseFailure", HOOK_AFTER},
    {"Stop", HOOK_IDLE},
};

static const char *const agent_names[] = {
#define X(name, wire) wire,
    HOOK_AGENTS(X)
#undef X
};

bool hook_agent_parse(struct str name, enum hook_agent *ret_agent)
{
    for (int i = 0; i < HOOK_AGENT_COUNT; i++) {
        if (str_is(name, agent_names[i])) {
            *ret_agent = (enum hook_agent)i;
            return true;
        }
    }
    return false;
}

const char *hook_agent_name(enum hook_agent agent)
{
    CHECK(agent < HOOK_AGENT_COUNT);
    return agent_names[agent];
}

bool agent_mode_asks(struct str mode)
{
    static const char *const asking[] = {"default", "manual", "acceptEdits", "plan"};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        if (str_is(mode, asking[i]))
            return true;
    return false;
}

/* Of Stop: agents in the background go on, and may have dialogs open. */
static bool has_tasks(const struct json *message)
{
    const struct json *tasks = json_get(message, "background_tasks");
    return tasks && tasks->count > 0;
}

struct rc hook_read(enum hook_agent agent, const struct json *message, struct hook *ret_hook,
                    struct err *err)
{
    struct hook *hook = ret_hook;
    *hook = (struct hook){.agent = agent};
    TRY(json_want_str(message, "hook_event_name", LIMIT_NAME_BYTES, &hook->event, err));
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (str_is(hook->event, events[i].name))
            hook->kind = events[i].kind;
    if (str_empty(hook->event))
        return err_set(err, ERR_INVALID, "this is no hook's message: it has no \"hook_event_name\"");
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
    hook->asks_later = agent == HOOK_CLAUDE && hook->kind == HOOK_BEFORE &&
                       agent_mode_asks(json_text(message, "permission_mode"));
    return RC_OK;
}

/* ---- answers ---- */

static void open_specific(struct json_out *out, const char *event)
{
    json_open(out, '{');
    json_key(out, "hookSpecificOutput");
    json_open(out, '{');
    json_member(out, "hookEventName", str_of(event));
}

static void close_specific(struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
}

static void say_before(struct buf *buf, const char *decision, struct str words, struct str input)
{
    struct json_out out = json_out(buf);
    open_specific(&out, "PreToolUse");
    json_member(&out, "permissionDecision", str_of(decision));
    json_member(&out, "permissionDecisionReason", words);
    json_member_raw(&out, "updatedInput", input);
    close_specific(&out);
}

static void say_permission(struct buf *buf, const char *behavior, struct str words, struct str input)
{
    struct json_out out = json_out(buf);
    open_specific(&out, "PermissionRequest");
    json_key(&out, "decision");
    json_open(&out, '{');
    json_member(&out, "behavior", str_of(behavior));
    json_member(&out, "message", words);
    json_member_raw(&out, "updatedInput", input);
    json_close(&out, '}');
    close_specific(&out);
}

static void say_gemini(struct buf *buf, const char *decision, struct str words)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member(&out, "decision", str_of(decision));
    json_member(&out, "reason", words);
    json_close(&out, '}');
}

void hook_refuse(struct buf *out, const struct hook *hook, struct str words)
{
    CHECK(!str_empty(words));
    if (hook->agent == HOOK_GEMINI)
        say_gemini(out, "deny", words);
    else if (hook->kind == HOOK_PERMISSION)
        say_permission(out, "deny", words, STR_NONE);
    else
        say_before(out, "deny", words, STR_NONE);
}

/* The input as a person has changed it, where the hook cannot carry it: the agent may ask again with that. */
static void refuse_edited(struct buf *out, const struct hook *hook, struct str edited)
{
    ARENA_SCOPE(scratch);
    hook_refuse(out, hook, arena_printf(&scratch, "A person wants another input; ask again with it: %.*s",
                                        STR_ARG(edited)));
}

/* Codex takes an empty answer as an allow: it goes on, or asks at its own prompt. */
static void allow_codex(struct buf *out, const struct hook *hook, struct str edited)
{
    if (hook->kind == HOOK_PERMISSION)
        say_permission(out, "allow", STR_NONE, STR_NONE);
    else if (!str_empty(edited))
        say_before(out, "allow", STR_NONE, edited);
}

static void allow(struct buf *out, const struct hook *hook, struct str edited, struct str words)
{
    bool takes_edited = hook->agent == HOOK_CLAUDE || hook->agent == HOOK_COPILOT ||
                        (hook->agent == HOOK_CODEX && hook->kind == HOOK_BEFORE);
    if (!str_empty(edited) && !takes_edited) {
        refuse_edited(out, hook, edited);
        return;
    }
    switch (hook->agent) {
    case HOOK_CLAUDE:
        if (hook->kind == HOOK_PERMISSION)
            say_permission(out, "allow", STR_NONE, edited);
        else
            say_before(out, "allow", words, edited);
        break;
    case HOOK_QWEN:
    case HOOK_COPILOT: say_before(out, "allow", words, edited); break;
    case HOOK_CODEX: allow_codex(out, hook, edited); break;
    case HOOK_GEMINI: say_gemini(out, "allow", STR_NONE); break;
    case HOOK_AGENT_COUNT: break;
    }
}

/* The agent goes on as it would without a hook. */
static void say_nothing(struct buf *out, const struct hook *hook)
{
    if (hook->agent != HOOK_CODEX)
        buf_puts(out, "{}");
}

void hook_answer(struct buf *out, const struct hook *hook, const struct call *call)
{
    ARENA_SCOPE(scratch);
    CHECK(hook_asks(hook));
    struct str words = agent_words(&scratch, call);
    if (call->status == CALL_ALLOWED && call_allowed(call))
        allow(out, hook, call->updated_input, words);
    else if (call->status == CALL_UNKNOWN && (hook->asks_later || call->no_opinion))
        say_nothing(out, hook);
    else
        hook_refuse(out, hook, words);
}
