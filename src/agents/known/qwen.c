/* Qwen Code. As Claude Code, but an edited input is ignored and the original runs: an edit is a denial with words. */
#include "agents/agent.h"

static const struct agent_event events[] = {{"PreToolUse", HOOK_BEFORE, 1000}, {NULL, HOOK_OTHER, 0}};

/* These settings come before those of the folder, which may say otherwise. Qwen reads the folder's only where the
 * person trusts the folder: they name hooks and MCP servers, which are started unasked. */
static const char settings[] =
    "{\"permissions\":{\"ask\":[\"Bash\",\"Read\",\"Glob\",\"Grep\",\"Edit\",\"Write\",\"WebFetch\"]},"
    "\"tools\":{\"approvalMode\":\"default\"},\"security\":{\"folderTrust\":{\"enabled\":true}}}\n";

const struct agent agent_qwen = {
    .name = "qwen",
    .title = "Qwen Code",
    .hooks = {.events = events, .shell = "run_shell_command", .nothing = "{}"},
    .place = {.folder = ".qwen", .file = "settings.json",
              .words = "Qwen Code runs the call when this hook cannot be started, fails or is cut off by its time "
                       "limit; Nod answers before that. With -p its own rules deny first: use --approval-mode yolo."},
    .acp = {.programs = WORDS("qwen"), .variable = "QWEN_CODE_SYSTEM_SETTINGS_PATH", .value = "{file}",
            .file = settings, .file_name = "qwen.json",
            .safe_modes = WORDS("default", "plan"),
            .not_asked = "its own memory and lists; hooks and MCP servers in settings of a folder that "
                         "~/.qwen/trustedFolders.json names"},
    /* Qwen Code sends every request through the proxy of the box, also one to a loopback address. So it cannot reach
     * AGENT_BOX_MODEL_PORT, where the key would be added outside, and the key must be inside. */
    .boxed = {.variables = WORDS("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "QWEN_CODE_NO_RELAUNCH"),
              .files = WORDS(".qwen/settings.json"), .credentials = ".qwen/oauth_creds.json"},
    .mcp = {".qwen/settings.json", "mcpServers"},
};
