// `nod watch` in a real terminal (tmux): what is on its screen, keys into it, and its output as it comes.
import { execFileSync } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./rig.mjs";

const NOD = process.env.NOD ?? join(ROOT, "build/nod");
const socket = `nod-watch-${process.pid}`;
const tmux = (...args) => execFileSync("tmux", ["-L", socket, "-f", "/dev/null", "-u", ...args], { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });

export const screen = () => tmux("capture-pane", "-p");
export const raw = () => tmux("capture-pane", "-p", "-e");
export const press = (...keys) => tmux("send-keys", ...keys);
export const words = (text) => tmux("send-keys", "-l", text);
// The left button is pressed and let go on this row, the topmost being 0, as a terminal reports it.
export const click = (row) => tmux("send-keys", "-l", [" ", "#"].map((button) => `\u001b[M${button}!${String.fromCharCode(33 + row)}`).join(""));
export const title = () => tmux("display-message", "-p", "#{pane_title}");
export const resize = (width, height) => tmux("resize-window", "-x", String(width), "-y", String(height));

let up = false;
export function open(server, width = 80, height = 24, editor = "true") {
  up = true;
  tmux("new-session", "-d", "-x", String(width), "-y", String(height), "-e", `EDITOR=${editor}`, "-e", "VISUAL=", `${NOD} watch --data ${server.data}; echo "status $?"; sleep 600`);
}
export function close() {
  if (up) tmux("kill-server");
  up = false;
}

export async function until(good, what) {
  for (const end = Date.now() + 180000; Date.now() < end;) {
    if (await good()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} never came:\n${screen()}`);
}
export const shows = (text) => until(() => screen().includes(text), text);
export const armed = () => shows("[y] allow once");

// Calls `heard` whenever the program has written to its terminal.
export function listen(heard) {
  const folder = mkdtempSync(join(tmpdir(), "nod-pane-")), fifo = join(folder, "out");
  execFileSync("mkfifo", [fifo]);
  tmux("pipe-pane", "-O", `exec cat >${fifo}`);
  createReadStream(fifo, "utf8").on("data", () => heard()).on("close", () => rmSync(folder, { recursive: true, force: true }));
}
