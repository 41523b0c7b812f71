"""nod claude: Claude Code itself, started and answered by Nod, against a scripted model."""
import glob
import json
import os
import re
import signal
import sys

from desk import HERE, OLD, desk, plan_file
from world import NOD, eventually, must


def bash(command, *ident):
    return ("Bash", {"command": command, "description": "x"}, *ident)


def lines(run):
    """What a run with --output-format stream-json has said so far."""
    return [json.loads(line) for line in run.out.split("\n")[:-1]]


def types(d):
    return [event["type"] for event in d.events()]


def sanitized():
    with open(NOD, "rb") as program:
        return b"__asan_init" in program.read()


def both(test):
    """The same with the older release."""
    def older(place):
        test(place, version=OLD)
    older.__name__ = test.__name__ + "_in_the_older_release"
    globals()[older.__name__] = older
    return test


def test_it_says_what_it_waits_for_and_where_to_answer(place):
    with desk(place, [bash("touch made.txt"), "Done."]) as d:
        run = d.nod("claude", "-p", "go")
        eventually(lambda: "waiting for your answer: Bash touch made.txt" in run.err, lambda: f"not a word: {run.err}")
        one = d.waiting()[0]
        eventually(lambda: f"nod watch, nod approve {one['toolCallId']}, or on the page" in run.err, lambda: f"not where: {run.err}")
        d.decide(one)
        run.ends()
        must("Bash: allowed by " in run.err and run.err.count("waiting for") == 1, f"not who answered: {run.err}")


@both
def test_an_edit_and_a_command_are_approved(place, **more):
    with desk(place, [["I will write.", ("Write", {"file_path": "W", "content": "hello\n"})], bash("touch made.txt"), "All done."],
              **more) as d:
        d.model.script[0][1] = ("Write", {"file_path": os.path.join(d.project, "w.txt"), "content": "hello\n"})
        run = d.nod("claude", "-p", "please work")
        first = d.waiting()[0]
        must(first["toolCall"]["name"] == "Write", f"not the edit: {first}")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == "Bash"], "the command waits")[0]
        d.nod("approve", second["toolCallId"]).ends()
        run.ends()
        must(d.read("w.txt") == "hello\n" and d.has("made.txt"), "the files are not there")
        must("All done." in run.out, f"the answer is not shown: {run.out!r}")
        events = d.events(session=first["sessionId"])
        said = [(e["type"], e["data"].get("text") or e["data"].get("status")) for e in events]
        for part in (("USER_MESSAGE", "please work"), ("AGENT_MESSAGE", "I will write."), ("AGENT_MESSAGE", "All done."),
                     ("RUN_STATUS", "running"), ("RUN_STATUS", "completed"), ("RUN_STATUS", "ended")):
            must(part in said, f"{part} is not in the timeline: {said}")
        must([e["type"] for e in events].count("TOOL_RESULT") == 2, f"results are missing: {said}")
        done = next(e["data"] for e in events if e["data"].get("status") == "completed")
        must(done["usage"]["output_tokens"] > 0 and done["num_turns"] > 0, f"usage is missing: {done}")


@both
def test_denied_with_words(place, **more):
    with desk(place, [bash("touch made.txt")], **more) as d:
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], "deny", feedback="not on a Friday, please")
        run.ends()
        must(not d.has("made.txt"), "it ran")
        must("not on a Friday, please" in d.model.said(), "the model does not know why")


@both
def test_edited_input(place, **more):
    with desk(place, [bash("touch made.txt")], **more) as d:
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], updatedInput={"command": "touch other.txt", "description": "x"})
        run.ends()
        must(d.has("other.txt") and not d.has("made.txt"), "it did not run as edited")


def test_always_allow_becomes_a_rule(place):
    with desk(place, [bash("touch a.txt"), bash("touch a.txt")]) as d:
        run = d.nod("--claude-rules", "claude", "-p", "go")
        d.decide(d.waiting()[0], "allow_always")
        run.ends()
        must(len([t for t in types(d) if t == "TOOL_APPROVAL_REQUEST"]) == 1, "asked twice")
        with open(os.path.join(d.project, ".claude/settings.local.json"), encoding="utf-8") as file:
            must("touch a.txt" in file.read(), "Claude Code's settings have no rule")


