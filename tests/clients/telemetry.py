"""nod otlp, with the OpenTelemetry collector's own reader at the other end."""
import json
import os
import subprocess
import threading

from generators import go
from stage import CACHE, HERE, Stage, kept
from world import NOD, eventually, must

PDATA = "v1.40.0"
SOURCE = os.path.join(HERE, "otlp_receiver", "main.go")


class Receiver:
    """A loopback collector; `lines` is what it has read."""

    def __init__(self):
        tool, cache = go(), ["env", f"GOPATH={CACHE}/gopath", "GOTOOLCHAIN=auto", "CGO_ENABLED=0", "GOFLAGS=-mod=mod -modcacherw"]
        with open(SOURCE, encoding="utf-8") as file:
            mark = PDATA + file.read()
        folder = kept("otlp-receiver", mark, lambda folder: [
            ["cp", SOURCE, folder], [*cache, tool, "mod", "init", "receiver"], [*cache, tool, "get", f"go.opentelemetry.io/collector/pdata@{PDATA}"],
            [*cache, tool, "build", "-o", "receiver", "."]])
        self.process = subprocess.Popen([os.path.join(folder, "receiver")], stdout=subprocess.PIPE, text=True)
        self.url, self.lines = self.process.stdout.readline().strip(), []
        self.reader = threading.Thread(target=lambda: self.lines.extend(map(json.loads, self.process.stdout)), daemon=True)
        self.reader.start()

    def all(self, key, value):
        return [line for line in list(self.lines) if line.get(key) == value]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(60)
        self.process.stdout.close()


def test_calls_are_spans_and_events_are_records(world):
    receiver = Receiver()
    try:
        exported(world, receiver)
    finally:
        receiver.close()


def position(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def exported(world, receiver):
    stage = Stage(world)
    state = os.path.join(world.folder, "position")
    environment = {**world.environment, "OTLP_KEY": "s3cret"}
    admin, made = stage.admin, stage.admin.session()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls:*)"})
    command = [NOD, "otlp", receiver.url, "--state", state, "--header-env", "X-Key=OTLP_KEY"]
    sender = subprocess.Popen([*command, "--after", "0"], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        allowed = admin.call(made["threadId"], "Bash", {"command": "ls secret-name"})
        admin.ok("POST", f"/api/tool-calls/{allowed['toolCallId']}/result?session={made['id']}", {"content": "a b", "isError": False})
        asked = admin.call(made["threadId"], "Bash", {"command": "rm x"})
        admin.decided(made["id"], asked["toolCallId"], "deny", feedback="no")
        span = eventually(lambda: [s for s in receiver.all("span", "execute_tool Bash") if s["status"] == "Error"], lambda: f"{receiver.lines}")[0]
        given = span["attributes"]
        must(given["nod.decision"] == "deny" and given["nod.decided_by"] == "admin" and given["gen_ai.tool.call.id"] == asked["toolCallId"], f"{span}")
        must(given["gen_ai.operation.name"] == "execute_tool" and given["nod.wait_ms"] == span["took"] and span["service"] == "nod", f"{span}")
        child = [s for s in receiver.all("span", "nod.approval") if s["parent"] == span["id"]]
        must(len(child) == 1 and child[0]["trace"] == span["trace"], f"{child}")
        done = [s for s in receiver.all("span", "execute_tool Bash") if s["status"] == "Unset"]
        must(len(done) == 1 and done[0]["attributes"]["nod.rule"] == "Bash(ls:*)", f"{done}")
        last = eventually(lambda: receiver.all("event", "TOOL_APPROVAL_RESPONSE"), lambda: f"{receiver.lines}")[0]["attributes"]["nod.seq"]
        eventually(lambda: position(state) == last, "the position is kept")
    finally:
        sender.terminate()
        complaint = sender.communicate()[1]
    must("tried again" in complaint and "Sanitizer" not in complaint, complaint)  # it was busy at first
    call = admin.call(made["threadId"], "Bash", {"command": "ls again"})
    subprocess.run([*command, "--once", "--content"], env=environment, check=True, timeout=120)
    late = [s for s in receiver.all("span", "nod.approval") if s["attributes"]["gen_ai.tool.call.id"] == call["toolCallId"]]
    must(len(late) == 1 and "ls again" in late[0]["attributes"]["gen_ai.tool.call.arguments"], f"{late}")
    numbers = [r["attributes"]["nod.seq"] for r in receiver.lines if "event" in r]
    must(numbers == list(range(1, numbers[-1] + 1)), f"records are missing or come twice: {numbers}")
    before = [line for line in receiver.lines if "secret-name" in json.dumps(line)]
    must(not before and not [line for line in receiver.lines if "bad" in line], f"inputs were sent without being asked for: {before}")
