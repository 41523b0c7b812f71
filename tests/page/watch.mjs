// `nod watch` in a real terminal (tmux), on the real server. Ends with `N passed, N failed`.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT, Server } from "./rig.mjs";

const NOD = process.env.NOD ?? join(ROOT, "build/nod");
const socket = `nod-watch-${process.pid}`;
const tmux = (...args) => execFileSync("tmux", ["-L", socket, "-f", "/dev/null", "-u", ...args], { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });
const screen = () => tmux("capture-pane", "-p");
const raw = () => tmux("capture-pane", "-p", "-e");
const press = (...keys) => tmux("send-keys", ...keys);
const words = (text) => tmux("send-keys", "-l", text);

async function until(good, what) {
  for (let i = 0; i < 200; i++) {
    if (await good()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} never came:\n${screen()}`);
}
const shows = (text) => until(() => screen().includes(text), text);
const armed = () => shows("[y] allow once");
function must(truth, what) { if (!truth) throw new Error(`${what}\n${screen()}`); }

function open(server, width = 80, height = 24, editor = "true") {
  tmux("new-session", "-d", "-x", String(width), "-y", String(height), "-e", `EDITOR=${editor}`, "-e", "VISUAL=", `${NOD} watch --data ${server.data}; echo "status $?"; sleep 60`);
}

const tests = {
  async "answers by keys, and who was first"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    open(server);
    await shows("make one");
    await armed();
    press("y");
    await until(async () => (await server.status("c1", s)).status === "allowed", "the answer");
    await shows("Nothing waits");
    await server.bash(s, "make two", "c2");
    await shows("make two");
    press("n");
    words("not now");
    await shows("tell the agent: not now");
    press("Enter");
    await until(async () => (await server.status("c2", s)).feedback === "not now", "the words");
    await server.bash(s, "make three", "c3");
    await shows("make three");
    await server.decide(s, "c3", "allow_once");
    await shows("c3: allow_once by admin");
    await server.bash(s, "make four", "c4");
    await armed();
    press("s");
    await until(async () => (await server.status("c4", s)).decision === "allow_session", "the session");
    const other = await server.session({ title: "other" });
    await server.bash(other, "make five", "c5");
    await shows("make five");
    press("x");
    press("Enter");
    await until(async () => (await server.status("c5", other)).status === "aborted", "abort");
    press("q");
    await shows("status 0");
  },
  async "edit in an editor"(server) {
    const s = await server.session();
    await server.bash(s, "make test", "c1");
    open(server, 80, 24, "sed -i s/test/check/");
    await shows("make test");
    await armed();
    press("e");
    await until(async () => (await server.status("c1", s)).status === "allowed", "the answer");
    must((await server.status("c1", s)).input.command === "make check", "the edited command");
  },
  async "hostile text never reaches the terminal raw"(server) {
    const s = await server.session({ title: "\u001b]0;owned\u0007" });
    await server.call(s, "Bash", { command: "echo \u001b[2J\u001b[31mred \u202eevil \u200b", description: "\u001b[5mblink\nline" }, "c1");
    await server.call(s, "mcp__x__y", { "\u001b[1mkey": "\u009b31m \u0007" }, "c2");
    open(server);
    await shows("<U+202E>");
    await shows("<U+001B>[2J");
    press("j");
    await shows("key");
    must(!/\u001b\[(2J|5m|31mred)|\u202e|\u009b|\u0007/.test(raw()), "a control character");
    must(!tmux("display-message", "-p", "#{pane_title}").includes("owned"), "the title was set");
  },
  async "small, wide, resized; long calls scroll to their end"(server) {
    const s = await server.session();
    await server.call(s, "Note", { text: Array.from({ length: 200 }, (_, i) => `line ${i}`).join("\n") + "\nTHE-END" }, "c1");
    open(server, 40, 10);
    await shows("more lines");
    for (let i = 0; i < 80 && !screen().includes("THE-END"); i++) press("Space");
    await shows("THE-END");
    tmux("resize-window", "-x", "160", "-y", "50");
    await until(() => screen().split("\n")[0].length > 120, "the wide screen");
    await shows("1 waiting");
  },
  async "kill -9: disconnected, and back with the same"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    open(server);
    await shows("make one");
    await server.kill();
    await shows("DISCONNECTED");
    press("y");
    await server.start();
    await shows("connected");
    await until(() => !screen().includes("DISCONNECTED"), "the connection");
    await shows("make one");
    await armed();
    press("y");
    await until(async () => (await server.status("c1", s)).status === "allowed", "the answer");
  },
};

let passed = 0, failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (process.argv[2] && !name.includes(process.argv[2])) continue;
  const server = await new Server().start();
  try {
    await test(server);
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n     ${String(error.message).split("\n").slice(0, 30).join("\n     ")}`);
  }
  try { tmux("kill-server"); } catch { /* it was not up */ }
  await server.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
