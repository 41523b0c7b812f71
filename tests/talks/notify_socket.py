"""Slack's Socket Mode: presses come back over a WebSocket that Nod opens, so Nod need not be reachable.

The server here follows "Using Socket Mode" of Slack's documents (apps.connections.open, hello, disconnect, envelopes that are
confirmed by their id) and RFC 6455: a frame of a client that is not masked fails the test.
"""
import base64
import hashlib
import json
import os
import queue
import socket
import struct
import threading

from notify import ask
from notify_chats import Service, last_error, serve, status
from notify_routes import configure
from world import PATIENCE, eventually, must

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Socket:
    """One connection of a client; `heard` has its text messages, `frames` every frame as (opcode, payload)."""

    def __init__(self, sock):
        self.sock, self.file = sock, sock.makefile("rb")
        self.heard, self.frames, self.closed = queue.Queue(), queue.Queue(), threading.Event()
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.file.readline()
        self.target = head.split()[1].decode()
        fields = {line.split(b":")[0].lower(): line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")[1:] if b":" in line}
        self.key = fields[b"sec-websocket-key"]

    def shake(self, key=None):
        accept = base64.b64encode(hashlib.sha1((key or self.key) + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while True:
                first, second = self.file.read(2)
                size = second & 0x7f
                size = struct.unpack(">H", self.file.read(2))[0] if size == 126 else size
                mask = self.file.read(4) if second & 0x80 else None
                payload = bytes(b ^ mask[i % 4] for i, b in enumerate(self.file.read(size))) if mask else b"NOT MASKED"
                self.frames.put((first & 15, payload))
                if first & 15 == TEXT:
                    self.heard.put(payload.decode())
        except (OSError, ValueError):
            self.closed.set()

    def frame(self, opcode, payload, fin=0x80):
        size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack(">H", len(payload)) if len(payload) < 65536 else b"\x7f" + struct.pack(">Q", len(payload))
        self.sock.sendall(bytes([fin | opcode]) + size + payload)

    def say(self, message):
        self.frame(TEXT, json.dumps(message).encode())

    def hear(self):
        return json.loads(self.heard.get(timeout=PATIENCE))

    def cut(self):
        """Without a word; the reading thread ends, too."""
        self.sock.shutdown(socket.SHUT_RDWR)


class Slack(Service):
    """The web API, and a WebSocket for each apps.connections.open."""

    def __init__(self, token="xapp-1"):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets, self.token, self.opened = queue.Queue(), token, 0
        threading.Thread(target=self.accept, daemon=True).start()
        super().__init__(self.answer)

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
                self.sockets.put(Socket(sock))
            except OSError:
                return

    def answer(self, path, _body):
        if not path.endswith("/apps.connections.open"):
            return 200, {"ok": True, "ts": "17.1"}
        with self.lock:
            authorization = self.calls[-1][2]["Authorization"] if self.calls[-1][1] == path else ""
        if authorization != f"Bearer {self.token}":
            return 200, {"ok": False, "error": "invalid_auth"}
        self.opened += 1
        return 200, {"ok": True, "url": f"ws://127.0.0.1:{self.listener.getsockname()[1]}/link/?ticket={self.opened}&app_id=1"}

    def connected(self):
        """The next connection, after Slack's hello."""
        line = self.sockets.get(timeout=PATIENCE)
        line.shake()
        line.say({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}, "debug_info": {"host": "applink"}})
        return line


def press(envelope, value, user="U1", kind="interactive"):
    return {"envelope_id": envelope, "type": kind, "accepts_response_payload": False,
            "payload": {"type": "block_actions", "team": {"id": "T1"}, "user": {"id": user}, "actions": [{"action_id": "danger", "value": value}]}}


def start(world, service):
    app = os.path.join(world.folder, "app")
    with open(app, "w", encoding="utf-8") as file:
        file.write("xapp-1")
    return serve(world, {"type": "slack", "url": service.url, "chat": "D1"}, "xoxb-1", app={"file": app}, users=["U1"])


def button(service, number=0):
    eventually(lambda: len(service.of("/chat.postMessage")) > number, "the message")
    _, actions = service.of("/chat.postMessage")[number][3]["blocks"]
    return actions["elements"][0]["value"]


def test_slack_presses_come_over_a_socket(world):
    service = Slack()
    admin = start(world, service)
    line = service.connected()
    must(line.target == "/link/?ticket=1&app_id=1", line.target)
    ask(admin, "c1")
    token = button(service)
    line.frame(PING, b"are you there")
    must(line.frames.get(timeout=PATIENCE) == (PONG, b"are you there"), "a ping is answered, masked")
    for number, envelope in enumerate((press("e0", token, user="U2"), press("e1", "x" * 50), press("e2", token, kind="events_api"))):
        line.say(envelope)
        must(line.hear() == {"envelope_id": f"e{number}"}, "each envelope is confirmed")
    text = json.dumps({**press("e3", token), "filler": "x" * 70000}).encode()  # long, and in pieces
    must(status(admin, "c1") == "awaiting", "another user, a forged token, another kind: none decides")
    line.frame(TEXT, text[:100], fin=0)
    line.frame(PING, b"between")
    line.frame(0, text[100:])
    must(line.hear() == {"envelope_id": "e3"}, "the press is confirmed")
    eventually(lambda: status(admin, "c1") == "denied", "the press denies")
    eventually(lambda: service.of("/chat.update"), "the message is changed")
    must([b["type"] for b in service.of("/chat.update")[0][3]["blocks"]] == ["section"], "and has no buttons any more")
    line.say(press("e4", token))
    must(line.hear() == {"envelope_id": "e4"}, "a repeat is confirmed, and does no harm")


def test_slack_opens_the_next_socket_before_the_old_one_ends(world):
    service = Slack()
    admin = start(world, service)
    old = service.connected()
    ask(admin, "c1")
    token = button(service)
    old.say({"type": "disconnect", "reason": "warning", "debug_info": {"host": "applink"}})
    old.say(press("late", token))  # what is under way on the old one counts
    new = service.connected()
    must(old.hear() == {"envelope_id": "late"}, "confirmed where it came")
    eventually(lambda: status(admin, "c1") == "denied", "it counts")
    eventually(old.closed.is_set, "then the old one is closed")
    must((CLOSE, b"\x03\xe8") in list(old.frames.queue), "with a goodbye")
    new.cut()
    third = service.connected()
    third.say(press("again", token))
    must(third.hear() == {"envelope_id": "again"}, "it has connected anew")


MISBEHAVE = {
    "accept": lambda line: line.shake(b"another key"),
    "answer": lambda line: line.sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n"),
    "head": lambda line: line.sock.sendall(b"HTTP/1.1 101 x\r\n" + b"X: y\r\n" * 9999),
    "large": lambda line: (line.shake(), line.frame(TEXT, b"x" * 300000)),
    "garbage": lambda line: (line.shake(), line.sock.sendall(b"\xff" * 64)),
    "no JSON": lambda line: (line.shake(), line.frame(TEXT, b"no JSON")),
}


def test_slack_sockets_that_misbehave(world):
    """Each is named and tried again, and once Slack behaves a press counts."""
    services = {name: Slack() for name in MISBEHAVE}
    secrets = {name: os.path.join(world.folder, name) for name in ("bot", "app")}
    for name, path in secrets.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write({"bot": "xoxb-1", "app": "xapp-1"}[name])
    file = configure(world, {name: {"type": "slack", "url": service.url, "chat": "D1", "users": ["U1"], "token": {"file": secrets["bot"]}, "app": {"file": secrets["app"]}}
                             for name, service in services.items()},
                     [{"person": "boss", "only": {"tool": name}, "steps": [{"after": "0s", "to": [name]}]} for name in services])
    admin = world.server("--notify", file).admin()
    admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    errors = lambda: {one["name"]: one.get("lastError", "") for one in admin.ok("GET", "/api/channels")["channels"] if one["name"] in services}
    for name, service in services.items():
        line = service.sockets.get(timeout=PATIENCE)
        try:
            MISBEHAVE[name](line)
        except OSError:
            pass  # Nod has hung up
        eventually(lambda n=name: "WebSocket" in errors()[n], lambda n=name: f"{n}: {errors()}")
    made = admin.ok("POST", "/api/sessions", {"toolPolicies": {name: "ask" for name in services}})
    for number, (name, service) in enumerate(services.items()):
        line = service.connected()
        admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": f"c{number}", "name": name, "input": {}})
        line.say(press("e1", button(service)))
        must(line.hear() == {"envelope_id": "e1"}, f"{name}: after all of that it works")
        eventually(lambda n=number: status(admin, f"c{n}") == "denied", f"{name}: the press counts")
    eventually(lambda: not any(errors().values()), lambda: f"{errors()}")


def test_slack_with_a_wrong_app_token_is_named(world):
    service = Slack(token="xapp-2")
    admin = start(world, service)
    eventually(lambda: "app" in last_error(admin) and "invalid_auth" in last_error(admin), lambda: last_error(admin))
    must("xapp" not in last_error(admin), "the token is in the error")
