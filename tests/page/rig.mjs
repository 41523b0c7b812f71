// The real server on a port of its own, agents that call it, and browsers that look at it.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const NOD = process.env.NOD ?? join(ROOT, "build/nod");
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export class Server {
  constructor(env = {}) { this.env = env; this.data = mkdtempSync(join(tmpdir(), "nod-page-")); this.port = 0; this.made = 0; }

  async start() {
    this.child = spawn(NOD, ["serve", "--data", this.data, "--listen", `127.0.0.1:${this.port}`, "--log-level", "error",
      "--asks-per-second", "0", "--waiting-per-token", "0", "--waiting-per-session", "0", "--read-only-commands", "ask"],
      { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, USER: "alice", ...this.env } });
    let said = "";
    await new Promise((done, fail) => {
      this.child.stdout.on("data", (bytes) => { said += bytes; if (/#login=\S+/.test(said)) done(); });
      this.child.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${said}`)));
    });
    this.child.removeAllListeners("exit");
    this.url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)[0];
    this.port = Number(this.url.split(":").pop());
    this.link = /http\S+#login=\S+/.exec(said)[0];
    this.tlsPort = Number(/with TLS on port (\d+)/.exec(said)?.[1] ?? 0);
    this.token = readFileSync(join(this.data, "admin.token"), "utf8").trim();
    this.agent ??= (await this.api("POST", "/api/tokens", { name: "claude-code", role: "agent", folders: ["/home/alice", "/tmp"] })).token;
    return this;
  }

  async kill() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGKILL");
    await gone;
  }

  async stop() {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }

  async api(method, path, body, token = this.token) {
    const answer = await fetch(this.url + path, { method, body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) } });
    const text = await answer.text();
    const json = text ? JSON.parse(text) : null;
    if (!answer.ok) throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${text}`), { status: answer.status, json });
    return json;
  }

  session(fields = {}) { return this.api("POST", "/api/sessions", { title: "greeter", cwd: "/home/alice/greeter", ...fields }, this.agent); }
  call(session, name, input, id, extra = {}) {
    return this.api("POST", `/api/threads/${extra.thread ?? session.threadId}/tool-calls`, { id: id ?? `call-${++this.made}`, name, input, cwd: session.cwd, ...extra.fields }, this.agent);
  }
  bash(session, command, id) { return this.call(session, "Bash", { command }, id); }
  status(id, session) { return this.api("GET", `/api/tool-calls/${encodeURIComponent(id)}${session ? `?session=${session.id}` : ""}`); }
  decide(session, id, decision, extra = {}) { return this.api("POST", `/api/sessions/${session.id}/approvals/${id}`, { decision, ...extra }); }
  login(name, role = "admin") { return this.api("POST", "/api/logins", { name, role }); }
}

// A model that says what it is told to, turn by turn, in the wire format of the Messages API.
export async function scriptedModel(turns) {
  const asked = [];
  const server = createServer((request, answer) => {
    let body = "";
    request.on("data", (bytes) => { body += bytes; });
    request.on("end", async () => {
      const blocks = turns[asked.push(JSON.parse(body)) - 1] ?? [{ type: "text", text: "done" }];
      const say = (type, data) => answer.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
      answer.writeHead(200, { "Content-Type": "text/event-stream" });
      say("message_start", { message: { id: "m", type: "message", role: "assistant", model: "scripted", content: [], usage: { input_tokens: 1, output_tokens: 1 } } });
      for (const [index, block] of blocks.entries()) {
        const tool = block.type === "tool_use";
        say("content_block_start", { index, content_block: tool ? { ...block, input: {} } : { type: "text", text: "" } });
        const pieces = tool ? [JSON.stringify(block.input)] : block.text.match(/.{1,8}/gs);
        for (const piece of pieces) say("content_block_delta", { index, delta: tool ? { type: "input_json_delta", partial_json: piece } : { type: "text_delta", text: piece } });
        if (block.hold) await block.hold;
        say("content_block_stop", { index });
      }
      say("message_delta", { delta: { stop_reason: blocks.some((b) => b.type === "tool_use") ? "tool_use" : "end_turn" }, usage: { output_tokens: 9 } });
      say("message_stop", {});
      answer.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { asked, url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

let browser;
export async function openBrowser() {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"] });
  return browser;
}
export async function closeBrowser() { await browser?.close(); }

export const DESKTOP = { viewport: { width: 1440, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

// A new person: a context of its own, logged in by a link of its own. Errors on the page fail the test.
export async function person(server, name = "alice", options = DESKTOP, role = "admin") {
  const context = await (await openBrowser()).newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PAGE_TIMEOUT ?? 180000));
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => { if (/Content.Security.Policy|Trusted/i.test(message.text())) page.faults.push(message.text()); });
  const { path } = await server.login(name, role);
  await page.goto(server.url + path);
  await page.locator("nav").waitFor();
  await page.locator(".connected.live").waitFor({ state: "attached" });
  return page;
}
export const armed = (page) => page.locator(".answers.armed").waitFor();
