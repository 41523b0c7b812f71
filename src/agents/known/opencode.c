/* opencode. Its hooks are functions of a plugin: ours asks `nod hook opencode` and throws what it is told, so that the
 * model reads the words. Every failure there throws, too: nothing runs unasked while the plugin is loaded.
 */
#include "agents/agent.h"

static const char plugin[] =
    "// Written by `nod hook install opencode`; `nod hook remove opencode` takes it away.\n"
    "// nod: {command}\n"
    "import { spawn } from \"node:child_process\"\n"
    "\n"
    "const command = {json}\n"
    "\n"
    "const ask = (message) =>\n"
    "  new Promise((resolve, reject) => {\n"
    "    const hook = spawn(\"/bin/sh\", [\"-c\", command], { stdio: [\"pipe\", \"pipe\", \"ignore\"] })\n"
    "    let said = \"\"\n"
    "    hook.stdout.on(\"data\", (piece) => (said += piece))\n"
    "    hook.stdin.on(\"error\", () => {})\n"
    "    hook.on(\"error\", reject)\n"
    "    hook.on(\"close\", () => resolve(said))\n"
    "    hook.stdin.end(JSON.stringify(message))\n"
    "  })\n"
    "\n"
    "export const Nod = async ({ directory }) => ({\n"
    "  \"tool.execute.before\": async (call, given) => {\n"
    "    const said = await ask({\n"
    "      hook_event_name: \"tool.execute.before\", session_id: call.sessionID, tool_use_id: call.callID,\n"
    "      tool_name: call.tool, tool_input: given.args ?? {}, cwd: directory,\n"
    "    })\n"
    "    const answer = said ? JSON.parse(said).hookSpecificOutput : undefined\n"
    "    if (answer?.permissionDecision !== \"allow\")\n"
    "      throw new Error(answer?.permissionDecisionReason ?? \"Nod could not be asked, so this was not allowed\")\n"
    "    if (!answer.updatedInput) return\n"
    "    for (const key of Object.keys(given.args)) delete given.args[key]\n"
    "    Object.assign(given.args, answer.updatedInput)\n"
    "  },\n"
    "})\n";

/* ---- the plugin for one run ---- */

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* Writes the settings that the variable held, with our plugin added as the last one, so that no other plugin changes a
 * call after ours has asked about it. */
static struct rc put_config(struct buf *buf, struct arena *arena, const char *given, struct str ours,
                            struct err *err)
{
    struct json_out out = json_out(buf);
    const struct json *old = NULL;
    if (given && given[0] && (rc_bad(json_parse(arena, str_of(given), &old, err)) || old->type != JSON_OBJECT))
        return err_set(err, ERR_INVALID, "OPENCODE_CONFIG_CONTENT is set, and is not a JSON object");
    json_open(&out, '{');
    json_put_members(&out, old, "plugin");
    const struct json *plugins = json_get(old, "plugin");
    json_open_member(&out, "plugin", '[');
    for (const struct json *one = plugins && plugins->type == JSON_ARRAY ? plugins->first : NULL; one; one = one->next)
        json_put_raw(&out, one->raw);
    json_put_str(&out, ours);
    json_close(&out, ']');
    json_close(&out, '}');
    return buf->over ? err_set(err, ERR_TOO_LARGE, "OPENCODE_CONFIG_CONTENT is too long") : RC_OK;
}

static struct rc put_plugin(struct arena *arena, struct agent_run *run, struct err *err)
{
    BUF_SCOPE(text, CONFIG_BYTES_MAX);
    BUF_SCOPE(config, CONFIG_BYTES_MAX);
    TRY(agent_put_text(&text, plugin, run->command, err));
    TRY(put_config(&config, arena, run->given, arena_printf(arena, "file://%s", run->file), err));
    run->text = arena_str(arena, buf_str(&text));
    run->value = arena_str(arena, buf_str(&config));
    return RC_OK;
}

/* An opencode that is attached to runs its tools in another process, which need not have the plugin. */
static bool unhooks(struct str word)
{
    return str_starts(word, STR("--pure")) || str_starts(word, STR("--attach")) || str_is(word, "attach");
}

static const struct agent_event events[] = {{"tool.execute.before", HOOK_BEFORE, 1}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_opencode = {
    .name = "opencode",
    .title = "opencode",
    .hooks = {.events = events, .shell = "bash", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "{}"},
    .place = {.variable = "OPENCODE_CONFIG_DIR", .folder = ".config/opencode", .file = "plugin/nod.js", .text = plugin,
              .words = "opencode started with OPENCODE_PURE or --pure loads no plugins, and runs its tools unasked. "
                       "A conversation that is already open loads it when opencode is started anew."},
    .once = {.put = put_plugin, .unhooks = unhooks, .variable = "OPENCODE_CONFIG_CONTENT", .unset = "OPENCODE_PURE",
             .closes = "OPENCODE_DISABLE_PROJECT_CONFIG"}, /* they name programs: plugins, MCP servers */
    .acp = {.programs = WORDS("opencode"), .variable = "OPENCODE_PERMISSION", .value = "{\"*\":\"ask\"}",
            .safe_modes = WORDS("build", "plan"), .not_asked = "nothing that was seen"},
    .boxed = {.variables = WORDS("OPENCODE_CONFIG_CONTENT", "OPENCODE_DISABLE_PROJECT_CONFIG"),
              .files = WORDS(".config/opencode/opencode.json"),
              .credentials = ".local/share/opencode/auth.json"},
};
