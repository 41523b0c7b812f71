#!/usr/bin/env python3
"""Real clients against Nod: every test_ function of the files in this folder. Ends with: N passed, N failed.

    run.py [--jobs N] [WORDS...]      only those whose name holds one of the words

Environment: NOD (the program, default build/nod), NOD_PATIENCE (seconds), NOD_REAL_MUST=1: a skip is a failure.
"""
import argparse
import glob
import importlib
import os
import re
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import desk  # noqa: E402,F401: finds the world
import report  # noqa: E402
import world   # noqa: E402


LONG = ("first_hour",)  # only when they are named
SUITES = ("wrapper", "sdk", "boxed", "page", "hooks", "terminal", "working", "noise", "mcp", "others", "sockets", "proxied", "acp_agents")


def tests():
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.basename(path)[:-3]
        if name not in SUITES and not (name in LONG and name in sys.argv):
            continue
        for key, value in vars(importlib.import_module(name)).items():
            if key.startswith("test_") and callable(value):
                yield f"{name}: {key[5:].replace('_', ' ')}", value
    yield "docs: name tests that exist", test_the_docs_name_tests_that_exist
    yield "docs: every agent has a row, and every row its tests", test_every_agent_has_a_row


def run(name, test):
    started = time.monotonic()
    place = world.World()
    try:
        test(place)
        place.close()
        return name, "ok", "", time.monotonic() - started
    except world.Skip as skip:
        place.close(quietly=True)
        return name, "FAILED" if os.environ.get("NOD_REAL_MUST") else "skipped", str(skip), time.monotonic() - started
    except Exception as error:  # noqa: BLE001: whatever a test raises is its failure
        logs = "".join(f"\n--- log of a server ---\n{s.log()[-1500:]}" for s in place.servers if s.log_path)
        place.close(quietly=True)
        words = traceback.format_exc() if not isinstance(error, world.Failure) else \
            f"{error}\n{traceback.format_tb(error.__traceback__)[-2 if len(traceback.extract_tb(error.__traceback__)) > 1 else -1]}"
        return name, "FAILED", words + logs, time.monotonic() - started


def named_in_docs():
    """Every test that the docs name, over line ends too."""
    text = ""
    for name in ("CLAUDE_CODE.md", "AGENTS.md", "SECURITY.md"):
        with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", name), encoding="utf-8") as file:
            text += file.read()
    return {" ".join(name.split()) for name in re.findall(rf"`((?:{'|'.join(SUITES)}): [^`]+)`", text)}


def test_the_docs_name_tests_that_exist(_place):
    named, known = named_in_docs(), {name for name, _ in tests()}
    world.must(len(named) > 50 and named <= known, f"{len(named)} are named; there is no {sorted(named - known)}")


def test_every_agent_has_a_row(_place):
    """docs/AGENTS.md against the table of agents: nobody is left out, and each way has its row of tests, or "not run"."""
    root = os.path.dirname(os.path.dirname(HERE))
    with open(os.path.join(root, "src/agents/agent.h"), encoding="utf-8") as file:
        known = re.findall(r"X\((\w+)\)", file.read().split("#define AGENTS(X)")[1].split("AGENT_WORD")[0])
    with open(os.path.join(root, "docs/AGENTS.md"), encoding="utf-8") as file:
        lines = [line.strip("|").split("|") for line in file.read().split("\n") if line.startswith("| ") and not line.startswith("| agent |")]
    rows, tested = [row for row in lines if len(row) == 4], [row for row in lines if len(row) == 3]
    world.must([row[:2] for row in rows] == [row[:2] for row in tested], "the table of tests has other rows")
    missing = [name for name in known if name != "claude" and not any(f"nod hook install {name}`" in row[1] for row in rows)]
    world.must(len(known) >= 8 and not missing, f"{missing} of {known} have no row")
    there = {name for name, _ in tests()} | set(SUITES) | {"tests/clients"} | {"talks/" + os.path.basename(path)[:-3] for path in glob.glob(os.path.join(root, "tests/talks/*.py"))}
    for row in tested:
        named = set(re.findall(r"`([^`]+)`", row[-1]))
        world.must(named, f"no test is named: {row}")
        world.must(named <= there, f"there is no {sorted(named - there)}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--jobs", type=int, default=(os.cpu_count() or 2) + 1)
    options.add_argument("words", nargs="*")
    given = options.parse_args()
    chosen = [(n, t) for n, t in tests() if not given.words or any(w in n for w in given.words)]
    return report.run_all(chosen, run, given.jobs, ("longer than the time limit",))


if __name__ == "__main__":
    sys.exit(main())
