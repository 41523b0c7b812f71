"""A PostgreSQL of the test's own: private folder, private socket, no port, gone afterwards.

PostgreSQL does not run as root; then it runs as the user "postgres" (or "nobody"), and the rest stays as it is.
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time


def find_programs():
    """The folder with initdb and postgres, or None."""
    found = shutil.which("initdb")
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda f: float(f.split("/")[4]), reverse=True)
    return next((f for f in [*folders, os.path.dirname(found or "")] if os.access(os.path.join(f, "initdb"), os.X_OK)),
                None)


class Postgres:
    def __init__(self, *settings, copy_of=None):
        """`copy_of`: a server that runs; this one will be its streaming standby."""
        self.programs = find_programs()
        self.folder = tempfile.mkdtemp(prefix="nod-pg-")
        self.data = os.path.join(self.folder, "data")
        self.process = None
        self.user = None
        self.settings = settings
        os.chmod(self.folder, 0o755)
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            self.user = "postgres" if "postgres" in names else "nobody"
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, pwd.getpwnam(self.user).pw_gid)
        if copy_of:
            self.run("pg_basebackup", "-D", self.data, "-h", copy_of.folder, "-U", "nod", "-R", "-c", "fast", "--no-sync")
        else:
            self.run("initdb", "-D", self.data, "-U", "nod", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def command(self, name, *arguments):
        as_user = ["setpriv", f"--reuid={self.user}", f"--regid={pwd.getpwnam(self.user).pw_gid}", "--clear-groups"]
        return [*(as_user if self.user else []), os.path.join(self.programs, name), *arguments]

    def run(self, name, *arguments):
        done = subprocess.run(self.command(name, *arguments), cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stdout}")
        return done.stdout

    def start(self):
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=300",
                    "shared_buffers=64MB", "max_wal_size=1GB", *self.settings]
        arguments = [word for setting in settings for word in ("-c", setting)]
        end = time.monotonic() + 180
        self.launch(arguments)
        while subprocess.run(self.command("pg_isready", "-q", "-h", self.folder), check=False).returncode:
            if time.monotonic() > end:
                raise SystemExit("PostgreSQL does not start:\n" + self.log())
            if self.process.poll() is not None:
                # A process that was killed may still hold the shared memory for a moment.
                if "is still in use" not in self.log()[-400:]:
                    raise SystemExit("PostgreSQL does not start:\n" + self.log())
                self.launch(arguments)
            time.sleep(0.02)
        return self

    def launch(self, arguments):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(self.command("postgres", "-D", self.data, *arguments), cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-3000:]

    def stop(self, number=signal.SIGINT):
        """SIGINT is a fast shutdown, SIGQUIT an immediate one, like a crash."""
        if self.process and self.process.poll() is None:
            os.kill(self.postmaster(), number)
            self.process.wait(180)

    def postmaster(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            return int(file.readline())

    def crash(self):
        """kill -9 of the server and of all its processes. It is stopped first, so that it forks none meanwhile: that one
        could wait for ever for a lock of one that was killed, and hold the shared memory."""
        pid = self.postmaster()
        os.kill(pid, signal.SIGSTOP)
        while not stopped(pid):
            time.sleep(0.001)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE, text=True,
                                  check=False).stdout.split()
        for one in [pid, *map(int, children)]:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(180)

    def sql(self, text, database="nod"):
        done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-h", self.folder, "-U", "nod", "-d", database, "-c", text],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def create(self, database):
        self.sql(f'CREATE DATABASE "{database}"', "template1")
        return self.url(database)

    def url(self, database="nod"):
        return f"postgres:///{database}?host={self.folder}&user=nod"

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def stopped(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "TZX"
    except FileNotFoundError:
        return True


def wal_syncs(pg):
    """How often the log was synced. From PostgreSQL 18 on the figure is in another view."""
    version = int(pg.sql("SHOW server_version_num", "template1"))
    return int(pg.sql("SELECT wal_sync FROM pg_stat_wal" if version < 180000 else
                      "SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal'", "template1"))
