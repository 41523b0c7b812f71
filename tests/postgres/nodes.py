"""Several nodes on one database, as their users see them. Each function is one test; it gets a Postgres that runs
and a World (tests/talks/world.py) to start nodes in."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden"))

import golden_files  # noqa: E402
from proxy import Proxy  # noqa: E402
from world import PATIENCE, Client, eventually, must, within  # noqa: E402

ASK = {"toolPolicies": {"Bash": "ask"}}
OFTEN = int(os.environ.get("NOD_OFTEN", "1"))  # make test-long: 5


def nodes(pg, world, count, url=None):
    url = url or pg.create(f"n{os.path.basename(world.folder)}")
    return [world.server("--store", url, data=os.path.join(world.folder, f"node{n}")) for n in range(count)], url


def at(node, client):
    """The same token, shown to another node."""
    other = Client(node, client.token, client.name)
    other.id = getattr(client, "id", None)
    return other


def test_a_decision_at_b_answers_the_agent_at_a(pg, world):
    (a, b), _ = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    agent = admin.token_for("agent", "a", session["id"])
    answers = {}
    for n in range(5):
        waiting = threading.Thread(target=lambda n=n: answers.update(
            {n: agent.call(session["threadId"], "Bash", {"command": "make"}, wait=20, id=f"c{n}")}))
        waiting.start()
        person = at(b, admin)
        eventually(lambda n=n: [p for p in person.pending() if p["toolCallId"] == f"c{n}"], "it is pending at the other node")
        person.decided(session["id"], f"c{n}", "allow_once")
        waiting.join(PATIENCE)
        must(answers[n]["status"] == "allowed", f"the agent was told {answers[n]}")


def test_one_of_many_answers_wins_over_three_nodes(pg, world):
    servers, _ = nodes(pg, world, 3)
    admin = servers[0].admin()
    session = admin.session(**ASK)
    people = [admin.token_for("approver", f"p{n}") for n in range(9)]
    for n in range(8):
        admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
        replies = []
        threads = [threading.Thread(target=lambda p=p, i=i, n=n: replies.append(
            at(servers[i % 3], p).decide(session["id"], f"c{n}", "allow_once" if i % 2 else "deny"))) for i, p in enumerate(people)]
        eventually(lambda: all(at(s, admin).request("GET", "/api/tokens").status == 200 for s in servers), "tokens")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        must(sorted(r.status for r in replies) == [200] + [409] * 8, f"answers: {[r.status for r in replies]}")
        winner = next(r.json for r in replies if r.status == 200)
        for reply in replies:
            if reply.status == 409:
                must(reply.json["winner"]["actor"] == winner["actor"], f"another winner: {reply}")


def test_persons_at_several_nodes_are_counted_once_each(pg, world):
    servers, _ = nodes(pg, world, 2)
    admin = servers[0].admin()
    persons = [admin.token_for("approver", f"p{n}") for n in range(4)]
    admin.ok("POST", "/api/policy/rules", {"rule": "Bash(deploy:*)", "effect": "ask", "people": 4})
    agent = admin.token_for("agent", "robot")
    session = agent.session(title="x")
    for n in range(4):
        agent.call(session["threadId"], "Bash", {"command": "deploy"}, id=f"c{n}")
        replies = []
        threads = [threading.Thread(target=lambda p=p, i=i, n=n: replies.append(
            at(servers[i % 2], p).decide(session["id"], f"c{n}", "allow_once"))) for i, p in enumerate(persons)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        must(sorted(reply.status for reply in replies) == [200, 202, 202, 202], replies)
        response = [e for e in admin.events(session=session["id"], types="TOOL_APPROVAL_RESPONSE")
                    if e["data"]["toolCallId"] == f"c{n}"][0]
        must(sorted(response["data"]["people"]) == ["p0", "p1", "p2", "p3"], response)


def test_a_deadline_fires_once(pg, world):
    servers, url = nodes(pg, world, 3)
    admin = servers[0].admin()
    session = admin.session(**ASK, approvalTimeoutSeconds=1)
    for n in range(20):
        at(servers[n % 3], admin).call(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
    servers[0].kill()  # any living node will do
    servers.pop(0)
    admin = at(servers[0], admin)
    eventually(lambda: not admin.pending(), "nothing is pending")
    responses = [e for e in admin.events(session=session["id"]) if e["type"] == "TOOL_APPROVAL_RESPONSE"]
    must(len(responses) == 20 and all(e["data"]["decision"] == "timeout" for e in responses), f"{len(responses)} responses")


def test_tokens_and_rules_of_one_node_hold_on_the_others(pg, world):
    (a, b), _ = nodes(pg, world, 2)
    admin = a.admin()
    token = admin.token_for("viewer", "v")
    eventually(lambda: at(b, token).get("/api/sessions").status == 200, "the token holds on the other node", within(1.5))
    must(admin.request("DELETE", f"/api/tokens/{token.id}").status in (200, 204), "revoked")
    eventually(lambda: at(b, token).get("/api/sessions").status == 401, "it is revoked on the other node", within(1.5))
    session = admin.session()
    reply = admin.request("POST", "/api/policy/rules", {"rule": "Bash(make:*)", "effect": "deny"})
    if reply.status in (200, 201):
        eventually(lambda: at(b, admin).call(session["threadId"], "Bash", {"command": "make x"})["status"] == "denied",
                   "the rule holds on the other node", within(1.5))


def test_a_revocation_holds_though_notifications_are_lost(pg, world):
    """B's LISTEN goes through a proxy that first lets nothing through, then turns B away."""
    url = pg.create(f"n{os.path.basename(world.folder)}")
    way = Proxy(pg.folder)
    try:
        a = world.server("--store", url, data=os.path.join(world.folder, "a"))
        b = world.server("--store", url, data=os.path.join(world.folder, "b"),
                         environment={"NOD_STORE_LISTEN": way.url(url.split("/")[3].split("?")[0])})
        admin, session = a.admin(), a.admin().session()
        eventually(lambda: len(way.pairs) == 1, "B listens")
        for name, lose in (("held", lambda: way.hold(True)), ("away", lambda: (way.refuse(True), way.hold(False), way.cut()))):
            token = admin.token_for("viewer", name)
            eventually(lambda t=token: at(b, t).get("/healthz").status == 200 and knows(b, t), "the token holds at B")
            lose()
            must(admin.request("DELETE", f"/api/tokens/{token.id}").status in (200, 204), "revoked")
            eventually(lambda t=token: not knows(b, t), f"it is revoked at B, notifications {name}", within(5))
            rule = admin.request("POST", "/api/policy/rules", {"rule": f"Bash({name}:*)", "effect": "deny", "force": True})
            must(rule.status == 201, f"a rule: {rule}")
            eventually(lambda n=name: at(b, admin).ok("POST", "/api/policy/explain", {"name": "Bash", "sessionId": session["id"],
                       "input": {"command": f"{n} x"}})["effect"] == "deny", f"the rule holds at B, notifications {name}", within(5))
    finally:
        way.close()


