#!/usr/bin/env python3
"""Attempts to leave a box, each with the answer it must get, as root and as an ordinary user, with the repository
closed and open. A box that never starts fails every row: each attempt announces itself from inside.

    NOD=build/nod python3 tests/box/run.py            last line: N passed, N failed
"""
import errno
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NOD = os.path.abspath(os.environ.get("NOD", os.path.join(HERE, "..", "..", "build", "nod")))
PYTHON = "/usr/bin/python3"  # in the box only the system's programs are certain to exist
NOBODY = 65534

GONE = "ENOENT"
EXPECTED = {
    "1 token": GONE, "2 key by path": GONE, "3 key by dots": GONE, "4 key by link": GONE,
    "5 write outside": (GONE, "EROFS"), "6 write by link": (GONE, "EROFS"), "7 nod.sock": GONE, "8 socket in the home": GONE,
    "9 token in the project": "EACCES", "10 socket in the project": "EACCES",
    "11a unmount the cover": "EPERM", "11b rename the cover": "EBUSY",
    "51a shadow": GONE, "51b host keys": GONE, "54a systemd": GONE, "54b dbus": GONE, "54c docker": GONE,
    "inside write": "done",
    "12 abstract socket": ("ECONNREFUSED", "EPERM"), "13 tcp": "ECONNREFUSED", "14 udp": "ECONNREFUSED",
    "42 vsock": "EAFNOSUPPORT", "42b family with high bits": "EAFNOSUPPORT", "43 raw": "EPERM",
    "15 hook": "EROFS", "16 config": "EROFS", "17 move .git": "EBUSY", "17b commondir": "EROFS",
    "17c remove commondir": ("EROFS", "EBUSY", GONE),
    "18a rename config": ("EXDEV", "EROFS", "EBUSY"), "18b link config": "EXDEV", "19 claude settings": "EROFS",
    "19b move .claude": "EBUSY", "20 .mcp.json": "EROFS", "20b replace .mcp.json": ("EBUSY", "EXDEV"),
    "21 module hooks": "EROFS", "21b nested repository": "EROFS", "index": "EROFS",
    "22a remount": "EPERM", "22b bind": "EPERM", "23 unshare": "EPERM", "24 clone": "EPERM", "25 clone3": "ENOSYS",
    "26 unshare -Ur": "refused", "27 open_tree": "EPERM", "28 open_by_handle_at": "EPERM", "29 bpf": "EPERM",
    "30 io_uring": "ENOSYS", "31 add_key": "EPERM", "32 userfaultfd": "EPERM", "33 ptrace 1": "EPERM",
    "34 pidfd_getfd": "EPERM", "35 memory of 1": ("EACCES", "EPERM"), "38 chmod u+s": "EPERM", "39 fchmodat2": "ENOSYS",
    "40 open u+s": "EPERM", "41 openat2": "ENOSYS", "47a root of 1": ("EACCES", "EPERM"),
    "47b folder of 1": ("EACCES", "EPERM"), "48 core_pattern": ("EROFS", "EACCES"), "50a disk": GONE, "50b mknod": "EPERM",
    "45 host process": "ESRCH", "36 32 bit": "SIGSYS", "37 x32": "SIGSYS", "44 kill 1": "alive", "46 kill everybody": "ESRCH", "49 descriptors": "none",
    "52 capabilities": "none", "53 filter": "2", "56a host name": "box", "56b shared memory": "own",
    "57 typing": "EPERM", "57b typing with high bits": "EPERM", "60b fill /tmp": "ENOSPC",
}
# With an open repository its objects and index may be written, nothing that runs.
OPEN = {"index": "done"}
passed = failed = 0


