/* The official TypeScript SDK as a server on the web: `sse` is the transport of 2024-11-05, `stream` is streamable HTTP
 * with events that can be asked for again. Prints its address. The tool `cut` ends every open connection in the middle of
 * its answer; `add` offers one more tool and says so, each time, in the server's own stream. */
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const require = createRequire(process.argv[2] + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { SSEServerTransport } = await load("@modelcontextprotocol/sdk/server/sse.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { InMemoryEventStore } = await load("@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js");
const older = process.argv[3] === "sse";
const answers = new Set();
let calls = 0;

const make = () => {
  const server = new McpServer({ name: "web", version: "1" });
  let late;
  const says = (text) => ({ content: [{ type: "text", text }] });
  server.registerTool("count", { description: "Counts its calls" }, async () => says(`call ${++calls}`));
  server.registerTool("cut", { description: "Breaks connections" }, async ({ _meta, sendNotification }) => {
    calls++;
    await sendNotification({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress: 1 } });
    while (![...answers].some((answer) => answer.begun)) await new Promise(setImmediate);
    for (const answer of answers) answer.socket.end();
    return says(`cut ${calls}`);
  });
  server.registerTool("add", { description: "Offers one more" }, async () => {
    late ??= server.registerTool("late", { description: "Came later" }, async () => says("late"));
    server.sendToolListChanged();
    return says("added");
  });
  return server;
};

const transports = new Map();
const begin = async () => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, eventStore: new InMemoryEventStore(),
    onsessioninitialized: (id) => transports.set(id, transport) });
  await make().connect(transport);
  return transport;
};
const web = createServer(async (request, response) => {
  const write = response.write.bind(response);
  response.write = (...piece) => {
    response.begun = request.method === "POST";
    return write(...piece);
  };
  answers.add(response);
  response.on("close", () => answers.delete(response));
  const url = new URL(request.url, "http://localhost");
  if (!older) {
    const known = transports.get(request.headers["mcp-session-id"]);
    return (known ?? (await begin())).handleRequest(request, response);
  }
  if (request.method === "GET" && url.pathname === "/mcp") {
    const transport = new SSEServerTransport("/messages", response);
    transports.set(transport.sessionId, transport);
    return make().connect(transport);
  }
  const transport = transports.get(url.searchParams.get("sessionId"));
  if (request.method === "POST" && url.pathname === "/messages" && transport) return transport.handlePostMessage(request, response);
  return response.writeHead(404).end();
});
web.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${web.address().port}/mcp`));
