#!/usr/bin/env python3
"""Everything that needs a PostgreSQL: the contract suite, several nodes, the conversations, kill -9 rounds.

    run.py [--parts contract,nodes,talks,crash] [--rounds 12] [--every-talk] [WORDS...]     words: only tests whose name holds one

Of the conversations those run where the store matters (ABOUT_THE_STORE); with --every-talk all of them.

Environment: NOD (the program, default build/nod; the contract suites `store_*` and gate_start are looked for beside it).
The server is the test's own: see server.py. Without PostgreSQL all of it is skipped, and said to be.
"""
import argparse
import os
import re
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "talks")]

import cluster  # noqa: E402
import dumps   # noqa: E402
import durable  # noqa: E402
import front   # noqa: E402
import history  # noqa: E402
import messages  # noqa: E402
import nodes   # noqa: E402
import notices  # noqa: E402
import outage  # noqa: E402
import parts   # noqa: E402
import pooler  # noqa: E402
import report  # noqa: E402
import runs    # noqa: E402
import server  # noqa: E402
import standby  # noqa: E402
import stopped  # noqa: E402
import world   # noqa: E402

MODULES = (dumps, nodes, notices, durable, messages, stopped, history, parts, outage, standby, pooler, front, cluster, runs)

ABOUT_THE_STORE = ("calls:", "decisions:", "pending:", "stream:", "socket:", "restart", "kill", "verify", "archive", "history", "store",
                   "agent_state:", "exact:", "race:", "second_server:", "slow_reader:", "graceful:", "waiters:", "projects:", "search:", "marks:")

told = report.Report()


def say(result, name, words="", took=0.0):
    told.add(name, result, words, took)


def run_contract(pg, options):
    place = pg.create("contract")
    for program, groups in (("store_append", 2), ("store_follow", 2), ("store_reads", 2), ("store_archive", 2), ("gate_start", 1)):
        suite = program.split("_")[1]
        if options.words and not any(word.startswith(suite) for word in options.words):
            continue
        program = os.path.join(os.path.dirname(world.NOD), program)
        if not os.access(program, os.X_OK):
            say("skipped", "contract", f"there is no {program}: build with -DNOD_TESTS=ON")
            continue
        started = time.monotonic()
        run = subprocess.run([program], env={**os.environ, "NOD_TEST_POSTGRES": place}, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        good = run.returncode == 0 and run.stdout.count("[  PASSED  ]") == groups
        say("ok" if good else "FAILED", f"contract: {suite}, on both stores", "" if good else run.stdout[-4000:],
            time.monotonic() - started)


def run_nodes(pg, options):
    tests = [(name[5:].replace("_", " "), test) for module in MODULES for name, test in vars(module).items()
             if name.startswith("test_") and test.__module__ == module.__name__]
    for words, test in tests:
        if options.words and not any(w in words for w in options.words):
            continue
        place, started = world.World(), time.monotonic()
        try:
            test(pg, place)
            place.close()
            say("ok", f"nodes: {words}", took=time.monotonic() - started)
        except world.Skip as skip:
            place.close(quietly=True)
            say("skipped", f"nodes: {words}", str(skip))
        except Exception as error:  # noqa: BLE001: whatever a test raises is its failure
            logs = "".join(f"\n--- log of a node ---\n{s.log()[-1500:]}" for s in place.servers if s.log_path)
            place.close(quietly=True)
            text = str(error) if isinstance(error, world.Failure) else traceback.format_exc()
            say("FAILED", f"nodes: {words}", text + logs, time.monotonic() - started)


def run_program(name, command, environment, pattern=r"^(\d+) passed, (\d+) failed"):
    """Another runner, counted by its own closing line."""
    started = time.monotonic()
    run = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace", check=False)
    found = re.findall(pattern, run.stdout, re.M)
    good, bad = map(int, found[-1]) if found else (0, 1)
    bad = bad or int(run.returncode != 0)
    skipped = re.findall(r"^(\d+) skipped", run.stdout, re.M)
    for result, many in (("ok", good), ("FAILED", bad), ("skipped", int(skipped[-1]) if skipped else 0)):
        told.counts[result] += many
    print(f"{'' if bad else 'ok':8}{name}: {good} passed, {bad} failed  ({time.monotonic() - started:.1f} s)", flush=True)
    if bad:
        for test, words in report.failures(run.stdout) or [("the end of its output", run.stdout[-2000:])]:
            told.tell(f"{name}: {test}", "FAILED", words)


def run_talks(pg, options):
    words = options.words or (() if options.every_talk else ABOUT_THE_STORE)
    run_program("conversations", [sys.executable, os.path.join(os.path.dirname(HERE), "talks", "run.py"), *words],
                {"NOD_TALKS_POSTGRES": pg.url("template1")})


def run_crash(_pg, options):
    run_program("kill -9 of nodes and database", [sys.executable, os.path.join(HERE, "crash_nodes.py"), "--rounds", str(options.rounds)], {})


PARTS = {"contract": run_contract, "nodes": run_nodes, "talks": run_talks, "crash": run_crash}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--every-talk", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if not server.find_programs():
        print(f"skipped: PostgreSQL is not installed (dev/setup test)\n{len(parts)} skipped\n0 passed, 0 failed")
        return 0
    if not os.access(world.NOD, os.X_OK):
        sys.exit(f"there is no program at {world.NOD}; build it or set NOD")
    # A kill takes nothing from the system's memory; tests that are about the disk start a server of their own.
    pg = server.Postgres("fsync=off").start()
    try:
        for part in parts:
            PARTS[part](pg, options)
    finally:
        pg.remove()
    return told.close()


if __name__ == "__main__":
    sys.exit(main())
