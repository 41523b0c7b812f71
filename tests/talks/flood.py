"""Large calls and many calls: every approver still sees what waits, and each agent has its turn."""
import gzip
import os
import re
import select
import signal
import socket
import threading

from world import NO_LIMITS, NOD, PATIENCE, eventually, must

LARGE = "x" * 7_900_000


def insist(client, path, body):
    """Large bodies on a busy machine: one that comes or is kept too slowly is refused, and sent again, as clients do."""
    while (reply := client.request("POST", path, body, timeout=3 * PATIENCE)).status in (408, 503):
        pass
    return reply


def ask_large(client, thread, **more):
    body = {"name": "Write", "input": {"file_path": "/x", "content": LARGE}, **more}
    reply = insist(client, f"/api/threads/{thread}/tool-calls?large=1", body)
    must(reply.status == 200 and reply.json["status"] == "awaiting", f"a large call: {reply}")
    return reply.json["toolCallId"]


def five_large(admin):
    """Five calls that wait, of three agents: (agent, session, call)."""
    asked = []
    for number, count in enumerate((2, 2, 1)):
        agent = admin.token_for("agent", f"agent-{number}")
        made = agent.session(title=f"of agent {number}")
        asked += [(agent, made["id"], ask_large(agent, made["threadId"], id=f"large-{number}-{i}")) for i in range(count)]
    return asked


def test_large_calls_leave_the_list_small(world):
    server = world.server()
    admin = server.admin()
    asked = five_large(admin)
    reply = admin.get("/api/approvals/pending")
    must(reply.status == 200 and len(reply.body) < 20_000, f"{reply.status}, {len(reply.body)} bytes")
    calls = reply.json["pendingApprovals"]
    must([c["toolCallId"] for c in calls] == [call for _, _, call in asked], f"{[c['toolCallId'] for c in calls]}")
    for call in calls:
        must(call["cut"] is True and "input" not in call["toolCall"] and call["toolCall"]["inputBytes"] > 7_900_000, f"{call}")
        must("preview" not in call and call["previewBytes"] > 2048 and call["digest"] and call["summary"], f"{call}")
        must(call["toolCall"]["name"] == "Write" and call["reason"]["why"] and call["suggestions"] == [], f"{call}")
    _, session, call = asked[0]
    thread = calls[0]["threadId"]
    for scope in (f"/api/sessions/{session}", f"/api/threads/{thread}"):
        must(len(admin.ok("GET", f"{scope}/approvals/pending")["pendingApprovals"]) == 2, "in a scope")
        whole = admin.ok("GET", f"{scope}/approvals/{call}")
        must(whole["toolCall"]["input"]["content"] == LARGE and "cut" not in whole and whole["preview"], "the call by itself is whole")
        must(whole["digest"] == calls[0]["digest"], "the same digest")


def test_every_tool_works_with_large_calls(world):
    server = world.server()
    admin = server.admin()
    asked = five_large(admin)
    listed = world.nod("pending")
    must(all(call in listed.stdout for _, _, call in asked), f"{listed.stdout} {listed.stderr}")
    shown = eventually(lambda: (c := world.nod("show", asked[0][2], exits=None)).process.returncode != 6 and c, "an answer in time")
    must("xxxx" in shown.stdout, f"{shown.stderr}")
    world.nod("approve", asked[0][2])
    of_one = world.nod("deny", "--all", "--agent", "agent-1")
    must(of_one.stdout.count("denied large-1-") == 2, f"{of_one.stdout} {of_one.stderr}")
    left = [c["toolCallId"] for c in admin.pending()]
    must(left == ["large-0-1", "large-2-0"], f"{left}")
    rest = world.nod("deny", "--all", "-m", "too large")
    must(admin.pending() == [], f"{rest.stdout} {rest.stderr}")


