"""Folders are a person's to give: where a call says it runs, where an agent's session is, where a rule holds."""
import os
import re
import threading

from world import Client, Socket, eventually, must, older_store


def folders(world, *names):
    made = [os.path.join(os.path.realpath(world.folder), name) for name in names]
    for folder in made:
        os.makedirs(folder)
    return made


def status(client, session, name, given, **more):
    return client.call(session["threadId"], name, given, **more)["status"]


def make(client, session, **more):
    return status(client, session, "Bash", {"command": "make"}, **more)


def always(admin, session, scope=None, **more):
    """The person allows `make` in this session, always."""
    call = admin.call(session["threadId"], "Bash", {"command": "make"})
    body = {"scope": scope} if scope else {}
    admin.decided(session["id"], call["toolCallId"], "allow_always", **body, **more)


def test_a_call_elsewhere_is_judged_as_elsewhere(world):
    """Whoever asks names the folder, and gains nothing by it that `cd` would not give."""
    admin = world.server().admin()
    shop, other = folders(world, "shop/docs", "other/docs")
    shop, other = os.path.dirname(shop), os.path.dirname(other)
    for rule in ("Bash(make)", "Write(docs/**)"):
        admin.ok("POST", "/api/policy/rules", {"rule": rule, "effect": "allow"})
    session = admin.session(cwd=shop)
    note = {"file_path": "docs/a.md", "content": "x"}
    must(make(admin, session) == "allowed" and make(admin, session, cwd=shop + "/docs") == "allowed", "in the folder")
    must(status(admin, session, "Write", note) == "allowed", "a file in the folder")
    os.symlink(other, shop + "/link")
    for folder in (other, "/", shop + "/..", shop + "/link", os.path.dirname(shop)):
        must(make(admin, session, cwd=folder) == "awaiting", f"make ran in {folder}")
        must(status(admin, session, "Write", note, cwd=folder) == "awaiting", f"a file was written below {folder}")
    admin.ok("POST", "/api/policy/rules", {"rule": f"Write(/{other}/**)", "effect": "allow"})
    must(status(admin, session, "Write", note, cwd=other) == "allowed", "a rule for the absolute path")


def test_always_belongs_to_the_project(world):
    server = world.server()
    admin = server.admin()
    shop, sub, other = folders(world, "shop/.git", "shop/sub", "other")
    shop = os.path.dirname(shop)
    always(admin, admin.session(cwd=sub))
    rule = admin.ok("GET", "/api/policy")["user"][0]
    must(rule["scope"] == "project" and rule["project"]["path"] == shop, f"{rule}")
    must(rule["project"]["ino"] == os.stat(shop).st_ino, f"{rule}")
    must(rule["where"].endswith("shop") and rule["where"].startswith("in "), f"{rule}")
    must(rule["where"] in world.nod("policy", "list").stdout, "the list says where it holds")
    inside, outside = admin.session(cwd=shop), admin.session(cwd=other)
    must(make(admin, inside) == "allowed", "elsewhere in the same project")
    must(make(admin, outside) == "awaiting", "another project")
    server.kill()
    server.start()
    admin = server.admin()
    must(make(admin, inside) == "allowed" and make(admin, outside) == "awaiting", "after a restart")
    os.rename(shop, shop + ".old")
    os.makedirs(shop + "/.git")
    must(make(admin, inside) == "awaiting", "another folder stands in its place")
    must("asleep" in admin.ok("GET", "/api/policy")["user"][0], "and the list does not say so")
    must(re.search(r"warn +rules ", world.nod("doctor").stdout), "nor does doctor")


def test_relative_paths_of_a_rule_begin_at_its_project(world):
    admin = world.server().admin()
    shop, sub, other = folders(world, "shop/.git", "shop/sub/docs", "other/docs")
    shop, sub, other = os.path.dirname(shop), os.path.dirname(sub), os.path.dirname(other)
    session = admin.session(cwd=shop)
    call = admin.call(session["threadId"], "Write", {"file_path": shop + "/docs/a.md", "content": "x"})
    admin.decided(session["id"], call["toolCallId"], "allow_always", rules=["Write(/docs/**)"])

    def write(session, path):
        return status(admin, session, "Write", {"file_path": path, "content": "x"})
    must(write(session, shop + "/docs/b.md") == "allowed", "in the project")
    below = admin.session(cwd=sub)
    must(write(below, shop + "/docs/b.md") == "allowed", "the same file, from a session below")
    must(write(below, sub + "/docs/b.md") == "awaiting", "another folder of that name")
    must(write(admin.session(cwd=other), other + "/docs/b.md") == "awaiting", "another project's folder of that name")


