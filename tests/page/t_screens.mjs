// Sessions, files, log, figures.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { face, figures, heading, must, poll, same } from "./check.mjs";
import { armed, person, scriptedModel, Server } from "./rig.mjs";

export default {
  async "settings: what was heard of each agent, and old sessions leave for an archive"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make", "c1");
    await page.goto(`${server.url}/#/settings`);
    await page.locator("section", { hasText: "Agents" }).locator("li", { hasText: "asked here" }).first().waitFor();
    await page.locator("button", { hasText: "Archive them" }).click();
    await page.locator(".toast", { hasText: "Nothing is that old" }).waitFor();
  },
  async "sessions and timeline, live"(server) {
    const s = await server.session({ title: "the first" }), page = await person(server);
    await page.goto(server.url + "/#/sessions");
    await page.locator("a.card", { hasText: "the first" }).click();
    await server.bash(s, "make test", "c1");
    await page.locator(".entry.call.waits", { hasText: "make test" }).waitFor();
    await server.decide(s, "c1", "allow_once");
    await page.locator(".entry.call.good", { hasText: "allowed once by admin" }).waitFor();
    await server.api("POST", `/api/tool-calls/c1/result?session=${s.id}`, { content: "12 passed" }, server.agent);
    await page.locator(".entry.call.good summary").click();
    await page.locator(".entry pre", { hasText: "12 passed" }).waitFor();
    await page.locator(".entry .command pre", { hasText: "make test" }).waitFor();
    // An edit is the difference that was allowed; nothing in a timeline is JSON, and a hook's agent hears nothing here.
    await server.call(s, "Edit", { file_path: "/tmp/a.c", old_string: "int a = 1;", new_string: "int a = 2;" }, "c2");
    await server.decide(s, "c2", "allow_once");
    await page.locator(".entry.call.good summary", { hasText: "/tmp/a.c" }).click();
    await page.locator(".entry .diff", { hasText: "int a = 2;" }).waitFor();
    await server.api("POST", `/api/threads/${s.threadId}/events`, { type: "LOCAL_SYSTEM_MESSAGE", data: { text: "the agent was restarted" } }, server.agent);
    await page.locator(".entry.small", { hasText: /\d the agent was restarted/ }).waitFor();
    must(!/[{}]|old_string/.test(await page.locator(".timeline").textContent()), "JSON in the timeline");
    await page.locator(".no-messages", { hasText: "takes no messages here" }).waitFor();
    same(await page.locator(".continue").count(), 0, "fields for a message that nobody reads");
    await page.locator(".mode select").selectOption("acceptEdits");
    await page.locator(".toast", { hasText: "Accept edits" }).waitFor();
    same((await server.api("GET", `/api/sessions/${s.id}`)).permissionMode, "acceptEdits", "mode");
    await page.locator(".entry.small", { hasText: "changed the mode to Accept edits" }).waitFor();
  },
  async "rules that do not do what they say are named, with what was meant; a new one is refused"(server) {
    await server.api("POST", "/api/policy/rules", { effect: "deny", rule: "Bsh(rm:*)", force: true });
    await server.api("POST", "/api/policy/rules", { effect: "deny", rule: "Bash(rm:*)" });
    const page = await person(server);
    await page.goto(server.url + "/#/rules");
    const dead = page.locator("section", { hasText: "These do not do what they say" });
    await dead.locator("code", { hasText: "Bash(rm:*)" }).waitFor();
    same(await dead.locator("li").count(), 1, "dead rules");
    const form = page.locator("section", { hasText: "Add a rule" });
    await form.locator("select").first().selectOption("deny");
    await form.locator("input.mono").fill("Bash(git psuh:*)");
    await form.locator("button", { hasText: "Add" }).click();
    await page.locator(".toast", { hasText: "did you mean Bash(git push:*)?" }).waitFor();
    same((await server.api("GET", "/api/policy")).user.length, 2, "rules");
  },
  async "a run from a prompt: text as it comes, a real difference, an answer, its end"(other) {
    if (!(await other.api("GET", "/api/openapi.json")).paths["/api/agent-requests"]) return "no runs on this server";
    const folder = mkdtempSync(join(tmpdir(), "nod-run-"));
    writeFileSync(join(folder, "greet.c"), Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join(""));
    let go;
    const hold = new Promise((done) => { go = done; });
    const model = await scriptedModel([
      [{ type: "text", text: "I will change **one** line.", hold },
        { type: "tool_use", id: "toolu_1", name: "Edit", input: { file_path: join(folder, "greet.c"), old_string: "line 15", new_string: "line fifteen" } }],
      [{ type: "text", text: "All done, <b>truly</b>." }]]);
    const server = await new Server({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "sk-none", ANTHROPIC_MODEL: "scripted" }).start();
    try {
      const page = await person(server);
      await page.goto(server.url + "/#/sessions");
      await page.locator("button", { hasText: "New run" }).click();
      await page.locator(".start textarea").fill("change the line");
      await page.locator(".start input").first().fill(folder);
      await page.locator(".start button", { hasText: "Start" }).click();
      await page.locator(".draft", { hasText: "I will change one line." }).waitFor();
      go();
      await page.locator(".entry.call.waits button").click();
      await page.locator(".row.del", { hasText: "line 15" }).waitFor();
      await page.locator(".row.add .mark", { hasText: "fifteen" }).waitFor();
      same(await page.locator(".row.del .n").first().textContent(), "16", "the line's number in the file");
      await armed(page);
      await page.keyboard.press("y");
      await poll(() => readFileSync(join(folder, "greet.c"), "utf8"), (text) => text.includes("line fifteen"));
      await page.goto(server.url + "/#/sessions");
      await page.locator("a.card").first().click();
      await page.locator(".entry.agent", { hasText: "All done, <b>truly</b>." }).waitFor();
      await page.locator(".entry", { hasText: "The agent finished its turn" }).waitFor();
      await page.context().close();
    } finally {
      go();
      model.stop();
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  },
  async "an agent's edit in its place in the file; the whole file on demand; no other file is given"(server) {
    const folder = mkdtempSync(join(tmpdir(), "nod-file-"));
    try {
      const text = Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`).join("");
      writeFileSync(join(folder, "a.c"), text);
      writeFileSync(join(folder, "b.bin"), Buffer.from([0, 1, 255]));
      const s = await server.session({ cwd: folder }), page = await person(server);
      await server.call(s, "Edit", { file_path: join(folder, "a.c"), old_string: "line 20", new_string: "line twenty" }, "c1");
      await heading(page, "Change 1 line in");
      await page.locator(".row", { hasText: "⋯ line 17" }).waitFor();
      same([await page.locator(".row.del .n").first().textContent(), await page.locator(".row").count()], ["20", 9], "number in the file, rows");
      await page.keyboard.press("f");
      await page.locator(".row.same", { hasText: "line 40" }).waitFor();
      same(await page.locator(".row").count(), 41, "rows of the whole");
      await armed(page);
      await page.keyboard.press("y");
      // Several edits, one file; then a file that is not what it was.
      await server.call(s, "MultiEdit", { file_path: join(folder, "a.c"), edits: [{ old_string: "line 3\n", new_string: "line three\n" }, { old_string: "line 30", new_string: "line thirty" }] }, "c2");
      await page.locator(".row.del", { hasText: "line 30" }).waitFor();
      await page.locator(".tools button", { hasText: "Whole file" }).click();
      await page.locator(".row.same", { hasText: "line 40" }).waitFor();
      same([await page.locator(".diff").count(), await page.locator(".row.add .n:nth-child(2)").allTextContents()], [1, ["3", "30"]], "one file, its numbers");
      await page.keyboard.press("n");
      await page.keyboard.press("Enter");
      await server.call(s, "Edit", { file_path: join(folder, "a.c"), old_string: "line 99", new_string: "x" }, "c3");
      await page.getByText("It will fail:").first().waitFor();
      await page.keyboard.press("f");
      await page.locator(".toast", { hasText: "no longer what this difference was made from" }).waitFor();
      // What is written over, and what is new.
      await page.keyboard.press("n");
      await page.keyboard.press("Enter");
      await server.call(s, "Write", { file_path: join(folder, "a.c"), content: text.replace("line 7\n", "line seven\n") }, "w1");
      await page.locator(".row.del", { hasText: "line 7" }).waitFor();
      same([await page.locator(".row.add").count(), await page.locator(".row.del").count()], [1, 1], "what a Write changes");
      await server.decide(s, "w1", "deny");
      await server.call(s, "Write", { file_path: join(folder, "new.c"), content: "x\n" }, "w2");
      await face(page, "new.c").click();
      await page.locator(".diff .tag", { hasText: "new file" }).waitFor();
      await server.decide(s, "w2", "deny");
      // Where the session's folder is not on this machine nothing is known of the file, nor that it is new.
      const gone = await server.session({ cwd: join(folder, "gone") });
      const answered = page.waitForResponse((response) => response.url().endsWith("/approvals/g1/file"));
      await server.call(gone, "Write", { file_path: join(folder, "gone", "far.c"), content: "x\n" }, "g1");
      await face(page, "far.c").click();
      same((await answered).status(), 404, "a folder that is not there");
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      same(await page.locator(".diff .tag", { hasText: "new file" }).count(), 0, "a file of which nothing is known");
      await server.decide(gone, "g1", "deny");
      await server.call(s, "Edit", { file_path: join(folder, "a.c"), old_string: "line 1\n", new_string: "x" }, "c9");
      // Only people, only what waits, only text, only beneath the folder.
      const path = (id) => `/api/sessions/${s.id}/approvals/${id}/file`;
      const status = async (id, token) => (await server.api("GET", path(id), undefined, token).then(() => ({ status: 200 }), (error) => error)).status;
      for (const [id, file] of [["c4", "/etc/passwd"], ["c5", "../../etc/passwd"], ["c6", join(folder, "b.bin")], ["c7", join(folder, "none")]])
        await server.call(s, "Edit", { file_path: file, old_string: "a", new_string: "b" }, id);
      await server.bash(s, "cc a.c", "c8");
      same(await Promise.all([status("c9"), status("c9", server.agent), status("c1"), status("c4"), status("c5"), status("c6"), status("c7"), status("c8"), status("none")]),
        [200, 403, 404, 403, 403, 400, 404, 400, 404], "statuses");
    } finally { rmSync(folder, { recursive: true }); }
  },
  async "log: search, filter, export"(server) {
    const s = await server.session({ cwd: "/tmp" }), page = await person(server);
    for (let i = 0; i < 8; i++) { await server.bash(s, `make ${i}`, `c${i}`); if (i < 6) await server.decide(s, `c${i}`, i % 2 ? "deny" : "allow_once", i % 2 ? { feedback: "=1+1" } : {}); }
    await server.call(s, "Read", { file_path: "/tmp/x" }, "r1");
    await page.goto(server.url + "/#/log");
    const rows = (n) => poll(() => page.locator(".log td.what").count(), (found) => found === n);
    await rows(9);
    await page.locator("select[aria-label='Decided by']").selectOption("person");
    await rows(6);
    await page.locator("select[aria-label=Decision]").selectOption("denied");
    await rows(3);
    await page.locator("input[type=search]").fill("MAKE 3");
    await rows(1);
    await page.locator("input[type=search]").fill("");
    await rows(3);
    const text = async (name) => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: name }).click()]);
      return readFileSync(await file.path(), "utf8");
    };
    const csv = (await text("Export CSV")).trim().split("\r\n");
    same(csv.length, 4, "lines of CSV");
    must(csv[1].includes("\"'=1+1\""), `a formula: ${csv[1]}`);
    same((await text("Export JSON Lines")).trim().split("\n").map((l) => JSON.parse(l).outcome), ["denied", "denied", "denied"], "JSON Lines");
    // Pages of the API join without gap or repeat, answers included that lie behind the page.
    const all = (await server.api("GET", "/api/audit?limit=100")).records, paged = [];
    for (let before = ""; ;) {
      const one = await server.api("GET", `/api/audit?limit=2${before}`);
      paged.push(...one.records);
      if (!one.next) break;
      before = `&before=${one.next}`;
    }
    same(paged, all, "pages");
  },
  async "figures"(server) {
    const s = await server.session({ cwd: "/tmp" }), page = await person(server);
    for (let i = 0; i < 6; i++) { await server.bash(s, "make test", `c${i}`); await server.decide(s, `c${i}`, "allow_once"); }
    for (let i = 0; i < 6; i++) await server.call(s, "Read", { file_path: `/tmp/${i}` });
    await page.goto(server.url + "/#/figures");
    await page.locator(".chart", { hasText: "Tool calls" }).locator(".big", { hasText: "12" }).waitFor();
    await page.locator(".chart", { hasText: "Passed by rule" }).locator(".big", { hasText: "50 %" }).waitFor();
    await page.locator(".card", { hasText: "Suggestions" }).locator("li", { hasText: "make test needed approval 6 times and was always allowed" }).waitFor();
    // Every bar says its time and its value; each theme draws it in its own colour.
    const bar = page.locator(".chart", { hasText: "Tool calls" }).locator("g").last();
    must(/\d\d:\d\d to \d\d:\d\d: 12$/.test(await bar.locator("title").textContent()), await bar.locator("title").textContent());
    const colours = [];
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      colours.push(await bar.locator("rect:not(.hit)").evaluate((e) => getComputedStyle(e).fill));
    }
    must(colours[0] !== colours[1], `the same colour in both themes: ${colours}`);
  },
  async "the quiet inbox says what passed, and why"(server) {
    const s = await server.session({ cwd: "/tmp" });
    for (let i = 0; i < 3; i++) await server.call(s, "Read", { file_path: `/tmp/${i}` });
    const page = await person(server);
    await page.locator(".quiet-inbox tr", { hasText: /3 ×.*Read.*passed.*it only reads inside/ }).waitFor();
  },
  async "sessions say what their agent is doing, what it cost, and what is new"(server) {
    const one = await server.session({ title: "alpha" }), two = await server.session({ title: "beta" }), page = await person(server);
    const report = (session, status, more = {}) => server.api("POST", `/api/threads/${session.threadId}/events`, { type: "RUN_STATUS", data: { source: "claude", agent: "claude", status, ...more } }, server.agent);
    await report(one, "running");
    await report(two, "completed", { total_cost_usd: 0.84 });
    await page.goto(server.url + "/#/sessions");
    const card = (title) => page.locator(".cards .card", { hasText: title });
    await card("alpha").filter({ hasText: "Working (new) · claude" }).waitFor();
    await card("beta").filter({ hasText: "Idle (new) · claude · $0.84" }).waitFor();
    await server.bash(one, "make one", "c1");
    await card("alpha").filter({ hasText: "Waiting for you" }).waitFor();
    await report(two, "ended");
    await card("beta").filter({ hasText: "Ended" }).waitFor();
    await card("beta").click();
    await page.locator("main h1", { hasText: "beta" }).waitFor();
    await page.goBack();
    await card("beta").filter({ hasText: "Ended · claude" }).waitFor();
  },
};
