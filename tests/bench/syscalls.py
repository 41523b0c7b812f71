"""System calls per request, counted by strace: the same under any load but for how many calls a group holds.

64 agents ask: what the loop does for each call, and what the writer does for each group. Then one agent asks: what one
durable call takes from the socket to the answer; and it waits: what a call and its decision take until the agent has it,
while some hundred events are not in the store's lists yet. When the disk is slow (as under load) the writer commits it, and the
way there and back is 3 calls of `futex` and 2 of an eventfd; else the loop does.
"""
import collections
import glob
import os
import shutil
import signal
import subprocess

from frame import section, until
from instructions import FEW, INPUT, MANY

CALLS = 200
ROUNDS = 60  # of a call that waits for its decision; few enough that the lists are not filled meanwhile
# A group is a sync; its log is written in pieces of 64 KB, so that writes grow with its calls.
LIMITS = {
    "64 agents, loop, a call": {"read": 1.2, "writev": 1.1, "newfstatat": 0.2, "epoll_wait": 0.5, "futex": 0.5},
    "64 agents, writer, a group": {"fdatasync": 1.1, "pwrite64": 16, "fcntl": 8, "newfstatat": 1.1},
    "one agent, a call": {"fdatasync": 1.1, "pwrite64": 3, "newfstatat": 2.2, "all": 22},
    "a call, its wait and its decision": {"fdatasync": 2.5, "pwrite64": 6, "pread64": 10},
}


def threads(pid):
    return os.listdir(f"/proc/{pid}/task")


def is_traced(pid):
    def tracer(thread):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as file:
            return "TracerPid:\t0\n" not in file.read()
    return all(tracer(thread) for thread in threads(pid))


def counted(folder, pid, act):
    """Calls of each thread of the server while `act` runs: {"loop": Counter, "nod-writer": Counter, ...}."""
    names = {}
    for thread in threads(pid):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as file:
            names[thread] = "loop" if thread == str(pid) else file.read().strip()
    strace = subprocess.Popen(["strace", "-f", "-ff", "-q", "-o", os.path.join(folder, "calls"), "-p", str(pid)],
                              stderr=subprocess.DEVNULL)
    try:
        until(lambda: is_traced(pid), "strace has come")
        act()
    finally:
        strace.send_signal(signal.SIGINT)
        strace.wait(20)
    found = collections.defaultdict(collections.Counter)
    for path in glob.glob(os.path.join(folder, "calls.*")):
        name = names.get(path.rsplit(".", 1)[1], "others")
        with open(path, encoding="utf-8", errors="replace") as file:
            found[name].update(line.split("(", 1)[0].replace("pwait", "wait") for line in file
                               if "(" in line and not line.startswith("<"))
        os.remove(path)
    return found


def many(server, folder):
    """What one more call costs the loop, and one more group the writer."""
    def ask(calls):
        server.world.nod_bench("asks", "--data", server.data, "--url", server.url, "--keep", "--calls", str(calls))
    ask(FEW)
    few, much = (counted(folder, server.child.pid, lambda n=n: ask(n)) for n in (FEW, MANY))
    more = {name: collections.Counter({key: much[name][key] - few[name][key] for key in much[name]}) for name in much}
    groups = more["nod-writer"]["fdatasync"]
    loop = {key: count / (MANY - FEW) for key, count in more["loop"].items()}
    return loop, {key: count / groups for key, count in more["nod-writer"].items()}, (MANY - FEW) / groups


def one(server, folder):
    connection = server.connect()
    session = server.talk("POST", "/api/sessions", {"title": "system calls"}, connection)
    target = f"/api/threads/{session['threadId']}/tool-calls?wait=0"

    def ask(name):
        for i in range(CALLS):
            server.talk("POST", target, {"id": f"{name}_{i}", "name": "Bash", "input": INPUT}, connection)
    ask("first")
    found = counted(folder, server.child.pid, lambda: ask("second"))
    connection.close()
    total = collections.Counter()
    for name in ("loop", "nod-writer"):
        total.update(found[name])
    return {**{key: count / CALLS for key, count in total.items()}, "all": sum(total.values()) / CALLS}


def waited(server, folder):
    """A call, an agent that waits for it, the decision; with what the two of them cost who come and go."""
    def play():
        server.world.nod_bench("answer", "--data", server.data, "--url", server.url, "--rounds", str(ROUNDS))
    play()
    found = counted(folder, server.child.pid, play)
    total = collections.Counter()
    for calls in found.values():
        total.update(calls)
    return {key: count / ROUNDS for key, count in total.items()}


@section("syscalls")
def syscalls(world, report):
    if not shutil.which("strace"):
        report.left_out("system calls", "strace is not installed (dev/setup bench)")
        return
    folder = world.path("strace")
    os.makedirs(folder)
    with world.serve("syscalls") as server:
        alone, answered = one(server, folder), waited(server, folder)
        loop, writer, size = many(server, folder)
    report.machine("groups", f"{size:.1f} calls in a group under strace")
    found = dict(zip(LIMITS, (loop, writer, alone, answered)))
    for where, limits in LIMITS.items():
        for name, limit in limits.items():
            report.row(f"system calls: {where}, {name}", found[where].get(name, 0), "", at_most=limit)
