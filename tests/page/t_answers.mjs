// Every answer, and what keeps one from being given by accident.
import { count, face, heading, must, poll, same } from "./check.mjs";
import { armed, person } from "./rig.mjs";

export default {
  async "allow once by mouse"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make test", "c1");
    await heading(page, "Run a command");
    await armed(page);
    await page.locator(".allow").click();
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    const call = await server.status("c1", s);
    same([call.status, call.decision, call.decidedBy.actor], ["allowed", "allow_once", "alice, Chromium on Linux"], "the call");
    await page.locator(".quiet-inbox h1", { hasText: "Nothing waits" }).waitFor();
  },
  async "allow for the session: the next one passes"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make test", "c1");
    await armed(page);
    await page.keyboard.press("s");
    await page.locator(".toast", { hasText: "for the session" }).waitFor();
    same((await server.status("c1", s)).decision, "allow_session", "decision");
    same((await server.bash(s, "make test", "c2")).status, "allowed", "the same call again");
  },
  async "allow always with a chosen rule"(server) {
    const s = await server.session({ cwd: "/tmp" }), page = await person(server); // a rule's project is a folder that exists
    await page.locator("nav a[href='#/rules']").first().waitFor();
    await server.bash(s, "make test", "c1");
    await armed(page);
    await page.keyboard.press("a");
    await page.locator("#rule-text").fill("Bash(make test:*)");
    await page.locator(".panel [role=status]", { hasText: /Would have covered \d+ of/ }).waitFor();
    await page.locator("button", { hasText: "Allow always" }).click();
    await page.locator(".toast", { hasText: "from now on" }).waitFor();
    const other = await server.session({ title: "another", cwd: "/tmp" });
    same((await server.bash(other, "make test", "c2")).status, "allowed", "in another session");
    await page.goto(server.url + "/#/rules");
    const line = page.locator(".rule-list li", { hasText: "Bash(make test:*)" });
    await line.locator("button", { hasText: "Revoke" }).click();
    await line.waitFor({ state: "detached" });
    same((await server.bash(other, "make test", "c3")).status, "awaiting", "after it was revoked");
  },
  async "allow always, for some calls"(server) {
    const s = await server.session({ cwd: "/tmp" }), page = await person(server);
    await page.locator("nav a[href='#/rules']").first().waitFor();
    await server.bash(s, "make some", "c1");
    await armed(page);
    await page.keyboard.press("a");
    await page.locator("#rule-text").fill("Bash(make some:*)");
    await page.locator("select[aria-label='How long it holds']").selectOption({ label: "for 1 more call" });
    await page.locator(".panel [role=status]", { hasText: /Would have covered \d+ of/ }).waitFor();
    await page.locator("button", { hasText: "Allow always" }).click();
    await page.locator(".toast", { hasText: "from now on" }).waitFor();
    same((await server.bash(s, "make some", "c2")).status, "allowed", "one more");
    same((await server.bash(s, "make some", "c3")).status, "awaiting", "and no more");
    await page.goto(server.url + `/#/request/${s.id ?? s}/c1`);
    await page.locator("dl", { hasText: "Bash(make some:*)" }).filter({ hasText: "for 1 call" }).waitFor();
  },
  async "rules: try a call and see why"(server) {
    const page = await person(server);
    await page.locator("nav a[href='#/rules']").first().waitFor();
    await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(git diff:*)" });
    await page.goto(server.url + "/#/rules");
    await page.locator("label", { hasText: "Command, path or input" }).locator("input").fill("git diff --stat | tee all.txt");
    await page.locator("button", { hasText: "Explain" }).click();
    await page.locator(".verdict.good", { hasText: "Bash(git diff:*)" }).waitFor();
    await page.locator(".verdict.warn").waitFor();
  },
  async "rules: changed in place, with reason and expiry; what could be tidied"(server) {
    const s = await server.session(), page = await person(server);
    await server.api("POST", "/api/policy/rules", { effect: "allow", rule: "Bash(make test:*)", reason: "safe" });
    for (let i = 0; i < 3; i++) { await server.bash(s, "git fetch origin", `c${i}`); await server.decide(s, `c${i}`, "allow_once"); }
    await page.goto(server.url + "/#/rules");
    const line = page.locator(".rule-list li", { hasText: "Bash(make test:*)" });
    await line.filter({ hasText: "safe" }).filter({ hasText: "never used" }).filter({ hasText: "by admin" }).waitFor();
    await line.locator("button", { hasText: "Change" }).click();
    const form = page.locator(".rule-list form");
    await form.locator("input.mono").fill("Bash(make check:*)");
    await form.locator("select").first().selectOption("deny");
    await form.locator("label", { hasText: "Reason" }).locator("input").fill("too slow");
    await form.locator("label", { hasText: "Holds" }).locator("select").selectOption("1");
    await form.locator("button", { hasText: "Save" }).click();
    await page.locator(".toast", { hasText: "Rule changed" }).waitFor();
    const after = page.locator(".rule-list li", { hasText: "Bash(make check:*)" });
    await after.filter({ hasText: "deny" }).filter({ hasText: "too slow" }).filter({ hasText: /\d+ (min|h).* left|59:\d\d left|60:00 left|1 h 00 left/ }).waitFor();
    same(await page.locator(".rule-list li").count(), 1, "rules");
    same((await server.bash(s, "make check", "d1")).status, "denied", "the new rule");
    same((await server.bash(s, "make test", "d2")).status, "awaiting", "the old rule");
    // A rule that cannot be read changes nothing.
    await after.locator("button", { hasText: "Change" }).click();
    await form.locator("input.mono").fill("Bash(");
    await form.locator(".tried-line .bad").waitFor();
    await form.locator("button", { hasText: "Save" }).click();
    await page.locator(".toast.bad").waitFor();
    same((await server.api("GET", "/api/policy")).user.map((rule) => rule.rule), ["Bash(make check:*)"], "after a bad one");
    await page.locator("button", { hasText: "Cancel" }).click();
    await page.locator(".tidy li", { hasText: "git fetch needed approval 3 times and was always allowed" }).locator("a").click();
    const tried = page.locator("section", { hasText: "Add a rule" }).locator(".tried");
    await tried.locator("summary", { hasText: "Would have named 3 of your last 5 calls" }).click();
    same(await tried.locator("li", { hasText: "git fetch origin" }).count(), 3, "the calls that it names");
    await page.locator("section", { hasText: "Add a rule" }).locator("button", { hasText: "Add" }).click();
    await page.locator(".rule-list li", { hasText: "Bash(git fetch:*)" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("input[aria-label='Search rules']").fill("FETCH");
    await page.locator(".rule-list li", { hasText: "Bash(make check:*)" }).waitFor({ state: "detached" });
    same(await page.locator(".tidy li", { hasText: "unused" }).count(), 0, "a young rule is offered for removal");
    await page.clock.setFixedTime(Date.now() + 31 * 86400000);
    await page.reload();
    await page.locator(".tidy li", { hasText: "Bash(git fetch:*) is older than 30 days and unused" }).locator("button").click();
    await page.locator(".rule-list li", { hasText: "Bash(git fetch:*)" }).waitFor({ state: "detached" });
  },
  async "deny with words"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "rm -rf build", "c1");
    await heading(page, "Run a command");
    await page.keyboard.press("n");
    await page.locator("#deny-words").waitFor();
    same(await page.locator(".answers .primary").count(), 0, "buttons that stand out beside Deny");
    for (const width of [1440, 1024, 390]) { // what was just done is said where nothing is typed
      await page.setViewportSize({ width, height: 844 });
      same(await page.evaluate(() => {
        const note = document.createElement("div");
        note.className = "toast";
        note.textContent = "make deploy: allowed once, and the next one is shown";
        document.querySelector(".toasts").append(note);
        const over = [...document.querySelectorAll(".answers input, .answers button, .list-head input")].filter((one) => one.checkVisibility()).filter((one) => {
          const a = one.getBoundingClientRect(), b = note.getBoundingClientRect();
          return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        }).map((one) => one.outerHTML.slice(0, 60));
        note.remove();
        return over;
      }), [], `covered by a message, ${width} wide`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.locator("#deny-words").fill("keep it, use make clean");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "denied" }).waitFor();
    const call = await server.status("c1", s);
    same([call.status, call.feedback], ["denied", "keep it, use make clean"], "the call");
  },
  async "stop the run"(server) {
    const s = await server.session(), page = await person(server);
    await server.bash(s, "make", "c1");
    await heading(page, "Run a command");
    await page.keyboard.press("q");
    await page.locator("#deny-words").fill("stop");
    await page.locator("button", { hasText: "Stop the run" }).click();
    await page.locator(".toast", { hasText: "stopped" }).waitFor();
    same((await server.status("c1", s)).status, "aborted", "status");
  },
  async "edit a command, then allow"(server) {
    const s = await server.session(), page = await person(server);
    await server.call(s, "Bash", { command: "make test", timeout: 30 }, "c1");
    await armed(page);
    await page.keyboard.press("e");
    await page.locator(".cm-content").fill("make -n test");
    await page.locator(".edit-changes .row.add", { hasText: "make -n test" }).waitFor();
    await page.locator("button", { hasText: "Allow edited version" }).click();
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    same((await server.status("c1", s)).input, { command: "make -n test", timeout: 30 }, "what is to run");
  },
  async "edit a whole input keeps the digits of numbers"(server) {
    const s = await server.session(), page = await person(server);
    await server.api("POST", `/api/threads/${s.threadId}/tool-calls`, '{"id":"c1","name":"Pay","input":{"cents":12345678901234567890,"rate":1.10}}', server.agent);
    await page.locator(".tree", { hasText: "12345678901234567890" }).waitFor();
    await page.locator(".tree", { hasText: "1.10" }).waitFor();
    await armed(page);
    await page.keyboard.press("e");
    const field = page.locator(".cm-content");
    const write = async (text) => { await field.click(); await page.keyboard.press("Control+a"); await page.keyboard.press("Backspace"); await page.keyboard.insertText(text); };
    await write("{ no json");
    await page.locator("#edit-wrong", { hasText: "Not JSON" }).waitFor();
    must(await page.locator("button", { hasText: "Allow edited version" }).isDisabled(), "what is no JSON could be sent");
    await write('{"cents": 12345678901234567891, "rate": 1.10}');
    await page.locator("button", { hasText: "Allow edited version" }).click();
    await page.locator(".toast", { hasText: "allowed" }).waitFor();
    const text = await (await fetch(`${server.url}/api/tool-calls/c1`, { headers: { Authorization: `Bearer ${server.token}` } })).text();
    must(/"cents": ?12345678901234567891/.test(text) && /"rate": ?1\.10/.test(text), `the digits changed: ${text}`);
  },

  async "a question: a form, its answers by keys and by mouse, as Claude Code reads them"(server) {
    const s = await server.session(), page = await person(server);
    const questions = [
      { question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "r" }, { label: "Blue", description: "<b>b</b>" }] },
      { question: "Which sizes?", header: "Size", multiSelect: true, options: [{ label: "S" }, { label: "M" }, { label: "L" }] }];
    await server.call(s, "AskUserQuestion", { questions, metadata: { n: 1 } }, "q1");
    await heading(page, "2 questions for you");
    await armed(page);
    const send = page.locator(".allow", { hasText: "Send answers" });
    must(await send.isDisabled(), "it can be sent without answers");
    same(await page.locator(".answers button", { hasText: "Edit" }).count(), 0, "buttons that edit a question as JSON");
    await page.locator(".deny", { hasText: "Reply instead" }).waitFor();
    await page.keyboard.press("y");
    await page.keyboard.press("2");
    await page.locator(".question label", { hasText: "L" }).last().locator("input").check();
    await page.keyboard.press("1");
    same((await server.status("q1", s)).status, "awaiting", "before it is sent");
    await page.keyboard.press("y");
    await page.locator(".toast", { hasText: "allowed once" }).waitFor();
    const call = await server.status("q1", s);
    same([call.decision, call.input], ["allow_once", { questions, metadata: { n: 1 }, answers: { "Which colour?": "Blue", "Which sizes?": "S, L" } }], "the answers");
    // Words of one's own; and no answer at all.
    await server.call(s, "AskUserQuestion", { questions: questions.slice(0, 1) }, "q2");
    await heading(page, "Which colour?");
    await armed(page);
    await page.locator("#own-0").fill("green, please");
    await page.keyboard.press("Enter");
    await poll(() => server.status("q2", s), (c) => c.status === "allowed");
    same((await server.status("q2", s)).input.answers, { "Which colour?": "green, please" }, "own words");
    await server.call(s, "AskUserQuestion", { questions: questions.slice(0, 1) }, "q3");
    await page.waitForURL((url) => url.hash.endsWith("/q3")); // q2 has the same words, and is armed while its answer is under way
    await armed(page);
    await page.keyboard.press("n");
    await page.locator("#deny-words").fill("ask me later");
    await page.keyboard.press("Enter");
    await poll(() => server.status("q3", s), (c) => c.feedback === "ask me later");
  },
  async "a form of an MCP server: its fields, with their types"(server) {
    const s = await server.session(), page = await person(server);
    await server.call(s, "Elicitation", { message: "Your details", requested_schema: { type: "object", required: ["name", "age"], properties: {
      name: { type: "string", title: "Name" }, age: { type: "integer" }, news: { type: "boolean", description: "News by mail?" }, plan: { type: "string", enum: ["free", "paid"] } } } }, "f1");
    await heading(page, "Your details");
    await armed(page);
    await page.locator("#own-0").fill("Ada");
    await page.locator("#own-1").fill("thirty");
    must(await page.locator(".allow").isDisabled(), "a word was taken for a number");
    await page.locator("#own-1").fill("36");
    await page.locator("[data-question='2'] label", { hasText: "no" }).locator("input").check();
    await page.locator(".allow").click();
    await poll(() => server.status("f1", s), (c) => c.status === "allowed");
    same((await server.status("f1", s)).input.content, { name: "Ada", age: 36, news: false }, "the content");
  },
  async "a plan: read as Markdown, carried out in a chosen mode, or sent back"(server) {
    const s = await server.session({ permissionMode: "plan" }), page = await person(server);
    await server.call(s, "ExitPlanMode", { plan: "# The plan\n\n1. do **it**\n2. <b>test</b> it" }, "p1");
    await heading(page, "Approve this plan?");
    // Each step ends with the button for a comment on it.
    same((await page.locator(".plan ol li").allTextContents()).map((text) => text.replace(/\+$/, "")), ["do it", "<b>test</b> it"], "the steps");
    await page.keyboard.press("n");
    await page.locator("#deny-words").fill("test first");
    await page.keyboard.press("Enter");
    await poll(() => server.status("p1", s), (c) => c.feedback === "test first");
    await server.call(s, "ExitPlanMode", { plan: "# The plan v2" }, "p2");
    await page.locator(".plan", { hasText: "The plan v2" }).waitFor();
    await armed(page);
    await page.locator("select[aria-label='The mode that follows']").selectOption("acceptEdits");
    await page.locator(".allow", { hasText: "Approve plan" }).click();
    await poll(() => server.status("p2", s), (c) => c.status === "allowed");
    await poll(() => server.api("GET", `/api/sessions/${s.id}`), (session) => session.permissionMode === "acceptEdits");
  },
  async "half a second: keys and clicks that come too early do nothing, deny is live"(server) {
    const s = await server.session(), page = await person(server);
    await page.evaluate(() => {
      window.early = 0;
      new MutationObserver(() => {
        if (window.early || !document.querySelector(".answers")) return;
        window.early = 1;
        for (const key of ["y", "s", "y"]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        document.querySelector(".allow").click();
        window.disabled = document.querySelector(".allow").disabled;
        window.denyLive = !document.querySelector(".deny").disabled;
      }).observe(document.body, { childList: true, subtree: true });
    });
    await server.bash(s, "make test", "c1");
    await armed(page);
    same(await page.evaluate(() => [window.early, window.disabled, window.denyLive]), [1, true, true], "early, disabled, deny live");
    same((await server.status("c1", s)).status, "awaiting", "status");
    // A key that is held down never answers.
    same(await page.evaluate(async () => {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", repeat: true, bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); // an answer under way would be drawn by now
      return document.querySelector(".allow").firstChild.textContent;
    }), "Allow once", "a repeated key");
    same((await server.status("c1", s)).status, "awaiting", "after a repeated key");
    must(await page.evaluate(() => !document.activeElement.closest(".answers")), "the focus is on an answer");
    await page.keyboard.press("y");
    await page.locator(".toast").waitFor();
  },
  async "answering moves on, and the next one is not armed at once"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `make ${id}`, id);
    await count(page, 3);
    await armed(page);
    // Two presses in a row, and one in the moment the next request appears: only the first may answer.
    await page.evaluate(() => new Promise((done) => {
      const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
      new MutationObserver((_, self) => {
        if (!document.querySelector(".request .whole")?.textContent.includes("make c2")) return;
        self.disconnect();
        press();
        done();
      }).observe(document.querySelector(".detail"), { childList: true, subtree: true, characterData: true });
      press();
      press();
    }));
    await armed(page);
    same((await server.status("c2", s)).status, "awaiting", "the second");
    await armed(page);
    await page.keyboard.press("y");
    await page.locator(".request .whole", { hasText: "make c3" }).waitFor();
    same((await server.status("c2", s)).status, "allowed", "the second, later");
  },
  async "three at once: 1 of 3, next and previous, nothing moves when another comes"(server) {
    const s = await server.session(), page = await person(server);
    for (const id of ["c1", "c2", "c3"]) await server.bash(s, `make ${id}`, id);
    await count(page, 3);
    await page.locator(".count", { hasText: "1 of 3" }).waitFor();
    await page.keyboard.press("j");
    await page.locator(".count", { hasText: "2 of 3" }).waitFor();
    const before = await page.locator(".request h1").boundingBox(), row = await face(page, "make c2").boundingBox();
    await server.bash(s, "make c4", "c4");
    await page.locator(".count", { hasText: "2 of 4" }).waitFor();
    same([await page.locator(".request h1").boundingBox(), await face(page, "make c2").boundingBox()], [before, row], "where things are");
    await page.locator(".fresh", { hasText: "new" }).waitFor();
    await page.keyboard.press("k");
    await page.locator(".count", { hasText: "1 of 4" }).waitFor();
    same(await page.title(), "(4) Nod", "title");
    must((await page.locator("#icon").getAttribute("href")).startsWith("data:image/png"), "the icon shows no number");
  },
  async "several in one answer, commands not included"(server) {
    const s = await server.session(), page = await person(server);
    await server.call(s, "Write", { file_path: "/home/alice/greeter/note-one", content: "one" }, "c1");
    await server.bash(s, "terraform destroy -auto-approve", "c2");
    await server.call(s, "Write", { file_path: "/home/alice/greeter/note-three", content: "three" }, "c3");
    await count(page, 3);
    for (const text of ["note-one", "terraform", "note-three"]) await page.locator(".item", { hasText: text }).locator("input").check();
    await page.locator(".banner", { hasText: "not included" }).waitFor();
    await page.locator(".the-end").scrollIntoViewIfNeeded();
    await armed(page);
    await page.locator("button", { hasText: "Allow 2 once" }).click();
    await count(page, 1);
    same(await Promise.all(["c1", "c2", "c3"].map(async (id) => (await server.status(id, s)).status)), ["allowed", "awaiting", "allowed"], "statuses");
  },
  async "a large call is read whole before it can be allowed"(server) {
    const s = await server.session();
    await server.call(s, "Write", { file_path: "/home/alice/greeter/large", content: "a line\n".repeat(2000) + "the last line\n" }, "c1");
    await server.call(s, "Write", { file_path: "/home/alice/greeter/other", content: "another\n".repeat(2000) }, "c2");
    const listed = (await server.api("GET", "/api/approvals/pending")).pendingApprovals;
    same(listed.map((call) => [call.cut, call.toolCall.input]), [[true, undefined], [true, undefined]], "the list");
    const page = await person(server);
    await count(page, 2);
    await page.locator(".request", { hasText: "a line" }).waitFor();
    await armed(page);
    await page.keyboard.press("y");
    await count(page, 1);
    same((await server.status("c1", s)).status, "allowed", "status");
    await page.locator(".request", { hasText: "another" }).waitFor();
  },
  async "what was not shown cannot be allowed for always"(server) {
    const s = await server.session(), page = await person(server);
    await page.locator("nav a[href='#/rules']").first().waitFor();
    await server.call(s, "Note", { text: "line\n".repeat(3000) }, "c1");
    await armed(page);
    await page.keyboard.press("a");
    await page.locator("#rule-text").fill("Note");
    await page.locator(".panel", { hasText: "Scroll to the end to enable" }).waitFor();
    must(await page.locator("button", { hasText: "Allow always" }).isDisabled(), "it can be allowed");
    await page.locator(".more-text").click();
    await page.locator(".the-end").scrollIntoViewIfNeeded();
    await page.locator(".panel", { hasText: "Scroll to the end to enable" }).waitFor({ state: "detached" });
  },
};
