/* The official TypeScript SDK as a client of whatever program it is told to start, or address it is given: calls come as lines of standard
 * input, {"name","arguments"} or {"list":true}; each answer is a line of standard output. */
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(process.argv[2] + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const [command, ...args] = process.argv.slice(3);
const client = new Client({ name: "test", version: "1" }, { capabilities: {} });
const transport = async () => {
  if (!command.startsWith("http")) return new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` } } });
};
await client.connect(await transport());
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const options = { timeout: 180000, resetTimeoutOnProgress: true, onprogress: () => {} };
const open = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { list, tag, ...call } = JSON.parse(line);
  const answer = list ? client.listTools() : client.callTool(call, undefined, options);
  open.push(answer.then((result) => say({ tag, result }), (error) => say({ tag, error: String(error) })));
}
await Promise.all(open);
await client.close();
