/* Cursor. preToolUse: permission allow or deny, with words for the person and for the model. */
#include "agents/agent.h"

#include "base/limits.h"

static struct rc read_message(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                              struct err *err)
{
    struct rc rc = hook_read_plain(agent, message, ret_hook, err);
    if (rc_ok(rc) || !str_empty(ret_hook->session) || str_empty(ret_hook->tool) || !ret_hook->input)
        return rc;
    TRY(json_want_str(message, "conversation_id", LIMIT_ID_BYTES, &ret_hook->session, err)); /* no "session_id" */
    return str_empty(ret_hook->session) ? rc : RC_OK;
}

static void say(struct buf *buf, const char *permission, struct str words, struct str input)
{
    struct json_out out = json_out(buf);
    json_object(&out, J("permission", permission), J("user_message", words), J("agent_message", words),
                J_RAW("updated_input", input));
}

static void allow(struct buf *out, const struct hook *hook, struct str edited, struct str words)
{
    (void)hook, (void)words;
    say(out, "allow", STR_NONE, edited);
}

static void deny(struct buf *out, const struct hook *hook, struct str words)
{
    (void)hook;
    say(out, "deny", words, STR_NONE);
}

static void put_entry(struct json_out *out, const struct agent_entry *entry)
{
    json_object(out, J("command", entry->command), J("timeout", entry->timeout), J_BOOL("failClosed", true));
}

static const struct agent_event events[] = {{"preToolUse", HOOK_BEFORE, 1}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_cursor = {
    .name = "cursor",
    .title = "Cursor",
    .hooks = {.events = events, .shell = "Shell", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "{}",
              .read = read_message, .allow = allow, .deny = deny},
    .place = {.folder = ".cursor", .file = "hooks.json", .blank = "{\n  \"version\": 1\n}\n", .entry = put_entry,
              .words = "Cursor is not run in Nod's tests: this rests on its documents. Versions that do not know "
                       "preToolUse skip the hook silently; ask for a command to see that it waits."},
    .mcp = {".cursor/mcp.json", "mcpServers"},
};
