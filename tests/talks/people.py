"""Calls that several persons must allow: partial answers, whom they count, and what makes them void."""
import sqlite3
import threading

from signed import FileKey, add, code, decide, issue
from world import POSTGRES, Client, must

DEPLOY = {"name": "Bash", "input": {"command": "deploy production"}}
RULE = {"rule": "Bash(deploy:*)", "effect": "ask", "people": 2}


def people(server, *names):
    admin = server.admin()
    return admin, *(admin.token_for("approver", name) for name in names)


def ask(admin, call, what=DEPLOY, **rule):
    """By an agent of its own: whoever asks is none of the persons."""
    agent = admin.token_for("agent", f"agent-{call}")
    admin.ok("POST", "/api/policy/rules", {**RULE, **rule})
    session = agent.ok("POST", "/api/sessions", {"title": "x"})
    agent.ok("POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": call, **what}, status=(200, 201, 202))
    return session["id"]


def have(client):
    return [one["person"] for one in client.pending()[0]["people"]["have"]]


def test_two_persons_allow_it_together(world):
    server = world.server()
    admin, ann, bob = people(server, "ann", "bob")
    session = ask(admin, "c1")
    follower = world.follow(admin, f"?session={session}")
    must(ann.pending()[0]["people"] == {"need": 2, "have": []}, ann.pending())
    must(ann.pending()[0]["risky"], "it is answered alone")
    first = decide(ann, session, "c1", decision="allow_once")
    must(first.status == 202 and (first.json["have"], first.json["need"]) == (1, 2), f"kept, not enough: {first}")
    must(admin.status("c1", session=session)["status"] == "awaiting", "it waits")
    follower.wait(lambda: "TOOL_APPROVAL_PARTIAL" in follower.types(), "everybody is told")
    must(have(bob) == ["ann"], bob.pending())
    must("1 of 2 persons have allowed it: ann" in world.nod("show", "c1").stdout, "the terminal says it")
    again = decide(ann, session, "c1", decision="allow_once")
    must(again.status == 202 and again.json["have"] == 1, f"the same person counts once: {again}")
    must(len(admin.events(session=session, types="TOOL_APPROVAL_PARTIAL")) == 1, "and is kept once")
    must(decide(bob, session, "c1", decision="allow_once").status == 200, "the second completes it")
    response = admin.events(session=session, types="TOOL_APPROVAL_RESPONSE")[0]
    must(response["data"]["people"] == ["ann", "bob"] and response["actor"] == "bob", response)
    must(admin.status("c1", session=session)["status"] == "allowed", "and it may run")


def test_two_devices_of_one_person_are_one_person(world):
    """A browser's token is called after its person and the device, and so is a key that is made with it."""
    server = world.server()
    admin, laptop, phone, bob = people(server, "ann, Firefox on Linux", "ann, Safari on iPhone", "bob")
    session = ask(admin, "c1")
    must(decide(laptop, session, "c1", decision="allow_once").json["have"] == 1, "the first")
    again = decide(phone, session, "c1", decision="allow_once")
    must(again.status == 202 and again.json["have"] == 1, f"the same person counts once, on every device: {again}")
    must(have(bob) == ["ann"], bob.pending())
    must(decide(bob, session, "c1", decision="allow_once").status == 200, "another person completes it")


def test_the_name_of_a_device_makes_no_other_person(world):
    """The browser chooses it, and the person is all before the last comma: "ann, x, y" would be somebody else than ann."""
    server = world.server()
    once = server.admin().ok("POST", "/api/logins", {"name": "ann", "role": "approver"})["url"].split("#login=")[1]
    stranger = Client(server, None)
    must(stranger.post("/api/login", {"once": once, "device": "x, y"}).status == 400, "a device of this name")
    must(stranger.post("/api/login", {"once": once, "device": "x"}).json["name"] == "ann, x", "the code is good still")


def test_a_token_that_makes_logins_makes_no_other_person(world):
    server = world.server()
    admin, stranger = server.admin(), Client(server, None)
    ann = admin.token_for("approver", "ann, laptop", scopes=["logins"])
    for name in ("bob", "ann, x", "ann, laptop"):
        must(ann.post("/api/logins", {"name": name, "role": "approver"}).status == 403, f"a login of {name}")
    for body in ({}, {"name": "ann"}):
        once = ann.ok("POST", "/api/logins", {"role": "approver", **body}, status=(201,))["url"].split("#login=")[1]
        must(stranger.post("/api/login", {"once": once, "device": "phone"}).json["name"] == "ann, phone", "her own")
    must(admin.post("/api/logins", {"name": "bob", "role": "approver"}).status == 201, "an admin makes them for others")


