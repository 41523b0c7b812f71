// Review: comments on lines, an edit with its difference beside it, keys for everything, large inputs.
import { count, face, heading, must, poll, same } from "./check.mjs";
import { armed, person, PHONE } from "./rig.mjs";

const EDITS = [{ old_string: "let sum = 0;\n", new_string: "let sum = 1;\n" }, { old_string: "return sum;\n", new_string: "return format(sum);\n" }];
const active = (page, selector) => poll(() => page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector), Boolean);

export default {
  async "review: comments on lines go out together as the words of a denial, by keyboard alone"(server) {
    const session = await server.session(), page = await person(server);
    await server.call(session, "MultiEdit", { file_path: "/home/alice/greeter/src/cart.ts", edits: EDITS }, "m");
    await page.locator(".request .code").nth(1).waitFor();
    await page.keyboard.press("c");
    await active(page, ".remark textarea");
    await page.keyboard.type("keep zero");
    await page.keyboard.press("Enter");
    await page.locator(".remark p", { hasText: "keep zero" }).waitFor();
    await page.locator(".deny", { hasText: "Deny with 1 comment" }).waitFor();
    must(!await page.locator(".allow").evaluate((e) => e.classList.contains("primary")), "with comments, allow is the main button");
    await active(page, ".code");
    await page.locator(".code").nth(1).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.locator(".row.add.cursor", { hasText: "return format" }).waitFor();
    await page.keyboard.press("c");
    await active(page, ".remark textarea");
    await page.keyboard.type("use the helper");
    await page.keyboard.press("Enter");
    await page.locator(".deny", { hasText: "Deny with 2 comments" }).focus();
    await page.keyboard.press("Enter");
    const call = await poll(() => server.status("m", session), (now) => now.status === "denied");
    same(call.feedback, "src/cart.ts, change 1, old line 1: keep zero\nsrc/cart.ts, change 2, line 1: use the helper", "the words");
  },
  async "review: a file is edited as text, with what was changed beside it"(server) {
    const session = await server.session(), page = await person(server);
    await server.call(session, "Write", { file_path: "/home/alice/greeter/a.py", content: "x = 1\ny = 2\n" }, "w");
    await armed(page);
    await page.keyboard.press("e");
    await page.locator(".cm-content").click();
    await page.keyboard.press("y"); // in an editor a letter is a letter
    await page.locator(".edit-changes .row.add").first().waitFor();
    same((await server.status("w", session)).status, "awaiting", "after a letter was typed");
    await page.locator(".cm-content").fill("x = 1\ny = 3\n");
    await page.locator(".edit-changes .row.del", { hasText: "y = 2" }).waitFor();
    await page.locator(".edit-changes .row.add", { hasText: "y = 3" }).waitFor();
    await page.keyboard.press("Control+Enter");
    same((await poll(() => server.status("w", session), (now) => now.status === "allowed")).input.content, "x = 1\ny = 3\n", "what is written");
  },
  async "review: an edited command shows its parts and a new risk as they are now"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make", "c");
    await armed(page);
    await page.keyboard.press("e");
    await page.locator(".cm-content").fill("make && rm -rf out");
    await page.locator(".edit-changes .parts li", { hasText: "rm -rf out" }).locator(".risk-tag", { hasText: "Deletes" }).waitFor();
    await page.locator(".panel [role=status]", { hasText: "New risk: Deletes" }).waitFor();
    await page.keyboard.press("Escape");
    await poll(() => page.locator(".panel").count(), (n) => n === 0);
  },
  async "review: keys that follow an edited answer go to the list, while the answer is under way"(server) {
    const s = await server.session(), page = await person(server);
    let send;
    const held = new Promise((done) => { send = done; });
    await page.route("**/approvals/edited", async (route) => { if (route.request().method() === "POST") await held; await route.continue(); });
    await server.bash(s, "make test", "edited");
    await server.bash(s, "make check", "next");
    await count(page, 2);
    await page.locator(".request", { hasText: "make test" }).waitFor();
    await armed(page);
    await page.keyboard.press("e");
    await poll(() => page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.matches(".cm-content") ?? false), Boolean);
    await page.keyboard.type("time ");
    await page.locator(".edit-changes", { hasText: "time make test" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("j");
    await page.locator(".request", { hasText: "make check" }).waitFor();
    send();
    same((await poll(() => server.status("edited", s), (call) => call.status === "allowed")).input.command, "time make test", "the edited command");
  },

  async "review: risk stands at the part that causes it, and at the edge of the request"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "cd src && rm -rf out", "c");
    await page.locator(".parts li.red", { hasText: "rm -rf out" }).locator(".risk-tag", { hasText: "Deletes" }).waitFor();
    same(await page.locator(".parts li.red").count(), 1, "parts with an edge");
    await page.locator(".item.edge.red").waitFor();
    same(await page.locator(".warnings li").count(), 0, "warnings besides");
  },
  async "review: palette over actions, places, sessions and requests"(server) {
    const session = await server.session({ title: "the palette's session" }), page = await person(server);
    await server.bash(session, "make one", "c1");
    await armed(page);
    const run = async (words) => {
      await page.keyboard.press("Control+k");
      await page.locator(".palette input").fill(words);
      await page.locator(".palette [aria-selected=true]").waitFor();
      await page.keyboard.press("Enter");
      await poll(() => page.locator(".palette").count(), (n) => n === 0);
    };
    await run("history");
    await page.locator("main h1", { hasText: "History" }).waitFor();
    await run("palette's session");
    await page.locator("main h1", { hasText: "the palette's session" }).waitFor();
    await run("waiting make one");
    await heading(page, "Run a command");
    await run("request deny");
    await active(page, "#deny-words");
  },
  async "review: letters that act can be switched off, and everything is left in the palette"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make one", "c1");
    await armed(page);
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Single-letter keys" }).locator("input").uncheck();
    await page.goto(server.url + "/#/");
    await armed(page);
    await page.keyboard.press("n");
    await page.keyboard.press("Control+k");
    await page.locator(".palette input").waitFor();
    same(await page.locator("#deny-words").count(), 0, "the letter acted");
  },
  async "review: a long request is read to its end by keyboard"(server) {
    const session = await server.session(), page = await person(server);
    await server.call(session, "Write", { file_path: "/home/alice/greeter/long.txt", content: Array.from({ length: 400 }, (_, i) => `line ${i}`).join("\n") }, "w");
    await page.locator(".row.add", { hasText: "line 0" }).first().waitFor();
    const top = () => page.locator(".request .scroll").evaluate((e) => e.scrollTop);
    await page.keyboard.press("Space");
    const once = await poll(top, (y) => y > 100);
    await page.keyboard.press("Shift+Space");
    await poll(top, (y) => y < once);
    // Pressed again until it is there: the request may still grow, by colours and by warnings.
    const left = () => page.locator(".request .scroll").evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    await poll(() => page.keyboard.press("End").then(left), (pixels) => pixels < 4);
    await poll(() => page.keyboard.press("Home").then(top), (y) => y === 0);
  },
  async "review: an input of a megabyte is a tree of which only the window is made"(server) {
    const session = await server.session(), page = await person(server);
    const rows = Array.from({ length: 8000 }, (_, i) => ({ id: i, name: `row number ${i}`, text: "x".repeat(60), ok: true }));
    await server.call(session, "mcp__data__load", { rows }, "j");
    await page.locator(".big-tree .leaf", { hasText: "row number 0" }).first().waitFor();
    must(await page.evaluate(() => document.querySelectorAll("*").length) < 1500, "too many elements");
    await page.keyboard.press("End");
    await page.locator(".big-tree .leaf", { hasText: "row number 7999" }).waitFor();
    must(await page.evaluate(() => document.querySelectorAll("*").length) < 1500, "too many elements at the end");
  },
  async "review: an allow that is held can be undone, and is sent when it is not"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make one", "c1");
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Undo" }).locator("input").check();
    await page.goto(server.url + "/#/");
    await armed(page);
    await page.keyboard.press("y");
    await page.locator(".toast button", { hasText: "Undo" }).waitFor();
    await page.keyboard.press("u");
    await page.locator(".toast", { hasText: "Not sent" }).waitFor();
    same((await server.status("c1", session)).status, "awaiting", "after the undo");
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c1", session), (now) => now.status === "allowed");
  },
  async "review: an allow sends the one that is still held"(server) {
    const session = await server.session(), page = await person(server);
    for (const id of ["c1", "c2"]) await server.bash(session, `make ${id}`, id);
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Undo" }).locator("input").check();
    await page.goto(server.url + "/#/");
    for (const id of ["c1", "c2"]) {
      await face(page, `make ${id}`).waitFor();
      await armed(page);
      await page.keyboard.press("y");
    }
    for (const id of ["c1", "c2"]) await poll(() => server.status(id, session), (now) => now.status === "allowed");
  },
  async "review: on a phone several are picked, and the list stays until they are reviewed"(server) {
    const session = await server.session(), page = await person(server, "alice", PHONE);
    for (const id of ["a", "b", "c"]) await server.bash(session, `make ${id}`, id);
    await face(page, "make a").waitFor();
    for (const id of ["a", "b", "c"]) await page.locator(".item", { hasText: `make ${id}` }).locator(".pick").click();
    await page.locator(".review-bar button", { hasText: "Review 3" }).click();
    await page.locator(".place", { hasText: "3 picked" }).waitFor();
    await page.locator(".request .the-end").scrollIntoViewIfNeeded();
    await page.locator(".answers.armed .primary", { hasText: "Allow 3 once" }).click();
    for (const id of ["a", "b", "c"]) await poll(() => server.status(id, session), (now) => now.status === "allowed");
  },
  async "review: what led to a request stands below it, and a plan is sent back with comments on its steps"(server) {
    const session = await server.session(), page = await person(server);
    const say = (type, text) => server.api("POST", `/api/threads/${session.threadId}/events`, { type, data: { source: "claude", text } }, server.agent);
    await say("USER_MESSAGE", "make the totals exact");
    await say("AGENT_MESSAGE", "I move prices to cents.");
    await server.call(session, "ExitPlanMode", { plan: "# Cents\n\n1. Change the type\n   - in the store,\n     with its index\n2. Change the page\n\nThen test." }, "p");
    await page.locator(".turns li", { hasText: "make the totals exact" }).waitFor();
    await page.locator(".turns li", { hasText: "I move prices to cents." }).waitFor();
    await page.keyboard.press("i");
    await poll(() => page.locator(".turns li").first().isVisible(), (shown) => !shown);
    await page.locator(".plan li li", { hasText: "in the store" }).locator("> .plus-comment").waitFor();
    await page.locator(".plan li", { hasText: "Change the page" }).last().locator("> .plus-comment").focus();
    await page.keyboard.press("Enter");
    await active(page, ".remark textarea");
    await page.keyboard.type("the page first");
    await page.keyboard.press("Enter");
    await page.locator(".remark p", { hasText: "the page first" }).waitFor();
    await page.locator(".deny", { hasText: "Keep planning with 1 comment" }).click();
    same((await poll(() => server.status("p", session), (now) => now.status === "denied")).feedback, "plan line 6: the page first", "the words");
  },
  async "review: a file opens in the person's editor, at its line"(server) {
    const session = await server.session(), page = await person(server);
    await server.call(session, "apply_patch", { command: "*** Begin Patch\n*** Add File: a b.py\n+x = 1\n*** End Patch" }, "w", { fields: { dialect: "codex" } });
    await page.locator(".diff").first().waitFor();
    same(await page.locator(".open-file").count(), 0, "links before an editor is chosen");
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Open files in" }).getByText("VS Code").click();
    await page.goto(server.url + "/#/");
    same(await page.locator(".open-file").first().getAttribute("href"), "vscode://file/home/alice/greeter/a%20b.py:1", "the link");
    same(await page.locator(".diff .path").first().textContent(), "a b.py", "the path, as in the heading");
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Open files in" }).getByText("Terminal").click();
    await page.locator(".setting", { hasText: "Command" }).locator("input").fill("nano +{line} {file}");
    await page.goto(server.url + "/#/");
    same(await page.locator(".open-file").first().getAttribute("title"), "nano +1 '/home/alice/greeter/a b.py'", "the command to copy");
  },
  async "review: figures lead to the calls behind them"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make one", "c1");
    await server.call(session, "Write", { file_path: "/home/alice/greeter/x", content: "1" }, "c2");
    await server.decide(session, "c1", "allow_once");
    await server.decide(session, "c2", "deny");
    // As a person goes there: an address that the driver sets may lose against a request that opens by itself.
    await page.locator("nav a", { hasText: "Insights" }).click();
    await page.locator(".chart").first().waitFor();
    const row = page.locator(".card", { hasText: "By tool" }).locator("a", { hasText: "Bash" });
    await poll(async () => { // the figures are of the moment they were read
      await page.reload();
      await page.locator(".chart").first().waitFor();
      return row.count();
    }, (found) => found === 1);
    await row.click();
    await page.locator("td.what", { hasText: "make one" }).waitFor();
    await poll(() => page.locator(".log td.what").count(), (rows) => rows === 1);
  },
};
