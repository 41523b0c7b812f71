"""nod codex talk, with a Codex that is written by hand; the real one is in tests/real."""
import json
import os
import stat
import subprocess
import sys

from world import NOD, PATIENCE, eventually, must

SCRIPT = '''#!%s
import json, sys
asked, then = %r, %r
def say(text):
    sys.stdout.write((text if isinstance(text, str) else json.dumps(text)) + "\\n")
    sys.stdout.flush()
say("a banner that is no message")
for line in sys.stdin:
    m = json.loads(line)
    with open(%r, "a") as log:
        log.write(line)
    if m.get("method") == "initialize":
        say({"id": m["id"], "result": {}})
    elif m.get("method") == "thread/start":
        say({"id": m["id"], "result": {"thread": {"id": "t1"}}})
    elif m.get("method") == "turn/start":
        say({"id": m["id"], "result": {"turn": {"id": "u1"}}})
        for one in asked:
            say(one)
        open_ids = [one["id"] for one in asked if isinstance(one, dict) and "id" in one and "method" in one]
    elif "method" not in m and m.get("id") in open_ids:
        open_ids.remove(m["id"])
        if m["id"] in then:
            say({"method": "serverRequest/resolved", "params": {"threadId": "t1", "requestId": then[m["id"]]}})
            open_ids.remove(then[m["id"]])
        if not open_ids:
            say({"method": "turn/completed", "params": {"threadId": "t1", "turn": {"id": "u1", "status": "completed"}}})
'''


def talk(world, *asked, then=None):
    """`then`: with the answer to the one request the other is taken back."""
    project = os.path.join(world.environment["HOME"], "project")
    folder = os.path.join(world.folder, f"codex{world.number()}")
    for one in (project, folder):
        os.makedirs(one, exist_ok=True)
    program, log = os.path.join(folder, "codex"), os.path.join(folder, "log")
    with open(program, "w", encoding="utf-8") as file:
        file.write(SCRIPT % (sys.executable, list(asked), then or {}, log))
    os.chmod(program, stat.S_IRWXU)
    process = subprocess.Popen([NOD, "--codex", program, "codex", "talk", "-p", "go"], cwd=project, env=world.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answers():
        with open(log, encoding="utf-8") as file:
            return {m["id"]: m for m in map(json.loads, file) if "method" not in m}
    return process, log, answers


def ends(process):
    out, err = process.communicate(timeout=PATIENCE)
    must("Sanitizer" not in err and "bug:" not in err, f"it complains: {err[-3000:]}")
    return process.returncode, out, err


def ask(method, number, **params):
    return {"id": number, "method": method, "params": {"threadId": "t1", "turnId": "u1", "itemId": f"i{number}", **params}}


def test_what_is_not_understood_is_refused(world):
    """Nothing of it is asked about, and nothing is allowed."""
    admin = world.server().admin()
    changes = [{"path": "x", "kind": {"type": "update"}, "diff": "*** Delete File: y\n"}]
    process, log, answers = talk(
        world, "{half", "[]", {"id": 99, "result": {}}, {"method": "item/started", "params": {"item": {"type": "fileChange", "id": "i3", "changes": changes}}},
        {"method": "item/started", "params": {"item": {"type": "fileChange", "id": "i4", "changes": [{"path": "x", "kind": {"type": "add"}, "diff": "x\n"}]}}},
        ask("item/commandExecution/requestApproval", 1, kind="writeStdin", command="x"), ask("item/commandExecution/requestApproval", 2, command=None),
        ask("item/fileChange/requestApproval", 3), ask("item/fileChange/requestApproval", 4, grantRoot="/"), ask("item/fileChange/requestApproval", 5),
        ask("item/permissions/requestApproval", 6, permissions={"network": True}), ask("applyPatchApproval", 7), ask("item/tool/requestUserInput", 8),
        ask("mcpServer/elicitation/request", 9, serverName="demo", _meta={"codex_approval_kind": "mcp_tool_call"}),
        ask("item/commandExecution/requestApproval", 10, command="ls", networkApprovalContext={"host": "evil.example", "protocol": "https"}),
        ask("item/commandExecution/requestApproval", 11, command="ls", additionalPermissions={"network": {"enabled": True}}))
    status, _, err = ends(process)
    must(status == 0 and "is not a message" in err, f"{status} {err}")
    said = answers()
    must([said[n]["result"]["decision"] for n in (1, 2, 3, 4, 5, 10, 11)] == ["decline"] * 7, f"{said}")
    must(all("error" in said[n] for n in (6, 7, 8)) and said[9]["result"] == {"action": "decline", "content": None}, f"{said}")
    must(not admin.events(types="TOOL_CALL"), "somebody was asked")
    with open(log, encoding="utf-8") as file:
        started = next(m for m in map(json.loads, file) if m.get("method") == "thread/start")["params"]
    must(started["approvalPolicy"] == "untrusted" and started["approvalsReviewer"] == "user", f"{started}")


def test_a_tool_of_a_server_and_a_question_that_codex_takes_back(world):
    admin = world.server().admin()
    process, _, answers = talk(
        world, {"method": "item/started", "params": {"item": {"type": "mcpToolCall", "id": "i1", "server": "demo", "tool": "wipe", "arguments": {"id": "42"}}}},
        ask("mcpServer/elicitation/request", 1, serverName="demo", _meta={"codex_approval_kind": "mcp_tool_call"}),
        ask("item/commandExecution/requestApproval", 2, kind="command", command="/bin/bash -lc 'make it'"), then={1: 2})
    calls = eventually(lambda: len(found := admin.pending()) == 2 and found, lambda: f"{admin.pending()}")
    tool, command = sorted(calls, key=lambda p: p["toolCall"]["name"] == "Bash")
    must(tool["toolCall"]["name"] == "mcp__demo__wipe" and tool["toolCall"]["input"] == {"id": "42"}, f"{tool}")
    must(command["toolCall"]["input"] == {"command": "make it"}, f"{command}")
    admin.decided(tool["sessionId"], tool["toolCallId"], "allow_once")
    eventually(lambda: not admin.pending(), "the other question is still open")
    must(ends(process)[0] == 0, "it does not end")
    must(answers()[1]["result"] == {"action": "accept", "content": None} and 2 not in answers(), f"{answers()}")


def test_two_requests_of_one_id(world):
    """An answer to the one could be taken for the other's: the second is refused, and nobody is asked about it."""
    admin = world.server().admin()
    process, log, _ = talk(world, ask("item/commandExecution/requestApproval", 1, kind="command", command="make it"),
                           ask("item/commandExecution/requestApproval", 1, kind="command", command="rm -rf ~"))

    def answers():
        with open(log, encoding="utf-8") as file:
            return [m for m in (json.loads(line) for line in file if line.endswith("\n")) if m.get("id") == 1]
    calls = eventually(admin.pending, "the first is not asked about")
    eventually(answers, "the second request is not answered")
    must("already" in json.dumps(answers()[0]["error"]), f"{answers()}")
    must([p["toolCall"]["input"] for p in calls] == [{"command": "make it"}], f"{calls}")
    admin.decided(calls[0]["sessionId"], calls[0]["toolCallId"], "allow_once")
    must(ends(process)[0] == 0 and answers()[1]["result"]["decision"] == "accept", f"{answers()}")
    must(len(admin.events(types="TOOL_CALL")) == 1, "the second was asked about, too")


def test_without_a_server(world):
    process, log, _ = talk(world)
    status, _, err = ends(process)
    must(status != 0 and "nod serve" in err and not os.path.exists(log), f"{status} {err}")