def test_always_allow_is_a_rule_of_nods_alone_unless_asked_for(place):
    with desk(place, [bash("touch a.txt"), bash("touch a.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], "allow_always", rules=["Bash(touch a.txt)"])
        run.ends()
        must(types(d).count("TOOL_APPROVAL_REQUEST") == 1, "asked twice")
        must(not d.has(".claude/settings.local.json"), "it was written into Claude Code's settings unasked")
        must("Bash(touch a.txt)" in json.dumps(d.admin.ok("GET", "/api/policy")), "Nod has no such rule")


def test_three_tools_at_once(place):
    with desk(place, []) as d:
        d.model.script.append([("WebFetch", {"url": f"http://127.0.0.1:1/{n}", "prompt": "x"}, f"toolu_{n}") for n in "abc"])
        run = d.nod("claude", "-p", "go")
        waiting = d.waiting(3)
        must(len({p["toolCallId"] for p in waiting}) == 3, f"not three at once: {waiting}")
        for pending in reversed(waiting):
            d.decide(pending, "deny", feedback=f"no {pending['toolCallId']}")
        run.ends()
        for pending in waiting:
            must(f"no {pending['toolCallId']}" in d.model.said(), "an answer went astray")


def test_three_tools_in_the_older_release(place):
    with desk(place, [[bash(f"touch {n}", f"toolu_{n}") for n in "abc"]], version=OLD) as d:
        run = d.nod("claude", "-p", "go")
        for name in "abc":  # one after the other
            d.decide(eventually(lambda n=name: [p for p in d.admin.pending() if p["toolCallId"] == f"toolu_{n}"], f"{name} waits")[0],
                     "deny" if name == "c" else "allow_once")
        run.ends()
        must(d.has("a") and d.has("b") and not d.has("c"), "an answer went astray")


def test_a_sub_agent_has_a_thread_of_its_own(place):
    agent = ("Agent", {"description": "do sub", "prompt": "SUBTASK please", "subagent_type": "general-purpose", "run_in_background": False})
    with desk(place, [agent], sub=[bash("touch sub.txt"), "sub done"]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        must(not pending["threadId"].endswith(".main"), f"the sub-agent asks in the main thread: {pending}")
        d.decide(pending)
        run.ends()
        must(d.has("sub.txt"), "it did not run")
        threads = d.admin.ok("GET", f"/api/sessions/{pending['sessionId']}/threads")["threads"]
        child = next(t for t in threads if t["id"] == pending["threadId"])
        must(child["parentId"] and child.get("title") == "do sub", f"not a child: {child}")


def test_a_background_agent_asks_after_the_result(place):
    agent = ("Agent", {"description": "bg", "prompt": "SUBTASK", "subagent_type": "general-purpose", "run_in_background": True})
    with desk(place, [agent, "Main turn done."], sub=[bash("touch bg.txt"), "sub done"]) as d:
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("bg.txt"), "it did not run")


def test_two_background_agents_ask_at_once_between_turns(place):
    agents = [("Agent", {"description": f"bg {n}", "prompt": f"SUBTASK {n}", "subagent_type": "general-purpose", "run_in_background": True})
              for n in "ab"]
    names = iter(("first.txt", "second.txt", "more.txt", "more.txt"))
    with desk(place, [agents, "Main turn done."], sub=[lambda: bash(f"touch {next(names)}"), "sub done"]) as d:
        run = d.nod("claude", "-p", "go", "--output-format", "stream-json")
        eventually(lambda: '"subtype":"success"' in run.out, lambda: f"the turn is over: {d.told()}")
        waiting = d.waiting(2)
        must(len({p["threadId"] for p in waiting}) == 2, f"not a thread for each: {waiting}")
        d.decide(waiting[1], "deny", feedback="one will do")
        d.decide(waiting[0])
        run.ends()
        must(d.has("first.txt") != d.has("second.txt"), "not as decided")
        must("one will do" in d.model.said(), "the denial is lost")


def test_a_plan_is_approved_with_the_mode_that_follows(place):
    with desk(place, []) as d:
        d.model.script += [lambda: ("Write", {"file_path": plan_file(d), "content": "# Plan\n1. touch x\n"}), ("ExitPlanMode", {}),
                           ("Write", {"file_path": os.path.join(d.project, "x.txt"), "content": "x"})]
        run = d.nod("claude", "-p", "plan it", "--permission-mode", "plan")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "ExitPlanMode" and "touch x" in pending["toolCall"]["input"].get("plan", ""),
             f"the plan is not shown: {pending}")
        d.decide(pending, mode="acceptEdits")
        run.ends()
        must(d.has("x.txt"), f"edits are not accepted after it: {d.told()} {d.model.said()[-500:]}")


def test_a_plan_is_denied_with_words(place):
    with desk(place, [("ExitPlanMode", {}), ("Write", {"file_path": "W", "content": "x"})]) as d:
        d.model.script[1] = ("Write", {"file_path": os.path.join(d.project, "x.txt"), "content": "x"})
        run = d.nod("claude", "-p", "plan it", "--permission-mode", "plan", "--output-format", "stream-json")
        first = d.waiting()[0]
        d.decide(first, "deny", feedback="think about tests, too")
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"the edit is asked: {d.told()}")
        d.decide(second[0], "deny")
        run.ends()
        must("think about tests, too" in d.model.said() and not d.has("x.txt"), "the words are lost")
        must(not any(line.get("subtype") == "status" and line.get("permissionMode") == "default" for line in lines(run)), "it left plan mode")


def test_auto_mode_asks_nod_first(place):
    """Its own check runs at the provider, which a scripted model is not; behind Nod it is not needed."""
    with desk(place, [bash("touch a.txt"), bash("touch b.txt")]) as d:
        d.nod("policy", "add", "deny", "Bash(touch a.txt)").ends()
        run = d.nod("claude", "-p", "go", "--permission-mode", "auto")
        d.decide(d.waiting()[0])
        run.ends()
        must(not d.has("a.txt") and d.has("b.txt"), f"not as Nod said: {d.told()}")


def test_plan_mode_with_settings_of_ones_own(place):
    """They leave on the check at the provider that plan mode wants; Nod is asked first, all the same."""
    with desk(place, [bash("touch a.txt"), bash("touch b.txt")]) as d:
        run = d.nod("claude", "-p", "go", "--permission-mode", "plan", "--settings", "{}")
        first = d.waiting()[0]
        d.decide(first, "deny")
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"the second: {d.told()}")[0]
        d.decide(second)
        run.ends()
        must(not d.has("a.txt") and d.has("b.txt"), f"not as decided: {d.told()}")


