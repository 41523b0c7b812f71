// What agents write, and people who use a keyboard or a finger only.
import { count, face, figures, must, poll, same } from "./check.mjs";
import { armed, person, PHONE } from "./rig.mjs";

export default {
  async "hostile text: markup, ANSI, bidi, 1 MB"(server) {
    const s = await server.session({ title: "<img src=x onerror=alert(1)>" }), page = await person(server);
    const evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u001b[31mred\u001b[0m \u202egnp.exe\u202c \u200bzero";
    await server.call(s, "Bash", { command: `make ${evil}`, description: evil }, "c1");
    await server.call(s, "Edit", { file_path: `/tmp/${evil}`, old_string: evil, new_string: evil + "!" }, "c2");
    await server.call(s, "mcp__x__y", { [evil]: evil, list: [evil] }, "c3");
    await server.call(s, "Note", { text: ("x".repeat(99) + "\n").repeat(9000) + evil + "THE-END" }, "c4");
    await server.call(s, "Bash", { command: "make " + "y".repeat(900000) }, "c5");
    await count(page, 5);
    for (let i = 0; i < 5; i++) {
      await page.locator(".count", { hasText: `${i + 1} of 5` }).waitFor();
      if (i < 3) {
        for (const code of ["⟨U+202E⟩", "⟨U+001B⟩", "⟨U+200B⟩"]) must((await page.locator(".request").textContent()).includes(code), `${code} is not shown in ${i + 1}`);
        must((await page.locator(".request").textContent()).includes("<img src=x"), "the markup is not shown as text");
        await page.locator(".warnings", { hasText: "invisible characters" }).waitFor();
      }
      if (i === 3) {
        await page.locator(".request .big-tree").waitFor(); // lines are made where the window is
        await poll(() => page.keyboard.press("End").then(() => page.locator(".request", { hasText: "THE-END" }).count()), (n) => n === 1);
      }
      must(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(await page.locator("body").textContent()), "a hidden character is in the document");
      await page.keyboard.press("j");
    }
    same(await page.locator("img, .request script, iframe, object, embed").count(), 0, "elements that came from text");
    must(await page.title() === "(5) Nod", `the title is ${await page.title()}`);
    for (const [place, content] of [[`session/${s.id}`, ".entry"], ["sessions", ".card"], ["history", ".table-box, .none"], ["figures", ".card"]]) {
      await page.goto(`${server.url}/#/${place}`);
      await page.locator(`main.screen :is(${content})`).first().waitFor();
      same(await page.locator("img, iframe").count(), 0, `elements on ${place}`);
      must(!/[\u202a-\u202e\u001b]/.test(await page.locator("body").textContent()), `a hidden character on ${place}`);
    }
  },
  async "keyboard only: find, look, answer, go"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make one", "c1");
    await server.bash(s, "make needle", "c2");
    await count(page, 2);
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.locator(".list-head p", { hasText: "1 waiting of 2" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.locator(".request .whole", { hasText: "make needle" }).waitFor();
    await page.keyboard.press("?");
    await page.locator("dialog.help").waitFor();
    await page.keyboard.press("y");
    await page.keyboard.press("Escape");
    await page.locator("dialog.help").waitFor({ state: "detached" });
    same((await server.status("c2", s)).status, "awaiting", "a key under the help");
    await armed(page);
    await page.keyboard.press("y");
    await poll(() => server.status("c2", s), (c) => c.status === "allowed");
    for (const [key, place] of [["s", "Sessions"], ["h", "History"], ["f", "Insights"], ["t", "Settings"]]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.locator("main h1", { hasText: place }).waitFor();
    }
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.locator(".inbox").waitFor();
    // A list is narrowed and grouped, and several are picked, without a mouse.
    await page.locator("#search").fill("");
    await server.bash(s, "make three", "c3");
    await server.bash(s, "make four", "c4");
    await count(page, 3);
    await page.locator("#search").focus();
    for (const name of ["Show", "Group", "Select all of greeter", "Pick make one"]) {
      await page.keyboard.press("Tab");
      must(await page.evaluate((words) => document.activeElement.getAttribute("aria-label") === words, name), `Tab does not reach ${name}`);
    }
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.locator(".place", { hasText: "2 picked" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".count", { hasText: /of 3/ }).waitFor();
    for (const id of ["c3", "c4"]) await server.decide(s, id, "deny");
    await count(page, 1);
    await page.evaluate(() => document.activeElement.blur());
    // Tab reaches every answer, in order, and the focus can be seen.
    await page.locator("#search").fill("");
    await page.locator(".request h1").waitFor();
    await armed(page);
    const seen = [];
    for (let i = 0; i < 40 && !seen.includes("Allow once"); i++) {
      await page.keyboard.press("Tab");
      seen.push(await page.evaluate(() => document.activeElement.firstChild?.textContent ?? ""));
    }
    same(seen.filter((t) => /^(Deny|Stop|Edit|For this|Allow)/.test(t)), ["Deny…", "Stop…", "Edit…", "For this session", "Allow once"], "in the order of Tab");
    await page.keyboard.press("Enter");
    await poll(() => server.status("c1", s), (c) => c.status === "allowed");
  },
  async "phone: cards, full screen, thumb, swipe, more"(server) {
    const s = await server.session(), page = await person(server, "alice", PHONE);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `make ${id}`, id);
    await count(page, 3);
    await face(page, "make c1").tap();
    await page.locator(".count", { hasText: "1 of 3" }).waitFor();
    must(!(await page.locator(".list").isVisible()), "the list is still there");
    const allow = await page.locator(".allow").boundingBox(), deny = await page.locator(".deny").boundingBox();
    must(allow.y > 700 && deny.y > 700 && deny.x < 195 && allow.x > 195 && allow.height >= 44 && deny.height >= 44, `out of reach: ${JSON.stringify([allow, deny])}`);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await page.evaluate(() => {
      const box = document.querySelector(".scroll");
      const touch = (x) => new Touch({ identifier: 1, target: box, clientX: x, clientY: 500 });
      box.dispatchEvent(new TouchEvent("touchstart", { touches: [touch(300)], changedTouches: [touch(300)], bubbles: true }));
      box.dispatchEvent(new TouchEvent("touchend", { touches: [], changedTouches: [touch(80)], bubbles: true }));
    });
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
    await armed(page);
    await page.locator(".toggle").tap();
    await page.locator("button", { hasText: "For this session" }).tap();
    await poll(() => server.status("c2", s), (c) => c.decision === "allow_session");
    await page.locator(".back").tap();
    await face(page, "make c1").waitFor();
    await face(page, "make c1").tap();
    await page.locator(".deny").tap();
    await page.locator("#deny-words").fill("not now");
    await page.locator(".panel .danger").tap();
    await poll(() => server.status("c1", s), (c) => c.feedback === "not now");
  },
};
