"""Callbacks: the answer to a call is posted to the address that its program named, signed as Standard Webhooks says."""
import base64
import hashlib
import hmac
import json
import os

from notify import Receiver
from world import eventually, must


def serve(world, callbacks):
    path = os.path.join(world.folder, "notify.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"callbacks": callbacks} if callbacks else {}, file)
    server = world.server("--notify", path)
    return server, server.admin()


def ask(admin, call, url):
    session = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    body = {"id": call, "name": "Frob", "input": {"x": 1}, "callback": {"url": url}}
    return session, admin.post(f"/api/threads/{session['threadId']}/tool-calls", body)


def test_the_answer_is_posted_and_signed(world):
    receiver = Receiver(503)
    server, admin = serve(world, {"hosts": ["127.0.0.1"], "private": True})
    session, reply = ask(admin, "c1", receiver.url)
    must(reply.status == 200, reply)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: len(receiver.posts) == 2, "the second attempt")
    headers, body = receiver.posts[1]
    said = json.loads(body)
    must(said["type"] == "approval.resolved" and said["data"]["requestId"] == "c1" and said["data"]["decision"] == "deny", said)
    key = base64.b64decode(admin.ok("GET", "/api/callbacks/secret")["secret"].removeprefix("whsec_"))
    right = hmac.new(key, f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body, hashlib.sha256).digest()
    must(headers["webhook-signature"] == "v1," + base64.b64encode(right).decode(), headers)
    must(receiver.posts[0][0]["webhook-id"] == headers["webhook-id"], "another id")
    receiver.close()


def test_an_answer_while_the_server_dies_is_posted_later(world):
    receiver = Receiver(503)
    server, admin = serve(world, {"hosts": ["127.0.0.1"], "private": True})
    session, _ = ask(admin, "c1", receiver.url)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: receiver.posts, "the first attempt")
    server.kill()
    server.start()
    eventually(lambda: len(receiver.posts) > 1, "another attempt")
    must(receiver.posts[0][0]["webhook-id"] == receiver.posts[-1][0]["webhook-id"], "another id")
    receiver.close()


def test_callbacks_go_only_where_they_may(world):
    _, admin = serve(world, {"hosts": ["jobs.example", "other.example:8443", "localhost"]})
    for url, status in (("https://jobs.example/x", 200), ("https://jobs.example:443/x", 200), ("https://other.example:8443/", 200),
                        ("https://jobs.example:8443/", 403), ("https://evil.example/", 403), ("https://jobs.example.evil/", 403),
                        ("http://jobs.example/", 400), ("https://user@jobs.example/", 400), ("https://jobs.example@evil.example/", 400),
                        ("ftp://jobs.example/", 400), ("https://jobs.example\\@evil.example/", 400), ("", 400),
                        ("https://jobs.example/" + "x" * 3000, 400), ("https://169.254.169.254/", 403)):
        _, reply = ask(admin, "c1", url)
        must(reply.status == status, f"{url}: {reply}")


def test_callbacks_reach_no_private_address_unless_allowed(world):
    receiver = Receiver()
    port = receiver.url.rstrip("/").rsplit(":", 1)[1]
    _, admin = serve(world, {"hosts": [f"localhost:{port}"]})
    session, reply = ask(admin, "c1", f"https://localhost:{port}/")
    must(reply.status == 200, reply)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: next(c for c in admin.ok("GET", "/api/channels")["channels"] if c["name"] == "callback").get("lastError"), "it fails")
    must(not receiver.posts, "it was sent")
    receiver.close()


def test_callbacks_are_off_by_default(world):
    _, admin = serve(world, None)
    _, reply = ask(admin, "c1", "https://jobs.example/")
    must(reply.status == 403 and "notify.json" in reply.json["error"]["message"], reply)
