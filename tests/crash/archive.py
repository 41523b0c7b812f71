#!/usr/bin/env python3
"""kill -9 while sessions are archived, without a server and with one; after each kill a check, then it goes on.

    archive.py [--rounds 30] [--sessions 200] [--seed N] [--keep]

A store is filled through a server: finished sessions with calls, some of them interleaved, and some sessions that wait.
Each round begins with a copy of it. `nod archive` (or the server that does it) is killed at a random moment of the time
that the whole takes, the checker (archive_check.py, its own program) looks at what is there, and it is started again;
up to three kills a round, then once to its end. Nod's own `nod verify` must agree, too.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from crash import NOD, PATIENCE, Connection, Server

HERE = os.path.dirname(os.path.abspath(__file__))
KILLS_MAX = 3


def ask(server, method, path, body=None):
    with open(os.path.join(server.data, "admin.token"), encoding="ascii") as file:
        token = file.read().strip()
    connection = Connection(server.socket, PATIENCE)
    connection.request(method, path, None if body is None else json.dumps(body),
                       {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status not in (200, 201):
        raise SystemExit(f"{method} {path}: {answer.status} {text[:300]}")
    return json.loads(text)


def fill_session(server, number):
    session = ask(server, "POST", "/api/sessions", {"title": f"number {number}", "toolPolicies": {"Bash": "ask"}})
    for call in range(1 + number % 4):
        name = f"toolu_{call}"
        ask(server, "POST", f"/api/threads/{session['threadId']}/tool-calls", {"id": name, "name": "Bash", "input": {"command": f"echo {number}"}})
        if number % 10 == 9 and call == 0:
            continue  # somebody is still to answer
        ask(server, "POST", f"/api/sessions/{session['id']}/approvals/{name}", {"decision": "allow_once"})
        ask(server, "POST", f"/api/tool-calls/{name}/result?session={session['id']}", {"content": "x" * (number * 7 % 3000)})


def fill(folder, sessions):
    server = Server(folder, None)
    server.start()
    server.wait_ready()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: fill_session(server, number), range(sessions)))
    server.process.send_signal(signal.SIGTERM)
    if server.process.wait(PATIENCE) != 0:
        raise SystemExit(f"the server ends badly:\n{server.tail()}")


class Round:
    def __init__(self, base, folder):
        self.folder, self.data = folder, os.path.join(folder, "data")
        self.kept = os.path.join(base, "data", "nod.db")
        shutil.copytree(os.path.join(base, "data"), self.data, ignore=shutil.ignore_patterns("*.sock", "nod.lock"))

    def archive(self):
        return subprocess.Popen([NOD, "archive", "--older-than", "0s", "--data", self.data, "--json"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def kill_without_server(self, after):
        process = self.archive()
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def kill_with_server(self, after):
        server = Server(self.folder, None)
        server.start()
        server.wait_ready()
        process = self.archive()
        time.sleep(after)
        server.kill()
        process.communicate()

    def finish(self):
        process = self.archive()
        text = process.communicate()[0]
        if process.returncode != 0:
            raise SystemExit(f"nod archive ends with {process.returncode}: {text}")
        return json.loads(text)

    def check(self, *more):
        """On a copy, as a crash left it."""
        with tempfile.TemporaryDirectory() as copy:
            for name in ("nod.db", "nod.db-wal"):
                path = os.path.join(self.data, name)
                if os.path.exists(path):
                    shutil.copy(path, copy)
            archives = os.path.join(self.data, "archive")
            os.makedirs(archives, mode=0o700, exist_ok=True)
            done = subprocess.run([sys.executable, os.path.join(HERE, "archive_check.py"), "--db", os.path.join(copy, "nod.db"),
                                   "--archives", archives, "--kept", self.kept, *more], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{done.stdout}{done.stderr}kept: {self.folder}")
        return done.stdout.strip()

    def verify(self):
        done = subprocess.run([NOD, "verify", "--data", self.data], capture_output=True, text=True, check=False)
        if done.returncode != 0 or "not here" in done.stdout:
            raise SystemExit(f"nod verify: {done.stdout}{done.stderr}")


def left(words):
    return int(words.split("left=")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="nod-archive-")
    base = os.path.join(folder, "base")
    os.mkdir(base)
    fill(base, options.sessions)
    whole = Round(base, os.path.join(folder, "whole"))
    began = time.monotonic()
    whole.finish()
    takes = time.monotonic() - began
    expected = left(whole.check("--finished"))
    kills = halves = 0
    for number in range(options.rounds):
        one = Round(base, os.path.join(folder, f"round{number}"))
        for _ in range(chance.randint(1, KILLS_MAX)):
            # Anywhere, or near the end, where sessions leave one after the other.
            after = takes * chance.uniform(*chance.choice(((0, 1.2), (0.5, 1.1))))
            (one.kill_with_server if number % 2 else one.kill_without_server)(after)
            halves += 0 < left(one.check()) < expected
            kills += 1
        one.finish()
        words = one.check("--finished")
        one.verify()
        if left(words) != expected:
            raise SystemExit(f"round {number}: {words}, {expected} should have left")
        shutil.rmtree(one.folder)
    print(f"{options.rounds} rounds with {kills} kills, {halves} of them with some sessions moved: every event in the store or in a "
          f"verified archive ({options.sessions} sessions, {expected} to archive, {takes * 1000:.0f} ms; seed {seed})")
    if not options.keep:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
