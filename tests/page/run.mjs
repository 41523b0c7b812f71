// The page in real Chromium, on the real server with the real store. Ends with `N passed, N failed`.
// NOD=path/to/nod node run.mjs [words in a test's name]...
import { figures, same } from "./check.mjs";
import { closeBrowser, openBrowser, Server } from "./rig.mjs";
import * as terminal from "./terminal.mjs";

const FILES = ["answers", "list", "marks", "truth", "hands", "screens", "login", "push", "phone", "look", "sockets", "previews", "history", "review", "day", "signed", "everyone", "speed"];
const tests = Object.assign({}, ...await Promise.all(FILES.map(async (name) => (await import(`./t_${name}.mjs`)).default)));

const late = (ms) => new Promise((_, fail) => setTimeout(() => fail(new Error(`no end within ${ms} ms`)), ms).unref());

let passed = 0, failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (process.argv.length > 2 && !process.argv.slice(2).some((words) => name.includes(words))) continue;
  const server = await new Server().start();
  const from = Date.now();
  try {
    const skipped = await Promise.race([test(server), late(600000)]);
    for (const context of (await openBrowser()).contexts()) for (const page of context.pages()) same(page.faults ?? [], [], "errors on the page");
    passed++;
    console.log(`ok   ${name}${skipped ? ` (${skipped})` : ""}  ${Date.now() - from} ms`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n     ${String(error.message).split("\n").slice(0, 6).join("\n     ")}`);
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
