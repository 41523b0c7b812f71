"""The server under a user of its own, with real users: `nod setup system` as root, then as a developer and as a person."""
import fcntl
import hashlib
import json
import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile

from signed import FileKey
from world import NOD, PATIENCE, Skip, eventually, must


class Machine:
    """Users of their own for one test; paths below one folder."""

    def __init__(self, world):
        if os.geteuid() != 0 or not shutil.which("useradd") or not shutil.which("setpriv"):
            raise Skip("needs root, useradd and setpriv")
        self.world, self.root = world, os.path.join(world.folder, "machine")
        name = "n" + "".join(c for c in os.path.basename(world.folder).lower() if c.isalnum())[-8:]
        self.server, self.group, self.dev, self.ann = name, name + "g", name + "d", name + "a"
        os.chmod(world.folder, 0o755)
        os.makedirs(self.root)
        self.program = os.path.join(self.root, "nod")
        shutil.copy(NOD, self.program)
        os.chmod(self.program, 0o755)
        for user in (self.dev, self.ann):
            self.change("useradd", "--no-create-home", "--home-dir", os.path.join(self.root, user), user)
            os.mkdir(os.path.join(self.root, user), 0o700)
            shutil.chown(os.path.join(self.root, user), user)

    def change(self, *command):
        """Programs that change users wait for no lock."""
        eventually(lambda: subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0, " ".join(command))

    def close(self):
        if os.path.exists(self.file("etc/nod/setup-system")):
            self.setup("--remove", "--yes")
        for user in (self.dev, self.ann, self.server):
            if user in {entry.pw_name for entry in pwd.getpwall()}:
                self.change("userdel", user)

    def setup(self, *more):
        environment = {"PATH": os.environ["PATH"], "HOME": "/root", "NOD_LISTEN": "127.0.0.1:0"}
        return subprocess.run([self.program, "setup", "system", "--root", self.root, "--user", self.server, "--group", self.group,
                               "--developer", self.dev, "--person", self.ann, "--background", *more], env=environment,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)

    def run(self, user, *command, given=None):
        """As that user, with its groups as they are now, and nothing of ours in the environment."""
        entry = pwd.getpwnam(user)
        return subprocess.run(["setpriv", f"--reuid={user}", f"--regid={entry.pw_gid}", "--init-groups", "--no-new-privs", "env", "-i",
                               f"HOME={entry.pw_dir}", "PATH=/usr/bin:/bin", *command], cwd="/", input=given,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)

    def connect(self, user, where, request):
        """What a process of that user is answered; empty: it cannot connect."""
        entry = pwd.getpwnam(user)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.initgroups(user, entry.pw_gid)
                os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
                os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
                with socket.socket(socket.AF_UNIX) as opened:
                    opened.settimeout(PATIENCE)
                    opened.connect(where)
                    opened.sendall(request.encode())
                    os.write(writer, opened.recv(65536))
            except OSError:
                pass
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as answer:
            return answer.read().decode()

    def file(self, *parts):
        return os.path.join(self.root, *parts)

    def process(self):
        with open(self.file("etc/nod/setup-system"), encoding="ascii") as record:
            return int([line.split()[1] for line in record if line.startswith("process ")][0])


