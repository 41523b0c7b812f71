"""nod mcp proxy --listen: Streamable HTTP by hand. The official SDKs are clients in tests/real."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys

from proxy import SCRIPTED, Proxied
from mcp_server import heard  # found by proxy
from world import NOD, PATIENCE, eventually, must

MODERN = "2026-07-28"
BEGIN = {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}


class Listening(Proxied):
    def __init__(self, world, program=None):
        super().__init__(world, begin=None)
        self.identity_file = self.identity()
        with open(self.identity_file, encoding="utf-8") as file:
            self.token = json.load(file)["token"]
        self.run = world.start("mcp", "proxy", "--identity", self.identity_file, "--name", "fs", "--listen", "127.0.0.1:0", "--", *(program or [sys.executable, SCRIPTED, self.folder]))
        self.process = self.run.process
        self.port = int(eventually(lambda: re.search(r"127\.0\.0\.1:(\d+)/mcp", self.run.stderr), lambda: f"it listens: {self.run.stderr}")[1])

    def ask(self, body=BEGIN, method="POST", path="/mcp", **headers):
        """Status, headers and body; of a stream, its messages."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        named.update({key.replace("_", "-"): value for key, value in headers.items()})
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data if method == "POST" else None, {k: v for k, v in named.items() if v is not None})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        streams = answer.getheader("Content-Type", "").startswith("text/event-stream")
        return answer.status, answer.headers, [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")] if streams else text

    def begin(self):
        status, headers, text = self.ask()
        must(status == 200 and json.loads(text)["id"] == "start", f"{status} {text}")
        session = headers["Mcp-Session-Id"]
        must(self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=session)[0] == 202, "a notification is not taken")
        return session

    def start_call(self, session, number, name="echo", **arguments):
        """Sends a call and leaves the connection open."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}),
                           {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Mcp-Session-Id": session})
        return connection

    def start_modern(self, number, text, **headers):
        """The same in the revision without sessions."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
        named.update({key.replace("_", "-"): value for key, value in headers.items()})
        params = {"_meta": {"progressToken": number, "io.modelcontextprotocol/protocolVersion": MODERN}, "name": "echo", "arguments": {"text": text}}
        connection.request("POST", "/mcp", json.dumps({"id": number, "method": "tools/call", "params": params, "jsonrpc": "2.0"}), {k: v for k, v in named.items() if v is not None})
        return connection

    def open_stream(self, session, message=None):
        """The socket of a GET, or of the POST of a message, whose answer has begun; the rest is not read."""
        body = json.dumps(message) if message else ""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(f"{'POST' if message else 'GET'} /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
                     f"Mcp-Session-Id: {session}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        begun = sock.recv(12)
        must(begun == b"HTTP/1.1 200", f"no stream: {begun}")
        return sock

    def children(self):
        """The processes of the sessions."""
        found = []
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                with open(f"/proc/{self.process.pid}/task/{thread}/children", encoding="utf-8") as file:
                    found += [int(pid) for pid in file.read().split()]
        return found

    def close(self):
        self.process.terminate()
        must(self.run.wait() == 0, "it does not end when it is told to")


def waiting(admin):
    """The call that waits; the scripted server also asks for the client's model."""
    return eventually(lambda: [p for p in admin.pending() if p["toolCall"]["name"] == "mcp__fs__echo"], lambda: f"a call waits: {admin.pending()}")[0]


def none_waits(admin, words):
    eventually(lambda: not [p for p in admin.pending() if p["toolCall"]["name"] == "mcp__fs__echo"], words)


def messages(connection):
    text = connection.getresponse().read().decode()
    connection.close()
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def test_a_call_is_asked_over_http(world):
    """Allowed, denied with words, and across a restart of the server."""
    server = world.server()
    admin = server.admin()
    r = Listening(world)
    session = r.begin()
    listed = r.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}, Mcp_Session_Id=session)
    must(listed[0] == 200 and "echo" in json.dumps(listed[2]), f"{listed}")
    call = r.start_call(session, 2, text="one")
    waits = waiting(admin)
    must(waits["toolCall"]["name"] == "mcp__fs__echo" and not [m for m in heard(r.folder) if m.get("method") == "tools/call"], f"{waits}")
    server.kill()
    server.start()
    admin.decided(waits["sessionId"], waits["toolCallId"], "allow_once")
    must([m for m in messages(call) if m.get("id") == 2][0]["result"], "no result")
    call = r.start_call(session, 3, text="two")
    waits = waiting(admin)
    admin.decided(waits["sessionId"], waits["toolCallId"], "deny", feedback="not over the wire")
    denied = [m for m in messages(call) if m.get("id") == 3][0]["result"]
    must(denied["isError"] and denied["content"][0]["text"] == "not over the wire", f"{denied}")
    must(r.ask(method="DELETE", Mcp_Session_Id=session)[0] == 200 and r.ask({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {}}, Mcp_Session_Id=session)[0] == 404, "the session goes on")
    r.close()


