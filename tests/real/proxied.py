"""Real MCP clients and servers with nod mcp proxy between them: the official SDKs, the reference servers, Claude Code."""
import contextlib
import json
import os
import subprocess
import threading

from desk import HERE, Desk, desk, installed, python_with
from others import node
from world import NOD, PATIENCE, eventually, must

SDK, SERVERS, PYTHON = "1.32.2", "2026.8.31", "2.3.0"
PACKAGES = f"@modelcontextprotocol/sdk@{SDK} @modelcontextprotocol/server-filesystem@{SERVERS} @modelcontextprotocol/server-everything@{SERVERS}"


def server(name):
    return installed(f"mcp-{SDK}", PACKAGES, f"@modelcontextprotocol/server-{name}/dist/index.js")


def python():
    return python_with(f"mcp=={PYTHON}")


class Nothing:
    """A model that nobody asks."""
    requests = ()

    def said(self):
        return ""

    def close(self):
        pass


class Client:
    """A program of an SDK that calls what it is told to."""

    def __init__(self, d, command):
        self.errors = open(os.path.join(d.world.folder, f"client.{d.world.number()}"), "w+b")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=d.project, env=d.world.environment)
        self.answers, self.tag = {}, 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            self.answers[said["tag"]] = said

    def call(self, name, **given):
        self.tag += 1
        self.process.stdin.write(json.dumps({"tag": self.tag, "name": name, "arguments": given}).encode() + b"\n")
        self.process.stdin.flush()
        return self.tag

    def said(self, tag):
        answer = eventually(lambda: self.answers.get(tag), lambda: f"an answer to {tag}: {self.answers}, {self.complaint()}")
        must("result" in answer, f"{answer}")
        return answer["result"]

    def complaint(self):
        with open(self.errors.name, "rb") as file:
            return file.read().decode("utf-8", "replace")[-1500:]

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join(60)
        self.process.stdout.close()
        self.errors.close()


CLIENTS = {"typescript": lambda: [node(), os.path.join(HERE, "mcp_client.mjs"), os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(server("filesystem")))))],
           "python": lambda: [python(), os.path.join(HERE, "mcp_client.py")]}


def entry(d, name="fs", which="filesystem", *more):
    """The proxy in front of a reference server, as a client's settings would name it."""
    identity = json.loads(d.nod("mcp", "install").ends().out)["args"][2]
    return [NOD, "mcp", "proxy", "--identity", identity, "--name", name, "--", node(), server(which), *more]


@contextlib.contextmanager
def table(place):
    d = Desk(place, Nothing())
    try:
        yield d
    finally:
        d.close()


def each(test):
    for name in CLIENTS:
        def one(place, name=name):
            test(place, name)
        one.__name__ = test.__name__.replace("test_", f"test_{name}_", 1)
        globals()[one.__name__] = one


@each
def test_a_write_is_asked_and_a_read_passes_by_a_rule(place, kind):
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs__read_text_file"})
        client = Client(d, [*CLIENTS[kind](), *entry(d, "fs", "filesystem", d.project)])
        path = os.path.join(d.project, "made.txt")
        wanted = client.call("write_file", path=path, content="hello")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "mcp__fs__write_file" and "destructiveHint" in pending["preview"]["annotations"], f"{pending}")
        must(not d.has("made.txt"), "it was written before anyone answered")
        d.decide(pending)
        client.said(wanted)
        must(d.read("made.txt") == "hello", "it was not written")
        must("hello" in json.dumps(client.said(client.call("read_text_file", path=path))), "the rule does not hold")
        wanted = client.call("write_file", path=path, content="worse")
        d.decide(d.waiting()[0], "deny", feedback="leave it as it is")
        answer = client.said(wanted)
        must(answer["isError"] and answer["content"][0]["text"] == "leave it as it is", f"{answer}")
        wanted = client.call("write_file", path=path, content="worse")
        d.decide(d.waiting()[0], updatedInput={"path": path, "content": "better"})
        client.said(wanted)
        must(d.read("made.txt") == "better", "it did not run as edited")
        client.close()


def test_everything_passes_through_the_proxy(place):
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__all"})
        client = Client(d, [*CLIENTS["typescript"](), *entry(d, "all", "everything")])
        must("hello" in json.dumps(client.said(client.call("echo", message="hello"))), "no echo")
        must("5" in json.dumps(client.said(client.call("get-sum", a=2, b=3))), "no sum")
        must(client.said(client.call("get-structured-content", location="New York"))["structuredContent"], "no structured content")
        client.close()
        must(all(e["data"]["verdict"]["effect"] == "allow" for e in d.events(types="TOOL_CALL")), "not by the rule")


def test_claude_code_as_the_client(place):
    with desk(place, []) as d:
        made = os.path.join(d.project, "made.txt")
        d.model.script += [("mcp__fs__write_file", {"path": made, "content": "hello"}), ("mcp__fs__write_file", {"path": made, "content": "again"})]
        program = entry(d, "fs", "filesystem", d.project)
        run = d.claude("-p", "go", "--allowedTools", "mcp__fs", "--strict-mcp-config", "--mcp-config",
                       json.dumps({"mcpServers": {"fs": {"command": program[0], "args": program[1:]}}}))
        first = d.waiting()[0]
        must(first["toolCall"]["name"] == "mcp__fs__write_file" and not d.has("made.txt"), f"{first}")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"the second: {d.told()}")[0]
        d.decide(second, "deny", feedback="once is enough")
        run.ends()
        must(d.read("made.txt") == "hello" and "once is enough" in d.model.said(), f"not as decided: {d.told()}")
