"""Our own agent's lines: runs that wait, text that is relayed, long conversations, what a cache can keep."""
import concurrent.futures
import json
import os
import statistics
import sys
import threading
import time

from frame import ROOT, Broken, resident_mb, section, until
import relay

sys.path.insert(0, os.path.join(ROOT, "tests", "model"))
from model import Model  # noqa: E402

RUNS = 1000
STREAMS = 100
REST_SECONDS = 15  # after which the server has given back what it needed for the work
LENGTHS = (10, 100, 1000)
EVENTS_PER_TURN = 4
TURNS = 10


def serve(world, name, url, *settings):
    return world.serve(name, environment={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-bench",
                                          **dict(settings)})


def make(server, number, connection=None):
    """A run in a folder of its own: one that holds the server's data is protected, and looking at it would be asked about."""
    folder = server.data + ".work"
    os.makedirs(folder, exist_ok=True)
    asked = {"prompt": f"run {number}", "cwd": folder}
    return server.talk("POST", "/api/agent-requests", asked, connection)


def begin(server, number):
    line = server.connect()
    run = make(server, number, line)
    server.talk("POST", f"/api/agent-requests/{run['id']}/execute", {}, line)
    line.close()
    return run


def use(number, name, **given):
    return {"id": f"toolu_{number}", "name": name, "input": given}


# ---- waiting ----

def resting_mb(server):
    time.sleep(REST_SECONDS)
    return resident_mb(server.child.pid)


def all_are(pool, server, runs, status):
    def one(run):
        return server.talk("GET", f"/api/agent-requests/{run['id']}")["status"] == status
    return all(pool.map(one, runs))


@section("waiting")
def waiting(world, report):
    model = Model([{"text": "I need this.", "tools": [use(1, "Bash", command="touch made")]}, {"text": "Done."}])
    with serve(world, "waiting", model.url) as server, concurrent.futures.ThreadPoolExecutor(16) as pool:
        pid = server.child.pid
        first = begin(server, 0)  # everything that is loaded once is loaded
        until(lambda: all_are(pool, server, [first], "awaiting_approval"), "the first waits")
        before = resting_mb(server)
        runs = list(pool.map(lambda n: begin(server, n), range(RUNS)))
        until(lambda: all_are(pool, server, runs, "awaiting_approval"), "all wait", 120)
        each = (resting_mb(server) - before) * 1024 / RUNS
        threads, files = (len(os.listdir(f"/proc/{pid}/{what}")) for what in ("task", "fd"))
        list(pool.map(lambda r: server.talk("POST", f"/api/sessions/{r['sessionId']}/approvals/toolu_1",
                                            {"decision": "allow_once"}), [first, *runs]))
        until(lambda: all_are(pool, server, runs, "completed"), "all are done", 120)
    model.close()
    report.machine("runs", f"{RUNS:,} waited: {threads} threads, {files} descriptors; all finished when answered")
    if threads > 16 or files > 64:
        raise Broken(f"{RUNS} waiting runs hold {threads} threads and {files} descriptors")
    report.row(f"{RUNS:,} runs that wait for an answer, memory of each", each, "KB", at_most=4, limit=" KB")


# ---- relaying ----

@section("relay")
def relaying(world, report):
    direct, relayed = relay.measure(lambda url: serve(world, "relay", url), make, STREAMS)
    wanted = STREAMS * relay.PIECES
    if len(direct) != wanted or len(relayed) != wanted:
        raise Broken(f"{wanted} pieces were sent, {len(direct)} came directly and {len(relayed)} through Nod")
    p50, p99 = statistics.median(relayed), statistics.quantiles(relayed, n=100)[98]
    plain50, plain99 = statistics.median(direct), statistics.quantiles(direct, n=100)[98]
    report.machine("relay", f"{wanted:,} pieces of text: directly p50 {plain50:.2f} ms, p99 {plain99:.2f} ms; "
                            f"through Nod {p50:.2f} and {p99:.2f} ms")
    report.row(f"a model's text relayed, {STREAMS} at once, p50 more than directly", p50 - plain50, "ms", at_most=2,
               limit=" ms")


# ---- long conversations ----

