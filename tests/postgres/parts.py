"""Parts of the events beside whoever looks at them for long: a backup, nod verify, somebody's psql."""
import json
import random
import subprocess
import threading

from nodes import at, finished, nodes, sql
from world import PATIENCE, eventually, must

PART = 40
ROUNDS = 10  # tries of an exchange


class Look:
    """A transaction that has looked at the events and does not end."""
    def __init__(self, url, statement):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-At", url.replace("postgres:", "postgresql:", 1)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write(f"BEGIN; {statement};\n\\echo looks\n")
        self.psql.stdin.flush()
        while self.psql.stdout.readline().strip() != "looks":
            must(self.psql.poll() is None, "psql is there")

    def end(self):
        self.psql.communicate()


def small_parts(pg, world, count):
    (first,), url = nodes(pg, world, 1)
    first.stop()
    sql(url, "ALTER TABLE events DETACH PARTITION events_1",
        f"ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (1) TO ({PART})",
        f"UPDATE parts SET end_seq = {PART}", f"UPDATE meta SET value = {PART} WHERE name = 'part_seqs'")
    return nodes(pg, world, count, url)


def test_a_part_is_made_while_somebody_looks(pg, world):
    (node,), url = small_parts(pg, world, 1)
    admin = node.admin()
    look = Look(url, "SELECT count(*) FROM events")
    try:
        for n in range(2 * PART // 4):
            finished(admin, f"number {n}")
        must(len(sql(url, "SELECT name FROM parts")) >= 3, "parts were made")
    finally:
        look.end()
    world.nod("verify", "--store", url)


def waiting_to_lock(url, table):
    """How many wait for it by that statement: followers wait, too, but lock by reading."""
    return int(sql(url, "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND relation = 'events'::regclass"
                   f" AND query LIKE 'LOCK TABLE {table} IN %'")[0])


def test_whoever_waits_for_an_exchange_misses_nothing(pg, world):
    """What is left in a part is in a new table afterwards, which a snapshot of before does not see."""
    (a, b), url = small_parts(pg, world, 2)
    admin = a.admin()
    large = random.Random(1).randbytes(400_000).hex()
    for n in range(PART // 2):
        finished(at((a, b)[n % 2], admin), f"number {n}", large if n < 3 else "done")
    own = [e for e in at(b, admin).events() if not e["sessionId"]]
    must(own and own[0]["seq"] < PART, "something stays in the first part")
    oid = sql(url, "SELECT 'events_1'::regclass::oid")
    for n in range(ROUNDS):
        look, seen = Look(url, "LOCK TABLE ONLY events IN ACCESS SHARE MODE"), {}
        archive = threading.Thread(target=lambda seen=seen: seen.update(made=world.nod(
            "archive", "--older-than", "0s", "--json", "--data", a.data, "--store", url)))
        archive.start()
        eventually(lambda: waiting_to_lock(url, "events"), "room is to be given back")
        readers = [threading.Thread(target=lambda seen=seen: seen.update(events=at(b, admin).events())),
                   threading.Thread(target=lambda seen=seen: seen.update(said=world.nod("verify", "--json", "--store", url, exits=None)))]
        for reader in readers:
            reader.start()
        # The exchange waits for three seconds: where nod verify takes longer to start, the other reader alone must do.
        readers_wanted = 2 if n < ROUNDS // 2 else 1
        eventually(lambda: waiting_to_lock(url, "ONLY events") >= readers_wanted or not waiting_to_lock(url, "events"),
                   "the readers wait, or the exchange was given up")
        look.end()
        for thread in (archive, *readers):
            thread.join(PATIENCE)
        must([e for e in seen["events"] if not e["sessionId"]] == own, f"missing: {seen['events'][:3]}")
        said = seen["said"]
        if not said.stdout:  # it waited longer than it may, and says so
            must("verify" in said.arguments and said.process.returncode, said.stderr)
            said = world.nod("verify", "--json", "--store", url)
        must(json.loads(said.stdout)["ok"], said.stdout)
        if sql(url, "SELECT 'events_1'::regclass::oid") != oid:
            return
        finished(admin, f"another {n}")
    must(False, "the part was exchanged")
