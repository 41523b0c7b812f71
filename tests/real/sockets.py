"""Python's `websockets` on both sockets, with the token as a subprotocol (as a page must send it)."""
import json
import os
import subprocess
import sys

import desk  # noqa: F401: finds the world
import world
from model import Model

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sockets_client.py")


def python():
    """One that has the library: the one that runs this, or Debian's own."""
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import websockets"], capture_output=True, check=False).returncode == 0:
            return program
    raise world.Skip("python3-websockets is not installed")


def client(server, *arguments):
    run = subprocess.run([python(), SCRIPT, f"ws://127.0.0.1:{server.port}", server.admin_token, *arguments],
                         capture_output=True, text=True, timeout=world.PATIENCE * 3, check=False)
    world.must(run.returncode == 0, run.stderr[-2000:])
    return json.loads(run.stdout)


def test_both_sockets_from_python(w):
    with_model = Model([["I look.", ("Bash", {"command": "echo hi"}, "toolu_1")], ["Done."]])
    try:
        w.environment.update({"ANTHROPIC_BASE_URL": with_model.url, "ANTHROPIC_API_KEY": "sk-x"})
        server = w.server()
        events = client(server, "events")
        world.must(events["protocol"] == "nod" and events["told"][0] == {"type": "subscribed", "id": 1}, events)
        asked = client(server, "ask", w.folder)
        request = asked["told"][-1]
        world.must(asked["protocol"] == "nod" and request["type"] == "tool_approval_request", asked)
        server.kill()
        server.start()
        ended = client(server, "answer", request["session_id"], request["request_id"])
        world.must(ended["told"][-1]["subtype"] == "success", ended)
        world.must(any(m.get("subtype") == "tool_result" and m["content"]["content"] == "hi\n" for m in ended["told"]), ended)
    finally:
        with_model.close()
