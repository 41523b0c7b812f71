"""nod-gate for TypeScript: built by its compiler, tested by node's runner, and the same four mails."""
import functools
import os
import shutil
import subprocess
import threading

from stage import CLIENTS, MADE, PATIENCE, Stage, kept, play_four
from world import must

SOURCE = os.path.join(CLIENTS, "typescript")
NPM = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


BUILDING = threading.Lock()


def built():
    with BUILDING:
        return build()


@functools.cache
def build():
    """A copy of the package with its modules, compiled; the tree stays clean."""
    files = ["package.json", "package-lock.json", "tsconfig.json", *(f"src/{n}" for n in sorted(os.listdir(os.path.join(SOURCE, "src"))))]

    def make(folder):
        for name in files:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE, name), os.path.join(folder, name))
        return [NPM]
    folder = kept("typescript", "".join(map(read, files)), make, MADE)
    compiled = subprocess.run(["npx", "tsc"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    must(compiled.returncode == 0, f"tsc: {compiled.stdout[-3000:]}")
    for name in ("examples", "test"):
        shutil.copytree(os.path.join(SOURCE, name), os.path.join(folder, name), dirs_exist_ok=True)
    return folder


def test_the_suite_of_the_package(world):
    stage, folder = Stage(world, tcp=True), built()
    stage.admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Forbidden", "reason": "never here", "force": True})
    run = subprocess.run(["node", "--test", "test/"], cwd=folder, env=stage.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=PATIENCE, check=False)
    must(run.returncode == 0 and "# pass 8" in run.stdout, run.stdout[-4000:])
    must(not stage.admin.pending(), "a call that was taken back still waits")


def test_the_plain_example_over_http(world):
    play_four(Stage(world, tcp=True), ["node", os.path.join(built(), "examples", "plain.mjs")]).check()


def test_the_plain_example_at_the_unix_socket(world):
    play_four(Stage(world), ["node", os.path.join(built(), "examples", "plain.mjs")]).check()


def test_vercel_ai_sdk(world):
    play_four(Stage(world), ["node", os.path.join(built(), "examples", "ai_sdk.mjs")]).check()
