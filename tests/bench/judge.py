"""The judge's lines: the rules alone, in process (tests/policy/bench_judge.c), and beside what others use.

The peers come from npm in exact versions, into a cache outside the tree. `codex execpolicy check` is a program that
is started for each check; Cedar runs in this run's Node, with its policies read beforehand. Neither reads a shell's
language: codex takes words and Cedar is given text, so all of them get the same simple commands, and rules that
are about commands only, as many for each.
"""
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import time

from frame import NOD, PATIENCE, Broken, section

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nod-tests", "bench-peers")
COUNTS = (10, 100, 1000, 10000)
CODEX_ROUNDS = 21


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)


def program():
    """The judge's own program, with the library that the server is made of."""
    path = os.path.join(os.path.dirname(NOD), "bench_judge")
    if not os.path.exists(path):
        raise Broken("bench_judge is not built: make bench")
    return path


@section("judge")
def measure_judge(world, report):
    told = run([program()]).stdout
    typical = {int(n): float(us) for n, us in re.findall(r"^ *(\d+) rules +([\d.]+)$", told, re.M)}
    hostile = re.findall(r"^(.{1,20}?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", told, re.M)
    if sorted(typical) != list(COUNTS) or not hostile:
        raise Broken("the judge's table cannot be read")
    report.machine("judge", "a typical command: " + ", ".join(f"{typical[n]:.2f} us under {n:,} rules" for n in COUNTS))
    report.row("a typical command judged under 1,000 rules", typical[1000], "us", at_most=10, limit=" us")
    report.row("  under 10,000 rules; to 10 rules", typical[10000], "us", typical[10], typical[10000] / typical[10],
               at_most=10)
    worst = max(hostile, key=lambda row: float(row[5]))
    report.row(f"1 MiB of hostile text refused ({worst[0].strip()})", float(worst[5]) / 1000, "ms", at_most=10,
               limit=" ms")
    steep = max(hostile, key=lambda row: float(row[6]))
    report.row(f"64 KB of it; to 16 KB ({steep[0].strip()})", float(steep[4]), "us", float(steep[3]), float(steep[6]),
               at_most=6)
    sizes = zip(("1 KB", "4 KB", "16 KB", "64 KB"), steep[1:5])
    report.machine("judge", f"hostile text that grows worst ({steep[0].strip()}): "
                            + ", ".join(f"{float(us):,.0f} us of {size}" for size, us in sizes))


# ---- peers ----

@functools.cache
def installed():
    """The folder of the peers' packages, or None and why not."""
    if not shutil.which("npm") or not shutil.which("node"):
        return None, "npm is not installed"
    lock = os.path.join(CACHE, "package-lock.json")
    for name in ("package.json", "package-lock.json"):
        with open(os.path.join(HERE, "peers", name), encoding="utf-8") as file:
            wanted = file.read()
        if not os.path.exists(lock) or open(os.path.join(CACHE, name), encoding="utf-8").read() != wanted:
            shutil.rmtree(CACHE, ignore_errors=True)
            shutil.copytree(os.path.join(HERE, "peers"), CACHE)
    if not os.path.exists(os.path.join(CACHE, "node_modules", ".package-lock.json")):
        got = subprocess.run(["npm", "ci", "--prefix", CACHE, "--ignore-scripts", "--no-audit", "--no-fund",
                              "--loglevel=error"], capture_output=True, text=True, check=False)
        if got.returncode:
            return None, f"npm could not install them: {got.stderr.strip()[-200:]}"
    return CACHE, ""


def ours():
    """Microseconds of a verdict, and of reading the rules and one verdict, by number of rules."""
    told = run([program(), "simple"]).stdout
    found = re.findall(r"^ *(\d+) rules +([\d.]+) +([\d.]+)$", told, re.M)
    if len(found) != len(COUNTS):
        raise Broken(f"the judge's figures cannot be read: {told!r}")
    return {int(n): (float(verdict), float(read)) for n, verdict, read in found}


def rules_of(count):
    """The words of each rule; the judge's program is where they come from."""
    return [json.loads(line) for line in run([program(), "rules", str(count)]).stdout.splitlines()]


def cedar(world, folder, commands):
    """Microseconds of a verdict by number of policies, prepared beforehand."""
    took = {}
    for count in COUNTS:
        path = world.path(f"cedar-{count}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"rules": rules_of(count), "commands": commands}, file)
        got = run(["node", os.path.join(folder, "cedar.mjs"), path])
        if got.returncode:
            raise Broken(f"Cedar: {got.stderr[-300:]}")
        took[count] = float(got.stdout)
    return took


def codex_once(argv, home):
    began = time.perf_counter()
    got = run(argv, env={"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home})
    return (time.perf_counter() - began) * 1e6, got


def codex(world, folder, commands):
    """Microseconds of a whole process by number of rules, 0 among them; in turns."""
    found = [os.path.join(at, "codex") for at, _, names in os.walk(os.path.join(folder, "node_modules/@openai"))
             if "codex" in names and os.path.basename(at) == "bin" and "vendor" in at]
    if not found:
        raise Broken("codex has no program for this machine")
    home, files, took = world.path("codex-home"), {}, {count: [] for count in (0, *COUNTS)}
    os.makedirs(home, exist_ok=True)
    for count in took:
        files[count] = world.path(f"codex-{count}.rules")
        with open(files[count], "w", encoding="utf-8") as file:
            for words in rules_of(count) if count else []:
                file.write(f'prefix_rule(pattern={json.dumps(words)}, decision="allow")\n')
    for i in range(CODEX_ROUNDS):
        command = commands[i % len(commands)].replace("'", "").split()
        for count, path in files.items():
            us, got = codex_once([found[0], "execpolicy", "check", "--rules", path, *command], home)
            if got.returncode or ('"decision":"allow"' in got.stdout) != (count > 0):
                raise Broken(f"codex execpolicy check: {got.stdout!r} {got.stderr[-300:]!r}")
            took[count].append(us)
    return {count: statistics.median(values) for count, values in took.items()}


@section("peers")
def peers(world, report):
    folder, why = installed()
    if not folder:
        report.left_out("a simple command; to Cedar, in process", why)
        report.left_out("rules read and a verdict; to codex execpolicy check", why)
        return
    commands = run([program(), "commands"]).stdout.splitlines()
    mine, theirs, process = ours(), cedar(world, folder, commands), codex(world, folder, commands)
    report.machine("codex", "execpolicy check, a process: " + ", ".join(
        f"{process[n] / 1000:.1f} ms under {n:,} rules" for n in (0, *COUNTS)))
    for count in COUNTS:
        report.row(f"a simple command, {count:,} rules; to Cedar, in process", mine[count][0], "us", theirs[count],
                   mine[count][0] / theirs[count], at_most=1)
    for count in COUNTS:
        report.row(f"rules read and a verdict, {count:,}; to codex execpolicy", mine[count][1] / 1000, "ms",
                   process[count] / 1000, mine[count][1] / process[count], at_most=1)
    for count in COUNTS[2:]:
        alone = process[count] - process[0]
        report.row(f"  {count:,}; to codex less its start without rules", mine[count][1] / 1000, "ms", alone / 1000,
                   mine[count][1] / alone, at_most=1)
