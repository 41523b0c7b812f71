"""Each example of the Python library, with the real framework and a scripted model: the same four mails."""
import os
import sys

from stage import CLIENTS, PYTHON, Stage, play_four

EXAMPLES = os.path.join(CLIENTS, "python", "examples")


def play(world, name, python=sys.executable, **more):
    stage = Stage(world)
    world.environment.update({"PYTHONPATH": PYTHON, "PYTHONUNBUFFERED": "1"})
    return play_four(stage, [python, os.path.join(EXAMPLES, name + ".py")], **more)


def test_the_plain_example(world):
    play(world, "plain").check()
