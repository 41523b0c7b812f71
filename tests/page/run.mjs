// The page in real Chromium, on the real server with the real store. Ends with `N passed, N failed`.
// NOD=path/to/nod node run.mjs [words in a test's name]...
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire } from "node:module";
import * as terminal from "./terminal.mjs";
import { armed, closeBrowser, DESKTOP, openBrowser, person, PHONE, scriptedModel, Server } from "./rig.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const figures = [];

function must(truth, words) { if (!truth) throw new Error(words); }
function same(found, wanted, words) { must(JSON.stringify(found) === JSON.stringify(wanted), `${words}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`); }
const face = (page, text) => page.locator(".item .face", { hasText: text });
const count = (page, n) => page.locator(".list-head p", { hasText: new RegExp(`^${n} waiting`) }).waitFor();
const heading = (page, text) => page.locator(".request h1", { hasText: text }).waitFor();

/* What axe finds serious. The themes have the same elements: in the second one only colours are looked at again. */
async function serious(page, rules) {
  await page.evaluate(axeSource);
  const found = await page.evaluate((only) => window.axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) }), rules);
  return found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")}`);
}

/* Targets that a finger would miss; words within a line of text are none of their own. */
const tooSmall = (page) => page.evaluate(() => [...document.querySelectorAll("button, select, input, textarea, nav a, a.button, a.card, summary")]
  .filter((e) => e.checkVisibility({ opacityProperty: true }) && !e.matches(".copy, .sr, input[type=checkbox], input[type=radio]"))
  .map((e) => [e.outerHTML.slice(0, 60), e.getBoundingClientRect().height]).filter(([, height]) => height < 43.5));

async function everyScreen(server, options, scheme) {
  const phone = options === PHONE, s = await server.session();
  const sub = await server.api("POST", `/api/sessions/${s.id}/threads`, { title: "reviewer", parentId: s.threadId });
  await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(tail:*)", reason: "only reads", expiresAt: new Date(Date.now() + 9e6).toISOString() });
  await server.call(s, "Bash", { command: "cd src && rm -rf build | tail -3", description: "clean" }, "c1");
  await server.call(s, "Edit", { file_path: "/tmp/a.c", old_string: "int a = 1;\nint b;", new_string: "int a = 2; /* two */\nint b;" }, "c2", { thread: sub.id });
  await server.call(s, "mcp__x__y", { a: 1, b: ["c"], d: { e: "f\u202e" } }, "c3");
  await server.call(s, "AskUserQuestion", { questions: [{ question: "Which?", header: "H", multiSelect: true, options: [{ label: "A", description: "a" }, { label: "B" }] }] }, "c5");
  await server.call(s, "ExitPlanMode", { plan: "# Plan\n\n1. `do` **it**" }, "c6");
  await server.bash(s, "echo old", "c4");
  await server.decide(s, "c4", "deny", { feedback: "no" });
  const page = await person(server, "alice", { ...options, colorScheme: scheme, reducedMotion: "reduce" });
  const check = async (where) => {
    same(await serious(page, scheme === "dark" ? ["color-contrast"] : undefined), [], `${where}, ${scheme}, ${options.viewport.width}`);
    if (!phone) return;
    same(await tooSmall(page), [], `too small for a finger on ${where}`);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where} scrolls sideways`);
  };
  const back = async () => { if (phone && await page.locator(".back").isVisible()) await page.locator(".back").click(); };
  await count(page, 5);
  if (phone) await check("inbox");
  for (const text of ["Carry out", "Which?", "Use y", "Change", "cd src"]) {
    await back();
    await face(page, text).click();
    await armed(page);
    await check(text);
  }
  for (const key of ["n", "x", "e", "a"]) {
    await page.keyboard.press(key);
    await page.locator(".panel").waitFor();
    await check(`panel ${key}`);
    await page.keyboard.press("Escape");
    await page.locator(".panel").waitFor({ state: "detached" });
  }
  if (phone) { await page.locator(".toggle").click(); await check("more"); await back(); }
  await page.keyboard.press("?");
  await page.locator("dialog").waitFor();
  await check("help");
  await page.keyboard.press("Escape");
  for (const text of ["Use y", "Change"]) await page.locator(".item", { hasText: text }).locator("input").check();
  await page.locator("article[aria-label='Several requests']").waitFor();
  await check("several");
  const further = {
    sessions: async () => { await page.locator("button", { hasText: "New run" }).click(); await page.locator(".start").waitFor(); },
    [`session/${s.id}`]: () => page.locator(".entry.call summary").first().click(),
    rules: async () => {
      await page.locator("button", { hasText: "Change" }).click();
      await page.locator("label", { hasText: "Command, path" }).locator("input").fill("tail x | wc");
      await page.locator("button", { hasText: "Explain" }).click();
      await page.locator("form .parts").waitFor();
    },
  };
  for (const [place, ready] of [["sessions", "a.card"], [`session/${s.id}`, ".entry.call summary"], ["log", "tbody tr"], ["figures", ".chart"], ["settings", "tbody tr"], ["rules", ".rule-list"]]) {
    await page.goto(`${server.url}/#/${place}`);
    await page.locator(ready).first().waitFor();
    await check(place);
    if (further[place]) { await further[place](); await check(`${place}, further`); }
  }
}

