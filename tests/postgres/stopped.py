"""Nodes and databases that stop in the middle, or cannot keep anything: nobody else waits for long, and /readyz says so."""
import os
import pwd
import re
import subprocess
import threading
import time

from nodes import ASK, at, nodes
from proxy import Proxy
from world import PATIENCE, Client, Skip, eventually, must, within

LOCKED = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
HELLOS = "SELECT count(*) FROM events WHERE data LIKE '%hello%'"
TAKE = "SELECT pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);"
WORKS = "query LIKE '%pg_sleep(300)%' AND pid <> pg_backend_pid()"
SLEEPS = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND {WORKS}"
HOLD = f"BEGIN; {TAKE} SELECT pg_sleep(300); COMMIT;"


def name_of(url):
    return url.split("/")[3].split("?")[0]


def test_a_node_that_stops_in_the_middle_of_a_group_stops_nobody(pg, world):
    """B's connection stalls when half of a group is sent: it holds no lock, so A does not even notice."""
    url = pg.create(f"n{os.path.basename(world.folder)}")
    way = Proxy(pg.folder)
    try:
        a = world.server("--store", url, data=os.path.join(world.folder, "a"))
        b = world.server("--store", way.url(name_of(url)), data=os.path.join(world.folder, "b"))
        admin = a.admin()
        session = admin.session(**ASK)
        eventually(lambda: at(b, admin).get("/api/sessions").status == 200, "the token is known")
        for size in (20_000, 600_000):
            replies = []
            way.stall(size // 2)
            asking = threading.Thread(target=lambda s=size, r=replies: r.append(
                at(b, admin).ask(session["threadId"], "Bash", {"command": "x" * s}, id=f"b{s}")))
            asking.start()
            eventually(lambda: way.stalled, "B is silent")
            for n in range(5):
                must(admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"a{size}-{n}")["status"] == "awaiting", "kept")
                must(pg.sql(LOCKED, name_of(url)) == "0", "B holds the lock")
            must(asking.is_alive(), "B's call still waits")
            way.release()
            asking.join(PATIENCE)
            must(replies and replies[0].status == 200, f"B's own call, sent again: {replies}")
        must("stopped in the middle" not in a.log(), "A had to help itself")
        world.nod("verify", "--store", url)
    finally:
        way.close()


def bound(statement, piece):
    """Whether a node runs this prepared statement."""
    return re.search(rb"B....\0" + statement + rb"\0", piece, re.S)


def test_a_lost_group_that_comes_late_is_kept_once(pg, world):
    """The connection is lost when a message is on its way. It reaches the server when the node has looked for it and is
    about to send it again: it is kept once, and the node knows its number."""
    url = pg.create(f"n{os.path.basename(world.folder)}")
    name, way, seen = name_of(url), Proxy(pg.folder), []

    def look(piece):
        """Loses the first group; when the node reads what to build on, the group comes, and is read or waits."""
        if bound(b"KEEP_ONE", piece) and not way.late:
            return True
        if bound(b"SENT", piece):
            seen.append("looked")
        if bound(b"LEARN", piece) and "looked" in seen and "late" not in seen:
            seen.append("late")
            way.deliver()
            eventually(lambda: pg.sql(HELLOS, name) == "1" or pg.sql(f"SELECT ({LOCKED}) > 0 AND ({WAITING}) > 0", name) == "t",
                       "the late group is read")
        return False
    try:
        node = world.server("--store", way.url(name))
        admin = node.admin()
        session = admin.session(**ASK)
        path = f"/api/threads/{session['threadId']}/events"
        must(admin.post(path, {"type": "USER_MESSAGE", "data": {"text": "first"}}).status == 201, "a message")
        way.look = look
        reply = admin.post(path, {"type": "USER_MESSAGE", "data": {"text": "hello"}})
        must(reply.status == 201 and seen[-1] == "late", f"{reply}, {seen}")
        eventually(lambda: pg.sql(WAITING, name) == "0", "the late group has ended")
        events = [e for e in admin.events(session=session["id"]) if "hello" in str(e["data"])]
        must(len(events) == 1, f"kept {len(events)} times: {events}")
        must(events[0]["seq"] == reply.json["seq"], f"told {reply.json}, kept {events}")
        world.nod("verify", "--store", url)
    finally:
        way.close()


def test_who_holds_the_lock_and_says_nothing_is_disconnected(pg, world):
    """A node that writes in several statements (a new part, an archive) may be cut off between two of them."""
    (a,), url = nodes(pg, world, 1)
    admin = a.admin()
    session = admin.session(**ASK)
    silent = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url)], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        silent.stdin.write(f"BEGIN; {TAKE}\n")
        silent.stdin.flush()
        eventually(lambda: pg.sql(LOCKED, name_of(url)) == "1", "the lock")
        must(admin.call(session["threadId"], "Bash", {"command": "make"}, id="c1")["status"] == "awaiting", "kept")
        a.says("stopped in the middle")
    finally:
        silent.kill()
        silent.wait()