def test_clients_without_sessions(world):
    """They share a process and number alike: each gets its own answers, under its own number."""
    admin = world.server().admin()
    r = Listening(world)

    def asked(text):
        return eventually(lambda: [p for p in admin.pending() if p["toolCall"]["input"] == {"text": text}], lambda: f"{text} waits: {admin.pending()}")[0]

    def decide(text, decision="allow_once", **more):
        call = asked(text)
        admin.decided(call["sessionId"], call["toolCallId"], decision, **more)

    one, two, three = r.start_modern(1, "one"), r.start_modern(1, "two"), r.start_modern("1", "three")
    for text in ("one", "two", "three"):
        asked(text)
    must(len(r.children()) == 1, "not one process")
    stream = two.getresponse()
    must("session" not in str(stream.headers).lower(), f"{stream.headers}")
    while b"progressToken" not in (line := stream.fp.readline()):
        must(line and b'"id"' not in line, f"{line}")
    must(json.loads(line[6:])["params"]["progressToken"] == 1, f"{line}")
    decide("two")
    two.close()
    decide("three", "deny", feedback="not this one")
    denied = messages(three)[-1]
    must(denied["id"] == "1" and denied["result"]["content"][0]["text"] == "not this one", f"{denied}")
    decide("one")
    must(messages(one)[-1]["result"]["content"][0]["text"] == "echo: one", "another's answer")
    left = r.start_modern(1, "left")
    asked("left")
    left.close()
    none_waits(admin, "the question of a client that left is open")
    for headers in ({"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"MCP_Protocol_Version": "2025-06-18"}, {"Mcp_Name": "other"}):
        answer = r.start_modern(3, "bad", **headers).getresponse()
        must(answer.status == 400 and json.loads(answer.read())["error"]["code"] == -32020, f"{headers}: {answer.status}")
    must(r.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})[0] == 400, "no session and no revision")
    os.kill(r.children()[0], signal.SIGKILL)
    eventually(lambda: not r.children(), "its process has ended")
    again = r.start_modern(1, "again")
    decide("again")
    must(messages(again)[-1]["result"]["content"][0]["text"] == "echo: again", "it does not begin anew")
    must("bad" not in json.dumps(heard(r.folder)) and "left" not in json.dumps(heard(r.folder)), "what nobody allowed came to the server")
    r.close()


