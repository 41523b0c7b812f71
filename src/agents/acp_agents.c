/* ACP agents, and the switch of each that makes it ask about everything. Without it most run what they call safe, and
 * some run everything inside the project; a relay cannot hold what is never asked. */
#include "agents/acp.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The first rule must come before the second: one for all tools leaves out commands that are "known to be safe". */
static const char gemini_policy[] = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \".*\"\n"
                                    "decision = \"ask_user\"\npriority = 999\n\n"
                                    "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 998\n";

static const struct acp_agent agents[] = {
    {.name = "gemini", .programs = WORDS("gemini"), .more_args = WORDS("--admin-policy", "{file}"),
     .file = gemini_policy, .safe_modes = WORDS("default", "plan"), .not_asked = "its own memory and lists"},
    {.name = "qwen", .programs = WORDS("qwen"), .variable = "QWEN_CODE_SYSTEM_SETTINGS_PATH", .value = "{file}",
     .file = "{\"permissions\":{\"ask\":[\"Bash\",\"Read\",\"Glob\",\"Grep\",\"Edit\",\"Write\",\"WebFetch\"]}}\n",
     .safe_modes = WORDS("default", "plan"), .not_asked = "its own memory and lists"},
    {.name = "opencode", .programs = WORDS("opencode"), .variable = "OPENCODE_PERMISSION",
     .value = "{\"*\":\"ask\"}", .safe_modes = WORDS("build", "plan"), .not_asked = "nothing that was seen"},
    {.name = "claude", .programs = WORDS("claude-agent-acp", "claude-code-acp"),
     .session_meta = "{\"claudeCode\":{\"options\":{\"settingSources\":[\"user\"],\"settings\":{\"permissions\":"
                     "{\"ask\":[\"Bash\",\"Read\",\"Edit\",\"Write\",\"MultiEdit\",\"NotebookEdit\",\"Glob\","
                     "\"Grep\",\"WebFetch\",\"WebSearch\"]}}}}}",
     .safe_modes = WORDS("default", "plan"), .not_asked = "its own lists"},
    {.name = "codex", .programs = WORDS("codex-acp"), .variable = "INITIAL_AGENT_MODE", .value = "read-only",
     .safe_modes = WORDS("read-only"),
     .not_asked = "commands that read: install its hook, too (nod hook install codex)"},
    {.name = "copilot", .programs = WORDS("copilot"), .safe_modes = WORDS("agent", "plan"),
     .not_asked = "reading and listing inside the folder: install its hook, too (nod hook install copilot)"},
};
enum { AGENT_COUNT = sizeof agents / sizeof *agents };

static const struct acp_agent stranger = {
    .name = "acp", .safe_modes = WORDS("default", "plan", "ask", "read-only"),
    .not_asked = "whatever it does not ask about: Nod knows no switch of this agent"};

/* The file's name without folder and ending: /x/gemini.js is gemini. */
static struct str program_of(const char *word)
{
    struct str name = str_of(word);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '/')
            name = str_sub(name, i + 1, name.n), i = 0;
    size_t dot = str_find(name, '.');
    return str_sub(name, 0, dot);
}

const struct acp_agent *acp_agent_find(const char *const *argv)
{
    for (size_t w = 0; argv[w] && w < 3; w++) /* the program, or what an interpreter is to run */
        for (size_t i = 0; i < AGENT_COUNT; i++)
            for (size_t p = 0; agents[i].programs[p]; p++)
                if (str_is(program_of(argv[w]), agents[i].programs[p]))
                    return &agents[i];
    return &stranger;
}

const struct acp_agent *acp_agent_named(struct str name)
{
    for (size_t i = 0; i < AGENT_COUNT; i++)
        if (str_is(name, agents[i].name))
            return &agents[i];
    return NULL;
}

bool acp_mode_is_safe(const struct acp_agent *agent, struct str mode)
{
    struct str behind = STR_NONE;
    (void)str_cut(mode, '#', &behind);
    for (size_t i = 0; agent->safe_modes[i]; i++)
        if (str_is(str_empty(behind) ? mode : behind, agent->safe_modes[i]))
            return true;
    return false;
}