def test_ready_means_that_calls_are_kept(pg, world):
    """Somebody holds the lock and works: nobody is thrown out, and whoever waits is told within 10 s. Then it is over."""
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    eventually(lambda: at(b, admin).get("/api/sessions").status == 200, "the token is known")
    holding = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url), "-c", HOLD],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: pg.sql(LOCKED, name_of(url)) == "1", "the lock")
        replies = []

        def ask(node, call):
            began = time.monotonic()
            reply = at(node, admin).ask(session["threadId"], "Bash", {"command": "make"}, id=call)
            replies.append((reply.status, time.monotonic() - began))
        asking = [threading.Thread(target=ask, args=(node, f"c{n}{k}")) for k, node in enumerate((a, b)) for n in range(3)]
        for n, thread in enumerate(asking):
            thread.start()
            time.sleep(0.3)  # some come while others wait already
        eventually(lambda: all(at(n, admin).get("/readyz").status == 503 for n in (a, b)), "/readyz turns", within(12))
        for thread in asking:
            thread.join(within(12))
        must([s for s, _ in replies] == [503] * 6, f"{replies}")
        must(max(t for _, t in replies) < within(11.5), f"told too late: {replies}")
        must(holding.poll() is None, "whoever works is left alone")
    finally:
        pg.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {WORKS}", name_of(url))
        holding.wait(PATIENCE)
    eventually(lambda: all(at(n, admin).get("/readyz").status == 200 for n in (a, b)), "ready again, though nobody has called")
    must(admin.call(session["threadId"], "Bash", {"command": "make"}, id="later")["status"] == "awaiting", "kept")


def start_behind(pg, world, url, lock):
    """A node starts while somebody holds a lock for longer than it waits for a database: it says so, waits, and is ready."""
    holding = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url), "-c",
                                f"BEGIN; {lock}; SELECT pg_sleep(300); COMMIT;"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: pg.sql(SLEEPS, name_of(url)) == "1", "the lock")
        began = time.monotonic()
        node = world.server("--store", url, data=os.path.join(world.folder, "late"), wait=False)
        node.says("waiting for ")
        time.sleep(max(0, 12 - (time.monotonic() - began)))  # 10 s is what it waits for a database that is not there
        must(node.process.poll() is None, f"it ended with {node.process.returncode}:\n{node.log()}")
        must(holding.poll() is None, "whoever works is left alone")
    finally:
        pg.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {WORKS}", name_of(url))
        holding.wait(PATIENCE)
    node.wait_ready()
    session = node.admin().session(**ASK)
    must(node.admin().call(session["threadId"], "Bash", {"command": "make"}, id="c1")["status"] == "awaiting", "kept")


def test_a_node_waits_at_its_start_for_another_that_makes_the_tables(pg, world):
    start_behind(pg, world, pg.create(f"n{os.path.basename(world.folder)}"),
                 "SELECT pg_advisory_xact_lock(1315922977, hashtext(current_schema()))")


def test_a_node_waits_at_its_start_for_another_that_gives_room_back(pg, world):
    (a,), url = nodes(pg, world, 1)
    a.stop()
    start_behind(pg, world, url, "LOCK TABLE events IN ACCESS EXCLUSIVE MODE")


def test_a_node_waits_at_its_first_start_for_another_that_writes_for_long(pg, world):
    """It has to keep its administrator's token."""
    (a,), url = nodes(pg, world, 1)
    start_behind(pg, world, url, TAKE.rstrip(";"))


def test_a_node_whose_tables_are_there_starts_though_another_looks_at_them(pg, world):
    (a,), url = nodes(pg, world, 1)
    holding = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url), "-c",
                                "BEGIN; SELECT pg_advisory_xact_lock(1315922977, hashtext(current_schema())); SELECT pg_sleep(300)"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: pg.sql(SLEEPS, name_of(url)) == "1", "the lock")
        b = world.server("--store", url, data=os.path.join(world.folder, "b"))
        must("waiting for " not in b.log(), "it took the lock of the tables")
    finally:
        pg.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {WORKS}", name_of(url))
        holding.wait(PATIENCE)


