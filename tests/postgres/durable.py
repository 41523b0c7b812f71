"""A group of several events is visible to all before it is durable: the lock is given back before the sync. Nobody is told of
it until somebody's sync has covered it, and every acknowledgement has such a sync behind it. A single event is visible when it
is durable."""
import os
import signal
import threading

import server
from load import Load
from nodes import ASK, at, nodes, sql
from world import eventually, must

CALLS = 100
SHUTDOWNS = int(os.environ.get("NOD_SHUTDOWNS", "3"))  # make test-long: 8


def set_option(pg, name, value):
    """None: as it was."""
    pg.sql(f"ALTER SYSTEM SET {name} = '{value}'" if value is not None else f"ALTER SYSTEM RESET {name}", "template1")
    pg.sql("SELECT pg_reload_conf()", "template1")


def waiting_for_a_standby(pg):
    return int(pg.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "template1"))


def syncs(pg):
    return server.wal_syncs(pg)


def test_each_call_and_each_answer_waits_for_the_disk(_pg, world):
    """PostgreSQL does not sync a transaction that only notifies: without its message in the log the second commit of a
    group returns at once. The server's own process that writes the log would hide it, so it rests."""
    pg = server.Postgres("wal_writer_delay=10s").start()
    try:
        (a,), _ = nodes(pg, world, 1)
        admin = a.admin()
        session = admin.session(**ASK)
        before = syncs(pg)
        for n in range(CALLS):
            admin.ask(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
        eventually(lambda: syncs(pg) - before >= CALLS, f"a sync for each of {CALLS} calls")
        before = syncs(pg)
        for n in range(CALLS):
            admin.decided(session["id"], f"c{n}", "allow_once")  # a group of one event: another procedure
        eventually(lambda: syncs(pg) - before >= CALLS, f"a sync for each of {CALLS} answers")
        a.stop()
    finally:
        pg.remove()


def test_what_is_visible_and_not_durable_is_told_by_nobody(pg, world):
    """Commits wait for a standby that never comes: that of the group's second transaction does, the first does not."""
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    stream = world.follow(at(b, admin), "?after=0")
    last = admin.events()[-1]["seq"]
    stream.wait(lambda: stream.ids()[-1:] == [last], "the events so far")
    asks = []
    set_option(pg, "synchronous_standby_names", "nobody")
    try:
        for n in range(100):  # until the setting holds for commits, too
            asks.append(threading.Thread(target=admin.ask, args=(session["threadId"], "Bash", {"command": "make"}), kwargs={"id": f"c{n}"}))
            asks[-1].start()
            eventually(lambda: waiting_for_a_standby(pg) or not asks[-1].is_alive(), "an answer, or a commit that waits")
            if asks[-1].is_alive():
                break
        must(asks[-1].is_alive(), "no commit waits")
        eventually(lambda: sql(url, f"SELECT count(*) FROM calls WHERE call_id = 'c{n}' AND kind = 3") == ["1"], "visible")
        held = int(sql(url, "SELECT max(seq) FROM events")[0])
        looks = threading.Thread(target=lambda: at(b, admin).events())
        looks.start()
        eventually(lambda: waiting_for_a_standby(pg) >= 2, "the other node makes it durable before it tells")
        must(asks[-1].is_alive() and looks.is_alive(), "told too early")
        must(stream.ids()[-1] < held, "the other node's stream tells too early")
    finally:
        set_option(pg, "synchronous_standby_names", None)
    for thread in (asks[-1], looks):
        thread.join()
    stream.wait(lambda: held in stream.ids(), "the event, when it is durable")
    world.nod("verify", "--store", url)


def test_a_single_event_that_no_standby_confirms_is_seen_by_nobody(pg, world):
    """A group of one event is kept by one commit, which waits with the lock: the other node does not see it, reads go on, and what
    it writes gets 503 in time. Then A is killed -9; when the standby is given up the event is there, and the others go on."""
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    path = f"/api/threads/{admin.session(**ASK)['threadId']}/events"
    other = f"/api/threads/{admin.session(**ASK)['threadId']}/events"
    person = at(b, admin)
    last = admin.events()[-1]["seq"]
    eventually(lambda: person.get("/api/sessions").status == 200 and person.events()[-1]["seq"] == last, "the events so far")
    stream = world.follow(person, "?after=0")
    stream.wait(lambda: stream.ids()[-1:] == [last], "the events so far at the other node")
    said = []

    def say(client, where, text):
        try:
            said.append((text, client.post(where, {"type": "USER_MESSAGE", "data": {"text": text}}).status))
        except OSError:
            said.append((text, None))  # its node was killed
    set_option(pg, "synchronous_standby_names", "nobody")
    try:
        for n in range(100):  # until the setting holds for commits, too
            saying = threading.Thread(target=say, args=(admin, path, f"m{n}"))
            saying.start()
            eventually(lambda: waiting_for_a_standby(pg) or not saying.is_alive(), "an answer, or a commit that waits")
            if saying.is_alive():
                break
        must(saying.is_alive(), "no commit waits")
        kept = last + n
        must(sql(url, "SELECT max(seq) FROM events") == [str(kept)], "visible before a standby has it")
        must(person.events()[-1]["seq"] == kept, "the other node reads meanwhile")
        say(person, other, "refused")
        must(said[-1] == ("refused", 503), f"{said}: the other node waits, or keeps something")
        a.expected = {-signal.SIGKILL}
        os.kill(a.process.pid, signal.SIGKILL)
        saying.join()
        must(said[-1][1] is None and waiting_for_a_standby(pg) >= 1, "the dead node's commit still waits")
        must(stream.ids()[-1] == kept, "the other node's stream tells too early")
    finally:
        set_option(pg, "synchronous_standby_names", None)
    eventually(lambda: person.post(other, {"type": "USER_MESSAGE", "data": {"text": "later"}}).status == 201, "the lock is free")
    stream.wait(lambda: stream.ids()[-1] >= kept + 2, "the dead node's event, and what came after it")
    must(stream.ids() == list(range(1, len(stream.ids()) + 1)), "a gap or a repeat")
    texts = [e["data"]["text"] for e in person.events() if e["type"] == "USER_MESSAGE"]
    must(texts == [f"m{k}" for k in range(n + 1)] + ["later"], f"{texts}")
    world.nod("verify", "--store", url)


def test_nothing_acknowledged_is_lost_when_the_server_forgets_its_memory(_pg, world):
    """Immediate shutdowns under load. What was not written by a commit that waits is lost: the log's writer rests."""
    pg = server.Postgres("wal_writer_delay=10s").start()
    try:
        url = pg.create("nod")
        servers = [world.server("--store", url, data=os.path.join(world.folder, f"node{n}")) for n in range(2)]
        admin = servers[0].admin()
        everywhere = [at(one, admin) for one in servers]
        eventually(lambda: all(c.get("/api/sessions").status == 200 for c in everywhere), "the token is known")
        load = Load(servers, admin)
        streams = [world.follow(c, "?after=0") for c in everywhere]
        for turn in range(SHUTDOWNS):
            before = load.acknowledged()
            eventually(lambda: load.acknowledged() > before + 20 + 7 * turn, "some load")
            pg.stop(signal.SIGQUIT)
            pg.start()
            eventually(lambda: all(c.get("/readyz").status == 200 for c in everywhere), "back")
        load.end()
        events = admin.events()
        load.check(events)
        for stream in streams:
            stream.wait(lambda s=stream: s.events[-1][0] == events[-1]["seq"], "the last event")
            must(not stream.ended and stream.ids() == list(range(1, len(events) + 1)), "a gap, a repeat or an end")
        world.nod("verify", "--store", url)
    finally:
        pg.remove()
