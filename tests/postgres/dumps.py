"""Dumps that older versions have left in PostgreSQL open, verify and read the same (tests/golden)."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), part) for part in ("golden", "talks")]

import golden_files             # noqa: E402
import small                    # noqa: E402
from nodes import sql           # noqa: E402
from world import Client, must  # noqa: E402

SCHEMA = "SELECT value FROM meta WHERE name = 'schema_version'"


def test_dumps_of_older_versions_read_the_same(pg, world):
    must(golden_files.versions(), "there are no golden stores")
    for number, version in enumerate(golden_files.versions()):
        url = pg.create(f"golden{number}")
        golden_files.put_postgres(version, world.data, url)
        world.environment["NOD_STORE"] = url
        server = world.server(*golden_files.QUIET)
        golden_files.compare(server.admin(), version, "postgres")
        golden_files.follow(server, version, "postgres")
        server.stop()
        world.nod("verify")


def test_a_store_of_every_schema_is_brought_up_to_date(pg, world):
    world.environment["NOD_STORE"] = url = pg.create("schema-today")
    world.server().stop()
    today = int(sql(url, SCHEMA)[0])
    small.every_step("postgres", today)
    for number, (token, script) in sorted(small.read("postgres").items()):
        world.environment["NOD_STORE"] = url = pg.create(f"schema-{number}")
        must(sql(url, script, SCHEMA)[-1] == str(number), f"{number}: it is of another")
        server = world.server(*golden_files.QUIET, data=os.path.join(world.folder, f"schema-{number}"))
        small.check(Client(server, token))
        server.stop()
        world.nod("verify")
        must(sql(url, SCHEMA) == [str(today)], f"{number}: not of today's schema")
