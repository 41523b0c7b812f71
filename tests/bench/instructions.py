"""Instructions per request: a cost that is the same on every machine and under any load (callgrind).

Inputs of 1 KB, the mean of many requests. A server runs under callgrind, which counts each of its threads by itself.
callgrind does not know the processor's own SHA instructions: what libcrypto does is left out.

64 agents ask, so that the writer commits groups; then one asks, a person decides, the agent reports. Of one agent's
calls the loop and the writer are counted together: which of them commits depends on how quick the disk is.
"""
import glob
import os
import re
import shutil
import subprocess

from frame import Broken, section, until

REQUESTS = 100
FEW, MANY = 512, 2560  # calls of 64 agents; the difference is counted, without what it takes to sit down
# What each may cost, in thousands.
LIMITS = {"ask, 64 agents": {"loop": 45, "writer": 50}, "ask": {"both": 95}, "decide": {"both": 85},
          "report": {"both": 85, "readers": 0}}
WORDS = {"both": "loop and writer"}
THREADS = {"store_run_writer": "writer", "checkpointer_main": "checkpointer"}  # by a function that only it runs
INPUT = {"command": "cc a.c", "description": "x" * 1000}


def control(pid, *arguments):
    done = subprocess.run(["callgrind_control", *arguments, str(pid)], capture_output=True, text=True, check=False)
    if "OK" not in done.stdout:
        raise Broken(f"callgrind_control {' '.join(arguments)}: {done.stdout}{done.stderr}")


def thread_of(path, text):
    """Whose counts a file has; the first thread is the loop."""
    if path.endswith("-01"):
        return "loop"
    return next((name for function, name in THREADS.items() if function in text), "readers")


def counted(text, folder=""):
    """The instructions of one thread, without those of libcrypto; with a folder only those of its sources."""
    objects, files, current, file, of_call, total = {}, {}, None, "", False, 0
    for line in text.splitlines():
        named = re.match(r"(c?ob)=(\(\d+\))(?: (.*))?", line)
        source = re.match(r"(cfi|cfl|fl|fi|fe)=(\(\d+\))(?: (.*))?", line)
        if source:
            files.setdefault(source[2], source[3] or "")
            file = file if source[1].startswith("c") else files[source[2]]
        if named:
            objects.setdefault(named[2], named[3])
            current = objects[named[2]] if named[1] == "ob" else current
        elif line.startswith("calls="):
            of_call = True
        elif re.match(r"[0-9+*-]", line):
            if not of_call and "libcrypto" not in (current or "") and folder in file:
                total += int(line.split()[1])
            of_call = False
    return total


def count(folder, pid, act):
    """Instructions per request of each thread while `act` runs."""
    before = set(glob.glob(os.path.join(folder, "out.*")))
    control(pid, "-i", "on")
    act()
    control(pid, "-i", "off")
    control(pid, "-d")
    new = until(lambda: set(glob.glob(os.path.join(folder, "out.*-01"))) - before, "callgrind's counts")
    number = re.search(r"out\.(\d+)-01", new.pop())[1]
    parts = {"loop": 0, "writer": 0, "checkpointer": 0, "readers": 0, "notify": 0}
    for path in glob.glob(os.path.join(folder, f"out.{number}-*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        parts[thread_of(path, text)] += counted(text)
        parts["notify"] += counted(text, "/notify/")
    return parts


def per_request(parts, requests):
    found = {name: total / requests / 1000 for name, total in parts.items()}
    return {**found, "both": found["loop"] + found["writer"]}


def measure_many(server, folder):
    """What one more call costs while 64 agents ask."""
    def ask(calls):
        server.world.nod_bench("asks", "--data", server.data, "--url", server.url, "--keep", "--calls", str(calls))
    ask(FEW)
    few, many = (count(folder, server.child.pid, lambda n=n: ask(n)) for n in (FEW, MANY))
    return per_request({name: many[name] - few[name] for name in many}, MANY - FEW)


def measure_one(server, folder):
    connection, pid = server.connect(), server.child.pid
    session = server.talk("POST", "/api/sessions", {"title": "instructions"}, connection)
    calls = f"/api/threads/{session['threadId']}/tool-calls?wait=0"
    acts = {
        "ask": lambda call: server.talk("POST", calls, {"id": call, "name": "Bash", "input": INPUT}, connection),
        "decide": lambda call: server.talk("POST", f"/api/sessions/{session['id']}/approvals/{call}",
                                           {"decision": "allow_once"}, connection),
        "report": lambda call: server.talk("POST", f"/api/tool-calls/{call}/result?session={session['id']}",
                                           {"content": "ok", "isError": False}, connection),
    }
    for act in acts.values():
        act("first")
    found = {name: per_request(count(folder, pid, lambda a=act: [a(f"call_{i}") for i in range(REQUESTS)]), REQUESTS)
             for name, act in acts.items()}
    connection.close()
    return found


def count_all(world, name, environment=None, agents=False):
    """What each act costs at a server of this name; with `agents`, also a call of 64 agents."""
    folder = world.path(f"callgrind-{name}")
    os.makedirs(folder, exist_ok=True)
    counting = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "-q",
                f"--callgrind-out-file={folder}/out"]
    with world.serve(name, before=counting, environment=environment) as server:
        found = measure_one(server, folder)
        return {**found, "ask, 64 agents": measure_many(server, folder)} if agents else found


@section("instructions")
def instructions(world, report):
    if not shutil.which("callgrind_control"):
        report.left_out("instructions", "valgrind is not installed (dev/setup bench)")
        return
    found = count_all(world, "instructions", agents=True)
    for name, limits in LIMITS.items():
        for part, limit in limits.items():
            report.row(f"instructions: {name}, {WORDS.get(part, part)}", found[name][part], "k", at_most=limit)
