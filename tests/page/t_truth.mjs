// Always the true state: several people and terminals, changes, restarts, broken connections.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { count, face, figures, heading, must, poll, same, within } from "./check.mjs";
import { armed, person, scriptedModel, Server } from "./rig.mjs";
import * as terminal from "./terminal.mjs";

export default {
  async "a folder that the agent named itself is opened from its question"(server) {
    const folder = mkdtempSync(join(tmpdir(), "nod-opened-"));
    await server.api("POST", "/api/policy/rules", { rule: "Bash(make)", effect: "allow", scope: "everywhere" });
    const { token } = await server.api("POST", "/api/tokens", { name: "codex", role: "agent" });
    const s = await server.api("POST", "/api/sessions", { cwd: folder }, token);
    const ask = (id) => server.api("POST", `/api/threads/${s.threadId}/tool-calls`, { id, name: "Bash", input: { command: "make" } }, token);
    const page = await person(server);
    same((await ask("c1")).status, "awaiting", "before it is opened");
    const button = page.getByRole("button", { name: "Let codex work in" });
    await button.click();
    await page.getByText("from the next call on").waitFor();
    same(await button.count(), 0, "the button is gone");
    same((await ask("c2")).status, "allowed", "by the rule, in the opened folder");
    rmSync(folder, { recursive: true });
  },
  async "two browsers: the other one says who answered, and what"(server) {
    const s = await server.session();
    const alice = await person(server, "alice"), bob = await person(server, "bob");
    await server.bash(s, "make test", "c1");
    await Promise.all([armed(alice), armed(bob)]);
    await bob.keyboard.press("y");
    await alice.locator(".banner", { hasText: "bob, Chromium on Linux answered first: allowed once" }).waitFor();
    await alice.locator(".allow").waitFor({ state: "detached" });
    await count(alice, 0);
    same((await server.status("c1", s)).decidedBy.actor, "bob, Chromium on Linux", "who");
  },
  async "two browsers at the same moment: one wins, the other is told"(server) {
    const s = await server.session();
    const alice = await person(server, "alice"), bob = await person(server, "bob");
    await server.bash(s, "make test", "c1");
    await Promise.all([armed(alice), armed(bob)]);
    // A toast goes after some seconds, so both are watched from the beginning.
    const told = new Map([alice, bob].map((page) => [page, page.locator(".toast", { hasText: "allowed" }).waitFor().then(() => "", String)]));
    await Promise.all([alice.keyboard.press("y"), bob.keyboard.press("s")]);
    const winner = (await poll(() => server.status("c1", s), (c) => c.status === "allowed")).decidedBy.actor;
    const [won, lost] = winner.startsWith("alice") ? [alice, bob] : [bob, alice];
    await lost.locator(".banner", { hasText: "answered first" }).waitFor();
    same(await told.get(won), "", "the one who won");
  },
  async "two browsers and a terminal: an answer in one is gone from the others within 200 ms, with who"(server) {
    const s = await server.session(), rounds = 5;
    const alice = await person(server, "alice"), bob = await person(server, "bob");
    for (let i = 0; i <= rounds; i++) await server.bash(s, `make ${i}`, `c${i}`);
    await Promise.all([count(alice, rounds + 1), count(bob, rounds + 1)]);
    for (const page of [alice, bob])
      same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), Array.from({ length: rounds + 1 }, (_, i) => `make ${i}`), "oldest first");
    terminal.open(server, 120, 30);
    await terminal.armed();
    let heard = () => {};
    terminal.listen(() => heard());
    // When the page's count changes, by its own clock and at its own moment; all run on one machine.
    const gone = (page, left) => page.evaluate((words) => new Promise((done) => {
      const look = () => { if (document.querySelector(".list-head p").textContent.startsWith(words)) { off.disconnect(); done(Date.now()); } };
      const off = new MutationObserver(look);
      off.observe(document.querySelector(".list"), { childList: true, subtree: true, characterData: true });
      look();
    }), `${left} waiting`);
    const took = { bob: [], terminal: [] };
    for (let i = 0; i < rounds; i++) {
      await armed(alice);
      const seen = gone(bob, rounds - i);
      // Only what differs is written, so the screen is read when something was.
      const told = new Promise((done) => { heard = () => { if (terminal.screen().includes(`c${i}: allowed by alice`)) done(Date.now()); }; });
      await alice.keyboard.press("y");
      const [there, inTerminal] = await Promise.all([seen, told]);
      await bob.locator(".banner", { hasText: "alice, Chromium on Linux answered first: allowed once" }).waitFor();
      const { events } = await server.api("GET", "/api/events?after=0&types=TOOL_APPROVAL_RESPONSE&limit=1000");
      const at = Date.parse(events.find((event) => event.data.toolCallId === `c${i}`).at);
      took.bob.push(there - at);
      took.terminal.push(inTerminal - at);
      await bob.keyboard.press("j");
    }
    for (const [who, times] of Object.entries(took)) {
      const middle = [...times].sort((a, b) => a - b)[rounds >> 1];
      figures.push(`answered in one browser, gone from ${who === "bob" ? "another" : "the terminal"}, with who: ${middle} ms after it was kept (of ${times.join(", ")})`);
      must(middle < within(200), `${who}: ${times} ms`);
    }
    // And the other way: the terminal answers, both pages say who.
    await terminal.shows("make 5");
    await terminal.armed();
    terminal.press("y");
    await Promise.all([alice, bob].map((page) => page.locator(".banner", { hasText: "admin answered first: allowed once" }).waitFor()));
  },
  async "another content under the same digest's place: not armed, said, refused"(server) {
    const s = await server.session(), page = await person(server);
    let change = false;
    // The server's list with another digest and content for the same call, as after a changed file.
    await page.route("**/api/approvals/pending", async (route) => {
      const answer = await route.fetch().catch(() => null);
      if (!answer) return route.abort();
      const json = await answer.json();
      if (change) for (const p of json.pendingApprovals) { p.digest = "0".repeat(64); p.preview.command = p.toolCall.input.command = "make install"; delete p.parts; }
      await route.fulfill({ response: answer, json });
    });
    await server.bash(s, "make test", "c1");
    await armed(page);
    change = true;
    await server.kill();
    await page.locator(".frame > .lost").waitFor();
    await server.start();
    await page.locator(".banner", { hasText: "changed" }).waitFor();
    await page.locator(".request .whole", { hasText: "make install" }).waitFor();
    // The digest that is sent is that of what is shown, so the server refuses this one.
    await armed(page);
    await page.keyboard.press("y");
    await page.locator(".toast", { hasText: "Not answered" }).waitFor();
    same((await server.status("c1", s)).status, "awaiting", "status");
  },
  async "a file that changes while its difference is on screen: nothing runs, it is shown again"() {
    const folder = mkdtempSync(join(tmpdir(), "nod-changed-")), path = join(folder, "a.c");
    const model = await scriptedModel([[{ type: "tool_use", id: "toolu_1", name: "Edit", input: { file_path: path, old_string: "two", new_string: "zwei" } }]]);
    const server = await new Server({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-none", ANTHROPIC_MODEL: "scripted" }).start();
    try {
      writeFileSync(path, "one\ntwo\nthree\n");
      const page = await person(server);
      const made = await server.api("POST", "/api/agent-requests", { prompt: "go", cwd: folder });
      await server.api("POST", `/api/agent-requests/${made.id}/execute`, {});
      await page.locator(".row.same", { hasText: /three/ }).waitFor();
      await armed(page);
      writeFileSync(path, "one\ntwo\nTHREE\n");
      await page.keyboard.press("y");
      await page.locator(".row.same", { hasText: /THREE/ }).waitFor();
      same(readFileSync(path, "utf8"), "one\ntwo\nTHREE\n", "the file, before it was seen");
      must(await page.locator(".answers.arming, .answers.armed").count() === 1, "it cannot be answered");
      await armed(page);
      await page.keyboard.press("y");
      await poll(() => readFileSync(path, "utf8"), (text) => text === "one\nzwei\nTHREE\n");
      await page.context().close();
    } finally { model.stop(); await server.stop(); rmSync(folder, { recursive: true }); }
  },
  async "multi_diff and what would fail, as our own tools preview them"() {
    const folder = mkdtempSync(join(tmpdir(), "nod-multi-")), path = join(folder, "a.c");
    const edits = [{ old_string: "line 3\n", new_string: "line three\n" }, { old_string: "line 30\n", new_string: "" }];
    const model = await scriptedModel([[{ type: "tool_use", id: "toolu_1", name: "MultiEdit", input: { file_path: path, edits } },
      { type: "tool_use", id: "toolu_2", name: "Edit", input: { file_path: path, old_string: "nowhere", new_string: "x" } }]]);
    const server = await new Server({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-none", ANTHROPIC_MODEL: "scripted" }).start();
    try {
      writeFileSync(path, Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`).join(""));
      const page = await person(server);
      const made = await server.api("POST", "/api/agent-requests", { prompt: "go", cwd: folder });
      await server.api("POST", `/api/agent-requests/${made.id}/execute`, {});
      await heading(page, "Make 2 changes in");
      const [multi] = (await server.api("GET", "/api/approvals/pending")).pendingApprovals;
      same([multi.preview.type, multi.preview.edits], ["multi_diff", 2], "the server's preview");
      same(await page.locator(".diff header").textContent(), "a.c+1 −2", "its head");
      same([await page.locator(".row.hunk").count(), await page.locator(".row.del .n:nth-child(1)").allTextContents()], [1, ["3", "30"]], "hunks and numbers");
      await page.locator(".tools button", { hasText: "Whole file" }).click();
      await page.locator(".row.same", { hasText: "line 40" }).waitFor();
      same([await page.locator(".row.hunk").count(), await page.locator(".row").count()], [0, 41], "the whole file");
      await page.keyboard.press("j");
      await page.locator(".warnings", { hasText: "It will fail:" }).waitFor();
      await page.context().close();
    } finally { model.stop(); await server.stop(); rmSync(folder, { recursive: true }); }
  },
  async "reload with pending requests"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `make ${id}`, id);
    await count(page, 3);
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "make c2" }).waitFor();
    await page.reload();
    await page.locator(".request .whole", { hasText: "make c2" }).waitFor();
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
  },
  async "kill -9 with three shown: disconnected is said, the same three come back, without reload"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `make ${id}`, id);
    await count(page, 3);
    await page.evaluate(() => { window.sameDocument = true; });
    const place = () => page.evaluate(() => ["h1", ".rows", ".answers"].map((name) => Math.round(document.querySelector(name).getBoundingClientRect().top)));
    const before = await place();
    await server.kill();
    await page.locator(".frame > .lost", { hasText: "Disconnected" }).waitFor();
    await page.locator(".frame > .lost", { hasText: "Answering is paused until Nod reconnects" }).waitFor();
    same(await place(), before, "what is read has moved");
    must(await page.locator(".allow").isDisabled(), "an answer is possible");
    await page.keyboard.press("y");
    same(await page.title(), "Nod (disconnected)", "title");
    await server.start();
    await page.locator(".frame > .lost").waitFor({ state: "detached" });
    await count(page, 3);
    same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), ["make c1", "make c2", "make c3"], "the three");
    must(await page.evaluate(() => window.sameDocument), "the page was loaded again");
    await page.locator(".request .verdict", { hasText: "needs approval" }).waitFor(); // what rules say of it came back too
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c1", s), (c) => c.status === "allowed");
  },
  async "offline and back: what happened meanwhile is there"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make one", "c1");
    await count(page, 1);
    await page.context().setOffline(true);
    await page.locator(".frame > .lost").waitFor();
    await server.decide(s, "c1", "deny", { feedback: "no" });
    await server.bash(s, "make two", "c2");
    await page.context().setOffline(false);
    await page.locator(".frame > .lost").waitFor({ state: "detached" });
    await page.locator(".banner", { hasText: "admin answered first: denied" }).waitFor();
    await face(page, "make two").waitFor();
  },
  async "offline: what would write or read at the server is off on every screen, and back with the connection"(server) {
    const s = await server.session(), page = await person(server);
    await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(make:*)", scope: "everywhere" });
    for (const [screen, words] of [["history", ["Export CSV", "Export JSON Lines"]], ["rules", ["Explain", "Change", "Revoke"]], ["settings", ["Make a link"]]]) {
      await page.goto(`${server.url}/#/${screen}`);
      await page.locator("main button", { hasText: words[0] }).first().waitFor();
      await page.context().setOffline(true);
      await page.locator(".frame > .lost").waitFor();
      for (const word of words) must(await page.locator("main button", { hasText: word }).first().isDisabled(), `${screen}: ${word} is on`);
      await page.context().setOffline(false);
      await page.locator(".frame > .lost").waitFor({ state: "detached" });
      must(await page.locator("main button", { hasText: words[0] }).first().isEnabled(), `${screen}: ${words[0]} stays off`);
    }
    await page.goto(`${server.url}/#/session/${s.id}`);
    await page.locator(".mode select").waitFor();
    await page.context().setOffline(true);
    await page.locator(".mode select[disabled]").waitFor();
    await page.context().setOffline(false);
  },
  async "a request that times out or is taken back says so"(server) {
    const s = await server.session({ approvalTimeoutSeconds: 15 }), page = await person(server);
    await server.bash(s, "make one", "c1");
    await page.locator(".chip", { hasText: "left" }).waitFor();
    await page.locator(".banner", { hasText: "timed out" }).waitFor();
    const other = await server.session({ title: "other" });
    await server.bash(other, "make two", "c2");
    await face(page, "make two").waitFor();
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "make two" }).waitFor();
    await server.api("POST", `/api/tool-calls/c2/cancel?session=${other.id}`, {}, server.agent);
    await page.locator(".banner", { hasText: "taken back by the agent" }).waitFor();
  },
};
