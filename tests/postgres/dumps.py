"""Dumps that older versions have left in PostgreSQL open, verify and read the same (tests/golden)."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), part) for part in ("golden", "talks")]

import golden_files     # noqa: E402
from world import must  # noqa: E402


def test_dumps_of_older_versions_read_the_same(pg, world):
    must(golden_files.versions(), "there are no golden stores")
    for number, version in enumerate(golden_files.versions()):
        url = pg.create(f"golden{number}")
        golden_files.put_postgres(version, world.data, url)
        world.environment["NOD_STORE"] = url
        server = world.server(*golden_files.QUIET)
        golden_files.compare(server.admin(), version, "postgres")
        server.stop()
        world.nod("verify")
