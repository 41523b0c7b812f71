"""Claude Code in its own right, with Nod's hooks in its settings."""
import json
import os
import time

from desk import OLD, desk
from world import eventually, must

TOUCH = ("Bash", {"command": "touch made.txt", "description": "Make a file"})


def install(d, *more):
    return d.nod("hook", "install", "--yes", *more).ends()


def test_install_shows_the_change_and_remove_takes_it_back(place):
    with desk(place, [], serve=False) as d:
        path = os.path.join(d.config, "settings.json")
        d.settings({"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}})
        refused = d.nod("hook", "install").ends(2)
        must("--yes" in refused.err and "+" in refused.out, "nothing is shown")
        must("nod" not in open(path, encoding="utf-8").read(), "it was written without a yes")
        shown = install(d)
        must("onFailure" in shown.out and "2.1.197" in shown.err, f"the change is not shown: {shown.out} {shown.err}")
        value = json.load(open(path, encoding="utf-8"))
        must(value["model"] == "x" and len(value["hooks"]["PreToolUse"]) == 2, f"something was lost: {value}")
        for event in ("PreToolUse", "PermissionRequest"):
            must(all(h["onFailure"] == "block" for h in value["hooks"][event][-1]["hooks"]), f"{event} does not block")
        must(not any("onFailure" in h for event in ("PostToolUse", "Stop") for h in value["hooks"][event][-1]["hooks"]),
             "what only tells would hold things up")
        must("nothing to change" in install(d).err, "a second time changes something")
        d.nod("hook", "remove", "--yes").ends()
        value = json.load(open(path, encoding="utf-8"))
        must(value == {"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}},
             f"not as it was: {value}")


def test_a_person_allows(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.claude("-p", "go")
        waiting = d.waiting()[0]
        must(waiting["toolCall"]["input"]["command"] == "touch made.txt", f"not what was asked: {waiting}")
        must(not d.has("made.txt"), "it ran before anyone answered")
        d.decide(waiting)
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def test_a_person_denies_with_words(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0], "deny", feedback="use the other folder, please")
        run.ends()
        must(not d.has("made.txt"), "it ran")
        must("use the other folder, please" in d.model.said(), f"the model does not know why: {d.model.said()[-600:]}")


def test_a_person_edits(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0], updatedInput={"command": "touch other.txt", "description": "x"})
        run.ends()
        must(d.has("other.txt") and not d.has("made.txt"), "it did not run as edited")


def test_rules_answer_at_once(place):
    with desk(place, [[("Read", {"file_path": "FILE"})], TOUCH]) as d:
        d.put("a.txt", "hello")
        d.model.script[0] = [("Read", {"file_path": os.path.join(d.project, "a.txt")})]
        install(d)
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0], "deny")
        run.ends()
        calls = [e["data"] for e in d.events(types="TOOL_CALL")]
        must([c["name"] for c in calls] == ["Read", "Bash"], f"not all calls are kept: {calls}")


def test_nods_deny_holds_against_claudes_allow_rule(place):
    with desk(place, [TOUCH]) as d:
        d.settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        session = d.admin.session(toolPolicies={"Bash": "deny"})
        token = d.admin.token_for("agent", "claude", session["id"])
        install(d)
        d.claude("-p", "go", NOD_TOKEN=token.token).ends()
        must(not d.has("made.txt"), "Claude Code's own rule was stronger")
        must("policy" in d.model.said(), "the model does not know why")


def test_strict_asks_what_claudes_rules_allow(place):
    with desk(place, [TOUCH]) as d:
        d.settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        install(d, "--strict")
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0], "deny")
        run.ends()
        must(not d.has("made.txt"), "it ran")


def test_bypass_mode_is_asked_too(place):
    with desk(place, [TOUCH, ("Bash", {"command": "touch second.txt", "description": "x"})]) as d:
        install(d)
        run = d.claude("-p", "go", "--dangerously-skip-permissions")
        d.decide(d.waiting()[0], "deny")
        d.decide(d.waiting()[0])
        run.ends()
        must(not d.has("made.txt") and d.has("second.txt"), "not as decided")


