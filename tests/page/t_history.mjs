// History: permanent links that show what was approved, and the list of decisions that leads to them.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { must, poll, same } from "./check.mjs";
import { person } from "./rig.mjs";

const EDITS = [{ old_string: "let sum = 0;\n", new_string: "let sum = 1;\n" }, { old_string: "return sum;\n", new_string: "return format(sum);\n" }];
const link = (server, session, call) => `${server.url}/#/request/${session.id}/${call}`;
// Without buttons: a line of a waiting request can be commented on.
const shown = (page) => page.locator(".thing .diff").evaluateAll((all) => all.map((one) => {
  const copy = one.cloneNode(true);
  copy.querySelectorAll("button").forEach((button) => button.remove());
  return copy.textContent;
}).join("\n").replace(/\s+/g, " "));
// Looks at the record after the answer, after a restart and from an archive; the last page.
const lookAlways = async (server, page, look) => {
  await look(page, "after the answer");
  await page.context().close();
  await server.kill();
  await server.start();
  const next = await person(server);
  await look(next, "after a restart");
  await server.api("POST", "/api/archive", { olderThanSeconds: 0 });
  await look(next, "from an archive");
  return next;
};

export default {
  async "history: the link of a request shows after the answer, after a restart and from an archive what was approved"(server) {
    const session = await server.session();
    await server.call(session, "MultiEdit", { file_path: "/home/alice/greeter/cart.ts", edits: EDITS }, "m");
    let page = await person(server);
    await page.goto(link(server, session, "m"));
    await page.locator(".request .code").nth(1).waitFor();
    const asked = await shown(page);
    await server.decide(session, "m", "allow_once");
    await page.locator(".request .banner.good").waitFor(); // else the link shows the request as it was closed
    await server.api("POST", "/api/tool-calls/m/result", { content: "written" }, server.agent);
    const look = async (page, where) => {
      // Both moves before the page hears of the first, as a quick Back and Forward may come.
      await page.evaluate((there) => { location.hash = "#/history"; location.hash = there; }, link(server, session, "m").split("#")[1]);
      await page.locator(".decided .badge", { hasText: "Allowed once" }).waitFor();
      await page.locator(".decided .code").nth(1).waitFor();
      same(await shown(page), asked, `what is shown ${where}`);
      await page.locator(".facts-panel", { hasText: "admin" }).waitFor();
      await page.locator(".result", { hasText: "written" }).waitFor();
    };
    page = await lookAlways(server, page, look);
    await page.locator(".decided .badge", { hasText: "Archived" }).waitFor();
  },
  async "history: the link of a multi-edit in a file that is there shows it in its place, however the file has changed"(server) {
    const cwd = mkdtempSync(join(tmpdir(), "nod-history-")), file = join(cwd, "cart.ts");
    const text = [...Array(40).keys()].map((n) => n === 9 ? "let sum = 0;" : n === 29 ? "return sum;" : `// ${n + 1}`).join("\n") + "\n";
    writeFileSync(file, text);
    const session = await server.session({ cwd });
    await server.call(session, "MultiEdit", { file_path: file, edits: EDITS }, "m");
    let page = await person(server);
    await page.goto(link(server, session, "m"));
    await page.locator(".request .row", { hasText: "// 29" }).waitFor();
    const asked = await shown(page);
    must(["7", "10", "// 13", "30", "// 33"].every((words) => asked.includes(words)) && !asked.includes("// 14"), asked);
    writeFileSync(file, "// another\n" + text);
    await page.reload();
    await page.locator(".note", { hasText: "The file has changed since this was asked" }).waitFor();
    const look = async (page, where) => {
      await page.evaluate((there) => { location.hash = "#/history"; location.hash = there; }, link(server, session, "m").split("#")[1]);
      await page.locator(".decided .badge", { hasText: "Allowed once" }).waitFor();
      await page.locator(".decided .row", { hasText: "// 29" }).waitFor();
      same(await shown(page), asked, `what is shown ${where}`);
    };
    await server.decide(session, "m", "allow_once");
    await page.locator(".request .banner.good").waitFor();
    page = await lookAlways(server, page, look);
  },
  async "history: an edited call shows both versions, a denial its words"(server) {
    const session = await server.session(), page = await person(server);
    await server.bash(session, "make test", "e");
    await server.bash(session, "rm -rf out", "d");
    await server.decide(session, "e", "allow_once", { updatedInput: { command: "make check" } });
    await server.decide(session, "d", "deny", { feedback: "keep the folder" });
    await page.goto(server.url + "/#/history"); // one that was answered while it was open stays open, and says so
    await page.goto(link(server, session, "e"));
    await page.locator(".decided .thing", { hasText: "make check" }).waitFor();
    await page.locator(".asked-allowed label", { hasText: "As asked" }).click();
    await page.locator(".thing", { hasText: "make test" }).waitFor();
    await page.goto(link(server, session, "d"));
    await page.locator(".agent-words", { hasText: "keep the folder" }).waitFor();
    await page.goto(link(server, session, "nothing"));
    await page.locator(".decided [role=alert]", { hasText: "no such request" }).waitFor();
  },
  async "history: no letter of a search is lost when the page draws while it is typed"(server) {
    const page = await person(server);
    await page.goto(`${server.url}/#/history`);
    const field = page.locator("input[type=search]");
    await field.waitFor();
    // A key's letter, and before any other task a drawing (the help opens).
    const typed = await field.evaluate(async (element) => {
      element.focus();
      document.execCommand("insertText", false, "use");
      element.blur();
      dispatchEvent(new KeyboardEvent("keydown", { key: "?" }));
      for (let i = 0; i < 50; i++) await Promise.resolve();
      return element.value;
    });
    same(typed, "use", "the field");
    await page.locator(".help").waitFor();
    must(page.url().endsWith("#/history?text=use"), page.url());
  },

  async "history: search over inputs and words, filters in the address, saved filters, and a row leads to its request"(server) {
    const session = await server.session(), other = await server.session({ cwd: "/tmp/elsewhere" }), page = await person(server);
    for (const [s, command, id] of [[session, "make one", "a1"], [session, "make two", "a2"], [other, "make three", "a3"]]) await server.bash(s, command, id);
    await server.decide(session, "a1", "allow_once");
    await server.decide(session, "a2", "deny", { feedback: "use the helper" });
    await server.decide(other, "a3", "allow_once");
    const rows = (count) => poll(() => page.locator(".log td.what").count(), (found) => found === count);
    await page.goto(server.url + "/#/history");
    await rows(3);
    await page.locator("input[type=search]").fill("the helper");
    await rows(1);
    await page.locator("td.what", { hasText: "make two" }).waitFor();
    await page.locator("input[type=search]").fill("");
    await rows(3);
    await page.locator("select[aria-label=Project]").selectOption("/tmp/elsewhere");
    await rows(1);
    await page.locator("td.project", { hasText: "elsewhere" }).waitFor();
    must(page.url().includes("project=%2Ftmp%2Felsewhere"), `the address says nothing of it: ${page.url()}`);
    await page.locator("button", { hasText: "Save this filter" }).click();
    await page.locator("input[aria-label='Name of the filter']").fill("elsewhere");
    await page.keyboard.press("Enter");
    await page.locator(".pill", { hasText: "All" }).click();
    await rows(3);
    await page.locator(".pill", { hasText: "elsewhere" }).click();
    await rows(1);
    await page.locator("td.what a").click();
    await page.locator(".decided .thing", { hasText: "make three" }).waitFor();
  },
};
