"""Nodes behind a pooler that lends connections by transaction, fewer than they ask for; LISTEN goes to the server."""
import os
import pwd
import shutil
import subprocess
import tempfile

from load import Load
from world import Client, Skip, eventually, must

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")


class Pooler:
    """PgBouncer in transaction mode in front of one server, on a private socket."""

    def __init__(self, pg, connections):
        self.folder = tempfile.mkdtemp(prefix="nod-pooler-")
        os.chmod(self.folder, 0o755)
        if pg.user:
            os.chown(self.folder, pwd.getpwnam(pg.user).pw_uid, pwd.getpwnam(pg.user).pw_gid)
        settings = os.path.join(self.folder, "pgbouncer.ini")
        with open(settings, "w", encoding="ascii") as file:
            file.write(f"[databases]\n* = host={pg.folder} user=nod\n[pgbouncer]\npool_mode = transaction\nauth_type = any\n"
                       f"listen_addr =\nunix_socket_dir = {self.folder}\nlisten_port = 6432\nmax_client_conn = 100\n"
                       f"default_pool_size = {connections}\nlogfile = {self.folder}/log\n")
        command = pg.command("postgres")[:-1] + [PROGRAM, settings]  # as the server's user: it does not run as root either
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        eventually(lambda: os.path.exists(os.path.join(self.folder, ".s.PGSQL.6432")), self.log)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            return file.read()

    def url(self, database):
        return f"postgres:///{database}?host={self.folder}&port=6432&user=nod"

    def remove(self):
        self.process.kill()  # SIGTERM waits for its clients, from pgbouncer 1.23 on
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def test_a_pooler_in_transaction_mode_stands_in_between(pg, world):
    if not PROGRAM:
        raise Skip("PgBouncer is not installed: dev/setup test")
    name = f"p{os.path.basename(world.folder)}"
    direct, pooler = pg.create(name), Pooler(pg, connections=2)
    try:
        nodes = [world.server("--store", pooler.url(name), data=os.path.join(world.folder, f"node{n}"),
                              environment={"NOD_STORE_LISTEN": direct}) for n in range(2)]
        admin = nodes[0].admin()
        everywhere = [Client(node, admin.token) for node in nodes]
        eventually(lambda: all(c.get("/api/sessions").status == 200 for c in everywhere), "the token is known")
        streams = [world.follow(c, "?after=0") for c in everywhere]
        load = Load(nodes, admin)
        eventually(lambda: load.acknowledged() > 200, "some load")
        load.end()
        events = admin.events()
        load.check(events)
        for stream in streams:
            stream.wait(lambda s=stream: s.events[-1][0] == events[-1]["seq"], "the last event")
            must(stream.ids() == list(range(1, len(events) + 1)), "a gap or a repeat")
        lent = int(pg.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nod' AND query NOT LIKE 'LISTEN%'"
                          f" AND datname = '{name}'", name))
        must(lent <= 4, f"{lent} connections: the pooler lends none")
        world.nod("verify", "--store", pooler.url(name), environment={"NOD_STORE_LISTEN": direct})
    finally:
        pooler.remove()
