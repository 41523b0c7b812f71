#!/usr/bin/env python3
"""Asks tree-sitter-bash how it reads the commands that we say we understand: see second_opinion.mjs.

    second_opinion.py

Takes the packages of package-lock.json by npm first. Without npm, or without packages to be had, it is left out and
says so; where CI is set, that is a failure.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import differential


def packages():
    """Whether they are there, and as new as the list of them."""
    lock, done = (os.path.join(HERE, name) for name in ("package-lock.json", "node_modules/.package-lock.json"))
    if os.path.exists(done) and os.path.getmtime(done) >= os.path.getmtime(lock):
        return True
    if not shutil.which("npm"):
        return False
    command = ["npm", "ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error"]
    return subprocess.run(command, cwd=HERE, check=False).returncode == 0


def main():
    if not shutil.which("node") or not packages():
        print("left out: no npm, or no packages")
        print(f"0 passed, {1 if os.environ.get('CI') else 0} failed")
        return 1 if os.environ.get("CI") else 0
    with tempfile.TemporaryDirectory() as folder:
        judge = differential.compile_judge(folder)
        return subprocess.run(["node", os.path.join(HERE, "second_opinion.mjs"), judge, HERE], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
