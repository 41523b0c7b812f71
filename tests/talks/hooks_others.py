"""Hooks of agents that are not run here: their documented messages, through the command that is installed for them."""
import json
import os
import subprocess

from world import NOD, eventually, must


def test_copilot_is_asked_by_the_hook_that_was_installed(world):
    admin = world.server().admin()
    home = os.path.join(world.folder, "copilot")
    world.environment["COPILOT_HOME"] = home
    world.nod("hook", "install", "copilot", "--yes")
    path = os.path.join(home, "hooks", "nod.json")
    written = json.load(open(path, encoding="utf-8"))
    entry = written["hooks"]["PreToolUse"][0]
    must(written["version"] == 1 and entry["type"] == "command" and entry["timeoutSec"] == 86400, f"{written}")
    must("nothing to change" in world.nod("hook", "install", "copilot", "--yes").stderr, "a second time changes something")
    for decision, more, expected in (("allow_once", {}, "allow"), ("deny", {"feedback": "not now"}, "deny"),
                                     ("allow_once", {"updatedInput": {"command": "touch other"}}, "touch other")):
        message = {"hook_event_name": "PreToolUse", "session_id": "c1", "cwd": world.folder, "tool_name": "Bash", "tool_input": {"command": "touch made"}}
        run = subprocess.Popen(["/bin/sh", "-c", entry["bash"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        run.stdin.write(json.dumps(message))
        run.stdin.close()
        call = eventually(lambda: admin.pending(), "it waits")[0]
        must(call["toolCall"]["input"] == {"command": "touch made"}, f"{call}")
        admin.decided(call["sessionId"], call["toolCallId"], decision, **more)
        said = run.stdout.read()
        must(run.wait(30) == 0 and expected in said and (expected != "deny" or "not now" in said), f"{said}")
        run.stdout.close()
    world.nod("hook", "remove", "copilot", "--yes")
    must("nod hook" not in open(path, encoding="utf-8").read() and NOD not in open(path, encoding="utf-8").read(), "it is still there")
