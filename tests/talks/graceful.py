"""SIGTERM: what was accepted is kept, what waits is let go cleanly, and the process ends with 0."""
import http.client
import os
import re
import signal
import sqlite3
import threading
import time

from world import PATIENCE, POSTGRES, Skip, Socket, eventually, must, within


def stop_with_everything_open(world, number):
    server = world.server()
    admin = server.admin(tcp=True)
    made = admin.session()
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c1")
    waiter = admin.connection()
    waiter.request("GET", "/api/tool-calls/c1?wait=60", None, admin.headers(None, None))
    stream = world.follow(admin, "?after=0")
    stream.wait(lambda: len(stream.events) >= 3, "the beginning")
    opened = Socket(admin)
    reader = threading.Thread(target=lambda: (opened.receive(), opened.sock.close()))
    reader.start()
    idle = server.raw()
    half = server.raw()
    half.sendall(b"GET /api/sess")
    kept = admin.connection()
    admin.request("GET", "/healthz", connection=kept)
    begun = time.monotonic()
    server.stop(number)
    took = time.monotonic() - begun
    must(took < within(4), f"stopping took {took:.1f} s: whoever waits is let go at once")
    stream.wait(lambda: stream.ended, "its end")
    must(stream.ended == "closed by the server" or "IncompleteRead" not in stream.ended, f"the stream was torn: {stream.ended}")
    reader.join(PATIENCE)
    must(opened.closed in (1001, 1000, 1012), f"the socket was closed with {opened.closed}")
    try:
        answer = waiter.getresponse()
        must(answer.status in (200, 503), f"the waiter got {answer.status}")
    except (OSError, http.client.HTTPException):
        pass  # cut off: it asks again
    for sock in (idle, half):
        sock.settimeout(1)
        try:
            while sock.recv(4096):
                pass
        except ConnectionError:
            pass
    must(not os.path.exists(server.socket), "the Unix socket is left behind")
    server.start()
    must([p["toolCallId"] for p in admin.pending()] == ["c1"], "the call waits again")


def test_SIGTERM(world):
    stop_with_everything_open(world, signal.SIGTERM)


def test_SIGINT(world):
    stop_with_everything_open(world, signal.SIGINT)


def test_what_was_answered_under_load_is_kept(world):
    for _ in range(3):
        server = world.servers[0].start() if world.servers else world.server()
        admin = server.admin()
        made = admin.session()
        answered, stop = [], threading.Event()

        def work(name, admin=admin, made=made, answered=answered, stop=stop):
            number = 0
            connection = admin.connection()
            while not stop.is_set():
                call = f"{name}-{number}"
                try:
                    reply = admin.request("POST", f"/api/threads/{made['threadId']}/tool-calls",
                                          {"id": call, "name": "Bash", "input": {"n": number}}, connection=connection)
                except (OSError, http.client.HTTPException):
                    return
                if reply.status == 200:
                    answered.append(call)
                number += 1
        threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(answered) > 200, "some load")  # noqa: B023
        server.stop()
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        server.start()
        known = {e["data"]["id"] for e in admin.events(session=made["id"], types="TOOL_CALL", limit=1000)}
        missing = set(answered) - known
        must(not missing, f"{len(missing)} of {len(answered)} answered calls are gone, e.g. {sorted(missing)[:3]}")
        server.stop()
    world.nod("verify")


def test_further_signals_do_no_harm(world):
    server = world.server()
    server.admin().session()
    until = time.monotonic() + PATIENCE
    while server.process.poll() is None and time.monotonic() < until:  # until its last instruction
        server.process.send_signal(signal.SIGTERM)
    must(server.process.poll() == 0, f"ends with 0, not {server.process.poll()}")


def test_a_client_that_reads_nothing_does_not_hold_it_up(world):
    server = world.server()
    admin = server.admin(tcp=True)
    made = admin.session()
    for number in range(20):
        admin.call(made["threadId"], "TodoWrite", {"todos": [{"content": "x" * 200_000}]}, id=f"c{number}")
    with server.raw() as sock:
        sock.sendall(f"GET /api/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {admin.token}\r\n\r\n".encode())
        time.sleep(0.2)
        begun = time.monotonic()
        server.stop()
        must(time.monotonic() - begun < within(10), "stopping took too long")


def catches(process, number):
    """Whether the process has a handler for the signal."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"SigCgt:\s*(\w+)", file.read()).group(1), 16) >> (number - 1) & 1


def test_a_signal_before_it_is_ready(world):
    """Another program holds the store, so the start waits for its first token; it comes back while the server ends."""
    if POSTGRES:
        raise Skip("a file of SQLite")
    server = world.server()
    server.stop()
    os.remove(os.path.join(server.data, "admin.token"))
    store = sqlite3.connect(os.path.join(server.data, "nod.db"), isolation_level=None)
    store.execute("BEGIN IMMEDIATE")
    server.start(wait=False)
    eventually(lambda: catches(server.process, signal.SIGTERM), "a handler for SIGTERM")
    server.process.send_signal(signal.SIGTERM)
    server.says("msg=stopping")
    store.execute("ROLLBACK")
    store.close()
    must(server.process.wait(PATIENCE) == 0, f"ends with 0, not {server.process.poll()}:\n{server.log()}")
    must("listening on" not in server.log(), server.log())
    server.start()
    server.stop()
