"""What was asked is what is shown, kept and given back: byte for byte."""
import json
import os
import sqlite3
import urllib.parse

from world import PATIENCE, eventually, must

RAW = b'{ "command" :\t"make  test" ,\r\n "n":[1.10, 1E+2,-0.0,123456789012345678901234567890],"s":"\\u00e4\\/\xc3\xa4\\n" }'


def scene(world):
    server = world.server()
    admin = server.admin()
    made = admin.session(cwd="/p")
    return server, admin, made["id"], made["threadId"]


def stored(world, kind, call):
    database = sqlite3.connect(f"file:{os.path.join(world.data, 'nod.db')}?mode=ro", uri=True)
    rows = database.execute("SELECT CAST(data AS BLOB) FROM events WHERE kind = ? AND call_id = ?", [kind, call]).fetchall()
    database.close()
    return [row[0] for row in rows]


def test_inputs(world):
    _, admin, session, thread = scene(world)
    reply = admin.post(f"/api/threads/{thread}/tool-calls", b'{"id":"c1","name":"Bash","input": ' + RAW + b' , "cwd":"/tmp"}')
    must(reply.status == 200 and RAW in reply.body, f"in the answer: {reply}")
    must(RAW in stored(world, 3, "c1")[0], "in the store")
    for path in ("/api/approvals/pending", "/api/tool-calls/c1", f"/api/events?session={session}"):
        must(RAW in admin.get(path).body, f"in {path}")
    edited = RAW.replace(b"make", b"cmake")
    reply = admin.post(f"/api/sessions/{session}/approvals/c1", b'{"decision":"allow_once","updatedInput":' + edited + b"}")
    must(reply.status == 200, f"{reply}")
    answer = admin.get("/api/tool-calls/c1")
    must(edited in answer.body, "the edited input in the answer")
    must(answer.json["input"]["command"] == "cmake  test", "the edited input is what is to run")
    must(edited in stored(world, 5, "c1")[0], "the edited input in the store")


def test_results(world):
    _, admin, session, thread = scene(world)
    admin.call(thread, "Read", {"file_path": "/p/x"}, id="c1")
    must(admin.post("/api/tool-calls/c1/result", b'{"content": ' + RAW + b',"isError":true}').status == 200, "reported")
    must(RAW in stored(world, 7, "c1")[0], "in the store")
    must(RAW in admin.get("/api/tool-calls/c1").body, "in the answer")


def test_line_ends_in_an_input_do_not_break_a_stream(world):
    _, admin, session, thread = scene(world)
    stream = world.follow(admin, f"?after=0&session={session}")
    text = json.dumps({"command": "a\nb\r\nc", "list": [1, 2]}, indent=2)
    for end in ("\n", "\r\n", "\r"):
        body = '{"name":"Read","input":%s}' % text.replace("\n", end)
        must(admin.post(f"/api/threads/{thread}/tool-calls", body).status == 200, "a call over several lines")
    stream.wait(lambda: len(stream.events) == 4, "four events")
    for _, _, event in stream.events[1:]:
        must(event["data"]["input"] == json.loads(text), f"{event}")


def test_text_of_every_kind(world):
    _, admin, session, thread = scene(world)
    person = admin.token_for("approver", "p")
    texts = ["äöü € 😀 中文", "\"quoted\" \\back\\slash\\", "\t\n\r\x0b\x1b[31m\x7f", "\u202eright to left\u202c", "\u2028\u2029\ufeff",
             "\U0010ffff\ue000", "'; DROP TABLE events; --", "%s%n%d", "<script>alert(1)</script>", " " * 1000, "null"]
    for number, text in enumerate(texts):
        call = f"c{number}"
        must(admin.patch(f"/api/sessions/{session}", {"title": text[:200]}).json["title"] == text[:200], f"title {text!r}")
        admin.call(thread, "tool " + text[:60], {"text": text, text: 1}, id=call)
        shown = admin.pending(f"/sessions/{session}")[0]["toolCall"]
        must(shown["input"] == {"text": text, text: 1} and shown["name"] == "tool " + text[:60], f"{shown}")
        person.decided(session, call, "deny", feedback=text)
        must(admin.status(call)["feedback"] == text, f"feedback {text!r}")
    must([json.loads(e.decode())["feedback"] for n in range(len(texts)) for e in stored(world, 5, f"c{n}")] == texts, "in the store")


