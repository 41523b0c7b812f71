"""What a test sees of Nod: the program, its sockets, its files. Standard library only.

Nothing here knows how Nod is made. A World belongs to one test: it has its own folder, starts servers and
commands in it, and when the test is over it stops them and looks whether any of them died or complained.
"""
import base64
import contextlib
import hashlib
import http.client
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOD = os.path.abspath(os.environ.get("NOD", os.path.join(ROOT, "build", "nod")))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nod-tests")  # what registries gave, for every clone
PATIENCE = float(os.environ.get("NOD_PATIENCE", "180"))  # seconds until something that must come is missing
LATE = float(os.environ.get("NOD_LATE", "8"))  # how many times later than promised a busy machine may be


def within(seconds):
    """A promised time, as long as a machine may need for it that does other things too. NOD_LATE=1 takes it by the word."""
    return seconds * LATE


OVER_TLS = os.environ.get("NOD_TALKS_TLS")  # everything that would go by TCP goes by TLS
POSTGRES = os.environ.get("NOD_TALKS_POSTGRES")  # a database in which every store gets a schema; else SQLite


def new_store(name):
    """The url of an empty store in PostgreSQL."""
    subprocess.run(["psql", "-X", "-q", "-c", f'CREATE SCHEMA "{name}"', POSTGRES.replace("postgres:", "postgresql:", 1)], check=True)
    return f"{POSTGRES}&options=-csearch_path%3D%22{name}%22"


def change_postgres(url, sql):
    """How many rows it changed."""
    done = subprocess.run(["psql", "-X", "-c", sql, url.replace("postgres:", "postgresql:", 1)], check=True, text=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout.split()[-1])


def older_store(world):
    """A server on the store of before.sql, which an older Nod has written."""
    if POSTGRES:
        raise Skip("a file of SQLite")
    os.makedirs(world.data, mode=0o700, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "before.sql"), encoding="utf-8") as file:
        script = file.read()
    store = sqlite3.connect(os.path.join(world.data, "nod.db"))
    store.executescript(script)
    store.close()
    with open(os.path.join(world.data, "admin.token"), "w", encoding="ascii") as file:
        file.write(re.search(r"nod_\w+", script).group() + "\n")
    os.chmod(os.path.join(world.data, "admin.token"), 0o600)
    return world.server()


class Skip(Exception):
    """This machine cannot show what the test is about; says why."""


class Failure(AssertionError):
    pass


def must(condition, words):
    if not condition:
        raise Failure(words)


def eventually(look, words, patience=PATIENCE):
    """The first true value of look(); no test sleeps for a fixed time and hopes. Looks less often the longer it takes: what
    waits for seconds leaves the processor to the others."""
    begin = time.monotonic()
    while True:
        value = look()
        if value:
            return value
        waited = time.monotonic() - begin
        if waited > patience:
            raise Failure(f"did not come about in {patience:.0f} s: {words() if callable(words) else words}")
        time.sleep(min(0.05, max(0.002, waited / 20)))


def matches(pattern, value, where="answer"):
    """Whether a JSON value has at least what the pattern says; "*" is anything. Returns words when not."""
    if pattern == "*":
        return None
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return f"{where} is {value!r}, not an object"
        for key, part in pattern.items():
            if key not in value:
                return f"{where} has no {key!r}: {json.dumps(value)[:600]}"
            words = matches(part, value[key], f"{where}.{key}")
            if words:
                return words
        return None
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return f"{where} is {json.dumps(value)[:600]}, not a list of {len(pattern)}"
        return next(filter(None, (matches(p, v, f"{where}[{i}]") for i, (p, v) in enumerate(zip(pattern, value)))),
                    None)
    if type(pattern) is not type(value) or pattern != value:
        return f"{where} is {json.dumps(value)[:300]}, not {json.dumps(pattern)}"
    return None


