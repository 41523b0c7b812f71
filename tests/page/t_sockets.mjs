// Both sockets opened by a page, which can set no header: the token or the page's key goes as a subprotocol.
import WS from "ws";
import { must, same } from "./check.mjs";
import { person, scriptedModel, Server } from "./rig.mjs";

const BASH = { type: "tool_use", id: "t1", name: "Bash", input: { command: "touch -c none; echo from the page" } };

// In the page: opens a socket, says something, gives back what comes until `last`.
const converse = ({ path, protocols, says, last, answer }) => new Promise((done) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + path, protocols), told = [];
  socket.onopen = () => says.forEach((message) => socket.send(JSON.stringify(message)));
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    told.push(message);
    if (answer && message.type === "tool_approval_request")
      socket.send(JSON.stringify({ command: "tool_approval_response", request_id: message.request_id, approved: true }));
    if (message.type === last) { socket.close(); done({ protocol: socket.protocol, told }); }
  };
  socket.onclose = (event) => done({ closed: event.code, told });
});
const keyOf = (page) => page.evaluate(() => localStorage.getItem("nod.key"));

async function withModel(turns, test) {
  const model = await scriptedModel(turns);
  const server = await new Server({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-test" }).start();
  try { await test(server); } finally { await server.stop(); model.stop(); }
}

export default {
  async "sockets: a page follows events over /api/ws"(server) {
    const page = await person(server), session = await server.session();
    const key = await keyOf(page);
    const { protocol, told } = await page.evaluate(converse, { path: "/api/ws", protocols: ["nod", `nod.key.${key}`],
      says: [{ type: "subscribe", id: 1, session: session.id }], last: "event" });
    same(protocol, "nod", "the subprotocol");
    same(told[0], { type: "subscribed", id: 1 }, "the answer");
    const bearer = await page.evaluate(converse, { path: "/api/ws", protocols: ["nod", `nod.bearer.${server.token}`],
      says: [{ type: "subscribe", id: 2 }], last: "subscribed" });
    same(bearer.protocol, "nod", "with a token");
    for (const protocols of [[], ["nod"], ["nod", "nod.key.wrong"], ["nod", "nod.bearer.wrong"]])
      same((await page.evaluate(converse, { path: "/api/ws", protocols, says: [], last: "event" })).closed, 1006, `${protocols}`);
  },
  async "sockets: a page runs the agent, is closed in the middle of a question, and goes on in another"() {
    await withModel([[{ type: "text", text: "I look." }, BASH], [{ type: "text", text: "Done." }]], async (server) => {
      const path = "/api/terminal/ws/agent?cwd=/tmp";
      const first = await person(server), protocols = ["nod", `nod.key.${await keyOf(first)}`];
      const asked = await first.evaluate(converse, { path, protocols, says: [{ command: "run", prompt: "look", permission_mode: "sdk" }], last: "tool_approval_request" });
      const request = asked.told.at(-1);
      same([asked.protocol, request.tool_name, request.preview_type], ["nod", "Bash", "command"], "the question");
      await first.context().close();
      await server.kill();
      await server.start();
      const second = await person(server, "bob");
      const { told } = await second.evaluate(converse, { path, protocols: ["nod", `nod.key.${await keyOf(second)}`], answer: true,
        says: [{ command: "attach", session_id: request.session_id }], last: "result" });
      must(told.some((m) => m.request_id === request.request_id), "the question was not told again");
      same(told.at(-1).subtype, "success", "the end");
      must(told.some((m) => m.subtype === "tool_result" && m.content.content === "from the page\n"), "the command's output");
    });
  },
  async "sockets: Node's ws opens both, with a header or a subprotocol"(server) {
    const open = (path, protocols, options) => new Promise((done) => {
      const socket = new WS(server.url.replace("http", "ws") + path, protocols, options);
      socket.on("open", () => { done(socket.protocol); socket.close(); });
      socket.on("error", (error) => done(String(error.message)));
    });
    const headers = { Authorization: `Bearer ${server.token}` };
    for (const path of ["/api/ws", "/api/terminal/ws/agent"]) {
      same(await open(path, ["nod"], { headers }), "nod", "a header and the subprotocol");
      same(await open(path, [], { headers }), "", "a header alone");
      same(await open(path, ["nod", `nod.bearer.${server.token}`]), "nod", "a subprotocol alone");
      must((await open(path, ["nod", "nod.bearer.nod_wrong"])).includes("401"), "a wrong token");
      must((await open(path, ["nod"], { headers, origin: "http://evil.example" })).includes("403"), "another site");
    }
  },
};
