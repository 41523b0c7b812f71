"""`nod hook`: the program that an agent starts for every call, beside the start of a Node that does nothing."""
import json
import os
import shutil
import statistics
import subprocess
import time

from frame import NOD, Broken, section

ROUNDS = 41
WANTED = 1 / 8


def took_ms(argv, given=b""):
    began = time.perf_counter()
    run = subprocess.run(argv, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return (time.perf_counter() - began) * 1000, run


def question(cwd, number):
    """What Claude Code writes to its PermissionRequest hook; the server's rules allow it."""
    return json.dumps({"session_id": "bench", "transcript_path": os.path.join(cwd, "t.jsonl"), "cwd": cwd,
                       "permission_mode": "default", "hook_event_name": "PermissionRequest", "tool_name": "Read",
                       "tool_input": {"file_path": os.path.join(cwd, f"{number}.c")}}).encode()


def installed(world, server):
    """The identity file of a hook, as an installation in the project makes it; and a rule that allows what is asked."""
    settings, data = os.path.join(world.folder, ".claude", "settings.json"), ["--data", server.data]
    os.makedirs(os.path.dirname(settings), exist_ok=True)
    identity = os.path.join(world.folder, "identity.json")
    subprocess.run([NOD, *data, "hook", "install", "--yes", "--settings", settings, "--identity", identity],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    subprocess.run([NOD, *data, "policy", "add", "allow", "Read"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return identity


@section("hook")
def hook(world, report):
    what = "nod hook allows a call, start to exit; to node -e 0"
    node = shutil.which("node")
    if not node:
        report.left_out(what, "node is not installed")
        return
    hooks, nodes = [], []
    with world.serve("hook") as server:
        identity = installed(world, server)
        for i in range(ROUNDS):
            ms, run = took_ms([NOD, "hook", "claude", "--identity", identity], question(world.folder, i))
            if run.returncode or b'"behavior":"allow"' not in run.stdout:
                raise Broken(f"nod hook: status {run.returncode}, {run.stdout!r}, {run.stderr!r}")
            hooks.append(ms)
            nodes.append(took_ms([node, "-e", "0"])[0])
    mine, theirs = statistics.median(hooks), statistics.median(nodes)
    report.row(what, mine, "ms", theirs, mine / theirs, at_most=WANTED)
