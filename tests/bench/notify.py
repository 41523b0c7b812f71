"""Messages and TLS: what an idle connection holds, how fast due messages leave, what a route costs a call."""
import asyncio
import json
import os
import re
import shutil
import socket
import ssl
import threading
import time

from frame import Broken, resident_mb, section, until
from instructions import count_all

IDLE = 1000
DELIVERIES = 10000
CALLERS = 8


# ---- idle connections ----

def idle_kb(server, connect):
    """Memory of each of many connections that have asked once and say nothing more."""
    first = [connect() for _ in range(50)]  # what is loaded once is loaded
    before = resident_mb(server.child.pid)
    lines = [connect() for _ in range(IDLE)]
    each = (resident_mb(server.child.pid) - before) * 1024 / IDLE
    for line in [*first, *lines]:
        line.close()
    return each


def ask_once(line):
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if b"HTTP/1.1" not in line.recv(4096):
        raise Broken("no answer")
    return line


@section("tls")
def tls(world, report):
    data = world.path("tls")
    world.nod("tls", "init", "--data", data, "--name", "nod.test")
    with world.serve("tls", data=data, environment={"NOD_LISTEN_TLS": "127.0.0.1:0"}) as server:
        port = int(until(lambda: re.search(r"with TLS on port (\d+)", world.read("tls.out")), "it listens with TLS")[1])
        context = ssl.create_default_context(cafile=os.path.join(data, "tls", "ca.pem"))
        plain = lambda: ask_once(socket.create_connection(("127.0.0.1", server.port)))
        sealed = lambda: ask_once(context.wrap_socket(socket.create_connection(("127.0.0.1", port)),
                                                      server_hostname="127.0.0.1"))
        report.row("an idle connection, memory", idle_kb(server, plain), "KB", at_most=1, limit=" KB")
        report.row("the same over TLS", idle_kb(server, sealed), "KB", at_most=16, limit=" KB")


# ---- messages ----

class Sink:
    """Takes every POST; counts them."""

    def __init__(self):
        self.taken, self.loop = 0, asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready,), daemon=True).start()
        ready.wait()

    def run(self, ready):
        async def start():
            server = await asyncio.start_server(self.meet, "127.0.0.1", 0, backlog=4096)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(start())
        self.loop.run_forever()

    async def meet(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split()[1])
            await reader.readexactly(length)
            self.taken += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def routes(world, name, channels, after):
    path = world.path(name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"channels": channels, "routes": [{"person": "admin", "steps": [{"after": after, "to": list(channels)}]}]},
                  file)
    return path


def ask_many(server, count):
    """Calls that wait, over several connections."""
    def some(number):
        line = server.connect()
        session = server.talk("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}}, line)
        for i in range(count // CALLERS):
            server.talk("POST", f"/api/threads/{session['threadId']}/tool-calls?wait=0",
                        {"id": f"c{number}_{i}", "name": "Frob", "input": {}}, line)
        line.close()
    threads = [threading.Thread(target=some, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@section("deliveries")
def deliveries(world, report):
    """All are due when the server starts: it was away while their time came."""
    sink, data = Sink(), world.path("deliveries")
    file = routes(world, "deliveries.json", {"hook": {"type": "webhook", "url": f"http://127.0.0.1:{sink.port}/"}}, "1s")
    with world.serve("deliveries", data=data) as server:
        ask_many(server, DELIVERIES)
    with world.serve("deliveries", data=data, environment={"NOD_NOTIFY": file}):
        until(lambda: sink.taken, "the first message", 60)
        began, first = time.monotonic(), sink.taken
        until(lambda: sink.taken >= DELIVERIES, f"all messages; {sink.taken}", 120)
        rate = (sink.taken - first) / (time.monotonic() - began)
    report.row(f"{DELIVERIES:,} due messages to a webhook", rate, "/s", at_least=1000, limit="/s")


@section("routes", needs={"instructions"})
def one_route(world, report):
    """What a call costs more when somebody is to be told of it in an hour."""
    if not shutil.which("callgrind_control"):
        report.left_out("routes", "valgrind is not installed (dev/setup bench)")
        return
    file = routes(world, "routes.json", {"hook": {"type": "webhook", "url": "http://127.0.0.1:1/"}}, "1h")
    without, with_one = count_all(world, "no-route"), count_all(world, "one-route", {"NOD_NOTIFY": file})
    for name in ("ask", "decide"):
        report.row(f"instructions of notify/ without a route: {name}", without[name]["notify"], "k", beside=without[name]["loop"],
                   ratio=without[name]["notify"] / without[name]["loop"], at_most=0.01)
        for part in ("loop", "writer"):
            report.row(f"instructions with a route: {name}, {part}", with_one[name][part], "k", beside=without[name][part],
                       ratio=with_one[name][part] / without[name][part], at_most=1.1)
