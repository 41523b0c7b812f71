"""A server under its own user and an executor under the developer's, with real users: tools of runs act as the developer."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import types

from stage import OVER, results_in, use
from two_users import on_a_machine
from world import Client, eventually, must

CONNECTED = "an executor has connected"


def processes(machine, command):
    """Those that the setup has started under this name, the last one last."""
    with open(machine.file("etc/nod/setup-system"), encoding="ascii") as record:
        return [int(line.split()[1]) for line in record if line.startswith("process ") and line.split()[2] == command]


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def stop(pid):
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: ended(pid), f"process {pid} ends")


def begin(machine, script, *settings):
    """A project that only the developer can open, and a server with a model."""
    stage = machine.world
    stage.project = machine.file(machine.dev, "project")
    os.mkdir(stage.project, 0o700)
    stage.write("notes.txt", "first\nsecond\n")
    for path in (stage.project, stage.path("notes.txt")):
        shutil.chown(path, machine.dev)
    model = stage.model(script)
    made = machine.setup("--yes")
    must(made.returncode == 0, f"{made}")
    stop(processes(machine, "serve")[-1])
    stage.connected_before = log_of(machine).count(CONNECTED)
    key = machine.file("key")
    with open(key, "w", encoding="ascii") as file:
        file.write("sk-secret-key-7\n")
    os.chmod(key, 0o644)
    with open(machine.file("etc/nod/config"), "a", encoding="ascii") as file:
        file.write("\n".join((f"anthropic-url = {model.url}", f"anthropic-key-file = {key}", "tripwire = no", *settings)) + "\n")
    made = machine.setup("--yes")  # starts the server again; the executor comes back by itself
    must(made.returncode == 0 and "executor" not in made.stdout, f"{made}")
    with open(machine.file("var/lib/nod/admin.token"), encoding="ascii") as file:
        client = Client(types.SimpleNamespace(socket=machine.file("run/nod/people.sock")), file.read().strip())
    connected(machine, 1)
    return model, client


def log_of(machine):
    with open(machine.file("var/lib/nod/serve.log"), encoding="utf-8") as log:
        return log.read()


def connected(machine, times):
    """Waits until an executor has connected so often since begin() stopped the first server."""
    eventually(lambda: log_of(machine).count(CONNECTED) - machine.world.connected_before >= times, "the executor connects")


def answer_all(run):
    """Allows whatever it asks until it is over; the questions by their call."""
    shown = {}

    def asked():
        for one in run.client.pending(f"/sessions/{run.session}"):
            shown[one["toolCallId"]] = one
            run.client.decided(run.session, one["toolCallId"], "allow_once", digest=one["digest"])
        return run.state()["status"] in OVER
    eventually(asked, lambda: f"its end: {run.state()}")
    must(run.state()["status"] == "completed", run.state())
    return shown


@on_a_machine
def test_tools_act_as_the_developer(machine):
    edit = {"file_path": "notes.txt", "old_string": "second", "new_string": "changed"}
    model, client = begin(machine, [{"tools": [use(1, "Bash", command="echo uid $(id -u), open $(ls /proc/self/fd).; echo made > made.txt; ls ~/.ssh")]},
                                    {"tools": [use(2, "Read", file_path="notes.txt")]}, {"tools": [use(3, "Edit", **edit)]},
                                    {"tools": [use(4, "Grep", pattern="TOPSECRET", output_mode="content")]}, {"text": "done"}])
    stage, dev = machine.world, pwd.getpwnam(machine.dev)
    stage.write("id_ed25519", "TOPSECRET key\n")
    stage.write("plain.txt", "TOPSECRET in a plain file\n")
    for name in ("id_ed25519", "plain.txt"):
        shutil.chown(stage.path(name), machine.dev)
    run = stage.begin(client)
    shown = answer_all(run)
    bash, read, edited, grep = (result["content"] for result in results_in(model.requests[-1]))
    must(f"uid {dev.pw_uid}," in bash and "No such file" in bash, f"as the developer, in a box: {bash}")
    must("open 0 1 2 3." in bash, f"nothing of the executor's is open in a command; the last is of ls: {bash}")
    must(os.stat(stage.path("made.txt")).st_uid == dev.pw_uid and os.stat(stage.path("notes.txt")).st_uid == dev.pw_uid, "files are the developer's")
    must("second" in read, read)
    must(stage.read("notes.txt") == "first\nchanged\n", edited)
    must("in a plain file" in grep and "TOPSECRET key" not in grep, f"what the server protects is left out: {grep}")
    preview = shown["toolu_3"]["preview"]
    must(preview["type"] == "diff" and preview["original_lines"] == 2, f"the preview shows the file as it is: {preview}")
    must(preview["executor"] == machine.dev, "and says who has seen it")


def connect(machine, user):
    """A process of that user at the executor's socket: what it reads; None: it cannot connect."""
    where = machine.file("run/nod/executor.sock")
    code = (f"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect({where!r}); "
            f"print(repr(s.recv(10)), flush=True)")
    if user:
        return machine.run(user, "python3", "-c", code).stdout.strip()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as opened:
        opened.connect(where)
        return repr(opened.recv(10))


