"""What every section of dev/bench stands on: who else is busy, the report, servers of its own, and their end."""
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOD = os.path.abspath(os.environ.get("NOD", os.path.join(ROOT, "build", "nod")))
PATIENCE = 900   # seconds for one command: a store of 10,000,000 events takes minutes on a busy machine
ATTEMPTS = 3     # at a measurement during which the disk was not steady
BUSY = 0.15      # share of the machine that others may use while we measure
QUIET_WAIT = 20  # seconds, at most, until a section begins although others are busy
SECTIONS = {}


def section(name, needs=()):
    """Registers a part of the run, and what must run before it; sections run in the order they are written in."""
    def register(function):
        SECTIONS[name] = (function, {"machine", *needs})
        return function
    return register


class Broken(Exception):
    """Something that is not slow but wrong."""


# ---- others on this machine ----

def others_used():
    """Seconds of processor time, and how many of them nobody here used: other programs', or stolen by the host."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    ours = sum(usage.ru_utime + usage.ru_stime for usage in
               (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))
    hertz = os.sysconf("SC_CLK_TCK")
    return sum(ticks) / hertz, (sum(ticks) - idle) / hertz - ours


def others_share(before):
    """What others used since, as a share of the machine. Only children that have ended are known to be ours."""
    now = others_used()
    return max(0.0, (now[1] - before[1]) / max(now[0] - before[0], 0.01))


def wait_for_quiet(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = others_used()
        time.sleep(1)
        if others_share(before) < BUSY:
            return


# ---- the report ----

def shown(value, unit):
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 or value == int(value) else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}{' ' if unit and unit[0] != '/' else ''}{unit}"


class Report:
    """What was measured, and whether it is as wanted."""

    def __init__(self):
        self.rows, self.raw, self.notes = [], [], []
        self.current = 0  # the first row of the section that is being measured

    def machine(self, name, text):
        self.raw.append((name, text))

    def row(self, what, measured, unit, beside=None, ratio=None, at_least=None, at_most=None, noisy=False, limit=""):
        """`at_least` and `at_most` are for the ratio, or for the measured value when there is no ratio."""
        looked_at = ratio if ratio is not None else measured
        wanted = f">= {at_least:g}{limit}" if at_least is not None else f"<= {at_most:g}{limit}" \
            if at_most is not None else ""
        ok = (at_least is None or looked_at >= at_least) and (at_most is None or looked_at <= at_most)
        self.rows.append({
            "what": what, "measured": shown(measured, unit), "yardstick": shown(beside, unit),
            "ratio": "" if ratio is None else f"{ratio:.2f}" if ratio >= 0.05 else f"{ratio:.1g}", "wanted": wanted,
            "ok": "" if not wanted else ("ok" if ok else "NOT") + (" (noisy)" if noisy else ""), "holds": ok})

    def end_section(self, name, share):
        """Says so when others were busy meanwhile: then neither an ok nor a NOT means much."""
        if share >= BUSY and len(self.rows) > self.current:
            for row in self.rows[self.current:]:
                row["ok"] += " (busy)" if row["ok"] else ""
            self.notes.append(f"{name}: other programs used {share:.0%} of the machine meanwhile; measure again")
        self.current = len(self.rows)

    def missing(self, what, why):
        self.rows.append({"what": what, "measured": "", "yardstick": "", "ratio": "", "wanted": "",
                          "ok": "NOT, see below", "holds": False})
        self.notes.append(f"{what}: {why}")

    def left_out(self, what, why):
        """What this machine has no means to measure: seen in the table, and no failure."""
        self.rows.append({"what": what, "measured": "", "yardstick": "", "ratio": "", "wanted": "", "ok": "left out",
                          "holds": True})
        self.notes.append(f"{what}: left out: {why}")

    def print(self):
        for name, text in self.raw:
            print(f"{name:<12} {text}")
        columns = ["what", "measured", "yardstick", "ratio", "wanted", "ok"]
        widths = {c: max([len(c)] + [len(row[c]) for row in self.rows]) for c in columns}
        right = {"measured", "yardstick", "ratio"}
        line = lambda row: "  ".join(row[c].rjust(widths[c]) if c in right else row[c].ljust(widths[c])
                                     for c in columns).rstrip()
        print("\n" + line({c: c for c in columns}))
        for row in self.rows:
            print(line(row))
        print("\n" * bool(self.notes) + "\n".join(self.notes), end="\n" * bool(self.notes))

    def holds(self):
        return all(row["holds"] for row in self.rows)


# ---- servers and commands ----

# One token asks for all that is measured, over as many connections as it takes.
NO_LIMITS = ["--asks-per-second", "0", "--waiting-per-token", "0", "--waiting-per-session", "0", "--waiting-total", "0",
             "--waiting-bytes-per-token", "0", "--waiting-bytes-total", "0", "--strangers", "20000", "--strangers-per-address", "20000"]


class World:
    """A folder on a real disk, the servers in it, and their end."""

    def __init__(self, report, full=False):
        self.report = report
        self.histories = (1000000, 10000000) if full else (1000000,)  # events of the long stores
        self.folder = tempfile.mkdtemp(prefix="bench-", dir=os.path.dirname(NOD))
        self.children = []
        self.stores = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        for child in self.children:
            stop(child)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spawn(self, argv, name, environment=None):
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as err:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env={**os.environ, **(environment or {})})
        self.children.append(child)
        return child

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def nod(self, *argv):
        return self.run(NOD, *argv)

    def nod_bench(self, *argv):
        """The part of the load that is written in C (tests/bench/main.c)."""
        return self.run(os.path.join(os.path.dirname(NOD), "nod-bench"), *argv)

    def run(self, *argv):
        run = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if run.returncode != 0:
            raise Broken(f"{' '.join(argv)}: status {run.returncode}: {run.stderr.strip()[-400:]}")
        return run.stdout

    @contextlib.contextmanager
    def serve(self, name, data=None, environment=None, before=()):
        """A server with its own folder; ready when this begins. `before`: the program that runs it."""
        server = Server(self, name, data or self.path(name), environment, before)
        try:
            yield server
        finally:
            stop(server.child)

    def store(self, events):
        """A data folder with so many events, 100 of its calls open; made once in a run."""
        if events not in self.stores:
            data = self.path(f"store-{events}")
            began = time.monotonic()
            self.nod_bench("fill", "--data", data, "--events", str(events), "--open", "100")
            took = time.monotonic() - began
            check = json.loads(self.nod("verify", "--data", data, "--json"))
            if not check["ok"] or check["events"] != events or check["open"] != 100:
                raise Broken(f"the store of {events} events is not as it should be: {check}")
            size = os.path.getsize(os.path.join(data, "nod.db")) / 1e6
            self.report.machine("store", f"{events:,} events, {size:.0f} MB, made in {took:.1f} s, chains verified")
            self.stores[events] = data
        return self.stores[events]


def stop(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def until(look, words, patience=90):
    end = time.monotonic() + patience
    while not (value := look()):
        if time.monotonic() > end:
            raise Broken(f"did not come about in {patience} s: {words}")
        time.sleep(0.005)
    return value


class Server:
    def __init__(self, world, name, data, environment=None, before=()):
        self.world, self.name, self.data = world, name, data
        self.child = world.spawn([*before, NOD, "serve", "--data", data, "--listen", "127.0.0.1:0", *NO_LIMITS], name, environment)
        self.wait_ready()

    def wait_ready(self):
        found = until(self.address, f"the server {self.name} is ready")
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def address(self):
        if self.child.poll() is not None:
            raise Broken(f"the server {self.name} ended: {self.world.read(self.name + '.err')[-400:]}")
        return re.search(r"http://127\.0\.0\.1:(\d+)", self.world.read(self.name + ".out"))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def token(self):
        with open(os.path.join(self.data, "admin.token"), encoding="ascii") as file:
            return file.read().strip()

    def talk(self, method, path, body=None, connection=None):
        """One exchange as admin: the answer's JSON. On a connection of its own unless it is given one."""
        line = connection or self.connect()
        headers = {"Authorization": f"Bearer {self.token()}", "Content-Type": "application/json"}
        line.request(method, path, None if body is None else json.dumps(body), headers)
        reply = line.getresponse()
        text = reply.read()
        if not connection:
            line.close()
        if reply.status >= 300:
            raise Broken(f"{method} {path}: status {reply.status}: {text[:300]}")
        return json.loads(text)

    def bench(self, part, *options):
        """The figures of one part, by name; again while the disk is not steady, a few times."""
        for _ in range(ATTEMPTS):
            out = self.world.nod_bench(part, "--data", self.data, "--url", self.url, "--json", *options)
            figures = {f"{f['part']}.{f['name']}": f for f in json.loads(out)["figures"]}
            if not any(f["noisy"] for f in figures.values()):
                break
        return figures


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s*(\d+) kB", file.read())[1]) / 1024
