"""Chats, mail: each against a server on loopback that speaks as its documents say.

Telegram: core.telegram.org/bots/api (sendMessage, editMessageText, getUpdates, answerCallbackQuery, ResponseParameters).
Slack: api.slack.com/methods/chat.postMessage, chat.update, "Rate limits". Discord: "Execute Webhook", "Edit Webhook Message",
"Rate Limits" of its developer documents. Mail: RFC 5321 and 5322; the message is read by Python's email package.
"""
import base64
import datetime
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import os
import queue
import socketserver
import threading
import time
import urllib.parse

from notify import ask
from world import eventually, must


class Service:
    """Keeps (method, path, headers, body); `answer(path, body)` gives status and JSON, and may block."""

    def __init__(self, answer):
        self.calls, self.lock = [], threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.calls.append((self.command, self.path, dict(self.headers), body))
                status, said, *headers = answer(self.path, body)
                text = json.dumps(said).encode()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:
                    pass  # Nod has ended meanwhile

            do_PATCH = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def of(self, ending):
        with self.lock:
            return [call for call in self.calls if call[1].split("?")[0].endswith(ending)]


def serve(world, channel, secret, key="token", **more):
    path = os.path.join(world.folder, "secret")
    with open(path, "w", encoding="utf-8") as file:
        file.write(secret)
    config = os.path.join(world.folder, "notify.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"channels": {"chat": {**channel, key: {"file": path}, **more}},
                   "routes": [{"person": "boss", "steps": [{"after": "0s", "to": ["chat"]}]}]}, file)
    admin = world.server("--notify", config, "--public-url", "https://nod.example").admin()
    admin.ok("POST", "/api/tokens", {"name": "boss", "role": "approver"}, status=(201,))
    return admin


def last_error(admin):
    return next(c for c in admin.ok("GET", "/api/channels")["channels"] if c["name"] == "chat").get("lastError", "")


def status(admin, call):
    return admin.ok("GET", f"/api/tool-calls/{call}")["status"]


# ---- Telegram ----

BOT = "123:secret"


class Telegram(Service):
    def __init__(self, send=None):
        self.updates, self.send, self.ids = queue.Queue(), send or [], 0
        super().__init__(self.answer)

    def answer(self, path, _body):
        if not path.startswith(f"/bot{BOT}/"):
            return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        if path.endswith("/getUpdates"):
            try:
                return 200, {"ok": True, "result": [self.updates.get(timeout=1)]}
            except queue.Empty:
                return 200, {"ok": True, "result": []}
        if path.endswith("/sendMessage"):
            if self.send:
                return self.send.pop(0)
            self.ids += 1
            return 200, {"ok": True, "result": {"message_id": self.ids, "chat": {"id": 77, "type": "private"}}}
        return 200, {"ok": True, "result": True}

    def press(self, number, sender, data):
        self.updates.put({"update_id": number, "callback_query": {"id": f"q{number}", "from": {"id": sender}, "message": {"message_id": 1}, "data": data}})


def telegram(world, service, secret=BOT):
    return serve(world, {"type": "telegram", "url": service.url, "chat": "77"}, secret)


def test_telegram_asks_is_answered_and_withdraws(world):
    service = Telegram()
    admin = telegram(world, service)
    session = ask(admin, "c1")
    eventually(lambda: service.of("/sendMessage"), "the message")
    said = service.of("/sendMessage")[0][3]
    must(said["text"].splitlines()[-1] == f"ask Frob {session['id']} c1", said)
    buttons = said["reply_markup"]["inline_keyboard"][0]
    must(said["chat_id"] == "77" and "Frob" in said["text"] and "parse_mode" not in said, said)
    must([b["text"] for b in buttons] == ["Deny", "Look"] and len(buttons[0]["callback_data"].encode()) <= 64, buttons)
    must(buttons[1]["url"].startswith("https://nod.example/a#"), buttons)
    service.press(1, 78, buttons[0]["callback_data"])  # another person in the chat
    service.press(2, 77, "x" * 50)
    eventually(lambda: len(service.of("/answerCallbackQuery")) == 2, "both are told no")
    must(status(admin, "c1") == "awaiting", "neither decides")
    service.press(3, 77, buttons[0]["callback_data"])
    eventually(lambda: status(admin, "c1") == "denied", "the press denies")
    eventually(lambda: service.of("/editMessageText"), "the message is changed")
    edit = service.of("/editMessageText")[0][3]
    must(edit["message_id"] == 1 and "reply_markup" not in edit and "boss" in edit["text"], edit)
    eventually(lambda: len(service.of("/answerCallbackQuery")) == 3, "the button stops")
    must(service.of("/answerCallbackQuery")[2][3] == {"callback_query_id": "q3", "text": "Denied."}, service.of("/answerCallbackQuery"))
    eventually(lambda: service.of("/getUpdates")[-1][3]["offset"] == 4, "presses are confirmed")


