"""Requests, answers and kill -9 at random moments, with two receivers of messages; then what the receivers saw is held
against the log. Used for one server (tests/talks/notify_kills.py) and for three nodes (tests/postgres/messages.py).

Broken on purpose (follow_claimed of src/notify/outbox.c: every claim wins and begins no lease) it is found: three nodes sent
405 messages more than needed for 60 requests, and 1,786 more for 500.
"""
import collections
import http.client
import json
import random
import socket
import threading
import time

from world import PATIENCE, eventually, must

CHANNELS = ("one", "two")
LEASE = "3s"
IN_FLIGHT = 64  # messages that one process claims or sends at a time; a kill may repeat so many


class Receiver:
    """Takes everything; keeps (webhook-id, type, call) in the order of arrival."""

    def __init__(self):
        self.lock, self.seen = threading.Lock(), []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as file:
            try:
                while file.readline():
                    headers = http.client.parse_headers(file)
                    body = json.loads(file.read(int(headers["Content-Length"])))
                    with self.lock:
                        self.seen.append((headers["webhook-id"], body["type"], body["data"]["requestId"]))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except (OSError, ValueError, TypeError):
                pass  # the sender was killed

    def all(self):
        with self.lock:
            return list(self.seen)


def configure(path, receivers, lease=LEASE, steps=None):
    """`steps` by person; boss is told at once on every channel otherwise."""
    channels = {name: {"type": "webhook", "url": receiver.url} for name, receiver in receivers.items()}
    steps = steps or {"boss": [{"after": "0s", "to": list(CHANNELS)}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"lease": lease, "channels": channels, "routes": [{"person": person, "steps": some} for person, some in steps.items()]}, file)


def insist(do):
    """Until a living process has taken it; each request of a test can be repeated."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return do()
        except (OSError, http.client.HTTPException):
            must(time.monotonic() < end, "no server takes it")
            time.sleep(0.01)


class Storm:
    def __init__(self, client, calls, seed):
        """`client()` is a client of some living server."""
        self.client, self.calls, self.rng = client, calls, random.Random(seed)
        self.session, self.answered = None, set()

    def ask(self, number):
        thread = self.session["threadId"]
        reply = insist(lambda: self.client().post(f"/api/threads/{thread}/tool-calls", {"id": f"c{number}", "name": "Frob", "input": {"n": number}}))
        must(reply.status in (200, 202), reply)

    def answer(self, number):
        reply = insist(lambda: self.client().post(f"/api/sessions/{self.session['id']}/approvals/c{number}", {"decision": "deny"}))
        must(reply.status in (200, 409), reply)
        self.answered.add(f"c{number}")

    def run(self):
        self.session = insist(lambda: self.client().ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}}))
        open_calls = []
        for number in range(self.calls):
            self.ask(number)
            open_calls.append(number)
            while len(open_calls) > 1 and self.rng.random() < 0.4:
                self.answer(open_calls.pop(self.rng.randrange(len(open_calls))))


def arrived(receiver, kind):
    return {call for _, what, call in receiver.all() if what == kind}


def check(storm, receivers, events, kills):
    """Every open request arrived; every answered one that arrived was withdrawn; nothing was claimed after its answer."""
    every = {f"c{n}" for n in range(storm.calls)}
    for name, receiver in receivers.items():
        eventually(lambda r=receiver: every - storm.answered <= arrived(r, "approval.requested"),
                   lambda r=receiver, n=name: f"lost on {n}: {sorted(every - storm.answered - arrived(r, 'approval.requested'))[:9]}")
        eventually(lambda r=receiver: storm.answered & arrived(r, "approval.requested") <= arrived(r, "approval.resolved"),
                   lambda r=receiver, n=name: f"not withdrawn on {n}: {sorted(storm.answered & arrived(r, 'approval.requested') - arrived(r, 'approval.resolved'))[:9]}")
        last = {}
        for _, what, call in receiver.all():
            last[call] = what
        late = [call for call in storm.answered & set(last) if last[call] != "approval.resolved"]
        must(not late, f"asked on {name} behind the withdrawal: {late[:9]}")
    purposes = {identity: what for receiver in receivers.values() for identity, what, _ in receiver.all()}
    answers = {e["data"]["toolCallId"]: int(e["seq"]) for e in events("TOOL_APPROVAL_RESPONSE")}
    for event in events("DELIVERY_CLAIMED"):
        data = event["data"]
        if purposes.get(data["deliveryId"]) == "approval.requested":
            must(int(event["seq"]) < answers.get(data["toolCallId"], 1 << 62), f"claimed after its answer: {event}")
    twice = [(name, what, call, n) for name, r in receivers.items() for (_, what, call), n in collections.Counter(r.all()).items() if n > 1]
    repeats = [sum(n - 1 for n in collections.Counter(identity for identity, _, _ in r.all()).values()) for r in receivers.values()]
    must(sum(repeats) <= kills * IN_FLIGHT, f"{sum(repeats)} repeats are not explained by {kills} kills: {twice[:5]}")
    return sum(repeats)
