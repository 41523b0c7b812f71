"""The server's lines: calls and answers, starting, long histories, streams."""
import contextlib
import glob
import json
import os
import platform
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import time

from frame import ATTEMPTS, NOD, Broken, resident_mb, section, stop, until


# ---- the machine ----

@section("machine")
def machine(world, report):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    place = subprocess.run(["findmnt", "-no", "FSTYPE,SOURCE", "-T", world.folder], capture_output=True, text=True)
    report.machine("machine", f"{os.cpu_count()} x {model[1] if model else platform.machine()}, "
                              f"Linux {platform.release()}, load {os.getloadavg()[0]:.1f} at the start")
    out = json.loads(world.nod_bench("disk", "--data", world.path("disk"), "--time", "2s", "--json"))
    disk = {f["name"]: f["value"] for f in out["figures"]}
    report.machine("disk", f"{' '.join(place.stdout.split()) or '?'}: append 1 KB + fdatasync "
                           f"{disk['perSecond']:,.0f}/s, p50 {disk['p50']:.0f} us, p99 {disk['p99']:.0f} us")


# ---- calls and answers ----

def kept(data):
    """What the database itself says, read without Nod."""
    db = sqlite3.connect(f"file:{os.path.join(data, 'nod.db')}?mode=ro", uri=True)
    with contextlib.closing(db):
        one = lambda sql: db.execute(sql).fetchone()[0]
        return (one("SELECT count(*) FROM events WHERE kind = 3"), one("SELECT count(*) FROM events WHERE kind = 4"),
                one("SELECT count(*) FROM open_now"))


@section("gate")
def gate(world, report):
    with world.serve("gate") as server:
        acknowledged = 0
        for _ in range(ATTEMPTS):
            out = world.nod_bench("gate", "--data", server.data, "--url", server.url, "--json", "--keep",
                            "--time", "3s", "--calls", "1000000", "--repeat", "3")
            figures = {f["name"]: f for f in json.loads(out)["figures"]}
            acknowledged += int(figures["acknowledged"]["value"])
            if not figures["perSecond"]["noisy"]:
                break
    found = kept(server.data)
    if any(count != acknowledged for count in found):
        raise Broken(f"{acknowledged} calls acknowledged; calls, requests and open approvals kept: {found}")
    rate, ping, p99 = figures["perSecond"], figures["toPing"], figures["p99"]
    noisy = rate["noisy"]
    report.machine("calls", f"{acknowledged:,} acknowledged; as many calls, requests, open approvals in the database")
    report.row("durable calls, 64 agents; to append + fdatasync", rate["value"], "/s", rate["beside"], rate["ratio"],
               at_least=6, noisy=noisy)
    report.row("  to an empty POST", ping["value"], "/s", ping["beside"], ping["ratio"], at_least=0.25, noisy=noisy)
    report.row("  p99 of a call; to its p50", p99["value"] / 1000, "ms", p99["beside"] / 1000, p99["ratio"],
               at_most=20, noisy=noisy)
    unsynced(world, report, rate["value"])


def unsynced(world, report, rate):
    """How much of the rate is left of what the same program does when its syncs return at once: what no disk can better."""
    library = next(iter(glob.glob("/usr/lib/*/libeatmydata.so")), None)
    if not library:
        report.left_out("64 agents; to the same without any sync", "libeatmydata1 is not installed (dev/setup bench)")
        return
    with world.serve("unsynced", environment={"LD_PRELOAD": library}) as server:
        out = world.nod_bench("gate", "--data", server.data, "--url", server.url, "--json", "--keep",
                              "--time", "3s", "--calls", "1000000", "--repeat", "3")
        figures = {f["name"]: f for f in json.loads(out)["figures"]}
    most = figures["perSecond"]["value"]
    report.row("  to the same without any sync", rate, "/s", most, rate / most)


@section("one")
def one(world, report):
    with world.serve("one") as server:
        figure = server.bench("one", "--rounds", "1000", "--keep")["one.p50"]
    report.row("durable call, one agent, p50; to append + fdatasync p50", figure["value"], "us", figure["beside"],
               figure["ratio"], at_most=1.7, noisy=figure["noisy"])


@section("answer")
def answer(world, report):
    with world.serve("answer") as server:
        figures = server.bench("answer", "--rounds", "500")
    figure, rested = figures["answer.p50"], figures["answer.rested"]
    report.row("decision until the waiting agent has it, p50; likewise", figure["value"], "us", figure["beside"],
               figure["ratio"], at_most=2, noisy=figure["noisy"])
    report.row("  to append + fdatasync after a rest as long", rested["value"], "us", rested["beside"], rested["ratio"],
               at_most=1.6, noisy=figure["noisy"])


# ---- long histories: 1,000,000 events, with --full 10,000,000, too ----

FEW_EVENTS = 10000


@section("stores")
def stores(world, _report):
    """Made before they are needed: what the disk still writes of them later would slow down others."""
    for events in (FEW_EVENTS, *world.histories):
        world.store(events)
    os.sync()


# ---- starting ----

STARTS = 9