def test_questions_are_answered(place):
    questions = {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": False,
                                "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}
    with desk(place, [("AskUserQuestion", questions), ("AskUserQuestion", questions)]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        d.decide(pending, updatedInput={**questions, "answers": {"Which colour?": "Blue"}})
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != pending["toolCallId"]], "again")[0]
        d.nod("approve", second["toolCallId"], "-m", "Red").ends()
        run.ends()
        must('\\"Which colour?\\"=\\"Blue\\"' in d.model.said() and '=\\"Red\\"' in d.model.said(), f"not told: {d.model.said()[-700:]}")


def test_questions_are_answered_by_nod_answer(place):
    def question(text, several, *labels):
        return {"question": text, "header": "Choice", "multiSelect": several,
                "options": [{"label": label, "description": f"about {label}"} for label in labels]}
    questions = {"questions": [question("Which colour?", False, "Red", "Blue"), question("Which sizes?", True, "S", "M", "L")]}
    with desk(place, [("AskUserQuestion", questions)]) as d:
        run = d.nod("claude", "-p", "go")
        d.waiting()
        shown = d.nod("answer").ends(2)
        must("Which sizes?" in shown.out and "2  Blue: about Blue" in shown.out and "-a" in shown.err, f"not shown: {shown.out} {shown.err}")
        must("3 answers to 2 questions" in d.nod("answer", "-a", "1", "-a", "2", "-a", "3").ends(2).err, "too many are taken")
        d.nod("answer", "-a", "2", "-a", "1, 3").ends()
        run.ends()
        must('\\"Which colour?\\"=\\"Blue\\"' in d.model.said() and '\\"Which sizes?\\"=\\"S, L\\"' in d.model.said(),
             f"not told: {d.model.said()[-700:]}")
        must("no question is waiting" in d.nod("answer").ends(4).err, "there is still one")


