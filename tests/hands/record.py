#!/usr/bin/env python3
"""Plays the small project of cli.py in a tmux window and prints what is on its screen: the recording in docs/AGENT.md."""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (HERE, os.path.join(HERE, "..", "talks"), os.path.join(HERE, "..", "model")):
    sys.path.insert(0, os.path.abspath(folder))

from cli import project_model  # noqa: E402
from stage import Stage  # noqa: E402
from world import NOD  # noqa: E402


def tmux(*arguments):
    return subprocess.run(["tmux", "-L", "nod-record", *arguments], capture_output=True, text=True, check=False).stdout


def screen():
    return tmux("capture-pane", "-p", "-S", "-", "-t", "nod")


def until(mark, count):
    for _ in range(400):
        if screen().count(mark) >= count:
            return
        time.sleep(0.05)
    sys.exit(f"no {mark!r} on the screen:\n{screen()}")


def main():
    stage = Stage()
    stage.serve(project_model(stage))
    environment = {**stage.environment, "PS1": "$ ", "PATH": os.path.dirname(NOD) + ":" + os.environ["PATH"]}
    subprocess.run(["tmux", "-L", "nod-record", "-f", "/dev/null", "new-session", "-d", "-s", "nod", "-x", "100", "-y", "100",
                    "bash --norc --noprofile"], env=environment, cwd=stage.project, check=True)
    try:
        tmux("send-keys", "-t", "nod", "nod run --color never write a program that greets, and test it", "Enter")
        for number, key in enumerate(("y", "y", "s", "y", "y"), 1):
            until("Allow?", number)
            tmux("send-keys", "-t", "nod", key, "Enter")
        until("tokens:", 1)
        print(screen().rstrip())
    finally:
        tmux("kill-server")
        stage.close(quietly=True)


if __name__ == "__main__":
    main()