def processor_us(pid):
    """What the process has used so far, all its threads, those that have ended, too: its own clock."""
    return time.clock_gettime((~pid << 3) | 2) * 1e6


@section("turns")
def turns(world, report):
    """Every turn is one request: what the server used in between, and what it sent. Nobody asks for anything else
    meanwhile: it would be counted."""
    marks, of, asked_all = [], {}, threading.Event()

    def script(body):
        marks.append((processor_us(of["pid"]), len(json.dumps(body))))
        if len(marks) > LENGTHS[-1] // EVENTS_PER_TURN + 12:
            asked_all.set()
            return {"text": "Done."}
        return {"text": "Looking.", "tools": [use(len(marks), "Glob", pattern="*.none")]}
    model = Model(script)
    with serve(world, "turns", model.url, ("NOD_MAX_ITERATIONS", "1000")) as server:
        of["pid"] = server.child.pid
        run = begin(server, 0)
        asked_all.wait(120)  # a run that stopped to ask is found below
        state = until(lambda: (lambda s: s if s["status"] not in ("pending", "running") else None)(
            server.talk("GET", f"/api/agent-requests/{run['id']}")), "the conversation is over", 120)
        page = server.talk("GET", f"/api/events?session={run['sessionId']}&after=0&limit=1000")["events"]
    model.close()
    if state["status"] != "completed" or len(page) < LENGTHS[-1]:
        raise Broken(f"the run is {state['status']} after {len(page)} events")
    per_turn = len(page) / len([e for e in page if e["type"] == "AGENT_MESSAGE"])
    took, sent = {}, {}
    for length in LENGTHS:
        at = round(length / per_turn)
        near = range(max(at - 10, 1), at + 11)
        took[length] = statistics.median(marks[i + 1][0] - marks[i][0] for i in near)
        sent[length] = statistics.median(marks[i + 1][1] for i in near) / 1024
    report.machine("turns", "processor time of one turn: " + ", ".join(
        f"{took[n]:,.0f} us at {n:,} events ({sent[n]:.0f} KB sent)" for n in LENGTHS))
    first, last = (took[n] / sent[n] for n in (LENGTHS[0], LENGTHS[-1]))
    report.row("a turn at 1,000 events, for each KB sent; to one at 10", last, "us", first, last / first, at_most=1)


# ---- what a cache can keep ----

def blocks(body):
    """The request in the order in which it is cached: (text, whether a breakpoint is behind it)."""
    for block in [*body["tools"], *body["system"], *(b for m in body["messages"] for b in m["content"])]:
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        yield json.dumps(plain), "cache_control" in block


def marked(request):
    """How many blocks lie before its last breakpoint."""
    return max((i + 1 for i, (_, mark) in enumerate(request) if mark), default=0)


def known(before, now):
    """Bytes of `now` that lay before a breakpoint in `before`: what a cache has of it."""
    same = 0
    while same < min(marked(before), len(now)) and before[same][0] == now[same][0]:
        same += 1
    return sum(len(text) for text, _ in now[:same])


@section("cache")
def cache(world, report):
    script = [{"text": f"Step {n}.", "tools": [use(n, "Glob", pattern=f"*.{n}")]} for n in range(TURNS - 1)]
    model = Model([*script, {"text": "Done."}])
    with serve(world, "cache", model.url, ("NOD_MAX_ITERATIONS", "50")) as server:
        run = begin(server, 0)
        until(lambda: server.talk("GET", f"/api/agent-requests/{run['id']}")["status"] == "completed", "it is over", 60)
    model.close()
    if len(model.requests) != TURNS:
        raise Broken(f"{len(model.requests)} requests, not {TURNS}")
    asked = [list(blocks(request["body"])) for request in model.requests]
    whole = sum(len(text) for request in asked for text, _ in request)
    kept = sum(known(before, now) for before, now in zip(asked, asked[1:]))
    ahead = sum(len(text) for request in asked for text, _ in request[:marked(request)])
    report.machine("cache", f"{TURNS} turns, {whole:,} bytes of input: {ahead / whole:.1%} have a breakpoint behind, "
                            f"{kept / whole:.1%} had one in the request before")
    report.row(f"input of {TURNS} turns that was before a breakpoint already", kept / whole * 100, "%", at_least=80,
               limit=" %")