def test_a_form_of_an_mcp_server(place):
    server = {"mcpServers": {"forms": {"command": sys.executable, "args": [os.path.join(HERE, "form_server.py")]}}}
    fill = ("mcp__forms__fill", {})
    with desk(place, [fill, fill, fill]) as d:
        run = d.nod("claude", "-p", "go", "--allowedTools", "mcp__forms__fill", "--strict-mcp-config", "--mcp-config", json.dumps(server))

        def form():
            eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] != "AskUserQuestion"], lambda: f"a call: {d.told()}")
            for pending in d.admin.pending():
                if pending["toolCall"]["name"] == "mcp__forms__fill":
                    d.decide(pending)
            return eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == "Elicitation"], lambda: f"a form: {d.told()}")[0]
        first = form()
        must(first["toolCall"]["input"]["message"] == "About you", f"not the form: {first}")
        must("has to be answered" in d.nod("answer", "-a", "").ends(2).err, "a required field is left out")
        must("whole number" in d.nod("answer", "-a", "Ada", "-a", "old").ends(2).err, "no number")
        d.nod("answer", "-a", "Ada", "-a", "36", "-a", "2", "-a", "yes").ends()
        eventually(lambda: "Ada" in d.model.said(), lambda: f"the first answer: {d.told()}")
        second = form()
        d.decide(second, updatedInput={**second["toolCall"]["input"], "content": {"name": "Bob"}})
        eventually(lambda: "Bob" in d.model.said(), lambda: f"the second answer: {d.told()}")
        d.decide(form(), "deny")
        run.ends()
        for part in ('{"name": "Ada", "age": 36, "colour": "blue", "sure": true}', '{"name": "Bob"}', '"decline"'):
            must(json.dumps(part)[1:-1] in d.model.said(), f"{part} is not told: {d.model.said()[-900:]}")


def test_a_mode_chosen_elsewhere_is_told_to_claude_code(place):
    with desk(place, [bash("touch a.txt"), ("Write", {"file_path": "W", "content": "x"})]) as d:
        d.model.script[1] = ("Write", {"file_path": os.path.join(d.project, "w.txt"), "content": "x"})
        run = d.nod("claude", "-p", "go", "--output-format", "stream-json")
        pending = d.waiting()[0]
        d.nod("session", "set", pending["sessionId"], "--mode", "acceptEdits").ends()
        eventually(lambda: any(line.get("subtype") == "status" and line.get("permissionMode") == "acceptEdits" for line in lines(run)),
                   lambda: f"Claude Code takes the mode: {d.told()}")
        must(d.admin.pending(), "the open question is gone")
        d.decide(pending)
        run.ends()
        must(d.has("w.txt") and len(d.events(types="TOOL_APPROVAL_REQUEST")) == 1, "the edit was asked about")
        must(any("acceptEdits" in e["data"]["text"] for e in d.events(types="LOCAL_SYSTEM_MESSAGE")), "the log does not say so")


