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


def place(pg, world, count, lease=kills.LEASE, steps=None):
    receivers = {name: kills.Receiver() for name in kills.CHANNELS}
    file = os.path.join(world.folder, "notify.json")
    kills.configure(file, receivers, lease, steps)
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


def test_every_node_knows_who_looks(pg, world):
    """Alice looks at a page of one node: the other one tells her later, too, and Bob as planned."""
    _, (here, there) = place(pg, world, 2, steps={person: [{"after": "45s", "to": ["one"]}] for person in ("alice", "bob")})
    admin = here.admin()
    alice = admin.token_for("approver", "alice, phone")
    made = admin.ok("POST", "/api/sessions", {"cwd": world.folder})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": "calm", "name": "Bash", "input": {"command": "ls /tmp; make x"}})
    due = lambda: {one["person"]: one["dueAt"] for one in at(there, admin).ok("GET", "/api/deliveries")["deliveries"]}
    eventually(lambda: len(due()) == 2, lambda: f"the other node plans both: {due()}")
    must(due()["alice"] == due()["bob"], f"{due()}")
    for _ in range(3):  # touching on and on is one event
        alice.ok("POST", "/api/approvals/seen", {"calls": [{"sessionId": made["id"], "toolCallId": "calm"}]})
    eventually(lambda: due()["alice"] > due()["bob"], lambda: f"the other node knows: {due()}")
    held = [event["data"] for event in admin.events(types="DELIVERY_HELD")]
    must(held == [{"toolCallId": "calm", "person": "alice"}], f"{held}")


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
