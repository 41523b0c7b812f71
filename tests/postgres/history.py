"""The database comes back without its last events: a standby promoted too early, an older backup put in its place, or
tables of a newer version. No node goes on as if nothing had happened."""
import json
import os
import shutil

import cut_end
import server
from nodes import ASK, at, finished, nodes, sql
from world import PATIENCE, Follower, Server, Socket, eventually, must


def prepare(world, url):
    servers = [world.server("--store", url, data=os.path.join(world.folder, f"node{n}")) for n in range(2)]
    admin = servers[0].admin()
    session = admin.session(**ASK)
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="before")
    for one in servers:
        eventually(lambda s=one: at(s, admin).get("/api/sessions").status == 200, "the token is known")
    streams = [world.follow(at(one, admin), "?after=0") for one in servers]
    sockets = [Socket(at(one, admin)) for one in servers]
    for one in sockets:
        one.send({"type": "subscribe", "id": 1, "after": 0})
    return servers, admin, session, streams, sockets


def write_what_is_lost(servers, admin, session):
    """Calls, an answer and a revoked token; every node has heard of all of it."""
    token = admin.token_for("viewer", "v")
    admin.ok("DELETE", f"/api/tokens/{token.id}")
    for n in range(10):
        at(servers[n % 2], admin).call(session["threadId"], "Bash", {"command": "make"}, id=f"lost{n}")
    last = admin.events()[-1]["seq"]
    for one in servers:
        eventually(lambda s=one: at(s, admin).events()[-1]["seq"] == last, "both nodes have followed")
    return last


def last_words(socket):
    """The last message, and what the socket was closed with."""
    message = None
    while (said := socket.receive()) is not None:
        message = said
    return message


def check_that_all_noticed(servers, admin, streams, sockets, last):
    for one, stream, socket in zip(servers, streams, sockets):
        one.expected = {1}
        must(one.process.wait(PATIENCE) == 1, f"the node ended with {one.process.returncode}:\n{one.log()[-2000:]}")
        must("history" in one.log(), f"the log does not say why:\n{one.log()[-2000:]}")
        stream.wait(lambda s=stream: s.ended, "an end")
        must([e["code"] for e in stream.errors] == ["history_changed"], f"the stream said {stream.errors}, {stream.ended}")
        must(stream.ids() == list(range(1, last + 1)), "what was told before is whole")
        said = last_words(socket)
        must(said and said["type"] == "error" and said["error"]["code"] == "history_changed", f"the socket said {said}")
    for one in servers:
        one.expected = {0}
        one.start()
    for one in servers:
        client = at(one, admin)
        made = client.session(approvalTimeoutSeconds=1, **ASK)
        must(client.call(made["threadId"], "Bash", {"command": "make"}, wait=20, id="late")["status"] == "timed_out", "deadlines fire")
        made = client.session(**ASK)
        client.call(made["threadId"], "Bash", {"command": "make"}, id="c1")
        client.decided(made["id"], "c1", "allow_once")
    ahead = Follower(at(servers[0], admin), f"?after={last + 100000}")
    must(ahead.status == 410, f"a reader who has seen more than there is: {ahead.status}")
    seen = [[e["seq"] for e in at(one, admin).events()] for one in servers]
    must(seen[0] == list(range(1, len(seen[0]) + 1)), "the log is whole")


