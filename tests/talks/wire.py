"""HTTP as careful clients and odd ones speak it; all of it is right, and all of it must work."""
import json
import socket
import time

from world import PATIENCE, must


class Wire:
    def __init__(self, world):
        self.server = world.server()
        self.admin = self.server.admin(tcp=True)
        made = self.admin.session()
        self.calls = f"/api/threads/{made['threadId']}/tool-calls"
        self.usual = (f"Host: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer {self.server.admin_token}\r\n"
                      "Content-Type: application/json\r\n")

    def post(self, call, more=""):
        body = json.dumps({"id": call, "name": "Read", "input": {"file_path": "/" + call}})
        return f"POST {self.calls} HTTP/1.1\r\n{self.usual}{more}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def answers(sock, count):
    """The next answers on a connection: (status, headers, body)."""
    buffer, got = b"", []
    sock.settimeout(PATIENCE)
    while len(got) < count:
        while b"\r\n\r\n" not in buffer:
            piece = sock.recv(65536)
            must(piece, f"closed after {len(got)} answers; {buffer[:200]!r}")
            buffer += piece
        head, _, buffer = buffer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split()[1])
        length = int(headers.get("content-length", 0)) if status >= 200 else 0
        while len(buffer) < length:
            piece = sock.recv(65536)
            must(piece, "closed in a body")
            buffer += piece
        got.append((status, headers, buffer[:length]))
        buffer = buffer[length:]
    must(not buffer, f"more than was asked for: {buffer[:200]!r}")
    return got


def test_pipelined_requests_are_answered_in_order(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        sock.sendall(b"".join(wire.post(f"c{n}") for n in range(50)))
        for number, (status, _, body) in enumerate(answers(sock, 50)):
            must(status == 200 and json.loads(body)["toolCallId"] == f"c{number}", f"{number}: {status} {body[:100]!r}")


def test_a_pipelined_request_behind_one_that_waits(world):
    wire = Wire(world)
    wire.admin.request("POST", wire.calls, {"id": "w", "name": "Bash", "input": {"command": "x"}})
    with wire.server.raw() as sock:
        sock.sendall(f"GET /api/tool-calls/w?wait=1 HTTP/1.1\r\n{wire.usual}\r\n".encode() + wire.post("c1"))
        first, second = answers(sock, 2)
    must(json.loads(first[2])["status"] == "awaiting" and json.loads(second[2])["toolCallId"] == "c1", "in order")


def test_byte_by_byte(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in wire.post("c1"):
            sock.sendall(bytes([byte]))
        must(answers(sock, 1)[0][0] == 200, "a request byte by byte")


def test_chunked_requests(world):
    wire = Wire(world)
    body = json.dumps({"id": "c1", "name": "Read", "input": {"file_path": "/x"}}).encode()
    for size in (1, 7, 1000):
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + size]), body[i:i + size]) for i in range(0, len(body), size))
        with wire.server.raw() as sock:
            sock.sendall(f"POST {wire.calls} HTTP/1.1\r\n{wire.usual}Transfer-Encoding: chunked\r\n\r\n".encode() + pieces + b"0\r\n\r\n")
            must(answers(sock, 1)[0][0] == 200, f"chunks of {size}")


def test_expect_100_continue(world):
    wire = Wire(world)
    head, _, body = wire.post("c1", "Expect: 100-continue\r\n").partition(b"\r\n\r\n")
    with wire.server.raw() as sock:
        sock.sendall(head + b"\r\n\r\n")
        must(answers(sock, 1)[0][0] == 100, "go on")
        sock.sendall(body)
        must(answers(sock, 1)[0][0] == 200, "and the answer")


def test_a_client_that_shuts_its_side_still_gets_its_answer(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        sock.sendall(wire.post("c1"))
        sock.shutdown(socket.SHUT_WR)
        must(answers(sock, 1)[0][0] == 200, "the answer")


def test_keep_alive_and_close(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        for number in range(20):
            sock.sendall(wire.post(f"k{number}"))
            must(answers(sock, 1)[0][0] == 200, "kept alive")
        sock.sendall(wire.post("last", "Connection: close\r\n"))
        must(answers(sock, 1)[0][0] == 200, "the last")
        must(sock.recv(10) == b"", "closed when asked")
    with wire.server.raw() as sock:
        sock.sendall(wire.post("old").replace(b"HTTP/1.1", b"HTTP/1.0"))
        must(answers(sock, 1)[0][0] == 200, "HTTP/1.0")
        must(sock.recv(10) == b"", "HTTP/1.0 is closed")


def test_HEAD_has_no_body(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        sock.sendall(f"HEAD /healthz HTTP/1.1\r\n{wire.usual}\r\n".encode())
        time.sleep(0.1)
        head = sock.recv(65536)
        must(head.count(b"\r\n\r\n") == 1 and head.endswith(b"\r\n\r\n"), f"a body after HEAD: {head!r}")
        if b"connection: close" not in head.lower():
            sock.sendall(wire.post("c1"))
            must(answers(sock, 1)[0][0] == 200, "the next request")


def test_empty_lines_and_odd_cases_that_are_right(world):
    wire = Wire(world)
    with wire.server.raw() as sock:
        sock.sendall(wire.post("c1").replace(b"Authorization: Bearer ", b"AUTHORIZATION:bearer ").replace(b"Content-Type:", b"content-TYPE:  "))
        must(answers(sock, 1)[0][0] == 200, "names of headers in any case, blanks around values")
    with wire.server.raw() as sock:
        sock.sendall(f"GET /api/%73essions HTTP/1.1\r\n{wire.usual}\r\n".encode())
        must(answers(sock, 1)[0][0] == 200, "an escaped letter in the path")


def test_many_connections_at_once(world):
    wire = Wire(world)
    socks = [wire.server.raw() for _ in range(300)]
    for number, sock in enumerate(socks):
        sock.sendall(wire.post(f"m{number}"))
    for sock in socks:
        must(answers(sock, 1)[0][0] == 200, "each is answered")
        sock.close()
