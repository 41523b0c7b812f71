"""nod acp: between an editor and an agent. Both speak by hand here; real ones are in tests/real."""
import json
import os
import signal
import subprocess
import sys
import threading

from world import NOD, PATIENCE, eventually, must

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "model"))

from acp_agent import heard  # noqa: E402

SCRIPTED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "model", "acp_agent.py")
OPTIONS = [{"optionId": "always", "name": "Always", "kind": "allow_always"}, {"optionId": "once", "name": "Once", "kind": "allow_once"},
           {"optionId": "abort", "name": "Stop", "kind": "reject_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]


def ended(r):
    """The relay has killed its agent, whose status is its own."""
    must(r.process.wait(PATIENCE) == 128 + signal.SIGKILL, f"the agent ended by itself: {r.process.returncode}")
    with open(r.errors.name, encoding="utf-8", errors="replace") as file:
        return "it is ended" in file.read()


class Relayed:
    """An editor by hand, the relay, and the scripted agent behind it."""

    def __init__(self, world, *more, begin=True):
        self.world = world
        self.project = os.path.join(world.environment["HOME"], "project")
        self.folder = os.path.join(self.project if "--sandbox" in more else world.folder, f"acp{world.number()}")
        for folder in (self.folder, self.project):
            os.makedirs(folder, exist_ok=True)
        self.errors = open(os.path.join(self.folder, "errors"), "ab")
        self.process = subprocess.Popen([NOD, "acp", *more, "--", sys.executable, SCRIPTED, self.folder], cwd=self.project, env=world.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.lines, self.number, self.returns = [], 0, 0
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()
        if begin:
            self.answer(self.send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
            self.answer(self.send("session/new", {"cwd": self.project, "mcpServers": []}))

    def read(self, out):
        for line in out:
            self.returns += line.count(b"\r")
            self.lines.append(json.loads(line) if line.startswith(b"{") else {"text": line.decode()})

    def put(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params):
        self.number += 1
        self.put({"id": self.number, "method": method, "params": params})
        return self.number

    def prompt(self, *steps):
        return self.send("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text", "text": json.dumps(steps)}]})

    def answer(self, number):
        return eventually(lambda: [m for m in self.lines if m.get("id") == number and "method" not in m], lambda: f"an answer to {number}: {self.lines}")[0]

    def asked(self, method):
        return eventually(lambda: [m for m in self.lines if m.get("method") == method], lambda: f"{method}: {self.lines}")[0]

    def answered(self, count=1):
        """How the agent's requests were answered."""
        return eventually(lambda: len(a := [m for m in heard(self.folder) if "answered" in m]) >= count and a, lambda: f"answers: {heard(self.folder)}")

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.errors.close()
        with open(os.path.join(self.folder, "errors"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        must("Sanitizer" not in text and "bug:" not in text, f"it complains: {text[-3000:]}")
        return status, text


def ask(tool="t1", **call):
    return {"method": "session/request_permission", "params": {"toolCall": {"toolCallId": tool, **call}, "options": OPTIONS}}


def waiting(admin, words):
    return eventually(lambda: [p for p in admin.pending() if words in json.dumps(p["toolCall"])], lambda: f"{words} waits: {admin.pending()}")[0]


def decide(admin, call, decision="allow_once", **more):
    return admin.decided(call["sessionId"], call["toolCallId"], decision, **more)


def test_a_command_is_asked_and_answered_by_kind(world):
    admin = world.server().admin()
    r = Relayed(world)
    prompt = r.prompt(ask(kind="execute", title="make", rawInput={"command": "make all"}), ask("t2", kind="execute", rawInput={"command": ["bash", "-lc", "make two"]}))
    call = waiting(admin, "make all")
    must(call["preview"]["type"] == "command", f"{call}")
    decide(admin, call)
    must(r.answered()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "once"}}, f"{r.answered()}")
    decide(admin, waiting(admin, "make two"), "deny", feedback="not now")
    must(r.answered(2)[1]["result"] == {"outcome": {"outcome": "selected", "optionId": "no"}}, f"{r.answered()}")
    must(r.answer(prompt)["result"]["stopReason"] == "end_turn", "the turn does not end")
    failed = [m for m in r.lines if m.get("method") == "session/update" and m["params"]["update"].get("status") == "failed"]
    must("not now" in json.dumps(failed), f"the editor does not know why: {r.lines}")
    r.answer(r.prompt())
    must("not now" in [m for m in heard(r.folder) if "prompt" in m][1]["prompt"][0], f"the model does not know why: {heard(r.folder)}")
    kept = eventually(lambda: [e["type"] for e in admin.events(session=call["sessionId"]) if e["type"] == "AGENT_MESSAGE"], "the conversation is kept")
    must(kept, "nothing")
    must("banner" not in json.dumps(r.lines), "what is no message was passed on")
    must(r.close()[0] == 0, "it does not end with its editor")


def test_an_edit_shows_its_difference_and_covers_the_writing(world):
    admin = world.server().admin()
    r = Relayed(world)
    path = os.path.join(r.project, "a.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("one\n")
    diff = {"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}
    write = {"method": "fs/write_text_file", "params": {"path": path, "content": "two\n"}}
    r.prompt({"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "edit", "kind": "edit", "content": [diff]}},
             ask(kind="edit", content=[], rawInput={}), write, write)
    call = waiting(admin, "a.txt")
    must(call["toolCall"]["name"] == "Edit" and call["preview"]["type"] == "diff" and "+two" in json.dumps(call["preview"]), f"{call}")
    must("diff" in json.dumps(r.asked("session/update")), "the editor does not see the difference")
    decide(admin, call)
    first = r.asked("fs/write_text_file")
    r.put({"id": first["id"], "result": {}})
    again = waiting(admin, "two")
    must(again["toolCall"]["name"] == "Write" and again["toolCallId"] != call["toolCallId"], f"the second writing is not asked about: {again}")
    decide(admin, again, "deny", feedback="once is enough")
    must(r.answered(3)[2]["error"]["message"] == "once is enough", f"{r.answered(3)}")
    r.close()


def test_several_files_and_terminals_and_reading(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Read(//etc/**)"})
    r = Relayed(world)
    diffs = [{"type": "diff", "path": os.path.join(r.project, name), "oldText": None, "newText": "x\n"} for name in ("a", "b")]
    r.prompt(ask(kind="edit", content=diffs), {"method": "terminal/create", "params": {"command": "rm", "args": ["-rf", "it's"]}},
             {"method": "fs/read_text_file", "params": {"path": "/etc/passwd"}})
    decide(admin, waiting(admin, "*** Add File"))
    call = waiting(admin, "rm ")
    must(call["toolCall"]["input"]["command"] == "rm '-rf' 'it'\\''s'", f"{call}")
    decide(admin, call, "deny")
    denied = r.answered(3)
    must(denied[1]["error"] and denied[2]["error"] and not [m for m in r.lines if m.get("method", "").startswith(("terminal", "fs/"))], f"{denied}")
    r.close()


def test_rules_answer_and_a_title_is_never_enough_for_an_allow(world):
    admin = world.server().admin()
    for effect, rule in (("allow", "Bash(make:*)"), ("deny", "Bash(rm:*)")):
        admin.ok("POST", "/api/policy/rules", {"effect": effect, "rule": rule})
    r = Relayed(world)
    r.prompt(ask(kind="execute", rawInput={"command": "make"}), ask("t2", kind="execute", title="rm -rf x"), ask("t3", kind="execute", title="make"))
    call = waiting(admin, "make")
    must([a["result"]["outcome"]["optionId"] for a in r.answered(2)] == ["once", "no"], f"{r.answered(2)}")
    decide(admin, call, updatedInput={"command": "make less"})
    must(r.answered(3)[2]["result"]["outcome"]["optionId"] == "no", "an edit that the agent cannot run was allowed")
    r.close()


def test_a_mode_that_asks_less_is_asked_about(world):
    admin = world.server().admin()
    r = Relayed(world, "--agent", "gemini")
    number = r.send("session/set_mode", {"sessionId": "s1", "modeId": "yolo"})
    decide(admin, waiting(admin, "yolo"), "deny", feedback="no")
    must(r.answer(number)["error"]["message"] == "no", "switched")
    must(r.answer(r.send("session/set_mode", {"sessionId": "s1", "modeId": "plan"}))["result"] == {}, "a safe mode is held")
    r.prompt(ask(kind="switch_mode", title="leave plan mode"), {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}})
    decide(admin, waiting(admin, "leave plan mode"))
    must(r.answered()[0]["result"]["outcome"]["optionId"] == "no", "an option that is no safe mode was chosen")
    must(ended(r), "an agent that switched by itself goes on")
    r.close()


def options(mode, **more):
    return {"configOptions": [{"id": "model", "category": "model", "currentValue": "m"}, {"id": "how", "category": "mode", "currentValue": mode, **more}]}


def begun(r, **answer):
    return r.send("session/new", {"cwd": r.project, "mcpServers": [], "_meta": answer})


def test_a_session_that_begins_in_a_mode_that_asks_less(world):
    """It is asked about, wherever the agent says it; denied, the agent ends, and nothing was passed on."""
    admin = world.server().admin()
    for answer in ({"modes": {"currentModeId": "yolo"}}, options("yolo"), {"modes": {"currentModeId": "default"}, **options("yolo")}):
        r = Relayed(world, begin=False)
        number = begun(r, **answer)
        decide(admin, waiting(admin, "yolo"), "deny", feedback="never")
        must(r.answer(number)["error"]["message"] == "never" and "yolo" not in json.dumps(r.lines), f"{r.lines}")
        must(ended(r), "the agent goes on")
        r.close()
    r = Relayed(world, begin=False)
    number = begun(r, modes={"currentModeId": "yolo"})
    decide(admin, waiting(admin, "yolo"))
    must(r.answer(number)["result"]["sessionId"] == "s1", f"{r.lines}")
    number = r.send("session/load", {"sessionId": "s1", "cwd": r.project, "mcpServers": [], "_meta": {"modes": {"currentModeId": "auto"}}})
    decide(admin, waiting(admin, "auto"), "deny")
    must(r.answer(number)["error"] and ended(r), f"{r.lines}")
    r.close()


def test_a_mode_among_the_options(world):
    """config_option_update and the answer of session/set_config_option tell a mode like current_mode_update does."""
    world.server()
    for mode in ("yolo", True, None):
        r = Relayed(world)
        r.prompt({"update": {"sessionUpdate": "config_option_update", **options("plan")}}, {"update": {"sessionUpdate": "config_option_update", **options(mode)}})
        must(ended(r), "an agent that switched by itself goes on")
        r.close()
    r = Relayed(world)
    must(r.answer(r.send("session/set_config_option", {"sessionId": "s1", "configId": "how", "value": "x", "_meta": options("plan")}))["result"], f"{r.lines}")
    r.send("session/set_config_option", {"sessionId": "s1", "configId": "how", "value": "x", "_meta": options("yolo")})
    must(ended(r), "an agent that was switched unasked goes on")
    r.close()


def test_an_agent_that_is_ended_does_nothing_more(world):
    """Neither at the end of its input nor at a signal that it could catch: nobody would be asked."""
    world.server()
    r = Relayed(world)
    r.prompt({"stubborn": True}, {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}})
    must(ended(r) and not os.path.exists(os.path.join(r.folder, "ran")), "it did something before it ended")
    r.close()


def test_a_mode_that_was_left_is_asked_about_again(world):
    admin = world.server().admin()
    r = Relayed(world)
    number = r.send("session/set_mode", {"sessionId": "s1", "modeId": "yolo"})
    decide(admin, waiting(admin, "yolo"))
    r.answer(number)
    r.answer(r.prompt({"update": {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}}))
    r.answer(r.send("session/set_mode", {"sessionId": "s1", "modeId": "plan"}))
    r.prompt({"update": {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}})
    must(ended(r), "an agent that switched by itself goes on")
    r.close()


def test_the_proxy_stands_in_front_of_servers_of_the_editor(world):
    world.server()
    r = Relayed(world, begin=False)
    servers = [{"name": "my files", "command": "/bin/files", "args": ["-x", "it's"], "env": [{"name": "A", "value": "b"}]},
               {"type": "http", "name": "web", "url": "http://127.0.0.1:1/mcp", "headers": [{"name": "Authorization", "value": "s3cret"}]},
               {"type": "acp", "name": "other", "id": "x"}, {"name": "odd", "command": "x", "args": "y"}]
    r.answer(r.send("session/new", {"cwd": r.project, "mcpServers": servers, "more": {"a": 1.50}}))
    r.answer(r.send("session/load", {"sessionId": "s1", "cwd": r.project, "mcpServers": servers[:1]}))
    new, load = [m["params"] for m in heard(r.folder) if m.get("method") in ("session/new", "session/load")]
    files, web = new["mcpServers"]
    must(files["name"] == "my files" and files["command"] == NOD and files["env"] == servers[0]["env"] and files == load["mcpServers"][0], f"{new} {load}")
    must(files["args"][:2] == ["mcp", "proxy"] and files["args"][4:] == ["--name", "my-files", "--", "/bin/files", "-x", "it's"], f"{files}")
    must(web["args"][4:] == ["--name", "web", "--url", "http://127.0.0.1:1/mcp", "--header-env", "Authorization=MCP_HEADER_0"], f"{web}")
    must(web["env"] == [{"name": "MCP_HEADER_0", "value": "s3cret"}] and new["more"] == {"a": 1.5}, f"{new}")
    must(os.path.isabs(files["args"][3]) and os.path.exists(files["args"][3]), "the proxy's identity")
    must("2 MCP servers" in r.close()[1], "nobody is told what is left out")


def test_an_agent_is_started_with_its_switches(world):
    world.server()
    r = Relayed(world, "--agent", "opencode", begin=False)
    r.answer(r.send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
    with open(f"/proc/{r.process.pid}/task/{r.process.pid}/children", encoding="ascii") as file:
        child = file.read().split()[0]
    with open(f"/proc/{child}/environ", encoding="utf-8") as file:
        given = dict(one.split("=", 1) for one in file.read().split("\0") if "=" in one)
    must(given["OPENCODE_PERMISSION"] == '{"*":"ask"}' and given["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1", f"{given}")
    r.close()


def test_an_agent_in_a_box_does_not_reach_around_it(world):
    """By the editor, which is outside: its files are asked about, its terminals are not for the agent, nor are MCP servers."""
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls:*)"})
    secret = os.path.join(world.environment["HOME"], ".ssh", "id_rsa")
    r = Relayed(world, "--sandbox", begin=False)
    r.answer(r.send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
    r.answer(r.send("session/new", {"cwd": r.project, "mcpServers": [{"name": "x", "command": "/bin/true", "args": [], "env": []}]}))
    r.prompt({"method": "terminal/create", "params": {"command": "ls"}}, {"method": "fs/read_text_file", "params": {"path": secret}})
    decide(admin, waiting(admin, "id_rsa"), "deny", feedback="mine")
    must([a["error"]["message"] for a in r.answered(2)][1] == "mine" and "in a box" in r.answered(2)[0]["error"]["message"], f"{r.answered(2)}")
    must(not [m for m in r.lines if m.get("method", "").startswith(("fs/", "terminal/"))], f"{r.lines}")
    must(next(m for m in heard(r.folder) if m.get("method") == "session/new")["params"]["mcpServers"] == [], "a server outside")
    must("1 MCP servers" in r.close()[1], "nobody is told")


def test_requests_that_nobody_knows_do_not_reach_the_editor(world):
    world.server()
    r = Relayed(world)
    r.prompt({"method": "fs/delete_file", "params": {"path": "/x"}}, {"method": "mcp/message", "params": {}}, {"method": "terminal/input", "params": {"terminalId": "1", "text": "rm -rf x"}},
             {"method": "terminal/output", "params": {"terminalId": "1"}})
    r.asked("terminal/output")
    must([a["error"]["code"] for a in r.answered(3)] == [-32000] * 3 and not [m for m in r.lines if m.get("method") in ("fs/delete_file", "mcp/message", "terminal/input")], f"{r.lines}")
    r.close()


def test_cancel_takes_the_questions_back(world):
    admin = world.server().admin()
    r = Relayed(world)
    r.prompt(ask(kind="execute", rawInput={"command": "make"}))
    waiting(admin, "make")
    r.put({"method": "session/cancel", "params": {"sessionId": "s1"}})
    must(r.answered()[0]["result"] == {"outcome": {"outcome": "cancelled"}}, f"{r.answered()}")
    eventually(lambda: not admin.pending(), "the question disappears")
    eventually(lambda: [m for m in heard(r.folder) if m.get("method") == "session/cancel"], "the agent hears of it")
    r.prompt(ask("t2", kind="execute", rawInput={"command": "make two"}))
    decide(admin, waiting(admin, "make two"), "abort")
    must(r.answered(2)[1]["result"]["outcome"]["optionId"] == "no", f"{r.answered(2)}")
    eventually(lambda: len([m for m in heard(r.folder) if m.get("method") == "session/cancel"]) == 2, "the turn ends")
    r.close()


def test_an_agent_takes_its_question_back(world):
    """The editor hears of it only where it has heard of the request."""
    admin = world.server().admin()
    r = Relayed(world)
    r.prompt(ask(kind="execute", rawInput={"command": "make"}))
    waiting(admin, "make")
    r.prompt(*({"raw": json.dumps({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": number}})} for number in (0, 77)))
    must(r.answered()[0]["error"]["code"] == -32800, f"{r.answered()}")
    eventually(lambda: not admin.pending(), "the question disappears")
    must(r.asked("$/cancel_request")["params"]["requestId"] == 77, f"{r.lines}")
    r.close()


def test_a_restart_of_the_server_and_its_absence(world):
    server = world.server()
    admin = server.admin()
    r = Relayed(world)
    r.prompt(ask(kind="execute", rawInput={"command": "make"}), ask("t2", kind="execute", rawInput={"command": "make two"}))
    call = waiting(admin, "make")
    server.kill()
    server.start()
    again = waiting(admin, "make")
    must(again["toolCallId"] == call["toolCallId"], "another question")
    decide(admin, again)
    decide(admin, waiting(admin, "make two"))
    must([a["result"]["outcome"]["optionId"] for a in r.answered(2)] == ["once", "once"], f"{r.answered(2)}")
    server.stop()
    r.prompt(ask("t3", kind="execute", rawInput={"command": "make three"}))
    must(r.answered(3)[2]["result"]["outcome"]["optionId"] == "no", "allowed without a server")
    eventually(lambda: "nod serve" in json.dumps(r.lines), "nobody is told what to do")
    r.close()


def test_a_hostile_agent_is_allowed_nothing(world):
    admin = world.server().admin()
    r = Relayed(world)
    r.prompt({"raw": "garbage"}, {"raw": '{"id":9,"method":"fs/write_text_file","method":"session/update"}'}, {"raw": '{"id":77,"result":{}}'},
             {"raw": '{"jsonrpc":"2.0","method":"fs/write_text_file","params":{"sessionId":"s1","path":"/x","content":"x"}}'},
             {"flood": 70, "method": "session/request_permission", "params": ask(kind="execute", rawInput={"command": "make"})["params"]})
    eventually(lambda: len(admin.pending()) == 64, lambda: f"{len(admin.pending())} wait")
    must([a["result"]["outcome"]["optionId"] for a in r.answered(6)] == ["no"] * 6, f"{r.answered()}")
    must(not [m for m in r.lines if m.get("method", "").startswith("fs/")], "it was passed on")
    must("not a message" in r.close()[1], "nobody is told")
    eventually(lambda: not admin.pending(), "what waited is taken back when the editor leaves")


NUL = {"x": "\0"}  # as JSON, which others read and Nod does not


def test_a_message_that_cannot_be_read_is_answered(world):
    """A request to its sender, an answer to its receiver in its place; nothing of it is passed on."""
    admin = world.server().admin()
    r = Relayed(world)
    r.prompt({"method": "session/request_permission", "params": NUL}, {"raw": json.dumps({"jsonrpc": "2.0", "id": 99, "result": NUL})},
             {"method": "terminal/output", "params": {"terminalId": "1"}})
    must(r.answered()[0]["error"]["code"] == -32700 and r.answer(99)["error"]["code"] == -32700 and not admin.pending(), f"{r.answered()} {r.lines}")
    must(r.answer(r.send("session/set_mode", NUL))["error"]["code"] == -32700, "the editor waits for ever")
    r.put({"id": r.asked("terminal/output")["id"], "result": NUL})
    must(r.answered(2)[1]["error"]["code"] == -32700 and '"x":' not in json.dumps([heard(r.folder)[-1], r.lines]), f"{r.answered(2)}")
    r.close()
    r = headless(world, {"method": "fs/read_text_file", "params": {"path": "a", **NUL}})
    must(r.answered()[0]["error"]["code"] == -32700 and r.process.wait(PATIENCE) == 0, "the agent waits for ever")
    r.process.stdin.close()
    r = headless(world, {"raw": json.dumps({"jsonrpc": "2.0", "id": "nod:prompt", "result": {"stopReason": "end_turn", **NUL}})}, FORM)
    must(r.process.wait(PATIENCE) == 1, "an answer that cannot be read is none")
    r.process.stdin.close()


FORM = {"method": "elicitation/create", "params": {"mode": "form", "message": "which colour", "requestedSchema": {
    "type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}}}


def test_a_form_is_a_question_where_the_editor_shows_none(world):
    admin = world.server().admin()
    r = Relayed(world)
    offered = next(m for m in heard(r.folder) if m.get("method") == "initialize")["params"]
    must(offered == {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"form": {}}}}, f"{offered}")
    r.prompt(FORM, FORM, FORM, {"method": "elicitation/create", "params": {**FORM["params"], "sessionId": "", "requestId": 1}})
    decide(admin, waiting(admin, "which colour"), updatedInput={"content": {"colour": "red"}})
    must(r.answered()[0]["result"] == {"action": "accept", "content": {"colour": "red"}}, f"{r.answered()}")
    decide(admin, waiting(admin, "which colour"), "deny")
    must(r.answered(2)[1]["result"] == {"action": "decline"}, f"{r.answered(2)}")
    decide(admin, waiting(admin, "which colour"))
    must(r.answered(3)[2]["result"] == {"action": "decline"}, "an allow without answers has none to give")
    must(r.answered(4)[3]["error"]["code"] == -32601 and not [m for m in r.lines if m.get("method") == "elicitation/create"], f"{r.lines}")
    r.close()
    r = Relayed(world, begin=False)
    r.answer(r.send("initialize", {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"form": {}}}}))
    r.answer(r.send("session/new", {"cwd": r.project, "mcpServers": []}))
    r.prompt(FORM)
    must(r.asked("elicitation/create")["params"]["message"] == "which colour", "an editor that shows forms does not get them")
    r.close()


def test_without_an_editor(world):
    admin = world.server().admin()
    r = Relayed(world, "-p", json.dumps([ask(kind="execute", rawInput={"command": "make"}), {"method": "_other/ask", "params": {}}, FORM]), begin=False)
    decide(admin, waiting(admin, "make"), "deny", feedback="use ninja")
    must(r.answered(2)[1]["error"]["code"] == -32601, f"{r.answered(2)}")
    decide(admin, waiting(admin, "which colour"), updatedInput={"content": {"colour": "red"}})
    must(r.answered(3)[2]["result"] == {"action": "accept", "content": {"colour": "red"}}, f"{r.answered(3)}")
    must(r.process.wait(PATIENCE) == 0, "it does not end")
    prompts = [m["prompt"] for m in heard(r.folder) if "prompt" in m]
    must(len(prompts) == 2 and "use ninja" in prompts[1][0], f"the words do not arrive: {prompts}")
    r.process.stdin.close()


def headless(world, *steps):
    """Without an editor; the scripted agent's requests are the prompt."""
    return Relayed(world, "-p", json.dumps(steps), begin=False)


def file_step(act, path, **more):
    return {"method": f"fs/{act}_text_file", "params": {"path": path, **more}}


def test_without_an_editor_files_are_those_of_the_folder(world):
    """A person may allow what they like: nothing is read or written through a link or beside the folder."""
    admin = world.server().admin()
    project = os.path.join(world.environment["HOME"], "project")
    outside = os.path.join(world.folder, "outside")
    for folder in (project, outside):
        os.makedirs(folder, exist_ok=True)
    for path, text in ((os.path.join(project, "lines.txt"), "one\ntwo\nthree\n"), (os.path.join(outside, "kept.txt"), "KEPT")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    os.symlink(outside, os.path.join(project, "away"))
    os.symlink("lines.txt", os.path.join(project, "link.txt"))
    at = lambda name: os.path.join(project, name)  # noqa: E731
    steps = [file_step("read", at("lines.txt"), line=2, limit=1), file_step("read", at("missing.txt")), file_step("read", at("away/kept.txt")),
             file_step("write", at("new/made.txt"), content="hello\n"), file_step("write", at("denied.txt"), content="x"),
             *[file_step("write", path, content="bad") for path in (at("away/kept.txt"), os.path.join(outside, "kept.txt"), at("../escaped.txt"), at("link.txt"))]]
    r = headless(world, *steps)
    offered = eventually(lambda: [m for m in heard(r.folder) if m.get("method") == "initialize"], "it begins")[0]["params"]["clientCapabilities"]
    must(offered["fs"] == {"readTextFile": True, "writeTextFile": True} and offered["terminal"] is True, f"{offered}")

    def asked(count):
        path = steps[count - 1]["params"]["path"]
        return [p for p in admin.pending() if p["toolCall"]["input"].get("file_path") == path]  # the next may wait already

    def answer(decision, count, **more):
        waits = eventually(lambda: asked(count) or len(r.answered()) >= count and [None], lambda: f"a question or an answer: {heard(r.folder)}")[0]
        if waits:
            decide(admin, waits, decision, **more)
        return r.answered(count)[count - 1]

    must(answer("allow_once", 1)["result"] == {"content": "two\n"}, f"{r.answered()}")
    must(answer("allow_once", 2)["error"]["code"] == -32002 and "Resource not found" in r.answered(2)[1]["error"]["message"], f"{r.answered()}")
    must("KEPT" not in json.dumps(answer("allow_once", 3)) and r.answered(3)[2]["error"], f"{r.answered()}")
    must(answer("allow_once", 4)["result"] == {}, f"{r.answered()}")
    must("not this one" in answer("deny", 5, feedback="not this one")["error"]["message"], f"{r.answered()}")
    for count in range(6, 10):
        must(answer("allow_once", count)["error"], f"{count}: {r.answered()}")
    must(r.process.wait(PATIENCE) == 0, "it does not end")
    with open(at("new/made.txt"), encoding="utf-8") as made, open(os.path.join(outside, "kept.txt"), encoding="utf-8") as kept, open(at("lines.txt"), encoding="utf-8") as lines:
        must((made.read(), kept.read(), lines.read()) == ("hello\n", "KEPT", "one\ntwo\nthree\n"), "another file was written")
    must(not os.path.exists(at("denied.txt")) and not os.path.exists(at("../escaped.txt")), "a file was made")
    r.process.stdin.close()


def test_without_an_editor_a_file_that_changed_is_not_written(world):
    """What was there when the question was asked is what may be replaced."""
    admin = world.server().admin()
    project = os.path.join(world.environment["HOME"], "project")
    os.makedirs(project, exist_ok=True)
    at = lambda name: os.path.join(project, name)  # noqa: E731

    def put(name, text):
        with open(at(name), "w", encoding="utf-8") as file:
            file.write(text)

    put("old.txt", "as it was\n")
    put("same.txt", "as it was\n")
    names = ("old.txt", "new.txt", "same.txt")
    r = headless(world, *[file_step("write", at(name), content="by the agent\n") for name in names])
    for name in names:
        call = waiting(admin, name)
        if name != "same.txt":
            put(name, "by a person meanwhile\n")
        decide(admin, call)
    answers = r.answered(3)
    must("changed meanwhile" in answers[0]["error"]["message"] and answers[1]["error"] and answers[2]["result"] == {}, f"{answers}")
    texts = []
    for name in names:
        with open(at(name), encoding="utf-8") as file:
            texts.append(file.read())
    must(texts == ["by a person meanwhile\n"] * 2 + ["by the agent\n"], f"{texts}")
    must(r.process.wait(PATIENCE) == 0, "it does not end")
    r.process.stdin.close()


def terminal_step(act, **params):
    return {"method": f"terminal/{act}", "params": params}


def test_without_an_editor_commands_run_in_the_folder(world):
    admin = world.server().admin()
    known = {"terminalId": "terminal-1"}
    r = headless(world, terminal_step("create", command="sh", args=["-c", "pwd; echo $0 >&2; exit 3"], env=[{"name": "COLOUR", "value": "red"}]),
                 terminal_step("wait_for_exit", **known), terminal_step("output", **known), terminal_step("release", **known), terminal_step("output", **known),
                 terminal_step("create", command="sh", args=["-c", "yes longer | head -c 3000000"], outputByteLimit=100), terminal_step("wait_for_exit", terminalId="terminal-2"),
                 terminal_step("output", terminalId="terminal-2"), terminal_step("output", terminalId="terminal-2", sessionId="s2"),
                 terminal_step("create", command="touch", args=["made.txt"]), terminal_step("create", command="sleep", args=["100000"], cwd="/nowhere/at/all"),
                 terminal_step("wait_for_exit", terminalId="terminal-3"))
    call = waiting(admin, "exit 3")
    must("COLOUR='red' sh" in call["toolCall"]["input"]["command"], f"{call}")
    decide(admin, call)
    must(r.answered()[0]["result"] == {"terminalId": "terminal-1"}, f"{r.answered()}")
    must(r.answered(2)[1]["result"] == {"exitCode": 3, "signal": None}, f"{r.answered()}")
    must(r.answered(3)[2]["result"] == {"output": f"{r.project}\nsh\n", "truncated": False, "exitStatus": {"exitCode": 3, "signal": None}}, f"{r.answered(3)}")
    must(r.answered(5)[3]["result"] == {} and "no such terminal" in r.answered(5)[4]["error"]["message"], f"{r.answered(5)}")
    kept = eventually(lambda: admin.events(types="TOOL_RESULT", session=call["sessionId"]), "the result is kept")[0]["data"]
    must(kept["isError"] and "sh" in json.dumps(kept["content"]), f"{kept}")
    decide(admin, waiting(admin, "longer"))
    shown = r.answered(8)[7]["result"]
    must(shown["truncated"] and len(shown["output"]) == 100, f"{shown}")
    must("no such terminal" in r.answered(9)[8]["error"]["message"], "a terminal of another session is answered for")
    decide(admin, waiting(admin, "made.txt"), "deny", feedback="leave it")
    must("leave it" in r.answered(10)[9]["error"]["message"], f"{r.answered(10)}")
    decide(admin, waiting(admin, "100000"))
    must(r.answered(12)[11]["result"]["exitCode"] == 127, f"{r.answered(12)}")
    must(r.process.wait(PATIENCE) == 0 and not os.path.exists(os.path.join(r.project, "made.txt")), "it does not end, or ran what was denied")
    r.process.stdin.close()


def test_without_an_editor_nothing_outlives_the_relay(world):
    """kill -9 of the relay ends the command; terminal/kill does, too."""
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash"})
    r = headless(world, terminal_step("create", command="sh", args=["-c", "echo $$ > one; sleep 100000"]), terminal_step("kill", terminalId="terminal-1"),
                 terminal_step("wait_for_exit", terminalId="terminal-1"),
                 terminal_step("create", command="sh", args=["-c", "setsid sleep 100000 & echo $! > two; sleep 100000"]), terminal_step("wait_for_exit", terminalId="terminal-2"))
    must(r.answered(3)[2]["result"] == {"exitCode": None, "signal": "KILL"}, f"{r.answered(3)}")
    path = os.path.join(r.project, "two")
    pid = int(eventually(lambda: os.path.exists(path) and open(path, encoding="utf-8").read().strip(), "the command runs"))
    must(os.path.exists(f"/proc/{pid}"), "it is gone already")
    r.process.kill()
    r.process.wait(PATIENCE)
    eventually(lambda: not os.path.exists(f"/proc/{pid}"), "a command outlives the relay")
    r.process.stdin.close()


def test_without_an_editor_a_terminal_is_known_once_it_runs(world):
    """The agent guesses its id and releases it all the time while it is being made."""
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(sleep 100000)"})
    release = json.dumps({"jsonrpc": "2.0", "id": "again", "method": "terminal/release", "params": {"sessionId": "s1", "terminalId": "terminal-1"}})
    r = headless(world, {"raw": json.dumps({"jsonrpc": "2.0", "id": "made", "method": "terminal/create", "params": {"sessionId": "s1", "command": "sleep", "args": ["100000"]}})},
                 {"raw": release, "times": 5000}, terminal_step("create", command="sleep", args=["100000"]), terminal_step("release", terminalId="terminal-1"),
                 terminal_step("release", terminalId="terminal-2"), terminal_step("create", command="touch", args=["asked"]))
    call = waiting(admin, "asked")

    def sleeping():
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and runs(pid, r.project)]

    eventually(lambda: not sleeping(), lambda: f"what was released runs on: {sleeping()}")
    decide(admin, call, "deny")
    must(r.process.wait(PATIENCE) == 0, "it does not end")
    r.process.stdin.close()


def runs(pid, folder):
    """Whether the process is a sleep in the folder."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read() == b"sleep\x00100000\x00" and os.readlink(f"/proc/{pid}/cwd") == folder
    except OSError:
        return False


def test_an_agent_that_cannot_be_started(world):
    world.server()
    for agent in ("codex", "opencode"):
        must("has no box" in world.nod("--sandbox", agent, "x", exits=2).stderr, "a box is promised that is not there")
    must("cannot find" in world.nod("acp", "--sandbox", "--", "/nonexistent/agent", exits=4).stderr, "no words")
    must("cannot start" in world.nod("acp", "--", "/nonexistent/agent", exits=4).stderr, "no words")


def test_a_terminal_elsewhere_is_another_act(world):
    """The folder is part of what is asked, and an allow for one folder covers no other."""
    admin = world.server().admin()
    r = Relayed(world)
    there = {"method": "terminal/create", "params": {"command": "make clean", "cwd": "/srv/elsewhere"}}
    r.prompt(ask(kind="execute", rawInput={"command": "make clean"}), there)
    decide(admin, waiting(admin, "make clean"))
    must(r.answered()[0]["result"]["outcome"]["optionId"] == "once", f"{r.answered()}")
    call = waiting(admin, "make clean")
    shown = admin.ok("GET", f"/api/tool-calls/{call['toolCallId']}?session={call['sessionId']}")["toolCall"]
    must(shown["cwd"] == "/srv/elsewhere" and "/srv/elsewhere" in json.dumps(call), f"{call}")
    decide(admin, call, "deny")
    must(r.answered(2)[1]["error"] and not [m for m in r.lines if m.get("method") == "terminal/create"], f"{r.lines}")
    r.close()


def test_an_edit_of_a_part_does_not_cover_the_whole_file(world):
    admin = world.server().admin()
    r = Relayed(world)
    path = os.path.join(r.project, "long.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("one\ntwo\nthree\n")
    r.prompt(ask(kind="edit", content=[{"type": "diff", "path": path, "oldText": "two", "newText": "2"}]),
             {"method": "fs/write_text_file", "params": {"path": path, "content": "2"}})
    decide(admin, waiting(admin, "two"))
    call = eventually(lambda: [p for p in admin.pending() if p["toolCall"]["name"] == "Write"], lambda: f"the rest is asked about: {r.lines}")[0]
    decide(admin, call, "deny")
    must(r.answered(2)[1]["error"], f"{r.answered(2)}")
    r.close()


def test_a_terminal_runs_what_the_rules_have_read(world):
    """A variable's or program's name with signs of the shell makes another line of what the editor would start."""
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls:*)"})
    r = Relayed(world)
    terminals = [{"command": "rm", "args": ["-rf", "one"], "env": [{"name": "ls #", "value": "x"}]},
                 {"command": "ls #/../../../bin/rm", "args": ["-rf", "two"]}, {"command": "ls x/../three"}]
    unreadable = [{"command": "ls", "args": "-rf four"}, {"command": "ls", "env": {"LD_PRELOAD": "five"}}, {"command": "ls", "Args": ["six"]}]
    r.prompt(*({"method": "terminal/create", "params": one} for one in terminals + unreadable))
    for number, words in enumerate(("one", "two", "three")):
        decide(admin, waiting(admin, words), "deny")
        must(r.answered(number + 1)[number]["error"], f"{r.answered()}")
    must(all(a["error"] for a in r.answered(6)) and not [m for m in r.lines if m.get("method") == "terminal/create"], f"{r.lines}")
    r.close()


def test_an_agent_hides_no_request_behind_a_return(world):
    world.server()
    r = Relayed(world)
    hidden = '{"jsonrpc":"2.0","id":5,"method":"terminal/create","params":{"sessionId":"s1","command":"rm"}}'
    r.prompt({"raw": '{"jsonrpc":"2.0","method":"x/y","params":\r' + hidden + '\r}'}, {"raw": hidden.replace('"method"', '"Method"')})
    r.asked("x/y")
    eventually(lambda: [m for m in r.lines if "done." in json.dumps(m)], "the turn ends")
    must(not r.returns and not [m for m in r.lines if "Method" in m], f"{r.lines}")
    r.close()
