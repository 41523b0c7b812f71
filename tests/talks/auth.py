"""Who may do what: every route with every role, bound tokens, other people's sessions, revocation."""
import http.client
import os
import re
import stat

from world import Client, must

ROLES = ("admin", "approver", "agent", "viewer")


OPEN = ("/healthz", "/readyz")  # without a token
CONTRACT = re.compile(r"/api/(sessions|threads|tool-calls|approvals|events|ws|openapi\.json)\b|/metrics|/healthz|/readyz")


def may(role, method, path):
    """What DESIGN and the issue say. None: they do not say."""
    if path in OPEN:
        return True
    if "/tokens" in path or "/logins" in path or path == "/api/archive":
        return role == "admin"
    if path.startswith("/api/policy") and method != "GET" and not path.endswith(("/explain", "/try")) and role in ("agent", "viewer"):
        return False
    if not CONTRACT.match(path):
        return None
    if role == "admin":
        return True
    if path.endswith(("/approvals/{call}/file", "/people")):
        return role == "approver"
    if method == "POST" and ("/approvals/" in path or path.endswith(("/permission", "/prompt", "/interrupt"))):
        return role == "approver"
    if method == "PATCH":
        return role == "approver"
    if method == "GET":
        return None if path == "/metrics" else True
    if role == "viewer":
        return False
    if role == "agent":
        return True
    return None


class Estate:
    """A session with a waiting call, someone of every role, and all routes with their holes filled in."""

    def __init__(self, world):
        self.server = world.server()
        self.admin = self.server.admin()
        made = self.admin.session(title="mine")
        self.session, self.thread = made["id"], made["threadId"]
        self.people = {role: self.admin.token_for(role, "some-" + role) for role in ROLES if role != "agent"}
        self.person = self.admin.token_for("approver", "some-approver", scopes=["rules.user"])
        self.people["agent"] = self.admin.token_for("agent", "some-agent", self.session)
        self.routes = [(method.upper(), path) for path, item in self.admin.ok("GET", "/api/openapi.json")["paths"].items()
                       for method in item if method in ("get", "post", "put", "patch", "delete")]
        must(len(self.routes) > 20, f"the document names few routes: {self.routes}")

    def fill(self, path, session, thread, call, token="none"):
        names = {"session": session, "s": session, "thread": thread, "t": thread, "call": call, "c": call, "toolCall": call, "token": token}

        return re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], "none"), path)

    def body(self, method, path):
        if method in ("GET", "DELETE"):
            return None
        if path.endswith("/tool-calls"):
            return {"name": "Bash", "input": {"command": "x"}}
        if "/approvals/" in path:
            return {"decision": "allow_once"}
        if path.endswith("/permission"):
            return {"id": "theirs", "approved": True}
        if path.endswith("/result"):
            return {"content": "x"}
        if path.endswith("/prompt"):
            return {"text": "x"}
        if path.endswith("/tokens"):
            return {"name": "new", "role": "viewer"}
        return {"title": "x"}


def test_every_role_on_every_route(world):
    estate = Estate(world)
    for method, path in estate.routes:
        if path == "/api/ws":
            continue
        for role in ROLES:
            if role == "agent" and path == "/api/sessions" and method == "POST":
                continue  # one that is bound to a session makes no other: below
            call = f"{role}-{method}-{path.replace('/', '.')}"
            estate.admin.call(estate.thread, "Bash", {"command": "x"}, id=call)
            target = estate.fill(path, estate.session, estate.thread, call)
            reply = estate.people[role].request(method, target, estate.body(method, path))
            expected = may(role, method, path)
            if expected is False:
                must(reply.status == 403 and reply.code == "forbidden", f"{role} {method} {path}: {reply}, not 403")
                must(estate.admin.status(call)["status"] == "awaiting", f"{role} {method} {path} changed the call")
            elif expected is True:
                must(reply.status not in (401, 403), f"{role} {method} {path}: {reply}")


def test_no_token_no_answer(world):
    estate = Estate(world)
    secret = estate.server.admin_token
    estate.admin.call(estate.thread, "Bash", {"command": "x"}, id="c1")
    bad = [None, "", "Bearer", "Bearer ", "Bearer x", f"Basic {secret}", secret, f"Bearer {secret}x", f"Bearer {secret[:-1]}",
           f"Bearer {secret.upper()}", f"Bearer {secret} x", f"Bearer \"{secret}\"", "Bearer nod_" + "0" * 52, "Bearer " + "x" * 5000]
    for tcp in (True, False):
        for value in bad:
            client = Client(estate.server, None, tcp=tcp)
            for method, path in estate.routes:
                target = estate.fill(path, estate.session, estate.thread, "c1")
                headers = {"Authorization": value} if value is not None else {}
                reply = client.request(method, target, estate.body(method, path), headers=headers)
                if path in OPEN:
                    must(reply.status == 200, f"{method} {path}: {reply}")
                elif path in ("/ca.crt", "/api/answers/slack/{channel}"):
                    must(reply.status == 404, f"{method} {path}: {reply}")  # open, and there is none
                elif path in ("/api/login", "/api/answers", "/api/answers/look"):
                    # The body has to hold a code or an answer token; this holds neither, and comes often.
                    must(reply.status in (400, 401, 403, 429), f"{method} {path}: {reply}")
                else:
                    must(reply.status == 401 and reply.code == "unauthenticated", f"{value!r} {method} {path}: {reply}")
            must(client.get("/api/nothing", headers=headers).status == 401, "an unknown path says so to anyone")
    for query in (f"?token={secret}", f"?access_token={secret}", f"?authorization={secret}"):
        must(Client(estate.server, None).get("/api/sessions" + query).status == 401, f"a token is taken from {query}")
    must(estate.admin.status("c1")["status"] == "awaiting", "the call was changed")


