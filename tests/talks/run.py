#!/usr/bin/env python3
"""Runs the conversations: every talk of *.talk and every test_ function of *.py in this folder.

    run.py [--jobs N] [--list] [WORDS...]      only those whose name holds one of the words

Environment: NOD (the program, default build/nod), NOD_PATIENCE (seconds), NOD_KEEP=1 keeps the folders.
"""
import argparse
import glob
import importlib
import os
import sqlite3
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import report  # noqa: E402
import talk    # noqa: E402
import world   # noqa: E402


def python_tests():
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.basename(path)[:-3]
        if name in ("run", "talk", "world"):
            continue
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if key.startswith("test_") and callable(value):
                yield f"{name}: {key[5:].replace('_', ' ')}", value


def talk_tests():
    for path in sorted(glob.glob(os.path.join(HERE, "*.talk"))):
        for one in talk.read(path):
            yield f"{os.path.basename(path)[:-5]}: {one.title}", one.run


# About SQLite's own file: full, damaged, locked, of another version.
ABOUT_A_FILE = ("disk_full:", "first_start:", "second_server: a second server", "second_server: a damaged", "second_server: a newer",
                "second_server: garbage", "second_server: another", "file_lost:", "setup: a unit of systemd")


def run(name, test):
    started = time.monotonic()
    if world.POSTGRES and name.startswith(ABOUT_A_FILE):
        return name, "skipped", "about SQLite's file", 0.0
    place = world.World()
    try:
        test(place)
        place.close()
        return name, "ok", "", time.monotonic() - started
    except world.Skip as skip:
        place.close(quietly=True)
        return name, "skipped", str(skip), time.monotonic() - started
    except Exception as error:  # noqa: BLE001: whatever a test raises is its failure
        if world.POSTGRES and isinstance(error, sqlite3.OperationalError):
            place.close(quietly=True)
            return name, "skipped", f"looks into SQLite's file: {error}", time.monotonic() - started
        logs = "".join(f"\n--- log of a server ---\n{s.log()[-1500:]}" for s in place.servers if s.log_path)
        place.close(quietly=True)
        words = str(error) if isinstance(error, world.Failure) else traceback.format_exc()
        if isinstance(error, world.Failure):
            last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(HERE)
                    and not f.filename.endswith(("world.py", "run.py"))]
            words += f"\n(at {os.path.basename(last[-1].filename)}:{last[-1].lineno})" if last else ""
        return name, "FAILED", words + logs, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    tests = [t for t in [*talk_tests(), *python_tests()]
             if not options.words or any(word in t[0] for word in options.words)]
    if options.list:
        print("\n".join(name for name, _ in tests))
        return 0
    if not os.access(world.NOD, os.X_OK):
        sys.exit(f"there is no program at {world.NOD}; build it or set NOD")
    return report.run_all(tests, run, options.jobs, ("authority: every row", "bad_input: half sent"))


if __name__ == "__main__":
    sys.exit(main())