def test_who_may_speak(world):
    """One row for each: who, and what becomes of an initialize, of a request of a session that is there, and of its stream."""
    admin = world.server().admin()
    r = Listening(world)
    session = r.begin()
    others = {role: admin.ok("POST", "/api/tokens", {"name": role, "role": role})["token"] for role in ("agent", "approver", "viewer")}
    lists = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
    for who, headers, wanted in [
            ("nobody", {"Authorization": None}, 401), ("a wrong token", {"Authorization": "Bearer nod_x"}, 401), ("another way", {"Authorization": f"Basic {r.token}"}, 401),
            *[(f"another {role}", {"Authorization": f"Bearer {token}"}, 401) for role, token in others.items()],
            ("a page of another site", {"Origin": "https://evil.example"}, 403), ("a page of no site", {"Origin": "null"}, 403), ("another port's page", {"Origin": "http://127.0.0.1:1"}, 403),
            ("a name that leads here", {"Host": f"evil.example:{r.port}"}, 403), ("our own page", {"Origin": f"http://localhost:{r.port}"}, 200)]:
        got = [r.ask(**headers)[0], r.ask(lists, Mcp_Session_Id=session, **headers)[0]]
        if wanted != 200:
            got += [r.ask(method=method, Mcp_Session_Id=session, **headers)[0] for method in ("GET", "DELETE", "HEAD", "OPTIONS", "PUT")]
        must(set(got) == {wanted}, f"{who}: {got}, not {wanted}")
    must(r.ask(lists, Mcp_Session_Id=session)[0] == 200, "the session was ended by one who may not")
    refused = subprocess.run([NOD, "mcp", "proxy", "--identity", r.identity_file, "--listen", "0.0.0.0:0", "--", "true"], env=world.environment, cwd=r.project, capture_output=True, check=False)
    must(refused.returncode == 2 and b"127.0.0.1" in refused.stderr, f"{refused}")
    r.close()


def test_bad_messages_and_clients_that_leave(world):
    admin = world.server().admin()
    r = Listening(world)
    session = r.begin()
    for wanted, body, more in [(400, b"{half", {}), (400, b"[]", {}), (400, [BEGIN], {}), (400, b"", {}), (400, BEGIN, {"Mcp_Session_Id": session}),
                               (400, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}, {}), (404, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}, {"Mcp_Session_Id": "mcp_other"}),
                               (413, b" " * (5 << 20), {}), (404, BEGIN, {"path": "/other"})]:
        got = r.ask(body, **more)
        must(got[0] == wanted, f"{body[:40] if isinstance(body, bytes) else body}: {got[0]} {got[2]}")
    for method in ("PUT", "HEAD", "OPTIONS"):
        must(r.ask(method=method, Mcp_Session_Id=session)[0] == 405, f"{method} is served")
    must(r.ask(method="GET")[0] == 400, "a stream of no session")
    call = r.start_call(session, 5, text="left")
    waiting(admin)
    must(r.ask({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {}}, Mcp_Session_Id=session)[0] == 400, "two requests of one id")
    call.close()
    none_waits(admin, "the question of a client that left is open")
    call = r.start_call(session, 6, text="killed")
    waiting(admin)
    r.process.kill()
    r.process.wait(PATIENCE)
    none_waits(admin, "the question of a proxy that was killed is open")
    must(not [m for m in heard(r.folder) if m.get("method") == "tools/call"], "a call that nobody allowed reached the server")
    call.close()


# Answers initialize and "calm"; "flood" makes it say a hundred messages of 100 kB, "whisper" a small one; the answer to
# "deep" has more levels than Nod reads.
SMALL = ["sh", "-c", r'''big=$(head -c 100000 /dev/zero | tr '\0' x)
while read -r line; do case $line in
*initialize\"*) echo '{"jsonrpc":"2.0","id":"start","result":{}}';;
*flood*) for i in $(seq 100); do printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\n' "$big"; done;;
*calm*) echo '{"jsonrpc":"2.0","id":"calm","result":{}}';;
*whisper*) echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"whispered"}}';;
*deep*) printf '{"jsonrpc":"2.0","id":"deep","result":%s%s}\n' "$(printf '[%.0s' $(seq 300))" "$(printf ']%.0s' $(seq 300))";;
esac; done''']
FLOOD = {"jsonrpc": "2.0", "method": "flood", "params": {}}


