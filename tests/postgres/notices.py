"""Small groups travel in the notification that says they are durable. Nobody but a node's own role is believed."""
import os
import re
import signal
import subprocess
import threading
import time

from nodes import ASK, at, nodes, sql
from world import PATIENCE, eventually, must

TURNS = 30
ROUNDS = 5


def two_nodes(pg, world, url=None):
    (a, b), url = nodes(pg, world, 2, url)
    admin = a.admin()
    person = at(b, admin)
    eventually(lambda: person.get("/api/sessions").status == 200, "the token is known")
    return a, b, admin, person, url


def looks_for(groups, path):
    """How often the nodes read what others wrote while groups() ran, and the seconds that it took."""
    begun, began = os.path.getsize(path), time.monotonic()
    groups()
    took = time.monotonic() - began
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(begun)
        return file.read().count("execute FOLLOW"), took


def test_a_small_group_is_not_read_by_the_other_node(pg, world):
    """Each node looks twice a second when nothing comes, and once a second when something does; nothing else is read. The
    first groups are read until a node has seen whose connections the others are: so there are several rounds."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET log_statement = \'all\'', name)
    _, _, admin, person, _ = two_nodes(pg, world, url)
    session = admin.session(**ASK)
    stream = world.follow(person, "?after=0")
    asked = []

    def ask_and_answer():
        for _ in range(TURNS):
            call = f"c{len(asked)}"
            asked.append(call)
            admin.call(session["threadId"], "Bash", {"command": "make"}, id=call)
            stream.wait(lambda: stream.types().count("TOOL_APPROVAL_REQUEST") == len(asked), "asked")
            person.decided(session["id"], call, "allow_once")
            must(admin.status(call, wait=20, session=session["id"])["status"] == "allowed", "answered")

    rounds = []
    while not rounds or rounds[-1][0] >= TURNS / 2 + 6 * rounds[-1][1]:
        must(len(rounds) < ROUNDS, f"{rounds} (looks, seconds) for {2 * TURNS} groups in a round")
        rounds.append(looks_for(ask_and_answer, os.path.join(pg.folder, "log")))
    must(stream.ids() == list(range(1, len(stream.ids()) + 1)), "a gap or a repeat")
    world.nod("verify", "--store", url)


def test_large_events_are_read_whole_among_small_ones(pg, world):
    """A look at few events gives none that is large, and is then made again as one at a page: both are taken."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET log_statement = \'all\'', name)
    _, _, admin, person, _ = two_nodes(pg, world, url)
    session = admin.session(**ASK)
    stream = world.follow(person, "?after=0")
    asked = {}

    def small_looks_at_large():
        with open(os.path.join(pg.folder, "log"), encoding="utf-8", errors="replace") as file:
            looks = re.findall(r"execute FOLLOW_FEW:.*\n.*DETAIL: +parameters: \$1 = '(\d+)', \$2 = '\d+', \$3 = '(\d+)'", file.read())
        large = [seq for seq, kind, data in stream.events if kind == "TOOL_CALL" and len(data["data"]["input"]["command"]) > 8_000]
        return sum(any(int(after) < seq <= int(end) for seq in large) for after, end in looks)

    while small_looks_at_large() < 2:
        must(len(asked) < 40 * 20, f"{small_looks_at_large()} looks at few events met a large one, after {len(asked)} calls")
        for size in [9_000] * 37 + [300_000, 900_000, 10]:
            call = f"c{len(asked)}"
            asked[call] = "x" * size
            admin.call(session["threadId"], "Bash", {"command": asked[call]}, id=call)
            stream.wait(lambda: stream.types().count("TOOL_APPROVAL_REQUEST") == len(asked), "asked")
    must(stream.ids() == list(range(1, len(stream.ids()) + 1)), "a gap or a repeat")
    seen = {data["data"]["id"]: data["data"]["input"]["command"] for _, kind, data in stream.events if kind == "TOOL_CALL"}
    must(seen == asked, "B shows what A was given")
    world.nod("verify", "--store", url)


FEW, PAGE_BYTES = 256, 1 << 20


