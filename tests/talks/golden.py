"""Stores that older versions have made open, verify and read the same (tests/golden says how they were made)."""
import os
import sqlite3
import sys

from world import POSTGRES, Client, Skip, must

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden"))

import golden_files  # noqa: E402
import small         # noqa: E402

SCHEMA = "SELECT value FROM meta WHERE name = 'schema_version'"


def test_stores_of_older_versions_read_the_same(world):
    if POSTGRES:
        raise Skip("tests/postgres/dumps.py does it there")
    must(golden_files.versions(), "there are no golden stores")
    for version in golden_files.versions():
        data = os.path.join(world.folder, "data-" + version)
        os.mkdir(data)
        golden_files.put_sqlite(version, data)
        world.nod("verify", "--data", data)
        server = world.server(*golden_files.QUIET, data=data)
        golden_files.compare(server.admin(), version, "sqlite")
        golden_files.follow(server, version, "sqlite")
        server.stop()
        world.nod("verify", "--data", data)


def test_a_store_of_every_schema_is_brought_up_to_date(world):
    if POSTGRES:
        raise Skip("tests/postgres/dumps.py does it there")
    server = world.server()
    server.stop()
    today = sqlite3.connect(os.path.join(world.data, "nod.db")).execute(SCHEMA).fetchone()[0]
    small.every_step("sqlite", today)
    for number, (token, script) in sorted(small.read("sqlite").items()):
        data = os.path.join(world.folder, f"schema-{number}")
        os.mkdir(data, 0o700)
        store = sqlite3.connect(os.path.join(data, "nod.db"))
        store.executescript(script)
        must(store.execute(SCHEMA).fetchone()[0] == number, f"{number}: it is of another")
        server = world.server(*golden_files.QUIET, data=data)
        small.check(Client(server, token))
        server.stop()
        world.nod("verify", "--data", data)
        must(store.execute(SCHEMA).fetchone()[0] == today, f"{number}: not of today's schema")
        store.close()
