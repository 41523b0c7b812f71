#!/usr/bin/env python3
"""kill -9 of nodes and of the database under load; after each round the same independent check as for SQLite.

    crash_nodes.py [--rounds 12] [--nodes 3] [--seed N] [--era 10]

Clients talk to any node, a kept connection to one of them; nodes talk to the database through a proxy. In each round
some of these happen in any order: a node is killed -9 or stopped for a while, connections are ended by the server or
cut on the way with all that is on it, the way is held up for a while, the database is killed -9 and comes back. Then
all nodes are killed, the checker reads what the database holds, and the nodes come back.

It must find a broken rule. Broken on purpose, one after the other, it found each within the first round:
  - numbers without order: pg_advisory_xact_lock_shared for LOCK in postgres_sql.h. The primary key says no.
  - a group told before what was kept before it: `return 0` in seq_before of store.c. follow_events finds the gap.
  - the same without that check of follow_events: clients and followers find calls that some nodes do not know.
"""
import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "crash")]

import crash   # noqa: E402
import proxy   # noqa: E402
import server  # noqa: E402

UNAVAILABLE = 6  # the exit status of a node that could not start
COLUMNS = "seq, session_id, thread_id, kind, at_ms, actor, call_id, data"


class Nodes:
    """Looks like one server to the clients of tests/crash: each new connection goes to some living node."""

    def __init__(self, folder, url, count, rng):
        self.all = [crash.Server(os.path.join(folder, f"node{n}"), url) for n in range(count)]
        for node in self.all:
            os.makedirs(os.path.dirname(node.data), exist_ok=True)
        self.rng, self.data = rng, self.all[0].data

    living = property(lambda self: [n for n in self.all if n.process and n.process.poll() is None])
    socket = property(lambda self: random.choice(self.living or self.all).socket)
    process = property(lambda self: self.all[0].process)

    def look(self):
        """A node that ended by itself is a failure of its own; unless it found no database for ten seconds when it
        started, and says so: then it is started again, as a supervisor does."""
        for node in self.all:
            if node.process and node.process.poll() not in (None, -signal.SIGKILL, UNAVAILABLE):
                raise SystemExit(f"a node ended by itself with {node.process.returncode}:\n{node.tail()}")

    def start(self):
        self.look()
        for node in self.all:
            if node not in self.living:
                node.start()

    def wait_ready(self):
        for node in self.all:
            node.wait_ready()

    def tail(self):
        return "\n".join(f"--- {node.data}\n{node.tail()}" for node in self.all)

    def token(self):
        return self.all[0].token()

    def kill(self):
        self.look()
        for node in self.living:
            node.kill()


