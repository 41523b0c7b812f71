"""A permanent link to a call: what was shown when it was asked, after the rules changed, after a restart, from an archive."""
import json
import os

from world import must, must_match

EDITS = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]


def link(session, call):
    return f"/api/sessions/{session['id']}/calls/{call}"


def seen(shown):
    """What a person saw of the request, without what became of it."""
    return {key: shown.get(key) for key in ("toolCall", "preview", "parts", "risk", "riskWords", "reason", "summary", "digest")}


def test_what_was_shown_stays(world):
    server = world.server("--read-only-commands", "ask")
    admin = server.admin()
    session = admin.session(title="kept", cwd="/home/p")
    admin.call(session["threadId"], "MultiEdit", {"file_path": "f", "edits": EDITS}, id="m")
    admin.call(session["threadId"], "Bash", {"command": "cd src && make && rm -rf out"}, id="b")
    whole = "git commit -m 'one part that is all of the command,\n\twith \"quotes\" and \u00fc'"
    admin.call(session["threadId"], "Bash", {"command": whole}, id="w")
    asked = {call: seen(admin.ok("GET", f"/api/sessions/{session['id']}/approvals/{call}")) for call in "mbw"}
    must([part["text"] for part in asked["w"]["parts"]] == [whole], f"{asked['w']}")
    kept = admin.ok("GET", f"/api/events?session={session['id']}&after=0")["events"]
    named = [part.get("textOf") for event in kept for part in event["data"].get("shown", {}).get("parts", [])]
    must(named == [None, None, None, "command"], f"a text that is all of the command is kept once: {kept}")
    must(len(asked["b"]["parts"]) == 3 and asked["m"]["preview"]["type"] == "multi_diff", f"{asked}")
    admin.decided(session["id"], "m", "allow_once", updatedInput={"file_path": "f", "edits": EDITS[:1]})
    admin.ok("POST", f"/api/tool-calls/m/result?session={session['id']}", {"content": "done"})
    admin.decided(session["id"], "b", "deny", feedback="line 3: not the folder")
    admin.decided(session["id"], "w", "deny")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(make:*)"})

    def look():
        edited, denied, other = (admin.ok("GET", link(session, call)) for call in "mbw")
        must({"m": seen(edited), "b": seen(denied), "w": seen(other)} == asked, f"it is shown otherwise: {edited} {denied} {other}")
        must_match({"decision": "allow_once", "actor": "admin", "byPolicy": False, "updatedInput": {"file_path": "f", "edits": EDITS[:1]}}, edited["answer"])
        must(len(edited["answer"]["updatedPreview"]["files"]) == 1, f"{edited['answer']}")
        must_match({"content": "done", "isError": False}, edited["result"])
        must_match({"decision": "deny", "feedback": "line 3: not the folder"}, denied["answer"])
        return edited

    look()
    server.kill()
    server.start()
    look()
    made = json.loads(world.nod("archive", "--older-than", "0s", "--json").stdout)
    must(made["sessions"] == 1, f"{made}")
    must(made["path"].endswith(look()["archive"]), "it says which archive it is from")
    viewer = admin.token_for("viewer", "looks-on")
    must(viewer.get(link(session, "m")).status == 200, "whoever sees all sees archives")
    other = admin.token_for("agent", "other")
    must(other.get(link(session, "m")).status in (404, 410), "an agent sees no other's")
    must(admin.get(link(session, "none")).status == 404, "there is none")


def test_a_call_that_passed_has_a_link_too(world):
    admin = world.server().admin()
    session = admin.session(title="passed", cwd="/home/p")
    admin.call(session["threadId"], "Read", {"file_path": "/home/p/a.c"}, id="r")
    shown = admin.ok("GET", link(session, "r"))
    must(shown["asked"] is False and shown["answer"]["byPolicy"] is True and shown["why"], f"{shown}")
    waiting = admin.call(session["threadId"], "Bash", {"command": "make"}, id="w")
    must(waiting["status"] == "awaiting" and "answer" not in admin.ok("GET", link(session, "w")), "one that waits has no answer")


CART = "".join(f"line {n} of the cart\n" for n in range(1, 21))
IN_CART = [{"old_string": "line 5 of", "new_string": "row 5 of"}, {"old_string": "line 15 of", "new_string": "row 15 of"}]
PLACED = [*(f"@@ -{at},7 +{at},7 @@" for at in (2, 12)), " line 4 of the cart", "-line 5 of the cart", "+row 15 of the cart", " line 16 of the cart"]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def in_a_project(world):
    """A session in a folder that a person gave it, with a file to change."""
    server = world.server()
    admin = server.admin()
    folder = os.path.join(world.folder, "project")
    os.mkdir(folder)
    write(folder, "cart.ts", CART)
    write(folder, ".env", CART)
    return server, admin, folder, admin.session(title="placed", cwd=folder)


