// For everyone: axe on every screen, panel and dialog; fingers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRequire } from "node:module";
import { count, face, figures, heading, must, same } from "./check.mjs";
import { armed, DESKTOP, openBrowser, person, PHONE } from "./rig.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

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
  await server.bash(s, "make old", "c4");
  await server.decide(s, "c4", "deny", { feedback: "no" });
  const page = await person(server, "alice", { ...options, colorScheme: scheme, reducedMotion: "reduce" });
  const check = async (where) => {
    same(await serious(page, scheme === "dark" ? ["color-contrast"] : undefined), [], `${where}, ${scheme}, ${options.viewport.width}`);
    if (!phone) return;
    same(await tooSmall(page), [], `too small for a finger on ${where}`);
    same(await page.locator(".segments span").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent)), [], `choices that are cut on ${where}`);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where} scrolls sideways`);
  };
  const back = async () => { if (phone && await page.locator(".back").isVisible()) await page.locator(".back").click(); };
  await count(page, 5);
  if (phone) await check("inbox");
  for (const text of ["Approve this plan", "Which?", "Use y", "Change", "cd src"]) {
    await back();
    await face(page, text).click();
    await armed(page);
    await check(text);
  }
  for (const key of ["n", "q", "e", "a"]) {
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
  if (phone) { await check("picking"); await page.locator(".review-bar .primary").click(); }
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
  for (const [place, ready] of [["sessions", "a.card"], [`session/${s.id}`, ".entry.call summary"], ["history", "tbody tr"], [`request/${s.id}/c4`, ".facts-panel"], ["figures", ".chart"], ["settings", "tbody tr"], ["rules", ".rule-list"]]) {
    await page.goto(`${server.url}/#/${place}`);
    await page.locator(ready).first().waitFor();
    await check(place);
    if (further[place]) { await further[place](); await check(`${place}, further`); }
  }
}

/* What stands wholly or partly outside of the window and cannot be scrolled to. */
const cutOff = (page) => page.evaluate(() => [...document.querySelectorAll("button, select, input, a")].filter((e) => e.checkVisibility({ opacityProperty: true }) && !e.matches(".sr"))
  .map((e) => [e.outerHTML.slice(0, 60), e.getBoundingClientRect()]).filter(([, r]) => r.width > 1 && (r.right > innerWidth + 0.5 || r.left < -0.5)).map(([html]) => html));

export default {
  async "a title or a tool's name without end moves no button away"(server) {
    const s = await server.session({ title: "without-end-".repeat(20) });
    await server.call(s, `mcp__${"server".repeat(8)}__${"tool_name_".repeat(10)}`, { ["field_".repeat(20)]: "value".repeat(100) }, "c1");
    for (const options of [DESKTOP, PHONE]) {
      const page = await person(server, "alice", options);
      await page.locator(".item .face").first().click();
      await armed(page);
      const box = await page.locator(".allow").boundingBox();
      must(box.x >= 0 && box.x + box.width <= options.viewport.width, `Allow is at ${JSON.stringify(box)}`);
    }
    // Nor a person's name.
    const name = "a-person-with-a-name-that-is-much-too-long-for-a-button-".repeat(2);
    await server.api("POST", "/api/tokens", { name, role: "approver" });
    const page = await person(server, "alice", { ...PHONE, viewport: { width: 360, height: 740 } });
    await page.locator(".item .face").first().click();
    await armed(page);
    await page.keyboard.press("p");
    await page.getByRole("group", { name: "Assign" }).getByRole("button", { name }).waitFor();
    same(await cutOff(page), [], "the panel that assigns");
  },
  async "every width: nothing is cut off"(server) {
    const s = await server.session();
    await server.call(s, "Bash", { command: "cd src && make -j4 test 2>&1 | tee test.log | tail -20" }, "c1");
    const page = await person(server, "alice", DESKTOP);
    await page.locator(".item .face").first().click();
    for (const width of [1920, 1366, 1280, 1200, 1181, 1180, 1100, 1024, 960, 959, 900, 820, 768, 720, 600, 430, 390, 360, 320]) {
      await page.setViewportSize({ width, height: 700 });
      await page.locator(".allow").waitFor();
      same(await cutOff(page), [], `a request, ${width} wide`);
      must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: it scrolls sideways`);
    }
  },
  async "axe, wide and light: every screen, panel and dialog"(server) { await everyScreen(server, DESKTOP, "light"); },
  async "axe, wide and dark"(server) { await everyScreen(server, DESKTOP, "dark"); },
  async "axe, phone and light; everything is large enough for a finger"(server) { await everyScreen(server, PHONE, "light"); },
  async "axe, phone and dark"(server) { await everyScreen(server, PHONE, "dark"); },
  async "axe: disconnected, answered by another, login, nothing waits"(server) {
    const s = await server.session(), page = await person(server, "alice", DESKTOP);
    await server.call(s, "Read", { file_path: "/home/alice/greeter/x" }, "r1");
    await server.bash(s, "cd src", "c1");
    await heading(page, "Run a command");
    await server.decide(s, "c1", "deny", { feedback: "later" });
    await page.locator(".banner", { hasText: "answered first" }).waitFor();
    const stranger = await (await (await openBrowser()).newContext(PHONE)).newPage();
    await stranger.goto(server.url);
    await stranger.locator(".login").waitFor();
    must((await stranger.locator(".login label").boundingBox()).height < 30, "the label of the code is broken");
    const quiet = await person(server, "bob", PHONE);
    await quiet.locator(".quiet-inbox tr").waitFor();
    await server.kill();
    await page.locator(".frame > .lost").waitFor();
    for (const [where, one] of [["disconnected", page], ["login", stranger], ["nothing waits", quiet]]) same(await serious(one), [], where);
  },
};
