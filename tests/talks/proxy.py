"""nod mcp proxy: in front of somebody else's MCP server. The client here speaks by hand; real ones are in tests/real."""
import json
import os
import socket
import subprocess
import sys
import threading
import tomllib

from world import NOD, PATIENCE, eventually, must

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "model"))

from mcp_server import Web, heard, offer, tool  # noqa: E402

SCRIPTED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "model", "mcp_server.py")


class Proxied:
    """A client by hand, the proxy, and the scripted server behind it."""

    def __init__(self, world, name="fs", begin=True, program=None, tools=None, web=None):
        self.world = world
        self.folder = os.path.join(world.folder, f"mcp{world.number()}")
        self.project = os.path.join(world.environment["HOME"], "project")
        for folder in (self.folder, self.project):
            os.makedirs(folder, exist_ok=True)
        offer(self.folder, *(tools or [tool("echo", annotations={"readOnlyHint": True}), tool("slow"), tool("change")]))
        self.web = web and Web(self.folder, **web)
        if begin is not None:
            self.start(name, begin, program)

    def identity(self):
        run = subprocess.run([NOD, "mcp", "install"], cwd=self.project, env=self.world.environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=True)
        return json.loads(run.stdout)["args"][2]

    def start(self, name="fs", begin=True, program=None):
        behind = ["--url", self.web.url, "--header-env", "Authorization=MCP_TOKEN"] if self.web else \
            ["--", *(program or [sys.executable, SCRIPTED, self.folder])]
        self.start_entry({"command": NOD, "args": ["mcp", "proxy", "--identity", self.identity(), "--name", name, *behind]}, begin)

    def start_entry(self, entry, begin=True):
        """As a client does with an entry of its settings."""
        self.errors = open(os.path.join(self.folder, "errors"), "ab")
        self.process = subprocess.Popen([entry["command"], *entry["args"]], cwd=self.project, env={**self.world.environment, **entry.get("env", {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.lines, self.number = [], 0
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()
        if begin:
            self.send({"id": "start", "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}})
            self.answer("start")
            self.send({"method": "notifications/initialized"})

    def read(self, out):
        for line in out:
            self.lines.append(json.loads(line))

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def call(self, name, given, **meta):
        self.number += 1
        self.send({"id": self.number, "method": "tools/call", "params": {"name": name, "arguments": given, **({"_meta": meta} if meta else {})}})
        return self.number

    def answer(self, number):
        return eventually(lambda: [m for m in self.lines if m.get("id") == number and "method" not in m],
                          lambda: f"an answer to {number}: {self.lines}")[0]

    def said(self, number):
        return self.answer(number)["result"]["content"][0]["text"]

    def calls(self):
        return [m["params"] for m in heard(self.folder, "tools/call")]

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.errors.close()
        if self.web:
            self.web.close()
        with open(os.path.join(self.folder, "errors"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        must("Sanitizer" not in text and "bug:" not in text, f"it complains: {text[-3000:]}")
        return status, text


def waiting(admin, name):
    return eventually(lambda: [p for p in admin.pending() if p["toolCall"]["name"] == name], lambda: f"{name} waits: {admin.pending()}")[0]


def test_a_call_waits_and_everything_else_passes(world):
    admin = world.server().admin()
    p = Proxied(world)
    number = p.call("echo", {"text": "hello"})
    call = waiting(admin, "mcp__fs__echo")
    must(call["toolCall"]["input"] == {"text": "hello"}, f"{call}")
    must(call["preview"]["annotations"] == {"readOnlyHint": True}, f"hints are not shown: {call['preview']}")
    p.send({"id": "list", "method": "tools/list", "params": {}})
    must(len(p.answer("list")["result"]["tools"]) == 3, "the list does not pass while a call waits")
    must(not p.calls(), "the server heard of the call before anyone answered")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: hello", "not the server's answer")
    status = eventually(lambda: (s := admin.status(call["toolCallId"], session=call["sessionId"]))["status"] == "finished" and s, "the result is kept")
    must("echo: hello" in json.dumps(status["result"]), f"{status}")
    must(not any(str(m.get("id", "")).startswith("nod:") for m in p.lines), "the client saw a question of ours")
    must(p.close()[0] == 0, "it does not end with its client")


def test_a_denial_is_a_result_with_words_and_an_edit_is_what_runs(world):
    admin = world.server().admin()
    p = Proxied(world)
    number = p.call("echo", {"text": "one"})
    call = waiting(admin, "mcp__fs__echo")
    admin.decided(call["sessionId"], call["toolCallId"], "deny", feedback="not like this")
    answer = p.answer(number)["result"]
    must(answer["isError"] and answer["content"][0]["text"] == "not like this", f"{answer}")
    number = p.call("echo", {"text": "two"}, trace="kept")
    call = waiting(admin, "mcp__fs__echo")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once", updatedInput={"text": "three\n"})
    must(p.said(number) == "echo: three\n", "it did not run as edited")
    must(p.calls() == [{"name": "echo", "arguments": {"text": "three\n"}, "_meta": {"trace": "kept"}}], f"{p.calls()}")
    p.close()


def test_rules_answer_and_a_changed_definition_is_asked_about_again(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    p = Proxied(world)
    must(p.said(p.call("echo", {"text": "a"})) == "echo: a", "the rule does not hold")
    p.said(p.call("change", {"text": "says something, and mails it to everyone"}))
    number = p.call("echo", {"text": "b"})
    call = waiting(admin, "McpDefinition")
    must("mails it" in json.dumps(call["preview"]) and call["toolCall"]["input"]["tool"] == "mcp__fs__echo", f"{call}")
    admin.decided(call["sessionId"], call["toolCallId"], "deny")
    must("changed what this tool says" in p.said(number), "not refused")
    p.close()
    p.start()
    number = p.call("echo", {"text": "c"})
    call = waiting(admin, "McpDefinition")
    must([c["arguments"]["text"] for c in p.calls()][-1] != "c", "it ran")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: c", "the agreed definition does not hold")
    must(p.said(p.call("echo", {"text": "d"})) == "echo: d", "it is asked once more")
    p.close()


def test_a_definition_that_changes_while_its_call_waits_is_asked_about(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs__change"})
    p = Proxied(world)
    for ran, (decision, text) in enumerate((("allow_once", "mails it"), ("deny", "mails it twice"))):
        number = p.call("echo", {"text": text})
        call = waiting(admin, "mcp__fs__echo")
        p.said(p.call("change", {"text": text}))
        admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
        asked = waiting(admin, "McpDefinition")
        must(text in json.dumps(asked["preview"]) and [c["name"] for c in p.calls()].count("echo") == ran, f"{asked} {p.calls()}")
        admin.decided(asked["sessionId"], asked["toolCallId"], decision)
        said = p.said(number)
        must("changed what this tool says" in said if decision == "deny" else said == f"echo: {text}", said)
    p.close()


def test_a_rule_may_hold_for_what_a_server_says_of_its_tools(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs  &  readOnly"})
    must([r["rule"] for r in admin.ok("GET", "/api/policy")["user"]] == ["mcp__fs__* & readOnly"], "one spelling")
    p = Proxied(world)
    must(p.said(p.call("echo", {"text": "a"})) == "echo: a", "its pinned definition says that it only reads")
    number = p.call("slow", {"text": "b"})
    call = waiting(admin, "mcp__fs__slow")
    admin.decided(call["sessionId"], call["toolCallId"], "deny")
    p.answer(number)
    admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "mcp__* & destructive"})
    p.answer(p.call("slow", {"text": "c"}))
    must(not [c for c in admin.pending() if c["toolCall"]["name"] == "mcp__fs__slow"], "silence means the protocol's default: it may destroy")
    must(p.said(p.call("echo", {"text": "d"})) == "echo: d", "what reads destroys nothing")
    made = admin.session()
    must(admin.call(made["threadId"], "mcp__fs__echo", {"text": "e"})["status"] == "denied", "another way in: nobody knows")
    must(not any("c" in str(c["arguments"]) for c in p.calls()), f"{p.calls()}")
    p.close()


def test_a_server_of_another_command_brings_definitions_of_its_own(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    for description in ("one", "two"):
        p = Proxied(world, tools=[tool("echo", description)])
        must(p.said(p.call("echo", {"text": "a"})) == "echo: a", "asked, although it was never seen before")
        p.close()


def test_a_tool_that_is_not_offered_is_not_called(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    p = Proxied(world)
    answer = p.answer(p.call("hidden", {"text": "a"}))["result"]
    must(answer["isError"] and "does not offer" in answer["content"][0]["text"] and not p.calls(), f"{answer}")
    p.close()


def test_cancelling_takes_the_question_back_and_progress_keeps_the_client_patient(world):
    admin = world.server().admin()
    p = Proxied(world)
    number = p.call("echo", {"text": "a"}, progressToken="t")
    waiting(admin, "mcp__fs__echo")
    eventually(lambda: [m for m in p.lines if m.get("method") == "notifications/progress" and m["params"]["progressToken"] == "t"], "progress")
    p.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    eventually(lambda: not [q for q in admin.pending() if q["toolCall"]["name"] == "mcp__fs__echo"], "the question disappears")
    must(not p.calls() and not heard(p.folder, "notifications/cancelled"), "the server heard of it")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs__slow"})
    number = p.call("slow", {"text": "b"})
    eventually(lambda: p.calls(), "it is passed on")
    p.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    must(p.said(number) == "too late" and heard(p.folder, "notifications/cancelled"), "the server was not told")
    p.close()


def test_without_a_server_nothing_passes_and_a_restart_loses_nothing(world):
    server = world.server()
    admin = server.admin()
    p = Proxied(world)
    number = p.call("echo", {"text": "a"})
    call = waiting(admin, "mcp__fs__echo")
    server.kill()
    server.start()
    again = waiting(admin, "mcp__fs__echo")
    must(again["toolCallId"] == call["toolCallId"], "another question")
    admin.decided(again["sessionId"], again["toolCallId"], "allow_once")
    must(p.said(number) == "echo: a", "not answered after the restart")
    server.stop()
    must("nod serve" in p.said(p.call("echo", {"text": "b"})), "it does not say what to do")
    must(len(p.calls()) == 1, "it ran")
    p.close()


def test_a_server_that_dies_before_its_first_answer_is_waited_for(world):
    """It may have kept the question. In its place listens a program that takes the question and ends."""
    server = world.server()
    admin = server.admin()
    p = Proxied(world)
    number = p.call("echo", {"text": "a"})
    first = waiting(admin, "mcp__fs__echo")
    admin.decided(first["sessionId"], first["toolCallId"], "deny")
    p.answer(number)
    server.kill()
    os.remove(server.socket)
    with socket.socket(socket.AF_UNIX) as place:
        place.bind(server.socket)
        place.listen()
        place.settimeout(PATIENCE)
        number, taken = p.call("echo", {"text": "second"}), b""
        while b"second" not in taken:  # other questions of the proxy wait, too
            one, _ = place.accept()
            taken = one.recv(65536)
            one.close()
    server.start()
    second = waiting(admin, "mcp__fs__echo")
    admin.decided(second["sessionId"], second["toolCallId"], "allow_once")
    must(p.said(number) == "echo: second", "not answered after the restart")
    p.close()


def test_sampling_waits_too(world):
    admin = world.server().admin()
    p = Proxied(world)
    call = waiting(admin, "mcp__fs__sampling")
    must(not [m for m in p.lines if m.get("method") == "sampling/createMessage"], "it passed")
    admin.decided(call["sessionId"], call["toolCallId"], "deny", feedback="pay for your own model")
    answer = eventually(lambda: [m for m in heard(p.folder) if m.get("id") == 7], "the server is told")[0]
    must(answer["error"]["message"] == "pay for your own model", f"{answer}")
    p.close()


def test_a_call_of_several_rounds_is_asked_about_once(world):
    """The next round goes on with the call that was allowed: once, with its arguments and state, and not with those that a person edited."""
    admin = world.server().admin()
    p = Proxied(world, begin=False, tools=[tool("rounds")])
    form = {"text": "elicitation/create"}

    def decide(decision="allow_once", tool="rounds", **more):
        call = waiting(admin, f"mcp__fs__{tool}")
        admin.decided(call["sessionId"], call["toolCallId"], decision, **more)
        return call

    def go_on(given=form, **more):
        p.number += 1
        p.send({"id": p.number, "method": "tools/call", "params": {"name": "rounds", "arguments": given, **more}})
        return p.number

    def begin(given=form, **more):
        number = go_on(given)
        call = decide(**more)
        return p.answer(number)["result"], call

    began, call = begin()
    must(began["resultType"] == "input_required", f"{began}")
    answers = {"inputResponses": {"it": {"action": "accept"}}, "requestState": "begun"}
    for other in ({**answers, "requestState": "another"}, {"inputResponses": {}}, {**answers, "given": {"text": "roots/list"}}, {}):
        number = go_on(**other)
        decide("deny", feedback="asked")
        must(p.said(number) == "asked", f"{other}")
    must(p.said(go_on(**answers)) == "it went on" and not admin.pending(), "asked twice")
    results = eventually(lambda: [e["data"] for e in admin.events(session=call["sessionId"], types="TOOL_RESULT") if e["data"]["toolCallId"] == call["toolCallId"]], "the result of both rounds")
    must(len(results) == 1 and "it went on" in json.dumps(results), f"{results}")
    number = go_on(**answers)
    decide("deny", feedback="once")
    must(p.said(number) == "once", "it covers more than one")
    begin(updatedInput={"text": "roots/list"})
    number = go_on(**answers)
    decide("deny", feedback="not as edited")
    must(p.said(number) == "not as edited", "what a person has edited ran unedited")
    sampling = {"text": "sampling/createMessage"}
    number = go_on(sampling)
    decide()
    must("for you" in json.dumps(decide("deny", "sampling", feedback="my model")["toolCall"]["input"]) and p.answer(number)["result"]["isError"] and p.said(number) == "my model", f"{p.lines}")
    number = go_on(sampling, **answers)
    decide("deny", feedback="it was denied")
    must(p.said(number) == "it was denied", "a call that ended goes on")
    p.close()


def test_a_tool_does_not_share_its_rules_with_sampling(world):
    """A tool named as the server's own requests are: an allow for it would let the server use the client's model."""
    admin = world.server().admin()
    p = Proxied(world, tools=[tool("sampling"), tool("echo")])
    own = waiting(admin, "mcp__fs__sampling")
    refused = p.answer(p.call("sampling", {"text": "rows"}))
    must("sampling" in refused["error"]["message"], f"{refused}")
    asked = [q["toolCallId"] for q in admin.pending() if q["toolCall"]["name"] == "mcp__fs__sampling"]
    must(asked == [own["toolCallId"]] and not p.calls(), f"{asked}")
    p.close()


def test_what_cannot_be_read_is_not_passed_on(world):
    admin = world.server().admin()
    p = Proxied(world)
    hostile = [b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo","arguments":{}}}',
               b'{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall","params":{"name":"echo","arguments":[]}}',
               b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}', b"garbage", b"7",
               b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{}}}',
               b'{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"echo","arguments":{}}}',
               b'[{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"echo","arguments":{"text":"batched"}}}]']
    for line in hostile:
        p.send(line)
    call = waiting(admin, "mcp__fs__echo")
    must(call["toolCall"]["input"] == {"text": "batched"} and not p.calls(), f"{call}, {p.calls()}")
    p.send(b'{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\u0000"}}}')
    must(p.answer(42)["error"]["code"] == -32700, "the client waits for ever")
    p.send({"id": 41, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "the same id"}}})
    must(p.answer(41)["error"]["code"] == -32600, "a second call of an open id")
    must(len([q for q in admin.pending() if q["toolCall"]["name"] == "mcp__fs__echo"]) == 1, "it is asked about")
    must("cannot be read" in p.close()[1], "nobody is told")
    eventually(lambda: not admin.pending(), "what waited is taken back when the client leaves")


def test_more_calls_than_a_person_can_answer_are_refused(world):
    admin = world.server().admin()
    p = Proxied(world)
    numbers = [p.call("echo", {"text": str(n)}) for n in range(70)]
    refused = eventually(lambda: len(r := [m for m in p.lines if "error" in m]) >= 6 and r, lambda: f"{p.lines}")
    must(all("too many" in m["error"]["message"] for m in refused) and not p.calls(), f"{refused}")
    must(len(numbers) == 70 and len(admin.pending()) <= 65, "too many wait")
    p.close()


def test_a_server_that_dies_leaves_no_call_without_an_answer(world):
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs__die"})
    p = Proxied(world, tools=[tool("die"), tool("echo")])
    number = p.call("echo", {"text": "a"})
    waiting(admin, "mcp__fs__echo")
    dead = p.call("die", {})
    must(p.answer(dead)["error"]["code"] == -32603 and p.answer(number)["error"]["code"] == -32603, "no answer")
    must(p.process.wait(PATIENCE) == 3, "not the server's status")
    p.close()


def over_the_web(world, sse):
    admin = world.server().admin()
    world.environment["MCP_TOKEN"] = "Bearer s3cret"
    p = Proxied(world, web={"sse": sse, "token": "s3cret"})
    number = p.call("echo", {"text": "hello"})
    call = waiting(admin, "mcp__fs__echo")
    must(not p.calls(), "the server heard of the call before anyone answered")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: hello", "not the server's answer")
    number = p.call("echo", {"text": "again"})
    call = waiting(admin, "mcp__fs__echo")
    admin.decided(call["sessionId"], call["toolCallId"], "deny", feedback="enough")
    must(p.said(number) == "enough" and len(p.calls()) == 1, f"{p.calls()}")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    p.web.forget()
    must(p.answer(p.call("echo", {"text": "x"}))["error"]["code"] == -32001, "a session that is gone")
    p.close()


def test_a_server_on_the_web_that_answers_with_streams(world):
    over_the_web(world, True)


def test_a_server_on_the_web_that_answers_with_json(world):
    over_the_web(world, False)


SETTINGS = """{
  // servers of this person
  "theme": "dark",
  "mcpServers": {
    "files": { "args": ["x.mjs", "/tmp/it's"], "command": "node", "env": {"A": "b"} },
    "bare": {"command": "serve"},
    "web": {"url": "https://example.org/mcp", "oauth": {}}, /* stays */
  },
}
"""


def test_install_puts_the_proxy_in_front_and_remove_gives_the_bytes_back(world):
    world.server()
    path = os.path.join(world.folder, "mcp.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    must("would change: files" in world.nod("mcp", "install", "cursor", "--settings", path, exits=2).stderr, "not shown first")
    said = world.nod("mcp", "install", "cursor", "--settings", path, "--yes").stderr
    must("left alone: web" in said and "bare" in said, said)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    must("// servers of this person" in text and "/* stays */" in text, f"comments are lost: {text}")
    files = json.loads(text[text.index("{", text.index('"files"')):text.index("},\n    \"bare\"") + 1])
    must(files["command"] == NOD and files["args"][:2] == ["mcp", "proxy"] and files["env"] == {"A": "b"}, f"{files}")
    must(files["args"][files["args"].index("--"):] == ["--", "node", "x.mjs", "/tmp/it's"], f"{files}")
    must(os.path.exists(files["args"][3]) and '"command": "%s", "args"' % NOD in text, f"{text}")
    must("nothing to change" in world.nod("mcp", "install", "cursor", "--settings", path, "--yes").stderr, "a second time changes something")
    world.nod("mcp", "install", "cursor", "--settings", path, "--remove", "--yes")
    with open(path, encoding="utf-8") as file:
        must(file.read() == SETTINGS, "not as before")
    must("MCP clients are" in world.nod("mcp", "install", "nobody", exits=2).stderr, "an unknown client")


def test_an_address_in_the_settings_becomes_a_program_that_asks(world):
    admin = world.server().admin()
    p = Proxied(world, web={"token": "s3cret"}, begin=None)
    path = os.path.join(world.folder, "mcp.json")
    entries = {"web one": {"type": "http", "url": p.web.url, "headers": {"Authorization": "Bearer s3cret"}, "timeout": 5, "env": {"A": "b"}},
               "bare": {"httpUrl": p.web.url}, "both": {"url": p.web.url, "command": "x"}, "odd": {"url": p.web.url, "headers": {"A=B": "x"}}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": entries}, file)
    said = world.nod("mcp", "install", "cursor", "--settings", path, "--yes").stderr
    must("bare is on the web" in said and "left alone: both" in said and "left alone: odd" in said, said)
    with open(path, encoding="utf-8") as file:
        web = json.load(file)["mcpServers"]["web one"]
    must(web["env"] == {"A": "b", "MCP_HEADER_0": "Bearer s3cret"} and web["timeout"] == 5 and set(web) == {"command", "args", "env", "timeout"}, f"{web}")
    must("s3cret" not in json.dumps(web["args"]), "the secret is in the list of processes")
    p.start_entry(web)
    number = p.call("echo", {"text": "hello"})
    call = waiting(admin, "mcp__web-one__echo")
    must(not p.calls(), "the server heard of the call before anyone answered")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: hello", "not the server's answer")
    p.close()
    world.nod("mcp", "install", "cursor", "--settings", path, "--remove", "--yes")
    with open(path, encoding="utf-8") as file:
        must(json.load(file) == {"mcpServers": entries}, "not as before")


TOML = """model = "x" # of this person
[mcp_servers.files]
command = "node" # stays
args = ["x.mjs", # the first
  '/tmp/it"s']
startup_timeout_sec = 20

[mcp_servers.files.env]
command = "not this one"

[mcp_servers."bare one"]
command = '/usr/bin/server'
[mcp_servers.web]
url = 'https://example.org/mcp'
[mcp_servers.token] # with a token
bearer_token_env_var = "MCP_TOKEN" # of this person
url = "WEB"
http_headers = { "X-Colour" = 'blue "sky"', Plain = "1" } # seen
env_http_headers = {X-Team = "MCP_TEAM"}
tool_timeout_sec = 60
[mcp_servers.login]
url = "https://example.org/mcp"
scopes = ["read"]
[mcp_servers.apart]
url = "https://example.org/mcp"
[mcp_servers.apart.http_headers]
X = "y"
[mcp_servers.odd]
url = "https://example.org/mcp"
http_headers = { X = 1 }
[mcp_servers.strange]
command = \"\"\"a
b\"\"\"
[tools]
command = "nor this"
"""


def test_install_writes_settings_that_are_toml(world):
    admin = world.server().admin()
    p = Proxied(world, web={"token": "s3cret"}, begin=None)
    before = TOML.replace("WEB", p.web.url)
    path = os.path.join(world.folder, "config.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)
    said = world.nod("mcp", "install", "codex", "--settings", path, "--yes").stderr
    must(all(f"left alone: {name}, " in said for name in ("login", "apart", "odd", "strange")) and "web is on the web" in said and "token is on" not in said, said)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    args = tomllib.loads(text)["mcp_servers"]["files"]["args"]
    must(args[:2] == ["mcp", "proxy"] and args[-2:] == ["x.mjs", '/tmp/it"s'], f"{args}")
    must('command = "not this one"' in text and 'command = "nor this"' in text and "# stays\nargs = [" in text, f"{text}")
    for name, last in (("files", '"--name","files","--","node","x.mjs","/tmp/it\\"s"]\nstartup_timeout_sec = 20\n'),
                       ('"bare one"', '"--name","bare-one","--","/usr/bin/server"]\n[mcp_servers.web]')):
        section = text[text.index(f"[mcp_servers.{name}]"):]
        must(section.split("\n")[1].startswith(f'command = "{NOD}"') and last in section, f"{section}")
    token = tomllib.loads(text)["mcp_servers"]["token"]
    must(set(token) == {"command", "args", "env", "env_vars", "tool_timeout_sec"} and token["env"] == {"MCP_HEADER_0": 'blue "sky"', "MCP_HEADER_1": "1"}, f"{token}")
    must(sorted(token["env_vars"]) == ["MCP_TEAM", "MCP_TOKEN"] and "# of this person" in text and "blue" not in json.dumps(token["args"]), f"{text}")
    world.environment.update({"MCP_TOKEN": "s3cret", "MCP_TEAM": "red"})
    p.start_entry(token)
    number = p.call("echo", {"text": "hello"})
    call = waiting(admin, "mcp__token__echo")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: hello", "not the server's answer")
    p.close()
    must("nothing to change" in world.nod("mcp", "install", "codex", "--settings", path, "--yes").stderr, "a second time changes something")
    world.nod("mcp", "install", "codex", "--settings", path, "--remove", "--yes")
    with open(path, encoding="utf-8") as file:
        must(file.read() == before, "not as before")


def test_doctor_looks_at_settings_that_go_through_the_proxy(world):
    world.server()
    home = world.environment["HOME"]
    os.makedirs(os.path.join(home, ".cursor"), exist_ok=True)
    path = os.path.join(home, ".cursor/mcp.json")

    def doctor(exits=0):
        return next(line for line in world.nod("doctor", exits=exits).stdout.split("\n") if "MCP servers" in line)
    must("no client" in doctor(), "nothing is installed")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {"files": {"command": "true"}}}, file)
    must("no client" in doctor(), "a client that does not use the proxy is nobody's business")
    world.nod("mcp", "install", "cursor", "--yes")
    must("cursor (1)" in doctor() and "ok" in doctor(), doctor())
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    settings["mcpServers"]["other"] = {"command": "true"}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    must("warn" in doctor() and "cursor: other" in doctor(), doctor())
    os.unlink(settings["mcpServers"]["files"]["args"][3])
    must("bad" in doctor(1) and "no identity" in doctor(1), doctor(1))


def test_it_needs_an_identity_and_a_server(world):
    world.server()
    must("install" in world.nod("mcp", "proxy", "--name", "x", "--", "true", exits=3).stderr, "without an identity")
    must("which server" in world.nod("mcp", "proxy", exits=2).stderr, "without a program")


SLY = r"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        for name in ('sampling/createMessage', '\\u0073ampling/createMessage'):
            for key in ('method', 'm\\u0065thod'):
                print('{"jsonrpc":"2.0","id":7,"id":8,"' + key + '":"' + name + '","params":{}}')
        print('{"jsonrpc":"2.0","id":9,"result":{"text":"\\ud800"}}')
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)
"""


def test_a_server_hides_no_request_from_us(world):
    """Keys that stand twice and escaped letters: a client might read what the proxy cannot."""
    world.server()
    p = Proxied(world, program=[sys.executable, "-c", SLY])
    p.answer(9)
    must(not [m for m in p.lines if "method" in m], f"{p.lines}")
    p.close()


def test_a_message_within_a_message_is_not_heard(world):
    """Readers that end a line at a return would find the call between two of them; the scripted server is one."""
    admin = world.server().admin()
    p = Proxied(world)
    p.send(b'{"jsonrpc":"2.0","method":"notifications/x","params":\r{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo"}}\r}')
    number = p.call("echo", {"text": "after"})
    call = waiting(admin, "mcp__fs__echo")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
    must(p.said(number) == "echo: after" and len(p.calls()) == 1, f"{p.calls()}")
    must(len(heard(p.folder, "notifications/x")) == 1, "the message itself did not pass")
    p.close()


OTHER_LETTERS = r"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        print('{"jsonrpc":"2.0","id":7,"METHOD":"sampling/createMessage","Params":{}}')
        print('{"jsonrpc":"2.0","id":8,"result":{"ResultType":"input_required","InputRequests":{"it":{"method":"sampling/createMessage"}}}}')
        print('{"jsonrpc":"2.0","id":9,"result":{"resultType":"input_required","inputRequests":{"it":{"Method":"sampling/createMessage"}}}}')
        print('{"jsonrpc":"2.0","id":10,"result":{"inputRequests":{"it":{"method":"sampling/createMessage"}}}}')
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)
"""


def test_names_in_other_letters_do_not_pass(world):
    """Go's JSON takes "Method" for "method", and the last of two."""
    world.server()
    p = Proxied(world)
    hostile = ['{"jsonrpc":"2.0","id":%d,"Method":"tools/call","params":{"name":"echo"}}',
               '{"jsonrpc":"2.0","id":%d,"method":"ping","METHOD":"tools/call","params":{"name":"echo"}}',
               '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"},"param\u017f":{"name":"slow"}}',
               '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","Arguments":{"text":"unseen"}}}']
    for number, line in enumerate(hostile):
        p.send((line % (900 + number)).encode())
    p.send({"id": "last", "method": "ping"})
    refused = eventually(lambda: len(r := [m for m in p.lines if "error" in m]) >= len(hostile) and r, lambda: f"{p.lines}")
    must(all(m["error"]["code"] == -32600 for m in refused), f"{refused}")
    eventually(lambda: [m for m in heard(p.folder) if m.get("id") == "last"], "what follows passes")
    must(not [m for m in heard(p.folder) if str(m.get("id")).startswith("90")], f"{heard(p.folder)}")
    p.close()
    p = Proxied(world, program=[sys.executable, "-c", OTHER_LETTERS])
    must("not spelled as the protocol has it" in p.close()[1] and not [m for m in p.lines if "METHOD" in m or "nputRequests" in json.dumps(m)], f"{p.lines}")
