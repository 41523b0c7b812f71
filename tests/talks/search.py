"""Search over the history: what it finds, by the full-text index and without it, whatever has happened to the index's file."""
import contextlib
import os
import shutil
import sqlite3
import urllib.parse

from world import must, must_match

QUOTED = 'git commit -m "first words"'


def found(client, text, **more):
    page = client.ok("GET", "/api/audit?" + urllib.parse.urlencode({"text": text, **more}))
    return [record["toolCallId"] for record in page["records"]], page.get("next")


def history(admin):
    """Calls of two sessions, some of them answered with words."""
    agent = admin.token_for("agent", "zebra-agent")
    one, two = admin.session(title="one", cwd="/home/p"), admin.session(title="two", cwd="/home/q")
    admin.call(one["threadId"], "Bash", {"command": "make Harvest"}, id="a")
    admin.call(one["threadId"], "Bash", {"command": "make test"}, id="b")
    admin.decided(one["id"], "b", "deny", feedback="wait for the harvest")
    admin.call(two["threadId"], "Write", {"file_path": "/home/q/long", "content": "x" * 300000 + "harvest at the end"}, id="c")
    admin.call(two["threadId"], "Bash", {"command": QUOTED}, id="d")
    own = agent.session(title="own", cwd="/home/z")
    agent.call(own["threadId"], "Bash", {"command": "make ничего"}, id="e")
    return one, two, own


def look(admin, one):
    must_match(["c", "b", "a"], found(admin, "harvest")[0])
    must_match(["c", "b", "a"], found(admin, "HARVEST")[0])
    must_match(["b"], found(admin, "for the harvest")[0])
    must_match(["b", "a"], found(admin, "harvest", session=one["id"])[0])
    must_match(["b"], found(admin, "harvest", decision="denied")[0])
    must_match(["d"], found(admin, '-m "first')[0])
    must_match(["e"], found(admin, "zebra")[0])
    must_match(["e"], found(admin, "ничего")[0])
    must_match([], found(admin, "harvest moon")[0])
    calls, after = [], None
    for _ in range(4):
        page, after = found(admin, "harvest", limit=1, **({"before": after} if after else {}))
        calls += page
        if not after:
            break
    must_match(["c", "b", "a"], calls)


def test_words_are_found_by_the_index(world):
    server = world.server("--read-only-commands", "ask")
    admin = server.admin()
    one, two, own = history(admin)
    look(admin, one)
    # It is the index that answers: a call that is taken out of it is not found.
    path = os.path.join(server.data, "search.db")
    must(os.stat(path).st_mode & 0o077 == 0, "nobody else may read the index")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("DELETE FROM calls WHERE call_id = 'a'")
    must_match(["c", "b"], found(admin, "harvest")[0])
    os.unlink(path)
    look(admin, one)
    # An answer that comes after the index was made is found, too.
    admin.decided(two["id"], "d", "deny", feedback="not in autumn")
    must_match(["d"], found(admin, "autumn")[0])
    server.kill()
    server.start()
    look(admin, one)
    must_match(["d"], found(admin, "autumn")[0])
    # Whoever is bound to a session finds nothing of another one.
    bound = admin.token_for("viewer", "bound", session=own["id"])
    os.unlink(path)
    must_match(["e"], found(bound, "make")[0])
    must_match([], found(bound, "harvest")[0])
    must(not os.path.exists(path), "nor is the index of all sessions asked, whose places and times tell of the others")
    must(bound.get(f"/api/audit?text=harvest&session={one['id']}").status in (403, 404), "another session is not to be seen")


def test_a_page_of_no_records_says_where_the_next_begins(world):
    admin = world.server("--read-only-commands", "ask").admin()
    history(admin)
    for text in ("harvest", "make"):
        calls, after = found(admin, text, limit=0)
        must_match([], calls)
        must_match(found(admin, text), found(admin, text, before=after))


def test_an_index_that_is_damaged_or_of_another_history_is_made_anew(world):
    server, other = (world.server("--read-only-commands", "ask", data=os.path.join(world.folder, name)) for name in ("data", "other"))
    admin = server.admin()
    one, _, _ = history(admin)
    path = os.path.join(server.data, "search.db")
    stranger = other.admin()
    session = stranger.session(title="other", cwd="/home/o")
    for i in range(20):
        stranger.call(session["threadId"], "Bash", {"command": f"echo {i}"}, id=f"o{i}")
    must_match(20, len(found(stranger, "echo")[0]))
    shutil.copy(os.path.join(other.data, "search.db"), path)
    look(admin, one)
    with open(path, "r+b") as file:
        file.write(b"no database at all" * 300)
    look(admin, one)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("PRAGMA user_version = 99")
    look(admin, one)
    os.unlink(path)
    os.mkdir(path)
    look(admin, one)  # without an index: the log is looked through
    server.says("search index cannot be used")
    os.rmdir(path)
    look(admin, one)