def test_a_look_at_few_events_fits_a_page(pg, world):
    """A node that has slept while others wrote reads many events with the sums of their bytes. It reads few without them, and
    as many as that can be give no more data than a page has."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET log_statement = \'all\'', name)
    _, b, admin, person, _ = two_nodes(pg, world, url)
    session = admin.session(**ASK)
    stream = world.follow(person, "?after=0")
    asked = 0

    def looks(statement, *parameters):
        """The named parameters of each."""
        with open(os.path.join(pg.folder, "log"), encoding="utf-8", errors="replace") as file:
            lines = re.findall(rf"execute {statement}:.*\n.*DETAIL: +parameters: (.*)", file.read())
        return [[int(re.search(rf"\${n} = '(\d+)'", line).group(1)) for n in parameters] for line in lines]

    def asks(count):
        nonlocal asked
        for _ in range(count):
            admin.call(session["threadId"], "Bash", {"command": "x" * 9_000}, id=f"c{asked}")
            asked += 1

    many = lambda: [1 for after, end in looks("FOLLOW", 1, 6) if after + FEW < end < 1 << 62]
    while not looks("FOLLOW_FEW", 1, 3, 4) or not many():
        must(asked < 3_000, f"{many()} looks at many events, {looks('FOLLOW_FEW', 1, 3, 4)} at few, after {asked} calls")
        b.process.send_signal(signal.SIGSTOP)
        asks(FEW)
        b.process.send_signal(signal.SIGCONT)
        for _ in range(20):
            asks(1)
            stream.wait(lambda: stream.types().count("TOOL_APPROVAL_REQUEST") == asked, "asked")
    for after, end, share in looks("FOLLOW_FEW", 1, 3, 4):
        must(end - after <= FEW, f"a look at {end - after} events without their bytes")
        must(0 < share * FEW <= PAGE_BYTES, f"{share} bytes for each of {FEW} events")
    must(stream.ids() == list(range(1, len(stream.ids()) + 1)), "a gap or a repeat")


def test_nodes_that_may_not_see_the_servers_processes_read(pg, world):
    """As on a server that was closed down further: a role of its own, and pg_stat_activity for nobody else."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name).replace("user=nod", "user=plain")
    pg.sql("CREATE ROLE plain LOGIN; GRANT ALL ON SCHEMA public TO plain; REVOKE SELECT ON pg_stat_activity FROM PUBLIC", name)
    _, _, admin, person, _ = two_nodes(pg, world, url)
    session = admin.session(**ASK)
    for n in range(5):
        admin.call(session["threadId"], "Bash", {"command": "make"}, id=f"c{n}")
        eventually(person.pending, "it is known at the other node")
        person.decided(session["id"], f"c{n}", "allow_once")
        must(admin.status(f"c{n}", wait=20, session=session["id"])["status"] == "allowed", "answered")


def text(value):
    return f"{len(value.encode())}:{value}"


def forged_answer(url, call):
    """A notification with an event that nobody has kept: the call is allowed."""
    kind, data, actor = sql(url, "SELECT kind, data, actor FROM events WHERE call_id = 'real' ORDER BY seq DESC LIMIT 1")[0].split("|")
    session, thread, chain = sql(url, f"SELECT session_id, thread_id, chain FROM events WHERE call_id = '{call}' LIMIT 1")[0].split("|")
    no = int(sql(url, f"SELECT no FROM chains WHERE session_id = '{session}'")[0]) + 1
    last, link = sql(url, "SELECT seq, encode(hash, 'hex') FROM events ORDER BY seq DESC LIMIT 1")[0].split("|")
    event = f"{int(last) + 1}:{no}:{kind}:{int(time.time() * 1000)}:{chain}:" + "".join(map(text, ("ab" * 32, session, thread, actor, call, data)))
    return f"w_forged {int(last) + 1} {last} {last} {link} {event}"


def notify(pg, url, role, payload):
    """From a connection that has been there for a while, so that the nodes have seen whose it is. What a node has seen holds for
    a second, and a node that is short of the processor looks less often: one that does not believe a notification looks at once,
    so that it knows at the next."""
    channel = sql(url, "SELECT 'nod_' || oid || '_' || to_hex(value) FROM pg_namespace, meta WHERE nspname = current_schema() AND name = 'channel'")[0]
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", f"payload={payload}", "-v", f"channel={channel}",
                           url.replace("postgres:", "postgresql:", 1).replace("user=nod", f"user={role}")],
                          input="SELECT pg_sleep(1.5);\n" + "SELECT pg_notify(:'channel', :'payload');\nSELECT pg_sleep(0.3);\n" * 10,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    must(done.returncode == 0, done.stdout)
    must(pg.process.poll() is None, "the server is there")