def knows(node, client):
    """Whether a node takes the token; a refusal for what it may do comes after that, and reads nothing."""
    return at(node, client).request("DELETE", "/api/tokens/nobody").status != 401


def test_followers_of_all_nodes_see_one_order(pg, world):
    servers, url = nodes(pg, world, 3)
    admin = servers[0].admin()
    session = admin.session(**ASK)
    eventually(lambda: all(at(s, admin).get("/api/sessions").status == 200 for s in servers), "the token is known")
    streams = [world.follow(at(s, admin), "?after=0") for s in servers]

    def work(k):
        for n in range(40):
            at(servers[k % 3], admin).call(session["threadId"], "Bash", {"command": "make"}, id=f"{k}-{n}")
            at(servers[(k + n) % 3], admin).decide(session["id"], f"{k}-{n}", "deny")
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
    total = admin.events()[-1]["seq"]
    for stream in streams:
        stream.wait(lambda s=stream: s.events and s.events[-1][0] == total, f"event {total}")
        must(stream.ids() == list(range(1, total + 1)), "a gap or a repeat")
    world.nod("verify", "--store", url)


def test_out_of_order_commits_are_not_possible(pg, world):
    """Somebody holds the lock in the middle of a transaction, as a slow node would: nobody commits past it, and when
    it goes, everything comes in order. A slow reader of the table sees numbers in the order of commits."""
    (a, b), url = nodes(pg, world, 2)
    database = url.split("/")[3].split("?")[0]
    admin = a.admin()
    session = admin.session(**ASK)
    before = admin.events()[-1]["seq"]
    slow = subprocess.Popen(["psql", "-X", "-q", "-h", pg.folder, "-U", "nod", "-d", database], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, text=True)
    slow.stdin.write("BEGIN; SELECT pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);\n")
    slow.stdin.flush()
    eventually(lambda: pg.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted", database) == "1", "the lock")
    askers = [threading.Thread(target=at(s, admin).call, args=(session["threadId"], "Bash", {"command": "make"}),
                               kwargs={"id": f"c{n}"}) for n, s in enumerate((a, b, a, b))]
    for asker in askers:
        asker.start()
    time.sleep(0.7)
    must(pg.sql("SELECT max(seq) FROM events", database) == str(before), "somebody committed past a slow one")
    slow.communicate("COMMIT;\n")
    for asker in askers:
        asker.join(PATIENCE)
    must(pg.sql("SELECT max(seq) FROM events", database) == str(before + 8), "all of them came after it")
    world.nod("verify", "--store", url)


def test_a_call_behind_many_is_kept_though_none_follows_it(pg, world):
    """While nodes write at once, a node waits a moment for more before it sends its next group; not for ever."""
    servers, url = nodes(pg, world, 2)
    admin = servers[0].admin()
    eventually(lambda: at(servers[1], admin).get("/api/sessions").status == 200, "the token is known")
    sessions = [at(servers[k % 2], admin).session(**ASK) for k in range(32)]
    told = []

    def ask(k, n):
        told.append(at(servers[k % 2], admin).call(sessions[k]["threadId"], "Bash", {"command": "make"}, id=f"c{n}")["status"])
    for n in range(6):
        threads = [threading.Thread(target=ask, args=(k, n)) for k in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        ask(n, f"alone{n}")
    must(told == ["awaiting"] * (6 * 33), f"{len(told)} calls were kept: {set(told)}")
    world.nod("verify", "--store", url)


def learnt_and_written(path, begun):
    """How many groups asked for something first, and how many were written, by what the server's log says since then."""
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(begun)
        said = file.read()
    return said.count("execute LEARN:"), sum(said.count(f"execute {name}:") for name in ("KEEP", "KEEP_ONE", "WRITE"))


def test_nodes_with_sessions_of_their_own_do_not_make_each_other_ask(pg, world):
    """Groups of two nodes alternate: each finds others' events before its own and moves behind them, in one round trip."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET log_statement = \'all\'', name)
    servers, _ = nodes(pg, world, 2, url)
    admin = servers[0].admin()
    eventually(lambda: at(servers[1], admin).get("/api/sessions").status == 200, "the token is known")
    sessions = [at(node, admin).session(**ASK) for node in servers]
    path = os.path.join(pg.folder, "log")
    begun = os.path.getsize(path)

    def work(k):
        for n in range(40):
            at(servers[k], admin).call(sessions[k]["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
            at(servers[k], admin).decided(sessions[k]["id"], f"c{n}", "allow_once")
    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
    learnt, written = learnt_and_written(path, begun)
    must(written >= 160, f"{written} groups were written")
    must(learnt < written / 20, f"{learnt} of {written} groups had to ask first")
    must(len([e for e in admin.events() if e["type"] == "TOOL_APPROVAL_RESPONSE"]) == 80, "answers")
    world.nod("verify", "--store", url)


def test_calls_of_two_nodes_in_one_session_make_one_chain(pg, world):
    """Each call is one event that builds on the last of its session, which the other node may have added to meanwhile."""
    servers, url = nodes(pg, world, 2)
    admin = servers[0].admin()
    session = admin.session(toolPolicies={"Bash": "allow"})
    eventually(lambda: at(servers[1], admin).get(f"/api/sessions/{session['id']}").status == 200, "the session is known")

    def work(k):
        for n in range(40):
            at(servers[k], admin).call(session["threadId"], "Bash", {"command": "make"}, id=f"c{k}-{n}")
    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
    must(len([e for e in admin.events() if e["type"] == "TOOL_CALL"]) == 80, "calls")
    world.nod("verify", "--store", url)


def test_what_is_remembered_is_not_asked_for(pg, world):
    """Calls at A, decisions at B: most groups go out in one round trip, from what each remembers of both."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET log_statement = \'all\'', name)
    (a, b), _ = nodes(pg, world, 2, url)
    admin = a.admin()
    session = admin.session(**ASK)
    person = at(b, admin)
    eventually(lambda: person.get("/api/sessions").status == 200, "the token is known")
    path = os.path.join(pg.folder, "log")
    begun = os.path.getsize(path)
    for n in range(20):
        admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
        eventually(lambda n=n: [p for p in person.pending() if p["toolCallId"] == f"c{n}"], "it is pending at the other node")
        person.decided(session["id"], f"c{n}", "allow_once")
    learnt, written = learnt_and_written(path, begun)
    must(written >= 40, f"{written} groups were written")
    must(learnt < written / 2, f"{learnt} of {written} groups had to ask first")
    for n in range(20):  # what does not hold is found out by asking
        must(person.decide(session["id"], f"c{n}", "deny").status == 409, "decided once")
        again = admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
        must(again["status"] == "allowed", f"the same call again: {again}")
    world.nod("verify", "--store", url)


def test_the_database_goes_and_comes(pg, world):
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="before")
    stream = world.follow(admin, "?after=0")
    pg.crash()
    try:
        eventually(lambda: at(a, admin).get("/readyz").status == 503, "/readyz turns")
        results = []
        asker = threading.Thread(target=lambda: results.append(
            at(b, admin).ask(session["threadId"], "Bash", {"command": "make"}, id="meanwhile")))
        asker.start()
        time.sleep(0.5)
    finally:
        pg.start()
    asker.join(PATIENCE)
    must(results and results[0].status in (200, 503), f"a request that waited: {results}")
    eventually(lambda: a.admin().get("/readyz").status == 200, "/readyz turns back")
    must(admin.call(session["threadId"], "Bash", {"command": "make"}, id="meanwhile")["status"] == "awaiting", "again")
    at(b, admin).decided(session["id"], "before", "allow_once")
    stream.wait(lambda: any(t == "TOOL_APPROVAL_RESPONSE" for t in stream.types()), "the stream lives on")
    must(stream.ids() == list(range(1, len(stream.events) + 1)), "a gap or a repeat")
    world.nod("verify", "--store", url)


def test_a_stopped_node_does_not_stop_the_others(pg, world):
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session(**ASK)
    stop = threading.Event()

    def work():
        n = 0
        while not stop.is_set():
            n += 1
            try:
                at(b, admin).ask(session["threadId"], "Bash", {"command": "make"}, id=f"b{n}")
            except OSError:
                pass
    loader = threading.Thread(target=work)
    loader.start()
    time.sleep(0.3)
    b.process.send_signal(signal.SIGSTOP)
    try:
        for n in range(5):
            must(admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"a{n}")["status"] == "awaiting", "kept")
    finally:
        b.process.send_signal(signal.SIGCONT)
        stop.set()
        loader.join(PATIENCE)
    eventually(lambda: at(b, admin).events()[-1]["seq"] == admin.events()[-1]["seq"], "both agree")
    world.nod("verify", "--store", url)


