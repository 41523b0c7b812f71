"""Two nodes behind the proxies of docs/OPERATIONS.md, with the very text that stands there: calls that wait, streams and
WebSockets go through, and a node that dies takes nobody along."""
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from world import PATIENCE, ROOT, Client, Skip, Socket, eventually, must

HOST = {"Host": "nod.example.com"}


def manual(language, begins):
    """The block of the manual in that language which begins like this."""
    with open(os.path.join(ROOT, "docs", "OPERATIONS.md"), encoding="utf-8") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S)
    return next(block for block in blocks if block.startswith(begins))


def adapt(text, *changes):
    """What must be otherwise on this machine: addresses and TLS."""
    for old, new in changes:
        must(old in text, f"docs/OPERATIONS.md does not say {old!r} any more")
        text = text.replace(old, new)
    return text


class Front:
    """A proxy, seen as a server that clients can talk to."""

    def __init__(self, program):
        self.program = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not self.program:
            raise Skip(f"{program} is not installed: dev/setup test")
        self.folder = tempfile.mkdtemp(prefix="nod-front-")
        os.chmod(self.folder, 0o755)
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam("nobody").pw_uid, -1)
        self.socket, self.process, self.port = os.path.join(self.folder, "front.sock"), None, None

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen([self.program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, "HOME": self.folder}, start_new_session=True)
        eventually(self.accepts, self.log)
        return self

    def accepts(self):
        """Whether a connection is taken: the socket's file is there before anybody listens on it."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def remove(self):
        if self.process:
            self.process.terminate()  # it may let streams end first, which these do not
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def nginx(ports):
    front = Front("nginx")
    text = adapt(manual("nginx", "upstream"), ("10.0.0.11:7717", f"127.0.0.1:{ports[0]}"),
                 ("10.0.0.12:7717", f"127.0.0.1:{ports[1]}"), ("listen 443 ssl;", f"listen unix:{front.socket};"))
    temporary = "".join(f"{kind}_temp_path {front.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = front.write("nginx.conf", f"daemon off;\npid {front.folder}/pid;\nerror_log stderr;\nevents {{}}\n"
                                     f"http {{\naccess_log off;\n{temporary}{text}}}\n")
    return front.start("-p", front.folder, "-c", path)


def caddy(ports):
    front = Front("caddy")
    text = adapt(manual("caddyfile", "nod.example.com {"), ("10.0.0.11:7717", f"127.0.0.1:{ports[0]}"),
                 ("10.0.0.12:7717", f"127.0.0.1:{ports[1]}"),
                 ("nod.example.com {", f"http://nod.example.com {{\n    bind unix/{front.socket}"))
    path = front.write("Caddyfile", "{\n    admin off\n}\n" + text)
    return front.start("run", "--config", path, "--adapter", "caddyfile")


def ask_again(client, path, body):
    """The same again while the proxy says that a node was lost under it."""
    return eventually(lambda: (r := client.post(path, body, headers=HOST, timeout=PATIENCE)).status != 502 and r, "no 502")


def behind(pg, world, proxy):
    url = pg.create(f"f{os.path.basename(world.folder)}")
    nodes = [world.server("--store", url, "--allowed-hosts", HOST["Host"], data=os.path.join(world.folder, f"node{n}")) for n in range(2)]
    front = proxy([node.port for node in nodes])
    try:
        admin = nodes[0].admin()
        there = Client(front, admin.token)
        eventually(lambda: all(there.get("/api/sessions", headers=HOST).status == 200 for _ in range(4)), front.log)
        session = there.ok("POST", "/api/sessions", {"toolPolicies": {"Bash": "ask"}}, headers=HOST)
        stream = world.follow(there, "?after=0", HOST)
        sock = Socket(there, headers=HOST)
        must(sock.status == 101, f"the upgrade does not come through: {sock.head}")
        sock.send({"type": "subscribe", "id": 1, "after": 0, "types": ["TOOL_APPROVAL_REQUEST"]})
        must(sock.receive() == {"type": "subscribed", "id": 1}, "subscribed")
        path = f"/api/threads/{session['threadId']}/tool-calls"
        for n in range(6):
            if n == 3:
                nodes[1].kill()
            replies = []
            asking = threading.Thread(target=lambda n=n, replies=replies: replies.append(ask_again(
                there, f"{path}?wait=20", {"id": f"c{n}", "name": "Bash", "input": {"command": "make"}})))
            asking.start()
            if n < 3:  # nothing is held back on the way, though the stream goes on; later it may have been the dead one's
                stream.wait(lambda n=n: stream.types().count("TOOL_APPROVAL_REQUEST") == n + 1, "the request")
                must(sock.receive()["event"]["data"]["toolCallId"] == f"c{n}", "the request, on the socket")
            answer = f"/api/sessions/{session['id']}/approvals/c{n}"
            eventually(lambda a=answer: there.post(a, {"decision": "allow_once"}, headers=HOST).status == 200, "it is answered")
            asking.join(PATIENCE)
            must(replies and replies[0].status == 200 and replies[0].json["status"] == "allowed", f"the agent was told {replies}")
        sock.close()
    finally:
        front.remove()


def test_nginx_as_in_the_manual(pg, world):
    behind(pg, world, nginx)


def test_caddy_as_in_the_manual(pg, world):
    behind(pg, world, caddy)
