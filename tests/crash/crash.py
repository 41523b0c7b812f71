#!/usr/bin/env python3
"""kill -9 at random moments under load; after each a check, a restart, and the load goes on.

    crash.py [--rounds 100] [--seed N] [--quick] [--era 25] [--keep] [--store URL]

Agents ask, wait, report and give up; people answer, several at once; followers read streams of four scopes.
Each writes down what was acknowledged to it or what it saw, in a file of its own. When the server is killed
they find their connections broken, and after the restart they ask again, with the same ids and words, as
real clients do. Between kill and restart the checker (check.py, its own program) reads a copy of the
database. Every `era` rounds it begins anew in an empty folder, so that the first start is killed, too.
"""
import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOD = os.path.abspath(os.environ.get("NOD", os.path.join(ROOT, "build", "nod")))
os.environ["NOD_TRIPWIRE"] = "no"  # one process plays agents and people
BROKEN = (OSError, http.client.HTTPException)
PATIENCE = float(os.environ.get("NOD_PATIENCE", "180"))  # seconds until something that must come is missing


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    def __init__(self, folder, store):
        self.data, self.store, self.process = os.path.join(folder, "data"), store, None
        self.socket = os.path.join(self.data, "nod.sock")
        self.log = os.path.join(folder, "server.log")

    def start(self):
        arguments = [NOD, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
                     "--asks-per-second", "0", "--waiting-per-token", "0", "--waiting-per-session", "0"]
        if self.store:
            arguments += ["--store", self.store]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def wait_ready(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"the server does not start (status {self.process.returncode}):\n{self.tail()}")
            with contextlib.suppress(*BROKEN):
                connection = Connection(self.socket, PATIENCE)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.002)
        raise SystemExit(f"the server does not get ready:\n{self.tail()}")

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-3000:]

    def kill(self):
        """kill -9; a server that had ended by itself is a failure of its own."""
        if self.process.poll() is not None:
            raise SystemExit(f"the server ended by itself with {self.process.returncode}:\n{self.tail()}")
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def token(self):
        with open(os.path.join(self.data, "admin.token"), encoding="ascii") as file:
            return file.read().strip()


