"""Archives from outside: `nod archive` beside a server and without one, what is left in the store, what is in the file."""
import hashlib
import json
import os
import sqlite3

from world import POSTGRES, must, must_match


def finished(admin, title, call="toolu_1"):
    """A session with one call, asked, answered and reported."""
    session = admin.session(title=title, toolPolicies={"Bash": "ask"})
    admin.call(session["threadId"], "Bash", {"command": f"echo {title}"}, id=call)
    admin.decided(session["id"], call, "allow_once")
    admin.ok("POST", f"/api/tool-calls/{call}/result?session={session['id']}", {"content": "done"})
    return session


def archive(world, age="0s"):
    return json.loads(world.nod("archive", "--older-than", age, "--json").stdout)


def verify(world, *more, exits=0):
    return json.loads(world.nod("verify", "--json", *more, exits=exits).stdout)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_finished_sessions_move_into_a_file(world):
    admin = world.server().admin()
    first, second = finished(admin, "one"), finished(admin, "two")
    waiting = admin.session(title="three", toolPolicies={"Bash": "ask"})
    admin.call(waiting["threadId"], "Bash", {"command": "true"}, id="toolu_9")
    before = {s["id"]: admin.events(session=s["id"]) for s in (first, second)}
    must(archive(world, "1h")["path"] is None, "nothing is that old")
    made = archive(world)
    must((made["sessions"], made["events"], made["stayed"]) == (2, sum(map(len, before.values())), 0), f"{made}")

    there = lines(world.nod("log", "--archive", made["path"], "--json").stdout)
    must(there == sorted(before[first["id"]] + before[second["id"]], key=lambda e: e["seq"]), "the file holds what was kept")
    only = lines(world.nod("log", "--archive", made["path"], "--json", "--session", first["id"], "--type", "TOOL_CALL,TOOL_RESULT").stdout)
    must([e["type"] for e in only] == ["TOOL_CALL", "TOOL_RESULT"] and {e["sessionId"] for e in only} == {first["id"]}, f"{only}")
    found = lines(world.nod("log", "--archive", made["path"], "--json", "--text", "echo two").stdout)
    must([e["type"] for e in found] == ["TOOL_CALL", "TOOL_APPROVAL_REQUEST"], f"search finds {found}")

    stubs = admin.events(types="SESSION_ARCHIVED")
    must({e["sessionId"] for e in stubs} == {first["id"], second["id"]}, f"{stubs}")
    with open(made["path"], "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    for stub in stubs:
        must_match({"archive": os.path.basename(made["path"]), "archiveDigest": digest, "events": len(before[stub["sessionId"]]),
                    "calls": 1, "lastSeq": before[stub["sessionId"]][-1]["seq"]}, stub["data"])
    must([s["id"] for s in admin.ok("GET", "/api/sessions")["sessions"]] == [waiting["id"]], "it is not listed any more")
    must([p["toolCallId"] for p in admin.pending()] == ["toolu_9"], "what waits still waits")
    must(os.stat(made["path"]).st_mode & 0o77 == 0, "yours alone")


def test_an_archived_session_is_closed(world):
    server = world.server()
    admin = server.admin()
    gone = finished(admin, "gone")
    agent = admin.token_for("agent", "its-agent", gone["id"])
    made = archive(world)
    name = os.path.basename(made["path"])
    for restarted in (False, True):
        if restarted:
            server.kill()
            server.start()
        replies = [admin.get(f"/api/sessions/{gone['id']}"), admin.get("/api/tool-calls/toolu_1"), agent.get("/api/tool-calls/toolu_1"),
                   admin.get(f"/api/tool-calls/toolu_1?session={gone['id']}"),
                   admin.ask(gone["threadId"], "Bash", {"command": "true"}, id="toolu_1"),
                   agent.ask(gone["threadId"], "Bash", {"command": "true"}),
                   admin.decide(gone["id"], "toolu_1", "deny"), admin.patch(f"/api/sessions/{gone['id']}", {"title": "again"}),
                   admin.post(f"/api/threads/{gone['threadId']}/events", {"type": "USER_MESSAGE", "data": {}}),
                   admin.post(f"/api/tool-calls/toolu_1/result?session={gone['id']}", {"content": 1})]
        for number, reply in enumerate(replies):
            must(reply.status == 410 and reply.code == "gone", f"number {number} is answered {reply}")
            must(name in reply.json["error"]["message"], f"number {number} names the archive: {reply}")
    must(name in world.nod("show", "toolu_1", exits=4).stderr, "the command line names it, too")
    # The same id in another session is another call.
    other = admin.session(toolPolicies={"Bash": "ask"})
    must(admin.call(other["threadId"], "Bash", {"command": "true"}, id="toolu_1")["status"] == "awaiting", "asked")
    must(admin.status("toolu_1")["sessionId"] == other["id"], "found without naming the session")


def test_a_follower_sees_one_order(world):
    admin = world.server().admin()
    live = world.follow(admin, "?after=0")
    sessions = [finished(admin, f"number {n}") for n in range(3)]
    last = admin.events()[-1]["seq"]
    live.wait(lambda: live.events and live.ids()[-1] == last, "all events so far")
    made = archive(world)
    young = finished(admin, "young")
    seen = admin.events()
    live.wait(lambda: live.ids()[-1] == seen[-1]["seq"], "the end")
    must(live.ids() == list(range(1, seen[-1]["seq"] + 1)), "who followed all the time misses nothing")
    missing = sorted(set(range(1, seen[-1]["seq"] + 1)) - {e["seq"] for e in seen})
    there = [e["seq"] for e in lines(world.nod("log", "--archive", made["path"], "--json").stdout)]
    must(missing == there, f"what is not here is there: {missing} {there}")
    must(sum(e["data"]["events"] for e in seen if e["type"] == "SESSION_ARCHIVED") == len(missing), "and the log says how many")
    must({e["sessionId"] for e in seen if e["seq"] > missing[-1]} >= {young["id"]} | {s["id"] for s in sessions}, "all are named")


def test_verify_goes_across(world):
    server = world.server()
    admin = server.admin()
    finished(admin, "one")
    made = archive(world)
    good = verify(world)
    must(good["ok"] and good["archived"] == 1, f"{good}")
    must([a["state"] for a in good["archives"]] == ["ok"], f"{good}")
    must([v["ok"] for v in verify(world, made["path"])] == [True], "the file alone")
    elsewhere = made["path"] + ".moved"
    os.rename(made["path"], elsewhere)
    must([a["state"] for a in verify(world)["archives"]] == ["not here"], "an archive that was taken to another place")
    must([v["ok"] for v in verify(world, elsewhere)] == [True], "and is checked there")
    os.rename(elsewhere, made["path"])
    forged = sqlite3.connect(made["path"])
    forged.execute("UPDATE events SET data = replace(data, 'one', 'two')")
    forged.commit()
    forged.close()
    bad = verify(world, exits=1)
    must(bad["ok"] and [a["state"] for a in bad["archives"]] == ["bad"], f"{bad}")
    must([v["ok"] for v in verify(world, made["path"], exits=1)] == [False], "the file alone")
    world.nod("verify", os.path.join(world.data, "admin.token"), exits=None)
    must("is not an archive" in world.nod("log", "--archive", "/dev/null", exits=2).stderr, "words for what is none")
    if not POSTGRES:
        must("is an archive" in world.nod("serve", "--data", world.data + "2", "--store", "sqlite:" + made["path"], exits=2).stderr,
             "an archive is not written to")


def test_without_a_server(world):
    server = world.server()
    session = finished(server.admin(), "one")
    server.stop()
    made = archive(world)
    must(made["sessions"] == 1, f"{made}")
    must(verify(world)["ok"], "sound")
    must(archive(world)["path"] is None, "again is harmless")
    server.start()
    must(server.admin().get(f"/api/sessions/{session['id']}").status == 410, "the server knows")


def test_only_an_admin_may(world):
    admin = world.server().admin()
    for role in ("approver", "viewer", "agent"):
        reply = admin.token_for(role, role).post("/api/archive", {"olderThanSeconds": 0})
        must(reply.status == 403, f"{role}: {reply}")
    for body in ({}, {"olderThanSeconds": -1}, {"olderThanSeconds": "30d"}):
        must(admin.post("/api/archive", body).status == 400, f"{body}")
    must("older-than" in world.nod("archive", exits=2).stderr, "an age must be said")
