/* opencode. Its hooks are functions of a plugin: ours asks `nod hook opencode` and throws what it is told, so that the
 * model reads the words. Whatever goes wrong there throws too: nothing runs unasked while the plugin is loaded.
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

static const struct agent_event events[] = {{"tool.execute.before", HOOK_BEFORE, 1}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_opencode = {
    .name = "opencode",
    .title = "opencode",
    .hooks = {.events = events, .shell = "bash", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "{}"},
    .place = {.variable = "OPENCODE_CONFIG_DIR", .folder = ".config/opencode", .file = "plugin/nod.js", .text = plugin,
              .words = "opencode started with OPENCODE_PURE or --pure loads no plugins, and runs its tools unasked. "
                       "A conversation that is already open loads it when opencode is started anew."},
    .acp = {.programs = WORDS("opencode"), .variable = "OPENCODE_PERMISSION", .value = "{\"*\":\"ask\"}",
            .safe_modes = WORDS("build", "plan"), .not_asked = "nothing that was seen"},
};
