"""Where a real Claude Code works in a test: its own home, a project, a scripted model, and Nod beside it.

The program comes from npm, in an exact version, into a cache outside the tree; nothing here needs a network
once it is there. No account, no telemetry: requests go to the model on loopback with a dummy key.
"""
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "talks"))

import world  # noqa: E402
from model import Model  # noqa: E402

NEW, OLD = "2.1.325", "2.1.197"
CACHE = world.CACHE


INSTALLING = threading.Lock()


@functools.cache
def installed(folder, package, program):
    """A program of an npm package; installed at the first use, whole or not at all: tests run side by side."""
    path = os.path.join(CACHE, folder, "node_modules", program)
    with INSTALLING:
        if not os.path.exists(path):
            install(os.path.join(CACHE, folder), package, program)
    return path


def install(folder, package, program):
    if not shutil.which("npm"):
        raise world.Skip("npm is not installed")
    os.makedirs(CACHE, exist_ok=True)
    fresh = tempfile.mkdtemp(dir=CACHE)
    command = ["npm", "install", "--prefix", fresh, "--no-audit", "--no-fund", "--force", "--ignore-scripts", *package.split()]
    try:
        for _ in range(3):  # a registry may have a bad moment
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if run.returncode == 0:
                break
        if run.returncode or not os.path.exists(os.path.join(fresh, "node_modules", program)):
            raise world.Skip(f"npm could not install {package}: {run.stdout[-300:]}")
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def python_with(package):
    """A Python with this package, in the cache."""
    folder = os.path.join(CACHE, f"{package.replace('==', '-')}-python{sys.version_info[0]}.{sys.version_info[1]}")
    program = os.path.join(folder, "bin", "python")
    with INSTALLING:
        if not os.path.exists(os.path.join(folder, "whole")):
            for command in ([sys.executable, "-m", "venv", "--clear", folder], [program, "-m", "pip", "-q", "install", package]):
                run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                if run.returncode:
                    raise world.Skip(f"pip could not install {package}: {run.stdout[-300:]}")
            with open(os.path.join(folder, "whole"), "w", encoding="utf-8"):
                pass
    return program


def claude(version=NEW):
    return installed(f"claude-{version}", f"@anthropic-ai/claude-code@{version}", "@anthropic-ai/claude-code-linux-x64/claude")


class Run:
    """A process whose output is kept in files."""

    def __init__(self, desk, command, environment, given=None):
        number = desk.world.number()
        self.command = command
        self.paths = [os.path.join(desk.world.folder, f"{kind}.{number}") for kind in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
                                            stdout=out, stderr=err, cwd=desk.project, env=environment,
                                            start_new_session=True)
        if given is not None and given is not Ellipsis:
            self.process.stdin.write(given.encode())
            self.process.stdin.close()

    def say(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def text(self, which):
        with open(self.paths[which], "rb") as file:
            return file.read().decode("utf-8", "replace")

    out = property(lambda self: self.text(0))
    err = property(lambda self: self.text(1))

    def wait(self, timeout=180):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise world.Failure(f"{self.command[:3]} does not end; out {self.out[-1500:]!r}, err {self.err[-1500:]!r}") from None

    def ends(self, status=0, timeout=180):
        got = self.wait(timeout)
        world.must(got == status, f"{self.command[:3]} ended with {got}, not {status}; out {self.out[-1500:]!r}, "
                                  f"err {self.err[-1500:]!r}")
        return self


class Desk:
    """A project, a model, a server and a person; which agent sits at it is for others to say."""

    def __init__(self, place, model, serve=True):
        self.world, self.model = place, model
        self.project = os.path.join(place.environment["HOME"], "project")  # the folders that hooks are given
        self.config = os.path.join(place.folder, "config")
        for folder in (self.project, self.config):
            os.makedirs(folder)
        place.environment["XDG_RUNTIME_DIR"] = place.folder
        self.server = place.server("--withdraw-after", "15s") if serve else None
        self.admin = self.server.admin() if serve else None
        self.runs = []

    def run(self, command, given=None, **environment):
        run = Run(self, command, {**self.world.environment, **environment}, given)
        self.runs.append(run)
        return run

    def nod(self, *arguments, given=None, **environment):
        return self.run([world.NOD, *arguments], given, **environment)

    def has(self, name):
        return os.path.exists(os.path.join(self.project, name))

    def read(self, name):
        with open(os.path.join(self.project, name), encoding="utf-8") as file:
            return file.read()

    def put(self, name, text):
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    # ---- the person ----
    def waiting(self, count=1, patience=world.PATIENCE):
        def look():
            found = self.admin.pending()
            return found if len(found) >= count else None
        return world.eventually(look, lambda: f"{count} call(s) waiting; {self.told()}", patience)

    def told(self):
        return f"the model: {self.model.said()[-500:]!r} / " + " / ".join(f"{os.path.basename(run.command[0])}: {run.out[-700:]!r} {run.err[-700:]!r}" for run in self.runs)

    def decide(self, pending, decision="allow_once", **more):
        return self.admin.decided(pending["sessionId"], pending["toolCallId"], decision, **more)

    def events(self, **query):
        return self.admin.events(**query)

    def close(self):
        for run in self.runs:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(run.process.pid, 9)
            run.process.wait()
            if run.process.stdin:
                with contextlib.suppress(OSError):
                    run.process.stdin.close()
        self.model.close()
        for run in self.runs:
            for mark in ("Sanitizer", "nod: bug:", "runtime error:"):
                world.must(mark not in run.err, f"{run.command[:3]} complains: {run.err[-3000:]}")


class ClaudeDesk(Desk):
    def __init__(self, place, script, sub=(), version=NEW, serve=True):
        self.program = claude(version)
        super().__init__(place, Model(script, sub), serve)
        place.environment.update({
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "sk-dummy", "CLAUDE_CONFIG_DIR": self.config,
            "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_TMPDIR": place.folder, "IS_SANDBOX": "1",
            "NOD_CLAUDE": self.program})
        for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"):
            place.environment.pop(name, None)

    def claude(self, *arguments, given=None, **environment):
        """Claude Code itself, as a person would start it."""
        return self.run([self.program, *arguments], given, **environment)

    def settings(self, value):
        with open(os.path.join(self.config, "settings.json"), "w", encoding="utf-8") as file:
            json.dump(value, file)


def plan_file(d):
    """Where Claude Code told the model to write its plan."""
    plans = os.path.join(d.config, "plans")
    text = json.dumps(d.model.requests[-1]["messages"]) + json.dumps(d.model.requests[-1].get("system", ""))
    at = text.find(plans)
    return text[at:at + text[at:].find(".md") + 3] if at >= 0 else os.path.join(plans, "plan.md")


@contextlib.contextmanager
def desk(place, script, **more):
    one = ClaudeDesk(place, script, **more)
    try:
        yield one
    finally:
        one.close()
