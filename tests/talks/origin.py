"""A page on another origin, or behind a rebound name, can neither decide nor read.

The requests are those a browser sends: a simple form post without a preflight, a fetch with its Origin, a
WebSocket, an EventSource. Each holds a good token, the worst case: even then it must fail.
"""
from world import Client, Socket, must


class Scene:
    def __init__(self, world, *arguments):
        self.server = world.server(*arguments)
        self.admin = self.server.admin(tcp=True)
        made = self.admin.session(title="s")
        self.session, self.thread, self.port = made["id"], made["threadId"], self.server.port
        self.admin.call(self.thread, "Bash", {"command": "secret"}, id="c1")
        self.decide = f"/api/sessions/{self.session}/approvals/c1"

    def refused(self, words, reply, allowed=(400, 401, 403, 405, 415, 421)):
        must(reply.status in allowed, f"{words}: {reply}")
        must(b"secret" not in reply.body, f"{words}: reads: {reply}")
        self.no_cors(words, reply)
        self.untouched(words)

    def no_cors(self, words, reply):
        for name in reply.headers:
            must(not name.startswith("access-control-"), f"{words}: {name}: {reply.headers[name]}")

    def untouched(self, words):
        must(self.admin.status("c1")["status"] == "awaiting", f"{words}: the call was decided")


def test_rebound_names(world):
    """DNS rebinding: the browser thinks it talks to evil.example, whose address is now 127.0.0.1."""
    scene = Scene(world)
    port = scene.port
    hosts = ["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}",
             f"evil-localhost:{port}", f"127.0.0.1:{port}.evil.example", f"x@127.0.0.1:{port}", f"127.0.0.1:{port}@evil.example",
             "127.0.0.1:1", "localhost:1", f"127.0.0.2:{port}", f"0.0.0.0:{port}", f"2130706433:{port}", f"127.1:{port}",
             f"localhost.:{port}", f"[::ffff:127.0.0.1]:{port}", f"127.0.0.1:{port}/", f"127.0.0.1:0{port}", f"127.0.0.1:{port},evil", ""]
    for host in hosts:
        scene.refused(f"reading with Host {host!r}", scene.admin.get("/api/approvals/pending", headers={"Host": host}))
        scene.refused(f"deciding with Host {host!r}", scene.admin.post(scene.decide, {"decision": "deny"}, headers={"Host": host}))
        must(Socket(scene.admin, headers={"Host": host}).status != 101, f"a socket with Host {host!r}")
        stream = scene.admin.get("/api/events", headers={"Host": host, "Accept": "text/event-stream"})
        scene.refused(f"a stream with Host {host!r}", stream)


def test_our_own_names(world):
    scene = Scene(world)
    for host in (f"127.0.0.1:{scene.port}", f"localhost:{scene.port}", f"LocalHost:{scene.port}"):
        reply = scene.admin.get("/api/approvals/pending", headers={"Host": host})
        must(reply.status == 200 and b"secret" in reply.body, f"Host {host}: {reply}")
        scene.no_cors(f"Host {host}", reply)


def test_foreign_origins(world):
    scene = Scene(world)
    port = scene.port
    origins = ["http://evil.example", "https://evil.example", "null", f"http://evil.example:{port}", f"http://127.0.0.1:{port}.evil.example",
               f"https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://127.0.0.1", "http://localhost", f"http://127.0.0.1:{port}/",
               f"http://localhost.evil.example:{port}", f"http://x@127.0.0.1:{port}", "file://", "chrome-extension://abc", "",
               f"http://127.0.0.1:{port} http://evil.example", "http://evil.example, http://127.0.0.1"]
    for origin in origins:
        headers = {"Origin": origin}
        scene.refused(f"reading from {origin!r}", scene.admin.get("/api/approvals/pending", headers=headers))
        scene.refused(f"deciding from {origin!r}", scene.admin.post(scene.decide, {"decision": "deny"}, headers=headers))
        scene.refused(f"a call from {origin!r}", scene.admin.post(f"/api/threads/{scene.thread}/tool-calls", {"name": "x", "input": {}},
                                                                   headers=headers))
        scene.refused(f"a stream from {origin!r}", scene.admin.get("/api/events", headers={**headers, "Accept": "text/event-stream"}))
        must(Socket(scene.admin, headers=headers).status != 101, f"a socket from {origin!r}")
        preflight = {**headers, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        for token in (None, scene.admin.token):
            reply = Client(scene.server, token, tcp=True).request("OPTIONS", scene.decide, headers=preflight)
            scene.refused(f"a preflight from {origin!r}", reply)
    must(len(scene.admin.pending()) == 1, "a foreign call was kept")


def test_our_own_origin(world):
    scene = Scene(world)
    for host in (f"127.0.0.1:{scene.port}", f"localhost:{scene.port}"):
        headers = {"Origin": f"http://{host}", "Host": host, "Sec-Fetch-Site": "same-origin"}
        must(scene.admin.get("/api/approvals/pending", headers=headers).status == 200, f"our own page at {host} reads")
        opened = Socket(scene.admin, headers=headers)
        must(opened.status == 101, f"our own page at {host} opens a socket: {opened.head}")
        opened.close()


def test_what_the_browser_says_of_the_site(world):
    scene = Scene(world)
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        scene.refused(f"deciding, {site}", scene.admin.post(scene.decide, {"decision": "deny"}, headers=headers))
        scene.refused(f"reading, {site}", scene.admin.get("/api/approvals/pending", headers=headers))


def test_simple_forms(world):
    """What a page can send to anyone without being asked first: three content types, no headers of its own."""
    scene = Scene(world)
    text = '{"decision":"allow_once"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain;application/json"):
        for token in (None, scene.admin.token):
            client = Client(scene.server, token, tcp=True)
            for more in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
                scene.refused(f"{kind} {more}", client.post(scene.decide, text, headers={"Content-Type": kind, **more}))
    scene.refused("a link", Client(scene.server, None, tcp=True).get(scene.decide + "?decision=allow_once"))
    scene.admin.get(scene.decide + "?decision=deny", headers={"X-HTTP-Method-Override": "POST"})
    scene.untouched("a method override")


def test_over_the_unix_socket_too(world):
    scene = Scene(world)
    local = scene.server.admin()
    scene.refused("a foreign origin", local.post(scene.decide, {"decision": "deny"}, headers={"Origin": "http://evil.example"}))
    must(local.get("/api/approvals/pending").status == 200, "the socket itself")


def test_further_hosts_can_be_named(world):
    scene = Scene(world, "--allowed-hosts", "nod.example,nod.example:8443")
    must(scene.admin.get("/api/sessions", headers={"Host": "nod.example"}).status == 200, "a host that was named")
    scene.refused("another", scene.admin.get("/api/sessions", headers={"Host": "nod.example.evil"}))


def test_headers_that_keep_browsers_careful(world):
    scene = Scene(world)
    for path in ("/api/sessions", "/api/approvals/pending", "/healthz", "/api/nothing", "/api/openapi.json", "/metrics"):
        reply = scene.admin.get(path)
        must(reply.headers.get("x-content-type-options") == "nosniff", f"{path}: nosniff")
        must("no-store" in reply.headers.get("cache-control", ""), f"{path}: no-store")
        scene.no_cors(path, reply)
