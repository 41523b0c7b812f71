"""Large calls and many calls: every approver still sees what waits, and each agent has its turn."""
from world import must

LARGE = "x" * 7_900_000


def ask_large(client, thread, **more):
    reply = client.request("POST", f"/api/threads/{thread}/tool-calls?large=1",
                           {"name": "Write", "input": {"file_path": "/x", "content": LARGE}, **more})
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
    shown = world.nod("show", asked[0][2])
    must("xxxx" in shown.stdout, f"{shown.stderr}")
    world.nod("approve", asked[0][2])
    of_one = world.nod("deny", "--all", "--agent", "agent-1")
    must(of_one.stdout.count("deny large-1-") == 2, f"{of_one.stdout} {of_one.stderr}")
    left = [c["toolCallId"] for c in admin.pending()]
    must(left == ["large-0-1", "large-2-0"], f"{left}")
    rest = world.nod("deny", "--all", "-m", "too large")
    must(admin.pending() == [], f"{rest.stdout} {rest.stderr}")


def test_what_is_just_small_enough_is_not_cut(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    for size, name in ((1900, "small"), (2100, "large")):
        admin.call(made["threadId"], "Bash", {"command": "echo " + "x" * size}, id=name)
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
    must(denied.stdout.count("deny n") == 300, f"{denied.stdout[-300:]} {denied.stderr}")
    must([c["toolCallId"] for c in admin.pending()] == ["q0", "q1", "q2"], "the others wait on")


def test_commands_are_not_allowed_in_bulk(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    for name, given in (("Bash", {"command": "true"}), ("Note", {"text": "x"}), ("Note", {"text": "x" * 5000})):
        admin.call(made["threadId"], name, given, id=f"{name.lower()}-{len(next(iter(given.values())))}")
    said = world.nod("approve", "--all", "--yes")
    must("2 calls are left out" in said.stderr, f"{said.stdout} {said.stderr}")
    must([c["toolCallId"] for c in admin.pending()] == ["bash-4", "note-5000"], f"{admin.pending()}")
    world.nod("deny", "--all")
    must(admin.pending() == [], "all are denied")