def test_a_standby_without_the_last_events_is_promoted(_pg, world):
    primary = server.Postgres().start()
    standby = server.Postgres(copy_of=primary).start()
    try:
        primary.create("nod")
        url = f"postgres:///nod?host={primary.folder},{standby.folder}&user=nod"
        servers, admin, session, streams, sockets = prepare(world, url)
        kept = admin.events()[-1]["seq"]
        eventually(lambda: standby.sql("SELECT coalesce(max(seq), 0) FROM events") == str(kept), "the standby has followed")
        standby.sql("ALTER SYSTEM SET primary_conninfo = ''", "template1")
        standby.sql("SELECT pg_reload_conf()", "template1")
        eventually(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication", "template1") == "0", "it follows no more")
        last = write_what_is_lost(servers, admin, session)
        primary.crash()
        must(standby.sql("SELECT pg_promote()") == "t", "promoted")
        check_that_all_noticed(servers, admin, streams, sockets, last)
        world.nod("verify", "--store", url)
    finally:
        primary.remove()
        standby.remove()


def test_an_older_backup_is_put_in_its_place(_pg, world):
    """By the time the nodes are back, somebody has written there: the numbers alone show nothing."""
    pg = server.Postgres().start()
    try:
        pg.create("nod")
        url = pg.url("nod")
        servers, admin, session, streams, sockets = prepare(world, url)
        eventually(lambda: all(s.ids() for s in streams), "streams")
        world.nod("verify", "--store", url)
        copy = pg.data + ".copy"
        pg.stop()
        shutil.copytree(pg.data, copy, symlinks=True)
        shutil.copystat(pg.data, copy)
        for folder, folders, files in os.walk(copy):
            for name in (".", *folders, *files):
                path, like = os.path.join(folder, name), os.path.join(pg.data, os.path.relpath(os.path.join(folder, name), copy))
                os.chown(path, os.stat(like).st_uid, os.stat(like).st_gid)
        pg.start()
        eventually(lambda: all(at(s, admin).get("/readyz").status == 200 for s in servers), "back")
        last = write_what_is_lost(servers, admin, session)
        pg.stop()
        shutil.rmtree(pg.data)
        os.rename(copy, pg.data)
        pg.start()
        check_that_all_noticed(servers, admin, streams, sockets, last)
        world.nod("verify", "--store", url)
    finally:
        pg.remove()


def test_a_log_whose_end_was_cut_off_is_named(pg, world):
    (a,), url = nodes(pg, world, 1)
    last = cut_end.change_ten_times(a.admin())
    a.stop()
    sql(url, *(text.format(end=last - 10) for text in cut_end.CUT))
    cut_end.must_name_the_end(world.nod("verify", "--json", "--store", url, exits=1), last)
    sql(url, f"DELETE FROM groups WHERE last_seq > {last - 10}")
    must(json.loads(world.nod("verify", "--json", "--store", url).stdout)["ok"], "nothing but the groups told of it")


def test_a_kind_that_no_node_knows_is_refused_by_name_and_fewer_are_raised(pg, world):
    (a,), url = nodes(pg, world, 1)
    a.stop()
    ask, value = "SELECT value FROM meta WHERE name = 'schema_version'", "UPDATE meta SET value = {} WHERE name = 'schema_version'"
    number = int(sql(url, ask)[0])
    steps, kinds = divmod(number, 1000)
    for more, has in ((number + 1, (steps, kinds + 1)), (number + 1000, (steps + 1, kinds))):
        words = ("the database has version {} with events of kinds up to {}, this nod knows version {} with events of kinds up to {}: "
                 "use a newer nod").format(*has, steps, kinds)
        sql(url, value.format(more))
        refused = Server(world, a.data, ["--store", url]).start(wait=False)
        must(refused.process.wait(PATIENCE) == 1 and words in refused.log(), refused.log())
        must(words in world.nod("verify", "--store", url, exits=1).stderr and sql(url, ask) == [str(more)], "as it was")
    for fewer in (number - 1, steps):
        sql(url, value.format(fewer))
        must(json.loads(world.nod("verify", "--json", "--store", url).stdout)["ok"] and sql(url, ask) == [str(fewer)], "whoever looks needs no raise")
        node = world.server("--store", url, data=a.data)
        finished(node.admin(), f"after {fewer}")
        node.stop()
        must(json.loads(world.nod("verify", "--json", "--store", url).stdout)["ok"] and sql(url, ask) == [str(number)], "raised")


def test_a_node_of_an_older_version_writes_nothing_beside_a_newer_one(pg, world):
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    eventually(lambda: at(b, admin).get("/api/sessions").status == 200, "the token is known")
    must(sql(url, "SELECT coalesce(to_regclass('writers')::text, 'none')") == ["none"],
         "nodes before version 4 write to a table of this name with every group")
    version = sql(url, "SELECT value FROM meta WHERE name = 'schema_version'")[0]
    sql(url, f"UPDATE meta SET value = {int(version) + 1} WHERE name = 'schema_version'")
    before = sql(url, "SELECT max(seq) FROM events")
    for one in (a, b):
        for n in range(10):
            reply = at(one, admin).ask(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
            must(reply.status == 503 and reply.json["error"]["code"] == "outdated", f"{reply}")
            must(f"kinds up to {int(version) % 1000 + 1} now, this node knows version" in reply.json["error"]["message"], f"{reply}")
        must(at(one, admin).get("/readyz").status == 503, "not ready")
    must(sql(url, "SELECT max(seq) FROM events") == before, "something was written")
    sql(url, f"UPDATE meta SET value = {version} WHERE name = 'schema_version'")
    eventually(lambda: at(a, admin).ask(session["threadId"], "Bash", {"command": "make"}, id="c1").status == 200, "as before")
