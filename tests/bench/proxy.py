"""`nod mcp proxy`: what it adds to a call that a rule allows, beside the least that keeping it can cost."""
import json
import os
import statistics
import subprocess
import sys
import time

from frame import NOD, Broken, section

CALLS = 1000
WANTED = 3
SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}}
    if m["method"] == "tools/list":
        result = {"tools": [{"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}]}
    if m["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": m["params"]["arguments"]["text"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


class Client:
    """The least that an MCP client can be."""

    def __init__(self, argv, cwd):
        self.process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.count = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count:
                return answer["result"]
        raise Broken("the MCP server is gone")

    def call_us(self, number):
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": "echo", "arguments": {"text": f"call {number}"}})
        took = (time.perf_counter() - began) * 1e6
        if result.get("isError") or result["content"][0]["text"] != f"call {number}":
            raise Broken(f"the call was not answered: {result}")
        return took

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def append_us(file):
    began = time.perf_counter()
    os.write(file, b"x" * 1024)
    os.fdatasync(file)
    return (time.perf_counter() - began) * 1e6


@section("proxy")
def proxy(world, report):
    program, identity = world.path("mcp_server.py"), world.path("proxy.json")
    with open(program, "w", encoding="ascii") as file:
        file.write(SERVER)
    file = os.open(world.path("proxy.yardstick"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    direct, through, disk = [], [], []
    with world.serve("proxy") as server:
        data = ["--data", server.data]
        for words in (["mcp", "install", "--identity", identity], ["policy", "add", "allow", "mcp__bench__echo"]):
            subprocess.run([NOD, *data, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=world.folder)
        plain = Client([sys.executable, program], world.folder)
        gated = Client([NOD, "mcp", "proxy", "--identity", identity, "--name", "bench", "--", sys.executable, program], world.folder)
        for number in range(CALLS):
            direct.append(plain.call_us(number))
            through.append(gated.call_us(number))
            disk.append(append_us(file))
        plain.close()
        gated.close()
    os.close(file)
    added, yardstick = statistics.median(through) - statistics.median(direct), statistics.median(disk)
    report.row("nod mcp proxy adds to a call that a rule allows; to append + fdatasync", added, "us", yardstick, added / yardstick, at_most=WANTED)
