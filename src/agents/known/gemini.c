/* Gemini CLI. BeforeTool: decision allow or deny; an edited input is not taken. */
#include "agents/agent.h"

static void say(struct buf *buf, const char *decision, struct str words)
{
    struct json_out out = json_out(buf);
    json_object(&out, J("decision", decision), J("reason", words));
}

static void allow(struct buf *out, const struct hook *hook, struct str edited, struct str words)
{
    (void)hook, (void)edited, (void)words;
    say(out, "allow", STR_NONE);
}

static void deny(struct buf *out, const struct hook *hook, struct str words)
{
    (void)hook;
    say(out, "deny", words);
}

/* The first rule must come before the second: one for all tools leaves out commands that are "known to be safe". */
static const char policy[] = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \".*\"\n"
                             "decision = \"ask_user\"\npriority = 999\n\n"
                             "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 998\n";

static const struct agent_event events[] = {{"BeforeTool", HOOK_BEFORE, 1000}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_gemini = {
    .name = "gemini",
    .title = "Gemini",
    .hooks = {.events = events, .shell = "run_shell_command", .nothing = "{}", .allow = allow, .deny = deny},
    .place = {.folder = ".gemini", .file = "settings.json",
              .words = "Gemini goes on when a hook is killed or cut off by its time limit, and runs none in --acp "
                       "mode. With -p its own rules deny first: use --approval-mode yolo."},
    .acp = {.programs = WORDS("gemini"), .more_args = WORDS("--admin-policy", "{file}"), .file = policy,
            .file_name = "gemini.toml",
            .safe_modes = WORDS("default", "plan"), .missing_is_empty = true, .not_asked = "its own memory and lists"},
    .boxed = {.keys = {{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com",
                        "x-goog-api-key: "}},
              .variables = WORDS("GEMINI_MODEL", "GEMINI_CLI_NO_RELAUNCH"), .files = WORDS(".gemini/settings.json"),
              .credentials = ".gemini/oauth_creds.json"},
    .mcp = {".gemini/settings.json", "mcpServers"},
};
