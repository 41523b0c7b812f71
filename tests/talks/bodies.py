"""Bodies: a stranger's is not read, and all that are being read together have a limit. With raw sockets."""
import json
import select

from world import eventually, must

MIB = 1 << 20
LIMIT = 128 * MIB  # LIMIT_BODIES_BYTES of base/limits.h


def head(path, length, token=None, more=""):
    who = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{who}{more}\r\n").encode()


def answer_of(sock):
    """Status, headers and body of the one answer; and that the server hangs up after it."""
    received = b""
    while True:
        piece = sock.recv(65536)
        if not piece:
            break
        received += piece
    top, _, body = received.partition(b"\r\n\r\n")
    lines = top.decode().split("\r\n")
    return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}, body


def asked(server, request):
    sock = server.raw(tcp=False)
    sock.sendall(request)
    return answer_of(sock)


def test_a_stranger_is_refused_before_the_body(world):
    server = world.server()
    for path in ("/api/sessions", "/api/threads/ses_1.main/tool-calls?large=1", "/api/hooks/claude", "/api/mcp", "/api/nothing"):
        for token in (None, "nod_unknown"):
            status, headers, body = asked(server, head(path, MIB, token))
            must(status == 401 and json.loads(body)["error"]["code"] == "unauthenticated", f"{path}: {status} {body!r}")
            must(headers["connection"] == "close", f"{headers}")
    status, _, body = asked(server, head("/api/sessions", MIB, more="Expect: 100-continue\r\n"))
    must(status == 401, f"told before it is asked to go on: {status} {body!r}")
    status, _, body = asked(server, head("/api/sessions", MIB, more="Transfer-Encoding: chunked\r\n").replace(b"Content-Length: 1048576\r\n", b""))
    must(status == 401, f"in chunks: {status} {body!r}")
    status, _, body = asked(server, head("/api/login", MIB))
    must(status == 413, f"what anyone may send is small: {status} {body!r}")


def test_a_role_that_may_not_is_refused_before_the_body(world):
    server = world.server()
    viewer = server.admin().token_for("viewer", "a-viewer")
    status, _, body = asked(server, head("/api/sessions", MIB, viewer.token))
    must(status == 403, f"{status} {body!r}")
    sock = server.raw()
    sock.sendall(head("/api/sessions", MIB, viewer.token).replace(b"localhost", b"elsewhere.example"))
    must(answer_of(sock)[0] == 403, "another Host")


def test_who_may_sends_slowly(world):
    server = world.server()
    body = json.dumps({"title": "x" * 100000})
    sock = server.raw(tcp=False)
    sock.sendall(head("/api/sessions", len(body), server.admin_token, "Connection: close\r\n"))
    for at in range(0, len(body), 30000):
        sock.sendall(body[at:at + 30000].encode())
    status, _, answer = answer_of(sock)
    must(status == 400 and b"title" in answer, f"read to its end, and then judged: {status} {answer!r}")


def test_all_bodies_together_have_a_limit(world):
    server = world.server()
    before = server.memory_kb()
    body = json.dumps({"title": "t", "cwd": "/" + "x" * (MIB - 100)}).encode()
    socks = []
    for _ in range(LIMIT // len(body) + 8):
        sock = server.raw(tcp=False)
        sock.sendall(head("/api/sessions", len(body), server.admin_token, "Connection: close\r\n"))
        try:
            sock.sendall(body[:-1])
        except OSError:
            pass  # refused in the middle
        socks.append(sock)
    eventually(lambda: select.select(socks, [], [], 0)[0], "somebody is refused")
    refused = select.select(socks, [], [], 0.2)[0]
    must(1 <= len(refused) <= 16, f"{len(refused)} of {len(socks)} were refused")
    for sock in refused:
        status, headers, answer = answer_of(sock)
        must(status == 503 and headers["retry-after"] and b"unavailable" in answer, f"{status} {headers} {answer!r}")
    must(server.memory_kb() - before < 4 * LIMIT // 1024, "memory stays near the limit")
    must(server.admin().get("/api/sessions").status == 200, "others are served meanwhile")
    kept = [sock for sock in socks if sock not in refused]
    for sock in kept[1:100]:
        sock.close()
    kept[0].sendall(body[-1:])  # of the last ones some may be refused only now
    must(answer_of(kept[0])[0] == 400, "who was not refused is read to the end (and the path is too long)")
    must(server.admin().session(title="after")["title"] == "after", "and there is room again")
