"""Claude Code in its own right, with Nod's hooks in its settings."""
import json
import os

from desk import OLD, desk
from world import eventually, must

TOUCH = ("Bash", {"command": "touch made.txt", "description": "Make a file"})


def install(d, *more):
    return d.nod("hook", "install", "--yes", *more).ends()


def test_install_shows_the_change_and_remove_takes_it_back(place):
    with desk(place, []) as d:
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


def test_after_setup_the_next_call_is_asked_and_remove_gives_the_bytes_back(place):
    with desk(place, [TOUCH]) as d:
        path = os.path.join(d.config, "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"cleanupPeriodDays":   30}')
        said = json.loads(d.nod("setup", "--yes", "--json").ends().out)
        must([(a["agent"], a["testArrived"]) for a in said["agents"]] == [("claude", True)], f"{said}")
        run = d.claude("-p", "go")
        waiting = d.waiting()[0]
        must(waiting["toolCall"]["input"]["command"] == "touch made.txt" and not d.has("made.txt"), f"not asked: {waiting}")
        d.decide(waiting)
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")
        d.nod("setup", "--remove", "--yes").ends()
        must(open(path, encoding="utf-8").read() == '{"cleanupPeriodDays":   30}', "not as before")


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
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Read(/**)"})
        run = d.claude("-p", "go")
        d.decide(d.waiting()[0], "deny")
        run.ends()
        calls = [e["data"] for e in d.events(types="TOOL_CALL")]
        must([c["name"] for c in calls] == ["Read", "Bash"], f"not all calls are kept: {calls}")


def secret(d):
    """A file outside the project that Claude Code asks about before it reads it."""
    home = os.path.join(d.world.folder, "elsewhere", ".kube")
    os.makedirs(home)
    with open(os.path.join(home, "config"), "w", encoding="utf-8") as file:
        file.write("TOPSECRET\n")
    return os.path.join(home, "config")


def test_a_secret_elsewhere_is_asked_about(place):
    with desk(place, [[("Read", {"file_path": "FILE"})]]) as d:
        path = secret(d)
        d.model.script[0] = [("Read", {"file_path": path})]
        install(d)
        run = d.claude("-p", "go")
        waiting = d.waiting()[0]
        must(waiting["toolCall"]["name"] == "Read", f"not asked: {waiting}")
        d.decide(waiting, "deny")
        run.ends()
        must("TOPSECRET" not in d.model.said(), "the model knows the secret")


def test_with_an_empty_policy_nothing_runs_that_would_not_run_alone(place):
    """What the hook does not ask a person about, Claude Code alone would have done, too."""
    def script(d):
        inside = os.path.join(d.project, "a.txt")
        return [("Read", {"file_path": inside}), ("Read", {"file_path": os.path.join(d.world.folder, "elsewhere", ".kube", "config")}),
                ("Glob", {"pattern": "*.txt"}), ("Grep", {"pattern": "TOP", "path": os.path.join(d.world.folder, "elsewhere")}),
                ("Bash", {"command": "echo ran-echo", "description": "x"}), ("Bash", {"command": "touch touched", "description": "x"}),
                ("Write", {"file_path": os.path.join(d.project, "w.txt"), "content": "x"})]

    def results(d):
        last = d.model.requests[-1]["messages"]
        return {part["tool_use_id"] for message in last if message["role"] == "user" and isinstance(message["content"], list)
                for part in message["content"] if part.get("type") == "tool_result" and not part.get("is_error")}

    def ran(place, hooked):
        with desk(place, []) as d:
            secret(d)
            d.put("a.txt", "hello")
            d.model.script[:] = [[(*step, f"toolu_{number}")] for number, step in enumerate(script(d))]
            if hooked:
                install(d)
            run = d.claude("-p", "go")

            def deny_all():
                for one in d.admin.pending():
                    d.decide(one, "deny")
                return run.process.poll() is not None
            eventually(deny_all, "it ends", 60)
            return results(d)
    from world import World
    other = World()
    alone = ran(other, False)
    other.close()
    both = ran(place, True)
    must(both <= alone, f"with the hook more ran: {sorted(both - alone)}; alone {sorted(alone)}")
    must("toolu_0" in both, "what it does by itself, it still does")


def test_hook_and_wrapper_ask_once(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        run = d.nod("claude", "-p", "go")
        waiting = d.waiting()[0]
        must(len(d.admin.pending()) == 1, f"asked twice: {d.admin.pending()}")
        d.decide(waiting)
        run.ends()
        must(d.has("made.txt") and not d.admin.pending(), f"it did not run once: {d.told()}")
        events = d.events()
        must([e["type"] for e in events].count("TOOL_APPROVAL_REQUEST") == 1, "asked twice")
        answers = [e["data"]["decision"] for e in events if e["type"] == "TOOL_APPROVAL_RESPONSE"]
        must(answers == ["allow_once"] and "TOOL_RESULT" in [e["type"] for e in events], f"the log does not say what ran: {answers}")


def test_a_secret_elsewhere_is_asked_about_behind_the_wrapper(place):
    with desk(place, [[("Read", {"file_path": "FILE"})]]) as d:
        path = secret(d)
        d.model.script[0] = [("Read", {"file_path": path})]
        run = d.nod("claude", "-p", "go")
        d.decide(d.waiting()[0], "deny")
        run.ends()
        must("TOPSECRET" not in d.model.said(), "the model knows the secret")


def test_settings_of_a_repository_change_nothing(place):
    with desk(place, [TOUCH]) as d:
        install(d)
        d.admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Bash(touch:*)"})
        d.put(".claude/settings.json", json.dumps({"env": {
            "NOD_URL": "http://127.0.0.1:1", "NOD_SOCKET": "/nonexistent", "NOD_CONFIG": "/nonexistent", "NOD_DATA": "/nonexistent",
            "HOME": d.project, "XDG_CONFIG_HOME": d.project}}))
        d.claude("-p", "go").ends()
        must(not d.has("made.txt") and "policy" in d.model.said(), f"the rule did not hold: {d.told()}")


def test_nods_deny_holds_against_claudes_allow_rule(place):
    with desk(place, [TOUCH]) as d:
        d.settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        d.admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Bash(touch:*)"})
        install(d)
        d.claude("-p", "go").ends()
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
    with desk(place, [TOUCH, ("Write", {"file_path": "W", "content": "x"})]) as d:
        d.model.script[1] = ("Write", {"file_path": os.path.join(d.project, "w.txt"), "content": "x"})
        d.settings({"permissions": {"allow": ["Bash(touch:*)", "Write"]}})
        install(d)
        d.server.stop()
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
    with desk(place, [TOUCH], version=OLD) as d:
        d.settings({"permissions": {"allow": ["Bash(touch:*)"]}})
        install(d)
        d.server.stop()
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