def test_nodes_that_start_together_migrate_once(pg, world):
    url = pg.create(f"n{os.path.basename(world.folder)}")
    servers = [world.server("--store", url, data=os.path.join(world.folder, f"node{n}"), wait=False) for n in range(4)]
    for server in servers:
        server.wait_ready()
    admin = servers[0].admin()
    eventually(lambda: all(at(s, admin).get("/api/sessions").status == 200 for s in servers), "one store")
    world.nod("verify", "--store", url)


def test_a_node_with_another_server_key_says_so(pg, world):
    """It starts all the same; with the key of the first node nothing is wrong."""
    (a, b), url = nodes(pg, world, 2)

    def found(node):
        told = json.loads(world.nod("doctor", "--json", "--data", node.data, exits=None).stdout)
        return next(check for check in told["checks"] if check["check"] == "server")
    b.says("server.key is not that of the other nodes")
    must("server.key is not" in b.admin().get("/readyz").json["warning"] and b.admin().get("/readyz").status == 200, "it is ready")
    must(found(b)["level"] == "bad" and "server.key" in found(b)["words"] and "copy the file" in found(b)["advice"], found(b))
    must("server.key is not" not in a.log() and "warning" not in a.admin().get("/readyz").json, a.log())
    must(found(a)["level"] == "ok", found(a))
    b.stop()
    shutil.copy(os.path.join(a.data, "server.key"), os.path.join(b.data, "server.key"))
    b = world.server("--store", url, data=b.data)
    must("server.key" not in b.log() and found(b)["level"] == "ok", b.log())