def test_sessions_are_few_and_separate(world):
    """Without room the oldest session that has no connection ends; while all have one, a new client is refused."""
    world.server()
    r, other = Listening(world, SMALL), Listening(world, SMALL)
    sessions = [r.begin() for _ in range(16)]
    must(len(set(sessions)) == 16 and len(r.children()) == 16, "a session is not its own")
    must(other.ask(FLOOD, Mcp_Session_Id=sessions[0])[0] == 404 and r.ask(FLOOD, Mcp_Session_Id=other.begin())[0] == 404, "a session of another proxy")
    streams = [r.open_stream(sessions[0])]
    sessions.append(r.begin())
    must(r.ask(method="DELETE", Mcp_Session_Id=sessions.pop(1))[0] == 404, "the oldest without a connection is there")
    streams += [r.open_stream(session) for session in sessions[1:]]
    status, _, text = r.ask()
    must(status == 429 and "too many sessions" in text, f"{status} {text}")
    must(r.ask(method="DELETE", Mcp_Session_Id=sessions[5])[0] == 200, "a session cannot be ended")
    r.begin()
    eventually(lambda: len(r.children()) == 16, "the processes of sessions that ended are gone")
    for stream in streams:
        stream.close()
    r.close()
    other.close()


def test_a_stream_that_is_not_read(world):
    """It is cut off; its session and the others go on."""
    world.server()
    r = Listening(world, SMALL)
    session = r.begin()
    stream = r.open_stream(session)

    def calm():
        """Whether it answers; as long as the flood lasts, a stream of ours may be cut off, too."""
        try:
            status, _, got = r.ask({"jsonrpc": "2.0", "id": "calm", "method": "calm", "params": {}}, Mcp_Session_Id=session)
        except (ValueError, OSError, http.client.HTTPException):
            return False
        return status == 200 and got[-1].get("id") == "calm"

    must(r.ask(FLOOD, Mcp_Session_Id=session)[0] == 202, "the flood does not begin")
    eventually(calm, "the session goes on")
    came = 0
    while piece := stream.recv(1 << 20):
        came += len(piece)
        must(came < 10_000_000 and piece != b": \n\n", f"{came} bytes came, and it is not cut off")
    stream.close()
    must(calm() and r.begin(), "the session is gone")
    r.close()


def test_messages_that_wait_for_a_stream_are_no_more_than_it_takes(world):
    """Nobody listens while the server says 10 MB; whoever listens then gets the last of it, and what comes behind."""
    world.server()
    over = os.path.join(world.folder, "over")
    r = Listening(world, [*SMALL[:2], SMALL[2].replace("done;;", f"done; : > {over};;")])
    session = r.begin()

    def listens():
        """What a stream brings that is opened behind the flood; None: it is cut off, as one is that the flood still comes to."""
        if os.path.exists(over):
            os.unlink(over)
        must(r.ask(FLOOD, Mcp_Session_Id=session)[0] == 202, "the flood does not begin")
        eventually(lambda: os.path.exists(over), "the flood is over")
        stream, text = r.open_stream(session), b""
        must(r.ask({"jsonrpc": "2.0", "method": "whisper", "params": {}}, Mcp_Session_Id=session)[0] == 202, "a notification is not taken")
        while b"whispered" not in text and (piece := stream.recv(1 << 20)):
            text += piece
        stream.close()
        return text if b"whispered" in text else None

    text = eventually(listens, "the stream goes on")
    must(100_000 < len(text) < 3_000_000, f"{len(text)} bytes")
    r.close()


def test_an_answer_that_cannot_be_read_comes_all_the_same(world):
    """It is not for Nod to understand: without it the client would wait for ever."""
    world.server()
    r = Listening(world, SMALL)
    session = r.begin()
    status, _, got = r.ask({"jsonrpc": "2.0", "id": "deep", "method": "deep", "params": {}}, Mcp_Session_Id=session)
    must(status == 200 and got[-1]["id"] == "deep" and "[" * 300 in json.dumps(got[-1]), f"{status} {got}")
    r.close()


