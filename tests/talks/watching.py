"""What whoever runs Nod sees of it: metrics and logs."""
import json
import re
import time

from world import eventually, must


def metrics(admin):
    reply = admin.get("/metrics")
    must(reply.status == 200 and reply.headers["content-type"].startswith("text/plain"), f"{reply}")
    values, kinds = {}, {}
    for line in reply.body.decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif line and not line.startswith("#"):
            found = re.fullmatch(r"([a-zA-Z_:][\w:]*)(\{[^}]*\})? (-?[\d.e+-]+|NaN|\+Inf)", line)
            must(found, f"no line of the Prometheus text format: {line!r}")
            base = re.sub(r"_(bucket|sum|count)$", "", found[1])
            must(found[1] in kinds or base in kinds, f"no TYPE before {line!r}")
            values[found[1] + (found[2] or "")] = float(found[3])
    return values, kinds


def find(values, *words):
    hits = {name: value for name, value in values.items() if all(word in name for word in words)}
    must(hits, f"nothing in the metrics about {words}; there is {sorted(values)}")
    return hits


def test_metrics_tell_the_life_of_approvals(world):
    server = world.server()
    admin = server.admin()
    made = admin.session(approvalTimeoutSeconds=0)
    for number, decision in enumerate(["allow_once", "deny", "abort", None, None]):
        call = f"c{number}"
        admin.call(made["threadId"], "Bash", {"command": "x"}, id=call)
        if decision:
            admin.decided(made["id"], call, decision)
    values, kinds = metrics(admin)
    must(sum(find(values, "requested").values()) == 5, f"requested: {find(values, 'requested')}")
    for decision in ("allow_once", "deny", "abort"):
        must(sum(find(values, decision).values()) == 1, f"answered by decision: {find(values, decision)}")
    must(2 in find(values, "pending").values(), f"pending: {find(values, 'pending')}")
    must("histogram" in kinds.values(), "no histogram")
    seconds = find(values, "response", "_bucket")
    must(sorted(seconds.values()) == list(seconds.values()), f"buckets do not grow: {seconds}")
    must(find(values, "response", "+Inf"), "no +Inf bucket")
    must(list(find(values, "response", "_count").values())[0] == 3, "three responses were timed")
    for words in (("recovered",), ("abandoned",), ("group",), ("connections",), ("query",)):
        find(values, *words)
    server.kill()
    server.start()
    values, _ = metrics(admin)
    must(sum(find(values, "recovered").values()) == 2, f"recovered after restart: {find(values, 'recovered')}")
    must(2 in find(values, "pending").values(), "pending after restart")


def lines(server, words):
    return [line for line in server.log().splitlines() if words in line]


def test_the_log_tells_the_life_of_an_approval(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    person = admin.token_for("approver", "alice")
    admin.call(made["threadId"], "Bash", {"command": "tell-nobody"}, id="c1")
    eventually(lambda: lines(server, "requested"), "a line about the request")
    time.sleep(0.05)
    person.decided(made["id"], "c1", "deny", feedback="a secret word")
    line = eventually(lambda: lines(server, "resolved"), "a line about the answer")[0]
    for word in ("c1", "deny", "alice"):
        must(word in line, f"no {word} in {line}")
    took = re.search(r"\bresponseTime=(\d+)\b", line)
    must(took and 50 <= int(took[1]) < 60_000, f"no response time in {line}")
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c2")
    server.kill()
    server.start()
    eventually(lambda: any("calls=1" in line for line in lines(server, "wait again")), lambda: f"a line about the recovery:\n{server.log()}")
    admin.patch(f"/api/sessions/{made['id']}", {"approvalTimeoutSeconds": 1})
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c3")
    eventually(lambda: any("c3" in line and "time" in line.replace("time=", "", 1) for line in server.log().splitlines()
                           if "request" not in line), "a line about the timeout")
    must("tell-nobody" not in server.log(), "an input in the log")


def test_inputs_appear_at_trace_level_only_and_secrets_never(world):
    for level in ("error", "warn", "info", "debug", "trace"):
        server = world.server("--log-level", level, data=f"{world.folder}/{level}")
        admin = server.admin()
        made = admin.session()
        secret = admin.token_for("approver", "p").token
        admin.call(made["threadId"], "Bash", {"command": "find-me-in-the-log"}, id="c1")
        admin.get("/api/sessions", headers={"Authorization": "Bearer wrong-but-secret"})
        admin.decided(made["id"], "c1", "deny", feedback="find-my-words")
        server.stop()
        log = server.log()
        must(("find-me-in-the-log" in log) == (level == "trace"), f"the input at level {level}")
        for word in (secret, server.admin_token, "wrong-but-secret"):
            must(word not in log, f"a secret in the log at level {level}")


def test_log_lines_as_JSON(world):
    server = world.server("--log-format", "json", "--log-level", "debug")
    admin = server.admin()
    made = admin.session(title="x\ny")
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c1")
    admin.decided(made["id"], "c1", "deny")
    server.stop()
    read = 0
    for line in server.log().splitlines():
        if not line.startswith("{"):
            continue
        value = json.loads(line)
        must({"time", "level", "msg"} <= set(value), f"{value}")
        read += 1
    must(read >= 3, f"few lines of JSON:\n{server.log()}")


def test_nothing_an_agent_sends_can_forge_a_line(world):
    server = world.server("--log-level", "trace")
    admin = server.admin()
    made = admin.session(title="x\ntime=2026 level=error msg=forged")
    admin.call(made["threadId"], "Bash\ntime=2026 level=error msg=forged", {"command": "\n\ntime=2026 level=error msg=forged\x1b[2J\u202e"}, id="c1")
    admin.decided(made["id"], "c1", "deny", feedback="\nlevel=error msg=forged")
    server.stop()
    for line in server.log().splitlines():
        must(not line.startswith("time=2026 ") and not line.startswith("level="), f"a forged line: {line}")
    must("\x1b" not in server.log() and "\u202e" not in server.log(), "a control character in the log")


def test_health(world):
    server = world.server()
    admin = server.admin()
    for path in ("/healthz", "/readyz"):
        reply = admin.get(path, headers={"Authorization": None})
        must(reply.status == 200 and reply.json.get("status"), f"{path}: {reply}")