def test_ids_of_every_kind(world):
    server, admin, session, thread = scene(world)
    ids = ["pending", "result", "a:b@c", "x;y", "x=y&z", "a+b", "~", "a,b", "$HOME", "(x)", "...x", "-x", "x" * 128, "[1]", "{1}", "a|b", "!", "*", "<b>"]
    for call in ids:
        answer = admin.ask(thread, "Bash", {"command": "x"}, id=call)
        must(answer.status == 200 and answer.json["toolCallId"] == call, f"{call}: {answer}")
        path = urllib.parse.quote(call, safe="")
        must(admin.get(f"/api/tool-calls/{path}").json["status"] == "awaiting", f"{call}: seen by itself")
    must([p["toolCallId"] for p in admin.pending()] == ids, "all wait, in their order")
    server.kill()
    server.start()
    for number, call in enumerate(ids):
        path = urllib.parse.quote(call, safe="")
        if number % 2:
            must(admin.post(f"/api/sessions/{session}/approvals/{path}", {"decision": "deny"}).status == 200, f"{call}: decided")
        else:
            world.nod("deny", "--", call)
        must(admin.get(f"/api/tool-calls/{path}").json["status"] == "denied", f"{call}: denied")


def test_more_than_a_thousand_wait(world):
    server, admin, session, thread = scene(world)
    connection = admin.connection()
    for number in range(1100):
        admin.request("POST", f"/api/threads/{thread}/tool-calls", {"id": f"c{number:04}", "name": "Bash", "input": {"n": number}},
                      connection=connection)
    server.kill()
    server.start()
    seen, path = [], "/api/approvals/pending"
    for _ in range(10):
        page = admin.ok("GET", path)
        seen += [p["toolCallId"] for p in page["pendingApprovals"]]
        if not page.get("next"):
            break
        path = f"/api/approvals/pending?after={page['next']}"
    must(seen == [f"c{n:04}" for n in range(1100)], f"{len(seen)} of 1100 can be seen")
    world.nod("deny", "c1099")
    must(admin.status("c1099")["status"] == "denied", "the last one can be answered from the command line")


def test_allow_for_the_session_holds_at_once(world):
    """Between the answer to whoever decided and the next call there is no moment in which it does not hold."""
    server, admin, _, _ = scene(world)
    for number in range(40):
        made = admin.session()
        admin.call(made["threadId"], "Bash", {"command": "x"}, id="c1")
        admin.decided(made["id"], "c1", "allow_session")
        answer = admin.call(made["threadId"], "Bash", {"command": "y"}, id="c2")
        must(answer["status"] == "allowed", f"round {number}: {answer}")


def test_many_deadlines_each_once(world):
    server, admin, _, _ = scene(world)
    made = [admin.session(approvalTimeoutSeconds=1 + number % 3) for number in range(6)]
    for number in range(60):
        admin.call(made[number % 6]["threadId"], "Bash", {"command": "x"}, id=f"c{number}")
    server.kill()
    server.start()
    eventually(lambda: not admin.pending(), "all have timed out", PATIENCE + 5)
    events = admin.events(types="TOOL_APPROVAL_RESPONSE", limit=1000)
    must(len(events) == 60 and len({(e["sessionId"], e["data"]["toolCallId"]) for e in events}) == 60, f"{len(events)} responses")
    must({e["data"]["decision"] for e in events} == {"timeout"}, "timeouts")
    for event in events:
        request = [e for e in admin.events(session=event["sessionId"], types="TOOL_APPROVAL_REQUEST", limit=1000)
                   if e["data"]["toolCallId"] == event["data"]["toolCallId"]][0]
        must(event["at"] >= request["data"]["deadline"], f"too early: {event['at']} for {request['data']['deadline']}")
