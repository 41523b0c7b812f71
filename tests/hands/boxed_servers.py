"""Programs of MCP servers in boxes of their own: what they see, keep and reach."""
import http.server
import json
import os
import threading

from servers import configure
from stage import results_in, use
from world import eventually, must

BYPASS = "bypassPermissions"
PYTHON = "/usr/bin/python3"  # in a box only the system's programs are certain to exist

# A server with one tool, `sh`, which runs a command where the server runs.
SCRIPT = r'''
import json, subprocess, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        result = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "sh", "version": "1"}}
    elif m.get("method") == "tools/list":
        result = {"tools": [{"name": "sh", "description": "runs a command", "inputSchema": {"type": "object"}}]}
    elif m.get("method") == "tools/call":
        done = subprocess.run(["/bin/sh", "-c", m["params"]["arguments"]["command"]], capture_output=True, text=True)
        result = {"content": [{"type": "text", "text": done.stdout + done.stderr}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
'''


class Web:
    """A web server on loopback that says who it is."""

    def __init__(self, words):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(words.encode())

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def script(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "served.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    return path


def run(stage, tool, command, *arguments, rules=()):
    """What the tool of a new server, under a new server of ours, says of the command."""
    model = stage.model([{"tools": [use(1, tool, command=command)]}, {"text": "done"}])
    server = stage.serve(model, "--sandbox", *arguments)
    client = server.admin()
    for rule in rules:
        client.ok("POST", "/api/policy/rules", {"rule": rule, "effect": "allow"})
    begun = stage.begin(client, permissionMode=BYPASS)
    must(begun.over()["status"] == "completed", begun.state())
    results = results_in(model.requests[-1])
    server.stop()
    return results[0]["content"] if results else ""


def test_a_program_sees_what_rules_open_and_keeps_a_home(stage):
    outside = os.path.join(stage.folder, "outside")
    path = script(os.path.join(stage.folder, "served"))
    os.makedirs(outside)
    with open(os.path.join(outside, "secret"), "w", encoding="ascii") as file:
        file.write("a secret")
    arguments = configure(stage, one={"command": PYTHON, "args": [path]})
    rules = [f"box.read(/{os.path.dirname(path)}/)", f"box.write(/{stage.folder}/kept/)"]
    text = run(stage, "mcp__one__sh", f"cat {stage.data}/admin.token; cat {outside}/secret; ls -A {stage.project}; "
               f"cat {path} | head -c 9; touch {path}; echo here > {stage.folder}/kept/x; echo remembered > ~/note; "
               "grep CapEff /proc/self/status; grep Seccomp: /proc/self/status; ls -d /proc/[0-9]* | wc -l", *arguments, rules=rules)
    must("nod_" not in text and "a secret" not in text and text.count("No such file") == 3, text)
    must("Read-only file system" in text and os.path.exists(f"{stage.folder}/kept/x"), text)
    must("CapEff:\t0000000000000000" in text and "Seccomp:\t2" in text, text)
    must(any(line.isdigit() and int(line) < 10 for line in text.splitlines()), f"it sees the processes of the machine: {text}")
    text = run(stage, "mcp__one__sh", "cat ~/note; pwd; env | grep -c _proxy", *arguments)
    must(text.splitlines()[0] == "remembered" and text.splitlines()[-1] == "0", f"its home is kept, it has no way out: {text}")


def test_a_program_reaches_the_hosts_of_its_entry(stage):
    """By the proxy in its box; Nod's log has a line for each."""
    path = script(os.path.join(stage.folder, "served"))
    listed, other = Web("from the listed"), Web("from the other")
    arguments = configure(stage, one={"command": PYTHON, "args": [path], "hosts": [f"127.0.0.1:{listed.port}"]})
    fetch = "curl -sS --noproxy '' -m 20 -x http://127.0.0.1:3128 http://127.0.0.1:"
    text = run(stage, "mcp__one__sh", f"{fetch}{listed.port}/; echo; {fetch}{other.port}/; echo; "
               f"curl -sS -m 20 --noproxy '*' http://127.0.0.1:{listed.port}/", *arguments,
               rules=[f"box.read(/{os.path.dirname(path)}/)"])
    must(text.startswith("from the listed") and "from the other" not in text and "is not in \"hosts\"" in text, text)
    must("Failed to connect" in text or "Could not connect" in text, f"it went around the proxy: {text}")
    log = stage.servers[0].log()
    must("an MCP server reaches a host" in log and "an MCP server was refused a host" in log, log)


def test_a_repository_s_program_cannot_write_to_it(stage):
    script(stage.project)
    model = stage.model([{"text": "done"}])
    client = stage.serve(model, "--sandbox", "--mcp-projects").admin()

    def agreed(command, **more):
        """What its tool says once a person has agreed to the file."""
        stage.write(".mcp.json", json.dumps({"mcpServers": {"theirs": {"command": PYTHON, "args": ["served.py"], **more}}}))
        model.script[:] = [{"text": "done"}]
        first = stage.begin(client, permissionMode=BYPASS)
        first.over()
        asked = first.answer()
        must(asked["toolCall"]["name"] == "McpServers", asked)
        model.script[:] = [{"tools": [use(1, "mcp__theirs__sh", command=command)]}, {"text": "done"}]
        second = stage.begin(client, permissionMode=BYPASS)
        must(second.over()["status"] == "completed", second.state())
        return results_in(model.requests[-1])[0]["content"]
    text = agreed("pwd; head -c 9 served.py; touch new; mkdir .claude; true")
    must(text.startswith(stage.project) and "import" in text and text.count("Read-only") == 2, text)
    must(not os.path.exists(stage.path("new")) and not os.path.exists(stage.path(".claude")), os.listdir(stage.project))
    text = agreed("touch new", box=False)
    must("no tool" in text and not os.path.exists(stage.path("new")), f"its own file let it out: {text}")


def test_the_person_s_own_entry_runs_one_without_a_box(stage):
    path = script(os.path.join(stage.folder, "served"))
    text = run(stage, "mcp__one__sh", f"ls {stage.data}", *configure(stage, one={"command": PYTHON, "args": [path], "box": False}))
    must("admin.token" in text, text)


def test_nothing_of_it_stays_when_the_server_is_killed(stage):
    path = script(os.path.join(stage.folder, "served"))
    mark = f"sleep 300.{os.getpid()}"
    model = stage.model([{"tools": [use(1, "mcp__one__sh", command=f"setsid sh -c 'exec {mark}' >/dev/null 2>&1 & echo begun")]},
                         {"tools": [use(2, "Bash", command="true")]}, {"text": "done"}])
    server = stage.serve(model, "--sandbox", *configure(stage, one={"command": PYTHON, "args": [path]}))
    client = server.admin()
    client.ok("POST", "/api/policy/rules", {"rule": f"box.read(/{os.path.dirname(path)}/)", "effect": "allow"})
    client.ok("POST", "/api/policy/rules", {"rule": "mcp__one__sh", "effect": "allow"})
    begun = stage.begin(client)
    begun.pending(1)

    def there():
        return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if mark.encode() in read(f"/proc/{pid}/cmdline").replace(b"\0", b" ")]
    must(there(), "it runs")
    server.kill()
    eventually(lambda: not there(), "what it started ends with the server")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
