"""What a waiting call costs: memory of the server while many agents wait for an answer."""
import json
import resource
import select
import socket
import time

from frame import Broken, resident_mb, section, until

AGENTS, INPUT_BYTES = 10000, 1024
LARGE, LARGE_BYTES = 500, 64 << 10
REST_S = 12  # what nobody asks for is forgotten in the meantime


def request(server, token, thread, number, size):
    text = "x" * (size - len('{"command":"cc ","description":""}') - 2)
    body = json.dumps({"id": f"w{number}", "name": "Bash", "input": {"command": "cc a", "description": text}}).encode()
    return (f"POST /api/threads/{thread}/tool-calls?wait=600 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def pending(server):
    return server.talk("GET", "/api/approvals/pending?limit=1")["total"]


def wait_with(server, count, size):
    """Connections of agents that wait, each with a call of its own, ten to a session."""
    lines, thread, token, connection = [], None, server.token(), server.connect()
    for number in range(count):
        if number % 10 == 0:
            thread = server.talk("POST", "/api/sessions", {"title": "waiting"}, connection)["threadId"]
        line = socket.create_connection(("127.0.0.1", server.port))
        line.sendall(request(server, token, thread, number, size))
        lines.append(line)
    connection.close()
    look = select.poll()
    for line in lines:
        look.register(line, select.POLLIN)
    by_number = {line.fileno(): line for line in lines}

    def all_wait():
        for number, _ in look.poll(0):
            raise Broken(f"an agent does not wait: {by_number[number].recv(500)}")
        return pending(server) == count
    until(all_wait, f"{count} calls wait", patience=120)
    return lines


def memory(world, name, count, size):
    """Megabytes of the server before, and with so many waiting."""
    with world.serve(name) as server:
        server.talk("GET", "/api/approvals/pending")
        before = resident_mb(server.child.pid)
        lines = wait_with(server, count, size)
        time.sleep(REST_S)
        after = resident_mb(server.child.pid)
        for line in lines:
            line.close()
    return before, after


@section("agents")
def waiting(world, report):
    most = max(AGENTS + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (AGENTS + 1000, most))
    before, after = memory(world, "waiting-many", AGENTS, INPUT_BYTES)
    report.machine("waiting", f"{AGENTS:,} agents, {before:.1f} MB before, {(after - before) * 1024 / AGENTS:.2f} KB each")
    report.row("10,000 agents that wait with calls of 1 KB", after, "MB", at_most=60, limit=" MB")
    before, after = memory(world, "waiting-large", LARGE, LARGE_BYTES)
    each = (after - before) * 1024 / LARGE
    report.row("a waiting call of 64 KB, memory; to its input", each, "KB", LARGE_BYTES / 1024, each * 1024 / LARGE_BYTES,
               at_most=1.5)
