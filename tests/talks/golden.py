"""Stores that older versions have made open, verify and read the same (tests/golden says how they were made)."""
import os
import sys

from world import POSTGRES, Skip, must

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden"))

import golden_files  # noqa: E402


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
        server.stop()
        world.nod("verify", "--data", data)