class Client(threading.Thread):
    """Does `step` again and again. `pace` lets it work; a broken connection is made anew."""

    def __init__(self, era, name, token, seed):
        super().__init__(daemon=True, name=name)
        self.era, self.token, self.random = era, token, random.Random(seed)
        self.connection, self.trouble, self.idle = None, None, threading.Event()
        self.file = open(os.path.join(era.clients, name + ".jsonl"), "a", encoding="utf-8")

    def write(self, **line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def request(self, method, path, body=None, timeout=30):
        """One exchange on the kept connection; raises one of BROKEN when it breaks."""
        if not self.connection:
            self.connection = Connection(self.era.server.socket, timeout)
        try:
            headers = {"Authorization": "Bearer " + self.token}
            if body is not None:
                headers["Content-Type"] = "application/json"
            self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except BROKEN:
            self.drop()
            raise

    def insist(self, method, path, body=None):
        """The same again until there is an answer, over any number of restarts; None when the era ends."""
        while not self.era.over.is_set():
            self.pause()
            try:
                status, answer = self.request(method, path, body)
                if status != 503:
                    return status, answer
            except BROKEN:
                pass
            time.sleep(0.003)
        return None, None

    def pause(self):
        """Stands still between a kill and the restart, so that the check sees a world at rest."""
        if not self.era.running.is_set():
            self.idle.set()
            while not self.era.running.wait(0.05) and not self.era.over.is_set():
                pass
            self.idle.clear()

    def drop(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def run(self):
        try:
            while not self.era.over.is_set():
                self.pause()
                self.step()
        except Exception as error:  # noqa: BLE001: told by the main thread
            self.trouble = f"{self.name}: {type(error).__name__}: {error}"
        self.idle.set()
        self.drop()
        self.file.close()


class Agent(Client):
    def __init__(self, era, number, token, session, threads, seed):
        super().__init__(era, f"agent{number}", token, seed)
        self.session, self.threads, self.count, self.open = session, threads, 0, []

    def step(self):
        act = self.random.random()
        if not self.open or (act < 0.5 and len(self.open) < 20):
            self.ask()
        elif act < 0.98:
            self.look()
        else:
            self.cancel()
        time.sleep(self.random.random() * 0.004)

    def ask(self):
        self.count += 1
        call, thread = f"{self.name}-{self.count}", self.random.choice(self.threads)
        asked = self.random.random() < 0.7
        given = {"command": f"{call} " + "x" * self.random.choice([0, 10, 1000, 20000]), "n": self.count}
        wait = self.random.choice([0, 0, 0, 0, 0, 1])
        body = {"id": call, "name": "Bash" if asked else "Read", "input": given}
        status, answer = self.insist("POST", f"/api/threads/{thread}/tool-calls?wait={wait}", body)
        if status is None:
            return
        if status != 200:
            raise RuntimeError(f"a call was refused: {status} {answer}")
        self.note("call", call, answer, input=given, thread=thread)
        if answer["status"] == "awaiting":
            self.open.append(call)
        elif answer["status"] == "allowed":
            self.report(call)

    def note(self, ack, call, answer, **more):
        by = answer.get("decidedBy") or {}
        self.write(ack=ack, session=self.session, call=call, status=answer["status"], decision=answer["decision"],
                   actor=by.get("actor") if by.get("kind") == "person" else None, **more)

    def look(self):
        call = self.random.choice(self.open)
        status, answer = self.insist("GET", f"/api/tool-calls/{call}?wait={self.random.choice([0, 0, 0, 0, 0, 1])}&session={self.session}")
        if status is None:
            return
        if status != 200:
            raise RuntimeError(f"a call that was acknowledged cannot be seen: {call} {status} {answer}")
        self.note("answer", call, answer)
        if answer["status"] != "awaiting":
            self.open.remove(call)
        if answer["status"] == "allowed":
            self.report(call)

    def report(self, call):
        content = f"result of {call}"
        status, answer = self.insist("POST", f"/api/tool-calls/{call}/result?session={self.session}", {"content": content})
        if status == 200:
            self.write(ack="result", session=self.session, call=call, content=content)
        elif status not in (None, 409):
            raise RuntimeError(f"a result was refused: {status} {answer}")

    def cancel(self):
        call = self.open.pop(self.random.randrange(len(self.open)))
        status, answer = self.insist("POST", f"/api/tool-calls/{call}/cancel?session={self.session}", {})
        if status == 200:
            self.write(ack="cancel", session=self.session, call=call)
        elif status not in (None, 409):
            raise RuntimeError(f"giving up was refused: {status} {answer}")


class Person(Client):
    def __init__(self, era, name, token, seed):
        super().__init__(era, name, token, seed)
        self.count = 0

    def step(self):
        status, answer = self.insist("GET", "/api/approvals/pending?limit=50")
        if status is None:
            return
        waiting = answer["pendingApprovals"]
        for one in self.random.sample(waiting, min(len(waiting), 4)):
            self.decide(one)
        time.sleep(self.random.random() * 0.1)

    def decide(self, one):
        self.count += 1
        body = {"decision": self.random.choice(["allow_once", "allow_once", "deny", "abort"]), "feedback": f"{self.name} says {self.count}"}
        session, call = one["sessionId"], one["toolCallId"]
        status, answer = self.insist("POST", f"/api/sessions/{session}/approvals/{call}", body)
        if status == 200:
            self.write(ack="decision", session=session, call=call, actor=answer["actor"], seq=answer["seq"], **body)
        elif status == 409 and "winner" in answer:
            self.write(ack="winner", session=session, call=call, decision=answer["winner"]["decision"], actor=answer["winner"]["actor"])
        elif status is not None:
            raise RuntimeError(f"a decision was refused: {status} {answer}")


class Follower(Client):
    """Reads its stream, and now and then lets go of it in the middle to go on where it was."""

    def __init__(self, era, number, token, scope, seed):
        super().__init__(era, f"follower{number}", token, seed)
        self.scope, self.last = scope, 0
        self.write(follows=scope)

    def step(self):
        query = "&".join(f"{key}={','.join(value) if key == 'types' else value}" for key, value in self.scope.items())
        connection = Connection(self.era.server.socket, 1)
        try:
            headers = {"Authorization": "Bearer " + self.token, "Accept": "text/event-stream"}
            if self.last:
                headers["Last-Event-ID"] = str(self.last)
            connection.request("GET", "/api/events?after=0&" + query, None, headers)
            answer = connection.getresponse()
            if answer.status == 503:
                return
            if answer.status != 200:
                raise RuntimeError(f"a stream was refused: {answer.status} {answer.read()}")
            self.read(answer)
        except BROKEN:
            time.sleep(0.003)
        finally:
            connection.close()

    def read(self, answer):
        fields, patience = {}, self.random.choice([0, 1, 3, 30, 300])
        while not self.era.over.is_set() and patience >= 0:
            line = answer.readline()
            if not line.endswith(b"\n"):
                return  # cut off: half an event is no event
            name, _, value = line.rstrip(b"\n").partition(b": ")
            if name:
                fields[name] = fields[name] + b"\n" + value if name in fields else value
            elif fields.get(b"data"):
                self.take(fields)
                fields, patience = {}, patience - 1

    def take(self, fields):
        text = fields[b"data"].decode()
        event = json.loads(text)
        # The event's data as the bytes it came with: it is the last member.
        data = text[text.index('"data":') + 7:-1]
        self.last = int(fields[b"id"])
        if event["seq"] != self.last or event["type"].encode() != fields[b"event"]:
            raise RuntimeError(f"id, event and data disagree: {fields}")
        self.write(seq=self.last, type=event["type"], data=hashlib.sha256(data.encode()).hexdigest())


class Era:
    """A folder, a server, and everybody who talks to it."""

    def __init__(self, folder, options, rng):
        self.folder, self.options, self.rng = folder, options, rng
        self.clients = os.path.join(folder, "clients")
        os.makedirs(self.clients)
        self.running, self.over = threading.Event(), threading.Event()
        self.server, self.everybody = Server(folder, options.store), []
        self.checks = 0

    def begin(self):
        for _ in range(self.rng.randrange(4)):  # the very first start, killed
            self.server.start()
            time.sleep(self.rng.random() * 0.03)
            self.server.kill()
        self.server.start()
        self.server.wait_ready()
        self.people()
        self.running.set()
        for client in self.everybody:
            client.start()

    def admin(self, method, path, body=None):
        connection = Connection(self.server.socket, PATIENCE)
        headers = {"Authorization": "Bearer " + self.server.token(), "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        value = json.loads(answer.read())
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {path}: {answer.status} {value}")
        return value

    def token(self, role, name, session=None):
        return self.admin("POST", "/api/tokens", {"role": role, "name": name, **({"sessionId": session} if session else {})})["token"]

    def people(self):
        scopes = [{}, {"types": ["TOOL_CALL", "TOOL_APPROVAL_RESPONSE"]}]
        for number in range(3):
            settings = {"title": f"s{number}", "approvalTimeoutSeconds": 1 if number == 2 else 0}
            made = self.admin("POST", "/api/sessions", settings)
            other = self.admin("POST", f"/api/sessions/{made['id']}/threads", {})["id"]
            threads = [made["threadId"], other]
            for part in range(4):
                token = self.token("agent", f"agent{number}{part}", made["id"])
                self.everybody.append(Agent(self, f"{number}{part}", token, made["id"], threads, self.rng.random()))
            scopes.append({"session": made["id"]} if number else {"session": made["id"], "thread": other})
        for number in range(3):
            self.everybody.append(Person(self, f"person{number}", self.token("approver", f"person{number}"), self.rng.random()))
        viewer = self.token("viewer", "viewer")
        for number, scope in enumerate(scopes):
            self.everybody.append(Follower(self, number, viewer, scope, self.rng.random()))

    def round(self):
        time.sleep(0.3 + self.rng.random() * self.options.longest)
        self.server.kill()
        self.running.clear()
        for client in self.everybody:
            if not client.idle.wait(PATIENCE):
                raise SystemExit(f"{client.name} does not come to rest")
        self.look_for_trouble()
        copy = self.copy()
        while self.rng.random() < 0.25:  # killed again while it recovers
            self.server.start()
            time.sleep(self.rng.random() * 0.02)
            self.server.kill()
        self.server.start()
        self.server.wait_ready()
        self.check(copy, self.pending())
        self.running.set()

    def look_for_trouble(self):
        troubles = [client.trouble for client in self.everybody if client.trouble]
        if troubles:
            raise SystemExit("\n".join(troubles) + f"\n{self.server.tail()}")

    def copy(self):
        """The database as the kill left it."""
        to = os.path.join(self.folder, "copy")
        shutil.rmtree(to, ignore_errors=True)
        os.mkdir(to)
        for end in ("", "-wal"):
            path = os.path.join(self.server.data, "nod.db" + end)
            if os.path.exists(path):
                shutil.copy(path, to)
        return os.path.join(to, "nod.db")

    def pending(self):
        path = os.path.join(self.folder, "pending.json")
        answer = self.admin("GET", "/api/approvals/pending?limit=1000")
        answer["readAtMs"] = time.time() * 1000 + 5
        with open(path, "w", encoding="utf-8") as file:
            json.dump(answer, file)
        return path

    def check(self, copy, pending=None):
        arguments = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py"), "--db", copy, "--clients", self.clients]
        if pending:
            arguments += ["--pending", pending]
        run = subprocess.run(arguments, capture_output=True, text=True)
        self.last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr
        if run.returncode != 0:
            raise SystemExit(f"the check fails; see {self.folder}\n{run.stdout}{run.stderr}")
        self.checks += 1

    def end(self):
        """Lets everything come to rest, stops the server kindly, and checks once more."""
        time.sleep(0.2)
        self.over.set()
        self.running.set()
        for client in self.everybody:
            client.join(PATIENCE)
        self.look_for_trouble()
        self.server.process.terminate()
        if self.server.process.wait(PATIENCE) != 0:
            raise SystemExit(f"the server ended with {self.server.process.returncode}:\n{self.server.tail()}")
        self.check(self.copy())
        verify = subprocess.run([NOD, "verify", "--data", self.server.data], capture_output=True, text=True)
        if verify.returncode != 0 and not self.options.store:
            raise SystemExit(f"nod verify disagrees: {verify.stdout}{verify.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--era", type=int, default=25, help="rounds in one folder")
    parser.add_argument("--quick", action="store_true", help="a few short rounds")
    parser.add_argument("--keep", action="store_true", help="keep the folders")
    parser.add_argument("--store", help="passed to the server; the checker reads SQLite only")
    options = parser.parse_args()
    options.longest = 0.4 if options.quick else 0.9
    rounds = 8 if options.quick else options.rounds
    era_rounds = 4 if options.quick else options.era
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    rng, done, started = random.Random(seed), 0, time.monotonic()
    while done < rounds:
        folder = tempfile.mkdtemp(prefix="nod-crash-")
        era = Era(folder, options, rng)
        try:
            era.begin()
            for _ in range(min(era_rounds, rounds - done)):
                era.round()
                done += 1
                print(f"round {done}: {era.last}", flush=True)
            era.end()
        except BaseException:
            era.over.set()
            era.running.set()
            if era.server.process and era.server.process.poll() is None:
                era.server.process.kill()
            print(f"kept: {folder}", flush=True)
            raise
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{done} rounds of kill -9 in {time.monotonic() - started:.0f} s, every check held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
