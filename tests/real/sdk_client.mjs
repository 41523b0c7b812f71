// The same with the TypeScript Agent SDK: sdk_client.mjs FOLDER-OF-THE-SDK CLI
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, cli] = process.argv.slice(2);
const require = createRequire(folder + "/package.json");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { query, tool, createSdkMcpServer } = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");
const reached = new Set();
const greet = tool("greet", "Greets somebody", { name: z.string() }, async ({ name }) => {
  reached.add("tool");
  return { content: [{ type: "text", text: `hello ${name}` }] };
});
const before = async () => (reached.add("hook"), {});
async function* prompts() {
  yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
}
for await (const message of query({
  prompt: prompts(),
  options: {
    pathToClaudeCodeExecutable: cli,
    mcpServers: { here: createSdkMcpServer({ name: "here", tools: [greet] }) },
    hooks: { PreToolUse: [{ hooks: [before] }] },
  },
}))
  if (message.type === "result") console.log("RESULT", message.result, ...[...reached].sort());
