// `nod watch` in a real terminal (tmux), on the real server. Ends with `N passed, N failed`.
import { Server } from "./rig.mjs";
import { armed, click, close, open, press, raw, resize, screen, shows, title, until, words } from "./terminal.mjs";

function must(truth, what) { if (!truth) throw new Error(`${what}\n${screen()}`); }

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
    await shows("c3: allowed by admin");
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
  async "questions are answered in turn, a plan chooses the mode that follows"(server) {
    const s = await server.session({ permissionMode: "plan" });
    const sub = await server.api("POST", `/api/sessions/${s.id}/threads`, { title: "reviewer", parentId: s.threadId });
    await server.call(s, "AskUserQuestion", { questions: [
      { question: "Which colour?", header: "Colour", options: [{ label: "Red", description: "r" }, { label: "Blue", description: "\u001b[2Jb" }] },
      { question: "Which sizes?", header: "Size", multiSelect: true, options: [{ label: "S" }, { label: "M" }, { label: "L" }] }] }, "q1", { thread: sub.id });
    open(server);
    await shows("greeter (sub-agent reviewer)");
    await shows("2  Blue: <U+001B>[2Jb");
    await shows("[y] answer");
    press("y");
    await shows("1 of 2, Colour:");
    press("2", "Enter");
    await shows("2 of 2, Size:");
    words("1, 3");
    press("Enter");
    await until(async () => (await server.status("q1", s)).status === "allowed", "the answers");
    const answers = (await server.status("q1", s)).input.answers;
    must(JSON.stringify(answers) === JSON.stringify({ "Which colour?": "Blue", "Which sizes?": "S, L" }), JSON.stringify(answers));
    await server.call(s, "ExitPlanMode", { plan: "# The plan\n\n1. do it" }, "p1");
    await shows("1. do it");
    await shows("[y] approve plan");
    press("y");
    await shows("2  Accept edits");
    press("2");
    await until(async () => (await server.api("GET", `/api/sessions/${s.id}`)).permissionMode === "acceptEdits", "the mode");
    must((await server.status("p1", s)).status === "allowed", "the plan");
  },
  async "words filter the list, marks answer several at once, a click opens a call"(server) {
    const s = await server.session();
    for (const [id, command] of [["c1", "make one"], ["c2", "make two"], ["c3", "npm run three"], ["c4", "rm -rf build"]]) await server.bash(s, command, id);
    open(server, 100, 30);
    await shows("Nod  4 waiting");
    press("/");
    words("MAKE");
    press("Enter");
    await shows('Nod  4 waiting, 2 with "MAKE"');
    must(!screen().includes("npm run three"), "the filter lists another call");
    press("Escape");
    await until(() => screen().includes("npm run three") && !screen().includes("with \"MAKE\""), "all calls");
    click(3);
    await shows("3 of 4");
    await armed();
    press("m");
    await shows("[y] allow 1 marked");
    await shows("4 of 4");
    press("m");
    await shows("this call is risky: answer it by itself");
    click(1);
    await shows("1 of 4");
    await until(() => { press("m"); return screen().includes("[y] allow 2 marked"); }, "the second mark");
    press("y");
    await shows("2 calls allowed once");
    await until(async () => (await server.status("c1", s)).status === "allowed" && (await server.status("c3", s)).status === "allowed", "both answers");
    must((await server.status("c4", s)).status === "awaiting" && (await server.status("c2", s)).status === "awaiting", "another call was answered");
  },
  async "the risk of a call stands in its row and in its own view"(server) {
    const s = await server.session();
    open(server, 120, 40);
    await shows("Nothing waits");
    for (const [command, label] of [["terraform destroy -auto-approve", "Infrastructure"], ["kubectl delete ns prod", "Infrastructure"],
      ["docker system prune -af --volumes", "Deletes"], ["psql -c 'DROP TABLE x'", "Database"], ["git restore .", "Deletes"],
      ['git commit -m "use rm less, sudo never"', ""]]) {
      const id = `risk-${++server.made}`;
      await server.bash(s, command, id);
      await shows(command);
      await armed();
      // The list is at the left, the call's own view at the right.
      const marked = (half) => screen().split("\n").map((line) => line.split("│")[half] ?? "").filter((line) => /Infrastructure|Deletes|Database|Root access|Not understood/.test(line));
      if (label) await until(() => marked(0).length === 1 && marked(1).length === 1 && marked(1)[0].includes(label), `${command}: its risk`);
      else must(!marked(0).length && !marked(1).length, `${command} has a risk`);
      await server.decide(s, id, "deny");
      await shows("Nothing waits");
    }
  },
  async "more than a thousand: the first are there, the others follow"(server) {
    const s = await server.session();
    for (let i = 0; i < 1020; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => server.bash(s, `make ${i + k}`, `c${i + k}`)));
    open(server, 100, 30);
    await shows("Nod  1020 waiting");
    await shows("1 of 1020");
    const shown = () => /│ +(make \d+) +needs approval/.exec(screen())?.[1];
    const first = shown();
    await armed();
    press("y");
    await until(async () => (await server.status(`c${first.split(" ")[1]}`, s)).status === "allowed", "the answer");
    await until(() => shown() && shown() !== first, "the next one");
    for (const p of (await server.api("GET", "/api/approvals/pending")).pendingApprovals.slice(0, 20)) await server.decide(s, p.toolCallId, "deny");
    await shows("Nod  999 waiting");
  },
  async "hostile text never reaches the terminal raw"(server) {
    const s = await server.session({ title: "\u001b]0;owned\u0007" });
    await server.call(s, "Bash", { command: "make \u001b[2J\u001b[31mred \u202eevil \u200b", description: "\u001b[5mblink\nline" }, "c1");
    await server.call(s, "mcp__x__y", { "\u001b[1mkey": "\u009b31m \u0007" }, "c2");
    open(server);
    await shows("<U+202E>");
    await shows("<U+001B>[2J");
    press("j");
    await shows("key");
    must(!/\u001b\[(2J|5m|31mred)|\u202e|\u009b|\u0007/.test(raw()), "a control character");
    must(!title().includes("owned"), "the title was set");
  },
  async "small, wide, resized; long calls scroll to their end"(server) {
    const s = await server.session();
    await server.call(s, "Note", { text: Array.from({ length: 200 }, (_, i) => `line ${i}`).join("\n") + "\nTHE-END" }, "c1");
    open(server, 40, 10);
    await shows("more lines");
    for (let i = 0; i < 80 && !screen().includes("THE-END"); i++) press("Space");
    await shows("THE-END");
    resize(160, 50);
    await until(() => screen().split("\n")[0].length > 120, "the wide screen");
    await shows("1 waiting");
  },
  async "wide: the list beside the call; snooze and assign by key"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    await server.bash(s, "make two", "c2");
    open(server, 120, 30);
    await shows("2 waiting");
    await until(() => screen().split("\n").some((line) => /make one.*│.*1 of 2/.test(line)), "the list at the left");
    press("h");
    words("2h");
    press("Enter");
    await shows("1 waiting, 1 snoozed");
    await until(() => screen().split("\n").some((line) => /make two.*│/.test(line)), "the other one is first");
    await until(async () => (await server.api("GET", "/api/approvals/pending")).pendingApprovals.some((p) => p.toolCallId === "c1" && p.snoozedUntil), "kept");
    press("k");
    await shows("1 of 2");
    press("p");
    words("admin");
    press("Enter");
    await shows("assigned to admin");
    await until(async () => (await server.api("GET", "/api/approvals/pending")).pendingApprovals.some((p) => p.toolCallId === "c2" && p.assignee === "admin"), "kept");
    press("p");
    words("nobody");
    press("Enter");
    await shows("not assigned");
    press("h");
    words("1s");
    press("Enter");
    await until(async () => (await server.api("GET", "/api/events?types=TOOL_APPROVAL_SNOOZED")).events.length === 2, "the second snooze");
    await until(async () => (await server.api("GET", "/api/approvals/pending")).pendingApprovals.filter((p) => p.snoozedUntil).length === 1, "its end");
    await shows("1 waiting, 1 snoozed");
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
  if (process.argv.length > 2 && !process.argv.slice(2).some((words) => name.includes(words))) continue;
  const server = await new Server().start();
  try {
    await test(server);
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n     ${String(error.message).split("\n").slice(0, 30).join("\n     ")}`);
  }
  close();
  await server.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
