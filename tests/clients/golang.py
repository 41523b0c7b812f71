"""The Go package: its own tests against a real server, and the same four mails."""
import os
import shutil
import subprocess
import threading

from stage import CACHE, CLIENTS, Stage, play_four
from world import Skip, must

SOURCE = os.path.join(CLIENTS, "go")


def environment(more):
    """The package needs nothing from elsewhere; the compiler's cache is that of every clone."""
    if not shutil.which("go"):
        raise Skip("go is not installed")
    return {**more, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOCACHE": os.path.join(CACHE, "go"),
            "GOPATH": os.path.join(CACHE, "gopath")}


COMPILING = threading.Lock()


def go(*arguments, env):
    """One after the other: two that begin with an empty cache compile the standard library twice."""
    with COMPILING:
        run = subprocess.run(["go", *arguments], cwd=SOURCE, env=environment(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=300, check=False)
    must(run.returncode == 0, f"go {' '.join(arguments)}:\n{run.stdout[-4000:]}")
    return run.stdout


def example(world):
    path = os.path.join(world.folder, "plain")
    go("build", "-o", path, "./examples/plain", env=world.environment)
    return path


def test_the_suite_of_the_package(world):
    stage = Stage(world, tcp=True)
    stage.admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Forbidden", "reason": "never here", "force": True})
    go("vet", "./...", env=stage.environment())
    said = go("test", "-count=1", "-v", "./...", env=stage.environment())
    must(said.count("--- PASS") == 7 and "--- SKIP" not in said, said[-3000:])
    must(not stage.admin.pending(), "a call that was taken back still waits")


def test_the_plain_example_at_the_unix_socket(world):
    play_four(Stage(world), [example(world)]).check()


def test_the_plain_example_over_http(world):
    play_four(Stage(world, tcp=True), [example(world)]).check()