def test_a_forged_event_is_found(pg, world):
    (a,), url = nodes(pg, world, 1)
    database = url.split("/")[3].split("?")[0]
    session = a.admin().session(**ASK)
    a.admin().call(session["threadId"], "Bash", {"command": "make"}, id="c1")
    world.nod("verify", "--store", url)
    seq = pg.sql("UPDATE events SET data = replace(data, 'make', 'mope') WHERE kind = 3 RETURNING seq", database).split()[0]
    found = world.nod("verify", "--store", url, exits=1)
    must(f"event {seq}:" in found.stdout, f"it says {found.stdout!r}")


def test_a_copy_there_and_back_is_the_same(pg, world):
    """Killed -9 again and again in the middle, it goes on where it was."""
    start = f"sqlite:{world.data}/nod.db"
    there = pg.create(f"n{os.path.basename(world.folder)}")
    back = f"sqlite:{world.folder}/back.db"
    world.nod("fill", "--events", "20000", program="nod-bench")
    for n in range(4):
        copy = world.start("store", "copy", start, there)
        time.sleep(0.15 + 0.1 * n)
        copy.kill()
        copy.process.wait()
    hashes = [json.loads(world.nod("store", "copy", a, b, "--json").stdout)["hash"] for a, b in ((start, there), (there, back))]
    must(hashes[0] == hashes[1], f"{hashes}")
    world.nod("verify", "--store", there)
    world.nod("verify", "--store", back)