def must_match(pattern, value, where="answer"):
    words = matches(pattern, value, where)
    must(words is None, words)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            raise Failure(f"the body of a {self.status} is not JSON: {self.body[:300]!r}") from None

    @property
    def code(self):
        """The error's code on the wire."""
        value = self.json
        must(isinstance(value, dict) and isinstance(value.get("error"), dict), f"no error object: {self.body[:300]!r}")
        must(value["error"].get("message"), f"an error without words: {self.body[:300]!r}")
        return value["error"].get("code")

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Client:
    """Whoever holds a token. One connection per request, unless `kept` is used."""

    def __init__(self, server, token, name="", tcp=False):
        self.server, self.token, self.name, self.tcp = server, token, name, tcp

    @property
    def tls(self):
        """How to check the server's certificate; a proxy or an address that stands for a server has none."""
        return getattr(self.server, "tls", None)

    def connection(self, timeout=PATIENCE):
        if self.tcp and self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.server.tls_port, timeout=timeout,
                                               context=self.tls)
        if self.tcp:
            return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=timeout)
        return UnixConnection(self.server.socket, timeout)

    def headers(self, body, extra):
        headers = {}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None:
            headers["Content-Type"] = "application/json"
        headers.update(extra or {})
        return {name: value for name, value in headers.items() if value is not None}

    def request(self, method, path, body=None, headers=None, timeout=PATIENCE, connection=None):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        own = connection or self.connection(timeout)
        try:
            own.request(method, path, body, self.headers(body, headers))
            answer = own.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            if connection is None:
                own.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, {} if body is None else body, **more)

    def patch(self, path, body, **more):
        return self.request("PATCH", path, body, **more)

    def ok(self, method, path, body=None, status=(200, 201), **more):
        reply = self.request(method, path, body, **more)
        must(reply.status in status, f"{method} {path}: {reply}")
        return reply.json

    # ---- the usual acts ----
    def session(self, **settings):
        return self.ok("POST", "/api/sessions", settings)

    def thread(self, session, **settings):
        return self.ok("POST", f"/api/sessions/{session}/threads", settings)

    def ask(self, thread, name, given, wait=0, **more):
        body = {"name": name, "input": given, **more}
        return self.request("POST", f"/api/threads/{thread}/tool-calls?wait={wait}", body, timeout=wait + PATIENCE)

    def call(self, thread, name, given, wait=0, **more):
        reply = self.ask(thread, name, given, wait, **more)
        must(reply.status == 200, f"a call of {name}: {reply}")
        return reply.json

    def status(self, call, wait=0, session=None):
        more = f"&session={session}" if session else ""
        return self.ok("GET", f"/api/tool-calls/{call}?wait={wait}{more}", timeout=wait + PATIENCE)

    def decide(self, session, call, decision, **more):
        return self.request("POST", f"/api/sessions/{session}/approvals/{call}", {"decision": decision, **more})

    def decided(self, session, call, decision, **more):
        reply = self.decide(session, call, decision, **more)
        must(reply.status == 200, f"{decision} of {call}: {reply}")
        return reply.json

    def pending(self, scope=""):
        return self.ok("GET", f"/api{scope}/approvals/pending")["pendingApprovals"]

    def events(self, **query):
        """Every event of the scope, over as many pages as it takes."""
        after, events = query.pop("after", 0), []
        more = "".join(f"&{key}={value}" for key, value in query.items())
        while True:
            page = self.ok("GET", f"/api/events?after={after}{more}")
            events += page["events"]
            if not page["events"] or page["next"] <= after:
                return events
            after = page["next"]

    def token_for(self, role, name, session=None, scopes=()):
        body = {"role": role, "name": name, "scopes": list(scopes)}
        if session:
            body["sessionId"] = session
        made = self.ok("POST", "/api/tokens", body)
        client = Client(self.server, made["token"], name, self.tcp)
        client.id = made["id"]
        return client