const tests = {
  // ---- answers ----
  async "allow once by mouse"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make test", "c1");
    await heading(page, "Run a command");
    await armed(page);
    await page.locator(".allow").click();
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    const call = await server.status("c1", s);
    same([call.status, call.decision, call.decidedBy.actor], ["allowed", "allow_once", "alice, Chromium on Linux"], "the call");
    await page.locator(".quiet-inbox h1", { hasText: "Nothing waits" }).waitFor();
  },
  async "allow for the session: the next one passes"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make test", "c1");
    await armed(page);
    await page.keyboard.press("s");
    await page.locator(".toast", { hasText: "for the session" }).waitFor();
    same((await server.status("c1", s)).decision, "allow_session", "decision");
    same((await server.bash(s, "make test", "c2")).status, "allowed", "the same call again");
  },
  async "allow always with a chosen rule"(server) {
    const s = await server.session(), page = await person(server);
    if (!(await page.locator("nav a[href='#/rules']").count())) return "no rules on this server";
    await server.bash(s, "make test", "c1");
    await armed(page);
    await page.keyboard.press("a");
    await page.locator("#rule-text").fill("Bash(make test:*)");
    await page.locator(".panel [role=status]", { hasText: /Would have covered \d+ of/ }).waitFor();
    await page.locator("button", { hasText: "Allow always" }).click();
    await page.locator(".toast", { hasText: "from now on" }).waitFor();
    const other = await server.session({ title: "another" });
    same((await server.bash(other, "make test", "c2")).status, "allowed", "in another session");
    await page.goto(server.url + "/#/rules");
    const line = page.locator(".rule-list li", { hasText: "Bash(make test:*)" });
    await line.locator("button", { hasText: "Revoke" }).click();
    await line.waitFor({ state: "detached" });
    same((await server.bash(other, "make test", "c3")).status, "awaiting", "after it was revoked");
  },
  async "rules: try a call and see why"(server) {
    const page = await person(server);
    if (!(await page.locator("nav a[href='#/rules']").count())) return "no rules on this server";
    await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(git diff:*)" });
    await page.goto(server.url + "/#/rules");
    await page.locator("label", { hasText: "Command, path or input" }).locator("input").fill("git diff --stat | head -5");
    await page.locator("button", { hasText: "Explain" }).click();
    await page.locator(".verdict.good", { hasText: "Bash(git diff:*)" }).waitFor();
    await page.locator(".verdict.warn").waitFor();
  },
  async "rules: changed in place, with reason and expiry; what could be tidied"(server) {
    const s = await server.session(), page = await person(server);
    await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(make test:*)", reason: "safe" });
    for (let i = 0; i < 3; i++) { await server.bash(s, "git fetch origin", `c${i}`); await server.decide(s, `c${i}`, "allow_once"); }
    await page.goto(server.url + "/#/rules");
    const line = page.locator(".rule-list li", { hasText: "Bash(make test:*)" });
    await line.filter({ hasText: "safe" }).filter({ hasText: "never used" }).filter({ hasText: "by admin" }).waitFor();
    await line.locator("button", { hasText: "Change" }).click();
    const form = page.locator(".rule-list form");
    await form.locator("input.mono").fill("Bash(make check:*)");
    await form.locator("select").first().selectOption("deny");
    await form.locator("label", { hasText: "Reason" }).locator("input").fill("too slow");
    await form.locator("label", { hasText: "Holds" }).locator("select").selectOption("1");
    await form.locator("button", { hasText: "Save" }).click();
    await page.locator(".toast", { hasText: "Rule changed" }).waitFor();
    const after = page.locator(".rule-list li", { hasText: "Bash(make check:*)" });
    await after.filter({ hasText: "deny" }).filter({ hasText: "too slow" }).filter({ hasText: /\d+ (min|h).* left|59:\d\d left|60:00 left|1 h 00 left/ }).waitFor();
    same(await page.locator(".rule-list li").count(), 1, "rules");
    same((await server.bash(s, "make check", "d1")).status, "denied", "the new rule");
    same((await server.bash(s, "make test", "d2")).status, "awaiting", "the old rule");
    // A rule that cannot be read changes nothing.
    await after.locator("button", { hasText: "Change" }).click();
    await form.locator("input.mono").fill("Bash(");
    await form.locator("button", { hasText: "Save" }).click();
    await page.locator(".toast.bad").waitFor();
    same((await server.api("GET", "/api/policy")).user.map((rule) => rule.rule), ["Bash(make check:*)"], "after a bad one");
    await page.locator("button", { hasText: "Cancel" }).click();
    await page.locator(".tidy li", { hasText: "git fetch was asked 3 times and always allowed" }).locator("a").click();
    await page.locator("section", { hasText: "Add a rule" }).locator("button", { hasText: "Add" }).click();
    await page.locator(".rule-list li", { hasText: "Bash(git fetch:*)" }).waitFor();
    await page.locator(".tidy li", { hasText: "Bash(git fetch:*) has never decided anything" }).locator("button").click();
    await page.locator(".rule-list li", { hasText: "Bash(git fetch:*)" }).waitFor({ state: "detached" });
  },
  async "deny with words"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "rm -rf build", "c1");
    await heading(page, "Run a command");
    await page.keyboard.press("n");
    await page.locator("#deny-words").fill("keep it, use make clean");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "denied" }).waitFor();
    const call = await server.status("c1", s);
    same([call.status, call.feedback], ["denied", "keep it, use make clean"], "the call");
  },
  async "abort"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make", "c1");
    await heading(page, "Run a command");
    await page.keyboard.press("x");
    await page.locator("#deny-words").fill("stop");
    await page.locator("button", { hasText: "Abort the run" }).click();
    await page.locator(".toast", { hasText: "aborted" }).waitFor();
    same((await server.status("c1", s)).status, "aborted", "status");
  },
  async "edit a command, then allow"(server) {
    const s = await server.session(), page = await person(server);
    await server.call(s, "Bash", { command: "make test", timeout: 30 }, "c1");
    await armed(page);
    await page.keyboard.press("e");
    await page.locator("#edit-input").fill("make -n test");
    await page.locator("button", { hasText: "Allow as edited" }).click();
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    same((await server.status("c1", s)).input, { command: "make -n test", timeout: 30 }, "what is to run");
  },
  async "edit a whole input keeps the digits of numbers"(server) {
    const s = await server.session(), page = await person(server);
    await server.api("POST", `/api/threads/${s.threadId}/tool-calls`, '{"id":"c1","name":"Pay","input":{"cents":12345678901234567890,"rate":1.10}}', server.agent);
    await page.locator(".tree", { hasText: "12345678901234567890" }).waitFor();
    await page.locator(".tree", { hasText: "1.10" }).waitFor();
    await armed(page);
    await page.keyboard.press("e");
    const field = page.locator("#edit-input");
    await field.fill("{ no json");
    must(await page.locator("button", { hasText: "Allow as edited" }).isDisabled(), "what is no JSON could be sent");
    await field.fill('{"cents": 12345678901234567891, "rate": 1.10}');
    await page.locator("button", { hasText: "Allow as edited" }).click();
    await page.locator(".toast", { hasText: "allowed" }).waitFor();
    const text = await (await fetch(`${server.url}/api/tool-calls/c1`, { headers: { Authorization: `Bearer ${server.token}` } })).text();
    must(/"cents": ?12345678901234567891/.test(text) && /"rate": ?1\.10/.test(text), `the digits changed: ${text}`);
  },

  async "a question: a form, its answers by keys and by mouse, as Claude Code reads them"(server) {
    const s = await server.session(), page = await person(server);
    const questions = [
      { question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "r" }, { label: "Blue", description: "<b>b</b>" }] },
      { question: "Which sizes?", header: "Size", multiSelect: true, options: [{ label: "S" }, { label: "M" }, { label: "L" }] }];
    await server.call(s, "AskUserQuestion", { questions, metadata: { n: 1 } }, "q1");
    await heading(page, "2 questions for you");
    await armed(page);
    const send = page.locator(".allow", { hasText: "Send answers" });
    must(await send.isDisabled(), "it can be sent without answers");
    await page.keyboard.press("y");
    await page.keyboard.press("2");
    await page.locator(".question label", { hasText: "L" }).last().locator("input").check();
    await page.keyboard.press("1");
    same((await server.status("q1", s)).status, "awaiting", "before it is sent");
    await page.keyboard.press("y");
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    const call = await server.status("q1", s);
    same([call.decision, call.input], ["allow_once", { questions, metadata: { n: 1 }, answers: { "Which colour?": "Blue", "Which sizes?": "S, L" } }], "the answers");
    // Words of one's own; and no answer at all.
    await server.call(s, "AskUserQuestion", { questions: questions.slice(0, 1) }, "q2");
    await heading(page, "Which colour?");
    await armed(page);
    await page.locator("#own-0").fill("green, please");
    await page.keyboard.press("Enter");
    await poll(() => server.status("q2", s), (c) => c.status === "allowed");
    same((await server.status("q2", s)).input.answers, { "Which colour?": "green, please" }, "own words");
    await server.call(s, "AskUserQuestion", { questions: questions.slice(0, 1) }, "q3");
    await heading(page, "Which colour?");
    await page.keyboard.press("n");
    await page.locator("#deny-words").fill("ask me later");
    await page.keyboard.press("Enter");
    await poll(() => server.status("q3", s), (c) => c.feedback === "ask me later");
  },
  async "a form of an MCP server: its fields, with their types"(server) {
    const s = await server.session(), page = await person(server);
    await server.call(s, "Elicitation", { message: "Your details", requested_schema: { type: "object", required: ["name", "age"], properties: {
      name: { type: "string", title: "Name" }, age: { type: "integer" }, news: { type: "boolean", description: "News by mail?" }, plan: { type: "string", enum: ["free", "paid"] } } } }, "f1");
    await heading(page, "Your details");
    await armed(page);
    await page.locator("#own-0").fill("Ada");
    await page.locator("#own-1").fill("thirty");
    must(await page.locator(".allow").isDisabled(), "a word was taken for a number");
    await page.locator("#own-1").fill("36");
    await page.locator("[data-question='2'] label", { hasText: "no" }).locator("input").check();
    await page.locator(".allow").click();
    await poll(() => server.status("f1", s), (c) => c.status === "allowed");
    same((await server.status("f1", s)).input.content, { name: "Ada", age: 36, news: false }, "the content");
  },
  async "a plan: read as Markdown, carried out in a chosen mode, or sent back"(server) {
    const s = await server.session({ permissionMode: "plan" }), page = await person(server);
    await server.call(s, "ExitPlanMode", { plan: "# The plan\n\n1. do **it**\n2. <b>test</b> it" }, "p1");
    await heading(page, "Carry out this plan?");
    same(await page.locator(".plan ol li").allTextContents(), ["do it", "<b>test</b> it"], "the steps");
    await page.keyboard.press("n");
    await page.locator("#deny-words").fill("test first");
    await page.keyboard.press("Enter");
    await poll(() => server.status("p1", s), (c) => c.feedback === "test first");
    await server.call(s, "ExitPlanMode", { plan: "# The plan v2" }, "p2");
    await page.locator(".plan", { hasText: "The plan v2" }).waitFor();
    await armed(page);
    await page.locator("select[aria-label='The mode that follows']").selectOption("acceptEdits");
    await page.locator(".allow", { hasText: "Carry it out" }).click();
    await poll(() => server.status("p2", s), (c) => c.status === "allowed");
    await poll(() => server.api("GET", `/api/sessions/${s.id}`), (session) => session.permissionMode === "acceptEdits");
  },

  // ---- the list ----
  async "groups by session and by agent, a sub-agent says whose it is; kinds; search"(server) {
    const one = await server.session({ title: "first" }), two = await server.session({ title: "second", cwd: "/home/alice/site" });
    const sub = await server.api("POST", `/api/sessions/${one.id}/threads`, { title: "reviewer", parentId: one.threadId });
    await server.bash(one, "echo a", "c1");
    await server.bash(two, "rm -rf b", "c2");
    await server.call(one, "Write", { file_path: "/tmp/x", content: "needle" }, "c3", { thread: sub.id });
    await server.call(two, "mcp__x__y", { a: 1 }, "c4");
    const page = await person(server);
    await count(page, 4);
    const rows = () => page.locator(".rows > [role=listitem]").evaluateAll((all) => all.map((row) => row.matches(".group") ? `# ${row.querySelector("b").textContent}` : row.querySelector(".who").textContent.replace(/\d+ s$/, "")));
    await page.locator(".group", { hasText: "second" }).waitFor();
    same(await rows(), ["# first", "Bashclaude-code", "Write↳ reviewer, of claude-code", "# second", "Bashclaude-code⚠ risky", "x: yclaude-code"], "by session");
    // The keys go the way of the list.
    await page.keyboard.press("j");
    await page.locator(".crumbs", { hasText: "first›claude-code›reviewer (sub-agent)" }).waitFor();
    await page.locator(".count", { hasText: "2 of 4" }).waitFor();
    await page.locator("select[aria-label=Group]").selectOption("agent");
    same((await rows()).filter((row) => row.startsWith("#")), ["# claude-code", "# claude-code", "# reviewer"], "by agent");
    await page.locator(".group", { hasText: "sub-agent of claude-code, first" }).waitFor();
    await page.locator("select[aria-label=Group]").selectOption("none");
    same((await rows()).length, 4, "not grouped");
    for (const [kind, found] of [["risky", 1], ["command", 2], ["file", 1], ["other", 1], ["question", 0]]) {
      await page.locator("select[aria-label=Show]").selectOption(kind);
      await page.locator(".list-head p", { hasText: `${found} waiting of 4` }).waitFor();
    }
    await page.locator("select[aria-label=Show]").selectOption("");
    await page.locator("#search").fill("NEEDLE");
    await page.locator(".list-head p", { hasText: "1 waiting of 4" }).waitFor();
    await page.locator("#search").fill("second");
    await page.locator(".list-head p", { hasText: "2 waiting of 4" }).waitFor();
  },
  async "nothing moves in the list while the pointer is over it"(server) {
    const one = await server.session({ title: "first" }), two = await server.session({ title: "second" });
    await server.bash(one, "echo a", "c1");
    await server.bash(two, "echo b", "c2");
    const page = await person(server);
    await count(page, 2);
    await page.locator(".group", { hasText: "second" }).waitFor();
    await face(page, "echo b").hover();
    const before = await face(page, "echo b").boundingBox();
    await server.bash(one, "echo c", "c3");
    await count(page, 3);
    await page.locator(".group", { hasText: "Just arrived" }).waitFor();
    same(await face(page, "echo b").boundingBox(), before, "where it is");
    await page.mouse.move(1000, 400);
    await page.locator(".group", { hasText: "Just arrived" }).waitFor({ state: "detached" });
    same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), ["echo a", "echo c", "echo b"], "in its group afterwards");
  },

  // ---- not by accident ----
  async "half a second: keys and clicks that come too early do nothing, deny is live"(server) {
    const s = await server.session(), page = await person(server);
    await page.evaluate(() => {
      window.early = 0;
      new MutationObserver(() => {
        if (window.early || !document.querySelector(".answers")) return;
        window.early = 1;
        for (const key of ["y", "s", "y"]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        document.querySelector(".allow").click();
        window.disabled = document.querySelector(".allow").disabled;
        window.denyLive = !document.querySelector(".deny").disabled;
      }).observe(document.body, { childList: true, subtree: true });
    });
    await server.bash(s, "make test", "c1");
    await armed(page);
    same(await page.evaluate(() => [window.early, window.disabled, window.denyLive]), [1, true, true], "early, disabled, deny live");
    same((await server.status("c1", s)).status, "awaiting", "status");
    // A key that is held down never answers.
    await page.evaluate(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", repeat: true, bubbles: true })));
    await page.waitForTimeout(100);
    same((await server.status("c1", s)).status, "awaiting", "after a repeated key");
    must(await page.evaluate(() => !document.activeElement.closest(".answers")), "the focus is on an answer");
    await page.keyboard.press("y");
    await page.locator(".toast").waitFor();
  },
  async "answering moves on, and the next one is not armed at once"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    await armed(page);
    // Two presses in a row, and one in the moment the next request appears: only the first may answer.
    await page.evaluate(() => new Promise((done) => {
      const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
      new MutationObserver((_, self) => {
        if (!document.querySelector(".request .whole")?.textContent.includes("echo c2")) return;
        self.disconnect();
        press();
        done();
      }).observe(document.querySelector(".detail"), { childList: true, subtree: true, characterData: true });
      press();
      press();
    }));
    await armed(page);
    same((await server.status("c2", s)).status, "awaiting", "the second");
    await armed(page);
    await page.keyboard.press("y");
    await page.locator(".request .whole", { hasText: "echo c3" }).waitFor();
    same((await server.status("c2", s)).status, "allowed", "the second, later");
  },
  async "three at once: 1 of 3, next and previous, nothing moves when another comes"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    await page.locator(".count", { hasText: "1 of 3" }).waitFor();
    await page.keyboard.press("j");
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
    const before = await page.locator(".request h1").boundingBox(), row = await face(page, "echo c2").boundingBox();
    await server.bash(s, "echo c4", "c4");
    await page.locator(".count", { hasText: "2 of 4" }).waitFor();
    same([await page.locator(".request h1").boundingBox(), await face(page, "echo c2").boundingBox()], [before, row], "where things are");
    await page.locator(".fresh", { hasText: "new" }).waitFor();
    await page.keyboard.press("k");
    await page.locator(".count", { hasText: "1 of 4" }).waitFor();
    same(await page.title(), "(4) Nod", "title");
    must((await page.locator("#icon").getAttribute("href")).startsWith("data:image/png"), "the icon shows no number");
  },
  async "several in one answer, the risky one held out"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "echo one", "c1");
    await server.bash(s, "rm -rf /tmp/x", "c2");
    await server.bash(s, "echo three", "c3");
    await count(page, 3);
    for (const text of ["echo one", "rm -rf", "echo three"]) await page.locator(".item", { hasText: text }).locator("input").check();
    await page.locator(".banner", { hasText: "held out" }).waitFor();
    await page.locator(".the-end").scrollIntoViewIfNeeded();
    await armed(page);
    await page.locator("button", { hasText: "Allow 2 once" }).click();
    await count(page, 1);
    same(await Promise.all(["c1", "c2", "c3"].map(async (id) => (await server.status(id, s)).status)), ["allowed", "awaiting", "allowed"], "statuses");
  },
  async "what was not shown cannot be allowed for always"(server) {
    const s = await server.session(), page = await person(server);
    if (!(await page.locator("nav a[href='#/rules']").count())) return "no rules on this server";
    await server.call(s, "Note", { text: "line\n".repeat(3000) }, "c1");
    await armed(page);
    await page.keyboard.press("a");
    await page.locator("#rule-text").fill("Note");
    await page.locator(".panel", { hasText: "Scroll to the end first" }).waitFor();
    must(await page.locator("button", { hasText: "Allow always" }).isDisabled(), "it can be allowed");
    await page.locator(".more-text").click();
    await page.locator(".the-end").scrollIntoViewIfNeeded();
    await page.locator(".panel", { hasText: "Scroll to the end first" }).waitFor({ state: "detached" });
  },

  // ---- always the true state ----
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
    await Promise.all([alice.keyboard.press("y"), bob.keyboard.press("s")]);
    const winner = (await poll(() => server.status("c1", s), (c) => c.status === "allowed")).decidedBy.actor;
    const [won, lost] = winner.startsWith("alice") ? [alice, bob] : [bob, alice];
    await lost.locator(".banner", { hasText: "answered first" }).waitFor();
    await won.locator(".toast", { hasText: "allowed" }).waitFor();
  },
  async "two browsers and a terminal: an answer in one is gone from the others within 200 ms, with who"(server) {
    const s = await server.session(), rounds = 5;
    const alice = await person(server, "alice"), bob = await person(server, "bob");
    for (let i = 0; i <= rounds; i++) await server.bash(s, `echo ${i}`, `c${i}`);
    await Promise.all([count(alice, rounds + 1), count(bob, rounds + 1)]);
    for (const page of [alice, bob])
      same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), Array.from({ length: rounds + 1 }, (_, i) => `echo ${i}`), "oldest first");
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
      const told = new Promise((done) => { heard = () => { if (terminal.screen().includes(`c${i}: allow_once by alice`)) done(Date.now()); }; });
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
      must(middle < 200, `${who}: ${times} ms`);
    }
    // And the other way: the terminal answers, both pages say who.
    await terminal.shows("echo 5");
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
      same(await page.locator(".diff header").textContent(), `${path}+1 −2`, "its head");
      same([await page.locator(".row.hunk").count(), await page.locator(".row.del .n:nth-child(1)").allTextContents()], [2, ["3", "30"]], "hunks and numbers");
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
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "echo c2" }).waitFor();
    await page.reload();
    await page.locator(".request .whole", { hasText: "echo c2" }).waitFor();
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
  },
  async "kill -9 with three shown: disconnected is said, the same three come back, without reload"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    await page.evaluate(() => { window.sameDocument = true; });
    await server.kill();
    await page.locator(".frame > .lost", { hasText: "Disconnected" }).waitFor();
    await page.locator(".banner", { hasText: "can be read, not answered" }).waitFor();
    must(await page.locator(".allow").isDisabled(), "an answer is possible");
    await page.keyboard.press("y");
    same(await page.title(), "Nod (disconnected)", "title");
    await server.start();
    await page.locator(".frame > .lost").waitFor({ state: "detached" });
    await count(page, 3);
    same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), ["echo c1", "echo c2", "echo c3"], "the three");
    must(await page.evaluate(() => window.sameDocument), "the page was loaded again");
    await page.locator(".request .verdict", { hasText: "asked" }).waitFor(); // what rules say of it came back too
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c1", s), (c) => c.status === "allowed");
  },
  async "offline and back: what happened meanwhile is there"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "echo one", "c1");
    await count(page, 1);
    await page.context().setOffline(true);
    await page.locator(".frame > .lost").waitFor();
    await server.decide(s, "c1", "deny", { feedback: "no" });
    await server.bash(s, "echo two", "c2");
    await page.context().setOffline(false);
    await page.locator(".frame > .lost").waitFor({ state: "detached" });
    await page.locator(".banner", { hasText: "admin answered first: denied" }).waitFor();
    await face(page, "echo two").waitFor();
  },
  async "a request that times out or is taken back says so"(server) {
    const s = await server.session({ approvalTimeoutSeconds: 2 }), page = await person(server);
    await server.bash(s, "echo one", "c1");
    await page.locator(".chip", { hasText: "left" }).waitFor();
    await page.locator(".banner", { hasText: "timed out" }).waitFor();
    const other = await server.session({ title: "other" });
    await server.bash(other, "echo two", "c2");
    await face(page, "echo two").waitFor();
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "echo two" }).waitFor();
    await server.api("POST", `/api/tool-calls/c2/cancel?session=${other.id}`, {}, server.agent);
    await page.locator(".banner", { hasText: "taken back by the agent" }).waitFor();
  },

  // ---- agents' text ----
  async "hostile text: markup, ANSI, bidi, 1 MB"(server) {
    const s = await server.session({ title: "<img src=x onerror=alert(1)>" }), page = await person(server);
    const evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u001b[31mred\u001b[0m \u202egnp.exe\u202c \u200bzero";
    await server.call(s, "Bash", { command: `echo ${evil}`, description: evil }, "c1");
    await server.call(s, "Edit", { file_path: `/tmp/${evil}`, old_string: evil, new_string: evil + "!" }, "c2");
    await server.call(s, "mcp__x__y", { [evil]: evil, list: [evil] }, "c3");
    await server.call(s, "Note", { text: ("x".repeat(99) + "\n").repeat(9000) + evil + "THE-END" }, "c4");
    await server.call(s, "Bash", { command: "echo " + "y".repeat(900000) }, "c5");
    await count(page, 5);
    for (let i = 0; i < 5; i++) {
      await page.locator(".count", { hasText: `${i + 1} of 5` }).waitFor();
      if (i < 3) {
        for (const code of ["⟨U+202E⟩", "⟨U+001B⟩", "⟨U+200B⟩"]) must((await page.locator(".request").textContent()).includes(code), `${code} is not shown in ${i + 1}`);
        must((await page.locator(".request").textContent()).includes("<img src=x"), "the markup is not shown as text");
        await page.locator(".warnings", { hasText: "invisible characters" }).waitFor();
      }
      if (i === 3) {
        await page.locator(".more-text").click();
        await page.locator(".request", { hasText: "THE-END" }).waitFor();
      }
      must(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(await page.locator("body").textContent()), "a hidden character is in the document");
      await page.keyboard.press("j");
    }
    same(await page.locator("img, .request script, iframe, object, embed").count(), 0, "elements that came from text");
    must(await page.title() === "(5) Nod", `the title is ${await page.title()}`);
    for (const place of [`session/${s.id}`, "sessions", "log", "figures"]) {
      await page.goto(`${server.url}/#/${place}`);
      await page.locator("main.screen").waitFor();
      await page.waitForTimeout(200);
      same(await page.locator("img, iframe").count(), 0, `elements on ${place}`);
      must(!/[\u202a-\u202e\u001b]/.test(await page.locator("body").textContent()), `a hidden character on ${place}`);
    }
  },

  // ---- by keyboard, by touch ----
  async "keyboard only: find, look, answer, go"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "echo one", "c1");
    await server.bash(s, "make needle", "c2");
    await count(page, 2);
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.locator(".list-head p", { hasText: "1 waiting of 2" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "make needle" }).waitFor();
    await page.keyboard.press("?");
    await page.locator("dialog.help").waitFor();
    await page.keyboard.press("y");
    await page.keyboard.press("Escape");
    await page.locator("dialog.help").waitFor({ state: "detached" });
    same((await server.status("c2", s)).status, "awaiting", "a key under the help");
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c2", s), (c) => c.status === "allowed");
    for (const [key, place] of [["s", "Sessions"], ["l", "Log"], ["f", "Figures"], ["t", "Settings"]]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.locator("main h1", { hasText: place }).waitFor();
    }
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.locator(".inbox").waitFor();
    // A list is narrowed and grouped, and several are picked, without a mouse.
    await page.locator("#search").fill("");
    await server.bash(s, "echo three", "c3");
    await server.bash(s, "echo four", "c4");
    await count(page, 3);
    await page.locator("#search").focus();
    for (const name of ["Show", "Group", "Pick echo one"]) {
      await page.keyboard.press("Tab");
      must(await page.evaluate((words) => document.activeElement.getAttribute("aria-label") === words, name), `Tab does not reach ${name}`);
    }
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.locator(".place", { hasText: "2 picked" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".count", { hasText: /of 3/ }).waitFor();
    for (const id of ["c3", "c4"]) await server.decide(s, id, "deny");
    await count(page, 1);
    await page.evaluate(() => document.activeElement.blur());
    // Tab reaches every answer, in order, and the focus can be seen.
    await page.locator("#search").fill("");
    await page.locator(".request h1").waitFor();
    await armed(page);
    const seen = [];
    for (let i = 0; i < 40 && !seen.includes("Allow once"); i++) {
      await page.keyboard.press("Tab");
      seen.push(await page.evaluate(() => document.activeElement.firstChild?.textContent ?? ""));
    }
    same(seen.filter((t) => /^(Deny|Abort|Edit|For this|Allow)/.test(t)), ["Deny…", "Abort…", "Edit…", "For this session", "Allow once"], "in the order of Tab");
    await page.keyboard.press("Enter");
    await poll(() => server.status("c1", s), (c) => c.status === "allowed");
  },
  async "phone: cards, full screen, thumb, swipe, more"(server) {
    const s = await server.session(), page = await person(server, "alice", PHONE);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    await face(page, "echo c1").tap();
    await page.locator(".count", { hasText: "1 of 3" }).waitFor();
    must(!(await page.locator(".list").isVisible()), "the list is still there");
    const allow = await page.locator(".allow").boundingBox(), deny = await page.locator(".deny").boundingBox();
    must(allow.y > 700 && deny.y > 700 && deny.x < 195 && allow.x > 195 && allow.height >= 44 && deny.height >= 44, `out of reach: ${JSON.stringify([allow, deny])}`);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await page.evaluate(() => {
      const box = document.querySelector(".scroll");
      const touch = (x) => new Touch({ identifier: 1, target: box, clientX: x, clientY: 500 });
      box.dispatchEvent(new TouchEvent("touchstart", { touches: [touch(300)], changedTouches: [touch(300)], bubbles: true }));
      box.dispatchEvent(new TouchEvent("touchend", { touches: [], changedTouches: [touch(80)], bubbles: true }));
    });
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
    await armed(page);
    await page.locator(".toggle").tap();
    await page.locator("button", { hasText: "For this session" }).tap();
    await poll(() => server.status("c2", s), (c) => c.decision === "allow_session");
    await page.locator(".back").tap();
    await face(page, "echo c1").waitFor();
    await face(page, "echo c1").tap();
    await page.locator(".deny").tap();
    await page.locator("#deny-words").fill("not now");
    await page.locator(".panel .danger").tap();
    await poll(() => server.status("c1", s), (c) => c.feedback === "not now");
  },

  // ---- the other screens ----
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
    await page.locator(".mode select").selectOption("acceptEdits");
    await page.locator(".toast", { hasText: "Accept edits" }).waitFor();
    same((await server.api("GET", `/api/sessions/${s.id}`)).permissionMode, "acceptEdits", "mode");
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
      await page.locator(".entry", { hasText: "run: completed" }).waitFor();
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
      await page.locator(".row.fold", { hasText: "16 unchanged lines" }).waitFor();
      same([await page.locator(".row.del .n").first().textContent(), await page.locator(".row").count()], ["20", 10], "number in the file, rows");
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
      await page.locator(".note", { hasText: "not in the file as it is now" }).waitFor();
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
      await server.call(s, "Edit", { file_path: join(folder, "a.c"), old_string: "line 1\n", new_string: "x" }, "c9");
      // Only people, only what waits, only text, only beneath the folder.
      const path = (id) => `/api/sessions/${s.id}/approvals/${id}/file`;
      const status = async (id, token) => (await server.api("GET", path(id), undefined, token).then(() => ({ status: 200 }), (error) => error)).status;
      for (const [id, file] of [["c4", "/etc/passwd"], ["c5", "../../etc/passwd"], ["c6", join(folder, "b.bin")], ["c7", join(folder, "none")]])
        await server.call(s, "Edit", { file_path: file, old_string: "a", new_string: "b" }, id);
      await server.bash(s, "cat a.c", "c8");
      same(await Promise.all([status("c9"), status("c9", server.agent), status("c1"), status("c4"), status("c5"), status("c6"), status("c7"), status("c8"), status("none")]),
        [200, 403, 404, 403, 403, 400, 404, 400, 404], "statuses");
    } finally { rmSync(folder, { recursive: true }); }
  },
  async "log: search, filter, export"(server) {
    const s = await server.session(), page = await person(server);
    for (let i = 0; i < 8; i++) { await server.bash(s, `echo ${i}`, `c${i}`); if (i < 6) await server.decide(s, `c${i}`, i % 2 ? "deny" : "allow_once", i % 2 ? { feedback: "=1+1" } : {}); }
    await server.call(s, "Read", { file_path: "/tmp/x" }, "r1");
    await page.goto(server.url + "/#/log");
    const rows = (n) => poll(() => page.locator("tbody tr").count(), (found) => found === n);
    await rows(9);
    await page.locator("select[aria-label='Decided by']").selectOption("person");
    await rows(6);
    await page.locator("select[aria-label=Outcome]").selectOption("denied");
    await rows(3);
    await page.locator("input[type=search]").fill("ECHO 3");
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
    const s = await server.session(), page = await person(server);
    for (let i = 0; i < 6; i++) { await server.bash(s, "make test", `c${i}`); await server.decide(s, `c${i}`, "allow_once"); }
    for (let i = 0; i < 6; i++) await server.call(s, "Read", { file_path: `/tmp/${i}` });
    await page.goto(server.url + "/#/figures");
    await page.locator(".chart", { hasText: "Calls" }).locator(".big", { hasText: "12" }).waitFor();
    await page.locator(".chart", { hasText: "Passed by rule" }).locator(".big", { hasText: "50 %" }).waitFor();
    await page.locator(".card", { hasText: "To tidy" }).locator("li", { hasText: "make test was asked 6 times and always allowed" }).waitFor();
    // Every bar says its time and its value; each theme draws it in its own colour.
    const bar = page.locator(".chart", { hasText: "Calls" }).locator("g").last();
    must(/\d\d:\d\d to \d\d:\d\d: 12$/.test(await bar.locator("title").textContent()), await bar.locator("title").textContent());
    const colours = [];
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      colours.push(await bar.locator("rect:not(.hit)").evaluate((e) => getComputedStyle(e).fill));
    }
    must(colours[0] !== colours[1], `the same colour in both themes: ${colours}`);
  },
  async "the quiet inbox says what passed, and why"(server) {
    const s = await server.session();
    for (let i = 0; i < 3; i++) await server.call(s, "Read", { file_path: `/tmp/${i}` });
    const page = await person(server);
    await page.locator(".quiet-inbox tr", { hasText: /3 ×.*Read.*passed.*a tool that only reads/ }).waitFor();
  },

  // ---- login ----
  async "login: once only, cookie and key, devices, log out, revoked at once"(server) {
    const context = await (await openBrowser()).newContext(DESKTOP), page = await context.newPage();
    await page.goto(server.link);
    await page.locator(".connected.live").waitFor();
    must(!page.url().includes("login="), "the code stays in the address");
    const [cookie] = await context.cookies();
    same([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"], "the cookie");
    must(!(await page.evaluate(() => document.cookie)), "a script can read the cookie");
    const again = await (await (await openBrowser()).newContext()).newPage();
    await again.goto(server.link);
    await again.locator("h1", { hasText: "Log in" }).waitFor();
    await again.locator("[role=alert]", { hasText: "used or is too old" }).waitFor();
    // Half of the secret is not enough; nor is a request that says it comes from elsewhere.
    const key = await page.evaluate(() => localStorage.getItem("nod.key"));
    const half = { Cookie: `${cookie.name}=${cookie.value}` }, whole = { ...half, "Nod-Key": key };
    const status = async (headers, method = "GET", path = "/api/me") => (await fetch(server.url + path, { method, headers: { ...headers, ...(method === "POST" ? { "Content-Type": "application/json" } : {}) }, body: method === "POST" ? "{}" : undefined })).status;
    same(await status(half), 401, "the cookie alone");
    same(await status({ "Nod-Key": key }), 401, "the key alone");
    same(await status(whole), 200, "both");
    same(await status(whole, "POST", "/api/ping"), 403, "a change without Origin");
    same(await status({ ...whole, Origin: "http://evil.example" }, "POST", "/api/ping"), 403, "a change from elsewhere");
    same(await status({ ...whole, Origin: server.url }, "POST", "/api/ping"), 200, "a change from the page");
    same(await status({ ...whole, Origin: "http://evil.example", Accept: "text/event-stream" }, "GET", "/api/events"), 403, "a stream from elsewhere");
    // Another person's device; revoked while it looks.
    const bob = await person(server, "bob", DESKTOP, "viewer");
    await bob.locator(".quiet-inbox").waitFor();
    await page.goto(server.url + "/#/settings");
    await page.locator("tr", { hasText: "bob" }).waitFor();
    page.on("dialog", (dialog) => dialog.accept());
    await page.locator("tr", { hasText: "bob" }).locator("button", { hasText: "Revoke" }).click();
    await page.locator("tr", { hasText: "bob" }).waitFor({ state: "detached" });
    await bob.reload();
    await bob.locator("h1", { hasText: "Log in" }).waitFor();
    await page.locator("button", { hasText: "Log out" }).click();
    await page.locator("h1", { hasText: "Log in" }).waitFor();
    same(await status(whole), 401, "after log out");
  },
  async "a viewer looks and cannot answer"(server) {
    const s = await server.session(), page = await person(server, "eve", DESKTOP, "viewer");
    await server.bash(s, "make", "c1");
    await page.locator(".answers", { hasText: "may look, not answer" }).waitFor();
    await page.waitForTimeout(700);
    await page.keyboard.press("y");
    same((await server.status("c1", s)).status, "awaiting", "status");
  },
  async "headers: policy, framing, caching; nothing from elsewhere"(server) {
    const answer = await fetch(server.url + "/");
    const policy = answer.headers.get("content-security-policy");
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) must(policy.includes(part), `${part} is missing`);
    must(!/unsafe|\*/.test(policy), policy);
    must(policy.includes("require-trusted-types-for 'script'"), "trusted types");
    same([answer.headers.get("x-frame-options"), answer.headers.get("x-content-type-options")], ["DENY", "nosniff"], "headers");
    const html = await answer.text();
    must(!/<script(?![^>]*src=)|<style|style=|onclick/.test(html), "something inline");
    const script = /src="(\/assets\/[^"]+)"/.exec(html)[1];
    const asset = await fetch(server.url + script);
    must(asset.headers.get("cache-control").includes("immutable"), "assets are not kept");
    const tag = answer.headers.get("etag");
    same((await fetch(server.url + "/", { headers: { "If-None-Match": tag } })).status, 304, "asked again");
    same((await fetch(server.url + "/", { headers: { Host: "evil.example" } }).catch(() => ({ status: 0 }))).status !== 500, true, "another Host");
    const page = await person(server), elsewhere = [];
    page.on("request", (request) => { if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) elsewhere.push(request.url()); });
    for (const place of ["", "sessions", "log", "figures", "settings"]) { await page.goto(`${server.url}/#/${place}`); await page.waitForTimeout(100); }
    same(elsewhere, [], "requests to elsewhere");
    same((await fetch(server.url + "/manifest.webmanifest")).status, 200, "manifest");
  },

  async "an app: manifest with icons, a worker that keeps nothing and says when the server is away"(server) {
    const page = await person(server);
    const manifest = await (await fetch(server.url + "/manifest.webmanifest")).json();
    same([manifest.display, manifest.start_url], ["standalone", "/"], "manifest");
    for (const icon of manifest.icons) {
      const bytes = Buffer.from(await (await fetch(server.url + icon.src)).arrayBuffer());
      if (icon.type === "image/png") same(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, icon.sizes, icon.src);
    }
    await page.evaluate(() => navigator.serviceWorker.ready);
    await poll(() => page.evaluate(() => !!navigator.serviceWorker.controller), (is) => is);
    same(await page.evaluate(() => caches.keys()), [], "what is kept");
    must(await page.evaluate(() => { try { trustedTypes.createPolicy("nod-worker", {}); return false; } catch { return true; } }), "the policy can be made twice");
    must(await page.evaluate(() => { try { new Worker("/assets/x.js"); return false; } catch { return true; } }), "another worker can be started");
    page.faults = []; // those two were meant
    await server.kill();
    await page.goto(server.url).catch(() => {});
    await page.locator("h1", { hasText: "Nod is not connected" }).waitFor();
    same(await page.evaluate(() => getComputedStyle(document.querySelector("h1")).fontSize), "20px", "its style");
    await server.start();
    await page.locator(".quiet-inbox").waitFor();
  },
  async "notification and sound, only when asked for, and without what the call says"(server) {
    const s = await server.session(), page = await person(server);
    const record = () => {
      window.tones = 0;
      window.AudioContext = class extends AudioContext { createOscillator() { window.tones++; return super.createOscillator(); } };
      Object.defineProperty(document, "hidden", { get: () => window.away === true });
    };
    const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((note) => [note.title, note.body]));
    await page.evaluate(record);
    await page.evaluate(() => { window.away = true; });
    await server.bash(s, "echo secret", "c1");
    await count(page, 1);
    same([await shown(), await page.evaluate(() => window.tones)], [[], 0], "unasked");
    await page.context().grantPermissions(["notifications"], { origin: server.url });
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Notifications" }).locator("input").check();
    await page.locator(".setting", { hasText: "Sound" }).locator("input").check();
    await server.bash(s, "echo secret", "c2");
    same(await poll(shown, (all) => all.length > 0), [["Nod: 2 waiting", "Run a command"]], "the notification");
    same(await page.evaluate(() => window.tones), 1, "tones");
    await page.evaluate(() => { window.away = false; });
    await page.locator(".setting", { hasText: "Sound" }).locator("input").uncheck();
    await server.bash(s, "echo secret", "c3");
    await page.locator("nav .number", { hasText: "3" }).waitFor();
    same([(await shown()).length, await page.evaluate(() => window.tones)], [1, 1], "in front, without sound");
    await page.reload();
    await page.goto(server.url + "/#/settings");
    must(await page.locator(".setting", { hasText: "Notifications" }).locator("input").isChecked(), "it is forgotten");
  },

  // ---- for everyone ----
  async "axe, wide and light: every screen, panel and dialog"(server) { await everyScreen(server, DESKTOP, "light"); },
  async "axe, wide and dark"(server) { await everyScreen(server, DESKTOP, "dark"); },
  async "axe, phone and light; everything is large enough for a finger"(server) { await everyScreen(server, PHONE, "light"); },
  async "axe, phone and dark"(server) { await everyScreen(server, PHONE, "dark"); },
  async "axe: disconnected, answered by another, login, nothing waits"(server) {
    const s = await server.session(), page = await person(server, "alice", DESKTOP);
    await server.call(s, "Read", { file_path: "/tmp/x" }, "r1");
    await server.bash(s, "cd src", "c1");
    await heading(page, "Run a command");
    await server.decide(s, "c1", "deny", { feedback: "later" });
    await page.locator(".banner", { hasText: "answered first" }).waitFor();
    const stranger = await (await (await openBrowser()).newContext(PHONE)).newPage();
    await stranger.goto(server.url);
    await stranger.locator(".login").waitFor();
    const quiet = await person(server, "bob", PHONE);
    await quiet.locator(".quiet-inbox tr").waitFor();
    await server.kill();
    await page.locator(".frame > .lost").waitFor();
    for (const [where, one] of [["disconnected", page], ["login", stranger], ["nothing waits", quiet]]) same(await serious(one), [], where);
  },

  // ---- speed ----
  async "first request visible within 300 ms of the document"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `echo ${id}`, id);
    await count(page, 3);
    const times = [];
    for (let i = 0; i < 5; i++) {
      await page.addInitScript(() => {
        new MutationObserver((_, self) => { if (document.querySelector(".request h1")) { self.disconnect(); requestAnimationFrame(() => { window.visible = performance.now(); }); } })
          .observe(document, { childList: true, subtree: true });
      });
      await page.reload();
      times.push(await poll(() => page.evaluate(() => window.visible ? Math.round(window.visible - performance.getEntriesByType("navigation")[0].responseEnd) : 0), (ms) => ms > 0));
    }
    times.sort((a, b) => a - b);
    // As many bytes as came over the wire, by the browser's own account.
    const script = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.initiatorType === "script" || /\.js$/.test(e.name)).reduce((sum, e) => sum + e.encodedBodySize, 0));
    figures.push(`script at first load, gzipped: ${(script / 1024).toFixed(1)} KB`);
    must(script > 10000 && script < 150 * 1024, `${script} bytes of script`);
    figures.push(`first request visible after the document: ${times[2]} ms (median of 5)`);
    must(times[0] < 300, `${times} ms`); // what the page needs; the others also say how busy the machine is
  },
  async "quick with 1,000 pending and a difference of 10,000 lines"(server) {
    const s = await server.session();
    const lines = (tag) => Array.from({ length: 10000 }, (_, i) => `    line_${i}(${i % 7 ? i : tag}); /* ${"words ".repeat(3)} */`).join("\n");
    await server.call(s, "Edit", { file_path: "/tmp/big.c", old_string: lines("old"), new_string: lines("new") }, "big");
    for (let i = 0; i < 980; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => server.bash(s, `echo ${i + k}`, `c${i + k}`)));
    const page = await person(server);
    await count(page, 981);
    for (let i = 980; i < 999; i++) await server.bash(s, `echo ${i}`, `c${i}`);
    await count(page, 1000);
    await page.locator(".diff").waitFor();
    must(await page.locator(".item").count() < 60, "the whole list is in the document");
    // From the key to the next request painted, the server's answer included.
    const times = [];
    for (let i = 0; i < 7; i++) {
      await armed(page);
      times.push(Math.round(await page.evaluate(() => new Promise((done) => {
        const before = document.querySelector(".request"), from = performance.now();
        new MutationObserver((_, self) => {
          if (document.querySelector(".request") === before) return;
          self.disconnect();
          requestAnimationFrame(() => setTimeout(() => done(performance.now() - from)));
        }).observe(document.querySelector(".detail"), { childList: true, subtree: true });
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
      }))));
    }
    figures.push(`answer and next, of 1,000 pending: ${times[0]} ms (a difference of 10,000 lines), then ${times.slice(1).join(", ")} ms`);
    // One slow frame of a busy machine is not the page: half of them must hold.
    must([...times].sort((a, b) => a - b)[times.length >> 1] < 100, `${times} ms`);
    await server.call(s, "Edit", { file_path: "/tmp/big.c", old_string: lines("old"), new_string: lines("new") }, "big2");
    await page.locator("#search").fill("big.c");
    await face(page, "big.c").click();
    const scroll = page.locator(".request .scroll");
    await scroll.evaluate((box) => { box.scrollTop = box.scrollHeight; });
    await page.locator(".the-end").scrollIntoViewIfNeeded();
    await page.locator(".row .text", { hasText: "line_9996(" }).first().waitFor();
  },
};