def test_interrupted_from_elsewhere(place):
    with desk(place, [[bash("touch made.txt")]]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        agent = d.admin.token_for("agent", "other", pending["sessionId"])
        for path in ("interrupt", "prompt"):
            must(agent.post(f"/api/sessions/{pending['sessionId']}/{path}", {"text": "x"}).status == 403, f"an agent may {path}")
        forged = agent.post(f"/api/threads/{pending['threadId']}/events", {"type": "RUN_STATUS", "data": {"status": "interrupting", "source": "person"}})
        must(forged.status == 403 and d.admin.pending(), f"an agent speaks for a person: {forged}")
        d.nod("session", "interrupt", pending["sessionId"]).ends()
        eventually(lambda: not d.admin.pending(), "the question disappears")
        run.ends(1)
        must(d.admin.status(pending["toolCallId"])["status"] == "cancelled" and not d.has("made.txt"), "not cancelled")


def test_interrupt_takes_the_question_back(place):
    with desk(place, [bash("touch made.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        run.process.send_signal(signal.SIGINT)
        eventually(lambda: not d.admin.pending(), "the question disappears")
        run.ends(1)
        must(d.admin.status(pending["toolCallId"])["status"] == "cancelled", "not cancelled")
        must(not d.has("made.txt"), "it ran")


def test_abort_ends_the_turn(place):
    with desk(place, [bash("touch made.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], "abort")
        run.ends(1)
        must(len(d.model.requests) == 1 and not d.has("made.txt"), "it went on")


def test_the_server_is_killed_with_a_question_open(place):
    with desk(place, [bash("touch made.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        d.server.kill()
        must(run.process.poll() is None and not d.has("made.txt"), "it did not wait")
        eventually(lambda: "away" in run.err, "the person is told")
        d.server.start()
        again = d.waiting()[0]
        must(again["toolCallId"] == pending["toolCallId"], "another question")
        d.decide(again)
        run.ends()
        must(d.has("made.txt"), "it did not run")


def test_the_server_is_away_when_a_question_arises(place):
    with desk(place, [bash("sleep 2"), bash("touch made.txt")]) as d:
        d.nod("policy", "add", "allow", "Bash(sleep:*)").ends()
        run = d.nod("claude", "-p", "go")
        eventually(lambda: "TOOL_CALL" in types(d), "the first call")
        d.server.kill()
        eventually(lambda: "away" in run.err, lambda: f"the person is told: {run.err}")
        must(run.process.poll() is None and not d.has("made.txt"), "it did not wait")
        d.server.start()
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("made.txt"), "it did not run")
        must(types(d).count("TOOL_RESULT") == 2, f"the log has a gap: {types(d)}")


def test_the_wrapper_is_killed(place):
    with desk(place, [bash("touch made.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        run.process.kill()
        eventually(lambda: not d.admin.pending(), "the question disappears")
        call = d.admin.status(pending["toolCallId"])
        must(call["status"] == "cancelled" and "gone" in call["feedback"], f"the log does not say so: {call}")
        must(not d.has("made.txt"), "it ran")


def test_claude_code_is_killed(place):
    with desk(place, [bash("touch made.txt")]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        children = open(f"/proc/{run.process.pid}/task/{run.process.pid}/children", encoding="ascii").read().split()
        os.kill(int(children[0]), signal.SIGKILL)
        run.ends(137)
        must(d.admin.status(pending["toolCallId"])["status"] == "cancelled", "the question stays")
        must(any(e["data"].get("status") == "died" for e in d.events(types="RUN_STATUS")), "the log does not say so")


def test_without_a_server_nothing_starts(place):
    with desk(place, [bash("touch made.txt")], serve=False) as d:
        run = d.nod("claude", "-p", "go").ends(6)
        must("nod serve" in run.err and not d.model.requests, f"no help: {run.err}")


def test_what_claude_code_lets_pass_is_seen(place):
    with desk(place, [bash("ls"), bash("ls -la")]) as d:
        d.settings({"permissions": {"allow": ["Bash"]}})
        session = d.admin.session(toolPolicies={"Bash": "deny"}, cwd=d.project)
        d.nod("claude", "-p", "go", NOD_SESSION=session["id"]).ends()
        calls = [e["data"]["verdict"]["effect"] for e in d.events(types="TOOL_CALL")]
        must(calls == ["deny", "deny"], f"Nod's deny does not hold: {calls}")


def test_bypass_mode_asks_nod_all_the_same(place):
    with desk(place, [bash("touch a.txt"), bash("touch b.txt")]) as d:
        run = d.nod("claude", "-p", "go", "--dangerously-skip-permissions")
        first = d.waiting()[0]
        d.decide(first, "deny")
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"the second: {d.told()}")[0]
        d.decide(second)
        run.ends()
        must(not d.has("a.txt") and d.has("b.txt"), f"not as decided: {d.told()}")


def test_what_claude_code_denies_by_itself_is_in_the_log(place):
    with desk(place, [bash("touch made.txt")]) as d:
        d.settings({"permissions": {"deny": ["Bash(touch:*)"]}})
        d.nod("policy", "add", "allow", "Bash(touch:*)").ends()
        d.nod("claude", "-p", "go").ends()
        must(not d.has("made.txt"), "Nod's allow was stronger than Claude Code's deny")
        results = [e["data"] for e in d.events(types="TOOL_RESULT")]
        must(len(results) == 1 and results[0]["isError"] and "denied" in str(results[0]["content"]), f"the log does not say so: {results}")


def test_the_agent_sees_no_variable_of_nods(place):
    with desk(place, [bash("env > seen.txt")]) as d:
        run = d.nod("claude", "-p", "go", NOD_TOKEN=d.admin.token, NOD_SESSION="", NOD_WHATEVER="x")
        d.decide(d.waiting()[0])
        run.ends()
        must("PATH=" in d.read("seen.txt") and "NOD_" not in d.read("seen.txt"), d.read("seen.txt"))


def test_the_repository_cannot_approve(place):
    with desk(place, [bash("touch made.txt")]) as d:
        d.put(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command":
              "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'"}]}]}}))
        d.put(".claude/settings.local.json", json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}}))
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], "deny")
        run.ends()
        must(not d.has("made.txt"), "it ran")