class Follower(threading.Thread):
    """An event stream, read as it comes. `events` holds (id, type, value); `ended` is why it stopped."""

    def __init__(self, client, query="", headers=None):
        super().__init__(daemon=True)
        self.client, self.query, self.extra = client, query, headers or {}
        self.events, self.comments, self.ended, self.status, self.headers = [], 0, None, None, {}
        self.said = []    # comments that are words
        self.errors = []  # last words of the server
        self.changed = threading.Condition()
        self.connection = client.connection(PATIENCE * 3)
        self.connection.connect()
        self.sock = self.connection.sock  # http.client forgets it once the answer says close
        self.start()
        self.wait(lambda: self.status is not None or self.ended, "an answer to the stream's request")

    def run(self):
        try:
            headers = self.client.headers(None, {"Accept": "text/event-stream", **self.extra})
            self.connection.request("GET", "/api/events" + self.query, None, headers)
            answer = self.connection.getresponse()
            with self.changed:
                self.headers = {k.lower(): v for k, v in answer.getheaders()}
                self.status = answer.status
                self.changed.notify_all()
            if answer.status != 200:
                self.body = answer.read()
                return self.end(f"status {answer.status}")
            self.read(answer)
            return self.end("closed by the server")
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            return self.end(f"{type(error).__name__}: {error}")

    def read(self, answer):
        fields = {}
        while True:
            line = answer.readline()
            if not line or not line.endswith(b"\n"):
                return
            line = line.rstrip(b"\r\n")
            if not line:
                if fields:
                    self.take(fields)
                fields = {}
            elif line.startswith(b":"):
                self.comments += 1
                if line[1:].strip():
                    self.said.append(line[1:].strip().decode())
            else:
                name, _, value = line.decode().partition(":")
                value = value[1:] if value.startswith(" ") else value
                fields[name] = fields[name] + "\n" + value if name in fields else value

    def take(self, fields):
        if fields.get("event") == "error":
            self.errors.append(json.loads(fields["data"]))
            return
        with self.changed:
            self.events.append((int(fields["id"]), fields.get("event"), json.loads(fields["data"])))
            self.changed.notify_all()

    def end(self, why):
        with self.changed:
            self.ended = why
            self.changed.notify_all()

    def wait(self, look, words, patience=PATIENCE):
        with self.changed:
            self.changed.wait_for(lambda: look() or self.ended, patience)
            if not look():
                raise Failure(f"the stream does not show {words}; it has {self.types()}, ended: {self.ended}")

    def types(self):
        return [kind for _, kind, _ in self.events]

    def ids(self):
        return [number for number, _, _ in self.events]

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.join(PATIENCE)
        self.connection.close()


class Socket:
    """A WebSocket client: RFC 6455 as far as a well-behaved client needs it, and a little further."""

    def __init__(self, client, path="/api/ws", headers=None):
        connection = client.connection()
        connection.connect()
        self.sock = connection.sock
        key = base64.b64encode(os.urandom(16)).decode()
        port = client.server.tls_port if client.tls else client.server.port
        fields = {"Host": f"127.0.0.1:{port}" if client.tcp else "localhost",
                  "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": key, **client.headers(None, None), **(headers or {})}
        lines = [f"GET {path} HTTP/1.1"] + [f"{k}: {v}" for k, v in fields.items() if v is not None]
        self.sock.sendall("\r\n".join(lines + ["", ""]).encode())
        self.buffer = b""
        head = self.until(b"\r\n\r\n")
        self.status = int(head.split(b" ")[1])
        self.head = head.decode("latin-1")
        self.closed, self.closing = None, False
        if self.status == 101:
            accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            must(accept.decode() in self.head, "Sec-WebSocket-Accept is wrong")

    def until(self, mark):
        while mark not in self.buffer:
            piece = self.sock.recv(65536)
            if not piece:
                raise Failure(f"the socket was closed early: {self.buffer[:200]!r}")
            self.buffer += piece
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def exactly(self, count):
        while len(self.buffer) < count:
            piece = self.sock.recv(65536)
            if not piece:
                raise ConnectionError("closed")
            self.buffer += piece
        piece, self.buffer = self.buffer[:count], self.buffer[count:]
        return piece

    def frame(self, opcode, payload, fin=True, masked=True, reserved=0):
        self.closing = self.closing or opcode == 8
        size = len(payload)
        head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
        mark = 0x80 if masked else 0
        if size < 126:
            head += bytes([mark | size])
        elif size < 65536:
            head += bytes([mark | 126]) + struct.pack(">H", size)
        else:
            head += bytes([mark | 127]) + struct.pack(">Q", size)
        if masked:
            mask = os.urandom(4)
            payload = bytes(b ^ mask[i & 3] for i, b in enumerate(payload)) if size < 4096 else \
                (int.from_bytes(payload, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
            head += mask
        self.sock.sendall(head + payload)

    def send(self, value):
        self.frame(1, (value if isinstance(value, str) else json.dumps(value)).encode())

    def receive_frame(self):
        first, second = self.exactly(2)
        must(not second & 0x80, "the server masks its frames")
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self.exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.exactly(8))[0]
        return first & 0x0F, bool(first & 0x80), self.exactly(size)

    def receive(self, timeout=PATIENCE):
        """The next message as JSON; None when the server closed (then `closed` is its code)."""
        whole, end = b"", time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            must(left > 0, f"no message in {timeout} s, only pings")
            self.sock.settimeout(left)
            try:
                opcode, fin, payload = self.receive_frame()
            except ConnectionError:
                self.closed = self.closed or 1006
                return None
            if opcode == 9:
                self.frame(10, payload)
            elif opcode == 8:
                if not self.closing:
                    with contextlib.suppress(OSError):
                        self.frame(8, payload[:2])
                self.closed = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
                return None
            elif opcode in (0, 1):
                whole += payload
                if fin:
                    return json.loads(whole)

    def close(self):
        with contextlib.suppress(OSError):
            self.frame(8, struct.pack(">H", 1000))
        self.sock.close()


class Command:
    """A run of the command line."""

    def __init__(self, world, arguments, environment=None, given=None, program=NOD):
        self.arguments = arguments
        self.out = open(os.path.join(world.folder, f"out.{world.number()}"), "w+b")
        self.err = open(os.path.join(world.folder, f"err.{world.number()}"), "w+b")
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
                                        stdout=self.out, stderr=self.err, cwd=world.folder,
                                        env={**world.environment, **(environment or {})}, start_new_session=True)
        if given is not None:
            self.process.stdin.write(given if isinstance(given, bytes) else given.encode())
            self.process.stdin.close()

    def wait(self, timeout=PATIENCE):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"nod {' '.join(self.arguments)} does not end; out {self.stdout!r}, err {self.stderr!r}") \
                from None

    @staticmethod
    def text(file):
        with open(file.name, "rb") as again:
            return again.read().decode("utf-8", "replace")

    stdout = property(lambda self: self.text(self.out))
    stderr = property(lambda self: self.text(self.err))

    def kill(self, number=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)


