// What the page shows of other agents' calls: patches as files, notebooks as cells, edits one by one.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heading, must, same } from "./check.mjs";
import { person } from "./rig.mjs";

const PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-    a\n+    b\n*** Add File: n.md\n+one\n*** End Patch";
const ask = (server, session, name, input, id, dialect) => server.call(session, name, input, id, { fields: dialect ? { dialect } : {} });

// A picture of one pixel.
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const folder = (files) => {
  const made = mkdtempSync(join(tmpdir(), "nod-previews-"));
  for (const [name, data] of Object.entries(files)) writeFileSync(join(made, name), data);
  return made;
};

export default {
  async "previews: a patch stands in its files, deleted ones with their text"(server) {
    const cwd = folder({ "a.py": "import os\n\ndef f():\n    a\n", "old.md": "gone for good\n" });
    const session = await server.session({ cwd }), page = await person(server);
    await ask(server, session, "apply_patch", { command: "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    a\n+    b\n*** Delete File: old.md\n*** End Patch" }, "p", "codex");
    await page.locator(".row.del .n", { hasText: "4" }).first().waitFor();
    await page.locator(".row.del", { hasText: "gone for good" }).waitFor();
    await page.locator(".state-deleted").waitFor();
  },
  async "previews: a cell of a notebook is its source before and after"(server) {
    const cwd = folder({ "n.ipynb": JSON.stringify({ cells: [{ cell_type: "code", id: "c1", source: ["x = 0\n"] }] }) });
    const session = await server.session({ cwd }), page = await person(server);
    await ask(server, session, "NotebookEdit", { notebook_path: "n.ipynb", cell_id: "c1", new_source: "x = 1\n" }, "n");
    await page.locator(".row.del", { hasText: "x = 0" }).waitFor();
    await page.locator(".note", { hasText: "The source of cell c1 (code)." }).waitFor();
  },
  async "previews: a picture before and after; fields of an MCP tool by its schema"(server) {
    const cwd = folder({ "dot.png": Buffer.from(DOT, "base64") }), session = await server.session({ cwd }), page = await person(server);
    await server.call(session, "mcp__files__put", { path: "dot.png", data: DOT }, "i");
    await page.locator(".pictures", { hasText: "Before" }).locator("img").nth(1).waitFor();
    await page.locator(".pictures", { hasText: "image/png, 1 × 1, 70 bytes" }).waitFor();
    await page.locator(".state-replaced").waitFor();
    await server.decide(session, "i", "deny");
    const definition = { name: "issue", description: "Opens an issue.", inputSchema: { type: "object", properties: { owner: { title: "Owner", description: "Who the repository belongs to" } } } };
    await server.api("POST", `/api/threads/${session.threadId}/tool-definitions`, { id: "d", server: "hub", source: "0".repeat(64), definition }, server.agent);
    await server.call(session, "mcp__hub__issue", { owner: "alice", repo: "site" }, "m", { fields: { source: "0".repeat(64) } });
    await page.locator(".face", { hasText: "issue" }).first().click();
    await page.locator(".generic .about", { hasText: "Opens an issue." }).waitFor();
    await page.locator("dt", { hasText: "Owner" }).waitFor();
    await page.locator("dd .about", { hasText: "Who the repository belongs to" }).waitFor();
  },
  async "previews: a patch of Codex is shown as the files it changes"(server) {
    const session = await server.session(), page = await person(server);
    await ask(server, session, "apply_patch", { command: PATCH }, "p", "codex");
    await page.locator(".request h1, .request h2", { hasText: "Change 2 files" }).first().waitFor();
    must(!(await page.locator("article.request").innerText()).includes("commands"), "it is called a command");
    await page.locator(".code", { hasText: "one" }).first().waitFor();
    same(await page.locator(".code").count(), 2, "differences");
  },
  async "previews: a host that a box asks for, and a command outside the box"(server) {
    const session = await server.session(), page = await person(server);
    await server.call(session, "Net", { host: "packages.example.com", port: 443 }, "n1");
    await heading(page, "Connect to packages.example.com:443");
    await server.decide(session, "n1", "deny");
    await server.call(session, "Bash", { command: "make install", outside: true }, "b1");
    await page.goto(`${server.url}/#/request/${session.id}/b1`);
    await heading(page, "Run a command outside the box");
    await page.locator(".allow", { hasText: "Run outside once" }).waitFor();
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
