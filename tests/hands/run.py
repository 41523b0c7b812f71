#!/usr/bin/env python3
"""Conversations with Nod's own agent, against a scripted model: every test_ function of this folder.

    run.py [--jobs N] [--list] [WORDS...]

Environment: NOD (the program, default build/nod), NOD_PATIENCE (seconds), NOD_KEEP=1 keeps the folders.
"""
import argparse
import glob
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (HERE, os.path.join(HERE, "..", "talks"), os.path.join(HERE, "..", "model")):
    sys.path.insert(0, os.path.abspath(folder))

import report  # noqa: E402
import world   # noqa: E402


def tests():
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.basename(path)[:-3]
        if name in ("run", "stage", "record"):
            continue
        for key, value in vars(importlib.import_module(name)).items():
            if key.startswith("test_") and callable(value):
                yield f"{name}: {key[5:].replace('_', ' ')}", value


def log_of(server):
    try:
        return server.log()
    except (OSError, TypeError):
        return ""


def run(name, test):
    import stage
    started = time.monotonic()
    place = stage.Stage()
    try:
        test(place)
        place.close()
        return name, "ok", "", time.monotonic() - started
    except world.Skip as skip:
        place.close(quietly=True)
        return name, "skipped", str(skip), time.monotonic() - started
    except Exception:  # noqa: BLE001: whatever a test raises is its failure
        words = traceback.format_exc()
        words += "".join(f"\n--- log of a server ---\n{log_of(s)[-2500:]}" for s in place.servers)
        place.close(quietly=True)
        return name, "FAILED", words, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    chosen = [t for t in tests() if not options.words or any(word in t[0] for word in options.words)]
    if options.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    if not os.access(world.NOD, os.X_OK):
        sys.exit(f"there is no program at {world.NOD}; build it or set NOD")
    return report.run_all(chosen, run, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
