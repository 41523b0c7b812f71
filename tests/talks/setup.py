"""nod setup: from an empty home to hooks that ask a person, and back to the same bytes."""
import json
import os
import re
import stat
import subprocess
import sys

from world import NOD, PATIENCE, Client, eventually, must

# Blanks, a comment and a hook of the person's own: nothing of it may be lost.
SETTINGS = b'{\n\t"model": "x",   // mine\n "hooks": {"PreToolUse": [ {"matcher":"Bash", "hooks":[{"type":"command","command":"true"}]} ]}}'
CONFIG = b'# mine\nmodel = "y"'  # no line break at its end


class Home:
    """A person's home with a Claude Code in it, and a project to work on."""

    def __init__(self, world, agents=("claude",), marks=(".git", "package.json")):
        self.world = world
        self.home = world.environment["HOME"]
        self.project = os.path.join(world.folder, "project")
        os.mkdir(self.project)
        for mark in marks:
            open(os.path.join(self.project, mark), "wb").close()
        os.mkdir(os.path.join(world.folder, "bin"))
        world.environment.update(PATH=os.path.join(world.folder, "bin") + ":/usr/bin:/bin", NOD_LISTEN="127.0.0.1:0")
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "DBUS_SESSION_BUS_ADDRESS"):
            world.environment.pop(name, None)
        if "claude" in agents:
            self.write(".claude/settings.json", SETTINGS)
        if "codex" in agents:
            self.write(".codex/config.toml", CONFIG)
        self.socket = os.path.join(world.data, "nod.sock")

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data)

    def program(self, name, text):
        path = os.path.join(self.world.folder, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def files(self, *roots):
        """Name and content of every file."""
        return {os.path.join(folder, name): open(os.path.join(folder, name), "rb").read()
                for root in roots or (self.home,) for folder, _, names in os.walk(root) for name in names}

    def run(self, *arguments, exits=0):
        run = subprocess.run([NOD, "setup", *arguments], cwd=self.project, env=self.world.environment, timeout=PATIENCE,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        must("Sanitizer" not in run.stderr and "nod: bug" not in run.stderr, run.stderr)
        must(run.returncode == exits, f"{arguments} ended with {run.returncode}: {run.stdout} {run.stderr}")
        return run

    def admin(self):
        return Client(self, open(os.path.join(self.world.data, "admin.token"), encoding="ascii").read().strip())

    def hook(self):
        """A call of Claude Code, by the command that stands in its settings."""
        written = open(self.path(".claude/settings.json"), encoding="utf-8").read().replace("// mine", "")
        command = json.loads(written)["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]
        message = {"session_id": "s1", "cwd": self.project, "permission_mode": "bypassPermissions", "tool_name": "Bash",
                   "hook_event_name": "PreToolUse", "tool_input": {"command": "touch made"}, "tool_use_id": "next"}
        # The agent is a process of its own: what starts the hook may not answer its question.
        agent = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1], shell=True).returncode)"
        run = subprocess.Popen([sys.executable, "-c", agent, command], cwd=self.project, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=self.world.environment)
        run.stdin.write(json.dumps(message))
        run.stdin.close()
        return run


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"  # nobody here waits for it
    except OSError:
        return True


def test_from_nothing_to_protected_and_back(world):
    home = Home(world, ("claude", "codex"))
    before = home.files()
    try:
        said = json.loads(home.run("--yes", "--background", "--json").stdout)
        must(said["service"] == "background" and said["page"].startswith("http://"), f"{said}")
        must({a["agent"]: a["testArrived"] for a in said["agents"]} == {"claude": True, "codex": True}, f"{said}")
        admin = home.admin()
        tests = [e["data"] for e in admin.events(types="TOOL_CALL") if e["data"]["id"].startswith("setup")]
        must(len(tests) == 2 and not admin.pending(), f"two test calls, both answered: {tests}")
        rules = [r["rule"] for r in admin.ok("GET", "/api/policy")["user"]]
        must("Bash(npm test:*)" in rules and "Bash(cargo test:*)" not in rules, f"{rules}")
        run = home.hook()
        one = eventually(lambda: admin.pending(), "the next call is asked about")[0]
        must(one["toolCall"]["input"]["command"] == "touch made", f"{one}")
        admin.decided(one["sessionId"], one["toolCallId"], "allow_once")
        must('"allow"' in run.stdout.read() and run.wait() == 0, "the answer does not reach the hook")
        installed = home.files()
        again = json.loads(home.run("--yes", "--background", "--json").stdout)
        must(again["service"] == "running" and again["rulesAdded"] == 0, f"{again}")
        must(home.files() == installed, "a second run changes files")
        must(len([t for t in admin.ok("GET", "/api/tokens")["tokens"] if t["role"] == "agent" and not t.get("revoked")]) == 2,
             "a second run makes tokens")
    finally:
        home.run("--remove", "--yes")
    must(home.files() == before, f"not as before: {set(home.files()) ^ set(before)}")
    eventually(lambda: gone(said["pid"]), "the server ends")
    must(not os.listdir(os.path.join(world.data, "identities")), "an identity stays")
    must(not os.path.exists(os.path.join(world.data, "setup")), "the record stays")
    must("nothing" in home.run("--remove", "--yes").stderr, "there is something left to remove")