def sql(url, *statements):
    """The rows, as text."""
    done = subprocess.run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", url.replace("postgres:", "postgresql:", 1)], input=";\n".join(statements) + ";",
                          capture_output=True, text=True, check=False)
    must(done.returncode == 0, done.stderr)
    return done.stdout.split()


def finished(admin, title, content="done"):
    session = admin.session(title=title, **ASK)
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="c1")
    admin.decided(session["id"], "c1", "allow_once")
    admin.ok("POST", f"/api/tool-calls/c1/result?session={session['id']}", {"content": content})
    return session


def parts_of(url):
    """What the list says, and what PostgreSQL says."""
    listed = sql(url, "SELECT name FROM parts ORDER BY first_seq")
    real = sql(url, "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass")
    must(sorted(listed) == sorted(real), f"listed {listed}, there {real}")
    return listed


def test_events_lie_in_parts_and_archives_empty_them(pg, world):
    (first,), url = nodes(pg, world, 1)
    first.stop()
    sql(url, "ALTER TABLE events DETACH PARTITION events_1", "ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (1) TO (40)",
        "UPDATE parts SET end_seq = 40", "UPDATE meta SET value = 40 WHERE name = 'part_seqs'")
    (a, b), _ = nodes(pg, world, 2, url)
    admin = a.admin()
    large = random.Random(1).randbytes(400_000).hex()
    for n in range(30):
        finished(at((a, b)[n % 2], admin), f"number {n}", large if n < 3 else "done")
    before, events = parts_of(url), at(b, admin).events()
    must(len(before) >= 4, f"both nodes made parts: {before}")
    size = int(sql(url, "SELECT pg_total_relation_size('events_1')")[0])
    made = json.loads(world.nod("archive", "--older-than", "0s", "--json", "--data", a.data, "--store", url).stdout)
    must(made["sessions"] == 30, f"{made}")
    after = parts_of(url)
    must(before[0] in after and not set(before[1:3]) & set(after), f"what is empty is dropped: {before} {after}")
    must(int(sql(url, "SELECT pg_total_relation_size('events_1')")[0]) < size / 4, "where little is left, the room is given back")
    left = at(b, admin).events()
    must([e for e in left if not e["sessionId"]] == [e for e in events if not e["sessionId"]], "what did not leave is there as it was")
    young = finished(at(b, admin), "young")
    must(at(a, admin).get(f"/api/sessions/{young['id']}").status == 200, "both nodes go on")
    said = json.loads(world.nod("verify", "--json", "--data", a.data, "--store", url).stdout)
    must(said["ok"] and said["archived"] == 30 and [x["state"] for x in said["archives"]] == ["ok"], f"{said}")


def test_a_store_without_parts_is_brought_up_to_date(pg, world):
    url = pg.create(f"n{os.path.basename(world.folder)}")
    data = os.path.join(world.folder, "node0")
    golden_files.put_postgres("0.1.0", data, url)
    events = golden_files.known("0.1.0", "postgres")["events"]
    sql(url, "ALTER TABLE events DETACH PARTITION events_1", "DROP TABLE events", "ALTER TABLE events_1 RENAME TO events",
        *(f"ALTER INDEX events_1_{name} RENAME TO {new}" for name, new in (
            ("pkey", "events_pkey"), ("by_chain", "events_by_chain"), ("session_changes", "session_changes"), ("token_changes", "token_changes"),
            ("rule_changes", "rule_changes"), ("runs", "runs"))),
        "DROP TABLE parts", "DELETE FROM meta WHERE name IN ('part_seqs', 'channel')", "UPDATE meta SET value = 2 WHERE name = 'schema_version'")
    must("version 2" in world.nod("verify", "--store", url, exits=5).stderr, "as it was")
    node = world.server("--store", url, *golden_files.QUIET, data=data)
    admin = node.admin()
    must(golden_files.told(admin.events()) == golden_files.told(events) and parts_of(url) == ["events_1"], "the same events, in the first part")
    finished(admin, "new")
    must(json.loads(world.nod("verify", "--json", "--store", url).stdout)["ok"], "sound")