def judge(name, good, words=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED {name}: {words}", flush=True)


class Box:
    """One box, started as the server starts it."""

    def __init__(self, stage, command, *words, project=None, ino=None):
        self.report, report = os.pipe()
        life, self.life = os.pipe()
        self.out, out = os.pipe()
        project = project or stage.project
        seen = os.stat(project)
        self.process = subprocess.Popen(
            ["nod-box", f"project={project}", f"dev={seen.st_dev}", f"ino={ino or seen.st_ino}", f"home={stage.home}",
             f"locks={stage.data}/boxes", f"hide={stage.data}", f"hide={project}/state", *words, "--", project,
             "/bin/bash", "bash", "-c", command],
            executable=NOD, close_fds=False, preexec_fn=lambda: self.place(out, report, life),
            env={"PATH": "/usr/bin:/bin", "HOME": stage.home, "LANG": "C.UTF-8", "GIT_CONFIG_COUNT": "1",
                 "GIT_CONFIG_KEY_0": "core.excludesFile", "GIT_CONFIG_VALUE_0": "/etc/nod-excludes"})
        for fd in (out, report, life):
            os.close(fd)

    @staticmethod
    def place(*from_):
        """The three ends under 3, 4, 5; an inherited descriptor of a secret, which must not reach the command, as 9."""
        above = [os.dup2(fd, 200 + n) for n, fd in enumerate(from_)]
        for n, fd in enumerate(above):
            os.dup2(fd, 3 + n)
            os.close(fd)
        os.dup2(os.open("/etc/passwd", os.O_RDONLY), 9)

    def output(self):
        with os.fdopen(self.out, "rb") as out:
            return out.read().decode(errors="replace")

    def end(self):
        """(started, value, step) of its report."""
        report = os.read(self.report, 1000)
        self.process.wait()
        os.close(self.report)
        os.close(self.life)
        word, value = struct.unpack("ii", report[:8]) if len(report) >= 8 else (0, -1)
        return bool(word), value, report[8:].split(b"\0")[0].decode()


class Stage:
    """A home with secrets, a project in it, a data folder, and listeners outside the box."""

    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="nod-box-"))
        self.home, self.outside = f"{self.folder}/home", f"{self.folder}/outside"
        self.project, self.data = f"{self.home}/project", f"{self.home}/.local/share/nod"
        for path in (f"{self.home}/.ssh", self.project, self.data, self.outside, f"{self.project}/state",
                     f"{self.project}/sub/.git"):
            os.makedirs(path)
        for path in (f"{self.home}/.ssh/id_test", f"{self.data}/admin.token", f"{self.project}/state/admin.token",
                     f"{self.project}/sub/.git/config", f"{self.project}/made2"):
            with open(path, "w", encoding="utf-8") as file:
                file.write("secret")
        os.symlink(f"{self.home}/.ssh/id_test", f"{self.project}/link-to-key")
        os.symlink(self.outside, f"{self.project}/link-outside")
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.sockets = [self.listen(path) for path in (f"{self.data}/nod.sock", f"{self.home}/agent.sock",
                                                       f"{self.project}/state/nod.sock", f"\0nod-box-{os.getpid()}")]
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        shutil.copy(os.path.join(HERE, "attempts.py"), self.project)
        facts = {"home": self.home, "project": self.project, "data": self.data, "outside": self.outside,
                 "abstract": f"nod-box-{os.getpid()}", "tcp": self.tcp.getsockname()[1], "udp": self.udp.getsockname()[1],
                 "pid": os.getpid()}
        with open(f"{self.project}/facts.json", "w", encoding="utf-8") as file:
            json.dump(facts, file)

    @staticmethod
    def listen(path):
        end = socket.socket(socket.AF_UNIX)
        end.bind(path)
        end.listen()
        return end

    def remove(self):
        for end in (*self.sockets, self.tcp, self.udp):
            end.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def escapes(who, words=(), special=None):
    stage = Stage()
    try:
        expected = {**EXPECTED, **(special or {})}
        box = Box(stage, f"exec {PYTHON} attempts.py facts.json", *words)
        text = box.output()
        started, value, step = box.end()
        judge(f"{who}: the box starts", started and value == 0 and "all begin" in text, f"{step} {value} {text[-400:]}")
        got = dict(re.findall(r"^(.*) = (.*)$", text, re.M))
        for row, right in expected.items():
            right = right if isinstance(right, tuple) else (right,)
            judge(f"{who}: {row}", f"{row} begin" in text and got.get(row) in right, f"{got.get(row)}, must be {right}")
        judge(f"{who}: every attempt has a row", set(got) == set(expected), set(got) ^ set(expected))
        judge(f"{who}: outside unchanged", os.listdir(stage.outside) == [], os.listdir(stage.outside))
        try:
            judge(f"{who}: no datagram came out", not stage.udp.recv(10), "it did")
        except BlockingIOError:
            judge(f"{who}: no datagram came out", True)
        left = sorted(name for name in os.listdir(stage.project) if name in (".claude", ".mcp.json", ".nod", ".idea"))
        judge(f"{who}: nothing of the box stays in the project", left == [], left)
    finally:
        stage.remove()


