#!/usr/bin/env python3
"""The database is stopped under load and comes back: nobody sees an error that cannot be retried, nothing that was
acknowledged is missing, streams and sockets stay open and say so, /readyz turns and turns back.

    outage.py [--seconds 30] [--nodes 2]
"""
import argparse
import contextlib
import os
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "talks")]

from load import Load                                        # noqa: E402
from world import Client, Socket, World, eventually, must    # noqa: E402

AWAY, BACK = "the store is away", "the store is back"


class Listener(threading.Thread):
    """All that a WebSocket says."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.socket, self.heard = Socket(client), []
        self.socket.send({"type": "subscribe", "id": 1, "after": 0})
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while (message := self.socket.receive(600)) is not None:
                self.heard.append(message)

    def states(self):
        return [m["available"] for m in self.heard if m["type"] == "store"]

    def seqs(self):
        return [m["event"]["seq"] for m in self.heard if m["type"] == "event"]


def outage(pg, world, seconds, count=2):
    url = pg.create(f"o{os.path.basename(world.folder)}")
    nodes = [world.server("--store", url, data=os.path.join(world.folder, f"node{n}")) for n in range(count)]
    admin = nodes[0].admin()
    everywhere = [Client(node, admin.token) for node in nodes]
    eventually(lambda: all(c.get("/api/sessions").status == 200 for c in everywhere), "the token is known")
    load = Load(nodes, admin)
    streams, sockets = [world.follow(c, "?after=0") for c in everywhere], [Listener(c) for c in everywhere]
    eventually(lambda: load.acknowledged() > 60, "some load")
    pg.stop(signal.SIGINT)
    before = load.acknowledged()
    eventually(lambda: all(c.get("/readyz").status == 503 for c in everywhere), "/readyz turns on every node")
    must(all(c.get("/healthz").status == 200 for c in everywhere), "they live")
    time.sleep(seconds)
    load.look()
    late = [world.follow(c, "?after=0") for c in everywhere]  # opened while there is nothing to read
    pg.start()
    eventually(lambda: all(c.get("/readyz").status == 200 for c in everywhere), "/readyz turns back")
    eventually(lambda: load.acknowledged() > before + 60, "the load goes on")
    load.end()
    events = admin.events()
    load.check(events)
    for stream in [*streams, *late]:
        stream.wait(lambda s=stream: s.events and s.events[-1][0] == events[-1]["seq"], "the last event")
        must(not stream.ended and stream.ids() == list(range(1, len(events) + 1)), "a gap, a repeat or an end")
    for stream in streams:
        must(stream.said[:1] == [AWAY] and stream.said[-1] == BACK, f"the stream said {stream.said}")
    for one in sockets:
        eventually(lambda s=one: s.seqs()[-1:] == [events[-1]["seq"]], "the last event on the socket")
        must(one.seqs() == list(range(1, len(events) + 1)), "a gap or a repeat on the socket")
        must(one.states()[0] is False and one.states()[-1] is True, f"the socket said {one.states()}")
        one.socket.close()
    world.nod("verify", "--store", url)
    return f"{len(load.calls)} calls and {len(load.decisions)} decisions acknowledged, {load.retries} times told to ask again, " \
           f"the longest request took {load.longest:.1f} s"


def test_the_database_is_away_under_load(pg, world):
    """Longer than a request waits (10 s is what a commit and a read wait): some are told 503."""
    outage(pg, world, 12)


def main():
    import server
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--nodes", type=int, default=2)
    options = parser.parse_args()
    pg, place = server.Postgres().start(), World()
    try:
        print(outage(pg, place, options.seconds, options.nodes))
    finally:
        place.close()
        pg.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