class Server:
    """One `nod serve` on one data folder, as often started as the test wants."""

    def __init__(self, world, data, arguments=()):
        self.world, self.data, self.arguments = world, data, list(arguments)
        self.socket = os.path.join(data, "nod.sock")
        self.process, self.port, self.log_path, self.expected = None, None, None, {0}
        self.tls, self.tls_port = None, None  # how clients check its certificate: then `tcp` is TLS
        if OVER_TLS:
            self.use_tls()

    def use_tls(self, *names):
        """From its next start on, with a certificate of its own authority."""
        options = [part for name in names for part in ("--name", name)]
        self.world.nod("tls", "init", "--data", self.data, *(options or ["--name", "nod.test"]))
        self.tls = ssl.create_default_context(cafile=os.path.join(self.data, "tls", "ca.pem"))
        if "--listen-tls" not in self.arguments:
            self.arguments += ["--listen-tls", "127.0.0.1:0"]
        return self

    def start(self, *arguments, wait=True, environment=None):
        if arguments:
            self.arguments = list(arguments)
        self.log_path = os.path.join(self.world.folder, f"server.{self.world.number()}.log")
        listen = [] if "--listen" in self.arguments else ["--listen", "127.0.0.1:0"]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([NOD, "serve", "--data", self.data, *listen, *self.arguments],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.world.folder,
                                            env={**self.world.environment, **(environment or {})}, start_new_session=True)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self):
        eventually(self.ready, lambda: f"/readyz says 200; the server's log:\n{self.log()}")
        found = re.findall(r"127\.0\.0\.1:(\d+)", self.log())
        self.port = next((int(port) for port in found if int(port)), None)
        self.tls_port = next((int(port) for port in re.findall(r"with TLS on port (\d+)", self.log())), None)

    def ready(self):
        must(self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log()}")
        try:
            return Client(self, None).get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def log(self):
        if not os.path.exists(self.log_path):  # the test's folder has gone already
            return ""
        with open(self.log_path, "rb") as log:
            return log.read().decode("utf-8", "replace")

    def says(self, *words):
        """Waits for the words: what is logged reaches the file a moment after the answer reaches its client."""
        eventually(lambda: all(word in self.log() for word in words), lambda: f"the log says {words}:\n{self.log()[-3000:]}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.complaints()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"the server does not stop on signal {number}:\n{self.log()[-2000:]}") from None
        self.complaints()
        must(status in self.expected, f"the server ended with {status}:\n{self.log()[-3000:]}")

    def complaints(self):
        """What sanitizers and failed checks say counts as a failure of whichever test provoked it."""
        log = self.log()
        for mark in ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "nod: bug:"):
            must(mark not in log, f"the server complains:\n{log[-6000:]}")

    @property
    def admin_token(self):
        with open(os.path.join(self.data, "admin.token"), encoding="ascii") as file:
            return file.read().strip()

    def admin(self, tcp=False):
        return Client(self, self.admin_token, "admin", tcp)

    def raw(self, tcp=True):
        """A bare connection, for bytes no HTTP client would send."""
        if tcp and self.tls:
            return self.tls.wrap_socket(socket.create_connection(("127.0.0.1", self.tls_port), PATIENCE),
                                        server_hostname="127.0.0.1")
        if tcp:
            return socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(PATIENCE)
        sock.connect(self.socket)
        return sock

    def memory_kb(self, which="VmRSS"):
        """What it uses now; VmHWM: the most that it ever used."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(which + r":\s+(\d+)", status.read())[1])


# One token plays many agents here, faster than any; what limits them is tested in flood.py, with limits of its own.
NO_LIMITS = {"NOD_WAITING_PER_TOKEN": "0", "NOD_WAITING_PER_SESSION": "0", "NOD_ASKS_PER_SECOND": "0"}


class World:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="nod-talk-")
        self.data = os.path.join(self.folder, "data")
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("NOD", "XDG_"))}
        self.environment = {**keep, "HOME": home, "NOD_DATA": self.data, "LC_ALL": "C.UTF-8", **NO_LIMITS,
                            "NOD_SANDBOX": "no",  # tests of the box say --sandbox
                            "NOD_TRIPWIRE": "no",  # here one process plays the agent and the person
                            "NOD_READ_ONLY_COMMANDS": "ask",  # a test that asks about `true` wants to be asked
                            "UBSAN_OPTIONS": "print_stacktrace=1"}
        self.servers, self.commands, self.followers, self.count = [], [], [], 0
        if POSTGRES:
            self.environment["NOD_STORE"] = new_store(os.path.basename(self.folder))

    def measure_memory(self):
        """AddressSanitizer keeps 256 MB of what was freed; servers that start after this keep next to nothing of it."""
        self.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"

    def number(self):
        self.count += 1
        return self.count

    def server(self, *arguments, data=None, **more):
        if POSTGRES and data and data != self.data:
            more["environment"] = {"NOD_STORE": new_store(f"{os.path.basename(self.folder)}.{self.number()}"),
                                   **(more.get("environment") or {})}
        server = Server(self, data or self.data, arguments)
        self.servers.append(server)
        return server.start(**more)

    def nod(self, *arguments, exits=0, environment=None, given=None, program="nod"):
        """Runs a command to its end; `program` is one that is built beside nod."""
        command = self.start(*arguments, environment=environment, given=given, program=program)
        status = command.wait()
        if exits is not None:
            must(status == exits, f"nod {' '.join(arguments)} ended with {status}, not {exits}; "
                                  f"out {command.stdout!r}, err {command.stderr!r}")
        return command

    def start(self, *arguments, environment=None, given=None, program="nod"):
        path = NOD if program == "nod" else os.path.join(os.path.dirname(NOD), program)
        command = Command(self, list(arguments), environment, given, path)
        self.commands.append(command)
        return command

    def on_a_terminal(self, *arguments, folder=None, environment=None):
        """What a command writes to a terminal until it ends well."""
        leader, follower = pty.openpty()
        run = subprocess.Popen([NOD, *arguments], stdin=follower, stdout=follower, stderr=follower, cwd=folder or self.folder,
                               env={**self.environment, "TERM": "xterm", **(environment or {})}, start_new_session=True)
        os.close(follower)
        out = b""
        try:
            while piece := os.read(leader, 65536):
                out += piece
        except OSError:
            pass   # the terminal's other end is closed
        os.close(leader)
        must(run.wait(PATIENCE) == 0, out)
        return out.decode()

    def follow(self, client, query="", headers=None):
        follower = Follower(client, query, headers)
        self.followers.append(follower)
        return follower

    def close(self, quietly=False):
        """Ends everything; a server that does not end well is a failure."""
        trouble = None
        for follower in self.followers:
            follower.close()
        for command in self.commands:
            if command.process.poll() is None:
                command.kill()
                command.process.wait()
        for server in self.servers:
            if not server.process:
                continue
            try:
                if server.process.poll() is None:
                    server.stop()
                elif server.process.returncode not in (0, -signal.SIGKILL) \
                        and server.process.returncode not in server.expected:
                    raise Failure(f"the server ended by itself with {server.process.returncode}:\n{server.log()[-4000:]}")
                server.complaints()
            except Failure as failure:
                trouble = trouble or failure
        for command in self.commands:
            if "Sanitizer" in command.stderr or "nod: bug:" in command.stderr or "runtime error:" in command.stderr:
                trouble = trouble or Failure(f"nod {' '.join(command.arguments)} complains:\n{command.stderr[-3000:]}")
            command.out.close()
            command.err.close()
        if os.environ.get("NOD_KEEP"):
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        if trouble and not quietly:
            raise trouble