def test_telegram_waits_as_long_as_it_is_told(world):
    service = Telegram([(429, {"ok": False, "error_code": 429, "parameters": {"retry_after": 6}})])
    admin = telegram(world, service)
    ask(admin, "c1")
    eventually(lambda: len(service.of("/sendMessage")) == 2, "the second attempt")
    eventually(lambda: admin.ok("GET", "/api/deliveries")["deliveries"][0]["state"] == "sent", "it is sent")


def test_telegram_with_a_wrong_token_is_named_without_the_token(world):
    service = Telegram()
    admin = telegram(world, service, "123:wrong")
    ask(admin, "c1")
    eventually(lambda: "bot's token" in last_error(admin), lambda: last_error(admin))
    must("wrong" not in last_error(admin), "the token is in the error")
    service.server.shutdown()
    service.server.server_close()
    eventually(lambda: "bot's token" not in last_error(admin), "another error")
    must("123" not in last_error(admin), last_error(admin))


# ---- Slack ----

def test_slack_asks_and_withdraws(world):
    answers = [(200, {"ok": False, "error": "ratelimited"}, ("Retry-After", "1"))]
    service = Service(lambda path, _body: answers.pop(0) if answers else (200, {"ok": True, "ts": "17.1"}))
    admin = serve(world, {"type": "slack", "url": service.url + "/api", "chat": "D1"}, "xoxb-1", protected=True)
    session = ask(admin, "c1")
    eventually(lambda: len(service.of("/chat.postMessage")) == 2, "the second attempt")
    _, _, headers, said = service.of("/chat.postMessage")[1]
    must(headers["Authorization"] == "Bearer xoxb-1" and said["channel"] == "D1" and "https://nod.example/a#" in said["text"], said)
    must(said["metadata"] == {"event_type": "nod_approval", "event_payload": {"type": "ask", "sessionId": session["id"], "requestId": "c1", "tool": "Frob"}}, said)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: service.of("/chat.update"), "the message is changed")
    must(service.of("/chat.update")[0][3]["ts"] == "17.1" and "denied by" in service.of("/chat.update")[0][3]["text"], service.calls)


def test_slack_with_a_wrong_token_is_named(world):
    service = Service(lambda _path, _body: (200, {"ok": False, "error": "invalid_auth"}))
    admin = serve(world, {"type": "slack", "url": service.url, "chat": "D1"}, "xoxb-1")
    ask(admin, "c1")
    eventually(lambda: "invalid_auth" in last_error(admin), "the channel says so")
    eventually(lambda: admin.ok("GET", "/api/deliveries")["deliveries"][0]["state"] == "failed", "it is not tried again")
    must("/a#" not in service.calls[0][3]["text"], "a chat that others read has a link that answers")


SIGNING = b"8f742231b10e8888abcd99yyyzzz85a5"


