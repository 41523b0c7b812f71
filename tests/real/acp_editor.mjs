/* The official ACP library as an editor: starts the agent it is told to, opens a session, sends each line of standard
 * input as a prompt, and prints what it sees: updates, permissions it is asked for, files it is to write, ends of turns. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { readFile, writeFile } from "node:fs/promises";

const require = createRequire(process.argv[2] + "/");
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);
const [files, command, ...args] = process.argv.slice(3);
const say = (kind, value) => process.stdout.write(JSON.stringify({ kind, ...value }) + "\n");
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
agent.on("exit", (code, signal) => { say("exit", { code, signal }); process.exit(0); });
const editor = acp.client({ name: "editor" })
  .onRequest("session/request_permission", async ({ params }) => { say("permission", { params }); return { outcome: { outcome: "cancelled" } }; })
  .onNotification("session/update", async ({ params }) => say("update", params))
  .onRequest("fs/write_text_file", async ({ params: { path, content } }) => { say("write", { path }); await writeFile(path, content); return {}; })
  .onRequest("fs/read_text_file", async ({ params: { path } }) => { say("read", { path }); return { content: await readFile(path, "utf8") }; });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await editor.connectWith(stream, async (peer) => {
const fs = files === "files";
const begun = await peer.request("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: fs, writeTextFile: fs }, terminal: false },
  clientInfo: { name: "editor", version: "1" } });
say("agent", { info: begun.agentInfo ?? null });
const session = await peer.request("session/new", { cwd: process.cwd(), mcpServers: JSON.parse(process.env.EDITOR_SERVERS ?? "[]") });
say("session", { id: session.sessionId, modes: session.modes ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  if (given.mode) {
    await peer.request("session/set_mode", { sessionId: session.sessionId, modeId: given.mode }).then(() => say("mode", { mode: given.mode }), (error) => say("mode", { error: error.message }));
  } else if (given.cancel) {
    await peer.notify("session/cancel", { sessionId: session.sessionId });
  } else {
    peer.request("session/prompt", { sessionId: session.sessionId, prompt: [{ type: "text", text: given.prompt }] })
      .then(({ stopReason }) => say("end", { stopReason }), (error) => say("end", { error: error.message }));
  }
}
agent.stdin.end();
});