def test_one_denial_is_final(world):
    admin, ann, bob = people(world.server(), "ann", "bob")
    session = ask(admin, "c1")
    decide(ann, session, "c1", decision="allow_once")
    must(decide(bob, session, "c1", decision="deny").status == 200, "one is enough to deny")
    must(admin.status("c1", session=session)["status"] == "denied", "denied")
    must(decide(ann, session, "c1", decision="allow_once").code == "already_decided", "and stays so")


def test_nothing_beyond_the_call_and_not_by_the_asker(world):
    admin, ann, bob = people(world.server(), "ann", "bob")
    session = ask(admin, "c1")
    for more in ({"decision": "allow_session"}, {"decision": "allow_always"},
                 {"decision": "allow_once", "mode": "acceptEdits"}):
        must(decide(admin, session, "c1", **more).status == 400, f"{more} is more than the call")
    must(have(admin) == [], "and counts nobody")
    own = admin.ok("POST", "/api/sessions", {"title": "x"})
    admin.call(own["threadId"], "Bash", {"command": "deploy it"}, id="c2")
    must(decide(admin, own["id"], "c2", decision="allow_once").status == 403, "whoever asked is none of them")
    must(decide(ann, own["id"], "c2", decision="allow_once").status == 202, "others are")


def test_another_input_makes_answers_void(world):
    admin, ann, bob, cid = people(world.server(), "ann", "bob", "cid")
    session = ask(admin, "c1")
    edited = {"command": "deploy staging"}
    decide(ann, session, "c1", decision="allow_once")
    changed = decide(bob, session, "c1", decision="allow_once", updatedInput=edited)
    must(changed.status == 202 and changed.json["have"] == 1, f"ann has not allowed that: {changed}")
    shown = admin.pending()[0]["people"]
    must([one["person"] for one in shown["have"]] == ["bob"] and shown["updatedInput"] == edited, shown)
    plain = decide(cid, session, "c1", decision="allow_once")
    must(plain.status == 202 and plain.json["have"] == 1, f"nor has bob allowed this: {plain}")
    must(decide(bob, session, "c1", decision="allow_once", updatedInput=edited).json["have"] == 1, "and back")
    must(decide(ann, session, "c1", decision="allow_once", updatedInput=edited).status == 200, "two for the same input")
    response = admin.events(session=session, types="TOOL_APPROVAL_RESPONSE")[0]["data"]
    must(response["updatedInput"] == edited and response["people"] == ["bob", "ann"], response)


def test_partial_answers_outlive_the_server(world):
    server = world.server()
    admin, ann, bob = people(server, "ann", "bob")
    session = ask(admin, "c1")
    decide(ann, session, "c1", decision="allow_once")
    server.kill()
    server.start()
    must(have(admin) == ["ann"], "ann's answer is known")
    must(decide(ann, session, "c1", decision="allow_once").json["have"] == 1, "and is hers still")
    must(decide(bob, session, "c1", decision="allow_once").status == 200, "bob completes it")


def test_a_revoked_token_counts_no_more(world):
    server = world.server()
    admin, ann, bob, cid = people(server, "ann", "bob", "cid")
    session = ask(admin, "c1")
    decide(ann, session, "c1", decision="allow_once")
    admin.ok("DELETE", f"/api/tokens/{ann.id}")
    must(have(admin) == [], "at once")
    server.kill()
    server.start()
    must(have(admin) == [], "and after a restart")
    must(decide(bob, session, "c1", decision="allow_once").json["have"] == 1, "bob is the first")
    must(decide(cid, session, "c1", decision="allow_once").status == 200, "cid the second")


