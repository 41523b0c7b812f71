"""A permanent link to a call: what was shown when it was asked, after the rules changed, after a restart, from an archive."""
import json

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
    asked = {call: seen(admin.ok("GET", f"/api/sessions/{session['id']}/approvals/{call}")) for call in "mb"}
    must(len(asked["b"]["parts"]) == 3 and asked["m"]["preview"]["type"] == "multi_diff", f"{asked}")
    admin.decided(session["id"], "m", "allow_once", updatedInput={"file_path": "f", "edits": EDITS[:1]})
    admin.ok("POST", f"/api/tool-calls/m/result?session={session['id']}", {"content": "done"})
    admin.decided(session["id"], "b", "deny", feedback="line 3: not the folder")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(make:*)"})

    def look():
        edited, denied = admin.ok("GET", link(session, "m")), admin.ok("GET", link(session, "b"))
        must(seen(edited) == asked["m"] and seen(denied) == asked["b"], f"it is shown otherwise: {edited} {denied}")
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