def test_a_difference_in_its_file_stays_as_it_was_asked(world):
    server, admin, folder, session = in_a_project(world)
    admin.call(session["threadId"], "MultiEdit", {"file_path": "cart.ts", "edits": IN_CART}, id="m")
    listed, = admin.pending()
    must(listed["inFile"] is True and listed["preview"]["files"][0]["fragment"] is True and "cut" not in listed, f"{listed}")
    asked = seen(admin.ok("GET", f"/api/sessions/{session['id']}/approvals/m"))
    must(all(line in asked["preview"]["unified"] for line in PLACED) and "fragment" not in json.dumps(asked), f"{asked}")
    must("original_content" not in asked["preview"], "the whole file is kept")
    write(folder, "cart.ts", "another file\n")
    must(seen(admin.ok("GET", f"/api/sessions/{session['id']}/approvals/m")) == asked, "it is shown as it was asked")
    must("    5 − line 5 of the cart" in world.nod("show", "m").stdout, "the terminal shows its place")
    admin.decided(session["id"], "m", "allow_once")

    def look():
        kept = admin.ok("GET", link(session, "m"))
        must(seen(kept) == asked, f"it is shown otherwise: {kept}")
        return kept

    look()
    must("    5 − line 5 of the cart" in world.nod("show", "m").stdout, "the terminal shows it after the answer")
    server.kill()
    server.start()
    look()
    must("line 4 of the cart" in world.nod("show", "m").stdout, "and after a restart")
    must(json.loads(world.nod("archive", "--older-than", "0s", "--json").stdout)["sessions"] == 1, "archived")
    must(look()["archive"], "it is from the archive")


def test_what_is_in_the_file_is_for_those_who_may_answer(world):
    """The agent names the file, and may have no right to read it; a viewer may not answer."""
    server, admin, _, session = in_a_project(world)
    admin.call(session["threadId"], "MultiEdit", {"file_path": "cart.ts", "edits": IN_CART}, id="m")
    agent, viewer = (admin.token_for(role, role, session=session["id"]) for role in ("agent", "viewer"))
    answers = admin.token_for("approver", "answers", session=session["id"])
    routes = [link(session, "m"), f"/api/sessions/{session['id']}/approvals/m"]

    def look():
        for route in routes:
            must(b"line 4 of" in answers.get(route).body, f"whoever answers sees it: {route}")
            for who in (agent, viewer):
                reply = who.get(route)
                must(reply.status == 200 and b"line 5 of" in reply.body and b"line 4 of" not in reply.body, f"{who.name}, {route}: {reply}")
        for who in (agent, viewer, answers, admin):
            told = json.dumps(who.events(session=session["id"]))
            must("TOOL_APPROVAL_REQUEST" in told and "line 4 of" not in told and "inFile" not in told, f"{who.name}: {told}")
        for route in (f"/api/sessions/{session['id']}/approvals/pending", f"/api/sessions/{session['id']}/agent-state"):
            must(b"line 4 of" not in agent.get(route).body, route)

    look()
    admin.decided(session["id"], "m", "deny")
    routes.pop()
    look()
    must("line 4 of" not in world.nod("log", "--json").stdout, "the log has it")
    must("line 4 of" not in server.log(), "the operator's log has it")


def test_what_a_look_at_the_file_finds_stays_too(world):
    """A new file, a change that would fail; nothing of a secret, also by a second name, of a folder that only an agent named, of one that is not here."""
    _, admin, folder, session = in_a_project(world)
    write(folder, "taken.ts", "x\n")
    os.link(os.path.join(folder, ".env"), os.path.join(folder, "second.ts"))
    edit = {"old_string": "line 5 of", "new_string": "row"}
    for call, tool, given in (("new", "Write", {"file_path": "made.ts", "content": "one\n"}), ("over", "Write", {"file_path": "taken.ts", "content": "y\n"}),
                              ("fails", "Edit", {"file_path": "cart.ts", "old_string": "nine", "new_string": "9"}),
                              ("secret", "Edit", {"file_path": ".env", **edit}), ("second", "Edit", {"file_path": "second.ts", **edit}),
                              ("out", "Edit", {"file_path": "../x", **edit})):
        admin.call(session["threadId"], tool, given, id=call)
    write(folder, "made.ts", "there by now\n")
    write(folder, "cart.ts", "nine\n")

    def look():
        shown = {call: admin.ok("GET", link(session, call))["preview"] for call in ("new", "over", "fails", "secret", "second", "out")}
        must(shown["new"]["is_new_file"] is True and shown["new"]["unified"][3:] == ["+one"] and "fragment" not in shown["new"], f"{shown['new']}")
        must(shown["over"]["is_new_file"] is False and "-x" in shown["over"]["unified"], f"{shown['over']}")
        must("is not in the file" in shown["fails"]["problem"] and "-nine" in shown["fails"]["unified"], f"{shown['fails']}")
        must(shown["secret"]["fragment"] is True and shown["second"]["fragment"] is True and "line 4" not in json.dumps(shown) and shown["out"]["fragment"] is True, f"{shown}")

    look()
    for call in ("new", "over", "fails", "secret", "second", "out"):
        admin.decided(session["id"], call, "deny")
    look()
    agent = admin.token_for("agent", "names")
    named = agent.session(title="named", cwd=folder)
    agent.call(named["threadId"], "Edit", {"file_path": "cart.ts", "old_string": "nine", "new_string": "9"}, id="named")
    must(admin.ok("GET", link(named, "named"))["preview"]["fragment"] is True, "an agent named the folder")
    gone = admin.session(cwd=os.path.join(folder, "none"))
    admin.call(gone["threadId"], "Write", {"file_path": "a", "content": "x\n"}, id="gone")
    must("is_new_file" not in admin.ok("GET", link(gone, "gone"))["preview"], "nothing is known of a folder that is not here")
