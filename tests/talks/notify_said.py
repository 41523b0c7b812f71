"""What messages say: nothing of a file's contents, no secret, no character that hides text; and too much is not nothing.

Every receiver is on loopback and keeps what it gets; the words are searched in all of it, whatever the channel's form.
"""
import base64
import datetime
import json
import os
import unicodedata

from notify import Browser, Receiver, configure, secret
from notify_chats import BOT, Mailbox, Service, Telegram
from notify_each import put
from world import eventually, must

RANDOM = "q7Zp0Xw3Vb8Kd2Lm5Ns9Rt4Y"
SECRETS = ["hunter2hunter2", "u53rpass", "sk-abcdefgh12345678", "BEGINOFKEY", RANDOM, "contents-of-a-file", "what-was-there", "hush-hush"]
CALLS = {
    "write": ("Write", {"file_path": "/tmp/a.txt", "content": "contents-of-a-file"}),
    "edit": ("Edit", {"file_path": "/tmp/a.txt", "old_string": "what-was-there", "new_string": "contents-of-a-file"}),
    "url": ("Bash", {"command": "git clone https://me:u53rpass@host.example/x && PASSWORD=hunter2hunter2 make"}),
    "key": ("Bash", {"command": f"curl https://host.example/{RANDOM} -H 'X: sk-abcdefgh12345678'"}),
    "pem": ("Bash", {"command": "echo '-----BEGIN RSA PRIVATE KEY----- BEGINOFKEY' > x"}),
    "tool": ("Deploy", {"apiToken": "hush-hush", "nested": [{"password": "hush-hush"}], "to": "stage"}),
}


def everything(world, detail):
    """A server that tells of each call on every channel that has a receiver here; what each has got, as text."""
    got = {name: Receiver() for name in ("hook", "events", "phone")}
    chats = {"telegram": Telegram(), "slack": Service(lambda _path, _body: (200, {"ok": True, "ts": "17.1"})), "discord": Service(lambda _path, _body: (200, {"id": "9"}))}
    box, push, said = Mailbox(), Receiver(), os.path.join(world.folder, "said")
    bell = put(world, "bell", f"#!/bin/sh\n{{ cat; env; }} >> {said}\n")
    channels = {
        "hook": {"type": "webhook", "url": got["hook"].url, "secret": secret(world)},
        "events": {"type": "webhook", "url": got["events"].url, "format": "cloudevents"},
        "phone": {"type": "ntfy", "url": got["phone"].url, "topic": "t", "token": {"file": put(world, "ntfy", "tk_1")}, "protected": True},
        "bell": {"type": "command", "command": [bell]},
        "telegram": {"type": "telegram", "url": chats["telegram"].url, "chat": "42", "token": {"file": put(world, "bot", BOT)}},
        "slack": {"type": "slack", "url": chats["slack"].url, "chat": "D1", "token": {"file": put(world, "slack", "xoxb-1")}},
        "discord": {"type": "discord", "secret": {"file": put(world, "discord", chats["discord"].url)}},
        "mail": {"type": "email", "url": box.url, "from": "nod@example.com", "to": "boss@example.com"},
    }
    file = configure(world, {name: {**channel, "detail": detail} for name, channel in channels.items()},
                     [{"after": "0s", "to": [*channels, "push"]}])
    admin = world.server("--notify", file, "--web-private", "--public-url", "https://nod.example").admin()
    browser = Browser(push.url + "push/1")
    admin.ok("POST", "/api/push/devices", browser.subscription, status=(201,))

    def texts():
        sent = {name: [body.decode() for _, body in one.posts] for name, one in got.items()}
        sent |= {name: [json.dumps(call[3], ensure_ascii=False) for call in one.calls if "getUpdates" not in call[1]] for name, one in chats.items()}
        sent["mail"] = [f"{one}\n{one.get_content()}\n{base64.b64decode(''.join(one['X-Nod-Payload'].split())).decode()}" for _, one in box.mails]
        sent["push"] = [json.dumps(browser.open(body), ensure_ascii=False) for _, body in push.posts]
        sent["bell"] = open(said, encoding="utf-8").read().split("\n") if os.path.exists(said) else []
        return sent
    return admin, texts


