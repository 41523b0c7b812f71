// Other sides of a push message: a push service, a desktop's notification server, and Firefox.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { connect } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocketServer } from "ws";
import { poll } from "./check.mjs";
import { ROOT } from "./rig.mjs";

// The desktop (tests/notify/desktop_server.py) on a session bus of its own; `calls` is what it was asked to do.
export async function openDesktop() {
  const child = spawn("/usr/bin/python3", [join(ROOT, "tests/notify/desktop_server.py")], { stdio: ["pipe", "pipe", "ignore"] });
  const calls = [];
  let address = "";
  createInterface({ input: child.stdout }).on("line", (line) => { const said = JSON.parse(line); if (said.address) address = said.address; else calls.push(said); });
  await poll(async () => address, (is) => is !== "");
  return { calls, address, press: (id, key) => child.stdin.write(`press ${id} ${key}\n`), close: () => child.stdin.end() };
}

// Mozilla's push service as Firefox's dom/push/PushServiceWebSocket.sys.mjs speaks to it (hello, register, notification,
// ack), and RFC 8030 for whoever sends. `acks` are Firefox's verdicts: 100 delivered to the worker, 101 not decrypted.
export async function openPushService() {
  const posts = [], acks = [];
  let socket = null, sent = 0;
  const server = createServer((request, answer) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces);
      posts.push({ headers: request.headers, body });
      socket?.send(JSON.stringify({ messageType: "notification", channelID: request.url.split("/").pop(), version: `v${++sent}`,
        data: body.toString("base64url"), headers: { encoding: request.headers["content-encoding"] } }));
      answer.writeHead(201, { Location: "/message/1" }).end();
    });
  });
  new WebSocketServer({ server }).on("connection", (to) => {
    socket = to;
    to.on("message", (text) => {
      const said = JSON.parse(text);
      if (said.messageType === "hello") to.send(JSON.stringify({ messageType: "hello", status: 200, uaid: "0123456789abcdef0123456789abcdef", use_webpush: true }));
      if (said.messageType === "register") to.send(JSON.stringify({ messageType: "register", status: 200, channelID: said.channelID, pushEndpoint: `${url()}/push/${said.channelID}` }));
      if (said.messageType === "ack") acks.push(...said.updates.map((update) => update.code));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = () => `http://127.0.0.1:${server.address().port}`;
  return { posts, acks, url: url(), close: () => { socket?.terminate(); server.close(); } };
}

// Firefox without a window, driven over Marionette: frames of `length:[0, id, command, parameters]`.
export async function openFirefox(preferences, environment) {
  const folder = mkdtempSync(join(tmpdir(), "nod-firefox-"));
  const all = { "marionette.port": 0, "browser.shell.checkDefaultBrowser": false, "datareporting.policy.dataSubmissionEnabled": false, "app.update.enabled": false, ...preferences };
  writeFileSync(join(folder, "user.js"), Object.entries(all).map(([key, value]) => `user_pref(${JSON.stringify(key)}, ${JSON.stringify(value)});\n`).join(""));
  const child = spawn(process.env.FIREFOX ?? "/usr/bin/firefox-esr", ["--headless", "--marionette", "--profile", folder],
    { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1", GSETTINGS_BACKEND: "memory", NO_AT_BRIDGE: "1", ...environment } });
  const port = await new Promise((done, fail) => {
    createInterface({ input: child.stdout }).on("line", (line) => { const said = /Listening on port (\d+)/.exec(line); if (said) done(Number(said[1])); });
    child.once("exit", (code) => fail(new Error(`Firefox ended with ${code}`)));
  });
  const socket = connect(port, "127.0.0.1"), waits = new Map();
  let bytes = Buffer.alloc(0), asked = 0;
  socket.on("data", (piece) => {
    bytes = Buffer.concat([bytes, piece]);
    for (let colon; (colon = bytes.indexOf(":")) > 0 && bytes.length > colon + Number(bytes.subarray(0, colon));) {
      const end = colon + 1 + Number(bytes.subarray(0, colon)), said = JSON.parse(bytes.subarray(colon + 1, end));
      bytes = bytes.subarray(end);
      if (Array.isArray(said)) waits.get(said[1])(said);
    }
  });
  const command = (name, parameters = {}) => new Promise((done, fail) => {
    const text = JSON.stringify([0, ++asked, name, parameters]);
    waits.set(asked, ([, , error, value]) => error ? fail(new Error(`${name}: ${error.message}`)) : done(value));
    socket.write(`${Buffer.byteLength(text)}:${text}`);
  });
  await command("WebDriver:NewSession", {});
  const find = async (selector) => Object.values((await command("WebDriver:FindElement", { using: "css selector", value: selector })).value)[0];
  return {
    go: (url) => command("WebDriver:Navigate", { url }),
    run: async (script) => (await command("WebDriver:ExecuteScript", { script, args: [] })).value,
    click: async (selector) => command("WebDriver:ElementClick", { id: await find(selector) }),
    async close() {
      const gone = new Promise((done) => child.once("exit", done));
      child.removeAllListeners("exit");
      child.once("exit", () => {});
      child.kill("SIGKILL");
      await Promise.race([gone, poll(async () => child.exitCode ?? child.signalCode, (code) => code !== null)]);
      socket.destroy();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