def test_a_token_made_at_a_is_known_at_b_at_once(pg, world):
    """No node says 401 to a token that was acknowledged; one that nobody made is refused, with a large body as well."""
    (a, b), _ = nodes(pg, world, 2)
    admin = a.admin()
    for n in range(100 * OFTEN):
        token = admin.token_for("viewer", f"v{n}")
        must(at(b, token).get("/api/me").status == 200, f"token {n} is not known at B")
    stranger = Client(b, "nod_" + "0" * 52, "nobody")
    for _ in range(3):
        must(stranger.get("/api/me").status == 401, "a token that nobody made")
        must(stranger.post("/api/threads/x/tool-calls", {"name": "Bash", "input": {"command": "x" * 200_000}}).status == 401, "with a large body")


def test_a_rule_of_a_that_b_has_not_heard_of_binds_its_next_call(pg, world):
    """B's LISTEN goes through a proxy that lets nothing through: what B knows of the rules is old until it keeps something."""
    url = pg.create(f"n{os.path.basename(world.folder)}")
    way = Proxy(pg.folder)
    try:
        a = world.server("--store", url, data=os.path.join(world.folder, "a"))
        b = world.server("--store", url, data=os.path.join(world.folder, "b"),
                         environment={"NOD_STORE_LISTEN": way.url(url.split("/")[3].split("?")[0])})
        admin = a.admin()
        session = admin.session()
        eventually(lambda: len(way.pairs) == 1, "B listens")
        for n in range(5):
            rule = admin.ok("POST", "/api/policy/rules", {"rule": f"Bash(one{n}:*)", "effect": "allow"})
            eventually(lambda i=n: at(b, admin).ask(session["threadId"], "Bash", {"command": f"one{i} x"}).json["status"] == "allowed",
                       f"rule {n} holds at B")
            way.hold(True)
            admin.ok("DELETE", f"/api/policy/rules/{rule['id']}")
            must(at(b, admin).ask(session["threadId"], "Bash", {"command": f"one{n} x"}).json["status"] == "awaiting",
                 f"rule {n} was taken away, and the call passed")
            way.hold(False)
    finally:
        way.close()
    world.nod("verify", "--store", url)


def test_a_rule_changed_at_a_binds_the_next_call_at_b(pg, world):
    """Whatever A has acknowledged holds for the call that B keeps after it: allow taken away, deny added, token revoked."""
    (a, b), url = nodes(pg, world, 2)
    admin = a.admin()
    session = admin.session()
    person = at(b, admin)
    calls = 0

    def status(command, client=person):
        nonlocal calls
        calls += 1
        return client.ask(session["threadId"], "Bash", {"command": command}, id=f"c{calls}")
    for n in range(100 * OFTEN):
        rule = admin.ok("POST", "/api/policy/rules", {"rule": f"Bash(one{n}:*)", "effect": "allow"})
        must(status(f"one{n} x").json["status"] == "allowed", f"rule {n} was added")
        admin.ok("DELETE", f"/api/policy/rules/{rule['id']}")
        must(status(f"one{n} x").json["status"] == "awaiting", f"rule {n} was taken away, and the call passed")
    for n in range(20 * OFTEN):
        admin.ok("POST", "/api/policy/rules", {"rule": f"Bash(two{n}:*)", "effect": "deny"})
        must(status(f"two{n} x").json["status"] == "denied", f"deny {n} was added")
    for n in range(10 * OFTEN):
        token = admin.token_for("agent", f"agent {n}", session["id"])
        agent = at(b, token)
        must(status("make", agent).status == 200, "the agent asks")
        admin.ok("DELETE", f"/api/tokens/{token.id}")
        must(status("make", agent).status == 401, f"agent {n} was revoked, and its call was kept")
    world.nod("verify", "--store", url)
