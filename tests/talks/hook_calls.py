"""Hooks over HTTP, without an agent: how long they wait, and which calls are the same."""
import datetime
import json
import socket
import threading
import time

from world import PATIENCE, POSTGRES, Skip, eventually, must


def message(event="PreToolUse", **more):
    return {"session_id": "s1", "cwd": "/p", "permission_mode": "default", "hook_event_name": event, "tool_name": "Bash",
            "tool_input": {"command": "touch x"}, **more}


class Asking(threading.Thread):
    def __init__(self, client, path, body):
        super().__init__(daemon=True)
        self.client, self.path, self.body, self.answer = client, path, body, None
        self.start()

    def run(self):
        self.answer = self.client.post(self.path, self.body, timeout=PATIENCE)


def test_a_wait_that_ends_is_a_refusal_and_the_question_goes(world):
    server = world.server()
    agent = server.admin().token_for("agent", "claude")
    asking = [Asking(agent, "/api/hooks/claude?wait=1&strict=1", message(tool_use_id=f"t{number}")) for number in range(40)]
    for one in asking:
        one.join(PATIENCE)
        must(one.answer and one.answer.status == 200, f"{one.answer}")
        said = one.answer.json["hookSpecificOutput"]
        must(said["permissionDecision"] == "deny" and "in time" in said["permissionDecisionReason"], f"{said}")
    must(not server.admin().pending(), f"{server.admin().pending()}")


def test_before_permission_and_wrapper_ask_about_one_call(world):
    server = world.server()
    admin = server.admin()
    agent = admin.token_for("agent", "claude")
    session = agent.ok("POST", "/api/sessions", {"agent": "claude", "agentSession": "s1", "cwd": "/p"})
    must(agent.ok("POST", "/api/hooks/claude?wait=20", message(tool_use_id="toolu_1")) == {}, "rules do not speak of it")
    must(agent.ok("POST", f"/api/threads/{session['threadId']}/tool-calls",
                  {"id": "toolu_1", "name": "Bash", "input": {"command": "touch x"}, "cwd": "/p", "onlyRules": True,
                   "byDefault": "leave"})["status"] == "unknown", "the wrapper is told that a person has to answer")
    hook = Asking(agent, "/api/hooks/claude?wait=50", message("PermissionRequest"))
    eventually(lambda: admin.pending(), "the hook asks")
    wrapper = Asking(agent, f"/api/threads/{session['threadId']}/tool-calls?wait=50&withdraw=1",
                     {"id": "toolu_1", "name": "Bash", "input": {"command": "touch x"}, "cwd": "/p"})
    must([p["toolCallId"] for p in admin.pending()] == ["toolu_1"], f"{admin.pending()}")
    admin.decided(session["id"], "toolu_1", "allow_once")
    for one in (hook, wrapper):
        one.join(PATIENCE)
    must(hook.answer.json["hookSpecificOutput"]["decision"]["behavior"] == "allow", f"{hook.answer}")
    must(wrapper.answer.json["status"] == "allowed", f"{wrapper.answer}")
    agent.ok("POST", "/api/hooks/claude", message("PostToolUse", tool_use_id="toolu_1"))
    kinds = [e["type"] for e in admin.events(session=session["id"]) if e["type"].startswith("TOOL_")]
    must(kinds == ["TOOL_CALL", "TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_RESPONSE"], f"{kinds}")


def test_answered_in_the_terminal_the_question_goes(world):
    server = world.server()
    admin = server.admin()
    agent = admin.token_for("agent", "claude")
    agent.ok("POST", "/api/hooks/claude?wait=20", message(tool_use_id="toolu_1"))
    hook = Asking(agent, "/api/hooks/claude?wait=50", message("PermissionRequest"))
    eventually(lambda: admin.pending(), "the hook asks")
    agent.ok("POST", "/api/hooks/claude", message("PostToolUse", tool_use_id="toolu_1"))
    hook.join(PATIENCE)
    must(not admin.pending(), f"{admin.pending()}")
    agent.ok("POST", "/api/hooks/claude?wait=20", message(tool_use_id="toolu_2"))
    hook = Asking(agent, "/api/hooks/claude?wait=50", message("PermissionRequest"))
    eventually(lambda: admin.pending(), "the hook asks again")
    agent.ok("POST", "/api/hooks/claude", {**message("Stop"), "tool_name": None})
    hook.join(PATIENCE)
    must(not admin.pending(), f"{admin.pending()}")


