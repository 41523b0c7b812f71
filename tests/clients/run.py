#!/usr/bin/env python3
"""The client libraries against a real server: every test_ function of the files in this folder. Ends with: N passed, N failed.

    run.py [--jobs N] [WORDS...]      only those whose name holds one of the words

Environment: NOD (the program, default build/nod), NOD_PATIENCE (seconds). A test that a registry cannot serve is
skipped, and says so; with CI set that is a failure.
"""
import argparse
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import stage  # noqa: E402,F401: finds the world
import report  # noqa: E402
import world   # noqa: E402

SUITES = ("python_gate", "frameworks", "typescript", "golang", "generators", "telemetry")


def tests():
    for name in SUITES:
        if not os.path.exists(os.path.join(HERE, name + ".py")):
            continue
        for key, value in vars(importlib.import_module(name)).items():
            if key.startswith("test_") and callable(value):
                yield f"{name}: {key[5:].replace('_', ' ')}", value


def run(name, test):
    started, place = time.monotonic(), world.World()
    try:
        test(place)
        place.close()
        return name, "ok", "", time.monotonic() - started
    except world.Skip as skip:
        place.close(quietly=True)
        return name, "FAILED" if os.environ.get("CI") else "skipped", str(skip), time.monotonic() - started
    except BaseException:  # noqa: BLE001: whatever a test raises is its failure
        logs = "".join(f"\n--- log of a server ---\n{s.log()[-1500:]}" for s in place.servers if s.log_path)
        place.close(quietly=True)
        return name, "FAILED", traceback.format_exc() + logs, time.monotonic() - started


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options.add_argument("words", nargs="*")
    given = options.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles nothing: a module is compiled where it is imported first, and kept
    chosen = [(n, t) for n, t in tests() if not given.words or any(w in n for w in given.words)]
    return report.run_all(chosen, run, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
