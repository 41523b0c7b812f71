// The link of a message, on a phone that is not logged in: it shows the call, and denies it when somebody presses.
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { must, poll, same } from "./check.mjs";
import { openBrowser, PHONE, Server } from "./rig.mjs";

// An ntfy server that keeps what it is given, and a Nod that tells alice there.
async function openPlace() {
  const posts = [];
  const topic = createServer((request, answer) => {
    let body = "";
    request.on("data", (piece) => { body += piece; });
    request.on("end", () => { posts.push(JSON.parse(body)); answer.end("{}"); });
  });
  await new Promise((done) => topic.listen(0, "127.0.0.1", done));
  const server = new Server({ NTFY_TOKEN: "tk_1" });
  writeFileSync(join(server.data, "notify.json"), JSON.stringify({
    channels: { phone: { type: "ntfy", url: `http://127.0.0.1:${topic.address().port}/`, topic: "t", token: { env: "NTFY_TOKEN" }, protected: true } },
    routes: [{ person: "alice", steps: [{ after: "0s", to: ["phone"] }] }],
  }));
  await server.start();
  await server.kill();
  server.env.NOD_PUBLIC_URL = server.url; // now that its port is known
  await server.start();
  await server.api("POST", "/api/tokens", { name: "alice", role: "approver" });
  const link = async () => (await poll(async () => posts, (all) => all.length > 0))[0].click;
  return { server, link, async close() { topic.close(); await server.stop(); } };
}

// A person without a login; requests to elsewhere fail the test.
async function stranger(server) {
  const page = await (await (await openBrowser()).newContext(PHONE)).newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) page.faults.push(`asked ${request.url()}`); });
  return page;
}

export default {
  async "the link of a message: a scanner decides nothing, a phone looks without a login and denies with words"() {
    const { server, link, close } = await openPlace();
    try {
      await server.bash(await server.session(), "make release", "c1");
      const url = await link(), scanner = await stranger(server), page = await stranger(server);
      must(/\/a#[\w-]{50}$/.test(url), `the link: ${url}`);
      for (const method of ["GET", "HEAD"]) same((await fetch(url.split("#")[0], { method })).status, 200, method);
      await scanner.goto(url);
      await scanner.locator("h1", { hasText: "Run" }).waitFor();
      await scanner.close();
      same((await server.status("c1")).status, "awaiting", "after the scanner");
      await page.goto(url);
      await page.locator("h1", { hasText: "Run" }).waitFor();
      await page.getByText("make release").first().waitFor();
      same(await page.getByRole("button", { name: /allow/i }).count(), 0, "buttons that allow");
      same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it fits");
      await page.locator("#deny-words").fill("not on a Sunday");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.locator("h1", { hasText: "Denied" }).waitFor();
      const call = await server.status("c1");
      same([call.status, call.decidedBy.actor, call.feedback ?? call.decidedBy.feedback], ["denied", "alice", "not on a Sunday"], "the call");
      await page.reload();
      await page.locator("h1", { hasText: "has been answered" }).waitFor();
      await page.goto(`${server.url}/a#forged`);
      await page.reload();
      await page.locator("h1", { hasText: "not a link" }).waitFor();
    } finally { await close(); }
  },
};
