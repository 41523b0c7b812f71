"""Snooze and assign: marks on a waiting call, which move messages and decide nothing."""
import json

from notify import Receiver, ask, types
from notify_routes import configure, hook
from world import eventually, must


def mark(client, session, call, what, status=200, **body):
    return client.ok("POST", f"/api/sessions/{session['id']}/approvals/{call}/{what}", body, status=(status,))


def deliveries(admin, **wanted):
    return [d for d in admin.ok("GET", "/api/deliveries")["deliveries"] if all(d[name] == value for name, value in wanted.items())]


def due(admin, person):
    return [d["dueAt"] for d in deliveries(admin, person=person, state="due")]


def place(world, *people, statuses=(), after="10m", **more):
    """A server with a receiver for each person, who is told of a request after ten minutes. `statuses`: with which the
    last person's receiver answers; `more`: of that person's route."""
    receivers = {name: Receiver(*(statuses if name == people[-1] else ())) for name in people}
    routes = [{"person": name, "steps": [{"after": after, "to": [name]}], **(more if name == people[-1] else {})} for name in people]
    server = world.server("--notify", configure(world, {name: hook(r) for name, r in receivers.items()}, routes))
    admin = server.admin()
    for name in people:
        admin.token_for("approver", name)
    return server, admin, receivers


def test_a_snooze_holds_reminders_back_and_no_deadline(world):
    server, admin, _ = place(world, "ann")
    session = ask(admin, "c1")
    (planned,) = eventually(lambda: due(admin, "ann"), "the message is planned")
    until = mark(admin, session, "c1", "snooze", seconds=3600)["snoozedUntil"]
    must(until > planned and admin.pending()[0]["snoozedUntil"] == until, f"{until}, planned {planned}, {admin.pending()}")
    eventually(lambda: due(admin, "ann") == [until], lambda: f"it waits until then: {deliveries(admin)}")
    server.kill()
    admin = server.start().admin()
    must(admin.pending()[0]["snoozedUntil"] == until, "a restart knows it")
    eventually(lambda: due(admin, "ann") == [until], lambda: f"and its messages: {deliveries(admin)}")
    mark(admin, session, "c1", "snooze", seconds=0)
    must("snoozedUntil" not in admin.pending()[0], admin.pending())
    eventually(lambda: due(admin, "ann") == [planned], lambda: f"as planned again: {deliveries(admin)}")
    kept = [e["data"] for e in admin.events(types="TOOL_APPROVAL_SNOOZED")]
    must([k.get("until") for k in kept] == [until, None] and all(k["toolCallId"] == "c1" and k["by"] for k in kept), kept)


def test_a_snooze_holds_back_what_is_tried_again(world):
    """Its first attempt was refused; it waits for the second when the call is snoozed, and when the server starts again."""
    server, admin, receivers = place(world, "ann", statuses=(503,) * 20, after="0s")
    session = ask(admin, "c1")
    eventually(lambda: receivers["ann"].posts and due(admin, "ann"), "it is to be tried again")
    until = mark(admin, session, "c1", "snooze", seconds=3600)["snoozedUntil"]
    eventually(lambda: due(admin, "ann") == [until], lambda: f"it waits until then: {deliveries(admin)}")
    tried = len(receivers["ann"].posts)
    server.kill()
    admin = server.start().admin()
    eventually(lambda: due(admin, "ann") == [until], lambda: f"a restart knows it: {deliveries(admin)}")
    must(len(receivers["ann"].posts) == tried, "it was sent during the snooze")
    mark(admin, session, "c1", "snooze", seconds=0)
    eventually(lambda: len(receivers["ann"].posts) > tried, lambda: f"it is tried again: {deliveries(admin)}")


def test_a_snoozed_call_times_out_and_is_answered_as_ever(world):
    admin = world.server().admin()
    session = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}, "approvalTimeoutSeconds": 3})
    admin.ok("POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": "c1", "name": "Frob", "input": {}})
    mark(admin, session, "c1", "snooze", seconds=3600)
    eventually(lambda: admin.status("c1", session=session["id"])["status"] == "timed_out", "its deadline holds")
    other = ask(admin, "c2")
    mark(admin, other, "c2", "snooze", seconds=3600)
    admin.ok("POST", f"/api/sessions/{other['id']}/approvals/c2", {"decision": "deny"})
    for call, where in (("c2", other), ("c1", session), ("none", session)):
        for what, body in (("snooze", {"seconds": 60}), ("assign", {"person": "admin"})):
            mark(admin, where, call, what, status=404, **body)


