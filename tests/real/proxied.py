"""Real MCP clients and servers with nod mcp proxy between them: the official SDKs, the reference servers, Claude Code."""
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading

from desk import HERE, Desk, desk, installed, python_with
from others import node, replace
from world import NOD, PATIENCE, eventually, must

SDK, SERVERS, PYTHON, INSPECTOR, MODERN = "1.32.2", "2026.8.31", "2.3.0", "2.12.0", "2.4.0"
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

    def tools(self):
        self.tag += 1
        self.process.stdin.write(json.dumps({"tag": self.tag, "list": True}).encode() + b"\n")
        self.process.stdin.flush()
        return [tool["name"] for tool in self.said(self.tag)["tools"]]

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


CLIENTS = {"typescript": lambda: [node(), os.path.join(HERE, "mcp_client.mjs"), modules()],
           "python": lambda: [python(), os.path.join(HERE, "mcp_client.py")]}


def proxy(d, name, *behind):
    """As a client's settings would name it."""
    identity = json.loads(d.nod("mcp", "install").ends().out)["args"][2]
    return [NOD, "mcp", "proxy", "--identity", identity, "--name", name, *behind]


def entry(d, name="fs", which="filesystem", *more):
    return proxy(d, name, "--", node(), server(which), *more)


def modules():
    """The folder of the packages: the SDK and the reference servers."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(server("filesystem")))))


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


def check_written(d, client, path):
    """The allowed write took place, the rule lets it be read, and a second write is denied in a person's words."""
    must(d.read("made.txt") == "hello", "it was not written")
    must("hello" in json.dumps(client.said(client.call("read_text_file", path=path))), "the rule does not hold")
    wanted = client.call("write_file", path=path, content="worse")
    d.decide(d.waiting()[0], "deny", feedback="leave it as it is")
    answer = client.said(wanted)
    must(answer["isError"] and answer["content"][0]["text"] == "leave it as it is", f"{answer}")


@each
def test_a_write_is_asked_and_a_read_passes_by_a_rule(place, kind):
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs & readOnly"})
        client = Client(d, [*CLIENTS[kind](), *entry(d, "fs", "filesystem", d.project)])
        path = os.path.join(d.project, "made.txt")
        wanted = client.call("write_file", path=path, content="hello")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "mcp__fs__write_file" and "destructiveHint" in pending["preview"]["annotations"], f"{pending}")
        must(not d.has("made.txt"), "it was written before anyone answered")
        d.decide(pending)
        client.said(wanted)
        check_written(d, client, path)
        wanted = client.call("write_file", path=path, content="worse")
        d.decide(d.waiting()[0], updatedInput={"path": path, "content": "better"})
        client.said(wanted)
        must(d.read("made.txt") == "better", "it did not run as edited")
        client.close()


@contextlib.contextmanager
def listening(d, name, *behind):
    """The address of nod mcp proxy --listen in front of a program."""
    program = proxy(d, name, "--listen", "127.0.0.1:0", "--", *behind)
    with open(program[program.index("--identity") + 1], encoding="utf-8") as file:
        d.world.environment["MCP_TOKEN"] = json.load(file)["token"]
    run = d.run(program)
    yield eventually(lambda: re.search(r"http://[0-9.:]+/mcp", run.err), lambda: f"it listens: {run.err}")[0]
    run.process.terminate()
    run.ends()


@each
def test_the_reference_server_over_http(place, kind):
    """nod mcp proxy --listen in front of a program; the server is killed while a call waits."""
    with table(place) as d, listening(d, "fs", node(), server("filesystem"), d.project) as url:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs & readOnly"})
        client = Client(d, [*CLIENTS[kind](), url])
        path = os.path.join(d.project, "made.txt")
        wanted = client.call("write_file", path=path, content="hello")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "mcp__fs__write_file" and not d.has("made.txt"), f"{pending}")
        d.server.kill()
        d.server.start()
        d.decide(pending)
        client.said(wanted)
        check_written(d, client, path)
        client.close()


