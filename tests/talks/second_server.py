"""What `nod serve` refuses to start on, and how it says so."""
import fcntl
import os
import socket
import sqlite3
import subprocess
import threading

from world import Skip, eventually, must


def refused(world, *arguments, words, status=None):
    command = world.start("serve", *(arguments if "--listen" in arguments else ("--listen", "127.0.0.1:0", *arguments)))
    have = command.wait()
    said = command.stderr + command.stdout
    must(have != 0 and have > 0, f"it ended with {have}: {said}")
    must(status is None or have == status, f"it ended with {have}, not {status}: {said}")
    for word in words:
        must(word.lower() in said.lower(), f"no word {word!r} in {said!r}")
    return said


def kept(world):
    """A folder with a little history, and no server on it."""
    server = world.server()
    admin = server.admin()
    made = admin.session()
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c1")
    server.stop()
    return os.path.join(world.data, "nod.db")


def test_a_second_server_on_the_same_folder(world):
    server = world.server()
    admin = server.admin()
    said = refused(world, "--data", world.data, words=["another", world.data])
    must(str(server.process.pid) in said, f"the other's pid is not named: {said}")
    must(admin.get("/api/sessions").status == 200, "the first goes on")
    must(server.ready(), "and its socket is still its own")
    must(admin.session()["id"], "and it keeps")
    server.kill()
    server.start()


def test_a_second_server_by_another_path(world):
    world.server()
    link = os.path.join(world.folder, "link")
    os.symlink(world.data, link)
    refused(world, "--data", link, words=["another"])


def test_an_address_in_use(world):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(world, "--data", world.data, "--listen", f"127.0.0.1:{port}", words=[str(port)])


def test_bad_addresses(world):
    for address in ("nonsense", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", ":"):
        refused(world, "--data", world.data, "--listen", address, words=[address])


def test_garbage_in_place_of_the_database(world):
    path = kept(world)
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    with open(path, "wb") as file:
        file.write(os.urandom(100_000))
    refused(world, "--data", world.data, words=["nod.db"])
    with open(path, "rb") as file:
        must(len(file.read()) == 100_000, "the file was touched")


def test_a_damaged_database(world):
    path = kept(world)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"\xff" * min(size - 100, 8000))
    refused(world, "--data", world.data, words=["nod.db"])


def test_an_empty_database_with_history_beside_it(world):
    """An emptied file is no new installation: the admin token there says that there was one."""
    path = kept(world)
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    with open(path, "wb"):
        pass
    server = world.server(wait=False)
    try:
        server.wait_ready()
    except AssertionError:
        server.expected = {server.process.returncode}
        return
    must(server.admin().get("/api/sessions").status == 200, "the token in the folder does not fit the server")


def test_a_newer_version(world):
    path = kept(world)
    with sqlite3.connect(path) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        columns = [row[1] for row in database.execute("PRAGMA table_info(meta)")]
        if version:
            database.execute("PRAGMA user_version = 999")
        elif "version" in columns:
            database.execute("UPDATE meta SET version = 999")
        else:
            database.execute(f"UPDATE meta SET {columns[1]} = 999 WHERE {columns[0]} LIKE '%version%'")
    database.close()
    refused(world, "--data", world.data, words=["version", "999"])


def test_a_broken_chain_is_not_built_upon(world):
    """The last link is checked at the start; the whole chain by `nod verify`."""
    path = kept(world)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
    database.close()
    refused(world, "--data", world.data, words=["nod"])


def test_lists_that_reach_beyond_the_end(world):
    """A server does not start on them, and `nod verify`, which it names, finds it."""
    path = kept(world)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = value + 1 WHERE name = 'indexed'")
    database.close()
    refused(world, "--data", world.data, words=["nod verify"])
    must("beyond the last event" in world.nod("verify", "--data", world.data, exits=1).stdout, "verify finds nothing")


def test_a_folder_others_may_write_to(world):
    os.mkdir(world.data)
    os.chmod(world.data, 0o777)
    refused(world, "--data", world.data, words=[world.data])


def test_a_file_in_place_of_the_folder(world):
    with open(world.data, "w", encoding="ascii"):
        pass
    refused(world, "--data", world.data, words=[world.data])


def test_a_read_only_folder(world):
    kept(world)
    if os.geteuid() != 0:
        os.chmod(world.data, 0o500)
        try:
            refused(world, "--data", world.data, words=[world.data])
        finally:
            os.chmod(world.data, 0o700)
        return
    made = subprocess.run(f"mount --bind {world.data} {world.data} && mount -o remount,ro,bind {world.data}", shell=True,
                          capture_output=True, text=True)
    if made.returncode != 0:
        raise Skip(f"cannot mount it read-only: {made.stderr.strip()}")
    try:
        refused(world, "--data", world.data, words=["read-only"])
    finally:
        subprocess.run(["umount", "-l", world.data], check=False)


def test_a_missing_parent_is_made(world):
    data = os.path.join(world.folder, "a", "b", "c")
    server = world.server(data=data)
    must(server.admin().get("/api/sessions").status == 200, "a folder below folders that were not there")


def test_the_default_folder(world):
    for name, extra, where in (("XDG_DATA_HOME", {"XDG_DATA_HOME": os.path.join(world.folder, "xdg")}, "xdg/nod"),
                               ("HOME", {}, "home/.local/share/nod")):
        environment = {**world.environment, **extra}
        environment.pop("NOD_DATA")
        world.environment, old = environment, world.environment
        command = world.start("serve", "--listen", "127.0.0.1:0")
        path = os.path.join(world.folder, where, "admin.token")
        eventually(lambda: os.path.exists(path), f"{name}: {path}; {command.stderr}")  # noqa: B023
        # The token is there before the socket.
        eventually(lambda: world.nod("pending", exits=None).process.returncode == 0, lambda: f"{name}: {command.stderr}")  # noqa: B023
        command.kill(15)
        must(command.wait() == 0, f"{name}: {command.stderr}")
        world.environment = old


def test_a_stale_socket_is_replaced(world):
    server = world.server()
    server.kill()
    must(os.path.exists(server.socket), "kill -9 leaves it")
    server.start()
    must(server.admin().get("/api/sessions").status == 200, "answers on it")


def test_a_lock_that_outlives_its_holder_for_a_moment(world):
    """Killed while it started a program: the child still holds the lock, and lets go of it at once."""
    os.makedirs(world.data, mode=0o700)
    dead = subprocess.Popen(["true"])
    dead.wait()
    lock = os.open(os.path.join(world.data, "nod.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, b"%-10d\n" % dead.pid)
    threading.Timer(0.3, lambda: os.close(lock)).start()
    world.server().admin().session()
