"""The framing of /api/ws: what RFC 6455 asks of a server, good frames and bad ones."""
import os
import struct

from world import PATIENCE, Socket, must


def opened(world):
    server = world.server()
    admin = server.admin(tcp=True)
    made = admin.session()
    return server, admin, made, Socket(admin)


PING = '{"type":"call","id":1,"threadId":"%s","call":{"name":"Read","input":{"file_path":"/x"}}}'


def lives(socket, made, words):
    socket.send(PING % made["threadId"])
    answer = socket.receive()
    must(answer and answer["status"] == 200, f"{words}: the socket does not live on: {answer}, closed {socket.closed}")


def test_fragments_and_pings(world):
    _, _, made, socket = opened(world)
    text = (PING % made["threadId"]).encode()
    for size in (1, 7, 50):
        pieces = [text[i:i + size] for i in range(0, len(text), size)]
        for number, piece in enumerate(pieces):
            socket.frame(1 if number == 0 else 0, piece, fin=number == len(pieces) - 1)
            if number % 9 == 4:
                socket.frame(9, b"between")
        pongs = 0
        while True:
            opcode, fin, payload = socket.receive_frame()
            if opcode == 10:
                must(payload == b"between", "the pong's payload")
                pongs += 1
            else:
                must(opcode == 1 and fin, f"opcode {opcode}")
                break
        must(pongs == len([n for n in range(len(pieces)) if n % 9 == 4]), "each ping is answered")
    for payload in (b"", b"x" * 125):
        socket.frame(9, payload)
        must(socket.receive_frame() == (10, True, payload), "a pong with the same payload")
    socket.frame(10, b"unasked")
    lives(socket, made, "after an unasked pong")
    socket.frame(1, b"", fin=False)
    socket.frame(0, text)
    must(socket.receive()["status"] == 200, "an empty first fragment")


def test_bad_frames_close_the_socket(world):
    server, admin, made, _ = opened(world)
    rows = [
        ("unmasked", 1002, lambda s: s.frame(1, b"{}", masked=False)),
        ("reserved bit", 1002, lambda s: s.frame(1, b"{}", reserved=4)),
        ("unknown opcode", 1002, lambda s: s.frame(3, b"")),
        ("unknown control opcode", 1002, lambda s: s.frame(11, b"")),
        ("fragmented ping", 1002, lambda s: s.frame(9, b"", fin=False)),
        ("long ping", 1002, lambda s: s.frame(9, b"x" * 126)),
        ("continuation of nothing", 1002, lambda s: s.frame(0, b"{}")),
        ("text inside text", 1002, lambda s: (s.frame(1, b"{", fin=False), s.frame(1, b"}"))),
        ("bad UTF-8", 1007, lambda s: s.frame(1, b'{"type":"\xff"}')),
        ("UTF-8 cut over fragments", 1007, lambda s: (s.frame(1, b'{"\xe2\x82', fin=False), s.frame(0, b'"}'))),
        ("binary", 1003, lambda s: s.frame(2, b"{}")),
        ("too large", 1009, lambda s: s.frame(1, b'{"x":"' + b"x" * (1 << 20) + b'"}')),
        ("too large in fragments", 1009, lambda s: [s.frame(1 if i == 0 else 0, b"x" * 65536, fin=False) for i in range(18)]),
        ("length beyond reason", 1009, lambda s: s.sock.sendall(b"\x81\xff" + struct.pack(">Q", 1 << 62) + os.urandom(100))),
        ("length with the high bit", 1002, lambda s: s.sock.sendall(b"\x81\xff" + struct.pack(">Q", 1 << 63) + os.urandom(4))),
    ]
    for name, code, send in rows:
        socket = Socket(admin)
        try:
            send(socket)
        except OSError:
            pass
        try:
            message = socket.receive()
        except OSError:
            message, socket.closed = None, socket.closed or 1006
        must(message is None, f"{name}: answered {message}")
        must(socket.closed in (code, 1006) if "large" in name or "length" in name else socket.closed == code,
             f"{name}: closed with {socket.closed}, not {code}")
        socket.sock.close()
    must(admin.get("/healthz").status == 200, "the server lives on")
    must([e["type"] for e in admin.events(session=made["id"])] == ["SESSION_CHANGED"], "a bad frame left a trace")
    must(server.ready(), "ready")


def test_closing(world):
    _, admin, _, socket = opened(world)
    socket.frame(8, struct.pack(">H", 1000) + b"bye")
    must(socket.receive() is None and socket.closed == 1000, f"closed with {socket.closed}")
    must(socket.sock.recv(10) == b"", "the server closes the connection")
    silent = Socket(admin)
    silent.frame(8, b"")
    must(silent.receive() is None and silent.closed in (1000, 1005), f"closed with {silent.closed}")
    bad = Socket(admin)
    bad.frame(8, b"\x03")
    must(bad.receive() is None and bad.closed == 1002, f"a close frame of one byte: {bad.closed}")
    gone = Socket(admin)
    gone.sock.close()
    must(admin.get("/healthz").status == 200, "lives on when a client vanishes")