async function poll(ask, good) {
  for (let i = 0; i < 200; i++) {
    const found = await ask();
    if (good(found)) return found;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`it never came; the last was ${JSON.stringify(await ask()).slice(0, 300)}`);
}

const late = (ms) => new Promise((_, fail) => setTimeout(() => fail(new Error(`no end within ${ms} ms`)), ms).unref());

let passed = 0, failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (process.argv.length > 2 && !process.argv.slice(2).some((words) => name.includes(words))) continue;
  const server = await new Server().start();
  const from = Date.now();
  try {
    const skipped = await Promise.race([test(server), late(60000)]);
    for (const context of (await openBrowser()).contexts()) for (const page of context.pages()) same(page.faults ?? [], [], "errors on the page");
    passed++;
    console.log(`ok   ${name}${skipped ? ` (${skipped})` : ""}  ${Date.now() - from} ms`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n     ${String(error.message).split("\n").slice(0, 6).join("\n     ")}`);
    if (process.env.SHOT) for (const [i, context] of (await openBrowser()).contexts().entries())
      for (const page of context.pages()) await page.screenshot({ path: `${process.env.SHOT}-${i}.png` }).catch(() => {});
  }
  for (const context of (await openBrowser()).contexts()) await context.close();
  terminal.close();
  await server.stop();
}
await closeBrowser();
for (const line of figures) console.log(line);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