class Era(crash.Era):
    def __init__(self, folder, options, rng, pg):
        super().__init__(folder, options, rng)
        self.pg, self.database = pg, os.path.basename(folder)
        self.url = pg.create(self.database)
        self.way = proxy.Proxy(pg.folder, rng.random())
        self.server = Nodes(folder, self.way.url(self.database), options.nodes, rng)

    # ---- what happens under load ----
    def kill_node(self):
        node = self.rng.choice(self.server.living)
        node.kill()
        time.sleep(self.rng.random() * 0.3)
        node.start()

    def stop_node(self):
        node = self.rng.choice(self.server.living)
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.random() * 0.5)
        node.process.send_signal(signal.SIGCONT)

    def end_connections(self):
        """The server ends connections in the middle of whatever they do."""
        for _ in range(self.rng.randrange(1, 6)):
            self.pg.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'nod'"
                        " AND random() < 0.5", self.database)
            time.sleep(self.rng.random() * 0.05)

    def cut(self):
        """They break on the way: what was sent may have arrived or not, and neither end knows of the other."""
        for _ in range(self.rng.randrange(1, 12)):
            self.way.cut(self.rng.choice([0.2, 0.5, 1]))
            time.sleep(self.rng.random() * 0.05)

    def hold(self):
        """Nothing passes for a while; then all of it does, or the connections are gone."""
        self.way.hold(True)
        time.sleep(self.rng.random() * 0.7)
        if self.rng.random() < 0.5:
            self.way.cut()
        self.way.hold(False)

    def crash_database(self):
        self.pg.crash()
        time.sleep(self.rng.random() * 0.3)
        self.pg.start()

    def round(self):
        time.sleep(0.2 + self.rng.random() * self.options.longest)
        acts = [self.kill_node, self.stop_node, self.end_connections, self.cut, self.cut, self.hold, self.crash_database]
        for act in self.rng.sample(acts, self.rng.randrange(1, 5)):
            act()
            self.server.look()
            time.sleep(self.rng.random() * 0.4)
        super().round()

    def copy(self):
        """What the database holds, in the form the checker reads."""
        path = os.path.join(self.folder, "copy.db")
        if os.path.exists(path):
            os.remove(path)
        self.wait_for_quiet()
        with sqlite3.connect(path) as to:
            to.execute(f"CREATE TABLE events({COLUMNS}, no, hash)")
            to.execute("CREATE TABLE groups(last_seq, hash)")
            to.execute("CREATE TABLE chains(session_id, last_seq, hash)")
            to.execute("CREATE VIEW heads AS SELECT * FROM chains")
            to.execute("CREATE TABLE open_approvals(session_id, call_id, deadline_ms)")
            to.execute("CREATE VIEW open_now AS SELECT * FROM open_approvals")
            to.execute("CREATE TABLE gone(first_seq, last_seq)")
            to.execute("CREATE TABLE meta(name, value)")
            self.take(to, "events", f"{COLUMNS}, no, encode(hash, 'hex')", "seq", {0, 3, 4, 8}, 9)
            self.take(to, "groups", "last_seq, encode(hash, 'hex')", "last_seq", {0}, 1)
            self.take(to, "chains", "session_id, last_seq, encode(hash, 'hex')", "first_seq", {1}, 2)
            self.take(to, "open_approvals", "session_id, call_id, deadline_ms", "request_seq", {2}, None)
            self.take(to, "gone", "first_seq, last_seq", "first_seq", {0, 1}, None)
            to.execute("INSERT INTO meta SELECT 'indexed', max(seq) FROM events")  # here nothing is listed late
        return path

    def wait_for_quiet(self):
        """A COMMIT that was sent before the kill may still be under way."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if self.pg.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nod'", self.database) == "0":
                return
            time.sleep(0.02)
        raise SystemExit("connections of killed nodes stay")

    def take(self, to, table, columns, order, numbers, hashed):
        run = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-h", self.pg.folder, "-U", "nod", "-d", self.database,
                              "-F", "\x1f", "-R", "\x1e", "-P", "null=", "-c", f"SELECT {columns} FROM {table} ORDER BY {order}"],
                             stdout=subprocess.PIPE, check=True)
        text = run.stdout.decode()
        for line in text.removesuffix("\n").split("\x1e") if text.strip() else []:
            row = [int(v) if i in numbers else bytes.fromhex(v) if i == hashed else v for i, v in enumerate(line.split("\x1f"))]
            to.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)

    def end(self):
        time.sleep(0.2)
        self.over.set()
        self.running.set()
        for client in self.everybody:
            client.join(crash.PATIENCE)
        self.look_for_trouble()
        for node in self.server.living:
            node.process.terminate()
            if node.process.wait(crash.PATIENCE) != 0:
                raise SystemExit(f"a node ended with {node.process.returncode}:\n{node.tail()}")
        self.check(self.copy())
        verify = subprocess.run([crash.NOD, "verify", "--store", self.url], capture_output=True, text=True, check=False)
        if verify.returncode != 0:
            raise SystemExit(f"nod verify disagrees: {verify.stdout}{verify.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--era", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    options.longest, options.store, options.keep = 0.6, None, False
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    rng, done, started, pg = random.Random(seed), 0, time.monotonic(), server.Postgres().start()
    try:
        while done < options.rounds:
            folder = tempfile.mkdtemp(prefix="nod-crash-")
            era = Era(folder, options, rng, pg)
            try:
                era.begin()
                for _ in range(min(options.era, options.rounds - done)):
                    era.round()
                    done += 1
                    print(f"round {done}: {era.last}", flush=True)
                era.end()
            finally:
                era.over.set()
                era.running.set()
                for node in era.server.living:
                    node.process.kill()
                era.way.close()
            shutil.rmtree(folder, ignore_errors=True)
    except SystemExit as failure:
        words = str(failure).replace("\n", "\n        ")
        print(f"FAILED  round {done + 1} of seed {seed}\n        {words}\n{done} passed, 1 failed")
        return 1
    finally:
        pg.remove()
    print(f"{done} rounds in {time.monotonic() - started:.0f} s, every check held\n{done} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