def test_what_is_just_small_enough_is_not_cut(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    for size, name in ((1900, "small"), (2100, "large")):
        admin.call(made["threadId"], "Bash", {"command": "make " + "x" * size}, id=name)
    small, large = admin.pending()
    must("cut" not in small and small["toolCall"]["input"]["command"].endswith("x") and small["preview"], f"{small}")
    must(large["cut"] and "input" not in large["toolCall"] and large["toolCall"]["inputBytes"] > 2100, f"{large}")


def test_the_list_is_the_same_after_a_restart(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    for size, name in ((10, "small"), (100_000, "large")):
        admin.call(made["threadId"], "Write", {"file_path": "/x", "content": "x" * size}, id=name)
    before = admin.pending()
    server.kill()
    server.start()
    must(server.admin().pending() == before, f"{before} and then {server.admin().pending()}")


def test_every_agent_has_its_turn(world):
    server = world.server()
    admin = server.admin()
    noisy, quiet = admin.token_for("agent", "noisy"), admin.token_for("agent", "quiet")
    noise, silence = noisy.session(), quiet.session()
    for number in range(300):
        noisy.call(noise["threadId"], "Bash", {"command": f"n{number}"}, id=f"n{number}")
    for number in range(3):
        quiet.call(silence["threadId"], "Bash", {"command": f"q{number}"}, id=f"q{number}")
    page = admin.ok("GET", "/api/approvals/pending")
    ids = [c["toolCallId"] for c in page["pendingApprovals"]]
    must(len(ids) == 200 and ids[-3:] == ["q0", "q1", "q2"] and ids[:197] == [f"n{i}" for i in range(197)], f"{ids}")
    must(page["total"] == 303 and page["next"], f"{page['total']}")
    rest = admin.ok("GET", f"/api/approvals/pending?after={page['next']}")
    must([c["toolCallId"] for c in rest["pendingApprovals"]] == [f"n{i}" for i in range(197, 300)] + ["q0", "q1", "q2"], "the rest, in order")
    must("next" not in rest, "and that is all")
    of_one = admin.ok("GET", "/api/approvals/pending?agent=quiet")["pendingApprovals"]
    must([c["toolCallId"] for c in of_one] == ["q0", "q1", "q2"], "of one agent")
    listed = world.nod("pending")
    must("303 calls wait" in listed.stdout and "q2" in listed.stdout, f"{listed.stdout[-500:]}")
    denied = world.nod("deny", "--all", "--agent", "noisy")
    must(denied.stdout.count("denied n") == 300, f"{denied.stdout[-300:]} {denied.stderr}")
    must([c["toolCallId"] for c in admin.pending()] == ["q0", "q1", "q2"], "the others wait on")


def test_what_is_risky_is_not_allowed_in_bulk(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    for name, given in (("Bash", {"command": "rm x"}), ("Bash", {"command": "frobnicate"}), ("Bash", {"command": "touch x"}),
                        ("Note", {"text": "x"}), ("Note", {"text": "x" * 5000})):
        admin.call(made["threadId"], name, given, id=f"{name.lower()}-{len(next(iter(given.values())))}")
    said = world.nod("approve", "--all", "--yes")
    must("4 calls are left out" in said.stderr, f"{said.stdout} {said.stderr}")
    must([c["toolCallId"] for c in admin.pending()] == ["bash-4", "bash-10", "note-1", "note-5000"], f"{admin.pending()}")
    world.nod("deny", "--all")
    must(admin.pending() == [], "all are denied")


# ---- how much may wait ----

def refused(reply, status, code):
    must(reply.status == status and reply.code == code, f"{reply}")
    must(status != 429 or reply.headers.get("retry-after"), f"{reply.headers}")


def test_waiting_calls_are_limited(world):
    server = world.server("--waiting-per-token", "5", "--waiting-per-session", "8", "--waiting-total", "10")
    admin = server.admin()
    agent, other = admin.token_for("agent", "agent"), admin.token_for("agent", "other")
    made, apart = agent.session(), other.session()
    for number in range(5):
        agent.call(made["threadId"], "Bash", {"command": str(number)}, id=f"a{number}")
    refused(agent.ask(made["threadId"], "Bash", {"command": "x"}, id="a5"), 429, "too_many_waiting")
    must(agent.call(made["threadId"], "Bash", {"command": "0"}, id="a0")["status"] == "awaiting", "what waits is found again")
    must(agent.call(made["threadId"], "TodoWrite", {"todos": []})["status"] == "allowed", "what rules answer is not counted")
    for number in range(3):
        admin.call(made["threadId"], "Bash", {"command": str(number)}, id=f"b{number}")
    refused(admin.ask(made["threadId"], "Bash", {"command": "x"}, id="b3"), 429, "too_many_waiting")
    for number in range(2):
        other.call(apart["threadId"], "Bash", {"command": str(number)}, id=f"c{number}")
    refused(other.ask(apart["threadId"], "Bash", {"command": "x"}, id="c2"), 429, "too_many_waiting")
    admin.decided(made["id"], "a0", "allow_once")
    other.call(apart["threadId"], "Bash", {"command": "x"}, id="c2")
    must(agent.call(made["threadId"], "Bash", {"command": "0"}, id="a0")["status"] == "allowed", "an answered call has its answer")
    server.kill()
    server.start()
    refused(other.ask(apart["threadId"], "Bash", {"command": "x"}, id="c3"), 429, "too_many_waiting")
    hook = other.post("/api/hooks/claude?strict=1", {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/tmp",
                                            "tool_input": {"command": "x"}, "tool_use_id": "toolu_1", "permission_mode": "default"})
    must(hook.json.get("hookSpecificOutput", {}).get("permissionDecision") == "deny", f"a hook is refused, never let through: {hook}")


def test_there_are_limits_without_any_setting(world):
    for name in NO_LIMITS:
        del world.environment[name]
    admin = world.server().admin()
    agent = admin.token_for("agent", "agent")
    made = agent.session()
    found = [agent.ask(made["threadId"], "Bash", {"command": str(n)}).status for n in range(101)]
    must(found[:100] == [200] * 100 and found[100] == 429, f"{found}")


def test_the_bytes_that_wait_are_limited(world):
    server = world.server("--waiting-bytes-per-token", "100000", "--waiting-bytes-total", "150000")
    admin = server.admin()
    first, second = admin.token_for("agent", "first"), admin.token_for("agent", "second")
    one, two = first.session(), second.session()
    given = {"text": "x" * 60_000}
    first.call(one["threadId"], "Note", given, id="a")
    refused(first.ask(one["threadId"], "Note", given, id="b"), 429, "too_many_waiting")
    refused(first.ask(one["threadId"], "Note", {"text": "x" * 120_000}, id="c"), 413, "too_large")
    second.call(two["threadId"], "Note", given, id="d")
    refused(second.ask(two["threadId"], "Note", {"text": "x" * 30_000}, id="e"), 429, "too_many_waiting")
    admin.decided(one["id"], "a", "deny")
    second.call(two["threadId"], "Note", {"text": "x" * 30_000}, id="e")


def ask_together(agent, thread, count, name="n"):
    """Statuses of calls that are asked at once, on connections of their own."""
    found = []

    def one(number):
        found.append(agent.ask(thread, "Bash", {"command": str(number)}, id=f"{name}{number}").status)
    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread_ in threads:
        thread_.start()
    for thread_ in threads:
        thread_.join()
    return found


def test_an_agent_asks_only_so_often(world):
    server = world.server("--asks-per-second", "1", "--asks-burst", "2")
    admin = server.admin()
    agent, other = admin.token_for("agent", "agent"), admin.token_for("agent", "other")
    made, apart = agent.session(), other.session()
    found = ask_together(agent, made["threadId"], 40)
    must(429 in found and found.count(200) >= 2 and set(found) == {200, 429}, f"{found}")
    other.call(apart["threadId"], "Bash", {"command": "x"})
    eventually(lambda: agent.ask(made["threadId"], "Bash", {"command": "late"}, id="late").status == 200, "a moment later it may")
    server.says("an agent asks too often")
    must(server.log().count("an agent asks too often") == 1, f"{server.log()}")


def test_an_agent_that_is_denied_asks_slowly(world):
    server = world.server("--asks-per-second", "20")
    admin = server.admin()
    agent = admin.token_for("agent", "agent")
    made = agent.session()
    for number in range(5):
        agent.call(made["threadId"], "Bash", {"command": "x"}, id=f"d{number}")
        admin.decided(made["id"], f"d{number}", "deny")
    found = ask_together(agent, made["threadId"], 40)
    must(429 in found, f"{found}")
    server.says("after denials")


# ---- what it costs ----

def test_a_waiting_call_costs_little_memory(world):
    world.measure_memory()
    server = world.server()
    admin = server.admin()
    before = server.memory_kb()
    answers = {}

    def ask(agent, thread, call):
        body = {"name": "Write", "id": call, "input": {"file_path": "/x", "content": LARGE}}
        path = f"/api/threads/{thread}/tool-calls?large=1&wait=600"
        answers[call] = insist(agent, path, body)
    asked, threads = [], []
    for number, count in enumerate((2, 2, 1)):
        agent = admin.token_for("agent", f"agent-{number}")
        made = agent.session()
        for i in range(count):
            asked.append((made["id"], f"large-{number}-{i}"))
            threads.append(threading.Thread(target=ask, args=(agent, made["threadId"], asked[-1][1]), daemon=True))
            threads[-1].start()
    eventually(lambda: len(admin.pending()) == 5, "all wait", 3 * PATIENCE)
    eventually(lambda: server.memory_kb() - before < 60_000, lambda: f"from {before} to {server.memory_kb()} KB")
    for session, call in asked:
        admin.decided(session, call, "allow_once")
    for thread in threads:
        thread.join(3 * PATIENCE)
    for _, call in asked:
        must(answers[call].status == 200 and answers[call].json["status"] == "allowed", f"{call}: {answers[call]}")
        must(answers[call].json["input"]["content"] == LARGE, f"{call}: what was approved is given back whole")
    eventually(lambda: server.memory_kb() - before < 60_000, lambda: f"afterwards {server.memory_kb()} KB")


def test_five_large_calls_of_three_agents(world):
    """The list costs what it shows, not what waits; and of the program as it is shipped, little memory."""
    plain = "build-asan" not in NOD and "build-tsan" not in NOD
    server = world.server()
    admin = server.admin()

    def took():
        """Milliseconds in the server, the best of some."""
        return min(float(admin.get("/api/approvals/pending").headers["server-timing"].split("dur=")[1]) for _ in range(20))
    small = admin.session()
    for number in range(5):
        admin.call(small["threadId"], "Write", {"file_path": "/x", "content": "x" * 1500}, id=f"small-{number}")
    before = took()
    for number in range(5):
        admin.decided(small["id"], f"small-{number}", "deny")
    five_large(admin)
    after = took()
    must(after < 4 * before + 1, f"a list of large calls takes {after} ms, of small ones {before} ms")
    if plain:
        eventually(lambda: server.memory_kb() < 100_000, lambda: f"{server.memory_kb()} KB")
    print(f"five calls of 7.9 MB: the list in {after} ms (small calls: {before} ms), {server.memory_kb()} KB")


# ---- one message never stops the loop ----

def test_what_would_take_long_is_refused(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()

    def asked(name, given):
        return admin.request("POST", f"/api/threads/{made['threadId']}/tool-calls?large=1", {"name": name, "input": given})
    must(asked("Note", {f"{n:x}": 0 for n in range(500_000)}).status == 400, "500,000 keys")
    must(asked("Note", {"list": [0] * 100_001}).status == 400, "more than 100,000 values")
    must(asked("Note", {"list": [0] * 99_000}).status == 200, "fewer")
    for host in ("h" * 6_000_000, "h" * 300, "user@" + "h" * 300 + ":80"):
        must(asked("WebFetch", {"url": f"https://{host}/x", "prompt": "x"}).status == 400, f"a host of {len(host)} bytes")
    must(asked("WebFetch", {"url": f"https://{'h' * 60}.example/{'x' * 5000}", "prompt": "x"}).status == 200, "a long path of a URL")
    must(asked("Write", {"file_path": "/" + "x" * 5000, "content": ""}).status == 400, "a path of 5,000 bytes")
    explained = admin.post("/api/policy/explain", {"name": "WebFetch", "input": {"url": f"https://{'h' * 500_000}/"}})
    must(explained.status in (200, 400) and (explained.status == 400 or explained.json["effect"] == "deny"), f"{explained}")


# ---- strangers ----

def test_idle_strangers_leave_room(world):
    server = world.server("--strangers", "60", "--strangers-per-address", "40")
    admin, by_tcp = server.admin(), server.admin(tcp=True)
    kept = by_tcp.connection()
    must(by_tcp.get("/api/me", connection=kept).status == 200, "somebody known")
    socks = [server.raw() for _ in range(200)]
    must(admin.get("/api/me").status == 200, "the Unix socket answers")
    must(by_tcp.get("/api/me", timeout=3 * PATIENCE).status == 200, "and so does TCP, when the oldest have left")
    must(by_tcp.get("/api/me", connection=kept).status == 200, "who was known stays")

    def left():
        return len(select.select(socks, [], [], 0)[0])
    eventually(lambda: left() >= 140, lambda: f"{left()} of 200 were closed")
    server.says("without a token")
    for sock in socks:
        sock.close()


def test_unread_answers_of_strangers_cost_little(world):
    world.measure_memory()
    server = world.server()
    page = server.admin(tcp=True).get("/").body
    script = re.search(rb'src="(/[^"]+\.js)"', gzip.decompress(page) if page[:2] == b"\x1f\x8b" else page)[1].decode()
    before = server.memory_kb()
    request = f"GET {script} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode() * 100
    socks = []
    for _ in range(100):
        sock = server.raw()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(0.01)
        try:
            sock.sendall(request)
        except OSError:
            pass  # it reads no further
        socks.append(sock)
    must(server.admin().get("/api/me").status == 200, "others are served")
    must(server.memory_kb() - before < 30_000, f"from {before} to {server.memory_kb()} KB")
    for sock in socks:
        sock.close()


def test_people_have_room_when_connections_are_full(world):
    server = world.server("--max-connections", "50", "--strangers", "1000", "--strangers-per-address", "1000")
    known = server.admin(tcp=True)
    kept = []
    for _ in range(49):
        connection = known.connection()
        must(known.get("/api/me", connection=connection).status == 200, "a connection")
        kept.append(connection)
    socks = [server.raw() for _ in range(20)]
    must(server.admin().get("/api/me").status == 200, "the Unix socket answers")
    must(known.get("/api/me", connection=kept[0]).status == 200, "who is there is served")
    eventually(lambda: "the limit of connections is reached" in server.log(), "the log says so")
    for connection in kept[1:]:
        connection.close()
    must(known.get("/api/me", timeout=3 * PATIENCE).status == 200, "and then there is room again")
    for sock in socks:
        sock.close()


# ---- signals, origins ----

def test_harmless_signals_do_not_end_the_server(world):
    server = world.server()
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        server.process.send_signal(number)
        for _ in range(3):
            must(server.admin().get("/api/me").status == 200, f"signal {number}")


def test_of_two_origins_neither_wins(world):
    server = world.server()
    good = f"http://127.0.0.1:{server.port}"
    for origins in ((good, "https://evil.example"), ("https://evil.example", good), (good, good)):
        sock = server.raw()
        lines = "".join(f"Origin: {origin}\r\n" for origin in origins)
        sock.sendall((f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.admin_token}\r\n"
                      f"{lines}Connection: close\r\n\r\n").encode())
        answer = sock.recv(65536)
        must(answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403")), f"{origins}: {answer[:200]!r}")


# ---- what a model says ----

FAKE_CLAUDE = '''#!/usr/bin/env python3
import json, sys
SAYS = "red \\x1b[31m title \\x1b]0;owned\\x07 clip \\x1b]52;c;aGk=\\x07 wiped \\x1b[2J c1 \\x9b2J turned \\u202e blank \\u2800 end"
def say(value):
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    if message.get("type") == "control_request":
        say({"type": "control_response", "response": {"subtype": "success", "request_id": message["request_id"], "response": {}}})
    elif message.get("type") == "user":
        say({"type": "system", "subtype": "init", "session_id": "s", "tools": [], "model": "m"})
        say({"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [{"type": "text", "text": SAYS}]}})
        say({"type": "result", "subtype": "success", "session_id": "s", "is_error": False, "result": SAYS})
        break
'''


def test_what_a_model_says_controls_no_terminal(world):
    world.server()
    program = world.folder + "/claude"
    with open(program, "w", encoding="utf-8") as file:
        file.write(FAKE_CLAUDE)
    os.chmod(program, 0o755)
    for arguments in (["-p", "hello"], ["-p", "hello", "--output-format", "json"]):
        said = world.nod("--claude", program, "claude", *arguments, exits=None)
        must("red" in said.stdout and "end" in said.stdout, f"{said.stdout!r} {said.stderr!r}")
        for hidden in ("\x1b", "\x07", "\x9b", "\u202e", "\u2800"):
            must(hidden not in said.stdout, f"{arguments}: {hidden!r} in {said.stdout!r}")
