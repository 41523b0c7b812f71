// The list: groups, kinds, search, and nothing that moves under the pointer.
import { count, face, poll, same } from "./check.mjs";
import { person } from "./rig.mjs";

export default {
  async "groups by session and by agent, a sub-agent says whose it is; kinds; search"(server) {
    const one = await server.session({ title: "first" }), two = await server.session({ title: "second", cwd: "/home/alice/site" });
    const sub = await server.api("POST", `/api/sessions/${one.id}/threads`, { title: "reviewer", parentId: one.threadId });
    await server.bash(one, "make a", "c1");
    await server.bash(two, "rm -rf b", "c2");
    await server.call(one, "Write", { file_path: "/home/alice/greeter/x", content: "needle" }, "c3", { thread: sub.id });
    await server.call(two, "mcp__x__y", { a: 1 }, "c4");
    const page = await person(server);
    await count(page, 4);
    const rows = () => page.locator(".rows > [role=listitem]").evaluateAll((all) => all.map((row) => row.matches(".group") ? `# ${row.querySelector("b").textContent}` : row.querySelector(".who").textContent.replace(/\d+ (s|min)$/, "")));
    await page.locator(".group", { hasText: "second" }).waitFor();
    same(await rows(), ["# first", "claude-code", "↳ reviewer, of claude-code", "# second", "claude-coderisky: Deletes", "claude-coderisky: Not understood"], "by session");
    // The keys go the way of the list.
    await page.keyboard.press("j");
    await page.locator(".crumbs", { hasText: "first›claude-code›reviewer (sub-agent)" }).waitFor();
    await page.locator(".count", { hasText: "2 of 4" }).waitFor();
    await page.locator("select[aria-label=Group]").selectOption("agent");
    same((await rows()).filter((row) => row.startsWith("#")), ["# claude-code", "# claude-code", "# reviewer"], "by agent");
    await page.locator(".group", { hasText: "sub-agent of claude-code, first" }).waitFor();
    await page.locator("select[aria-label=Group]").selectOption("none");
    same((await rows()).length, 4, "not grouped");
    for (const [kind, found] of [["risky", 2], ["command", 2], ["file", 1], ["other", 1], ["question", 0]]) {
      await page.locator("select[aria-label=Show]").selectOption(kind);
      await page.locator(".list-head p", { hasText: `${found} waiting of 4` }).waitFor();
    }
    await page.locator("select[aria-label=Show]").selectOption("");
    await page.locator("#search").fill("NEEDLE");
    await page.locator(".list-head p", { hasText: "1 waiting of 4" }).waitFor();
    await page.locator("#search").fill("second");
    await page.locator(".list-head p", { hasText: "2 waiting of 4" }).waitFor();
  },
  async "risk: in the row and at the part, by the server's word; bulk leaves it out"(server) {
    const s = await server.session();
    const risky = [["terraform destroy -auto-approve", "Infrastructure"], ["kubectl delete ns prod", "Infrastructure"], ["docker system prune -af --volumes", "Deletes"],
      ["psql -c 'DROP TABLE x'", "Database"], ["git restore .", "Deletes"]], plain = 'git commit -m "use rm less, sudo never"';
    for (const [i, [command]] of risky.entries()) await server.bash(s, command, `r${i}`);
    await server.bash(s, plain, "plain");
    const page = await person(server);
    await count(page, risky.length + 1);
    for (const [command, label] of risky) {
      await page.locator(".item", { hasText: command }).locator(".risk", { hasText: label }).waitFor();
      await face(page, command).click();
      await page.locator(".request", { hasText: command }).locator(".risk-tag", { hasText: label }).waitFor();
    }
    same(await page.locator(".item", { hasText: "use rm less" }).locator(".risk").count(), 0, "risks in the row of a commit");
    await face(page, "use rm less").click();
    await page.locator(".request", { hasText: "use rm less" }).waitFor();
    same(await page.locator(".request .risk-tag").count(), 0, "risks of a commit");
    await page.keyboard.press("Shift+X");
    await page.locator(".banner", { hasText: `${risky.length} requests are risky` }).waitFor();
    await page.locator(".the-end").evaluate((end) => end.scrollIntoView());
    await page.locator(".answers.armed").waitFor();
    await page.locator(".answers .primary", { hasText: "Allow 1 once" }).click();
    await poll(() => server.status("plain", s), (call) => call.status === "allowed");
    for (const i of risky.keys()) same((await server.status(`r${i}`, s)).status, "awaiting", risky[i][0]);
  },
  async "a dense list has one line for each request"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `rm -rf ${id}`, id);
    await page.goto(server.url + "/#/settings");
    await page.locator(".setting", { hasText: "Dense list" }).locator("input").check();
    await page.goto(server.url + "/#/");
    await page.locator(".item").nth(2).waitFor();
    same(await page.locator(".item").evaluateAll((all) => all.map((one, i) => [one.offsetHeight, i ? one.getBoundingClientRect().top - all[i - 1].getBoundingClientRect().top : 36])), [[36, 36], [36, 36], [36, 36]], "heights and steps");
    await page.locator(".item .risk", { hasText: "Deletes" }).first().waitFor();
  },
  async "nothing moves in the list while the pointer is over it"(server) {
    const one = await server.session({ title: "first" }), two = await server.session({ title: "second" });
    await server.bash(one, "make a", "c1");
    await server.bash(two, "make b", "c2");
    const page = await person(server);
    await count(page, 2);
    await page.locator(".group", { hasText: "second" }).waitFor();
    await face(page, "make b").hover();
    const before = await face(page, "make b").boundingBox();
    await server.bash(one, "make c", "c3");
    await count(page, 3);
    await page.locator(".group", { hasText: "Just arrived" }).waitFor();
    same(await face(page, "make b").boundingBox(), before, "where it is");
    await page.mouse.move(1000, 400);
    await page.locator(".group", { hasText: "Just arrived" }).waitFor({ state: "detached" });
    same((await page.locator(".item .what").allTextContents()).map((text) => text.replace("●", "")), ["make a", "make c", "make b"], "in its group afterwards");
  },
};