def test_an_assignment_moves_the_messages(world):
    server, admin, receivers = place(world, "ann", "bob")
    session = ask(admin, "c1")
    eventually(lambda: due(admin, "ann") and due(admin, "bob"), "both are to be told")
    must(sorted(admin.ok("GET", f"/api/sessions/{session['id']}/people")["people"]) == ["admin", "ann", "bob"], "who may answer")
    must(mark(admin, session, "c1", "assign", person="bob")["assignee"] == "bob", "it is bob's")
    must(admin.pending()[0]["assignee"] == "bob", admin.pending())
    eventually(lambda: types(receivers["bob"]) == ["approval.assigned"], lambda: f"bob is told at once: {receivers['bob'].bodies()}")
    eventually(lambda: deliveries(admin, purpose="assign", state="sent"), "and that is kept")
    must(not due(admin, "ann") and not due(admin, "bob"), f"nobody else is to be told: {deliveries(admin)}")
    server.kill()
    admin = server.start().admin()
    must(admin.pending()[0]["assignee"] == "bob", "a restart knows it")
    eventually(lambda: deliveries(admin, person="ann", state="not needed"), lambda: f"and whom to tell: {deliveries(admin)}")
    mark(admin, session, "c1", "assign", person="")
    must("assignee" not in admin.pending()[0], admin.pending())
    eventually(lambda: due(admin, "ann") and due(admin, "bob"), lambda: f"both as planned: {deliveries(admin)}")
    mark(admin, session, "c1", "assign", person="ann")
    eventually(lambda: types(receivers["ann"]) == ["approval.assigned"], "ann is told")
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    for name in ("ann", "bob"):
        eventually(lambda: types(receivers[name]) == ["approval.assigned", "approval.resolved"],
                   lambda: f"withdrawn, and nothing said twice: {receivers[name].bodies()}")


def test_an_assignment_without_a_route_takes_nobody_s_messages(world):
    _, admin, receivers = place(world, "ann")
    admin.token_for("approver", "eve")
    session = ask(admin, "c1")
    planned = eventually(lambda: due(admin, "ann"), "ann is to be told")
    mark(admin, session, "c1", "assign", person="eve")
    mark(admin, session, "c1", "snooze", seconds=1)  # followed behind the assignment
    eventually(lambda: len(admin.events(types="TOOL_APPROVAL_SNOOZED")) == 1, "both are followed")
    must(due(admin, "ann") == planned and not receivers["ann"].posts, f"{deliveries(admin)}")
    refused = mark(admin, session, "c1", "assign", person="nobody here", status=400)
    must("nobody here" in refused["error"]["message"], refused)
    admin.token_for("viewer", "looker")
    mark(admin, session, "c1", "assign", person="looker", status=400)
    for body in ({}, {"seconds": -1}, {"seconds": 10 ** 9}, {"seconds": "5"}):
        mark(admin, session, "c1", "snooze", status=400, **body)
    mark(admin, session, "c1", "assign", status=400)


def test_an_assigned_person_is_told_whatever_the_session_is_called(world):
    _, admin, receivers = place(world, "ann", "bob", only={"session": "deploy*"})
    session = ask(admin, "c1")
    mark(admin, session, "c1", "assign", person="bob")
    eventually(lambda: types(receivers["bob"]) == ["approval.assigned"], lambda: f"else nobody is told: {deliveries(admin)}")


def test_an_assignment_to_one_who_cannot_be_told_takes_nobody_s_messages(world):
    _, admin, _ = place(world, "ann", "bob", statuses=(401,))
    session = ask(admin, "c1")
    planned = eventually(lambda: due(admin, "ann"), "ann is to be told")
    mark(admin, session, "c1", "assign", person="bob")
    eventually(lambda: deliveries(admin, purpose="assign", state="failed"), lambda: f"bob's channel refuses: {deliveries(admin)}")
    eventually(lambda: due(admin, "ann") == planned, lambda: f"ann is told as if it were nobody's: {deliveries(admin)}")