@on_a_machine
def test_without_it_nothing_is_done(machine):
    model, client = begin(machine, [{"tools": [use(1, "Bash", command="touch /tmp/x-$$ made.txt")]}, {"tools": [use(2, "Read", file_path="notes.txt")]},
                                    {"tools": [use(3, "Write", file_path="made.txt", content="x")]}, {"text": "done"}])
    stage = machine.world
    for user in (machine.ann, machine.server, None):
        must(connect(machine, user) == "b''", f"{user} is refused")
    must(connect(machine, machine.dev) == "b''", "the developer's own processes are, while the executor is there")
    eventually(lambda: "a process of another user wanted to be the executor" in log_of(machine) and "a second process" in log_of(machine), "the log says so")
    stop(processes(machine, "executor")[-1])
    shown = answer_all(stage.begin(client))
    results = [result["content"] for result in results_in(model.requests[-1])]
    must(len(results) == 3 and all(f"the executor of {machine.dev} is not connected, so nothing was done" in one and "nod executor" in one for one in results), f"{results}")
    must(not os.path.exists(stage.path("made.txt")), "nothing was done")
    must("not connected" in shown["toolu_3"]["preview"]["problem"], f"people see why: {shown}")
    again = machine.setup("--yes")
    must(again.returncode == 0 and "start the executor" in again.stdout, f"{again}")
    connected(machine, 2)
    answer_all(stage.begin(client))
    results = [result["content"] for result in results_in(model.requests[-1])]
    must("second" in results[1] and stage.read("made.txt") == "x", f"then it works: {results}")


# A process of the developer's that is no executor: it takes the place of the real one, and answers one use in its own way.
LIAR = """
import array, json, os, socket, struct, sys
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
def frame(answer):
    text = json.dumps(answer).encode()
    return b"r" + struct.pack("=I", len(text)) + text
ANSWERS = {"length": b"r" + struct.pack("=I", 0xffffffff) + b"x", "text": b"r" + struct.pack("=I", 8) + b"not json",
           "list": b"r" + struct.pack("=I", 2) + b"[]", "letter": b"z" + struct.pack("=I", 0), "half": b"r" + struct.pack("=I", 9) + b"{",
           "large": frame({"preview": {"type": "generic", "input": "x" * (1 << 20)}, "text": "x" * (1 << 20)}),
           "twice": frame({"preview": {"type": "generic", "executor": "root"}, "text": "from the executor", "isError": False}),
           "preview": b"r" + struct.pack("=I", 36) + b'{"preview":"none","files":"../../x"}', "close": b""}
while True:
    _, control, _, _ = connection.recvmsg(1, 1024)
    if not control:
        break
    fds = array.array("i")
    fds.frombytes(control[0][2])
    with socket.socket(fileno=fds[0]) as channel:
        size = struct.unpack("=I", channel.recv(5, socket.MSG_WAITALL)[1:])[0]
        request = json.loads(channel.recv(size, socket.MSG_WAITALL))
        if request["name"] != "Grep":
            channel.sendall(ANSWERS[request["input"]["file_path"]])
            continue
        try:
            channel.sendall(b"h" + struct.pack("=I", 1 << 20) + b"/" * (1 << 20))
            channel.sendall(frame({"text": f"answered {channel.recv(1)}", "isError": False}))
        except OSError:
            pass  # it does not want to hear the rest
"""


@on_a_machine
def test_a_process_that_takes_its_place_breaks_nothing(machine):
    """Of the same user as the real one, so the server cannot tell; what it says is read as that of a stranger."""
    lies = ("close", "length", "text", "list", "letter", "half", "large", "preview", "twice")
    model, client = begin(machine, [{"tools": [use(i, "Read", file_path=lie) for i, lie in enumerate(lies)] + [use(90, "Grep", pattern="x")]}, {"text": "done"}])
    stage, entry = machine.world, pwd.getpwnam(machine.dev)
    executor = processes(machine, "executor")[-1]
    held(machine, executor)
    stop(executor)
    liar = subprocess.Popen(["setpriv", f"--reuid={machine.dev}", f"--regid={entry.pw_gid}", "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin", "python3", "-c", LIAR,
                             machine.file("run/nod/executor.sock")])
    try:
        connected(machine, 2)
        run = stage.begin(client)
        answer_all(run)
        results = [result["content"] for result in results_in(model.requests[-1])]
        must("gave no answer" in results.pop(), "a question about more than a path is not even read")
        must(len(results) == len(lies) and all("the executor" in one or one == "" for one in results), f"{results}")
        must(client.get("/readyz").status == 200, "the server goes on")
        must(client.events(), "and its events can be read")
        look = client.ok("GET", f"/api/sessions/{run.session}/calls/toolu_{len(lies) - 1}")
        must(look["preview"].get("executor", machine.dev) == machine.dev, f"who it is says the server: {look}")
    finally:
        liar.kill()
        liar.wait()


def held(machine, executor):
    """What another process of the developer cannot do to the executor: it can only end it."""
    attach = ("import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); "
              "sys.exit(1 if libc.ptrace(16, int(sys.argv[1]), 0, 0) != 0 else 0)")
    for command in (["cat", f"/proc/{executor}/environ"], ["ls", f"/proc/{executor}/fd"], ["head", "-c1", f"/proc/{executor}/mem"],
                    ["python3", "-c", attach, str(executor)]):
        tried = machine.run(machine.dev, *command)
        must(tried.returncode != 0 and not tried.stdout, f"{command}: {tried}")