def test_nothing_runs_without_a_server(place):
    with desk(place, [TOUCH, ("Write", {"file_path": "W", "content": "x"})], serve=False) as d:
        d.model.script[1] = ("Write", {"file_path": os.path.join(d.project, "w.txt"), "content": "x"})
        d.settings({"permissions": {"allow": ["Bash(touch:*)", "Write"]}})
        install(d)
        d.claude("-p", "go").ends()
        must(not d.has("made.txt") and not d.has("w.txt"), "it ran although nobody could be asked")
        must("nod serve" in d.model.said(), f"the message does not say what to do: {d.model.said()[-800:]}")


def test_the_asking_process_dies_and_the_question_goes(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.claude("-p", "go")
        d.waiting()
        os.killpg(run.process.pid, 9)
        eventually(lambda: not d.admin.pending(), "the question disappears")
        must(not d.has("made.txt"), "it ran")


def test_over_http(place):
    with desk(place, [TOUCH]) as d:
        install(d, "--http", "--url", f"http://127.0.0.1:{d.server.port}")
        token = d.admin.token_for("agent", "claude")
        run = d.claude("-p", "go", NOD_TOKEN=token.token)
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def test_over_http_without_a_server(place):
    with desk(place, [TOUCH]) as d:
        install(d, "--http", "--url", f"http://127.0.0.1:{d.server.port}")
        d.server.stop()
        d.claude("-p", "go", NOD_TOKEN="x").ends()
        must(not d.has("made.txt"), "it ran")
        must(f"127.0.0.1:{d.server.port}/api/hooks" in d.model.said(), f"the message does not say who is missing: {d.model.said()[-700:]}")


def test_the_older_release(place):
    with desk(place, [TOUCH], version=OLD) as d:
        install(d, "--strict")
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def test_the_older_release_denies_by_itself_what_nobody_can_be_asked(place):
    with desk(place, [TOUCH], version=OLD) as d:
        install(d)  # it runs no PermissionRequest hook with -p
        d.claude("-p", "go").ends()
        must(not d.has("made.txt"), "it ran")


def test_the_server_is_killed_with_a_question_open(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.claude("-p", "go")
        pending = d.waiting()[0]
        time.sleep(1.2)  # a hook that waited for less takes the server for absent, and denies
        d.server.kill()
        d.server.start()
        must(d.waiting()[0]["toolCallId"] == pending["toolCallId"], "another question")
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def hooked_by(program):
    """Nod's hook as it is installed, but by a program that cannot be started."""
    return {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": program, "onFailure": "block"}]}]},
            "permissions": {"allow": ["Bash(touch:*)"]}}


def test_a_hook_that_cannot_be_started_blocks(place):
    with desk(place, [TOUCH]) as d:
        d.settings(hooked_by("/nonexistent/nod hook"))
        d.claude("-p", "go").ends()
        must(not d.has("made.txt"), "it ran")


def test_a_hook_that_cannot_be_started_lets_the_older_release_run(place):
    """What the words at installing, and the docs, warn of."""
    with desk(place, [TOUCH], version=OLD) as d:
        d.settings(hooked_by("/nonexistent/nod hook"))
        d.claude("-p", "go").ends()
        must(d.has("made.txt"), "2.1.197 blocks it: the docs are out of date")


def test_nothing_runs_without_a_server_in_the_older_release(place):
    with desk(place, [TOUCH], version=OLD, serve=False) as d:
        d.settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        install(d)
        d.claude("-p", "go").ends()
        must(not d.has("made.txt") and "nod serve" in d.model.said(), f"not refused with help: {d.told()}")


def test_a_sub_agent_asks_over_the_hook(place):
    agent = ("Agent", {"description": "do sub", "prompt": "SUBTASK please", "subagent_type": "general-purpose", "run_in_background": False})
    with desk(place, [agent], sub=[TOUCH, "sub done"]) as d:
        install(d)
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0])
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def test_a_talk_without_calls_leaves_no_session(place):
    with desk(place, ["just words"]) as d:
        install(d)
        must("just words" in d.claude("-p", "go").ends().out, "no answer")
        must(not d.admin.ok("GET", "/api/sessions")["sessions"], "an empty session was made")
