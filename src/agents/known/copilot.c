/* Copilot CLI. As Claude Code, without an id of the call, and with a file of hooks of its own. */
#include "agents/agent.h"

static void put_entry(struct json_out *out, const struct agent_entry *entry)
{
    json_object(out, J("type", "command"), J("bash", entry->command), J("timeoutSec", entry->timeout));
}

static const struct agent_event events[] = {{"PreToolUse", HOOK_BEFORE, 1}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_copilot = {
    .name = "copilot",
    .title = "Copilot CLI",
    .hooks = {.events = events, .shell = "Bash", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "{}"},
    .place = {.variable = "COPILOT_HOME", .folder = ".copilot", .file = "hooks/nod.json",
              .blank = "{\n  \"version\": 1\n}\n", .entry = put_entry,
              .words = "Copilot runs the call when this hook is cut off by its time limit; Nod answers before that."},
    .acp = {.programs = WORDS("copilot"), .safe_modes = WORDS("agent", "plan"),
            .not_asked = "reading and listing inside the folder: install its hook, too (nod hook install copilot)"},
    .mcp = {".copilot/mcp-config.json", "mcpServers"},
};