def test_the_repository_is_trusted_by_name(place):
    """With --setting-sources its rules and hooks count for Claude Code; Nod is asked first, all the same."""
    with desk(place, [bash("touch made.txt"), bash("touch denied.txt")]) as d:
        d.put(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command":
              "touch hook_ran; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'"}]}]}}))
        d.put(".claude/settings.local.json", json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}}))
        d.nod("policy", "add", "deny", "Bash(touch denied.txt)").ends()
        run = d.nod("claude", "-p", "go", "--setting-sources", "user,project,local")
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("hook_ran"), "its settings are not read")
        must(d.has("made.txt") and not d.has("denied.txt"), "not as Nod said")


def test_a_prompt_from_standard_input(place):
    with desk(place, ["an answer"]) as d:
        run = d.nod("claude", "-p", given="do this,\nand that\n").ends()
        must("an answer" in run.out and [e["data"]["text"] for e in d.events(types="USER_MESSAGE")] == ["do this,\nand that"], "not one prompt")
        must("no prompt" in d.nod("claude", "-p", given="").ends(2).err, "nothing is a prompt")


def test_several_prompts_from_input_and_from_elsewhere(place):
    with desk(place, ["first answer", "second answer", "third answer"]) as d:
        run = d.nod("claude", given=...)
        run.say("one")
        eventually(lambda: "first answer" in run.out, lambda: f"an answer: {d.told()}")
        run.say("two")
        eventually(lambda: "second answer" in run.out, lambda: f"an answer: {d.told()}")
        session = next(e["sessionId"] for e in d.events(types="USER_MESSAGE"))
        d.nod("session", "prompt", session, "three, from elsewhere").ends()
        eventually(lambda: "third answer" in run.out, lambda: f"an answer: {d.told()}")
        must("three, from elsewhere" in d.model.said(), "the prompt is lost")
        must([e["data"]["text"] for e in d.events(types="USER_MESSAGE")] == ["one", "two", "three, from elsewhere"], "not in the log, once")
        run.process.stdin.close()
        run.ends()


def test_resume_goes_on_in_the_same_session(place):
    with desk(place, ["first", "second"]) as d:
        d.nod("claude", "-p", "one").ends()
        started = next(e for e in d.events(types="RUN_STATUS") if e["data"]["status"] == "running")
        d.nod("claude", "-p", "two", "--resume", started["data"]["session_id"]).ends()
        must(len({e["sessionId"] for e in d.events(types="USER_MESSAGE")}) == 1, "another session")
        must("one" in d.model.said(), "the conversation is lost")


