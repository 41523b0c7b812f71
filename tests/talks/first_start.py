"""A server is killed at its first start, in each moment of it: the next one begins anew, or goes on, and says nothing."""
import hashlib
import json
import os
import time

from world import POSTGRES, Skip, eventually, must

MOMENTS = 30
TWINS = 12
APART = 0.0007  # seconds; a start takes about 10 ms


def probed(data):
    """The folder in which the server tries its box."""
    return f"/tmp/nod-probe-{os.geteuid()}-{hashlib.sha256(os.path.realpath(data).encode()).hexdigest()[:16]}"


def test_killed_while_it_tries_its_box(world):
    del world.environment["NOD_SANDBOX"]
    for n in range(MOMENTS):
        data = os.path.join(world.folder, f"first{n}")
        first = world.start("serve", "--data", data, "--listen", "127.0.0.1:0")
        end = time.monotonic() + 1  # it is there for some milliseconds: one that was missed is no matter
        while not os.path.isdir(probed(data)) and time.monotonic() < end:
            pass
        first.kill()
        first.wait()
        if os.path.isdir(probed(data)):
            break
    must(os.path.isdir(probed(data)), "one was killed while it tried its box")
    server = world.server(data=data)
    server.says("box")
    eventually(lambda: not os.path.isdir(probed(data)), "the next one removes the folder")


def test_a_box_killed_while_it_removed_its_names(world):
    """It has left some of them, and the list of all: the next box is made all the same."""
    del world.environment["NOD_SANDBOX"]
    data = os.path.join(world.folder, "first")
    os.mkdir(data, 0o700)
    folder = probed(data)
    os.mkdir(folder, 0o700)
    os.mkdir(os.path.join(folder, ".kept"))  # so that the folder stays, and with it the name of its lock
    server = world.server(data=data)
    server.says("box")
    server.kill()
    (lock,) = os.listdir(os.path.join(data, "boxes"))
    with open(os.path.join(data, "boxes", lock), "w", encoding="ascii") as file:
        file.writelines(f".gone{n} 1 {n + 1}\n" for n in range(16))
    server = world.server(data=data)
    server.says("box")
    server.kill()
    os.rmdir(os.path.join(folder, ".kept"))
    os.rmdir(folder)
    must("no box can be made" not in server.log(), server.log())


def test_a_box_that_is_not_noted(world):
    """Without the note the next start would take the installation for an old one, which runs commands without a box."""
    del world.environment["NOD_SANDBOX"]
    data = os.path.join(world.folder, "first")
    os.makedirs(os.path.join(data, "box"), 0o700)
    first = world.start("serve", "--data", data, "--listen", "127.0.0.1:0")
    eventually(lambda: first.process.poll() is not None, "it gives up")
    must(first.wait() == 1, f"with an error: {first.process.returncode}")
    must(os.path.join(data, "box") in first.stderr, first.stderr)
    must(not os.path.exists(os.path.join(data, "admin.token")), "and nobody has a token yet")
    os.rmdir(os.path.join(data, "box"))
    server = world.server(data=data)
    server.says("box")
    with open(os.path.join(data, "box"), encoding="ascii") as file:
        must(file.read() == "on\n", "the next start is that of a new installation")


def test_killed_at_each_moment(world):
    for choice in ("NOD_SANDBOX", "NOD_READ_ONLY_COMMANDS"):
        del world.environment[choice]  # so that it is kept in a file
    for n in range(MOMENTS):
        data = os.path.join(world.folder, f"first{n}")
        first = world.start("serve", "--data", data, "--listen", "127.0.0.1:0")
        time.sleep(n * APART)
        first.kill()
        first.wait()
        server = world.server(data=data)
        admin = server.admin()
        session = admin.session(toolPolicies={"Bash": "ask"})
        admin.call(session["threadId"], "Bash", {"command": "make"}, id="one")
        must([p["toolCallId"] for p in admin.pending()] == ["one"], f"killed after {n} steps")
        must("level=error" not in server.log(), f"killed after {n} steps:\n{server.log()}")
        for name in ("box", "read-only-commands"):
            with open(os.path.join(data, name), encoding="ascii") as file:
                must(file.read() == "on\n", f"killed after {n} steps: {name} is that of a new installation")
        server.says("box")  # and has left the folder in which it tried it
        server.kill()
        must(world.nod("verify", "--data", data).process.returncode == 0, f"killed after {n} steps: sound")


def public_key(world, data):
    """What the server in this folder proves its answers with."""
    token = world.nod("token", "create", "--name", f"agent{world.number()}", "--role", "agent", "--data", data, "--json")
    return json.loads(token.stdout)["serverKey"]


def test_two_at_once(world):
    """One of them has the folder, and its key is the one that lies there: the next start has the same."""
    if POSTGRES:
        raise Skip("both would run: the folder's lock is that of a file")
    for n in range(TWINS):
        data = os.path.join(world.folder, f"first{n}")
        twins = [world.start("serve", "--data", data, "--listen", "127.0.0.1:0") for _ in range(2)]
        eventually(lambda: any(twin.process.poll() is not None for twin in twins), "one of two gives up")
        alive = [twin for twin in twins if twin.process.poll() is None]
        must(len(alive) == 1, f"one of two runs: {[twin.stderr for twin in twins]}")
        eventually(lambda: "listening" in alive[0].stdout, "the other one listens")
        key = public_key(world, data)
        alive[0].kill()
        alive[0].wait()
        server = world.server(data=data)
        must(public_key(world, data) == key, f"pair {n}: the server's key is that of its file")
        server.kill()
