// What the page shows of other agents' calls: patches as files, notebooks as cells, edits one by one.
import { must, same } from "./check.mjs";
import { person } from "./rig.mjs";

const PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-    a\n+    b\n*** Add File: n.md\n+one\n*** End Patch";
const ask = (server, session, name, input, id, dialect) => server.call(session, name, input, id, { fields: dialect ? { dialect } : {} });

export default {
  async "previews: a patch of Codex is shown as the files it changes"(server) {
    const session = await server.session(), page = await person(server);
    await ask(server, session, "apply_patch", { command: PATCH }, "p", "codex");
    await page.locator(".request h1, .request h2", { hasText: "Change 2 files" }).first().waitFor();
    must(!(await page.locator("article.request").innerText()).includes("commands"), "it is called a command");
    await page.locator(".code", { hasText: "one" }).first().waitFor();
    same(await page.locator(".code").count(), 2, "differences");
  },
  async "previews: a cell of a notebook, and edits one by one"(server) {
    const session = await server.session(), page = await person(server);
    await ask(server, session, "NotebookEdit", { notebook_path: "n.ipynb", cell_id: "c1", new_source: "x = 1\n", edit_mode: "insert" }, "n");
    await page.locator(".request h1, .request h2", { hasText: "Insert a cell in" }).first().waitFor();
    await page.locator(".code", { hasText: "x = 1" }).first().waitFor();
    await server.decide(session, "n", "deny");
    await ask(server, session, "MultiEdit", { file_path: "f", edits: [{ old_string: "a", new_string: "b" }, { old_string: "c", new_string: "d" }] }, "m");
    await page.locator(".face", { hasText: "f" }).first().click();
    await page.locator(".request h1, .request h2", { hasText: "Make 2 changes in" }).first().waitFor();
    same(await page.locator(".code").count(), 2, "one difference for each edit");
  },
};
