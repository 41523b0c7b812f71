"""Runs inside a box and tries to get out. Prints `ROW begin` and `ROW OUTCOME` for each attempt; the outcome is the name
of an errno, `done` when the attempt went through, or a word of its own. run.py knows which ones are right.

    python3 attempts.py FACTS.json
"""
import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import socket
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
with open(sys.argv[1], encoding="utf-8") as file:
    facts = json.load(file)
ATTEMPTS = []


def attempt(row):
    def keep(function):
        ATTEMPTS.append((row, function))
        return function
    return keep


def call(number, *arguments):
    """A system call by its number; OSError when it fails."""
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def write(path, text="x"):
    with open(path, "w", encoding="utf-8") as file_there:
        file_there.write(text)


def read(path):
    with open(path, "rb") as file_there:
        return file_there.read(10)


def connect(address, family=socket.AF_UNIX, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as end:
        end.connect(address)


def in_child(function):
    """The signal that ends a child in which this is done, or `done`."""
    pid = os.fork()
    if pid == 0:
        function()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "done"


NUMBERS = {"x86_64": {"ptrace": 101, "mount": 165, "unshare": 272, "clone": 56, "open_by_handle_at": 304, "bpf": 321,
                      "add_key": 248, "userfaultfd": 323, "keyctl": 250, "chmod": 90},
           "aarch64": {"ptrace": 117, "mount": 40, "unshare": 97, "clone": 220, "open_by_handle_at": 265, "bpf": 280,
                       "add_key": 217, "userfaultfd": 282, "keyctl": 219}}[platform.machine()]
NEW_USER, BIND, REMOUNT = 0x10000000, 4096, 32
home, project, data = facts["home"], facts["project"], facts["data"]

# ---- files ----
attempt("1 token")(lambda: read(f"{data}/admin.token"))
attempt("2 key by path")(lambda: read(f"{home}/.ssh/id_test"))
attempt("3 key by dots")(lambda: read(os.path.join(project, os.path.relpath(f"{home}/.ssh/id_test", project))))
attempt("4 key by link")(lambda: read(f"{project}/link-to-key"))
attempt("5 write outside")(lambda: write(facts["outside"] + "/new"))
attempt("6 write by link")(lambda: write(f"{project}/link-outside/new"))
attempt("7 nod.sock")(lambda: connect(f"{data}/nod.sock"))
attempt("8 socket in the home")(lambda: connect(f"{home}/agent.sock"))
attempt("9 token in the project")(lambda: read(f"{project}/state/admin.token"))
attempt("10 socket in the project")(lambda: connect(f"{project}/state/nod.sock"))
attempt("11a unmount the cover")(lambda: call(166 if platform.machine() == "x86_64" else 39, f"{project}/state".encode(), 0))
attempt("11b rename the cover")(lambda: os.rename(f"{project}/state", f"{project}/state2"))
attempt("51a shadow")(lambda: read("/etc/shadow"))
attempt("51b host keys")(lambda: os.listdir("/etc/ssh"))
attempt("54a systemd")(lambda: connect("/run/systemd/private"))
attempt("54b dbus")(lambda: connect("/run/dbus/system_bus_socket"))
attempt("54c docker")(lambda: connect("/var/run/docker.sock"))
attempt("inside write")(lambda: write(f"{project}/made"))

# ---- network ----
attempt("12 abstract socket")(lambda: connect("\0" + facts["abstract"]))
attempt("13 tcp")(lambda: connect(("127.0.0.1", facts["tcp"]), socket.AF_INET))


@attempt("14 udp")
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect(("127.0.0.1", facts["udp"]))
        end.send(b"out")
        end.send(b"out")  # the refusal of the first one is told here


attempt("42 vsock")(lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("42b family with high bits")(lambda: call(41 if platform.machine() == "x86_64" else 198, (1 << 32) | 40, 1, 0))
attempt("43 raw")(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))

# ---- the repository and settings ----
attempt("15 hook")(lambda: write(f"{project}/.git/hooks/pre-commit"))
attempt("16 config")(lambda: write(f"{project}/.git/config"))
attempt("17 move .git")(lambda: os.rename(f"{project}/.git", f"{project}/.g"))
attempt("17b commondir")(lambda: write(f"{project}/.git/commondir", "../evil\n"))
attempt("17c remove commondir")(lambda: os.unlink(f"{project}/.git/commondir"))
attempt("18a rename config")(lambda: os.rename(f"{project}/made", f"{project}/.git/config"))
attempt("18b link config")(lambda: os.link(f"{project}/.git/config", f"{project}/config-link"))
attempt("19 claude settings")(lambda: write(f"{project}/.claude/settings.json"))
attempt("19b move .claude")(lambda: os.rename(f"{project}/.claude", f"{project}/.c"))
attempt("20 .mcp.json")(lambda: write(f"{project}/.mcp.json"))
attempt("20b replace .mcp.json")(lambda: os.rename(f"{project}/made2", f"{project}/.mcp.json"))
attempt("21 module hooks")(lambda: os.makedirs(f"{project}/.git/modules/x/hooks"))
attempt("21b nested repository")(lambda: write(f"{project}/sub/.git/config"))
attempt("index")(lambda: write(f"{project}/.git/index.test"))

# ---- the kernel ----
attempt("22a remount")(lambda: call(NUMBERS["mount"], b"", b"/", b"", REMOUNT | BIND, 0))
attempt("22b bind")(lambda: call(NUMBERS["mount"], b"/tmp", b"/tmp", b"", BIND, 0))
attempt("23 unshare")(lambda: call(NUMBERS["unshare"], NEW_USER))
attempt("24 clone")(lambda: call(NUMBERS["clone"], NEW_USER | 17, 0, 0, 0, 0))
attempt("25 clone3")(lambda: call(435, ctypes.create_string_buffer(88), 88))
attempt("26 unshare -Ur")(lambda: "refused" if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode else "done")
attempt("27 open_tree")(lambda: call(428, -100, b"/", 1))
attempt("28 open_by_handle_at")(lambda: call(NUMBERS["open_by_handle_at"], -100, ctypes.create_string_buffer(64), 0))
attempt("29 bpf")(lambda: call(NUMBERS["bpf"], 0, 0, 0))
attempt("30 io_uring")(lambda: call(425, 4, ctypes.create_string_buffer(256)))
attempt("31 add_key")(lambda: call(NUMBERS["add_key"], b"user", b"x", b"y", 1, -3))
attempt("32 userfaultfd")(lambda: call(NUMBERS["userfaultfd"], 0))
attempt("33 ptrace 1")(lambda: call(NUMBERS["ptrace"], 16, 1, 0, 0))
attempt("34 pidfd_getfd")(lambda: call(438, os.pidfd_open(os.getpid()), 0, 0))
attempt("35 memory of 1")(lambda: os.close(os.open("/proc/1/mem", os.O_RDWR)))
attempt("38 chmod u+s")(lambda: os.chmod(f"{project}/made", 0o4755))
attempt("39 fchmodat2")(lambda: call(452, -100, f"{project}/made".encode(), 0o4755, 0))
attempt("40 open u+s")(lambda: os.close(os.open(f"{project}/suid", os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt("41 openat2")(lambda: call(437, -100, f"{project}/suid2".encode(), ctypes.create_string_buffer(24), 24))
attempt("47a root of 1")(lambda: os.readlink("/proc/1/root"))
attempt("47b folder of 1")(lambda: os.readlink("/proc/1/cwd"))
attempt("48 core_pattern")(lambda: write("/proc/sys/kernel/core_pattern", "|/bin/true"))
attempt("50a disk")(lambda: read("/dev/vda"))
attempt("50b mknod")(lambda: os.mknod(f"{project}/disk", 0o60600, os.makedev(254, 0)))
attempt("45 host process")(lambda: os.kill(facts["pid"], 0))


@attempt("36 32 bit")
def thirty_two():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return in_child(lambda: ctypes.CFUNCTYPE(ctypes.c_int)(address)())


attempt("37 x32")(lambda: in_child(lambda: libc.syscall(ctypes.c_long(0x40000000 | 39))))


@attempt("44 kill 1")
def kill_first():
    try:
        os.kill(1, signal.SIGKILL)
    except PermissionError:
        pass
    return "alive" if os.path.exists("/proc/1/stat") else "dead"


@attempt("46 kill everybody")
def kill_everybody():
    os.kill(-1, signal.SIGKILL)  # whom it may signal: nobody is there but itself and the first process of the box


@attempt("49 descriptors")
def descriptors():
    extra = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and not os.path.realpath(f"/proc/self/fd/{fd}").startswith("/proc")]
    return "none" if not extra else f"open:{extra}"


def status(field):
    with open("/proc/self/status", encoding="ascii") as text:
        return next(line.split()[1] for line in text if line.startswith(field + ":"))


attempt("52 capabilities")(lambda: "none" if int(status("CapEff"), 16) == int(status("CapBnd"), 16) == 0 else "some")
attempt("53 filter")(lambda: status("Seccomp"))
attempt("56a host name")(lambda: platform.node())
attempt("56b shared memory")(lambda: "own" if len(open("/proc/sysvipc/shm", encoding="ascii").readlines()) == 1 else "host's")


def typing(request):
    with open("/dev/null", "rb") as null:
        call(16 if platform.machine() == "x86_64" else 29, null.fileno(), request, ctypes.create_string_buffer(b"x"))


attempt("57 typing")(lambda: typing(0x5412))
attempt("57b typing with high bits")(lambda: typing((1 << 32) | 0x5412))


@attempt("60b fill /tmp")
def fill():
    with open("/tmp/full", "wb") as full:
        try:
            os.posix_fallocate(full.fileno(), 0, 1100 << 20)
        finally:
            os.unlink("/tmp/full")


def main():
    for row, function in ATTEMPTS:
        print(f"{row} begin", flush=True)
        try:
            outcome = function()
            outcome = outcome if isinstance(outcome, str) else "done"
        except OSError as error:
            outcome = errno.errorcode.get(error.errno, str(error.errno)) if error.errno else "OSError"
        print(f"{row} = {outcome}", flush=True)
    print("all begin", flush=True)


main()