def test_many_at_the_same_time_are_counted_once_each(world):
    """Of persons who answer at once exactly one completes it, whoever that is."""
    admin, *all_of_them = people(world.server(), "ann", "bob", "cid", "dan")
    session = ask(admin, "c1", people=4)
    replies = []
    threads = [threading.Thread(target=lambda one=one: replies.append(decide(one, session, "c1", decision="allow_once")))
               for one in all_of_them * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(reply.status for reply in replies)
    must(200 in statuses and set(statuses) <= {200, 202, 409}, statuses)
    kept = [e["data"]["person"] for e in admin.events(session=session, types="TOOL_APPROVAL_PARTIAL")]
    must(len(kept) == 3 and len(set(kept)) == 3, kept)
    response = admin.events(session=session, types="TOOL_APPROVAL_RESPONSE")[0]["data"]
    must(sorted(response["people"]) == ["ann", "bob", "cid", "dan"], response)


def test_what_is_not_understood_needs_as_many(world):
    admin, ann, bob = people(world.server(), "ann", "bob")
    session = ask(admin, "c1", {"name": "Bash", "input": {"command": "eval \"$x\""}})
    must(ann.pending()[0]["people"]["need"] == 2, "it may be the one that the rule is about")
    must(decide(ann, session, "c1", decision="allow_once").status == 202, "one is not enough")


def test_no_mode_rule_or_wrapping_makes_one_person_enough(world):
    admin, ann = people(world.server(), "ann")
    ask(admin, "c0")
    admin.ok("POST", "/api/policy/rules", {"rule": "Bash(deploy:*)", "effect": "allow"})
    agent = admin.token_for("agent", "another")
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        session = agent.ok("POST", "/api/sessions", {"title": mode})
        admin.ok("PATCH", f"/api/sessions/{session['id']}", {"permissionMode": mode})
        for number, command in enumerate(("deploy production", "cd . && deploy production", "env X=1 sh -c 'deploy production'")):
            call = f"{mode}-{number}"
            agent.ok("POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": call, "name": "Bash", "input": {"command": command}},
                     status=(200, 201, 202))
            first = decide(ann, session["id"], call, decision="allow_once")
            must(first.status == 202 and first.json["need"] == 2, f"{mode}: {command}: {first}")
            for wide in ("allow_session", "allow_always"):
                must(decide(ann, session["id"], call, decision=wide).status >= 400, f"{mode}: {wide}")
            must(admin.status(call, session=session["id"])["status"] == "awaiting", f"{mode}: {command} waits")


def test_rules_that_ask_several(world):
    admin, ann = people(world.server(), "ann")
    for bad in ({"effect": "allow"}, {"effect": "deny"}, {"people": 9}, {"people": "two"}):
        must(admin.post("/api/policy/rules", {**RULE, **bad}).status == 400, f"{bad}")
    world.nod("policy", "add", "ask", "Bash(kubectl:*)", "--people", "2")
    must("2 persons" in world.nod("policy", "list").stdout, "the list says it")


def test_each_person_signs_where_signatures_are_demanded(world):
    server = world.server()
    admin, ann, bob = people(server, "ann", "bob")
    keys = {"ann": FileKey(), "bob": FileKey()}
    ann_admin, bob_admin = (admin.token_for("admin", name) for name in ("ann", "bob"))
    must(add(ann_admin, keys["ann"]).status == 201, "ann's key")
    must(add(bob_admin, keys["bob"], keys["ann"]).status == 201, "bob's, vouched for by ann's")
    agent = admin.token_for("agent", "robot")
    admin.ok("POST", "/api/policy/rules", RULE)
    session = agent.ok("POST", "/api/sessions", {"title": "x"})
    agent.ok("POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": "c1", **DEPLOY}, status=(200, 201, 202))

    def sign(client, name):
        signature = keys[name].sign(issue(client, keys[name], session["id"], "c1", decision="allow_once"))
        return decide(client, session["id"], "c1", decision="allow_once", signature=signature)

    must(code(decide(ann, session["id"], "c1", decision="allow_once")) == "signature_required", "each signs")
    must(sign(ann, "ann").status == 202, "ann")
    must(sign(bob, "ann").json["have"] == 1, "her key with another token is still her")
    must(code(decide(bob, session["id"], "c1", decision="allow_once")) == "signature_required", "so does the second")
    must(sign(bob, "bob").status == 200, "bob")
    proven = world.nod("verify", "--signatures").stdout
    must(proven.count("call c1 ") == 2 and "by ann" in proven and "by bob" in proven, proven)
    if POSTGRES:
        return  # an event is taken out of a file below
    server.stop()
    store = sqlite3.connect(f"{server.data}/nod.db")
    store.execute("UPDATE events SET kind = 8 WHERE kind = 22")
    store.commit()
    store.close()
    found = world.nod("verify", "--signatures", exits=1).stdout
    must("fewer persons have allowed it than must" in found, found)