def after_the_end(stage, who):
    """Row 55: a daemon of the command is gone when the box has ended."""
    mark = f"sleep 300.{os.getpid()}"
    box = Box(stage, f"setsid sh -c 'exec {mark}' >/dev/null 2>&1 & sleep 0.1; echo started")
    judge(f"{who}: 55 the daemon starts", "started" in box.output())
    box.end()
    alive = subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout
    judge(f"{who}: 55 the daemon is gone", not alive, alive)
    box = Box(stage, f"echo begun; exec {mark}")
    judge(f"{who}: 55b the command starts", os.read(box.out, 10) == b"begun\n")
    os.close(box.life)  # what the server's death does
    box.process.wait()
    alive = subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout
    judge(f"{who}: 55b ends with the server", not alive, alive)


def two_boxes(stage, who):
    """Row 58: the box that made the protected names ends first; the other one still cannot write them."""
    os.mkfifo(f"{stage.project}/go")  # before the boxes, which read from them
    os.mkfifo(f"{stage.project}/go2")
    first = Box(stage, "echo in; read -r x < go; echo out")
    second = Box(stage, "echo in; read -r x < go2; echo x > .claude/settings.json; echo wrote $?; touch .mcp.json; echo made $?")
    judge(f"{who}: 58 both run", os.read(first.out, 3) == b"in\n" and os.read(second.out, 3) == b"in\n")
    with open(f"{stage.project}/go", "w", encoding="ascii") as go:
        go.write("\n")
    first.output()
    first.end()
    judge(f"{who}: 58 the names stay", os.path.isdir(f"{stage.project}/.claude"))
    with open(f"{stage.project}/go2", "w", encoding="ascii") as go:
        go.write("\n")
    text = second.output()
    second.end()
    judge(f"{who}: 58 the second cannot write them", "wrote 1" in text and "made 0" not in text, text)
    judge(f"{who}: 58 the last one removes them", not os.path.exists(f"{stage.project}/.claude"))


def refusals(stage, who):
    """Row 59 and a protected name that is a link: the box does not start, and says why."""
    box = Box(stage, "true", ino=1)
    started, _, step = (box.output(), box.end())[1]
    judge(f"{who}: 59 another folder", not started and "open" in step, step)
    os.symlink(stage.outside, f"{stage.project}/.claude")
    box = Box(stage, "true")
    started, _, step = (box.output(), box.end())[1]
    os.unlink(f"{stage.project}/.claude")
    judge(f"{who}: a protected name that is a link", not started and ".claude" in step, step)
    for project, word in ((stage.folder, "home"), ("/", "home"), ("/etc", "system"), ("/usr/share", "system")):
        box = Box(stage, "true", project=project)
        started, _, step = (box.output(), box.end())[1]
        judge(f"{who}: {project} is no project", not started and word in step, step)


