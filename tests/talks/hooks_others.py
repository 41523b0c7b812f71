"""Hooks of agents that are not run here: their documented messages, through the command that is installed for them."""
import json
import os
import subprocess

from world import NOD, PATIENCE, eventually, must


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
        must(run.wait(PATIENCE) == 0 and expected in said and (expected != "deny" or "not now" in said), f"{said}")
        run.stdout.close()
    world.nod("hook", "remove", "copilot", "--yes")
    must("nod hook" not in open(path, encoding="utf-8").read() and NOD not in open(path, encoding="utf-8").read(), "it is still there")


def test_qwen_is_asked_and_an_edit_is_a_denial_with_words(world):
    admin = world.server().admin()
    path = os.path.join(world.folder, "settings.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"theme": "dark"}')
    world.nod("hook", "install", "qwen", "--yes", "--settings", path)
    entry = json.load(open(path, encoding="utf-8"))["hooks"]["PreToolUse"][0]["hooks"][0]
    must(entry["timeout"] == 86400000 and " --wait 86370 " in entry["command"], f"Nod does not answer before the limit: {entry}")
    for decision, more, expected in (("allow_once", {}, ("allow",)), ("deny", {"feedback": "not now"}, ("deny", "not now")),
                                     ("allow_once", {"updatedInput": {"command": "touch other"}}, ("deny", "touch other"))):
        message = {"hook_event_name": "PreToolUse", "session_id": "q1", "cwd": world.folder, "tool_name": "run_shell_command",
                   "tool_use_id": f"t{len(expected)}{expected[-1][:3].strip()}", "tool_input": {"command": "touch made", "is_background": False}}
        run = subprocess.Popen(["/bin/sh", "-c", entry["command"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        run.stdin.write(json.dumps(message))
        run.stdin.close()
        call = eventually(lambda: admin.pending(), "it waits")[0]
        must(call["preview"]["type"] == "command", f"not read as a command: {call}")
        admin.decided(call["sessionId"], call["toolCallId"], decision, **more)
        said = json.loads(run.stdout.read())["hookSpecificOutput"]
        must(run.wait(PATIENCE) == 0 and said["permissionDecision"] == expected[0] and expected[-1] in json.dumps(said), f"{said}")
        run.stdout.close()
    world.nod("hook", "remove", "qwen", "--yes", "--settings", path)
    must(open(path, encoding="utf-8").read() == '{"theme": "dark"}', "not as before")


def test_cursor_is_asked_in_the_shape_it_documents(world):
    admin = world.server().admin()
    path = os.path.join(world.folder, "hooks.json")
    world.nod("hook", "install", "cursor", "--yes", "--settings", path)
    written = json.load(open(path, encoding="utf-8"))
    entry = written["hooks"]["preToolUse"][0]
    must(written["version"] == 1 and entry["failClosed"] is True and entry["timeout"] == 86400, f"{written}")
    for decision, more, expected in (("allow_once", {}, {"permission": "allow"}),
                                     ("deny", {"feedback": "not now"}, {"permission": "deny", "user_message": "not now", "agent_message": "not now"}),
                                     ("allow_once", {"updatedInput": {"command": "pwd"}}, {"permission": "allow", "updated_input": {"command": "pwd"}})):
        message = {"hook_event_name": "preToolUse", "conversation_id": "c1", "cwd": world.folder, "tool_name": "Shell", "tool_input": {"command": "touch made"}}
        run = subprocess.Popen(["/bin/sh", "-c", entry["command"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        run.stdin.write(json.dumps(message))
        run.stdin.close()
        call = eventually(lambda: admin.pending(), "it waits")[0]
        must(call["preview"]["type"] == "command", f"not read as a command: {call}")
        admin.decided(call["sessionId"], call["toolCallId"], decision, **more)
        said = json.loads(run.stdout.read())
        must(run.wait(30) == 0 and said == expected, f"{said}")
        run.stdout.close()


def test_files_that_are_ours_as_a_whole_come_and_go(world):
    world.server()
    for agent, variable, name in (("opencode", "OPENCODE_CONFIG_DIR", "plugin/nod.js"), ("cline", "CLINE_DIR", "hooks/PreToolUse")):
        world.environment[variable] = os.path.join(world.folder, agent, "of its own")
        path = os.path.join(world.environment[variable], name)
        world.nod("hook", "install", agent, "--yes")
        text = open(path, encoding="utf-8").read()
        must(f"hook {agent} --wait" in text and os.access(path, os.X_OK) == (agent == "cline"), f"{path}: {text}")
        must("nothing to change" in world.nod("hook", "install", agent, "--yes").stderr, "a second time changes something")
        must(agent in world.nod("doctor").stdout, "doctor does not see it")
        world.nod("hook", "remove", agent, "--yes")
        must(not os.path.exists(path), "it is still there")
        with open(path, "w", encoding="utf-8") as file:
            file.write("// of somebody else\n")
        for act in ("install", "remove"):
            must("left alone" in world.nod("hook", act, agent, "--yes", exits=None).stderr, f"{act} does not say so")
        must(open(path, encoding="utf-8").read() == "// of somebody else\n", "it was changed")


def test_a_hook_of_cline_denies_whatever_happens(world):
    """Cline runs the call when a hook says nothing: ours always says something."""
    server = world.server()
    world.environment["CLINE_DIR"] = os.path.join(world.folder, "cline")
    world.nod("hook", "install", "cline", "--yes")
    server.stop()
    path = os.path.join(world.folder, "cline/hooks/PreToolUse")
    for message in ("{}", "no message", "", json.dumps({"hookName": "tool_call", "taskId": "s", "tool_call": {"id": "1", "name": "run_commands", "input": {}}})):
        said = subprocess.run([path], input=message, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        must(json.loads(said)["cancel"] is True and json.loads(said)["errorMessage"], f"{message!r}: {said}")


def test_opencode_for_one_run(world):
    """Its plugin comes after those it had, in a variable; settings of the repository are read only where that is said."""
    world.server()
    program = os.path.join(world.folder, "opencode")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nprintf '%s\\n' \"$*\" \"$OPENCODE_DISABLE_PROJECT_CONFIG\" \"$OPENCODE_PURE\" \"$OPENCODE_CONFIG_CONTENT\"\n")
    os.chmod(program, 0o755)
    world.environment.update({"NOD_OPENCODE": program, "OPENCODE_PURE": "1", "OPENCODE_CONFIG_CONTENT": '{"model": "m", "plugin": ["a"]}'})
    words, closed, pure, config = world.nod("opencode", "run", "go").stdout.strip("\n").split("\n")
    config = json.loads(config)
    must((words, closed, pure, config["model"], config["plugin"][0]) == ("run go", "1", "", "m", "a"), f"{words} {closed} {pure} {config}")
    with open(config["plugin"][1].removeprefix("file://"), encoding="utf-8") as file:
        must("hook opencode --wait" in file.read() and len(config["plugin"]) == 2, f"{config}")
    world.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] = "0"
    must(world.nod("opencode").stdout.split("\n")[1] == "0", "said, and not heard")
    world.environment["OPENCODE_CONFIG_CONTENT"] = "// no JSON"
    must("OPENCODE_CONFIG_CONTENT" in world.nod("opencode", exits=2).stderr, "started without the plugin")