def slack_press(admin, user, value, at=None, key=SIGNING, channel="chat", kind="block_actions"):
    """What Slack posts when somebody presses: block_actions, signed as "Verifying requests from Slack" says."""
    stamp = str(int(time.time()) if at is None else at)
    payload = {"type": kind, "team": {"id": "T1"}, "user": {"id": user}, "actions": [{"action_id": "danger", "value": value}]}
    body = urllib.parse.urlencode({"payload": json.dumps(payload)})
    mac = "v0=" + hmac.new(key, f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return admin.request("POST", f"/api/answers/slack/{channel}", body, headers={
        "Authorization": None, "Content-Type": "application/x-www-form-urlencoded", "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": mac})


def test_slack_presses_are_signed(world):
    service = Service(lambda _path, _body: (200, {"ok": True, "ts": "17.1"}))
    signing = os.path.join(world.folder, "signing")
    with open(signing, "wb") as file:
        file.write(SIGNING)
    admin = serve(world, {"type": "slack", "url": service.url, "chat": "D1"}, "xoxb-1", signing={"file": signing}, users=["U1"])
    session = ask(admin, "c1")
    eventually(lambda: service.of("/chat.postMessage"), "the message")
    section, actions = service.of("/chat.postMessage")[0][3]["blocks"]
    must(section["type"] == "section" and [b["text"]["text"] for b in actions["elements"]] == ["Deny"], f"{actions}")
    token = actions["elements"][0]["value"]
    now = int(time.time())
    rows = [("another key", 403, {"key": b"x" * 32}), ("six minutes old", 403, {"at": now - 360}), ("from the future", 403, {"at": now + 360}),
            ("another user", 403, {"user": "U2"}), ("another channel", 404, {"channel": "nothing"}), ("no press", 400, {"kind": "view_submission"}),
            ("a forged token", 200, {"value": "x" * 50})]
    for words, status_, change in rows:
        got = slack_press(admin, **{"user": "U1", "value": token, **change})
        must(got.status == status_ and status(admin, "c1") == "awaiting", f"{words}: {got}")
    must(slack_press(admin, "U1", token).status == 200 and status(admin, "c1") == "denied", "the press of the right one")
    eventually(lambda: service.of("/chat.update"), "the message is changed")
    must([b["type"] for b in service.of("/chat.update")[0][3]["blocks"]] == ["section"], "and has no buttons any more")
    must(slack_press(admin, "U1", token).status == 200, "once more does no harm")
    must(session, "asked")


def test_a_revoked_person_is_told_nothing_more(world):
    service = Service(lambda _path, _body: (200, {"ok": True, "ts": "17.1"}))
    admin = serve(world, {"type": "slack", "url": service.url, "chat": "D1"}, "xoxb-1")
    ask(admin, "c1")
    eventually(lambda: service.of("/chat.postMessage"), "while the person may answer")
    for token in admin.ok("GET", "/api/tokens")["tokens"]:
        if token["name"] == "boss":
            admin.ok("DELETE", f"/api/tokens/{token['id']}")
    ask(admin, "c2")
    states = lambda: [one["state"] for one in admin.ok("GET", "/api/deliveries?call=c2")["deliveries"]]
    eventually(lambda: states() == ["not needed"], lambda: f"the second message: {states()}")
    must(len(service.of("/chat.postMessage")) == 1, "nothing was sent")


# ---- Discord ----

def test_discord_asks_and_withdraws(world):
    answers = [(429, {"message": "You are being rate limited.", "retry_after": 1.5}, ("Retry-After", "2"))]
    service = Service(lambda path, _body: answers.pop(0) if answers else (200, {"id": "99"}))
    admin = serve(world, {"type": "discord"}, service.url + "/api/webhooks/1/abc", key="secret", protected=True)
    session = ask(admin, "c1")
    eventually(lambda: len(service.calls) == 2, "the second attempt")
    method, path, _, said = service.calls[1]
    must(method == "POST" and path.endswith("?wait=true") and said["allowed_mentions"] == {"parse": []}, service.calls)
    must("<https://nod.example/a#" in said["content"] and len(said["content"]) <= 2000, said)
    must(said["embeds"] == [{"footer": {"text": f"ask Frob {session['id']} c1"}}], said)
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1", {"decision": "deny"})
    eventually(lambda: len(service.calls) == 3, "the message is changed")
    must(service.calls[2][0] == "PATCH" and service.calls[2][1].endswith("/messages/99"), service.calls[2])


def test_discord_with_a_wrong_webhook_is_named(world):
    service = Service(lambda _path, _body: (404, {"message": "Unknown Webhook", "code": 10015}))
    admin = serve(world, {"type": "discord"}, service.url + "/api/webhooks/1/abc", key="secret")
    ask(admin, "c1")
    eventually(lambda: "does not know this webhook" in last_error(admin), "the channel says so")
    must("abc" not in last_error(admin), "the secret is in the error")


# ---- mail ----

class Mailbox:
    """Takes mail; answers MAIL with the replies it is given first."""

    def __init__(self, *replies):
        self.mails, self.replies = [], list(replies)
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(b"220 fake\r\n")
                mail = {}
                while line := self.rfile.readline():
                    word = line.split()[0].upper() if line.split() else b""
                    if word == b"EHLO":
                        self.wfile.write(b"250-fake\r\n250 AUTH PLAIN\r\n")
                    elif word == b"AUTH":
                        if len(line.split()) < 3:
                            self.wfile.write(b"334 \r\n")
                            self.rfile.readline()
                        self.wfile.write(b"235 ok\r\n")
                    elif word == b"MAIL" and outer.replies:
                        self.wfile.write(outer.replies.pop(0) + b"\r\n")
                    elif word == b"RCPT":
                        mail["to"] = line
                        self.wfile.write(b"250 ok\r\n")
                    elif word == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        text = b""
                        while (part := self.rfile.readline()) != b".\r\n":
                            text += part
                        outer.mails.append((mail, email.message_from_bytes(text, policy=email.policy.default)))
                        self.wfile.write(b"250 kept\r\n")
                    elif word == b"QUIT":
                        self.wfile.write(b"221 bye\r\n")
                        return
                    else:
                        self.wfile.write(b"250 ok\r\n")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"smtp://127.0.0.1:{self.server.server_address[1]}"


def mail(world, box, **more):
    return serve(world, {"type": "email", "url": box.url, "from": "nod@example.com", "to": "boss@example.com"}, "user:pass", **more)


def test_mail_has_a_link_and_is_tried_again(world):
    box = Mailbox(b"421 later")
    admin = mail(world, box)
    session = ask(admin, "c1")
    eventually(lambda: box.mails, "the mail")
    envelope, message = box.mails[0]
    payload = json.loads(base64.b64decode("".join(message["X-Nod-Payload"].split())))
    must(payload == {"type": "ask", "sessionId": session["id"], "requestId": "c1", "tool": "Frob"}, payload)
    must(b"boss@example.com" in envelope["to"] and "boss@example.com" in message["To"], message)
    must("needs an answer" in message["Subject"] and message["Auto-Submitted"] == "auto-generated", message)
    text = message.get_content()
    must("Frob" in text and "https://nod.example/a#" in text, text)
    delivery = admin.ok("GET", "/api/deliveries")["deliveries"][0]
    must(message["Message-ID"] == f"<{delivery['deliveryId']}@nod>", message["Message-ID"])


def test_mail_that_is_refused_is_named(world):
    box = Mailbox(b"550 no such sender")
    admin = mail(world, box)
    ask(admin, "c1")
    eventually(lambda: "550" in last_error(admin), lambda: last_error(admin))
    must("pass" not in last_error(admin), last_error(admin))


def test_mails_keep_a_distance_of_five_minutes(world):
    box = Mailbox()
    admin = mail(world, box)
    ask(admin, "c1")
    eventually(lambda: box.mails, "the first mail")
    ask(admin, "c2")
    eventually(lambda: 2 < wait_of_the_second(admin) <= 5, lambda: f"the second mail waits {wait_of_the_second(admin)} minutes")
    must(len(box.mails) == 1, "it waits")


def wait_of_the_second(admin):
    due = {one["toolCallId"]: datetime.datetime.fromisoformat(one["dueAt"].replace("Z", "+00:00")) for one in admin.ok("GET", "/api/deliveries")["deliveries"]}
    return "c2" in due and (due["c2"] - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 60
