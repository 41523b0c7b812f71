#!/usr/bin/env python3
"""A streaming standby is promoted in the middle of the load: the primary is killed -9, the nodes find the other host of
their url, and nothing that was acknowledged is lost, because commits waited for the standby.

    standby.py [--times 1]
"""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "talks")]

import server                                                # noqa: E402
from load import Load                                        # noqa: E402
from world import Client, World, eventually, must            # noqa: E402


def pair():
    """A primary whose commits wait for a standby, and that standby."""
    primary = server.Postgres().start()
    standby = server.Postgres(copy_of=primary).start()
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "template1")
    primary.sql("SELECT pg_reload_conf()", "template1")
    eventually(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "template1") == "1",
               "the standby follows")
    return primary, standby


def failover(world):
    primary, standby = pair()
    try:
        primary.create("nod")
        url = f"postgres:///nod?host={primary.folder},{standby.folder}&user=nod"
        nodes = [world.server("--store", url, data=os.path.join(world.folder, f"node{n}")) for n in range(2)]
        admin = nodes[0].admin()
        everywhere = [Client(node, admin.token) for node in nodes]
        eventually(lambda: all(c.get("/api/sessions").status == 200 for c in everywhere), "the token is known")
        load = Load(nodes, admin)
        streams = [world.follow(c, "?after=0") for c in everywhere]
        eventually(lambda: load.acknowledged() > 60, "some load")
        primary.crash()
        before = load.acknowledged()
        must(standby.sql("SELECT pg_promote()") == "t", "promoted")
        eventually(lambda: all(c.get("/readyz").status == 200 for c in everywhere), "the nodes found it")
        eventually(lambda: load.acknowledged() > before + 60, "the load goes on")
        load.end()
        events = admin.events()
        load.check(events)
        for stream in streams:
            stream.wait(lambda s=stream: s.events[-1][0] == events[-1]["seq"], "the last event")
            must(not stream.ended and stream.ids() == list(range(1, len(events) + 1)), "a gap, a repeat or an end")
        world.nod("verify", "--store", url)
        return f"{len(load.calls)} calls and {len(load.decisions)} decisions acknowledged, {load.retries} times told to ask again"
    finally:
        primary.remove()
        standby.remove()


def test_a_standby_is_promoted_under_load(_pg, world):
    failover(world)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1)
    for _ in range(parser.parse_args().times):
        place = World()
        try:
            print(failover(place), flush=True)
        finally:
            place.close(quietly=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