def marked(admin):
    """Of what waits, by call: whether somebody waits for the answer."""
    return {p["toolCallId"]: bool(p.get("nobodyWaits")) for p in admin.pending()}


def hang_up(connection):
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


def leave_four_questions(world, admin):
    """Of a command, a hook, a client that waits and one that does not; each is gone afterwards."""
    if POSTGRES:
        raise Skip("where others use the store, whoever asked may have gone to one of them during the restart")
    session = admin.session(cwd="/p")
    agent = admin.token_for("agent", "claude")
    asks = f"/api/threads/{session['threadId']}/tool-calls"
    command = world.start("call", "Bash", '{"command":"x"}', "--wait", "--id", "command", "--session", session["id"])
    askers = []
    for who, path, body in ((agent, "/api/hooks/claude?wait=500&strict=1", message(tool_use_id="hook")),
                            (admin, f"{asks}?wait=50", {"id": "waits", "name": "Bash", "input": {"command": "y"}})):
        connection = who.connection()
        connection.request("POST", path, json.dumps(body), who.headers(body, {}))
        askers.append(connection)
    admin.ask(session["threadId"], "Bash", {"command": "z"}, id="asks")
    # The command asks first, tells its person, and only then asks again and waits.
    eventually(lambda: b"\nnod_waiting_clients 3\n" in admin.get("/metrics").body, "three wait")
    # A client counts as waiting before its call is kept.
    everybody = {"command": False, "hook": False, "waits": False, "asks": False}
    eventually(lambda: marked(admin) == everybody, "all four are listed, and none is left")
    command.process.kill()
    for one in askers:
        hang_up(one)


MARKS = {"command": True, "hook": True, "waits": True, "asks": False}


def test_marks_hold_after_a_restart(world):
    server = world.server()
    admin = server.admin()
    leave_four_questions(world, admin)
    eventually(lambda: marked(admin) == MARKS, lambda: f"{marked(admin)}")
    server.kill()
    server.start()
    must(marked(admin) == MARKS, f"{marked(admin)}")


def test_whoever_said_that_it_waits_and_stays_away_withdraws(world):
    server = world.server()
    admin = server.admin()
    leave_four_questions(world, admin)
    eventually(lambda: marked(admin) == MARKS, lambda: f"{marked(admin)}")
    server.kill()
    down = time.time()
    eventually(lambda: time.time() - down > 2, "it is down for longer than that")
    started = time.time()
    server.start("--withdraw-after", "2s")
    eventually(lambda: set(marked(admin)) == {"waits", "asks"}, lambda: f"{marked(admin)}")
    for answer in (e for e in admin.events() if e["type"] == "TOOL_APPROVAL_RESPONSE"):
        must(answer["data"]["decision"] == "cancelled" and answer["actor"] == "nod" and "gone" in answer["data"]["feedback"], f"{answer}")
        at = datetime.datetime.fromisoformat(answer["at"].replace("Z", "+00:00")).timestamp()
        must(at - started > 1.9, f"the time that the server was down counted: {at - started}")


