"""nod claude as people see it: the page in Chromium, answers on it, and the conversation in its timeline."""
import json
import os
import signal
import sys

from browser import person
from desk import HERE, desk, plan_file
from world import eventually, must


def bash(command, *ident):
    return ("Bash", {"command": command, "description": "x"}, *ident)


def named(d, name, text=""):
    return eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == name and text in str(p["toolCall"]["input"])],
                      lambda: f"{name} {text} waits; {d.told()}")[0]


def test_an_edit_and_a_command_on_the_page_and_by_nod_approve(place):
    with desk(place, []) as d:
        d.put("greet.txt", "hello\nworld\n")
        path = os.path.join(d.project, "greet.txt")
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Read(/**)"})
        d.model.script += [
            ["I look at the file first.", ("Read", {"file_path": path})],
            ["Now I **change** one line.", ("Edit", {"file_path": path, "old_string": "world", "new_string": "everyone"})],
            bash("echo page > by_page.txt"),
            ("Write", {"file_path": os.path.join(d.project, "notes.md"), "content": "# notes\n"}),
            bash("cat greet.txt > copy.txt && cat copy.txt"), "All is done, have a look."]
        with person(d) as alice:
            run = d.nod("claude", "-p", "greet everyone, please")
            alice.see(".row.del", "world")
            alice.see(".row.add", "everyone")
            alice.shot("edit")
            must(d.read("greet.txt") == "hello\nworld\n", "it was changed before anyone answered")
            alice.act("allow")
            alice.see(".request", "echo page > by_page.txt")
            alice.act("allow")
            d.nod("approve", named(d, "Write")["toolCallId"]).ends()
            d.nod("approve", named(d, "Bash", "copy.txt")["toolCallId"]).ends()
            run.ends()
            must(d.read("greet.txt") == "hello\neveryone\n" and d.read("by_page.txt") == "page\n", "what was allowed on the page did not happen")
            must(d.read("notes.md") == "# notes\n" and d.read("copy.txt") == "hello\neveryone\n", "what nod approve allowed did not happen")
            alice.act("goto", to="/#/sessions")
            alice.click("a.card", "claude in project")
            alice.see(".entry.said.person", "greet everyone, please")
            alice.see(".entry.said.agent", "I look at the file first.")
            alice.see(".entry.said.agent", "All is done, have a look.")
            alice.see(".entry.call.good", "by alice")
            alice.see(".entry.call.good", "by admin")
            alice.see(".entry.call.good", "passed")
            alice.click(".entry.call:has-text('copy.txt') summary")
            alice.see(".entry.call:has-text('copy.txt') pre", "everyone")
            alice.shot("timeline")


def test_prompt_interrupt_and_mode_on_the_page(place):
    with desk(place, ["first answer", bash("touch never.txt"), "third answer"]) as d, person(d) as alice:
        run = d.nod("claude", given=...)
        run.say("one")
        eventually(lambda: "first answer" in run.out, lambda: f"an answer: {d.told()}")
        alice.act("goto", to="/#/sessions")
        alice.click("a.card", "claude in project")
        alice.see(".entry.said.agent", "first answer")
        alice.act("fill", what=".continue input", text="two, from the page")
        alice.click(".continue button")
        alice.see(".entry.said.person", "two, from the page")
        alice.see(".entry.call.waits", "touch never.txt")
        alice.shot("waits")
        alice.click("button", "Interrupt")
        alice.see(".entry.call.bad", "taken back")
        eventually(lambda: not d.admin.pending(), "the question disappears")
        alice.act("choose", what=".mode select", text="plan")
        eventually(lambda: any("mode plan" in e["data"]["text"] for e in d.events(types="LOCAL_SYSTEM_MESSAGE")),
                   lambda: f"Claude Code takes the mode: {d.told()}")
        alice.act("fill", what=".continue input", text="three")
        alice.click(".continue button")
        alice.see(".entry.said.agent", "third answer")
        alice.shot("told")
        run.process.stdin.close()
        run.ends()
        must(not d.has("never.txt") and "two, from the page" in d.model.said(), "not as told")
        alice.see(".entry", "The agent ended")


def test_questions_are_answered_on_the_page(place):
    options = [{"label": "Red", "description": "like fire"}, {"label": "Blue", "description": "like water"}]
    questions = {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": options},
                               {"question": "Which ones besides?", "header": "More", "multiSelect": True, "options": options}]}
    with desk(place, [("AskUserQuestion", questions)]) as d, person(d) as alice:
        run = d.nod("claude", "-p", "go")
        alice.see(".question", "Which colour?")
        alice.click(".question:has-text('Which colour?') .option", "Blue")
        for label in ("Red", "Blue"):
            alice.click(".question:has-text('besides') .option", label)
        alice.shot("questions")
        alice.act("allow")
        run.ends()
        for part in ('\\"Which colour?\\"=\\"Blue\\"', '\\"Which ones besides?\\"=\\"Red, Blue\\"'):
            must(part in d.model.said(), f"not told: {d.model.said()[-700:]}")


def test_a_form_of_an_mcp_server_on_the_page(place):
    server = {"mcpServers": {"forms": {"command": sys.executable, "args": [os.path.join(HERE, "form_server.py")]}}}
    with desk(place, [("mcp__forms__fill", {})]) as d, person(d) as alice:
        run = d.nod("claude", "-p", "go", "--strict-mcp-config", "--mcp-config", json.dumps(server))
        alice.see(".request", "mcp__forms__fill")
        alice.act("allow")
        alice.see(".question", "What is your name?")
        alice.act("fill", what="#own-0", text="Ada")
        alice.act("fill", what="#own-1", text="36")
        alice.click(".question:has-text('colour') .option", "blue")
        alice.shot("form")
        alice.act("allow")
        run.ends()
        must(json.dumps('{"name": "Ada", "age": 36, "colour": "blue"}')[1:-1] in d.model.said(), f"not told: {d.model.said()[-700:]}")


def test_a_plan_and_the_mode_that_follows_on_the_page(place):
    with desk(place, []) as d, person(d) as alice:
        d.model.script += [lambda: ("Write", {"file_path": plan_file(d), "content": "# The plan\n1. write **x.txt**\n"}), ("ExitPlanMode", {}),
                           ("Write", {"file_path": os.path.join(d.project, "x.txt"), "content": "x"})]
        run = d.nod("claude", "-p", "plan it", "--permission-mode", "plan")
        alice.see(".request", "write x.txt")
        alice.act("choose", what="select[aria-label='The mode that follows']", text="acceptEdits")
        alice.shot("plan")
        alice.act("allow")
        run.ends()
        must(d.has("x.txt") and len(d.events(types="TOOL_APPROVAL_REQUEST")) == 1, f"edits are not accepted after it: {d.told()}")


def test_what_is_withdrawn_goes_from_every_screen(place):
    with desk(place, [bash("touch made.txt")]) as d, person(d) as alice, person(d) as bob:
        run = d.nod("claude", "-p", "go")
        for one in (alice, bob):
            one.see(".request", "touch made.txt")
        run.process.send_signal(signal.SIGINT)
        for one in (alice, bob):
            one.see(".banner", "taken back by the agent")
        run.ends(1)
        must("nothing" in d.nod("pending").ends().err.lower() + d.nod("pending").ends().out.lower(), "nod pending still shows it")


def test_a_write_of_three_mebibytes_on_the_page(place):
    with desk(place, []) as d, person(d) as alice:
        text = "".join(f"line {n} of a long file\n" for n in range((3 << 20) // 24))
        d.model.script.append(("Write", {"file_path": os.path.join(d.project, "big.txt"), "content": text}))
        run = d.nod("claude", "-p", "go")
        alice.see(".request h1", "big.txt")
        alice.see(".row.add", "line 0 of a long file")
        alice.act("allow")
        run.ends()
        must(d.read("big.txt") == text, "not all of it")