def test_a_name_that_a_project_denies_is_denied_at_any_depth(world):
    """As in a rule of no project; also for a session below the project's top, and for commands."""
    admin = world.server().admin()
    shop, sub, other = folders(world, "shop/.git", "shop/sub/deep", "other")
    shop, sub = os.path.dirname(shop), os.path.dirname(sub)
    admin.ok("POST", "/api/policy/rules", {"rule": "Read(plan.txt)", "effect": "deny", "project": shop})
    for session in (admin.session(cwd=shop), admin.session(cwd=sub)):
        for name in ("/sub/plan.txt", "/sub/deep/plan.txt"):
            must(status(admin, session, "Read", {"file_path": shop + name}) == "denied", f"{name} was read")
        must(status(admin, session, "Bash", {"command": f"cat {sub}/deep/plan.txt"}) == "denied", "cat read it")
    must(status(admin, admin.session(cwd=other), "Read", {"file_path": other + "/plan.txt"}) == "allowed", "elsewhere")


def test_explain_judges_each_folder_by_its_own_rules(world):
    """Without a session the rules are gathered for the folder that is named, also when another was named before."""
    admin = world.server().admin()
    shop, sub = folders(world, "shop/.git", "shop/sub/docs")
    shop, sub = os.path.dirname(shop), os.path.dirname(sub)
    admin.ok("POST", "/api/policy/rules", {"rule": "Write(docs/**)", "effect": "allow", "project": shop})

    def explained(cwd, path):
        given = {"file_path": path, "content": "x"}
        return admin.ok("POST", "/api/policy/explain", {"name": "Write", "input": given, "cwd": cwd})["effect"]
    must(explained(shop, shop + "/docs/a.md") == "allow", "at the top")
    must(explained(sub, sub + "/docs/a.md") == "ask", "the rule is about the top's docs")


def test_always_has_a_scope(world):
    server = world.server()
    admin = server.admin()
    shop, other = folders(world, "shop", "other")
    first, second, third = admin.session(cwd=shop), admin.session(cwd=shop), admin.session(cwd=other)
    always(admin, first, "session")
    must(make(admin, first) == "allowed" and make(admin, second) == "awaiting", "for the session only")
    must(admin.ok("GET", "/api/policy")["user"] == [], "no rule for all")
    call = admin.call(second["threadId"], "Bash", {"command": "make"}, id="by-hand")
    world.nod("approve", call["toolCallId"], "--always", "--scope", "project")
    must(make(admin, second) == "allowed" and make(admin, third) == "awaiting", "for the project")
    always(admin, third, "everywhere")
    must(make(admin, third) == "allowed" and make(admin, admin.session(cwd="/")) == "allowed", "everywhere")
    waiting = admin.call(first["threadId"], "Bash", {"command": "x"})
    must(admin.decide(first["id"], waiting["toolCallId"], "allow_always", scope="galaxy").status == 400, "an unknown scope")
    must(admin.decide(first["id"], waiting["toolCallId"], "allow_once", scope="session").status == 400, "a scope of nothing")


def test_a_bound_approver_allows_always_in_its_session_only(world):
    admin = world.server().admin()
    session = admin.session(cwd="/")
    bound = admin.token_for("approver", "bound", session["id"])
    call = admin.call(session["threadId"], "Bash", {"command": "make"})
    refused = bound.decide(session["id"], call["toolCallId"], "allow_always", rules=["Bash"])
    must(refused.status == 403 and refused.code == "session_bound", f"{refused}")
    bound.decided(session["id"], call["toolCallId"], "allow_always", scope="session")
    must(make(admin, session) == "allowed", "its own session")
    must(make(admin, admin.session(cwd="/")) == "awaiting", "another session")


def test_an_agent_starts_sessions_in_folders_it_was_given(world):
    server = world.server()
    admin = server.admin()
    shop, other = folders(world, "shop/sub", "other")
    shop = os.path.dirname(shop)
    admin.ok("POST", "/api/policy/rules", {"rule": "Bash(make)", "effect": "allow"})
    secret = world.nod("token", "create", "--role", "agent", "--name", "a", "--folder", shop).stdout.strip()
    agent = Client(server, secret)
    for folder in (shop, shop + "/sub"):
        must(make(agent, agent.session(cwd=folder)) == "allowed", f"{folder} was given")
    os.symlink(other, shop + "/link")
    for folder in (other, "/", shop + "/..", shop + "/link", shop + "x"):
        session = agent.session(cwd=folder)
        answer = agent.call(session["threadId"], "Bash", {"command": "make"})
        must(answer["status"] == "awaiting", f"{folder} was not given: {answer}")
        must(session["cwdProposed"] is True, f"{session}")
    nowhere = agent.session()
    must(make(agent, nowhere, cwd=other) == "awaiting", "a session without a folder, a call with one")
    must(make(admin, session) == "awaiting", "whoever asks in it")
    admin.ok("PATCH", f"/api/sessions/{session['id']}", {"cwd": other})
    must(make(agent, session) == "allowed", "a person has opened it")