FULL_QUEUE = (
    "CREATE SCHEMA fault", "CREATE TABLE fault.queue(is_full boolean)", "INSERT INTO fault.queue VALUES(false)",
    "CREATE FUNCTION fault.pg_notification_queue_usage() RETURNS double precision LANGUAGE sql VOLATILE AS"
    " 'SELECT CASE WHEN is_full THEN 1 ELSE 0 END::double precision FROM fault.queue'",
    """CREATE FUNCTION fault.pg_notify(text, text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN
       IF (SELECT is_full FROM fault.queue) THEN
         RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = 'program_limit_exceeded';
       END IF;
       PERFORM pg_catalog.pg_notify($1, $2); END $$""")


def test_what_is_said_is_kept_though_the_queue_of_notifications_is_full(pg, world):
    """Anybody who listens and has stopped lets the queue grow. It takes 8 GB to fill it: two functions stand in for the server's."""
    name = f"n{os.path.basename(world.folder)}"
    url = pg.create(name)
    pg.sql(f'ALTER DATABASE "{name}" SET search_path = public, fault, pg_catalog', name)
    sql(url, *FULL_QUEUE)
    _, _, admin, person, _ = two_nodes(pg, world, url)
    session = admin.session(**ASK)
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="c1")
    eventually(person.pending, "asked")
    sql(url, "UPDATE fault.queue SET is_full = true")
    admin.decided(session["id"], "c1", "allow_once")
    eventually(lambda: not person.pending(), "the other node reads the answer")
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="c2")
    eventually(person.pending, "the other node reads the call")
    person.decided(session["id"], "c2", "deny")
    must(admin.status("c2", wait=20, session=session["id"])["status"] == "denied", "the other node's answer is read")
    sql(url, "UPDATE fault.queue SET is_full = false")
    admin.call(session["threadId"], "Bash", {"command": "make"}, id="c3")
    eventually(person.pending, "asked")
    world.nod("verify", "--store", url)


def test_a_forged_notification_is_not_believed(pg, world):
    """Any role can notify. The same words of the nodes' own role, which could write to the tables as well, are believed,
    until the next look: no such event is in the store, and the nodes end."""
    a, b, admin, person, url = two_nodes(pg, world)
    session = admin.session(**ASK)
    for call in ("real", "c1"):
        admin.call(session["threadId"], "Bash", {"command": "make"}, id=call)
    admin.decided(session["id"], "real", "allow_once")
    eventually(lambda: len(person.pending()) == 1, "both nodes have followed")
    pg.sql("CREATE ROLE stranger LOGIN", "template1")
    try:
        notify(pg, url, "stranger", forged_answer(url, "c1"))
        admin.call(session["threadId"], "Bash", {"command": "make"}, id="c2")  # its notification comes after the stranger's
        for client in (admin, person):
            eventually(lambda one=client: "c2" in {call["toolCallId"] for call in one.pending()}, "the next call is told")
            must("c1" in {call["toolCallId"] for call in client.pending()}, "a stranger's words are believed")
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(admin.status("c1", wait=60, session=session["id"])["status"]))
        waiting.start()
        for one in (a, b):
            one.expected = {1}
        notify(pg, url, "nod", forged_answer(url, "c1"))
        waiting.join(PATIENCE)
        must(answers == ["allowed"], f"the words are those that nodes understand: {answers}")
        for one in (a, b):
            must(one.process.wait(PATIENCE) == 1 and "history" in one.log(), f"it goes on with what is not kept:\n{one.log()[-2000:]}")
    finally:
        pg.sql("DROP ROLE stranger", "template1")


def test_a_role_without_rights_does_not_hear_what_is_kept(pg, world):
    """LISTEN needs no right but to connect. The name of the channel stands in a table."""
    _, _, admin, person, url = two_nodes(pg, world)
    session = admin.session(**ASK)
    pg.sql("CREATE ROLE stranger LOGIN", "template1")
    try:
        stranger = url.replace("postgres:", "postgresql:", 1).replace("user=nod", "user=stranger")
        names = sql(url, "SELECT 'nod_' || oid FROM pg_namespace")
        heard = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", stranger], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        heard.stdin.write("".join(f"LISTEN {name};\n" for name in names) + "SELECT 'ready';\n")
        heard.stdin.flush()
        must(heard.stdout.readline() == "ready\n", "it may connect")
        admin.call(session["threadId"], "Bash", {"command": "make it-is-private"}, id="c1")
        eventually(person.pending, "the other node knows of it")
        seen = heard.communicate("SELECT * FROM meta;\nSELECT query FROM pg_stat_activity WHERE query LIKE '%LISTEN%';\n")[0]
        must("it-is-private" not in seen and "nod_" not in seen and "permission denied" in seen, f"a role without rights hears: {seen}")
    finally:
        pg.sql("DROP ROLE stranger", "template1")