def test_a_changed_definition_of_the_reference_server_is_asked_again(place):
    """A copy of the server, one of whose descriptions changes between two starts."""
    with table(place) as d:
        copy = os.path.join(place.folder, "copy")
        shutil.copytree(os.path.dirname(server("filesystem")), copy)
        os.symlink(modules(), os.path.join(place.folder, "node_modules"))
        shutil.copy(os.path.join(os.path.dirname(os.path.dirname(server("filesystem"))), "package.json"), copy)
        program = proxy(d, "fs", "--", node(), os.path.join(copy, "index.js"), d.project)
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs & readOnly"})
        d.put("a.txt", "hello")
        path = os.path.join(d.project, "a.txt")
        client = Client(d, [*CLIENTS["typescript"](), *program])
        must("hello" in json.dumps(client.said(client.call("read_text_file", path=path))), "the rule does not hold")
        client.close()
        replace(os.path.join(copy, "index.js"), "Read the complete contents of a file from the file system as text", "Mail a file to everyone")
        client = Client(d, [*CLIENTS["typescript"](), *program])
        wanted = client.call("read_text_file", path=path)
        call = d.waiting()[0]
        must(call["toolCall"]["name"] == "McpDefinition" and "Mail a file" in json.dumps(call["preview"]), f"{call}")
        d.decide(call, "deny")
        must(client.said(wanted)["isError"], "it was called")
        client.close()
        client = Client(d, [*CLIENTS["typescript"](), *program])
        wanted = client.call("read_text_file", path=path)
        d.decide(d.waiting()[0])
        must("hello" in json.dumps(client.said(wanted)), "the definition that was agreed to does not hold")
        client.close()


def test_a_form_of_the_server_is_a_question(place):
    """The client shows no forms, so the server could not ask without the proxy."""
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__form"})
        program = proxy(d, "form", "--", sys.executable, os.path.join(HERE, "form_server.py"))
        client = Client(d, [*CLIENTS["typescript"](), *program])
        wanted = client.call("fill")
        call = d.waiting()[0]
        given = call["toolCall"]["input"]
        must(call["toolCall"]["name"] == "Elicitation" and given["message"] == "About you", f"{call}")
        d.decide(call, updatedInput={**given, "content": {"name": "Ann"}})
        must("Ann" in json.dumps(client.said(wanted)), "the server has not heard it")
        wanted = client.call("fill")
        d.decide(d.waiting()[0], "deny")
        must("decline" in json.dumps(client.said(wanted)), "the server has not heard of the denial")
        client.close()


def test_a_server_of_the_python_sdk(place):
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__py & readOnly"})
        client = Client(d, [*CLIENTS["typescript"](), *proxy(d, "py", "--", python(), os.path.join(HERE, "mcp_python_server.py"))])
        path = os.path.join(d.project, "made.txt")
        wanted = client.call("write", path=path, content="hello")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "mcp__py__write" and not d.has("made.txt"), f"{pending}")
        d.decide(pending)
        must(words(client.said(wanted)) == "written" and d.read("made.txt") == "hello", "it was not written")
        must(words(client.said(client.call("read", about="it"))) == "read it", "the rule does not hold")
        wanted = client.call("form", about="colours")
        d.decide(d.waiting()[0])
        form = eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == "Elicitation"], "its form is a question")[0]
        d.decide(form, updatedInput={**form["toolCall"]["input"], "content": {"colour": "red"}})
        must(words(client.said(wanted)) == "red", f"{client.answers}")
        client.close()


def test_the_inspector_as_the_client(place):
    program = installed(f"inspector-{INSPECTOR}", f"@modelcontextprotocol/inspector@{INSPECTOR}", "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    with table(place) as d:
        script, made = os.path.join(place.folder, "fs.sh"), os.path.join(d.project, "made.txt")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.join(entry(d, 'fs', 'filesystem', d.project))}\n")
        os.chmod(script, 0o755)
        run = d.run([node(22), program, "--cli", script, "--method", "tools/call", "--tool-name", "write_file", "--tool-arg", f"path={made}", "content=hello"])
        call = d.waiting()[0]
        must(call["toolCall"]["name"] == "mcp__fs__write_file" and not d.has("made.txt"), f"{call}")
        d.decide(call)
        run.ends()
        must(d.read("made.txt") == "hello" and "Successfully wrote" in run.out, f"{run.out} {run.err}")


def test_everything_passes_through_the_proxy(place):
    with table(place) as d:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__all"})
        client = Client(d, [*CLIENTS["typescript"](), *entry(d, "all", "everything")])
        must("hello" in json.dumps(client.said(client.call("echo", message="hello"))), "no echo")
        must("5" in json.dumps(client.said(client.call("get-sum", a=2, b=3))), "no sum")
        must(client.said(client.call("get-structured-content", location="New York"))["structuredContent"], "no structured content")
        client.close()
        must(all(e["data"]["verdict"]["effect"] == "allow" for e in d.events(types="TOOL_CALL")), "not by the rule")