def test_an_assignment_to_one_who_was_revoked_takes_nobody_s_messages(world):
    server, admin, receivers = place(world, "ann", "bob")
    session = ask(admin, "c1")
    planned = eventually(lambda: due(admin, "ann"), "ann is to be told")
    mark(admin, session, "c1", "assign", person="bob")
    eventually(lambda: types(receivers["bob"]) == ["approval.assigned"] and not due(admin, "ann"), "it is bob's")
    (bob,) = [token["id"] for token in admin.ok("GET", "/api/tokens")["tokens"] if token["name"] == "bob"]
    admin.ok("DELETE", f"/api/tokens/{bob}")
    eventually(lambda: due(admin, "ann") == planned, lambda: f"ann is told again: {deliveries(admin)}")
    server.kill()
    admin = server.start().admin()
    eventually(lambda: due(admin, "ann") == planned, lambda: f"also after a restart: {deliveries(admin)}")


def test_whoever_snoozed_is_told_when_it_is_over(world):
    server, admin, receivers = place(world, "ann", "bob", after="0s")
    ann = admin.token_for("approver", "ann")
    session = ask(admin, "c1")
    for name in ("ann", "bob"):
        eventually(lambda: types(receivers[name]) == ["approval.requested"], "both were told")
    eventually(lambda: len(deliveries(admin, state="sent")) == 2, "and that is kept")
    until = mark(ann, session, "c1", "snooze", seconds=3600)["snoozedUntil"]
    eventually(lambda: due(admin, "ann") == [until], lambda: f"ann has it back then: {deliveries(admin)}")
    later = mark(ann, session, "c1", "snooze", seconds=7200)["snoozedUntil"]
    eventually(lambda: due(admin, "ann") == [later], lambda: f"once, after the second snooze: {deliveries(admin)}")
    server.kill()
    admin = server.start().admin()
    eventually(lambda: due(admin, "ann") == [later], lambda: f"a restart knows it: {deliveries(admin)}")
    mark(admin, session, "c1", "snooze", seconds=0)
    eventually(lambda: not due(admin, "ann"), lambda: f"ended: nothing is left to tell: {deliveries(admin)}")
    mark(ann, session, "c1", "snooze", seconds=1)
    eventually(lambda: types(receivers["ann"]) == ["approval.requested", "approval.reminded"], lambda: f"told: {receivers['ann'].bodies()}")
    must(types(receivers["bob"]) == ["approval.requested"] and not due(admin, "bob"), f"bob did not snooze: {deliveries(admin)}")


def test_a_list_that_is_watched_changes_when_a_snooze_is_over(world):
    """No event tells of it."""
    admin = world.server().admin()
    session = ask(admin, "c1")
    watch = world.start("pending", "--watch")
    eventually(lambda: "c1" in watch.stdout, lambda: f"the call is listed: {watch.stdout}")
    mark(admin, session, "c1", "snooze", seconds=1)
    eventually(lambda: "snoozed until" in watch.stdout, lambda: f"the snooze is seen: {watch.stdout}")
    eventually(lambda: watch.stdout.rpartition("snoozed until")[2].count("nod approve") == 2, lambda: f"and its end: {watch.stdout}")
    watch.process.kill()


def test_the_commands(world):
    admin = world.server().admin()
    admin.token_for("approver", "bob")
    ask(admin, "call-1234")
    said = world.nod("snooze", "1234", "30m").stdout
    must("call-1234 snoozed until " in said and "Frob" in said, said)
    must("snoozed until" in world.nod("pending").stdout and "snoozed until" in world.nod("show", "1234").stdout, "both say it")
    said = json.loads(world.nod("assign", "1234", "bob", "--json").stdout)
    must(said["assignee"] == "bob" and said["toolCallId"] == "call-1234", said)
    must("assigned to bob" in world.nod("pending").stdout, "the list says it")
    must(world.nod("assign", "1234").stdout.startswith("call-1234 for anybody to answer: "), "taken back")
    must(world.nod("snooze", "1234", "0").stdout.startswith("call-1234 not snoozed any more: "), "ended")
    must("snoozed" not in world.nod("pending").stdout, "as before")
    must("soon" in world.nod("snooze", "1234", "soon", exits=2).stderr, "a wrong time is named")
    must("eve" in world.nod("assign", "1234", "eve", exits=2).stderr, "a wrong name, too")
    must("no call 'none'" in world.nod("snooze", "none", "5m", exits=4).stderr, "an unknown call")
    for command in ("snooze", "assign"):
        must("CALL" in world.nod(command, "--help").stdout, "its help")
