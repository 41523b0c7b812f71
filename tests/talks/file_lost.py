"""The database file is deleted or replaced while the server runs: it is noticed, said, and nothing is acknowledged."""
import os
import shutil
import sqlite3

from world import eventually, must, within


def prepare(world):
    server = world.server()
    admin = server.admin()
    session = admin.session(toolPolicies={"Bash": "ask"})
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="before")
    return server, admin, session, os.path.join(server.data, "nod.db")


def refuses(server, admin, session, word):
    eventually(lambda: admin.get("/readyz").status == 503, "/readyz turns", within(1))
    for n in range(20):
        reply = admin.ask(session["threadId"], "Bash", {"command": "make"}, id=f"lost{n}")
        must(reply.status == 503 and word in reply.json["error"]["message"], f"{reply}")
    must(admin.get("/api/approvals/pending").status == 503, "nothing is read from a file that nobody can open")
    server.says(word, "level=error")


def starts_not(world, server, word):
    ended = world.start("serve", "--data", server.data, "--listen", "127.0.0.1:0")
    must(ended.wait() != 0 and word in ended.stderr, f"it started, or says {ended.stderr!r}")


def test_the_file_is_deleted(world):
    server, admin, session, path = prepare(world)
    os.unlink(path)
    refuses(server, admin, session, "deleted")
    server.kill()
    starts_not(world, server, "is gone")
    for name in ("nod.db-wal", "nod.db-shm", "nod.lock"):
        os.unlink(os.path.join(server.data, name))
    server.start()
    must(server.admin().pending() == [], "an empty one, because it was asked for")


def test_the_file_is_replaced_by_a_backup(world):
    server, admin, session, path = prepare(world)
    backup(path, f"{world.folder}/backup.db")
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="after")
    os.rename(f"{world.folder}/backup.db", path)
    refuses(server, admin, session, "replaced")
    server.kill()
    starts_not(world, server, "another file")
    for name in ("nod.db-wal", "nod.db-shm"):
        os.unlink(os.path.join(server.data, name))
    server.start()
    must([p["toolCallId"] for p in admin.pending()] == ["before"], "the backup, as it was")
    must(world.nod("verify", "--data", server.data).process.returncode == 0, "sound")


def backup(path, to):
    with sqlite3.connect(path) as source, sqlite3.connect(to) as target:
        source.backup(target)


def test_killed_and_moved_as_a_whole(world):
    """A folder that was copied with its log says so, and goes on when it is told that they belong together."""
    server, admin, _, _ = prepare(world)
    server.kill()
    os.rename(server.data, server.data + ".old")
    shutil.copytree(server.data + ".old", server.data, ignore=shutil.ignore_patterns("*.sock"))
    os.chmod(server.data, 0o700)
    starts_not(world, server, "copied together")
    os.unlink(os.path.join(server.data, "nod.lock"))
    server.start()
    must([p["toolCallId"] for p in admin.pending()] == ["before"], "all of it")