@contextlib.contextmanager
def on_the_web(d, kind):
    """A client, the proxy, and a server of the SDK on the web."""
    web = subprocess.Popen([node(), os.path.join(HERE, "mcp_web_server.mjs"), modules(), kind], stdout=subprocess.PIPE, text=True)
    client = None
    try:
        url = web.stdout.readline().strip()
        client = Client(d, [*CLIENTS["typescript"](), *proxy(d, "web", "--url", url)])
        yield client
    finally:
        if client:
            client.close()
        web.kill()
        web.wait()
        web.stdout.close()


def words(result):
    return result["content"][0]["text"]


def test_a_server_of_the_older_transport(place):
    """HTTP+SSE, which the proxy finds out by itself."""
    with table(place) as d, on_the_web(d, "sse") as client:
        wanted = client.call("count")
        d.decide(d.waiting()[0], "deny", feedback="not yet")
        must(words(client.said(wanted)) == "not yet", "the denial is not heard")
        wanted = client.call("count")
        d.decide(d.waiting()[0])
        must(words(client.said(wanted)) == "call 1", "it ran while nobody had allowed it, or twice")


def test_an_answer_that_breaks_off_is_asked_for_again(place):
    """And what the server says by itself is heard: a tool that it offers later can be called."""
    with table(place) as d, on_the_web(d, "stream") as client:
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__web"})
        must(words(client.said(client.call("cut"))) == "cut 1", "the answer is lost")
        must(words(client.said(client.call("count"))) == "call 2", "the call was posted twice")
        eventually(lambda: client.said(client.call("add")) and words(client.said(client.call("late"))) == "late", "the new tool")


def modern(kind, *more):
    """The SDK of the revision without a handshake (2026-07-28): its client, or a server of it."""
    path = installed(f"mcp-modern-{MODERN}", f"@modelcontextprotocol/client@{MODERN} @modelcontextprotocol/server@{MODERN}", "@modelcontextprotocol/server/package.json")
    return [node(), os.path.join(HERE, "mcp_modern.mjs"), os.path.dirname(os.path.dirname(os.path.dirname(path))), kind, *more]


def without_a_handshake(d, client):
    """A write is asked about, a read passes by a rule; a call in several rounds is asked about once, and for the client's model."""
    d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__new & readOnly"})
    path = os.path.join(d.project, "größe.txt")
    must(client.tools() == ["write", "read", "form", "think"], "not its tools")
    wanted = client.call("write", path=path, content="bad")
    d.decide(d.waiting()[0], "deny", feedback="not this one")
    refused = client.said(wanted)
    must(refused["isError"] and words(refused) == "not this one" and not os.path.exists(path), f"{refused}")
    wanted = client.call("write", path=path, content="good")
    d.decide(d.waiting()[0], updatedInput={"path": path, "content": "better"})
    must(words(client.said(wanted)) == "written" and d.read("größe.txt") == "better", "not as edited")
    must(words(client.said(client.call("read", about="it"))) == "read it", "the rule does not hold")
    wanted = client.call("form", about="colours")
    d.decide(d.waiting()[0])
    must(words(client.said(wanted)) == "red" and not d.admin.pending(), f"asked twice: {d.admin.pending()}")
    for decision, heard in (("deny", "leave my model alone"), ("allow_once", "thought")):
        wanted = client.call("think", about="life")
        call = d.waiting()[0]
        d.decide(call)
        model = eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == "mcp__new__sampling"], lambda: f"the model is asked for: {client.answers}")[0]
        must("Think." in json.dumps(model["toolCall"]["input"]), f"{model}")
        d.decide(model, decision, feedback="leave my model alone")
        must(heard in words(client.said(wanted)), f"{client.answers}")
    client.close()


def test_without_a_handshake_a_program(place):
    with table(place) as d:
        without_a_handshake(d, Client(d, modern("client", *proxy(d, "new", "--", *modern("server")))))


def test_without_a_handshake_over_http(place):
    with table(place) as d, listening(d, "new", *modern("server")) as url:
        without_a_handshake(d, Client(d, modern("client", url)))


def test_without_a_handshake_a_server_on_the_web(place):
    """Its headers repeat what the message says, also an argument that the definition of the tool marks."""
    with table(place) as d, subprocess.Popen(modern("web"), stdout=subprocess.PIPE, text=True) as web:
        try:
            without_a_handshake(d, Client(d, modern("client", *proxy(d, "new", "--url", web.stdout.readline().strip()))))
        finally:
            web.kill()


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