def test_marks_that_cannot_be_read_yet_keep_people_waiting_and_nobody_else(pg, world):
    """A start reads marks of waiting calls behind it; here the table of sessions, which nothing else at a start needs, is one
    that waits for a lock. Whoever would be shown waiting calls waits, or is told; a stranger does not wait with them."""
    (a,), url = nodes(pg, world, 1)
    admin = a.admin()
    session = admin.session(**ASK)
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="c1")
    admin.token_for("approver", "ann")
    admin.ok("POST", f"/api/sessions/{session['id']}/approvals/c1/assign", {"person": "ann"})
    a.stop()
    pg.sql("CREATE FUNCTION in_time() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END';"
           "ALTER TABLE chains RENAME TO chains_1; CREATE VIEW chains AS SELECT * FROM chains_1 WHERE in_time()", name_of(url))
    holding = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url), "-c",
                                "SELECT pg_advisory_lock(1); SELECT pg_sleep(300)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lists, told = [], []
    try:
        eventually(lambda: pg.sql(SLEEPS, name_of(url)) == "1", "the lock")
        b = world.server("--store", url, data=a.data)
        person = at(b, admin)
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pending_calls", "arguments": {}}}
        asking = [threading.Thread(target=lambda: lists.append(person.get("/api/approvals/pending"))),
                  threading.Thread(target=lambda: told.append(person.post("/api/mcp", ask)))]
        for thread in asking:
            thread.start()
        began = time.monotonic()
        must(Client(b, None).post("/api/answers/look", {"token": "x"}).status == 403, "no link")
        must(asking[0].is_alive() and time.monotonic() - began < within(5), f"{lists}: a stranger waits for what others are shown")
        for thread in asking:
            thread.join(PATIENCE)
        must([listed.status for listed in lists] == [503], f"the list: {lists}")
        must([(one.status, one.json.get("result", {}).get("isError")) for one in told] == [(200, True)], f"the agent: {told[0].body}")
        must(holding.poll() is None, "whoever works is left alone")
    finally:
        pg.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {WORKS}", name_of(url))
        holding.wait(PATIENCE)
    eventually(lambda: person.get("/api/approvals/pending").status == 200, "the marks are read")
    must(person.pending()[0]["assignee"] == "ann", f"{person.pending()}")


def test_a_full_disk_is_not_ready(pg, world):
    """The database lies on a small disk of its own. Reading works all the time."""
    disk = os.path.join(pg.folder, f"disk{os.path.basename(world.folder)}")
    if os.geteuid() != 0:
        raise Skip("needs root to mount a small tmpfs")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m,mode=0777", "tmpfs", disk], capture_output=True).returncode != 0:
        raise Skip("cannot mount a small tmpfs")
    name = "small" + os.path.basename(world.folder).split("-")[-1]
    filler = os.path.join(disk, "filler")
    try:
        owner = pwd.getpwnam(pg.user) if pg.user else None
        if owner:
            os.chown(disk, owner.pw_uid, owner.pw_gid)
        pg.sql(f"CREATE TABLESPACE {name} LOCATION '{disk}'", "template1")
        pg.sql(f"CREATE DATABASE {name} TABLESPACE {name}", "template1")
        node = world.server("--store", pg.url(name))
        admin = node.admin()
        session = admin.session(**ASK)
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(b"x" * 65536)
                    file.flush()
            except OSError:
                pass
        replies = []
        eventually(lambda: replies.append(admin.ask(session["threadId"], "Bash", {"command": "x" * 100_000}, id=f"c{len(replies)}"))
                   or replies[-1].status == 503, "the disk is full")
        seen = set()
        for _ in range(25):
            seen.add(admin.get("/readyz").status)
            must(admin.get("/api/approvals/pending").status == 200, "what was kept can be read")
            time.sleep(0.1)
        must(seen == {503}, f"/readyz said {seen}")
        os.truncate(filler, 0)
        eventually(lambda: admin.get("/readyz").status == 200, "ready again, though nobody has called")
        must(admin.call(session["threadId"], "Bash", {"command": "x" * 100_000}, id="later")["status"] == "awaiting", "kept")
        node.stop()
    finally:
        if os.path.exists(filler):
            os.truncate(filler, 0)
        pg.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "template1")
        pg.sql(f"DROP TABLESPACE IF EXISTS {name}", "template1")
        subprocess.run(["umount", "-l", disk], check=False)


def test_a_statement_that_is_cancelled_is_sent_again(pg, world):
    (a,), url = nodes(pg, world, 1)
    admin = a.admin()
    session = admin.session(**ASK)
    slow = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", name_of(url)], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, text=True)
    slow.stdin.write(f"BEGIN; {TAKE}\n")
    slow.stdin.flush()
    eventually(lambda: pg.sql(LOCKED, name_of(url)) == "1", "the lock")
    replies = []
    asking = threading.Thread(target=lambda: replies.append(admin.ask(session["threadId"], "Bash", {"command": "make"}, id="c1")))
    asking.start()
    eventually(lambda: pg.sql("SELECT count(pg_cancel_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
                              name_of(url)) == "1", "the node waits for the lock and is cancelled")
    slow.communicate("COMMIT;\n")
    asking.join(PATIENCE)
    must(replies[0].status == 200, f"{replies}")
