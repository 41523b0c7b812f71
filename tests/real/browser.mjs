// A person at the page, told by lines on standard input what to do: one JSON object each, answered by one.
//   {"act": "goto", "to": "/#/sessions"}            {"act": "see", "what": CSS, "text": WORDS}
//   {"act": "click", "what": CSS, "text": WORDS}    {"act": "gone", "what": CSS, "text": WORDS}
//   {"act": "choose", "what": CSS, "text": VALUE}   {"act": "fill", "what": CSS, "text": WORDS}
//   {"act": "allow"}                                {"act": "shot", "to": FILE}
// URL and TOKEN in the environment name the server and an administrator of it.
import { createInterface } from "node:readline";
import { armed, closeBrowser, person } from "../page/rig.mjs";

const server = {
  url: process.env.URL,
  async login(name, role) {
    const answer = await fetch(this.url + "/api/logins", { method: "POST", body: JSON.stringify({ name, role }),
      headers: { Authorization: `Bearer ${process.env.TOKEN}`, "Content-Type": "application/json" } });
    return answer.json();
  },
};
const page = await person(server, "alice");
const find = ({ what, text }) => (text === undefined ? page.locator(what) : page.locator(what, { hasText: text })).first();
const acts = {
  goto: ({ to }) => page.goto(server.url + to),
  see: async (line) => { await find(line).waitFor(); return find(line).textContent(); },
  gone: (line) => find(line).waitFor({ state: "detached" }),
  click: (line) => find(line).click(),
  choose: ({ what, text }) => page.locator(what).selectOption(text),
  fill: ({ what, text }) => page.locator(what).fill(text),
  allow: async () => { await armed(page); await page.locator(".allow").click(); },
  shot: ({ to }) => page.screenshot({ path: to, fullPage: true }),
};

console.log(JSON.stringify({ ok: true }));
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  try {
    const found = await acts[line.act](line);
    if (page.faults.length) throw new Error(`the page complains: ${page.faults}`);
    console.log(JSON.stringify({ ok: true, text: typeof found === "string" ? found : null }));
  } catch (error) {
    console.log(JSON.stringify({ ok: false, words: String(error), page: (await page.locator("body").innerText()).slice(0, 2000) }));
  }
}
await closeBrowser();