def test_rules_of_before_ask_until_they_are_bound(world):
    server = older_store(world)
    admin = server.admin()
    shop, = folders(world, "shop")
    session = admin.session(cwd=shop)
    unbound = {r["rule"]: r["id"] for r in admin.ok("GET", "/api/policy")["user"] if r.get("unbound")}
    must(set(unbound) == {"Bash(make)", "Bash(npm test:*)", "Write(/docs/**)"}, f"{unbound}")
    must(make(admin, session) == "awaiting", "a relative rule from before holds")
    must(status(admin, session, "Bash", {"command": "rm x"}) == "denied", "a deny does not sleep")
    must(status(admin, session, "WebFetch", {"url": "https://example.com/", "prompt": "x"}) == "allowed", "what is not relative")
    listed = world.nod("policy", "bind").stdout
    must(all(rule in listed for rule in unbound), listed)
    must(re.search(r"warn +rules +3 ", world.nod("doctor").stdout), world.nod("doctor").stdout)
    world.nod("policy", "bind", unbound["Bash(make)"], "--project", shop)
    world.nod("policy", "bind", unbound["Bash(npm test:*)"], unbound["Write(/docs/**)"], "--everywhere")
    server.kill()
    server.start()
    admin = server.admin()
    must(make(admin, session) == "allowed" and make(admin, admin.session(cwd="/")) == "awaiting", "bound to the project")
    must(status(admin, admin.session(cwd="/"), "Bash", {"command": "npm test"}) == "allowed", "bound to everywhere")
    must(world.nod("policy", "bind").stdout == "", "nothing is left")
    must([p["toolCallId"] for p in admin.pending()].count("waits") == 1, "what waited across the upgrade is shown")


def test_what_a_revoked_agent_asked_is_withdrawn(world):
    server = world.server()
    admin = server.admin()
    session = admin.session()
    fired, kept = (admin.token_for("agent", name, session["id"]) for name in ("fired", "kept"))
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(fired.ask(session["threadId"], "Bash", {"command": "x"}, 20, id="c1")))
    waiting.start()
    socket = Socket(fired)
    socket.send({"type": "call", "id": 1, "threadId": session["threadId"], "wait": 20,
                 "call": {"id": "c2", "name": "Bash", "input": {"command": "x"}}})
    kept.call(session["threadId"], "Bash", {"command": "x"}, id="c3")
    eventually(lambda: len(admin.pending()) == 3, "three calls")
    must(admin.request("DELETE", f"/api/tokens/{fired.id}").status == 200, "revoked")
    eventually(lambda: [p["toolCallId"] for p in admin.pending()] == ["c3"], "its calls are withdrawn, no other's")
    waiting.join()
    must(answers[0].status == 401, f"{answers[0]}")
    heard = socket.receive()
    must(heard is None or heard.get("status") == 401, f"{heard}")
    for call in ("c1", "c2"):
        must(admin.status(call)["status"] == "cancelled", f"{call}: {admin.status(call)}")
        must(admin.decide(session["id"], call, "allow_once").status == 409, "it can still be allowed")


def test_the_file_of_a_call_is_no_way_to_secrets(world):
    """The agent names folder and file, an approver asks for the file around the change: neither reads Nod's own token."""
    server = world.server()
    admin = server.admin()
    boss = admin.token_for("approver", "boss")
    agent = admin.token_for("agent", "evil")
    folder = os.path.join(world.folder, "project")
    os.makedirs(folder)
    with open(os.path.join(folder, "plain.txt"), "w", encoding="utf-8") as file:
        file.write("plain\n")
    with open(os.path.join(folder, ".env"), "w", encoding="utf-8") as file:
        file.write("KEY=TOPSECRET\n")
    os.symlink(os.path.join(server.data, "admin.token"), os.path.join(folder, "innocent.txt"))
    secrets = [os.path.join(server.data, "admin.token"), os.path.join(server.data, "server.key"), os.path.join(folder, ".env"),
               os.path.join(folder, "innocent.txt")]
    own = agent.session(title="mine", cwd="/")
    given = admin.session(title="given", cwd="/")
    for number, path in enumerate(secrets):
        for who, session in ((agent, own), (admin, given)):
            call = f"{who.name}{number}"
            who.ask(session["threadId"], "Write", {"file_path": path, "content": "x"}, id=call)
            reply = boss.get(f"/api/sessions/{session['id']}/approvals/{call}/file")
            must(reply.status == 403 and b"nod_" not in reply.body and b"TOPSECRET" not in reply.body, f"{path}: {reply}")
    admin.ask(given["threadId"], "Write", {"file_path": os.path.join(folder, "plain.txt"), "content": "x"}, id="plain")
    must(boss.ok("GET", f"/api/sessions/{given['id']}/approvals/plain/file")["content"] == "plain\n", "what is no secret is shown")