def test_two_tokens_in_one_request(world):
    estate = Estate(world)
    with estate.server.raw() as sock:
        viewer = estate.people["viewer"].token
        sock.sendall(f"GET /api/tokens HTTP/1.1\r\nHost: 127.0.0.1:{estate.server.port}\r\nAuthorization: Bearer {viewer}\r\n"
                     f"Authorization: Bearer {estate.server.admin_token}\r\nConnection: close\r\n\r\n".encode())
        answer = sock.recv(4096)
    must(answer[9:12] in (b"400", b"401", b"403"), f"two Authorization headers: {answer[:200]!r}")


def test_another_session_is_not_there(world):
    """404, and the very words of something that never was: no hint that it exists."""
    estate = Estate(world)
    other = estate.admin.session(title="not yours")
    estate.admin.call(other["threadId"], "Bash", {"command": "secret"}, id="theirs")
    strangers = {"agent": estate.people["agent"], "viewer": estate.admin.token_for("viewer", "bound-viewer", estate.session),
                 "approver": estate.admin.token_for("approver", "bound-approver", estate.session),
                 "unbound agent": estate.admin.token_for("agent", "free-agent")}
    before = len(estate.admin.events())
    for name, client in strangers.items():
        for method, path in estate.routes:
            if "{" not in path or "token}" in path or may(name.split()[-1], method, path) is not True:
                continue
            exists = client.request(method, estate.fill(path, other["id"], other["threadId"], "theirs"), estate.body(method, path))
            never = client.request(method, estate.fill(path, "ses_never", "ses_never.thr", "never"), estate.body(method, path))
            must(exists.status == 404 and exists.code == "not_found", f"{name} {method} {path}: {exists}")
            must(exists.status == never.status and exists.json["error"]["message"] == never.json["error"]["message"],
                 f"{name} {method} {path}: {exists} is a hint; what never was gives {never}")
        for query in (f"session={other['id']}", f"thread={other['threadId']}", f"session={other['id']}&thread={other['threadId']}"):
            must(client.get("/api/events?" + query).status == 404, f"{name}: events of {query}")
        for path in ("/api/sessions", "/api/approvals/pending", "/api/events?after=0"):
            must(other["id"] not in client.get(path).body.decode(), f"{name}: {path} shows the other session")
            must("secret" not in client.get(path).body.decode(), f"{name}: {path} shows the other session's call")
    must(len(estate.admin.events()) == before, "a stranger left a trace")
    must(estate.admin.status("theirs")["status"] == "awaiting", "a stranger changed the call")


def test_an_agent_sees_what_it_made_itself(world):
    estate = Estate(world)
    free = estate.admin.token_for("agent", "free")
    mine = free.session(title="my own")
    free.call(mine["threadId"], "Bash", {"command": "x"}, id="c1")
    must([s["id"] for s in free.ok("GET", "/api/sessions")["sessions"]] == [mine["id"]], "its own session and no other")
    must([p["toolCallId"] for p in free.pending(f"/sessions/{mine['id']}")] == ["c1"], "its own call")
    everything = free.get("/api/approvals/pending")
    must(everything.status == 403 and "/api/sessions/" in everything.json["error"]["message"], f"{everything}")
    must(free.decide(mine["id"], "c1", "allow_once").status == 403, "an agent answers its own request")
    must(free.patch(f"/api/sessions/{mine['id']}", {"permissionMode": "bypassPermissions"}).status == 403, "an agent changes policy")
    must(free.status("c1")["status"] == "awaiting", "the call was changed")


def test_an_agent_cannot_make_itself_a_free_session(world):
    """An agent token can never change policy: not by making a session with the policy it wants either."""
    estate = Estate(world)
    for agent in (estate.people["agent"], estate.admin.token_for("agent", "free")):
        for settings in ({"permissionMode": "bypassPermissions"}, {"permissionMode": "acceptEdits"}, {"toolPolicies": {"Bash": "allow"}}):
            reply = agent.post("/api/sessions", settings)
            if reply.status in (400, 403):
                continue
            made = reply.json
            name = "Edit" if settings.get("permissionMode") == "acceptEdits" else "Bash"
            answer = agent.ask(made["threadId"], name, {"command": "x", "file_path": "/x"})
            must(answer.status != 200 or answer.json["status"] != "allowed",
                 f"an agent gave itself {settings} and ran {name}: {answer}")


