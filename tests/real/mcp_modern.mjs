/* The packages of the official TypeScript SDK for the revision of 2026, which knows no handshake.
 *
 *     mcp_modern.mjs MODULES client PROGRAM… | client URL     calls as in mcp_client.mjs, in this revision alone
 *     mcp_modern.mjs MODULES server                           a server on standard input and output
 *     mcp_modern.mjs MODULES web                              the same on the web; prints its address
 */
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, kind, command, ...args] = process.argv.slice(2);
const require = createRequire(folder + "/");
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`).replace(/\.cjs$/, ".mjs")).href);
const REVISION = "2026-07-28";

async function client() {
  const { Client, StreamableHTTPClientTransport } = await load("client");
  const { StdioClientTransport } = await load("client/stdio");
  const client = new Client({ name: "modern", version: "1" },
    { capabilities: { sampling: {}, elicitation: { form: {} } }, versionNegotiation: { mode: { pin: REVISION } } });
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { colour: "red" } }));
  client.setRequestHandler("sampling/createMessage", async () => ({ role: "assistant", model: "m", content: { type: "text", text: "thought" } }));
  await client.connect(command.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` } } })
    : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
  const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
  const options = { timeout: 180000, resetTimeoutOnProgress: true, onprogress: () => {} };
  const open = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { list, tag, ...call } = JSON.parse(line);
    const answer = list ? client.listTools() : client.callTool(call, options);
    open.push(answer.then((result) => say({ tag, result }), (error) => say({ tag, error: String(error) })));
  }
  await Promise.all(open);
  await client.close();
}

const says = (text) => ({ content: [{ type: "text", text }] });

async function factory() {
  const { McpServer, fromJsonSchema, inputRequired } = await load("server");
  const text = (more) => ({ type: "string", ...more });
  const takes = (properties) => fromJsonSchema({ type: "object", properties, required: Object.keys(properties) });
  return () => {
    const server = new McpServer({ name: "modern", version: "1" });
    server.registerTool("write", { description: "Writes a file", inputSchema: takes({ path: text({ "x-mcp-header": "Path" }), content: text() }) },
      async ({ path, content }) => (writeFileSync(path, content), says("written")));
    server.registerTool("read", { description: "Reads", annotations: { readOnlyHint: true }, inputSchema: takes({ about: text() }) }, async ({ about }) => says(`read ${about}`));
    const asks = (name, request, words) => server.registerTool(name, { description: "Asks first", inputSchema: takes({ about: text() }) }, async (given, { mcpReq }) =>
      mcpReq.inputResponses?.it ? says(words(mcpReq.inputResponses.it)) : inputRequired({ inputRequests: { it: request() } }));
    asks("form", () => inputRequired.elicit({ message: "Which colour?", requestedSchema: { type: "object", properties: { colour: { type: "string" } } } }), (it) => it.content?.colour ?? it.action);
    asks("think", () => inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: "Think." } }], maxTokens: 10 }), (it) => JSON.stringify(it));
    return server;
  };
}

async function web() {
  const { createMcpHandler } = await load("server");
  const handler = createMcpHandler(await factory(), { legacy: "reject" });
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const answer = await handler.fetch(new Request(`http://127.0.0.1${request.url}`, { method: request.method, headers: request.headers,
      ...(pieces.length && { body: Buffer.concat(pieces) }) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const piece of answer.body) response.write(piece);
    response.end();
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

if (kind === "client") await client();
else if (kind === "web") await web();
else (await load("server/stdio")).serveStdio(await factory());