def on_a_machine(test):
    """One at a time on the whole machine: useradd and userdel do not wait for the lock of /etc/passwd."""
    def run(world):
        with open(os.path.join(tempfile.gettempdir(), "nod-tests-users.lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            machine = Machine(world)
            try:
                test(machine)
            except BaseException:
                machine.close()
                raise
            machine.close()
    run.__name__ = test.__name__
    return run


def hook(machine, command):
    given = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/", "tool_name": "Bash",
             "tool_use_id": f"toolu_{len(command)}", "tool_input": {"command": command}}
    return [machine.program, "hook", "--identity", machine.file(machine.dev, ".config/nod/agent.json"), "claude"], json.dumps(given)


@on_a_machine
def test_a_developer_asks_and_a_person_decides(machine):
    planned = machine.setup("--dry-run")
    must(planned.returncode == 0 and f"make the user {machine.server}" in planned.stdout, f"{planned}")
    must(not os.path.exists(machine.file("etc")), "a dry run changes nothing")
    made = machine.setup("--yes")
    must(made.returncode == 0, f"{made}")
    pid = machine.process()
    must(os.stat(f"/proc/{pid}").st_uid in (0, pwd.getpwnam(machine.server).pw_uid), "whose process it is")
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        must(f"Uid:\t{pwd.getpwnam(machine.server).pw_uid}\t" in status.read(), "the server runs as its own user")
    again = machine.setup("--yes")
    must(again.returncode == 0 and "make" not in again.stdout and "give" not in again.stdout, f"again it changes nothing: {again}")

    command, given = hook(machine, "rm -rf build")
    entry = pwd.getpwnam(machine.dev)
    # The hook has a parent of its own, as under an agent: whoever started it counts as one.
    asking = subprocess.Popen(["timeout", "--foreground", str(PATIENCE), "setpriv", f"--reuid={machine.dev}", f"--regid={entry.pw_gid}", "--init-groups", "env", "-i",
                               f"HOME={entry.pw_dir}", "PATH=/usr/bin:/bin", *command], cwd="/", stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    asking.stdin.write(given)
    asking.stdin.close()
    asking.stdin = None
    try:
        pending = eventually(lambda: json.loads(machine.run(machine.ann, machine.program, "pending", "--json").stdout or "{}")
                             .get("pendingApprovals"), "the person sees what the developer's agent asks")
        call, session = pending[0]["toolCallId"], pending[0]["sessionId"]
        agents, people = machine.file("run/nod/agents.sock"), machine.file("run/nod/people.sock")
        must(stat.S_IMODE(os.stat(agents).st_mode) == 0o666 and stat.S_IMODE(os.stat(people).st_mode) == 0o660, "the sockets")
        held(machine, pid, agents, people, f"/api/sessions/{session}/approvals/{call}")
        must(not asking.poll(), "it waits")
        allowed = machine.run(machine.ann, machine.program, "approve", call)
        must(allowed.returncode == 0, f"the person decides: {allowed}")
        out, err = asking.communicate(timeout=PATIENCE)
        must('"allow"' in out, f"and the agent is told: {out} {err}")
    finally:
        if asking.poll() is None:
            asking.kill()
            asking.communicate()

    removed = machine.setup("--remove", "--yes")
    must(removed.returncode == 0, f"{removed}")
    must(not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat", encoding="ascii").read().split()[2] == "Z", "the server has ended")
    names = {e.pw_name for e in pwd.getpwall()}
    must(machine.server not in names and machine.dev in names, "its user is gone, others stay")
    must(not os.path.exists(machine.file(machine.dev, ".config/nod/agent.json")), "and so is the identity")
    must(os.path.exists(machine.file("var/lib/nod/nod.db")), "the events stay")


def held(machine, pid, agents, people, path):
    """Everything that the developer's uid must not get, tried with what it has."""
    dev = machine.dev
    token = json.load(open(machine.file(dev, ".config/nod/agent.json"), encoding="utf-8"))["token"]

    def post(where, secret):
        body = '{"decision":"allow_once"}'
        request = (f"POST {path} HTTP/1.1\r\nHost: nod\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n"
                   f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
        return machine.connect(dev, where, request)[9:12]

    must(post(agents, token) == "403", "its agent's token asks, it does not decide")
    must(post(people, token) == "", "people's socket does not take its connection")
    with open(machine.file("var/lib/nod/admin.token"), encoding="ascii") as file:
        admin = file.read().strip()
    must(post(agents, admin) == "403", "the agents' socket takes no other token, even the admin's")
    for command in (["cat", machine.file("var/lib/nod/admin.token")], ["ls", machine.file("var/lib/nod")],
                    ["cat", machine.file("var/lib/nod/nod.db")], ["cat", f"/proc/{pid}/environ"], ["cat", f"/proc/{pid}/maps"],
                    ["cat", machine.file(machine.ann, ".config/nod/token")], ["kill", "-0", str(pid)], ["kill", "-TERM", str(pid)]):
        tried = machine.run(dev, *command)
        must(tried.returncode != 0 and not tried.stdout, f"{command}: {tried}")
    must(os.path.exists(f"/proc/{pid}"), "the server lives")


@on_a_machine
def test_root_resets_keys_and_nobody_else_does(machine):
    """A key without which nothing risky is allowed; its owner's token cannot take it away, root can, and that stays known."""
    made = machine.setup("--yes")
    must(made.returncode == 0, f"{made}")
    people = machine.file("run/nod/people.sock")
    with open(machine.file(machine.ann, ".config/nod/token"), encoding="ascii") as file:
        token = file.read().strip()

    def api(path, body):
        text = json.dumps(body, separators=(",", ":"))
        answer = machine.connect(machine.ann, people, f"POST {path} HTTP/1.1\r\nHost: nod\r\nAuthorization: Bearer {token}\r\n"
                                 f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}")
        return json.loads(answer.partition("\r\n\r\n")[2])
    key = FileKey()
    body = key.fields()
    issued = api("/api/statements", {"for": "request", "method": "POST", "path": "/api/keys", "key": key.id,
                                     "body": hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()})
    must(api("/api/keys", {**body, "proof": key.sign(issued)}).get("id") == key.id, "the person has a key")
    tried = machine.run(machine.ann, machine.program, "key", "reset")
    must(tried.returncode != 0 and "signature" in tried.stderr, f"its owner's token resets nothing: {tried}")
    environment = {"PATH": os.environ["PATH"], "HOME": "/root"}
    config = machine.file("etc/nod/config")
    done = subprocess.run([machine.program, "key", "reset", "--config", config], env=environment, capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    must(done.returncode == 0 and "1 keys are revoked" in done.stderr, f"{done}")
    said = subprocess.run([machine.program, "verify", "--signatures", "--config", config], env=environment, capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    must(f"key {key.id} was revoked without a signature" in said.stdout, f"{said}")


@on_a_machine
def test_it_is_for_root_and_asks_first(machine):
    must(machine.setup().returncode == 2, "without --yes nothing is done")
    must(not os.path.exists(machine.file("etc")), "nothing")
    tried = machine.run(machine.dev, machine.program, "setup", "system", "--yes", "--root", machine.root)
    must(tried.returncode == 3 and "root" in tried.stderr, f"{tried}")
    must(machine.setup("--remove", "--yes").returncode == 0, "nothing to take out")
