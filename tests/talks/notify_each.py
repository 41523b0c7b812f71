"""Each channel whose receiver says "later", or that the secret is wrong. Slack, Telegram, Discord: notify_chats.py.

Documents: "Standard Webhooks" 1.0.0 (429 and Retry-After), ntfy docs/publish.md (429 with a code in the body, 403), RFC 8030
section 5 and RFC 8292 section 4.2 (push: 429, 403), RFC 5321 and 4954 (mail: 535), sysexits.h (command: 75).
"""
import os
import socketserver
import threading

from notify import Browser, Receiver, configure, secret
from world import eventually, must

MAIL_PASSWORD = "hunter2"


class Refusing:
    """A mail server that knows nobody (RFC 4954)."""

    def __init__(self):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(b"220 fake\r\n")
                while line := self.rfile.readline():
                    word = line.split()[0].upper()
                    self.wfile.write({b"EHLO": b"250-fake\r\n250 AUTH PLAIN\r\n", b"AUTH": b"535 5.7.8 authentication failed\r\n"}.get(word, b"250 ok\r\n"))

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"smtp://127.0.0.1:{self.server.server_address[1]}"


def put(world, name, text):
    path = os.path.join(world.folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o700)
    return path


def start(world, receivers, **more):
    channels = {"hook": {"type": "webhook", "url": receivers["hook"].url, "secret": secret(world)},
                "phone": {"type": "ntfy", "url": receivers["phone"].url, "topic": "t", "token": {"file": put(world, "ntfy", "tk_1")}}, **more}
    file = configure(world, channels, [{"after": "0s", "to": [*channels, "push"]}])
    admin = world.server("--notify", file, "--web-private").admin()
    admin.ok("POST", "/api/push/devices", Browser(receivers["push"].url + "push/1").subscription, status=(201,))
    made = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": "c1", "name": "Frob", "input": {}})
    return admin, made


def states(admin):
    return {one["channel"]: one["state"] for one in admin.ok("GET", "/api/deliveries?call=c1")["deliveries"] if one["purpose"] == "ask"}


def test_later_is_tried_again(world):
    receivers = {name: Receiver(429) for name in ("hook", "phone", "push")}
    said = os.path.join(world.folder, "said")
    bell = put(world, "bell", f"#!/bin/sh\ncat >> {said}\n[ $(wc -l < {said}) -gt 1 ] || exit 75\n")
    admin, made = start(world, receivers, bell={"type": "command", "command": [bell]})
    eventually(lambda: states(admin) == {name: "sent" for name in ("hook", "phone", "push", "bell")}, lambda: f"{states(admin)}")
    for name, receiver in receivers.items():
        must(len(receiver.posts) == 2, f"{name} was tried {len(receiver.posts)} times")
    must(receivers["hook"].posts[0][0]["webhook-id"] == receivers["hook"].posts[1][0]["webhook-id"], "the same message")
    must(len({body["sequence_id"] for body in receivers["phone"].bodies()}) == 1, "the same message")
    admin.decided(made["id"], "c1", "deny")
    eventually(lambda: all(len(receiver.posts) == 3 for receiver in receivers.values()), "each is withdrawn")
    with open(said, encoding="utf-8") as file:
        eventually(lambda: '"type":"withdraw"' in file.read() or file.seek(0), "the command, too")
    last = receivers["phone"].bodies()[2]
    must(last["sequence_id"] == "c1" and last["priority"] == 2 and "actions" not in last, f"replaced in place, quietly: {last}")
    for receiver in receivers.values():
        receiver.close()


def test_a_wrong_secret_is_named_by_each(world):
    receivers = {"hook": Receiver(*[401] * 9), "phone": Receiver(*[403] * 9), "push": Receiver(*[403] * 9)}
    mail = {"type": "email", "url": Refusing().url, "from": "nod@example.com", "to": "boss@example.com", "secret": {"file": put(world, "mail", f"user:{MAIL_PASSWORD}")}}
    admin, _ = start(world, receivers, mail=mail)
    eventually(lambda: states(admin) == {name: "failed" for name in ("hook", "phone", "push", "mail")}, lambda: f"{states(admin)}")
    errors = {one["name"]: one["lastError"] for one in admin.ok("GET", "/api/channels")["channels"] if one["name"] in states(admin)}
    for name, number in (("hook", "401"), ("phone", "403"), ("push", "403"), ("mail", "535")):
        must(number in errors[name] and len(errors) == 4, f"{errors}")
        must(not any(word in errors[name] for word in ("tk_1", "whsec_", MAIL_PASSWORD)), f"a secret is shown: {errors}")
    must([len(receiver.posts) for receiver in receivers.values()] == [1, 1, 1], "none is tried again")
    for receiver in receivers.values():
        receiver.close()


def test_a_command_says_by_its_status_what_comes_next(world):
    """sysexits.h: 75 is EX_TEMPFAIL; anything else but 0 is final. One that was killed has said nothing."""
    runs = os.path.join(world.folder, "runs")
    ends = {"done": "exit 0", "wrong": "exit 1", "later": "exit 75", "killed": "kill -9 $$"}
    channels = {name: {"type": "command", "command": [put(world, name, f"#!/bin/sh\necho {name} >> {runs}\n{end}\n")]} for name, end in ends.items()}
    admin = world.server("--notify", configure(world, channels, [{"after": "0s", "to": [*channels]}])).admin()
    made = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": "c1", "name": "Frob", "input": {}})
    told = lambda: {one["channel"]: (one["state"], one["attempts"]) for one in admin.ok("GET", "/api/deliveries?call=c1")["deliveries"]}
    eventually(lambda: all(attempts for _, attempts in told().values()), lambda: f"each has run: {told()}")
    must({name: told()[name] for name in ("done", "wrong")} == {"done": ("sent", 1), "wrong": ("failed", 1)}, f"{told()}")
    eventually(lambda: all(state == "due" and attempts >= 2 for state, attempts in (told()["later"], told()["killed"])), lambda: f"they are tried again: {told()}")
    must(told()["wrong"] == ("failed", 1), f"it is given up: {told()}")
    errors = {one["name"]: one.get("lastError", "") for one in admin.ok("GET", "/api/channels")["channels"]}
    must("status 1" in errors["wrong"] and "status 75" in errors["later"], f"{errors}")
    with open(runs, encoding="utf-8") as file:
        must(file.read().split().count("wrong") == 1, "it ran once")


def test_the_next_channel_takes_the_place_of_a_broken_one(world):
    broken, other, third = Receiver(*[401] * 9), Receiver(), Receiver()
    channels = {"broken": {"type": "webhook", "url": broken.url}, "other": {"type": "webhook", "url": other.url}, "third": {"type": "webhook", "url": third.url}}
    steps = [{"after": "0s", "to": ["broken"]}, {"after": "1h", "to": ["broken", "other"]}, {"after": "2h", "to": ["third"]}]
    admin = world.server("--notify", configure(world, channels, steps)).admin()
    made = admin.ok("POST", "/api/sessions", {"toolPolicies": {"Frob": "ask"}})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": "c1", "name": "Frob", "input": {}})
    eventually(lambda: other.posts, "the next channel is told at once and not in an hour")
    due = [one for one in admin.ok("GET", "/api/deliveries?call=c1")["deliveries"] if one["state"] == "due"]
    must(sorted(one["channel"] for one in due) == ["broken", "third"] and not third.posts, f"the rest keeps its time: {due}")
    for receiver in (broken, other, third):
        receiver.close()
