"""A log whose end was cut off by hand, with everything that would tell but the chain over groups put in order."""
import contextlib
import json
import os
import sqlite3

from world import POSTGRES, Skip, must

CUT = ("DELETE FROM events WHERE seq > {end}",
       "UPDATE chains SET (last_seq, hash, no) = (SELECT seq, hash, no FROM events e WHERE e.session_id = chains.session_id"
       " ORDER BY seq DESC LIMIT 1)",
       "UPDATE chains SET changed_seq = last_seq WHERE changed_seq > {end}")
# The tables that only SQLite has: they are filled late.
CUT_LATE = ("DELETE FROM session_events WHERE seq > {end}",
            "UPDATE session_events SET more = {end} - seq WHERE seq + more > {end}", "DELETE FROM call_events WHERE seq > {end}",
            "DELETE FROM call_ids WHERE seq > {end}", "UPDATE meta SET value = {end} WHERE name = 'indexed'")


def change_ten_times(admin):
    """A session that was changed ten times at the end of the log; the number of the last event."""
    session = admin.session(title="kept")
    for n in range(10):
        admin.ok("PATCH", f"/api/sessions/{session['id']}", {"title": f"number {n}"})
    events = admin.events()
    must([e["type"] for e in events[-11:]] == ["SESSION_CHANGED"] * 11, f"{events[-12:]}")
    return events[-1]["seq"]


def must_name_the_end(run, last):
    said = json.loads(run.stdout)
    must(not said["ok"] and said["badSeq"] == last - 9, f"{said}")
    must(f"events {last - 9} to {last} were cut off" in said["why"], f"{said}")


def test_the_last_ten_events_are_missed(world):
    if POSTGRES:
        raise Skip("tests/postgres/history.py does it there")
    server = world.server()
    last = change_ten_times(server.admin())
    server.stop()
    path = os.path.join(server.data, "nod.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for text in CUT + CUT_LATE:
            db.execute(text.format(end=last - 10))
    must_name_the_end(world.nod("verify", "--json", "--data", server.data, exits=1), last)
    refused = world.nod("serve", "--data", server.data, "--listen", "127.0.0.1:0", exits=None)
    must(f"the last that was kept is {last}" in refused.stderr, refused.stderr)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM groups WHERE last_seq > ?", (last - 10,))
    must(json.loads(world.nod("verify", "--json", "--data", server.data).stdout)["ok"], "nothing but the groups told of it")