def works(stage, who):
    """Ordinary work goes on: git, Python, a compiler if there is one; what a person made stays."""
    os.makedirs(f"{stage.project}/.vscode")
    commit = ("git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git log --oneline | wc -l && "
              "git status --porcelain -- .mcp.json .envrc")
    box = Box(stage, f"git status -s >/dev/null && echo looked; echo x > f && git add f 2>&1 | tail -1; {commit}")
    text = box.output()
    box.end()
    judge(f"{who}: a closed repository can be read", "looked" in text, text)
    judge(f"{who}: a closed repository cannot be written", "Read-only" in text, text)
    box = Box(stage, commit, "git=open")
    text = box.output()
    judge(f"{who}: an open repository takes a commit", text.split() == ["1"] and box.end()[1] == 0, text)
    judge(f"{who}: an empty folder of the person's stays", os.path.isdir(f"{stage.project}/.vscode"))
    text = subprocess.run(["git", "-C", stage.project, "log", "--oneline"], capture_output=True, text=True, check=False)
    judge(f"{who}: the commit is there outside", text.stdout.strip().endswith("x"), text)


def fork_bomb(stage, who):
    if os.geteuid() == 0:
        return  # the kernel does not hold root to it
    box = Box(stage, f"{PYTHON} -c 'import os\nn=0\ntry:\n  while n<2000:\n    n+=1\n    if not os.fork(): os.pause() if hasattr(os,\"pause\") else __import__(\"signal\").pause()\nexcept OSError as e:\n  print(e.errno, n)\n'")
    text = box.output()
    box.end()
    judge(f"{who}: 60 a fork bomb ends at the limit", text.startswith("11 "), text)


def no_namespaces(stage, who):
    """Row 62: where user namespaces are forbidden the launcher says so and runs nothing."""
    if os.geteuid() == 0:
        return
    words = [NOD, "box-test"]
    script = ("echo 0 > /proc/sys/user/max_user_namespaces && "
              f"exec {PYTHON} {os.path.abspath(__file__)} --one {stage.folder}")
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], capture_output=True, text=True, check=False,
                          env={**os.environ, "NOD": NOD})
    reason = f"{errno.ENOSPC}, 'make namespaces'"  # what the kernel says when there may be no more of them
    judge(f"{who}: 62 no namespaces", reason in done.stdout and "ran" not in done.stdout, f"{words} {done}")


def one(folder):
    stage = Stage.__new__(Stage)
    stage.folder, stage.home = folder, f"{folder}/home"
    stage.project, stage.data = f"{folder}/home/project", f"{folder}/home/.local/share/nod"
    box = Box(stage, "echo ran")
    print(box.output(), box.end())


def everything(who):
    escapes(f"{who}, closed")
    escapes(f"{who}, open", ["git=open"], OPEN)
    if os.geteuid() == 0:
        escapes(f"{who}, without a user namespace", ["user=host"])
    for part in (after_the_end, two_boxes, refusals, works, fork_bomb, no_namespaces):
        stage = Stage()
        try:
            part(stage, who)
        finally:
            stage.remove()


def main():
    global passed, failed
    if "--one" in sys.argv:
        return one(sys.argv[-1])
    begin = time.monotonic()
    user = os.geteuid() != 0
    if "--escapes" in sys.argv:  # these alone, and only once: for removed.py
        escapes("once")
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    everything("user" if user else "root")
    if not user:
        # The ordinary user has no right to look into the folder of the build: it gets a copy.
        with tempfile.TemporaryDirectory(prefix="nod-box-bin-") as folder:
            os.chmod(folder, 0o755)
            for source in (NOD, os.path.abspath(__file__), os.path.join(HERE, "attempts.py")):
                os.chmod(shutil.copy(source, folder), 0o755)
            done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", PYTHON,
                                   f"{folder}/run.py"], env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
                                   "NOD": f"{folder}/nod"}, capture_output=True, text=True, check=False)
        print("".join(line + "\n" for line in done.stdout.splitlines() if line.startswith("FAILED")), end="")
        counts = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
        judge("as an ordinary user", counts, done.stdout + done.stderr)
        if counts:
            passed, failed = passed + int(counts.group(1)), failed + int(counts.group(2))
        print(f"{time.monotonic() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
