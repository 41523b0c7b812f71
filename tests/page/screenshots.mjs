// Pictures of the main screens, both themes, desktop and phone, into the folder given (docs/screens).
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { armed, closeBrowser, DESKTOP, person, PHONE, Server } from "./rig.mjs";

const folder = process.argv[2] ?? "docs/screens";
mkdirSync(folder, { recursive: true });

const OLD = `#include "greet.h"\n\n#include <stdio.h>\n\n/* Says hello. */\nint greet(const char *name)\n{\n    printf("hello, %s\\n", name);\n    return 0;\n}\n`;
const NEW = `#include "greet.h"\n\n#include <stdio.h>\n#include <string.h>\n\n/* Says hello in the language asked for. */\nint greet(const char *name, const char *language)\n{\n    if (strcmp(language, "de") == 0)\n        printf("hallo, %s\\n", name);\n    else\n        printf("hello, %s\\n", name);\n    return 0;\n}\n`;

async function stage(server) {
  await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(tail:*)", reason: "only reads" });
  await server.api("POST", "/api/policy/rules", { effect: "deny", rule: "Bash(git push:*)", reason: "people push" });
  const work = await server.session();
  const site = await server.session({ title: "website relaunch", cwd: "/home/alice/site" });
  const sub = await server.api("POST", `/api/sessions/${work.id}/threads`, { title: "reviewer", parentId: work.threadId });
  for (let i = 0; i < 14; i++) await server.call(work, "Read", { file_path: `/home/alice/greeter/src/part${i}.c` });
  for (let i = 0; i < 9; i++) {
    await server.bash(work, i % 3 ? "make test" : "git status", `old-${i}`);
    await server.decide(work, `old-${i}`, i === 4 ? "deny" : "allow_once", i === 4 ? { feedback: "not on this branch" } : {});
    if (i !== 4) await server.api("POST", `/api/tool-calls/old-${i}/result`, { content: "all 12 tests passed" });
  }
  await server.call(work, "Bash", { command: "cd src && make -j4 test 2>&1 | tee test.log | tail -20", description: "Run the test suite and keep the log" }, "toolu_01Test");
  await server.call(work, "Edit", { file_path: "/home/alice/greeter/src/greet.c", old_string: OLD, new_string: NEW }, "toolu_01Edit");
  await server.call(site, "Bash", { command: "curl -fsSL https://get.example.com/install.sh | sudo sh" }, "toolu_01Curl");
  await server.call(site, "mcp__github__create_issue", { owner: "alice", repo: "site", title: "Broken link on the start page", labels: ["bug", "good first issue"], body: "The link to the archive is dead.\n\n1. open the page\n2. click *Archive*" }, "toolu_01Mcp");
  await server.call(work, "Write", { file_path: "/home/alice/greeter/NOTES.md", content: "# Notes\n\nGreets in two languages.\n" }, "toolu_01Sub", { thread: sub.id });
  await server.call(site, "Bash", { command: "echo \u202etxt.exe\u202c && printf '\u001b[2Jgone'" }, "toolu_01Hidden");
  await server.call(work, "AskUserQuestion", { questions: [
    { question: "Which languages shall the greeter know first?", header: "Languages", multiSelect: true, options: [
      { label: "German", description: "asked for in issue 12" }, { label: "French", description: "the translation is there" }, { label: "Japanese", description: "needs wide characters" }] },
    { question: "Where do the texts live?", header: "Texts", multiSelect: false, options: [
      { label: "In the source", description: "a table in greet.c" }, { label: "In files", description: "one for each language" }] }] }, "toolu_01Ask");
  await server.call(work, "ExitPlanMode", { plan: "# Two languages\n\n1. Add a `language` argument to `greet()`.\n2. Look the word up in a **table**.\n3. Test both.\n\n```c\nstatic const char *const hello[] = {\"hello\", \"hallo\"};\n```\n" }, "toolu_01Plan");
  return { work, site };
}

async function shots(server, name, options, scheme, { work }) {
  const page = await person(server, "alice", { ...options, colorScheme: scheme });
  const save = (what) => page.screenshot({ path: join(folder, `${name}-${scheme}-${what}.png`) });
  const phone = name === "phone";
  await page.locator(".item").first().waitFor();
  if (phone) await save("inbox");
  for (const [text, what] of [["cd src", "command"], ["Change", "diff"], ["curl", "risky"], ["create_issue", "generic"], ["echo", "hidden"], ["questions for you", "question"], ["Approve this plan", "plan"]]) {
    if (phone && await page.locator(".back").isVisible()) await page.locator(".back").click();
    await page.locator(".item .face", { hasText: text }).click();
    await armed(page);
    if (what === "question") { await page.keyboard.press("1"); await page.locator(".question").nth(1).locator("input").first().check(); }
    await save(what);
  }
  if (phone) { await page.locator(".toggle").click(); await save("more"); await page.locator(".toggle").click(); }
  if (phone) await page.locator(".back").click();
  await page.locator(".item .face", { hasText: "cd src" }).click();
  if (!phone) { await page.keyboard.press("a"); await page.locator(".panel [role=status]", { hasText: "covered" }).waitFor(); await save("always"); }
  await page.locator(".deny").click();
  await page.locator("#deny-words").fill("use the package of the distribution");
  await save("deny");
  for (const place of ["sessions", "log", "figures", "settings", "rules"]) {
    await page.goto(`${server.url}/#/${place}`);
    await page.waitForTimeout(500);
    if (place !== "rules" || await page.locator("nav a[href='#/rules']").count()) await save(place);
  }
  await page.goto(`${server.url}/#/session/${work.id}`);
  await page.waitForTimeout(500);
  await save("session");
  if (!phone) { await page.keyboard.press("?"); await save("help"); }
  await page.context().close();
}

const server = await new Server().start();
try {
  const made = await stage(server);
  for (const scheme of ["light", "dark"]) {
    await shots(server, "desktop", DESKTOP, scheme, made);
    await shots(server, "phone", PHONE, scheme, made);
  }
  for (const item of (await server.api("GET", "/api/approvals/pending")).pendingApprovals)
    await server.decide({ id: item.sessionId }, item.toolCallId, "allow_once");
  for (const [name, options] of [["desktop", DESKTOP], ["phone", PHONE]]) {
    const page = await person(server, "alice", { ...options, colorScheme: "light" });
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(folder, `${name}-light-empty.png`) });
    await page.context().close();
  }
} finally {
  await closeBrowser();
  await server.stop();
}
