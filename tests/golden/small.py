#!/usr/bin/env python3
"""Plays a small scenario that every program since the first can play, and prints the store as SQL.

    NOD=/path/to/nod small.py [--postgres] > schemas/sqlite-2.sql

schemas/ has stores of the schemas before today's that 0.1.0 was not made with, by their `schema_version`, each made so by a
program of its time: calls that were allowed, denied and reported, a token that was taken back, and a call that waits (WAITS). Line 1 is the
admin's token. No program was left with schema 1 of SQLite as the list of steps has it: its store is that of schema 2
without the index that came with it.
"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), part) for part in ("postgres", "talks")]

import world  # noqa: E402

WAITS = "toolu_waits"
LAST_WITHOUT_KINDS = {"sqlite": 9, "postgres": 10}
SCHEMAS = os.path.join(HERE, "schemas")


def read(store):
    """schema number -> (admin's token, SQL) of that store's files."""
    found = {}
    for name in os.listdir(SCHEMAS):
        if match := re.fullmatch(store + r"-(\d+)\.sql", name):
            with open(os.path.join(SCHEMAS, name), encoding="utf-8") as file:
                token, text = file.read().split("\n", 1)
            found[int(match[1])] = token.removeprefix("-- "), text
    return found


def every_step(store, today):
    """There is a store of every number of steps before `today`, the number of a new store, and of the last program before
    that number also said which kinds of events there may be (steps * 1000 + highest kind)."""
    steps = {number if number < 1000 else number // 1000 for number in read(store)} | {3}  # 3: 0.1.0 has it
    wanted = set(range(1, max(today // 1000, LAST_WITHOUT_KINDS[store] + 1)))
    world.must(wanted <= steps, f"today's schema is {today}, there are stores of {sorted(steps)}")


def check(admin):
    """What the scenario left; then the call that waits is answered."""
    statuses = {call: admin.status(call)["status"] for call in ("toolu_done", "toolu_denied", WAITS)}
    world.must(statuses == {"toolu_done": "finished", "toolu_denied": "denied", WAITS: "awaiting"}, f"{statuses}")
    waiting = admin.pending()
    world.must([p["toolCallId"] for p in waiting] == [WAITS], f"{waiting}")
    admin.decided(waiting[0]["sessionId"], WAITS, "allow_once")
    world.must(len(admin.ok("GET", "/api/sessions")["sessions"]) == 2, "two sessions")
    world.must({"admin", "agent"} <= {t["name"] for t in admin.ok("GET", "/api/tokens")["tokens"]}, "tokens")


def play(admin):
    agent, gone = admin.token_for("agent", "agent"), admin.token_for("viewer", "gone")
    one, other = agent.session(title="first", cwd="/p"), agent.session(title="second")
    admin.ok("DELETE", f"/api/tokens/{gone.id}")
    for call in ("toolu_done", "toolu_denied", WAITS):
        agent.call((other if call == WAITS else one)["threadId"], "Bash", {"command": f"cc {call}.c\n'ü'"}, id=call)
    admin.decided(one["id"], "toolu_done", "allow_once")
    agent.ok("POST", "/api/tool-calls/toolu_done/result", {"content": "42", "isError": False})
    admin.decided(one["id"], "toolu_denied", "deny", feedback="no")


def dump_sqlite(path):
    store = sqlite3.connect(path)
    number = store.execute("PRAGMA application_id").fetchone()[0]
    return f"PRAGMA application_id = {number};\n" + "\n".join(store.iterdump()) + "\n"


def dump_postgres(database):
    dump = subprocess.run([os.path.join(database.programs, "pg_dump"), "-h", database.folder, "-U", "nod", "--inserts", "--no-owner",
                           "--no-privileges", "nod"], check=True, stdout=subprocess.PIPE, text=True).stdout
    # Without what only the server's own version knows.
    return "".join(line + "\n" for line in dump.split("\n") if line and not re.match(r"--|\\|SET |SELECT pg_catalog\.set_config", line))


def main():
    database = None
    with tempfile.TemporaryDirectory() as folder:
        environment, data = {**os.environ, "HOME": folder, "NOD_TRIPWIRE": "no"}, os.path.join(folder, "data")
        if "--postgres" in sys.argv:
            import server
            database = server.Postgres().start()
            environment["NOD_STORE"] = database.create("nod")
        place = type("Place", (), {"folder": folder, "environment": environment, "number": lambda _: 1})()
        node = world.Server(place, data).start()
        try:
            play(node.admin())
            token = node.admin_token
            node.stop()
            print(f"-- {token}\n" + (dump_postgres(database) if database else dump_sqlite(os.path.join(data, "nod.db"))), end="")
        finally:
            if node.process.poll() is None:
                node.kill()
            if database:
                database.remove()


if __name__ == "__main__":
    main()