def test_a_question_that_was_open_is_not_asked_again_on_resume(place):
    with desk(place, [bash("touch made.txt"), "I will not try again."]) as d:
        run = d.nod("claude", "-p", "go")
        pending = d.waiting()[0]
        started = next(e for e in d.events(types="RUN_STATUS") if e["data"]["status"] == "running")["data"]["session_id"]
        eventually(lambda: any("toolu_" in open(path, encoding="utf-8").read() for path in glob.glob(os.path.join(d.config, "projects/*/*.jsonl"))),
                   "Claude Code has written the conversation down")
        os.kill(int(open(f"/proc/{run.process.pid}/task/{run.process.pid}/children", encoding="ascii").read().split()[0]), signal.SIGKILL)
        run.ends(137)
        d.nod("claude", "-p", "go on", "--resume", started).ends()
        must(types(d).count("TOOL_APPROVAL_REQUEST") == 1 and not d.has("made.txt"), "asked again, or run")
        must("interrupted" in d.model.said(), f"the model is not told: {d.model.said()[-600:]}")
        must({e["sessionId"] for e in d.events(types="USER_MESSAGE")} == {pending["sessionId"]}, "another session")


def test_continue_begins_a_session_of_its_own(place):
    with desk(place, ["first", "second"]) as d:
        d.nod("claude", "-p", "one").ends()
        d.nod("claude", "-p", "two", "--continue").ends()
        must(len({e["sessionId"] for e in d.events(types="USER_MESSAGE")}) == 2, "the same session: the docs are out of date")
        must("one" in d.model.said(), "the conversation is lost")


def test_output_formats(place):
    with desk(place, ["hi", "hi"]) as d:
        stream = d.nod("claude", "-p", "go", "--output-format", "stream-json").ends()
        kinds = [json.loads(line)["type"] for line in stream.out.splitlines()]
        must("result" in kinds and not any("control" in k for k in kinds), f"not a stream: {kinds}")
        value = json.loads(d.nod("claude", "-p", "go", "--output-format", "json").ends().out)
        must(value["result"] == "hi", f"no result: {value}")


def held_kb(pid):
    """What a process holds for itself, without pages of files."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])


def test_a_write_of_three_mebibytes(place):
    with desk(place, [bash("touch first.txt")]) as d:
        d.model.script += [("Write", {"file_path": os.path.join(d.project, f"big{n}.txt"), "content": "x" * (3 << 20)}) for n in range(4)]
        d.model.script.append(bash("touch last.txt"))
        run = d.nod("claude", "-p", "go")
        first = d.waiting()[0]
        before = [held_kb(run.process.pid), held_kb(d.server.process.pid)]
        d.decide(first)
        for n in range(4):
            listed = eventually(lambda n=n: [p for p in d.admin.pending() if p["summary"].endswith(f"big{n}.txt")],
                                lambda: f"the edit waits: {d.told()[-900:]}")[0]
            pending = d.admin.ok("GET", f"/api/sessions/{listed['sessionId']}/approvals/{listed['toolCallId']}")
            must(listed["cut"] and len(pending["toolCall"]["input"]["content"]) == 3 << 20, "it is not shown whole")
            d.decide(pending)
        last = eventually(lambda: [p for p in d.admin.pending() if "last" in p["summary"]], "the last one waits")[0]

        def after():
            return [held_kb(run.process.pid), held_kb(d.server.process.pid)]
        if not sanitized():  # a sanitizer keeps what was freed, to see who still uses it
            eventually(lambda: all(now < then + (6 << 10) for now, then in zip(after(), before)),
                       lambda: f"memory comes back: wrapper and server held {before} kB before, {after()} kB after")
            print(f"wrapper and server hold {before} kB before, {after()} kB after")
        d.decide(last)
        run.ends()
        must(all(len(d.read(f"big{n}.txt")) == 3 << 20 for n in range(4)), "not all of it")


def test_no_claude_code_there(place):
    with desk(place, []) as d:
        run = d.nod("claude", "-p", "go", NOD_CLAUDE="/nonexistent/claude").ends(4)
        must("NOD_CLAUDE" in run.err, f"no help: {run.err}")
