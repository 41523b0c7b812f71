/* Claude Code. PreToolUse: allow, deny or ask; PermissionRequest: allow or deny. Both take an edited input. */
#include "agents/agent.h"

bool agent_mode_asks(struct str mode)
{
    static const char *const asking[] = {"default", "manual", "acceptEdits", "plan"};
    return STR_IN(mode, asking);
}

static struct rc read_message(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                              struct err *err)
{
    TRY(hook_read_plain(agent, message, ret_hook, err));
    ret_hook->asks_later = ret_hook->kind == HOOK_BEFORE && agent_mode_asks(json_text(message, "permission_mode"));
    return RC_OK;
}

/* If a hook fails, only one that waits for an answer blocks the call; those that only report do not. */
static void put_entry(struct json_out *out, const struct agent_entry *entry)
{
    agent_put_group(out, entry,
                    entry->waits ? ",\"onFailure\":\"block\",\"statusMessage\":"
                                   "\"Nod asks a person: nod watch, nod approve, or the page (nod login)\""
                                 : "");
}

static const struct agent_event events[] = {
    {"PreToolUse", HOOK_BEFORE, 1},  {"PermissionRequest", HOOK_PERMISSION, 1}, {"PostToolUse", HOOK_AFTER, 1},
    {"Stop", HOOK_IDLE, 1},          {"PostToolUseFailure", HOOK_AFTER, 0},     {NULL, HOOK_OTHER, 0},
};

const struct agent agent_claude = {
    .name = "claude",
    .title = "Claude Code",
    .hooks = {.events = events, .shell = "Bash", .edits = HOOK_BIT(HOOK_BEFORE) | HOOK_BIT(HOOK_PERMISSION),
              .nothing = "{}", .read = read_message},
    .place = {.variable = "CLAUDE_CONFIG_DIR", .folder = ".claude", .file = "settings.json", .entry = put_entry,
              .by_http = true,
              .words = "Claude Code 2.1.197 and older do not know onFailure: there, a hook that cannot be "
                       "started or is cut off by its time limit leaves the call to Claude Code's own rules, "
                       "which may let it run. Newer ones block it. In `claude -p`, older versions skip the prompt "
                       "hook and deny the call: install with --strict to be asked instead."},
    .acp = {.programs = WORDS("claude-agent-acp", "claude-code-acp"),
            .session_meta = "{\"claudeCode\":{\"options\":{\"settingSources\":[\"user\"],\"settings\":{\"permissions\":"
                            "{\"ask\":[\"Bash\",\"Read\",\"Edit\",\"Write\",\"MultiEdit\",\"NotebookEdit\",\"Glob\","
                            "\"Grep\",\"WebFetch\",\"WebSearch\"]}}}}}",
            .safe_modes = WORDS("default", "plan"), .not_asked = "its own lists"},
    .boxed = {.keys = {{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "x-api-key: "},
                       {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "https://api.anthropic.com",
                        "authorization: Bearer "}},
              .variables = WORDS("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
                                 "CLAUDE_CODE_EXECUTABLE"),
              .credentials = ".claude/.credentials.json"},
    .mcp = {".claude.json", "mcpServers"},
};
