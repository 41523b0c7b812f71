"""The names of relays for Claude Code: requests, completedRequests, permission."""
from world import Socket, must


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
