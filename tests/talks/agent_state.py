"""The names of relays for Claude Code: requests, completedRequests, permission."""
import json

from world import Socket, must, must_match


def house(world):
    server = world.server()
    admin = server.admin()
    session = admin.session(cwd="/tmp")
    agent = admin.token_for("agent", "a", session["id"])
    return admin, agent, session["id"], session["threadId"]


def test_requests_become_completed_requests(world):
    admin, agent, session, thread = house(world)
    for name in ("c1", "c2", "c3"):
        agent.call(thread, "Bash", {"command": f"make {name}"}, id=name)
    state = admin.ok("GET", f"/api/sessions/{session}/agent-state")
    must(list(state["requests"]) == ["c1", "c2", "c3"] and state["completedRequests"] == {}, f"not three: {state}")
    must(state["requests"]["c1"]["tool"] == "Bash" and state["requests"]["c1"]["arguments"] == {"command": "make c1"}, f"{state}")
    admin.ok("POST", f"/api/sessions/{session}/permission", {"id": "c1", "approved": True})
    admin.ok("POST", f"/api/sessions/{session}/permission", {"id": "c2", "approved": False, "reason": "not now", "decision": "denied"})
    admin.ok("POST", f"/api/sessions/{session}/permission", {"id": "c3", "approved": False, "decision": "abort"})
    done = admin.ok("GET", f"/api/sessions/{session}/agent-state")["completedRequests"]
    must([done[n]["status"] for n in ("c1", "c2", "c3")] == ["approved", "denied", "denied"], f"{done}")
    must(done["c2"]["reason"] == "not now" and done["c2"]["completedAt"] >= done["c2"]["createdAt"], f"{done}")
    must([agent.status(n)["status"] for n in ("c1", "c2", "c3")] == ["allowed", "denied", "aborted"], "the calls differ")


def test_modes_and_tools(world):
    admin, agent, session, thread = house(world)
    agent.call(thread, "Write", {"file_path": "/tmp/x", "content": "x"}, id="w1")
    admin.ok("POST", f"/api/sessions/{session}/permission", {"id": "w1", "approved": True, "mode": "yolo"})
    must(admin.ok("GET", f"/api/sessions/{session}")["permissionMode"] == "bypassPermissions", "the mode is not mapped")
    admin.patch(f"/api/sessions/{session}", {"permissionMode": "default"})
    agent.call(thread, "Bash", {"command": "make test"}, id="b1")
    admin.ok("POST", f"/api/sessions/{session}/permission", {"id": "b1", "approved": True, "allowTools": ["Bash(make test)"]})
    must(agent.call(thread, "Bash", {"command": "make test"}, id="b2")["status"] == "allowed", "the tool is not allowed from now on")


def test_an_agent_cannot_and_nonsense_is_refused(world):
    admin, agent, session, thread = house(world)
    agent.call(thread, "Bash", {"command": "make"}, id="c1")
    path = f"/api/sessions/{session}/permission"
    must(agent.post(path, {"id": "c1", "approved": True}).status == 403, "an agent answers itself")
    for body in ({}, {"id": "c1"}, {"approved": True}, {"id": "c1", "approved": "yes"}, {"id": 7, "approved": True}):
        must(admin.post(path, body).status == 400, f"taken: {body}")
    must(admin.post(path, {"id": "nothing", "approved": True}).status == 404, "a call that is not there")


def test_over_the_socket(world):
    admin, agent, session, thread = house(world)
    agent.call(thread, "Bash", {"command": "make"}, id="c1")
    socket = Socket(admin)
    socket.send({"type": "permission", "sessionId": session, "id": "c1", "approved": True})
    answer = socket.receive()
    must(answer["type"] == "answer" and answer["status"] == 200 and answer["id"] == "c1", f"{answer}")
    must(agent.status("c1")["status"] == "allowed", "not allowed")
    socket.close()


def test_the_state_comes_as_a_stream(world):
    """The whole once, then each change as a merge patch; applied, they are what GET says."""
    admin = world.server().admin()
    made = admin.session(toolPolicies={"Bash": "ask"})
    for number in range(3):
        admin.call(made["threadId"], "Bash", {"command": f"echo {number}"}, id=f"c{number}")
    admin.decided(made["id"], "c0", "deny", feedback="no")
    connection = admin.connection()
    path = f"/api/sessions/{made['id']}/agent-state"
    connection.request("GET", path, None, admin.headers(None, {"Accept": "text/event-stream"}))
    answer = connection.getresponse()

    def event():
        fields = {}
        while True:
            line = answer.readline().decode().rstrip("\n")
            if not line and "event" in fields:
                return fields["event"], json.loads(fields["data"])
            key, _, value = line.partition(": ")
            if key:
                fields[key] = value

    kind, state = event()
    must(kind == "state" and state == admin.get(path).json and set(state["requests"]) == {"c1", "c2"}, state)
    admin.decided(made["id"], "c1", "allow_session", rules=["Bash(echo:*)"], mode="acceptEdits")
    admin.call(made["threadId"], "Edit", {"file_path": "f", "old_string": "a", "new_string": "b"}, id="c4")
    admin.call(made["threadId"], "Bash", {"command": "false"}, id="c3")
    seen = 0
    while state != admin.get(path).json and seen < 10:
        kind, change = event()
        must(kind == "change", kind)
        for part, members in change.items():
            for call, value in members.items():
                if value is None:
                    del state[part][call]
                else:
                    state[part][call] = value
        seen += 1
    must(state == admin.get(path).json and "c1" in state["completedRequests"] and "c3" in state["requests"], state)
    connection.close()


def test_mode_and_rules_stand_in_audit_and_result(world):
    admin = world.server().admin()
    made = admin.session(toolPolicies={"Bash": "ask"})
    admin.call(made["threadId"], "Bash", {"command": "echo 1"}, id="c1")
    admin.decided(made["id"], "c1", "allow_session", rules=["Bash(echo:*)"], mode="acceptEdits")
    admin.ok("POST", f"/api/tool-calls/c1/result?session={made['id']}", {"content": "1"})
    record = admin.get("/api/audit").json["records"][0]
    must(record["mode"] == "acceptEdits" and record["rules"] == ["Bash(echo:*)"], record)
    text = admin.request("GET", "/api/audit?format=csv").body.decode()
    must(text.splitlines()[0].endswith(",mode,rules,key,cwd") and '"acceptEdits"' in text, text)
    result = [e for e in admin.events(session=made["id"]) if e["type"] == "TOOL_RESULT"][0]["data"]
    must_match({"date": "*", "result": "approved", "decision": "allow_session", "mode": "acceptEdits",
                "allowTools": ["Bash(echo:*)"], "by": "admin"}, result["permissions"])
