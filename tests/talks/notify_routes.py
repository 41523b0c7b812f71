"""Who is told of what, and when: filters, escalation, people who look; the log of messages; bad receivers.

Receivers that answer garbage, hang, redirect, send 10 MB or bytes without end cost bounded time and memory, and hold up
no decision.
"""
import json
import os
import re
import socket
import threading
import time

from notify import Receiver, ask
from world import eventually, must, within


def configure(world, channels, routes, **more):
    path = os.path.join(world.folder, "notify.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"channels": channels, "routes": routes, **more}, file)
    return path


def hook(receiver):
    return {"type": "webhook", "url": receiver.url}


def calls(receiver):
    return [body["data"]["requestId"] for body in receiver.bodies()]


def test_filters_and_escalation(world):
    """One route by the title of the session, one by the agent, one for risky calls only; the last is an escalation."""
    receivers = {name: Receiver() for name in ("title", "agent", "risky", "oncall")}
    now = [{"after": "0s", "to": ["x"]}]
    step = lambda name, **more: [{**now[0], "to": [name], **more}]
    admin = world.server("--notify", configure(world, {name: hook(r) for name, r in receivers.items()}, [
        {"person": "admin", "only": {"session": "deploy*"}, "steps": step("title")},
        {"person": "admin", "only": {"agent": "robot"}, "steps": step("agent")},
        {"person": "admin", "only": {"risky": True}, "steps": step("risky") + step("oncall", person="admin2")},
    ])).admin()
    robot = admin.token_for("agent", "robot")
    for client, title, call, command in ((admin, "deploy web", "c1", "make"), (admin, "tests", "c2", "rm -rf /"),
                                         (robot, "tests", "c3", "make")):
        made = client.ok("POST", "/api/sessions", {"title": title})
        client.ok("POST", f"/api/threads/{made['threadId']}/tool-calls",
                  {"id": call, "name": "Bash", "input": {"command": command}})
    wanted = {"title": ["c1"], "agent": ["c3"], "risky": ["c2"], "oncall": ["c2"]}
    told = lambda: {name: calls(receiver) for name, receiver in receivers.items()}
    eventually(lambda: told() == wanted, lambda: f"those that fit: {told()}")
    must({body["type"] for body in receivers["oncall"].bodies()} == {"approval.escalated"}, "it says that it is one")
    states = lambda: {one["state"] for one in admin.ok("GET", "/api/deliveries")["deliveries"]}
    eventually(lambda: states() == {"sent", "not needed"}, lambda: f"what does not fit is over: {states()}")
    for receiver in receivers.values():
        receiver.close()


def test_mistakes_in_routes_are_named(world):
    rows = [({"quiet": ["22-7"]}, "22:00-07:00"), ({"quiet": "x"}, "list"), ({"quiet": ["24:00-07:00"]}, "22:00-07:00"),
            ({"zone": "Europe/Nowhere"}, "tzdata"), ({"zone": "/etc/passwd"}, "Europe/Berlin"), ({"zone": "../../../etc/passwd"}, "Europe/Berlin"),
            ({"only": {"risky": "yes"}}, "risky"), ({"steps": [{"person": "bob", "to": ["hook"]}]}, "own \"person\"")]
    for change, words in rows:
        file = configure(world, {"hook": {"type": "webhook", "url": "http://127.0.0.1:1/"}},
                         [{"person": "admin", "steps": [{"to": ["hook"]}], **change}])
        said = world.nod("serve", "--listen", "127.0.0.1:0", "--data", os.path.join(world.folder, "d"), "--notify", file,
                         exits=None)
        must(words in said.stderr and "route 1" in said.stderr, f"{change}: {said.stderr}")


def test_who_looks_is_told_later(world):
    """The same call for two people, one of whom looks at it; a risky one is told of all the same."""
    looking, other = Receiver(), Receiver()
    admin = world.server("--notify", configure(world, {"looking": hook(looking), "other": hook(other)}, [
        {"person": "alice", "steps": [{"after": "3s", "to": ["looking"]}]},
        {"person": "bob", "steps": [{"after": "3s", "to": ["other"]}]}])).admin()
    alice = admin.token_for("approver", "alice, phone")
    made = admin.ok("POST", "/api/sessions", {"cwd": world.folder})
    for call, command in (("calm", "ls /tmp; make x"), ("wild", "rm -rf /")):
        admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls",
                 {"id": call, "name": "Bash", "input": {"command": command}})
    listed = {one["toolCallId"]: one for one in admin.pending()}
    seen = [{"sessionId": made["id"], "toolCallId": call} for call in ("calm", "wild")]
    alice.ok("POST", "/api/approvals/seen", {"calls": seen})
    due = {(one["person"], one["toolCallId"]): one["dueAt"] for one in admin.ok("GET", "/api/deliveries")["deliveries"]}
    risky = {call for call in ("calm", "wild") if listed[call]["risky"]}
    must(risky == {"wild"}, f"what is risky: {risky}")
    must(due["alice", "calm"] > due["bob", "calm"] and due["alice", "wild"] == due["bob", "wild"], f"{due}")
    eventually(lambda: sorted(calls(other)) == ["calm", "wild"] and calls(looking) == ["wild"], "the others")
    must(admin.post("/api/approvals/seen", {"calls": 7}).status == 400, "a list")
    for receiver in (looking, other):
        receiver.close()


