#!/usr/bin/env python3
"""NOD=… record.py VERSION: writes what that version's program shows of its golden stores (sqlite.json, postgres.json)."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(os.path.dirname(HERE), part) for part in ("postgres", "talks"))]

import golden_files as look      # noqa: E402
from server import Postgres      # noqa: E402
from world import World          # noqa: E402


def record(version, store, world):
    with open(os.path.join(HERE, version, store + ".json"), "w", encoding="utf-8") as file:
        json.dump(look.look(world.server(*look.QUIET).admin()), file, indent=0, ensure_ascii=False)
    world.close()


def main():
    version = sys.argv[1]
    world = World()
    os.mkdir(world.data)
    look.put_sqlite(version, world.data)
    record(version, "sqlite", world)
    database, world = Postgres().start(), World()
    try:
        world.environment["NOD_STORE"] = database.create("nod")
        look.put_postgres(version, world.data, database.url())
        record(version, "postgres", world)
    finally:
        database.remove()


if __name__ == "__main__":
    main()