def say(admin, call, tool, given):
    made = admin.ok("POST", "/api/sessions", {"cwd": "/tmp", "toolPolicies": {tool: "ask"}})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": call, "name": tool, "input": given})
    return made


def all_told(admin, texts, call):
    """Coalescing channels wait for their distance; an answer ends what waits."""
    eventually(lambda: all(one["state"] in ("sent", "due") for one in admin.ok("GET", f"/api/deliveries?call={call}")["deliveries"]), f"{call} is told")
    eventually(lambda: all(any(call in text for text in texts()[name]) for name in ("hook", "events", "bell")), lambda: f"{call}: {texts()}")


def settled(admin):
    """Nothing is on its way: what is due is due later. A server that ends while it sends may leave memory to the thread."""
    def later(one):
        return datetime.datetime.fromisoformat(one["dueAt"].replace("Z", "+00:00")) > datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    quiet = lambda one: one["state"] in ("sent", "not needed", "failed") or (one["state"] == "due" and later(one))
    eventually(lambda: all(map(quiet, admin.ok("GET", "/api/deliveries")["deliveries"])), "nothing is on its way")


def search(world, detail):
    admin, texts = everything(world, detail)
    for call, (tool, given) in CALLS.items():
        say(admin, call, tool, given)
        all_told(admin, texts, call)
    must(all(texts().values()), f"every channel was used: {texts()}")
    found = {(name, word) for name, sent in texts().items() for text in sent for word in SECRETS if word in text}
    must(not found, f"said: {found}")
    settled(admin)
    return texts()


def test_no_contents_and_no_secrets_leave(world):
    search(world, "full")


def test_a_summary_has_no_input(world):
    for name, sent in search(world, "summary").items():
        must(not any('"input"' in text for text in sent), f"{name}: {sent}")


def for_people(value, key=""):
    """The strings that people see; a program gets the tool's name as it is, escaped."""
    if isinstance(value, str):
        return [value] if key in ("title", "body", "message", "text", "content", "tags") else []
    members = value.items() if isinstance(value, dict) else [(key, one) for one in value] if isinstance(value, list) else []
    return [line for name, one in members for line in for_people(one, name)]


def test_no_character_hides_text(world):
    admin, texts = everything(world, "full")
    say(admin, "c1", "Use\u202e\nNod: approved", {"query": "a\u202eb\u200b\x1b[31mc\r\nBcc: x@example.com"})
    all_told(admin, texts, "c1")
    eventually(lambda: all(texts().values()), lambda: f"every channel: {texts()}")
    for name, sent in texts().items():
        for text in sent if name != "bell" else [line for line in sent if line.startswith("NOTIFY_")]:
            shown = for_people(json.loads(text)) if text.startswith("{") else [text]
            bad = [c for line in shown for c in line if unicodedata.category(c) in ("Cc", "Cf") and c not in "\r\n"]
            must(not bad and "\nBcc:" not in "".join(shown), f"{name}: {bad} {shown}")
    settled(admin)


def test_a_text_that_does_not_fit_is_told_all_the_same(world):
    """An agent must not keep people from being told by what it writes: & is five letters in Slack, <U+202E> eight."""
    admin, texts = everything(world, "full")
    for call, command in (("amps", "make " + "&" * 790), ("bidi", "make " + "\u202e" * 700), ("long", "make " + "x" * 5000)):
        made = say(admin, call, "Bash", {"command": command})
        all_told(admin, texts, call)
        eventually(lambda: not [one for one in admin.ok("GET", "/api/deliveries")["deliveries"] if one["state"] == "failed"], "no receiver refuses it")
        admin.decided(made["id"], call, "deny")
    settled(admin)
    for text in texts()["slack"]:
        must(len(json.loads(text)["text"]) <= 3000, f"a section of Slack takes 3,000 characters: {len(text)}")
    for text in texts()["telegram"]:
        must(len(json.loads(text)["text"]) <= 4096, "Telegram takes 4,096")
    for text in texts()["phone"]:
        must(len(json.loads(text)["message"].encode()) <= 4096, "ntfy makes a file of more")
