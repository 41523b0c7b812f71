// Snooze and assign: a request leaves the queue and comes back, or says for whom it is.
import { count, face, must, poll, same } from "./check.mjs";
import { armed, person } from "./rig.mjs";

const opened = (page, text) => page.locator(".item.open", { hasText: text }).waitFor();
const show = (page, kind) => page.locator("select[aria-label=Show]").selectOption(kind);

export default {
  async "a snoozed request leaves the queue, is found by a filter, and comes back when its time is over"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    await server.bash(s, "make two", "c2");
    const page = await person(server), other = await person(server, "bob");
    await count(page, 2);
    await opened(page, "make one");
    await page.keyboard.press("h");
    await page.getByRole("group", { name: "Snooze" }).waitFor();
    same(await page.evaluate(() => document.activeElement.textContent), "10 minutes", "the focus");
    await page.getByRole("button", { name: "30 minutes" }).click();
    await page.locator(".toast", { hasText: "Snoozed until" }).waitFor();
    await opened(page, "make two");
    await other.locator(".chips", { hasText: "snoozed until" }).waitFor(); // it stays where it is looked at
    for (const one of [page, other]) {
      await count(one, 1);
      await one.locator(".asleep", { hasText: "1 snoozed: show" }).waitFor();
    }
    must((await page.title()).startsWith("(1)"), "the title counts it");
    await page.locator(".asleep").click();
    await page.locator(".list-head p", { hasText: "1 snoozed" }).waitFor();
    await face(page, "make one").click();
    await page.locator(".chips", { hasText: "snoozed until" }).waitFor();
    await page.keyboard.press("h");
    await page.getByRole("button", { name: "End the snooze" }).click();
    await page.locator(".asleep", { hasText: "Show what waits" }).click();
    await count(page, 2);
    await count(other, 2);
    // The server's word is enough, and time alone brings it back.
    await server.api("POST", `/api/sessions/${s.id}/approvals/c2/snooze`, { seconds: 3 });
    await face(page, "make two").waitFor({ state: "detached" });
    await face(page, "make two").waitFor();
    await count(page, 2);
    same((await server.status("c2", s)).status, "awaiting", "it waited all the time");
  },
  async "a snooze ends by the server's clock, whatever the page's says"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    const page = await person(server);
    await page.addInitScript(() => { const real = Date.now; Date.now = () => real() - 3600000; });
    await page.reload();
    await count(page, 1);
    await server.api("POST", `/api/sessions/${s.id}/approvals/c1/snooze`, { seconds: 3 });
    await page.locator(".asleep", { hasText: "1 snoozed" }).waitFor();
    await count(page, 1);
  },
  async "a request is assigned by key, by menu and by the palette; \"mine\" shows it; anybody may still answer"(server) {
    const s = await server.session();
    await server.bash(s, "make one", "c1");
    await server.bash(s, "make two", "c2");
    const page = await person(server), bob = await person(server, "bob", undefined, "approver");
    await count(page, 2);
    await opened(page, "make one");
    await page.keyboard.press("p");
    await page.getByRole("group", { name: "Assign" }).getByRole("button", { name: "bob" }).click();
    await page.locator(".toast", { hasText: "Assigned to bob" }).waitFor();
    await page.locator(".chips", { hasText: "for bob" }).waitFor();
    await bob.locator(".item", { hasText: "for you" }).waitFor();
    await show(bob, "mine");
    await bob.locator(".list-head p", { hasText: "1 waiting of 2" }).waitFor();
    await show(page, "mine");
    await page.locator(".list-head p", { hasText: "0 waiting of 2" }).waitFor();
    await show(page, "");
    await face(page, "make two").click();
    await opened(page, "make two");
    await page.locator(".toggle", { hasText: "More" }).click();
    await page.getByRole("button", { name: "Assign…" }).click();
    await page.getByRole("button", { name: "Me", exact: true }).click();
    await page.locator(".item.open", { hasText: "for you" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("assign to a person");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Anybody" }).click();
    await page.locator(".item.open", { hasText: "for you" }).waitFor({ state: "detached" });
    const pending = await server.api("GET", "/api/approvals/pending");
    same(pending.pendingApprovals.map((p) => p.assignee ?? ""), ["bob", ""], "the server's word");
    await face(page, "make one").click();
    await opened(page, "make one");
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c1", s), (call) => call.status === "allowed");
  },
};