def test_clients_that_leave_before_their_session_begins(world):
    """Nobody knows the ids of these sessions: they end, and take no room."""
    world.server()
    r = Listening(world, ["sh", "-c", "cat > /dev/null"])
    leaving = [http.client.HTTPConnection("127.0.0.1", r.port, timeout=PATIENCE) for _ in range(16)]
    for connection in leaving:
        connection.request("POST", "/mcp", json.dumps(BEGIN), {"Authorization": f"Bearer {r.token}", "Content-Type": "application/json"})
    eventually(lambda: len(r.children()) == 16, "their processes have begun")
    must(r.ask()[0] == 429, "there is more room than for sixteen")
    for connection in leaving:
        connection.close()
    eventually(lambda: not r.children(), "the process of a session that nobody knows is there")
    r.close()


def test_too_many_headers_are_an_error_at_once(world):
    world.server()
    r = Listening(world)
    given = [word for _ in range(30) for word in ("--header-env", "X=HOME")]
    refused = subprocess.run([NOD, "mcp", "proxy", "--identity", r.identity_file, "--listen", "127.0.0.1:0", *given, "--url", "http://127.0.0.1:9/"],
                             env=world.environment, cwd=r.project, capture_output=True, timeout=PATIENCE, check=False)
    must(refused.returncode == 2 and b"too many headers" in refused.stderr, f"{refused}")
    r.close()


def test_an_answer_comes_behind_a_flood(world):
    """The client of the request does not read for a while, and gets its answer all the same."""
    world.server()
    r = Listening(world, SMALL)
    session = r.begin()
    sock = r.open_stream(session, {"jsonrpc": "2.0", "id": "start", "method": "later", "params": {}})
    must(r.ask(FLOOD, Mcp_Session_Id=session)[0] == 202, "the flood does not begin")
    status, _, got = r.ask({"jsonrpc": "2.0", "id": "calm", "method": "calm", "params": {}}, Mcp_Session_Id=session)
    must(status == 200 and got[-1].get("id") == "calm", "the request behind it is not answered")
    must(r.ask({"jsonrpc": "2.0", "method": "now", "params": {"word": "initialize"}}, Mcp_Session_Id=session)[0] == 202, "a notification is not taken")
    text = b""
    while piece := sock.recv(1 << 20):
        text += piece
    sock.close()
    must(b'"id":"start"' in text, f"{len(text)} bytes and no answer: {text[-200:]}")
    r.close()


def test_a_session_whose_process_dies_or_reads_nothing(world):
    admin = world.server("--withdraw-after", "1s").admin()
    r = Listening(world)
    session = r.begin()
    call = r.start_call(session, 1, text="lost")
    waiting(admin)
    os.kill(r.children()[0], signal.SIGKILL)
    must(not [m for m in messages(call) if m.get("id") == 1], "an answer of nobody")
    none_waits(admin, "the question of a process that died is open")
    must(r.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}, Mcp_Session_Id=session)[0] == 404, "the session is there")
    must(not [m for m in heard(r.folder) if m.get("method") == "tools/call"], "a call that nobody allowed reached the server")
    r.close()
    deaf = Listening(world, ["sh", "-c", """read -r line; echo '{"jsonrpc":"2.0","id":"start","result":{}}'; exec sleep 1000"""])
    session = deaf.begin()
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 3_000_000}}
    for _ in range(3):
        must(deaf.ask(note, Mcp_Session_Id=session)[0] == 202, "a message is not taken")
    must(deaf.ask(method="DELETE", Mcp_Session_Id=session)[0] == 200, "it cannot be ended")
    eventually(lambda: not deaf.children(), "the process of a server that reads nothing is there")
    deaf.close()
