"""A subscriber that reads slowly stays, its memory is bounded, and whoever is cut off resumes without a gap."""
import re
import socket
import time

from world import PATIENCE, Socket, eventually, must

BIG = "x" * 200_000
CALLS = 120  # 24 MB of events


def small_house(world):
    """A server whose memory can be measured: a sanitizer must not hoard what was freed."""
    world.measure_memory()
    server = world.server()
    return server, server.admin(tcp=True)


def unread_stream(server, client, query):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
    sock.settimeout(PATIENCE)
    sock.connect(("127.0.0.1", server.port))
    sock.sendall((f"GET /api/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {client.token}\r\n"
                  "Accept: text/event-stream\r\n\r\n").encode())
    return sock


def whole_events(text):
    """The ids of the events that arrived completely."""
    text = text.replace(b"\r\n", b"\n")
    return [int(n) for n in re.findall(rb"(?m)^id: ?(\d+)\n(?:event: [A-Z_]+\n)?data: [^\n]*\n\n", text)]


def make_noise(admin, thread, name="n"):
    for number in range(CALLS):
        admin.call(thread, "TodoWrite", {"todos": [{"content": BIG}]}, id=f"{name}{number}")


def dechunked(data):
    head, _, rest = data.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    out = b""
    while b"\r\n" in rest:
        size, _, rest = rest.partition(b"\r\n")
        size = int(size or b"0", 16)
        out, rest = out + rest[:size], rest[size + 2:]
    return out


def test_a_live_stream_that_is_not_read(world):
    server, admin = small_house(world)
    made = admin.session()
    first = admin.events(session=made["id"])[-1]["seq"]
    slow = [unread_stream(server, admin, f"?after={first}&session={made['id']}") for _ in range(5)]
    reader = world.follow(admin, f"?after={first}&session={made['id']}")
    time.sleep(0.1)
    before = server.memory_kb()
    make_noise(admin, made["threadId"])
    after = server.memory_kb()
    must(after - before < 5 * 2048 + 40_000, f"memory grew from {before} to {after} KB")
    reader.wait(lambda: len(reader.events) == CALLS, "every event for whoever reads", 3 * PATIENCE)
    want, cut = reader.ids(), slow.pop()
    for sock in slow:
        came, ids = b"", []
        while len(ids) < CALLS:
            piece = sock.recv(1 << 20)
            must(piece, f"dropped after {len(ids)} events")
            came += piece
            ids = whole_events(dechunked(came)) if len(came) > CALLS * len(BIG) else []
        must(ids == want, f"a gap or a repeat: {ids}")
        sock.close()
    came = cut.recv(1 << 20)   # and one that is cut off in between
    cut.close()
    ids = whole_events(dechunked(came))
    resumed = world.follow(admin, f"?after={first}&session={made['id']}", {"Last-Event-ID": str(ids[-1])} if ids else {})
    resumed.wait(lambda: len(resumed.events) == CALLS - len(ids), "the rest", 3 * PATIENCE)
    must(ids + resumed.ids() == want, "a gap or a repeat")
    resumed.close()


def test_history_that_is_not_read(world):
    """Catching up on much that was: pages are read as the reader takes them, not all at once into memory."""
    server, admin = small_house(world)
    made = admin.session()
    make_noise(admin, made["threadId"])
    before = server.memory_kb()
    slow = [unread_stream(server, admin, f"?after=0&session={made['id']}") for _ in range(10)]
    time.sleep(1)
    after = server.memory_kb()
    must(after - before < 10 * 8192 + 30_000, f"memory grew from {before} to {after} KB for ten that do not read")
    for sock in slow:
        sock.close()
    reader = world.follow(admin, f"?after=0&session={made['id']}")
    reader.wait(lambda: len(reader.events) == CALLS + 1, "all of it for whoever reads", 3 * PATIENCE)
    must(reader.ids() == [e["seq"] for e in admin.events(session=made["id"])], "a gap or a repeat")


def test_a_slow_but_steady_reader_gets_everything(world):
    server, admin = small_house(world)
    made = admin.session()
    make_noise(admin, made["threadId"])
    with unread_stream(server, admin, f"?after=0&session={made['id']}") as sock:
        came = b""
        while len(came) < CALLS * len(BIG):
            piece = sock.recv(150_000)
            must(piece, f"dropped after {len(came)} bytes")
            came += piece
            time.sleep(0.001)
    must(came.count(b'"TOOL_CALL"') >= CALLS - 1, f"{came.count(b'TOOL_CALL')} events")


def test_a_socket_that_is_not_read(world):
    server, admin = small_house(world)
    made = admin.session()
    opened = Socket(admin)
    opened.send({"type": "subscribe", "id": 1, "after": 0, "session": made["id"]})
    must(opened.receive()["type"] == "subscribed", "subscribed")
    before = server.memory_kb()
    make_noise(admin, made["threadId"])
    after = server.memory_kb()
    must(after - before < 2048 + 40_000, f"memory grew from {before} to {after} KB")
    want = [e["seq"] for e in admin.events(session=made["id"])]
    seen = [opened.receive()["event"]["seq"] for _ in range(len(want) // 2)]
    opened.close()
    again = Socket(admin)
    again.send({"type": "subscribe", "id": 1, "after": seen[-1], "session": made["id"]})
    must(again.receive()["type"] == "subscribed", "subscribed again")
    while len(seen) < len(want):
        seen.append(again.receive()["event"]["seq"])
    must(seen == want, "a gap or a repeat")


def test_heartbeats_on_idle_streams(world):
    server = world.server("--heartbeat", "1")
    admin = server.admin(tcp=True)
    stream = world.follow(admin, "?after=0")
    eventually(lambda: stream.comments >= 2, "two heartbeats")
    must(not stream.ended, "the stream is open")
    opened = Socket(admin)
    opened.sock.settimeout(PATIENCE)
    opcode, _, _ = opened.receive_frame()
    must(opcode == 9, f"a ping on an idle socket, not {opcode}")