def test_whoever_comes_back_in_time_is_answered(world):
    server = world.server("--withdraw-after", "10s")
    admin = server.admin()
    session = admin.session(cwd="/p")
    asks = f"/api/threads/{session['threadId']}/tool-calls?wait=50&withdraw=1"
    body = {"id": "c", "name": "Bash", "input": {"command": "y"}}
    connection = admin.connection()
    connection.request("POST", asks, json.dumps(body), admin.headers(body, {}))
    eventually(lambda: marked(admin) == {"c": False}, "it waits")
    hang_up(connection)
    eventually(lambda: marked(admin) == {"c": True}, "nobody waits")
    again = Asking(admin, asks, body)
    eventually(lambda: marked(admin) == {"c": False}, "somebody waits again")
    other = admin.connection()   # of another call, which stays away: when it is gone, the first one's time is over, too
    body = {**body, "id": "d"}
    other.request("POST", asks, json.dumps(body), admin.headers(body, {}))
    eventually(lambda: marked(admin) == {"c": False, "d": False}, "the other waits")
    hang_up(other)
    eventually(lambda: marked(admin) == {"c": False}, lambda: f"{marked(admin)}")
    admin.decided(session["id"], "c", "allow_once")
    again.join(PATIENCE)
    must(again.answer.json["status"] == "allowed", f"{again.answer}")


def test_whoever_dies_before_its_first_wait_withdraws(world):
    """Relays and nod call --wait ask without waiting first, to know that the server has the question."""
    admin = world.server("--withdraw-after", "1s").admin()
    session = admin.session(cwd="/p")
    for number, query in enumerate(["wait=0", "wait=0&withdraw=1", "withdraw=1"]):
        admin.ok("POST", f"/api/threads/{session['threadId']}/tool-calls?{query}", {"id": f"c{number}", "name": "Bash", "input": {"command": "y"}})
    eventually(lambda: marked(admin) == {"c0": False}, lambda: f"{marked(admin)}")
    must({(e["data"]["decision"], e["actor"]) for e in admin.events() if e["type"] == "TOOL_APPROVAL_RESPONSE"} == {("cancelled", "nod")}, "they ended otherwise")


def test_whoever_waits_for_a_while_may_come_back_later(world):
    """--wait says that its end is the end of the question; --wait=TIME does not."""
    admin = world.server("--withdraw-after", "6s").admin()
    session = admin.session(cwd="/p")["id"]
    world.nod("call", "Bash", '{"command":"x"}', "--wait=1", "--id", "while", "--session", session, exits=20)
    command = world.start("call", "Bash", '{"command":"y"}', "--wait", "--id", "ever", "--session", session)
    eventually(lambda: b"\nnod_waiting_clients 1\n" in admin.get("/metrics").body, "it waits")
    command.process.kill()
    eventually(lambda: set(marked(admin)) == {"while"}, lambda: f"{marked(admin)}")
    admin.decided(session, "while", "allow_once")
    world.nod("call", "Bash", '{"command":"x"}', "--wait=60", "--id", "while", "--session", session)


def test_an_asker_that_died_is_marked_at_once(world):
    server = world.server()
    admin = server.admin()
    command = world.start("call", "Bash", '{"command":"x"}', "--wait", "--id", "c1")
    # The command asks first, tells its person, and only then asks again and waits.
    eventually(lambda: b"\nnod_waiting_clients 1\n" in admin.get("/metrics").body, "it waits")
    must("nobodyWaits" not in admin.pending()[0], "somebody waits")
    command.process.kill()
    eventually(lambda: admin.pending()[0].get("nobodyWaits"), "nobody waits any more")
    must("nobody waits" in world.nod("pending").stdout, "the list does not say so")
    again = world.start("call", "Bash", '{"command":"x"}', "--wait", "--id", "c1", "--session", admin.pending()[0]["sessionId"],
                        "--cwd", world.folder)
    eventually(lambda: not admin.pending() or "nobodyWaits" not in admin.pending()[0], "somebody waits again")
    again.process.kill()
    session = admin.session(cwd="/p")
    admin.ask(session["threadId"], "Bash", {"command": "y"}, id="c2")
    must("nobodyWaits" not in [p for p in admin.pending() if p["toolCallId"] == "c2"][0], "it never said that it waits")
