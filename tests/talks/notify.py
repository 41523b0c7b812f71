"""People who are not looking are told: webhooks, commands, ntfy; retries, restarts, withdrawals; answers that come back.

The receivers are servers on loopback. Webhooks follow Standard Webhooks 1.0.0, ntfy the JSON form of its docs/publish.md.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import threading

from world import eventually, must

KEY = b"0123456789abcdef0123456789abcdef"


class Receiver:
    """Keeps what is posted; answers with the statuses it is given, then 200."""

    def __init__(self, *statuses):
        self.posts, self.statuses, self.lock = [], list(statuses), threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.lock:
                    outer.posts.append((dict(self.headers), body))
                    status = outer.statuses.pop(0) if outer.statuses else 200
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def bodies(self):
        with self.lock:
            return [json.loads(body) for _, body in self.posts]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def configure(world, channels, steps, person="admin", **more):
    path = os.path.join(world.folder, "notify.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"channels": channels, "routes": [{"person": person, "steps": steps}], **more}, file)
    return path


def secret(world):
    path = os.path.join(world.folder, "secret")
    with open(path, "w", encoding="utf-8") as file:
        file.write("whsec_" + base64.b64encode(KEY).decode() + "\n")
    return {"file": path}


def ask(client, call, **more):
    session = client.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    client.ok("POST", f"/api/threads/{session['threadId']}/tool-calls",
              {"id": call, "name": more.get("name", "Frob"), "input": more.get("input", {"x": 1})})
    return session


def types(receiver):
    return [body["type"] for body in receiver.bodies()]


def test_a_webhook_is_signed_and_withdrawn(world):
    receiver = Receiver()
    file = configure(world, {"hook": {"type": "webhook", "url": receiver.url, "secret": secret(world)}},
                     [{"after": "0s", "to": ["hook"]}])
    admin = world.server("--notify", file).admin()
    session = ask(admin, "c1")
    eventually(lambda: len(receiver.posts) == 1, "the message")
    headers, body = receiver.posts[0]
    said = json.loads(body)
    must(said["type"] == "approval.requested" and said["data"]["sessionId"] == session["id"], said)
    must(said["data"]["requestId"] == "c1" and said["data"]["tool"] == "Frob", said)
    right = hmac.new(KEY, f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body, hashlib.sha256).digest()
    must(headers["webhook-signature"] == "v1," + base64.b64encode(right).decode(), headers)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: types(receiver) == ["approval.requested", "approval.resolved"], "the withdrawal")
    kept = eventually(lambda: len(e := admin.events(types="DELIVERY_ENDED")) == 2 and e, "both are kept")
    must(kept[0]["data"]["outcome"] == "sent" and kept[0]["data"]["channel"] == "hook", kept)
    receiver.close()


def test_an_answered_call_is_not_told_of(world):
    receiver = Receiver()
    file = configure(world, {"hook": {"type": "webhook", "url": receiver.url}}, [{"after": "8s", "to": ["hook"]}])
    admin = world.server("--notify", file).admin()
    session = ask(admin, "c1")
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    ask(admin, "c2")
    eventually(lambda: receiver.posts, "the message for the other one")
    must([b["data"]["requestId"] for b in receiver.bodies()] == ["c2"], receiver.bodies())
    receiver.close()


def test_a_refusal_is_tried_again_under_the_same_id(world):
    receiver = Receiver(503)
    file = configure(world, {"hook": {"type": "webhook", "url": receiver.url}}, [{"after": "0s", "to": ["hook"]}])
    admin = world.server("--notify", file).admin()
    ask(admin, "c1")
    eventually(lambda: len(receiver.posts) == 2, "the second attempt")
    must(receiver.posts[0][0]["webhook-id"] == receiver.posts[1][0]["webhook-id"], "the ids differ")
    eventually(lambda: admin.ok("GET", "/api/deliveries")["deliveries"][0]["state"] == "sent", "it is sent")
    receiver.close()


def test_a_wrong_secret_is_not_tried_again_and_named(world):
    receiver = Receiver(401)
    file = configure(world, {"hook": {"type": "webhook", "url": receiver.url}}, [{"after": "0s", "to": ["hook"]}])
    admin = world.server("--notify", file).admin()
    ask(admin, "c1")
    def hook():
        return next(c for c in admin.ok("GET", "/api/channels")["channels"] if c["name"] == "hook")

    eventually(lambda: hook().get("lastError"), "the channel says what is wrong")
    channel = hook()
    must("401" in channel["lastError"] and channel["failed"] == 1, channel)
    eventually(lambda: admin.ok("GET", "/api/deliveries")["deliveries"][0]["state"] == "failed", "it is given up")
    receiver.close()


def test_a_killed_server_sends_what_was_not_sent(world):
    receiver = Receiver()
    file = configure(world, {"hook": {"type": "webhook", "url": receiver.url}},
                     [{"after": "0s", "to": ["hook"]}, {"after": "2s", "to": ["hook"]}])
    server = world.server("--notify", file)
    admin = server.admin()
    session = ask(admin, "c1")
    eventually(lambda: len(admin.ok("GET", "/api/events?types=DELIVERY_ENDED")["events"]) == 1, "the first is kept")
    server.kill()
    server.start()
    admin = server.admin()
    eventually(lambda: "approval.reminded" in types(receiver), "the reminder")
    must(types(receiver).count("approval.requested") == 1, f"the first was sent again: {types(receiver)}")
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: "approval.resolved" in types(receiver), "the withdrawal")
    receiver.close()


def test_a_command_gets_the_message_and_no_key(world):
    out = os.path.join(world.folder, "out")
    script = os.path.join(world.folder, "tell")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\ncat > {out}.part; env | grep -c '^NOD_' >> {out}.env; mv {out}.part {out}\n")
    os.chmod(script, 0o755)
    world.environment["NOD_TOKEN_FILE"] = ""
    file = configure(world, {"bell": {"type": "command", "command": [script]}}, [{"after": "0s", "to": ["bell"]}])
    admin = world.server("--notify", file).admin()
    ask(admin, "c1")
    eventually(lambda: os.path.exists(out), "it ran")
    with open(out, encoding="utf-8") as said:
        message = json.load(said)
    must(message["requestId"] == "c1" and message["pending"]["toolCall"]["input"] == {"x": 1}, message)
    with open(f"{out}.env", encoding="utf-8") as count:
        must(count.read().strip() == "0", "it saw a variable of Nod's")


def test_a_server_ends_while_a_message_is_on_its_way(world):
    """Whether the program that takes it ends before the server, with it or after it: the server ends well."""
    out, script = os.path.join(world.folder, "out"), os.path.join(world.folder, "tell")
    file = configure(world, {"bell": {"type": "command", "command": [script]}}, [{"after": "0s", "to": ["bell"]}])
    for n in range(8):
        with open(script, "w", encoding="utf-8") as program:
            program.write(f"#!/bin/sh\ncat > {out}{n}; sleep 0.{n * 3:02}\n")
        os.chmod(script, 0o755)
        server = world.servers[0].start() if world.servers else world.server("--notify", file)
        ask(server.admin(), f"c{n}")
        eventually(lambda n=n: os.path.exists(f"{out}{n}"), "it runs")
        server.stop()


def test_several_at_once_are_one_message_on_a_phone(world):
    receiver = Receiver()
    file = configure(world, {"phone": {"type": "ntfy", "url": receiver.url, "topic": "t"}}, [{"after": "0s", "to": ["phone"]}])
    server = world.server()
    for n in range(3):
        ask(server.admin(), f"c{n}")
    server.stop()
    server.start("--notify", file)  # now all three are due
    eventually(lambda: receiver.posts, "a message")
    said = receiver.bodies()[0]
    must(said["topic"] == "t" and "3 requests" in said["title"], said)
    must("actions" not in said and "Frob" not in json.dumps(said), said)
    receiver.close()


def test_a_test_message(world):
    receiver = Receiver(200, 403)
    file = configure(world, {"phone": {"type": "ntfy", "url": receiver.url, "topic": "t"}}, [{"to": ["phone"]}])
    admin = world.server("--notify", file).admin()
    must(admin.ok("POST", "/api/channels/phone/test", {}) == {"sent": True, "status": 200}, "it is sent")
    must(admin.ok("POST", "/api/channels/phone/test", {})["status"] == 403, "what the receiver says is told")
    must(admin.post("/api/channels/other/test", {}).status == 404, "no such channel")
    receiver.close()


def answering(world, receiver, person="boss", **more):
    token = os.path.join(world.folder, "token")
    with open(token, "w", encoding="utf-8") as file:
        file.write("tk_1")
    file = configure(world, {"phone": {"type": "ntfy", "url": receiver.url, "topic": "t", "token": {"file": token},
                                       "protected": True, "detail": "full"}}, [{"after": "0s", "to": ["phone"]}], person, **more)
    server = world.server("--notify", file, "--public-url", "https://nod.example")
    return server, server.admin()


def test_a_phone_denies(world):
    receiver = Receiver()
    server, admin = answering(world, receiver)
    boss = admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    session = ask(admin, "c1")
    eventually(lambda: receiver.posts, "the message")
    must(receiver.posts[0][0]["Authorization"] == "Bearer tk_1", receiver.posts)
    must(receiver.bodies()[0]["tags"] == [f"ask Frob {session['id']} c1"], receiver.bodies())
    actions = receiver.bodies()[0]["actions"]
    must([a["label"] for a in actions] == ["Deny"] and actions[0]["url"] == "https://nod.example/api/answers", actions)
    token = json.loads(actions[0]["body"])["token"]
    nobody = type(admin)(server, None)
    must(nobody.get(f"/api/answers?token={token}").status in (401, 404, 405), "a GET decides nothing")
    must(nobody.post("/api/answers", {"token": token[:-2] + ("AA" if token[-2:] != "AA" else "BB")}).status == 403, "forged")
    must(nobody.post("/api/answers", {"token": "x"}).status == 403, "no token")
    must(admin.ok("GET", "/api/tool-calls/c1")["status"] == "awaiting", "still open")
    done = nobody.post("/api/answers", {"token": token, "feedback": "not today"})
    must(done.status == 200 and done.json["decision"] == "deny", done)
    state = admin.ok("GET", "/api/tool-calls/c1")
    must(state["status"] == "denied" and state["decidedBy"]["actor"] == "boss", state)
    second = ask(admin, "c2")
    must(nobody.post("/api/answers", {"token": token}).status == 200, "a repeat of what was decided")
    must(session["id"] != second["id"] and admin.ok("GET", "/api/tool-calls/c2")["status"] == "awaiting", "not another call")
    must(boss["id"], "a person")
    receiver.close()


def test_a_revoked_person_cannot_answer(world):
    receiver = Receiver()
    server, admin = answering(world, receiver)
    boss = admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    ask(admin, "c1")
    eventually(lambda: receiver.posts, "the message")
    token = json.loads(receiver.bodies()[0]["actions"][0]["body"])["token"]
    admin.ok("DELETE", f"/api/tokens/{boss['id']}")
    must(type(admin)(server, None).post("/api/answers", {"token": token}).status == 410, "revoked")
    must(admin.ok("GET", "/api/tool-calls/c1")["status"] == "awaiting", "still open")
    receiver.close()


def test_a_mistake_in_the_file_is_named(world):
    path = os.path.join(world.folder, "notify.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"channels": {"x": {"type": "pigeon"}}, "routes": []}, file)
    said = world.nod("serve", "--data", world.data, "--listen", "127.0.0.1:0", "--notify", path, exits=2)
    must("webhook, command, ntfy" in said.stderr and path in said.stderr, said.stderr)


# ---- push: the message is opened by code of its own, over Python's cryptography ----

class Browser:
    """The keys of a subscription, and the way a browser opens what it gets (RFC 8291)."""

    def __init__(self, endpoint):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        self.key, self.auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        self.point = self.key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.subscription = {"endpoint": endpoint, "keys": {"p256dh": url64(self.point), "auth": url64(self.auth)}}

    def open(self, body):
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        salt, size, point = body[:16], int.from_bytes(body[16:20], "big"), body[21:21 + body[20]]
        must(size == 4096 and len(point) == 65, "the head of the record")
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point))
        material = derive(self.auth, shared, b"WebPush: info\0" + self.point + point, 32)
        key, nonce = derive(salt, material, b"Content-Encoding: aes128gcm\0", 16), derive(salt, material, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, body[86:], None)
        must(plain[-1] == 2, "the last record")
        return json.loads(plain[:-1])


def url64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def un64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derive(salt, secret, info, length):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def check_vapid(headers, public_key, audience):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    fields = dict(part.split("=", 1) for part in headers["Authorization"].removeprefix("vapid ").split(","))
    must(fields["k"] == public_key, "the key is the one that browsers were given")
    signed, signature = fields["t"].rsplit(".", 1)
    raw = un64(signature)
    der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), un64(public_key))
    key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(un64(signed.split(".")[1]))
    must(claims["aud"] == audience and claims["sub"], claims)


def test_the_key_of_push_messages_is_opened_when_it_is_wanted(world):
    """A server that has no device and is asked for no key makes none; a file that holds none is found when it is asked."""
    server = world.server("--web-private")
    path = os.path.join(server.data, "push.key")
    must(not os.path.exists(path), "a key nobody asked for")
    with open(path, "w", encoding="ascii") as file:
        file.write("00")
    refused = server.admin().get("/api/push/key")
    must(refused.status == 500 and "push.key" in refused.json["error"]["message"], refused)
    os.remove(path)
    key = server.admin().ok("GET", "/api/push/key")["publicKey"]
    must(os.stat(path).st_mode & 0o777 == 0o600, "others may read the key")
    browser = Browser("http://127.0.0.1:9/push/1")
    server.admin().ok("POST", "/api/push/devices", browser.subscription, status=(201,))
    server.stop()
    with open(path, encoding="ascii") as file:
        kept = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write("00")
    server.start(wait=False)  # phones were given another key than it could make now
    must(server.process.wait(60) != 0 and "push.key does not hold a key" in server.log(), server.log())
    with open(path, "w", encoding="ascii") as file:
        file.write(kept)
    server.start()
    must(server.admin().ok("GET", "/api/push/key")["publicKey"] == key, "the same key")


def test_a_push_message_travels_and_answers(world):
    service = Receiver(201)
    server = world.server("--web-private")
    admin = server.admin()
    key = admin.ok("GET", "/api/push/key")["publicKey"]
    browser = Browser(service.url + "push/1")
    must(admin.post("/api/push/devices", {"endpoint": "ftp://x", "keys": {}}).status == 400, "no endpoint")
    admin.ok("POST", "/api/push/devices", browser.subscription, status=(201,))
    admin.ok("POST", "/api/channels/push/test", {})
    test = browser.open(service.posts[0][1])
    must(test["notification"]["title"] == "Nod: test", test)
    server.kill()  # the device and the key are known after a restart
    server.start()
    admin = server.admin()
    must(admin.ok("GET", "/api/push/key")["publicKey"] == key, "the same key")
    session = ask(admin, "c1")
    eventually(lambda: len(service.posts) > 1, "the message")
    headers, body = service.posts[1]
    check_vapid(headers, key, service.url.rstrip("/"))
    must(headers["Content-Encoding"] == "aes128gcm" and int(headers["TTL"]) > 0 and headers["Urgency"] == "high", headers)
    said = browser.open(body)
    must(said["web_push"] == 8030 and said["notification"]["data"]["requestId"] == "c1", said)
    must(said["notification"]["data"]["sessionId"] == session["id"] and "Frob" in said["notification"]["body"], said)
    must("allow" not in said["notification"]["data"]["answers"], "what was not shown cannot be allowed")
    done = type(admin)(server, None).post("/api/answers", {"token": said["notification"]["data"]["answers"]["deny"]})
    must(done.status == 200, done)
    eventually(lambda: len(service.posts) > 2, "the withdrawal")
    must(browser.open(service.posts[2][1])["notification"]["silent"] is True, "it replaces the message quietly")
    must(service.posts[1][0]["Topic"] == service.posts[2][0]["Topic"], "one topic")
    service.close()


def test_a_device_that_is_gone_is_forgotten(world):
    service = Receiver(410)
    admin = world.server("--web-private").admin()
    admin.ok("POST", "/api/push/devices", Browser(service.url + "push/1").subscription, status=(201,))
    must(admin.ok("POST", "/api/channels/push/test", {})["status"] == 410, "the service says so")
    must("no device" in admin.ok("POST", "/api/channels/push/test", {})["error"], "it is forgotten")
    must(len(service.posts) == 1, "it is not asked again")
    service.close()


def test_a_device_whose_token_was_revoked_is_told_nothing(world):
    """A lost phone: its messages would go on to hold the buttons that answer."""
    service = Receiver()
    admin = world.server("--web-private").admin()
    phone = admin.token_for("approver", "admin, Phone")
    phone.ok("POST", "/api/push/devices", Browser(service.url + "push/1").subscription, status=(201,))
    must(admin.ok("POST", "/api/channels/push/test", {})["sent"] is True and len(service.posts) == 1, "it is sent")
    admin.ok("DELETE", f"/api/tokens/{phone.id}")
    must("no device" in admin.ok("POST", "/api/channels/push/test", {})["error"] and len(service.posts) == 1, "the phone is told")
    service.close()


def test_push_reaches_no_private_address_unless_allowed(world):
    service = Receiver()
    admin = world.server().admin()
    admin.ok("POST", "/api/push/devices", Browser(service.url + "push/1").subscription, status=(201,))
    must(admin.ok("POST", "/api/channels/push/test", {})["sent"] is False and not service.posts, "it was sent")
    service.close()


# ---- answer tokens: who may do what with one ----

def test_answer_tokens_table(world):
    receiver = Receiver()
    server, admin = answering(world, receiver)
    boss = admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    nobody = type(admin)(server, None)

    def token(number):
        ask(admin, f"t{number}", name="Read", input={"file_path": "/tmp/x"})
        eventually(lambda: any(b["sequence_id"] == f"t{number}" for b in receiver.bodies()), f"the message of t{number}")
        said = next(b for b in receiver.bodies() if b["sequence_id"] == f"t{number}")
        return json.loads(next(a for a in said["actions"] if a["label"] == "Deny")["body"])["token"]

    def send(token, path="/api/answers", **more):
        return nobody.post(path, {"token": token, **more}).status

    first = token(1)
    raw = bytearray(un64(first))

    def changed(at, to=None):
        other = bytearray(raw)
        other[at] = other[at] ^ 1 if to is None else to
        return url64(bytes(other))

    # What is sent, and what comes of it. The call waits until the last line but three.
    table = [
        ("a scanner's GET", lambda: nobody.get(f"/api/answers?token={first}").status, (401, 404, 405)),
        ("a scanner's HEAD", lambda: nobody.request("HEAD", "/api/answers").status, (401, 404, 405)),
        ("a GET of the page", lambda: nobody.get("/a").status, (200,)),
        ("a look", lambda: send(first, "/api/answers/look"), (200,)),
        ("another decision", lambda: send(changed(0, 0x11)), (403,)),
        ("a later expiry", lambda: send(changed(1)), (403,)),
        ("another delivery", lambda: send(changed(5)), (410,)),
        ("another MAC", lambda: send(changed(20)), (403,)),
        ("nothing", lambda: send(""), (403,)),
        ("too long", lambda: send("A" * 100), (403,)),
        ("no text", lambda: nobody.post("/api/answers", {"token": 7}).status, (400,)),
    ]
    for words, do, statuses in table:
        got = do()
        must(got in statuses, f"{words}: {got}")
        must(admin.ok("GET", "/api/tool-calls/t1")["status"] == "awaiting", f"{words} has decided")
    must(send(first) == 200, "the answer")
    must(send(first) == 200, "the same again")
    must(send(first, "/api/answers/look") == 200, "a look at what was answered")
    must(admin.ok("GET", "/api/tool-calls/t1")["status"] == "denied", "it is denied")
    many = [send(changed(20)) for _ in range(30)]
    must(many[-1] == 429 and many.count(429) < 30, many)
    boss_token = boss["id"]
    admin.ok("DELETE", f"/api/tokens/{boss_token}")
    must(send(first) == 410, "a revoked person")
    receiver.close()


def test_an_answer_expires(world):
    receiver = Receiver()
    server, admin = answering(world, receiver, answers="2s")
    admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    ask(admin, "c1")
    eventually(lambda: receiver.posts, "the message")
    token = json.loads(next(a for a in receiver.bodies()[0]["actions"] if a["label"] == "Deny")["body"])["token"]
    nobody = type(admin)(server, None)
    eventually(lambda: nobody.post("/api/answers/look", {"token": token}).status == 410, "it is too old")
    late = nobody.post("/api/answers", {"token": token})
    must(late.status == 410 and "too old" in late.json["error"]["message"], f"{late}")
    must(admin.ok("GET", "/api/tool-calls/c1")["status"] == "awaiting", "the call waits on")
    receiver.close()


def test_an_answer_that_lost_names_the_winner(world):
    receiver = Receiver()
    server, admin = answering(world, receiver)
    admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    session = ask(admin, "c1")
    eventually(lambda: receiver.posts, "the message")
    token = json.loads(receiver.bodies()[0]["actions"][-1]["body"])["token"]
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "allow_once"})
    late = type(admin)(server, None).post("/api/answers", {"token": token})
    must(late.status == 409 and late.json["winner"]["decision"] == "allow_once" and late.json["winner"]["actor"], late)
    receiver.close()
