"""What the tests of the client libraries share: a server with an agent's token, and the person who answers."""
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "talks"))

import world  # noqa: E402
from world import ROOT, Failure, Skip, eventually, must  # noqa: E402

CLIENTS = os.path.join(ROOT, "clients")
PYTHON = os.path.join(CLIENTS, "python", "src")
CACHE = os.path.join(world.CACHE, "clients")  # what the registries gave and Go compiled of its own
MADE = os.path.join(ROOT, "build", "clients")   # what is made of this tree's sources
PATIENCE = float(os.environ.get("NOD_PATIENCE", "180"))
sys.path.insert(0, PYTHON)


class Stage:
    """A server with the token of an agent, at TCP or at the Unix socket, and an administrator who answers."""

    def __init__(self, world, tcp=False):
        self.world, self.server = world, world.server()
        self.admin = self.server.admin()
        self.token = self.admin.ok("POST", "/api/tokens", {"role": "agent", "name": "client", "folders": [world.folder]})["token"]
        self.url = f"http://127.0.0.1:{self.server.port}" if tcp else "unix:" + self.server.socket

    def environment(self):
        return {**self.world.environment, "NOD_URL": self.url, "NOD_TOKEN": self.token}

    def pending(self, text):
        """The question whose input holds the text, once it is there."""
        def look():
            return next((p for p in self.admin.pending() if text in json.dumps(p["toolCall"])), None)
        return eventually(look, f"a question about {text!r}", PATIENCE)

    def answer(self, text, decision, **more):
        asked = self.pending(text)
        self.admin.decided(asked["sessionId"], asked["toolCallId"], decision, **more)
        return asked

    def restart(self):
        """kill -9, then the same server at the same place."""
        self.server.kill()
        self.server.start("--listen", f"127.0.0.1:{self.server.port}")

    def call(self, asked):
        return self.admin.status(asked["toolCallId"], session=asked["sessionId"])

    def finished(self, asked):
        return eventually(lambda: (c := self.call(asked))["status"] == "finished" and c, "the result of a call", PATIENCE)


INSTALLING = threading.Lock()


@contextlib.contextmanager
def only_one():
    """One thread of one run installs at a time: other clones have the same cache."""
    os.makedirs(CACHE, exist_ok=True)
    with INSTALLING, open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(folder, mark, command, below=CACHE):
    """A folder that `command(folder)` fills, once for each `mark`. A registry that is away is a skip."""
    folder = os.path.join(below, f"{folder}-{hashlib.sha256(mark.encode()).hexdigest()[:16]}")
    done = os.path.join(folder, ".complete")
    with only_one():
        if os.path.exists(done):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for line in command(folder):
            for _ in range(3):  # a registry may have a bad moment
                run = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder)
                if run.returncode == 0:
                    break
            else:
                raise Skip(f"{' '.join(line)}: {run.stdout[-400:]}")
        with open(done, "w", encoding="ascii"):
            pass
    return folder


def python_with(name):
    """The Python of a virtual environment with what NAME.txt beside this file lists."""
    path = os.path.join(HERE, name + ".txt")
    with open(path, encoding="ascii") as file:
        wanted = file.read()
    folder = kept(name, sys.version + wanted, lambda folder: [
        [sys.executable, "-m", "venv", folder], [os.path.join(folder, "bin", "pip"), "install", "-q", "--no-compile", "--disable-pip-version-check", "-r", path]])
    return os.path.join(folder, "bin", "python")


class Aside(threading.Thread):
    """What a function returns or raises, in a thread of its own."""

    def __init__(self, function, *args, **more):
        super().__init__(daemon=True)
        self.work, self.value, self.error = lambda: function(*args, **more), None, None
        self.start()

    def run(self):
        try:
            self.value = self.work()
        except BaseException as error:  # noqa: BLE001: it is looked at
            self.error = error

    def end(self):
        self.join(PATIENCE)
        must(not self.is_alive(), "it does not come to an end")
        return self

    def got(self):
        if self.end().error:
            raise self.error
        return self.value

    def raised(self, kind):
        must(isinstance(self.end().error, kind), f"raised {self.error!r}, not {kind.__name__}; returned {self.value!r}")
        return self.error


def play_four(stage, command, tool="send_mail", text="text", cwd=None):
    """The same scene for each language and framework: a program has four mails to send, one after the other.

    The first is allowed, the second denied with words, the third edited; during the fourth the server is killed.
    The program prints `SENT TEXT` for each mail that was sent, and `HEARD …` for what the model heard.
    """
    path = os.path.join(stage.world.folder, "out")
    with open(path, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd or stage.world.folder,
                                   env=stage.environment(), start_new_session=True)

    def printed():
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def question(words):
        def look():
            if process.poll() is not None:
                raise Failure(f"the program ended before it asked about {words!r}:\n{printed()[-3000:]}")
            return next((p for p in stage.admin.pending() if words in json.dumps(p["toolCall"])), None)
        return eventually(look, lambda: f"a question about {words!r}; the program says:\n{printed()[-3000:]}", PATIENCE)

    def answer(words, decision, **more):
        asked = question(words)
        must(asked["toolCall"]["name"] == tool, f"the tool is {asked['toolCall']}")
        stage.admin.decided(asked["sessionId"], asked["toolCallId"], decision, **more)
        return asked

    try:
        first = answer("mail one", "allow_once")
        answer("mail two", "deny", feedback="strangers get no mail")
        third = question("mail three")
        edited = {**third["toolCall"]["input"], text: "mail three, edited"}
        answer("mail three", "allow_once", updatedInput=edited)
        fourth = question("mail four")
        stage.restart()
        must(question("mail four")["toolCallId"] == fourth["toolCallId"], "another question after the restart")
        answer("mail four", "allow_once")
        must(process.wait(PATIENCE) == 0, f"the program ended with {process.returncode}:\n{printed()[-3000:]}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    lines = printed().splitlines()
    sent = [line[5:] for line in lines if line.startswith("SENT ")]
    return Played(stage, sent, [line for line in lines if line.startswith("HEARD ")], first, fourth, printed())


class Played:
    def __init__(self, stage, sent, heard, first, fourth, printed):
        self.sent, self.heard, self.printed = sent, heard, printed
        self.stage, self.first, self.fourth = stage, first, fourth

    def check(self, edited=True, reported=True):
        """`edited` False: a framework that cannot run an edited input must not run the call at all."""
        want = ["mail one", "mail three, edited", "mail four"] if edited else ["mail one", "mail four"]
        must(self.sent == want, f"sent {self.sent}, not {want}:\n{self.printed[-3000:]}")
        must(any("strangers get no mail" in line for line in self.heard), f"the model heard {self.heard}")
        if not edited:
            must(any("mail three, edited" in line for line in self.heard), f"the model heard {self.heard}")
        if reported:
            for asked in (self.first, self.fourth):
                self.stage.finished(asked)