class Bad:
    """A receiver that does one bad thing to everyone who comes, for as long as they stay."""

    def __init__(self, act):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.came, self.act = 0, act
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.came += 1
            threading.Thread(target=self.meet, args=(sock,), daemon=True).start()

    def meet(self, sock):
        try:
            sock.recv(65536)
            self.act(sock)
            while sock.recv(65536):
                pass
        except OSError:
            pass
        sock.close()


def flood(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def huge(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n" + b"x" * 10485760)


def headers(sock):
    while True:
        sock.sendall(b"X: " + b"y" * 60000 + b"\r\n")


BAD = {
    "garbage": lambda sock: sock.sendall(os.urandom(4096)),
    "hang": lambda sock: None,
    "redirect": lambda sock: sock.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
    "flood": flood,
    "huge": huge,
    "headers": headers,
}


def test_bad_receivers_hold_up_no_decision(world):
    world.measure_memory()
    bad = {name: Bad(act) for name, act in BAD.items()}
    server = world.server("--notify", configure(world, {name: hook(one) for name, one in bad.items()},
                                                [{"person": "admin", "steps": [{"after": "0s", "to": list(bad)}]}],
                                                lease="3s"))
    admin = server.admin()
    made = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    ask_one = lambda call: admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls",
                                    {"id": call, "name": "Frob", "input": {}})
    ask_one("first")
    eventually(lambda: all(one.came for one in bad.values()), lambda: f"each is tried: {[b.came for b in bad.values()]}")
    before = server.memory_kb("VmHWM")
    for number in range(30):
        started = time.monotonic()
        ask_one(f"c{number}")
        admin.decided(made["id"], f"c{number}", "deny")
        must(time.monotonic() - started < within(2), "a decision waits for a receiver")
    eventually(lambda: all(one["failed"] for one in admin.ok("GET", "/api/channels")["channels"]
                           if one["name"] in ("garbage", "hang", "redirect", "headers")),
               lambda: f"each fails: {admin.ok('GET', '/api/channels')}")
    after = server.memory_kb("VmHWM")
    must(after - before < 32 << 10, f"the answers of receivers are kept: from {before} to {after} KB")
    for one in bad.values():
        one.listener.close()


def test_a_wrong_secret_is_named(world):
    receiver = Receiver(*[401] * 9)
    server = world.server("--notify", configure(world, {"ops": hook(receiver)},
                                                [{"person": "admin", "steps": [{"after": "0s", "to": ["ops"]}]}]))
    admin = server.admin()
    ask(admin, "c1")
    eventually(lambda: any("refuses the secret" in one.get("lastError", "") for one in admin.ok("GET", "/api/channels")["channels"]),
               "the channel says so")
    doctor = world.nod("doctor", "--data", server.data, exits=1)
    must(re.search(r"bad +channels.*ops.*refuses the secret: status 401", doctor.stdout), doctor.stdout)
    figures = admin.get("/metrics").body.decode()
    must('nod_delivery_attempts_total{channel="ops",outcome="failed"} 1' in figures and "nod_deliveries_due 0" in figures,
         figures)
    must("failed" in world.nod("notify", "list", "--data", server.data).stdout, "the log of messages")
    receiver.close()
