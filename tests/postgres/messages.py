"""Messages to people from several nodes: each is sent by one of them, and by another when that one was killed."""
import os
import random
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "notify"))

import kills                                                # noqa: E402
from nodes import at                                        # noqa: E402
from world import eventually, must                          # noqa: E402

CALLS, KILLS = 500, 4
FREE = ("--asks-per-second", "0", "--waiting-per-token", "0", "--waiting-per-session", "0")


def place(pg, world, count, lease=kills.LEASE):
    receivers = {name: kills.Receiver() for name in kills.CHANNELS}
    file = os.path.join(world.folder, "notify.json")
    kills.configure(file, receivers, lease)
    url = pg.create(f"m{os.path.basename(world.folder)}")
    return receivers, [world.server("--store", url, "--notify", file, *FREE, data=os.path.join(world.folder, f"node{n}")) for n in range(count)]


def test_a_message_is_sent_by_one_node(pg, world):
    receivers, all_nodes = place(pg, world, 3, "60s")  # a node that is slow for longer would be taken for dead
    admin = all_nodes[0].admin()
    storm = kills.Storm(lambda: at(random.choice(all_nodes), admin), 60, seed=3)
    storm.run()
    repeats = kills.check(storm, receivers, lambda kind: admin.events(types=kind), 0)
    must(repeats == 0, repeats)
    owners = {e["data"]["owner"] for e in admin.events(types="DELIVERY_CLAIMED")}
    must(len(owners) > 1, "one node did all the work")


def test_messages_survive_kills_of_nodes(pg, world):
    receivers, all_nodes = place(pg, world, 3)
    admin = all_nodes[0].admin()
    storm = kills.Storm(lambda: at(random.choice(all_nodes), admin), CALLS, seed=5)
    client = threading.Thread(target=storm.run)
    client.start()
    for n in range(KILLS):
        while client.is_alive() and sum(len(r.all()) for r in receivers.values()) < (n + 1) * CALLS // 4:
            client.join(0.02)
        node = all_nodes[n % 3]
        node.kill()
        if n < KILLS - 1:  # the last one stays away: others send what it had claimed
            node.start()
    client.join()
    living = at(all_nodes[KILLS % 3], admin)
    kills.check(storm, receivers, lambda kind: living.events(types=kind), KILLS)
    eventually(lambda: not [d for d in living.ok("GET", "/api/deliveries")["deliveries"] if d["state"] in ("due", "sending")], "nothing is due")