def test_handshakes(world):
    server, admin, _, _ = opened(world)
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    good = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
    rows = [
        ("no upgrade", {"Upgrade": None}, (400, 426)), ("another upgrade", {"Upgrade": "h2c"}, (400, 426)),
        ("no connection", {"Connection": "keep-alive"}, (400, 426)), ("old version", {"Sec-WebSocket-Version": "8"}, (426,)),
        ("no version", {"Sec-WebSocket-Version": None}, (400, 426)), ("no key", {"Sec-WebSocket-Key": None}, (400,)),
        ("short key", {"Sec-WebSocket-Key": "c2hvcnQ="}, (400,)), ("key that is no base 64", {"Sec-WebSocket-Key": "!" * 24}, (400,)),
    ]
    for name, change, statuses in rows:
        reply = admin.get("/api/ws", headers={**good, **change})
        must(reply.status in statuses, f"{name}: {reply}")
    must(admin.request("POST", "/api/ws", {}, headers=good).status == 405, "POST")
    for change in ({"Connection": "keep-alive, Upgrade"}, {"Upgrade": "WebSocket"}):
        also = Socket(admin, headers=change)
        must(also.status == 101, f"{change}: {also.head}")
        also.close()
    must(Socket(type(admin)(server, None, tcp=True)).status == 401, "without a token")


def test_many_messages_at_once(world):
    _, _, made, socket = opened(world)
    for number in range(300):
        socket.send('{"type":"call","id":%d,"threadId":"%s","call":{"id":"m%d","name":"Read","input":{"file_path":"/x"}}}'
                    % (number, made["threadId"], number))
    seen = {}
    while len(seen) < 300:
        answer = socket.receive(PATIENCE)
        must(answer, f"closed with {socket.closed} after {len(seen)}")
        seen[answer["id"]] = answer["status"] if answer["type"] == "answer" else answer["error"]["code"]
    must(all(value in (200, 429, "too_many") for value in seen.values()), f"{set(seen.values())}")
    must(list(seen.values()).count(200) >= 200, "most are answered")


def test_a_frame_that_claims_too_much_is_closed_at_its_head(world):
    server, admin, made, _ = opened(world)
    for length in (1 << 20 | 1, 1 << 31, 1 << 40, (1 << 63) - 1, (1 << 64) - 1):
        socket = Socket(admin)
        socket.sock.sendall(b"\x81\xff" + struct.pack(">Q", length))
        socket.closing = True
        must(socket.receive() is None and socket.closed in (1002, 1009), f"{length}: {socket.closed}")
    socket = Socket(admin)
    socket.frame(1, (PING % made["threadId"]).encode()[:20], fin=False)
    for byte in b"\x80\xff" + struct.pack(">Q", (1 << 63) - 1):
        socket.sock.sendall(bytes([byte]))
    socket.closing = True
    must(socket.receive() is None and socket.closed == 1009, f"byte by byte, within a message: {socket.closed}")


def test_unsubscribe_and_wrong_types_are_answered(world):
    _, _, made, socket = opened(world)
    socket.send({"type": "subscribe", "id": 1, "after": 0, "session": made["id"]})
    must(socket.receive() == {"type": "subscribed", "id": 1}, "subscribed")
    socket.send({"type": "unsubscribe", "id": 2})
    while (answer := socket.receive())["type"] == "event":
        pass
    must(answer == {"type": "unsubscribed", "id": 2}, f"{answer}")
    for wrong in ({"types": "TOOL_CALL"}, {"types": {"a": 1}}, {"after": "0"}, {"session": 5}, {"types": ["NONE"]}):
        socket.send({"type": "subscribe", "id": 3, **wrong})
        answer = socket.receive()
        must(answer["type"] == "error" and answer["id"] == 3, f"{wrong}: {answer}")
    socket.send({"type": "call", "id": 4, "threadId": made["threadId"], "wait": "long", "call": {"name": "Read", "input": {}}})
    must(socket.receive()["type"] == "error", "wait must be a number")
    socket.send({"type": "nothing", "id": 5})
    must("permission" in socket.receive()["error"]["message"], "all types are named")


def test_a_position_behind_the_end_of_the_log_is_refused(world):
    """As streams refuse it: what is written next would be passed over in silence."""
    server = world.server()
    admin = server.admin()
    session = admin.session()
    beyond = admin.ok("GET", "/api/approvals/pending")["seq"] + 1000
    must(admin.get(f"/api/events?after={beyond}", headers={"Accept": "text/event-stream"}).status == 410, "streams do")
    socket = Socket(admin)
    for scope in ({}, {"session": session["id"]}):
        socket.send({"type": "subscribe", "id": 1, "after": beyond, **scope})
        answer = socket.receive()
        must(answer["type"] == "error" and answer["error"]["code"] == "gone" and "from the start" in answer["error"]["message"], f"{answer}")
    socket.send({"type": "subscribe", "id": 2, "after": 0})
    must(socket.receive()["type"] == "subscribed", "the socket is of use afterwards")
    socket.close()


def test_a_subscriber_that_reads_slowly_gets_everything(world):
    """More than any queue holds waits for it while it does not read; once it reads, all comes, and it is not cut."""
    server = world.server()
    admin = server.admin()
    session = admin.session()
    socket = Socket(admin)
    socket.send({"type": "subscribe", "id": 1, "after": 0, "types": ["TOOL_CALL"]})
    must(socket.receive()["type"] == "subscribed", "subscribed")
    text = "x" * 200000
    names = [f"c{number:02}" for number in range(24)]
    for name in names:
        admin.call(session["threadId"], "Bash", {"command": f"echo {text}"}, id=name)
    must([socket.receive()["event"]["data"]["id"] for _ in names] == names, "each once, in order")
    socket.close()