def ready_at(path, end):
    """Asks /readyz over the Unix socket, as soon as there is one."""
    while time.monotonic() < end:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
                client.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if b" 200 " in client.recv(4096):
                    return time.perf_counter_ns()
            except (FileNotFoundError, ConnectionError):
                pass
        time.sleep(0.0002)
    raise Broken("a server was not ready in 30 s")


def start_once(data, rest=0):
    """Milliseconds from exec to 200 at /readyz, and the memory after a rest."""
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    began = time.perf_counter_ns()
    pid = os.posix_spawn(NOD, [NOD, "serve", "--data", data, "--listen", "127.0.0.1:0"], os.environ, file_actions=null)
    try:
        took = (ready_at(os.path.join(data, "nod.sock"), time.monotonic() + 30) - began) / 1e6
        time.sleep(rest)
        return took, resident_mb(pid)
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


@section("start", needs=["stores"])
def start(world, report):
    empty, full = world.path("start-empty"), {events: world.store(events) for events in world.histories}
    for data in (empty, *full.values()):
        start_once(data)  # the first start makes a token, and what nobody has read lately is read
    first, again, long = [], [], {events: [] for events in full}
    for i in range(STARTS):
        first.append(start_once(world.path(f"start-{i}"), rest=0.3))
        again.append(start_once(empty)[0])
        for events, data in full.items():
            long[events].append(start_once(data)[0])
    report.row("idle server, resident memory", statistics.median(m for _, m in first), "MB", at_most=8, limit=" MB")
    report.row("first start until ready", statistics.median(t for t, _ in first), "ms", at_most=10, limit=" ms")
    report.row("  the quickest of them", min(t for t, _ in first), "ms")
    again = statistics.median(again)
    for events, took in long.items():
        took = statistics.median(took)
        report.row(f"start with {events:,} events; to the start with none", took, "ms", again, took / again, at_most=2)


# ---- what waits ----

def pending_ms(connection, token):
    connection.request("GET", "/api/approvals/pending", headers={"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    body = reply.read()
    timing = re.search(r"total;dur=([0-9.]+)", reply.headers.get("Server-Timing", ""))
    if reply.status != 200 or not timing:
        raise Broken(f"pending: status {reply.status}, Server-Timing {reply.headers.get('Server-Timing')}")
    return float(timing[1]), body


@section("pending", needs=["stores"])
def pending(world, report):
    stores = {events: world.store(events) for events in (FEW_EVENTS, *world.histories)}
    took = {events: [] for events in stores}
    with contextlib.ExitStack() as stack:
        servers = {e: stack.enter_context(world.serve(f"pending-{e}", data)) for e, data in stores.items()}
        lines = {e: (s.connect(), s.token()) for e, s in servers.items()}
        for e, line in lines.items():
            count = len(json.loads(pending_ms(*line)[1])["pendingApprovals"])
            if count != 100:
                raise Broken(f"{count} calls are pending, not 100")
        for i in range(400):
            for e, line in lines.items():
                ms = pending_ms(*line)[0]
                if i >= 20:
                    took[e].append(ms)
    short = statistics.median(took.pop(FEW_EVENTS))
    for events, of_it in took.items():
        long = statistics.median(of_it)
        report.row(f"100 pending of {events:,} events; to 100 of 10,000", long, "ms", short, long / short, at_most=1.5)
        report.row("  in the server", long, "ms", at_most=0.2, limit=" ms")


# ---- streams ----

NGINX = """
load_module {module};
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 15000;
pid {folder}/pid;
error_log {folder}/error.log warn;
events {{ worker_connections 15000; }}
http {{
    access_log off;
    nchan_shared_memory_size 64M;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        keepalive_timeout 600s;
        keepalive_requests 1000000;
        location = /sub {{
            nchan_subscriber eventsource;
            nchan_channel_id bench;
            nchan_subscriber_first_message newest;
        }}
        location = /pub {{
            nchan_publisher;
            nchan_channel_id bench;
        }}
    }}
}}
"""
NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"


@contextlib.contextmanager
def nchan(world):
    """The address of an nginx of our own with one worker."""
    folder = world.path("nginx")
    os.mkdir(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = "user root;" if os.getuid() == 0 else ""
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as file:
        file.write(NGINX.format(module=NCHAN, folder=folder, port=port, user=user))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    child = world.spawn([program, "-p", folder, "-c", os.path.join(folder, "nginx.conf")], "nginx")

    def answers():
        if child.poll() is not None:
            raise Broken(f"nginx ended: {world.read('nginx.err')[-400:]}")
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0
    until(answers, "nginx answers")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(child)


@section("streams")
def streams(world, report):
    have_nchan = os.path.exists(NCHAN)
    with contextlib.ExitStack() as stack:
        options = ["--against", stack.enter_context(nchan(world))] if have_nchan else []
        server = stack.enter_context(world.serve("streams"))
        figures = server.bench("streams", "--streams", "10000", "--repeat", "7", *options)
    memory, last = figures["streams.memory"], figures["streams.last"]
    report.row("10,000 idle streams, memory of each", memory["value"], "B", at_most=512, limit=" B")
    if have_nchan:
        report.row("one event to the last of 10,000; to nginx + nchan", last["value"], "ms", last["beside"],
                   last["ratio"], at_most=0.5)
    else:
        report.missing("one event to the last of 10,000; to nginx + nchan", "nginx with nchan is not installed")
