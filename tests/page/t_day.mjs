// A day's work by keyboard alone: every step is a key, and nothing is clicked, filled or focused by a script.
import { must, poll, same } from "./check.mjs";
import { armed, person } from "./rig.mjs";

const EDITS = [{ old_string: "let sum = 0;\n", new_string: "let sum = 1;\n" }, { old_string: "return sum;\n", new_string: "return format(sum);\n" }];
const LONG = Array.from({ length: 400 }, (_, i) => `line ${i}`).join("\n");

export default {
  async "a day by keyboard: read, comment and deny, edit, several at once, palette, search, permanent link"(server) {
    const s = await server.session(), page = await person(server), { keyboard } = page;
    const shown = (words) => page.locator(".request", { hasText: words }).first().waitFor();
    const focused = (selector) => page.evaluate((q) => document.activeElement?.matches(q) ?? false, selector);
    const tabTo = async (selector, what, fits = () => true) => {
      const trail = [];
      for (const end = Date.now() + 120000; Date.now() < end;) { // what it looks for may still be on its way
        await keyboard.press("Tab");
        if (await focused(selector) && await fits()) return;
        trail.push(await page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.className}`));
      }
      must(false, `Tab does not reach ${what}: ${trail.slice(-40).join(", ")}`);
    };

    // A long request is read to its end and allowed.
    await server.call(s, "Write", { file_path: "/home/alice/greeter/long.txt", content: LONG }, "long");
    await shown("line 0");
    await keyboard.press("Space");
    const left = () => page.locator(".request .scroll").evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    await poll(() => keyboard.press("End").then(left), (pixels) => pixels < 4);
    await page.locator(".row.add", { hasText: "line 399" }).waitFor();
    await armed(page);
    await keyboard.press("y");
    await poll(() => server.status("long", s), (call) => call.status === "allowed");

    // An edit is denied with two comments on its lines.
    await server.call(s, "MultiEdit", { file_path: "/home/alice/greeter/src/cart.ts", edits: EDITS }, "edit");
    await page.locator(".request .code").nth(1).waitFor();
    await keyboard.press("c");
    await poll(() => focused(".remark textarea"), Boolean);
    await keyboard.type("keep zero");
    await keyboard.press("Enter");
    await page.locator(".deny", { hasText: "Deny with 1 comment" }).waitFor();
    await poll(() => focused(".code"), Boolean);
    await tabTo(".code", "the second change", () => page.evaluate(() => [...document.querySelectorAll(".request .code")].indexOf(document.activeElement) === 1));
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await page.locator(".row.add.cursor", { hasText: "return format" }).waitFor();
    await keyboard.press("c");
    await poll(() => focused(".remark textarea"), Boolean);
    await keyboard.type("use the helper");
    await keyboard.press("Enter");
    await page.locator(".deny", { hasText: "Deny with 2 comments" }).waitFor();
    await tabTo(".deny", "the denial");
    await keyboard.press("Enter");
    const denied = await poll(() => server.status("edit", s), (call) => call.status === "denied");
    same(denied.feedback.split("\n").map((line) => line.split(": ").pop()), ["keep zero", "use the helper"], "the words of the denial");

    // A command is edited and allowed as edited.
    await server.bash(s, "make test", "command");
    await shown("make test");
    await armed(page);
    await keyboard.press("e");
    await page.locator(".cm-content").waitFor();
    if (!await page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.matches(".cm-content") ?? false))
      await tabTo(".editor, .editor *", "the editor");
    await keyboard.press("Control+End");
    await keyboard.type(" VERBOSE=1");
    await page.locator(".edit-changes", { hasText: "VERBOSE=1" }).waitFor();
    await keyboard.press("Control+Enter");
    same((await poll(() => server.status("command", s), (call) => call.status === "allowed")).input.command, "make test VERBOSE=1", "the edited command");

    // Three at once: the whole group is picked, looked at to its end, and allowed; the risky one is left out.
    for (const [name, input, id] of [["Write", { file_path: "/home/alice/greeter/one", content: "1" }, "b1"], ["Write", { file_path: "/home/alice/greeter/two", content: "2" }, "b2"],
      ["Bash", { command: "terraform destroy -auto-approve" }, "b3"]]) await server.call(s, name, input, id);
    await page.locator(".item").nth(2).waitFor();
    await keyboard.press("j");
    await keyboard.press("Shift+X");
    await page.locator(".banner", { hasText: "not included" }).waitFor();
    await poll(() => keyboard.press("End").then(() => page.locator(".answers.armed").count()), (count) => count === 1);
    await tabTo(".answers .primary", "the answer to all of them", () => page.evaluate(() => document.activeElement.textContent.includes("Allow 2 once")));
    await keyboard.press("Enter");
    for (const id of ["b1", "b2"]) await poll(() => server.status(id, s), (call) => call.status === "allowed");
    same((await server.status("b3", s)).status, "awaiting", "the risky one");

    // Palette to the history, search there, and the permanent link of what was denied.
    await keyboard.press("Control+k");
    await poll(() => focused(".palette input"), Boolean);
    await keyboard.type("history");
    await page.locator(".palette [aria-selected=true]", { hasText: "istory" }).waitFor();
    await keyboard.press("Enter");
    await page.locator("main h1", { hasText: "History" }).waitFor();
    await keyboard.press("/");
    await poll(() => focused("input[type=search]"), Boolean);
    await keyboard.type("use the helper");
    await poll(() => page.locator(".log td.what").count(), (rows) => rows === 1);
    await tabTo("td.what a", "the row");
    await keyboard.press("Enter");
    await page.locator(".decided .thing", { hasText: "return format" }).waitFor();
    await page.locator(".decided", { hasText: "keep zero" }).waitFor();
    const link = page.url();
    await page.reload();
    await page.locator(".decided .thing", { hasText: "return format" }).waitFor();
    same(page.url(), link, "the link");
  },
};