def test_a_bound_agent_makes_no_other_session(world):
    estate = Estate(world)
    reply = estate.people["agent"].post("/api/sessions", {"title": "another"})
    must(reply.status == 403, f"a token bound to one session made another: {reply}")


def test_revoked_at_once(world):
    estate = Estate(world)
    viewer = estate.admin.token_for("viewer", "short-lived")
    must(viewer.get("/api/sessions").status == 200, "good before")
    stream = world.follow(viewer, f"?after=0&session={estate.session}")
    stream.wait(lambda: len(stream.events) >= 1, "the first event")
    must(estate.admin.request("DELETE", f"/api/tokens/{viewer.id}").status == 200, "revoked")
    must(viewer.get("/api/sessions").status == 401, "good after it was revoked")
    seen = len(stream.events)
    estate.admin.call(estate.thread, "Bash", {"command": "later"}, id="later")
    stream.wait(lambda: stream.ended, "its end after the token was revoked")
    must(len(stream.events) == seen, "a revoked token goes on reading")
    estate.server.kill()
    estate.server.start()
    must(viewer.get("/api/sessions").status == 401, "good again after a restart")
    listed = {t["id"]: t for t in estate.admin.ok("GET", "/api/tokens")["tokens"]}
    must(listed[viewer.id]["revokedAt"], "the list does not say that it is revoked")
    used = {t["id"] for t in listed.values() if t.get("lastUsedAt")}
    must(used and viewer.id not in used, f"used since the start: {used}")


def test_a_waiting_call_of_a_revoked_token(world):
    estate = Estate(world)
    agent = estate.admin.token_for("agent", "fired", estate.session)
    estate.admin.call(estate.thread, "Bash", {"command": "x"}, id="c1")
    connection = agent.connection()
    connection.request("GET", "/api/tool-calls/c1?wait=30", None, agent.headers(None, None))
    must(estate.admin.request("DELETE", f"/api/tokens/{agent.id}").status == 200, "revoked")
    estate.people["approver"].decided(estate.session, "c1", "allow_once")
    try:
        answer = connection.getresponse()
        must(answer.status in (200, 401), f"{answer.status}")
    except (OSError, http.client.HTTPException):
        pass
    must(agent.get("/api/tool-calls/c1").status == 401, "a revoked token reads on")


def test_secrets_are_kept_nowhere(world):
    estate = Estate(world)
    made = [client.token for client in estate.people.values()] + [estate.server.admin_token]
    estate.server.stop()
    for folder, _, files in os.walk(world.folder):
        for name in files:
            if name == "admin.token":
                continue
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read()
            for secret in made:
                must(secret.encode() not in text, f"a token's secret stands in {os.path.join(folder, name)}")


def test_the_folder_is_ours_alone(world):
    old = os.umask(0)
    try:
        estate = Estate(world)
    finally:
        os.umask(old)
    estate.admin.call(estate.thread, "Bash", {"command": "x"}, id="c1")
    must(stat.S_IMODE(os.stat(world.data).st_mode) == 0o700, "the data folder's mode")
    for name in os.listdir(world.data):
        mode = stat.S_IMODE(os.lstat(os.path.join(world.data, name)).st_mode)
        must(mode & 0o077 == 0, f"{name} has mode {mode:o}")


def test_the_admin_token_stays_the_same(world):
    server = world.server()
    first = server.admin_token
    server.kill()
    server.start()
    must(server.admin_token == first, "another admin token after a restart")
    must(server.admin().get("/api/sessions").status == 200, "it holds")


def test_every_decision_names_its_actor(world):
    estate = Estate(world)
    for number, decision in enumerate(("allow_once", "allow_session", "allow_always", "deny", "abort")):
        estate.admin.patch(f"/api/sessions/{estate.session}", {"toolPolicies": {"Bash": "ask"}})
        call = f"c{number}"
        estate.admin.call(estate.thread, "Bash", {"command": "x"}, id=call)
        answer = estate.person.decided(estate.session, call, decision, actor="somebody else")
        must(answer["actor"] == "some-approver", f"{decision}: {answer}")
        event = [e for e in estate.admin.events(session=estate.session, types="TOOL_APPROVAL_RESPONSE")
                 if e["data"]["toolCallId"] == call][0]
        must(event["actor"] == "some-approver", f"{decision}: {event}")
        must(estate.admin.status(call)["decidedBy"]["actor"] == "some-approver", f"{decision}: in the status")


def test_tokens_are_told_apart_by_the_command_line(world):
    estate = Estate(world)
    made = world.nod("token", "create", "--role", "agent", "--name", "cli", "--session", estate.session).stdout.strip()
    agent = Client(estate.server, made)
    must(agent.get(f"/api/sessions/{estate.session}").status == 200, "its own session")
    estate.admin.call(estate.thread, "Bash", {"command": "x"}, id="c1")
    world.nod("approve", "c1", exits=3, environment={"NOD_TOKEN": made})
    must(estate.admin.status("c1")["status"] == "awaiting", "an agent's token approved")
    world.nod("pending", exits=3, environment={"NOD_TOKEN": "nod_wrong"})
    world.nod("token", "create", "--role", "agent", "--name", "x", "--session", "none", exits=4)
