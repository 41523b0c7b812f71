"""kill -9 of the server while messages are sent: none is lost, none begins after its answer (tests/notify/kills.py)."""
import os
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "notify"))

import kills   # noqa: E402

CALLS, KILLS = 500, 4


def test_messages_survive_kills_of_the_server(world):
    receivers = {name: kills.Receiver() for name in kills.CHANNELS}
    file = os.path.join(world.folder, "notify.json")
    kills.configure(file, receivers)
    server = world.server("--notify", file, "--asks-per-second", "0", "--waiting-per-token", "0", "--waiting-per-session", "0")
    admin = server.admin()
    storm = kills.Storm(lambda: admin, CALLS, seed=7)
    client = threading.Thread(target=storm.run)
    client.start()
    for n in range(KILLS):
        while client.is_alive() and sum(len(r.all()) for r in receivers.values()) < (n + 1) * CALLS // 4:
            client.join(0.02)
        server.kill()
        server.start()
    client.join()
    kills.check(storm, receivers, lambda kind: admin.events(types=kind), KILLS)