def test_on_a_desktop_the_page_opens_logged_in(world):
    """By a file that only the person can read: the link stands in no list of processes."""
    home = Home(world)
    world.environment.update(DISPLAY=":99", DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere")
    home.write(".config/nod/config", b"public-url = https://nod.example:1\n")
    home.program("xdg-open", f'#!/bin/sh\necho "$1" >{world.folder}/opened\n')
    try:
        said = world.on_a_terminal("setup", "--yes", "--background", folder=home.project)
        must("opened in your browser" in said and "nod desktop" in said and "nod pair" in said, said)
        must("type this code where the page asks" in said, f"no login for the phone: {said}")
        with open(os.path.join(world.folder, "opened"), encoding="utf-8") as file:
            path = file.read().strip()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        link = re.search(r"https://nod.example:1/#login=\w+", said).group(0)
        must(f"url={link}" in text and stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"{said} {text}")
        plain = home.run("--yes").stdout
        must("opened in" not in plain and "type this code" not in plain, f"nobody sits there: {plain}")
    finally:
        home.run("--remove", "--yes")
    must(not os.path.exists(path), "the file stays")


def test_it_only_says_what_it_would_do(world):
    home = Home(world)
    before = home.files(home.home, home.project)
    shown = home.run("--dry-run", "--background").stdout
    for words in ("Claude Code", ".claude/settings.json", "Bash(npm test:*)", "nod serve"):
        must(words in shown, f"{words!r} is not in {shown}")
    refused = home.run("--background", exits=2)
    must("--yes" in refused.stderr and "Claude Code" in refused.stdout, f"{refused}")
    must(home.files(home.home, home.project) == before and not os.path.exists(world.data), "something was written")


def test_what_the_person_changed_meanwhile_stays(world):
    home = Home(world, ())
    home.program("claude", "#!/bin/sh\n")  # found by PATH: there are no settings yet
    try:
        home.run("--yes", "--background", "--no-rules")
        path = home.path(".claude/settings.json")
        value = json.load(open(path, encoding="utf-8"))
        must(not home.admin().ok("GET", "/api/policy")["user"], "rules were added")
        home.write(".claude/settings.json", json.dumps({"model": "new", **value}).encode())
    finally:
        home.run("--remove", "--yes")
    must(json.load(open(path, encoding="utf-8")) == {"model": "new"}, "the person's change is lost, or our hooks are not")


def test_with_no_settings_before_there_are_none_after(world):
    home = Home(world, ())
    home.program("claude", "#!/bin/sh\n")
    try:
        home.run("--yes", "--background")
        must(os.path.exists(home.path(".claude/settings.json")), "no hook")
    finally:
        home.run("--remove", "--yes")
    must(not os.path.exists(home.path(".claude")), f"{home.files()}")


# Stands for `systemctl --user` where no user manager can run: starts what the unit says, and keeps what it was told.
SYSTEMCTL = """#!/usr/bin/python3
import os, shlex, signal, subprocess, sys
home = os.environ["HOME"]
with open(home + "/../told", "a") as told:
    told.write(" ".join(sys.argv[1:]) + "\\n")
unit = home + "/.config/systemd/user/nod.service"
if sys.argv[2] == "enable":
    lines = dict(line.strip().split("=", 1) for line in open(unit) if "=" in line)
    environment = dict(word.split("=", 1) for word in shlex.split(lines["Environment"]))
    null = subprocess.DEVNULL
    run = subprocess.Popen(shlex.split(lines["ExecStart"]), env={**os.environ, **environment}, stdin=null, stdout=null, stderr=null,
                           start_new_session=True)
    open(home + "/../pid", "w").write(str(run.pid))
if sys.argv[2] == "disable":
    os.kill(int(open(home + "/../pid").read()), signal.SIGTERM)
"""


def test_a_unit_of_systemd(world):
    home = Home(world)
    home.program("systemctl", SYSTEMCTL)
    before = home.files()
    try:
        said = json.loads(home.run("--yes", "--json").stdout)
        unit = home.path(".config/systemd/user/nod.service")
        must(said["service"] == "systemd" and said["unit"] == unit and said["agents"][0]["testArrived"], f"{said}")
        must(stat.S_IMODE(os.stat(unit).st_mode) == 0o600, "others can read the unit")
        if os.path.exists("/usr/bin/systemd-analyze"):
            checked = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
            must("nod.service" not in checked.stdout, f"systemd does not take it: {checked.stdout}")
    finally:
        home.run("--remove", "--yes")
    told = open(os.path.join(world.folder, "told"), encoding="ascii").read()
    must("--user enable --now nod.service" in told and "--user disable --now nod.service" in told, told)
    must(home.files() == before, "not as before")
    eventually(lambda: gone(open(os.path.join(world.folder, "pid"), encoding="ascii").read()), "the server ends")
