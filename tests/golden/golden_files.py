"""What a client sees of a golden store; see play.py."""
import gzip
import json
import os
import shutil
import subprocess
import sys

from world import PATIENCE, must, must_match

HERE = os.path.dirname(os.path.abspath(__file__))
QUIET = ("--alert-after", "0", "--run-lease", "1h")  # a server that is only looked at keeps nothing


def versions():
    return sorted(name for name in os.listdir(HERE) if os.path.isdir(os.path.join(HERE, name)) and name[0].isdigit())


def put_sqlite(version, data):
    """A copy of the store becomes the data folder's."""
    shutil.copytree(os.path.join(HERE, version, "archive"), os.path.join(data, "archive"))
    shutil.copy(os.path.join(HERE, version, "nod.db"), data)
    shutil.copy(os.path.join(HERE, version, "sqlite.token"), os.path.join(data, "admin.token"))


def put_postgres(version, data, url):
    """The dump goes into an empty database."""
    with gzip.open(os.path.join(HERE, version, "nod.sql.gz")) as file:
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url.replace("postgres:", "postgresql:", 1)],
                       input=file.read(), stdout=subprocess.DEVNULL, check=True)
    os.makedirs(data, exist_ok=True)
    shutil.copy(os.path.join(HERE, version, "postgres.token"), os.path.join(data, "admin.token"))


def look(admin, last=None):
    """Everything that is computed from events alone: what rules say of it may be better by now."""
    events = [e for e in admin.events() if last is None or e["seq"] <= last]
    calls = sorted({(e["sessionId"], e["data"].get("id") or e["data"]["toolCallId"]) for e in events
                    if e["type"].startswith("TOOL_")})
    policy = admin.ok("GET", "/api/policy")
    return {
        "events": events,
        "sessions": admin.ok("GET", "/api/sessions")["sessions"],
        "tokens": admin.ok("GET", "/api/tokens")["tokens"],
        "rules": [{key: rule[key] for key in ("id", "effect", "rule", "layer")} for rule in policy["user"]],
        "pending": [{key: item[key] for key in ("toolCallId", "sessionId", "threadId", "requestedAt", "deadline", "digest")}
                    for item in admin.pending()],
        "calls": {call: admin.status(call, session=session) for session, call in calls},
    }


def known(version, store):
    with open(os.path.join(HERE, version, store + ".json"), encoding="utf-8") as file:
        return json.load(file)


def told(events):
    """Events without the digests of tokens' secrets, which were told to everyone once."""
    return [{**e, "data": {k: v for k, v in e["data"].items() if k != "hash"}} if e["type"] == "TOKEN_CHANGED" else e
            for e in events]


def compare(admin, version, store):
    """All of it as that version has shown it; there may be more by now."""
    expected = known(version, store)
    found = look(admin, last=expected["events"][-1]["seq"])
    must(told(found["events"]) == told(expected["events"]), "events read differently")
    for part in ("sessions", "tokens", "rules", "pending", "calls"):
        must_match(expected[part], found[part], part)


ACTS = ["SESSION_CHANGED", "TOOL_CALL", "TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_RESPONSE", "TOOL_RESULT"]


def follow(server, version, store):
    """A client of that version follows the whole store, asks, decides and reports, and is told of it."""
    expected = known(version, store)["events"]
    last = expected[-1]["seq"]
    done = subprocess.run([sys.executable, os.path.join(HERE, version, "client.py"), server.socket, server.admin_token,
                           str(last)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE * 10)
    must(done.returncode == 0, f"the client of {version} has failed: {done.stderr}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    must(told(events[:len(expected)]) == told(expected), "an old client is told other events")
    must([event["type"] for event in events[len(expected):]] == ACTS, f"its own acts: {events[len(expected):]}")
