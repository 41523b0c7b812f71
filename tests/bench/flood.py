"""One hostile token and 500 strangers, with the limits as they are by default: people see and answer all the same."""
import json
import multiprocessing
import socket
import statistics
import time

from frame import NOD, Broken, Server, resident_mb, section, stop

SECONDS = 30
STRANGERS = 500
ASKERS = 4          # processes that ask with the hostile token, each as fast as it can
LIST_MS, DECISION_MS, SEEN_MS, RESIDENT_MB = 100, 50, 1000, 400


class WithLimits(Server):
    """The same server without the options that other sections measure with."""

    def __init__(self, world, name):
        self.world, self.name, self.data = world, name, world.path(name)
        self.child = world.spawn([NOD, "serve", "--data", self.data, "--listen", "127.0.0.1:0"], name)
        self.wait_ready()


def ask_without_end(port, token, thread, end):
    """Large calls that wait, over connections of its own; refusals are what it gets from then on."""
    body = json.dumps({"name": "Bash", "input": {"command": "x" * 100_000}}).encode()
    request = (f"POST /api/threads/{thread}/tool-calls HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
               f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
                while time.monotonic() < end:
                    line.sendall(request)
                    if not line.recv(65536):
                        break
        except OSError:
            pass


def bother(port, end):
    """Strangers: connections that say nothing, half a request, or ask for the page and read nothing; new ones for those
    that were closed."""
    words = (b"", b"GET / HTTP/1.1\r\nHo", f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 50)
    lines = []
    while time.monotonic() < end:
        if len(lines) == STRANGERS:
            lines.pop(0).close()
        try:
            line = socket.create_connection(("127.0.0.1", port), timeout=1)
            line.setblocking(False)
            lines.append(line)
            line.send(words[len(lines) % len(words)])
        except OSError:
            pass
        time.sleep(0.002)


def measure(server, agent, thread, end):
    """As a person beside it: the list, a call of another agent in it, and the answer to that."""
    lists, decisions, seen, peak = [], [], [], 0.0
    number = 0
    while time.monotonic() < end:
        number += 1
        call = f"mine{number}"
        asked = time.perf_counter()
        agent("POST", f"/api/threads/{thread}/tool-calls", {"id": call, "name": "Bash", "input": {"command": "make"}})
        while True:
            began = time.perf_counter()
            listed = server.talk("GET", "/api/approvals/pending")["pendingApprovals"]
            lists.append((time.perf_counter() - began) * 1000)
            found = [one for one in listed if one["toolCallId"] == call]
            if found:
                break
            if time.perf_counter() - asked > 20:
                raise Broken("another agent's call is not seen")
        seen.append((time.perf_counter() - asked) * 1000)
        began = time.perf_counter()
        server.talk("POST", f"/api/sessions/{found[0]['sessionId']}/approvals/{call}", {"decision": "allow_once"})
        decisions.append((time.perf_counter() - began) * 1000)
        peak = max(peak, resident_mb(server.child.pid))
        time.sleep(0.2)
    return statistics.median(lists), statistics.median(decisions), max(seen), peak


@section("flood")
def flood(world, report):
    server = WithLimits(world, "flood")
    try:
        hostile = server.talk("POST", "/api/tokens", {"role": "agent", "name": "hostile"})["token"]
        other = server.talk("POST", "/api/tokens", {"role": "agent", "name": "other"})["token"]

        def as_agent(token):
            def talk(method, path, body):
                line = server.connect()
                line.request(method, path, json.dumps(body), {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
                reply = line.getresponse()
                text = json.loads(reply.read())
                line.close()
                if reply.status >= 300:
                    raise Broken(f"{method} {path}: status {reply.status}: {text}")
                return text
            return talk

        theirs = as_agent(hostile)("POST", "/api/sessions", {"title": "hostile"})["threadId"]
        mine = as_agent(other)("POST", "/api/sessions", {"title": "other"})["threadId"]
        end = time.monotonic() + SECONDS
        attackers = [multiprocessing.Process(target=ask_without_end, args=(server.port, hostile, theirs, end)) for _ in range(ASKERS)]
        attackers.append(multiprocessing.Process(target=bother, args=(server.port, end)))
        for attacker in attackers:
            attacker.start()
        try:
            listed, decided, seen, peak = measure(server, as_agent(other), mine, end)
            if server.talk("GET", "/api/approvals/pending?agent=hostile")["total"] < 50:
                raise Broken("there was no flood")
        finally:
            for attacker in attackers:
                attacker.kill()
                attacker.join()
    finally:
        stop(server.child)
    report.row("flood: a person's list, median", listed, "ms", at_most=LIST_MS)
    report.row("flood: an answer, median", decided, "ms", at_most=DECISION_MS)
    report.row("flood: another agent's call is seen, at most", seen, "ms", at_most=SEEN_MS)
    report.row("flood: memory, at most", peak, "MB", at_most=RESIDENT_MB)

