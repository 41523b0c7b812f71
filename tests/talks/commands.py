"""The command line where a talk is too short for it."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.parse

from world import NOD, PATIENCE, eventually, must


def test_following_the_log_over_three_kills_without_gap_or_repeat(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    follower = world.start("log", "-f", "--json", "--after", "0", "--session", made["id"])
    eventually(lambda: follower.stdout, lambda: f"it follows: {follower.stderr}")  # a server that it never saw is an error to it
    number = 0
    for _ in range(3):
        for _ in range(30):
            admin.call(made["threadId"], "Read", {"file_path": "/x"}, id=f"c{number}")
            number += 1
        server.kill()
        server.start()
    admin.call(made["threadId"], "Read", {"file_path": "/x"}, id="last")
    kept = [e["seq"] for e in admin.events(session=made["id"], limit=1000)]
    eventually(lambda: follower.stdout.count("\n") >= len(kept), lambda: f"the last event: {follower.stderr}", 2 * PATIENCE)
    seen = [json.loads(line)["seq"] for line in follower.stdout.splitlines()]
    must(seen == kept, f"a gap or a repeat: {seen}")
    must(follower.process.poll() is None, "it goes on")


def test_a_call_makes_its_own_session(world):
    server = world.server()
    admin = server.admin()
    command = world.start("call", "Bash", "-", "--wait", "--id", "c1", given='{"command":"from stdin"}')
    eventually(lambda: admin.pending(), "it waits")
    one = admin.pending()[0]
    must(one["toolCall"]["input"] == {"command": "from stdin"}, f"{one}")
    must(one["sessionId"] in [s["id"] for s in admin.ok("GET", "/api/sessions")["sessions"]], "in a session of its own")
    world.nod("approve", "c1")
    must(command.wait() == 0, command.stderr)


def test_a_session_from_the_environment(world):
    server = world.server()
    admin = server.admin()
    made = admin.session(cwd="/p")
    world.nod("call", "Read", '{"file_path":"/p/x"}', environment={"NOD_SESSION": made["id"]})
    must(len(admin.events(session=made["id"], types="TOOL_CALL")) == 1, "in the session of NOD_SESSION")


def test_a_hint_can_be_copied_into_a_shell(world):
    """Agents choose the ids of their calls."""
    admin = world.server().admin()
    session = admin.session(toolPolicies={"Bash": "ask"})
    place = os.path.join(world.folder, "shell")
    os.mkdir(place)
    for name in ("c1;id>made", "$(id>made)", "c2|tee<made>made", "-y", "--all", "*"):
        asked = world.nod("call", "Bash", '{"command":"true"}', "--session", session["id"], "--id", name, exits=None)
        hint = re.search(r"nod approve (.*)", asked.stderr)
        must(hint, f"a hint: {asked.stdout!r} {asked.stderr!r}")
        shell = subprocess.run(["sh", "-c", f"'{NOD}' approve {hint[1]}"], cwd=place, env=world.environment, capture_output=True, text=True)
        must(shell.returncode == 0, f"{name}: {hint[1]}: {shell.stderr}")
        must(admin.status(urllib.parse.quote(name, safe=""))["decision"] == "allow_once", name)
    must(os.listdir(place) == [], f"the shell saw words only: {os.listdir(place)}")


def test_what_an_agent_brings_can_be_listed(world):
    """As deep as it may be: within the list of what waits it is deeper, and one call must not hide the others."""
    admin = world.server().admin()
    thread, taken = admin.session()["threadId"], 0
    for depth in range(105, 128):
        reply = admin.post(f"/api/threads/{thread}/tool-calls",
                           {"name": "Other", "input": json.loads('{"x":' + "[" * depth + "]" * depth + "}")})
        must(reply.status in (200, 201, 202, 400), reply)
        taken += reply.status != 400
    must(0 < taken < 20, taken)
    listed = json.loads(world.nod("pending", "--json").stdout)["pendingApprovals"]
    must(len(listed) == taken and "Other" in world.nod("pending").stdout, "they are not listed")


def test_over_a_url(world):
    server = world.server()
    made = server.admin().session(cwd="/p")
    environment = {"NOD_URL": f"http://127.0.0.1:{server.port}", "NOD_TOKEN": server.admin_token, "NOD_DATA": "/nonexistent"}
    world.nod("call", "Read", '{"file_path":"/p/x"}', "--session", made["id"], environment=environment)
    world.nod("pending", "--url", f"http://127.0.0.1:{server.port}")
    world.nod("pending", "--url", "http://127.0.0.1:1", exits=6)


def test_verify_beside_a_busy_server_and_on_a_copy(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    stop = threading.Event()

    def work():
        number = 0
        while not stop.is_set():
            admin.call(made["threadId"], "Bash", {"command": "x" * 100}, id=f"c{number}")
            number += 1
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            world.nod("verify")
    finally:
        stop.set()
        thread.join(PATIENCE)
    server.stop()
    copy = os.path.join(world.folder, "copy")
    shutil.copytree(world.data, copy)
    world.nod("verify", "--data", copy)
    world.nod("verify", "--data", os.path.join(world.folder, "nothing"), exits=None)


def test_every_answer_is_JSON_when_asked(world):
    server = world.server()
    admin = server.admin()
    made = admin.session(cwd="/p")
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c1")
    token = admin.token_for("viewer", "v").id
    rows = [["pending"], ["show", "c1"], ["session", "list"], ["session", "show", made["id"]], ["session", "create"],
            ["session", "set", made["id"], "--title", "x"], ["token", "list"], ["token", "create", "--role", "viewer", "--name", "w"],
            ["approve", "c1"], ["call", "Read", '{"file_path":"/p/x"}', "--session", made["id"]], ["doctor"], ["verify"], ["config"], ["version"],
            ["token", "revoke", token]]
    for arguments in rows:
        command = world.nod(*arguments, "--json")
        try:
            json.loads(command.stdout)
        except ValueError:
            must(False, f"nod {' '.join(arguments)} --json prints {command.stdout!r}")
    for line in world.nod("log", "--json").stdout.splitlines():
        must("seq" in json.loads(line), line)


def test_errors_are_words_on_standard_error(world):
    server = world.server()
    server.admin().session()
    for arguments, status in ((["show", "none"], 4), (["approve", "none"], 4), (["token", "create", "--role", "king", "--name", "x"], 2),
                              (["session", "show", "none"], 4), (["call", "Bash", "not json"], 2), (["log", "--type", "NOTHING"], 2),
                              (["serve", "--listen", "nowhere", "--data", world.data], None), (["pending", "--bogus"], 2)):
        command = world.nod(*arguments, exits=status)
        must(command.stderr.splitlines()[-1].startswith("nod: ") and not command.stdout, f"{arguments}: {command.stdout!r} {command.stderr!r}")
        must(command.process.returncode != 0, f"{arguments}")
    said = world.nod("policy", exits=2).stderr
    must("nod policy needs a subcommand: list, add, lint, remove" in said, said)


def test_help_of_a_command_is_its_own_options(world):
    """What most commands share is told once, by `nod help settings`."""
    said = world.nod("pending", "--help").stdout
    must("--watch" in said and "--token-file" not in said, said)
    must("Settings such as --data, --url, --json, --color: nod help settings\n" in said, said)
    must(world.nod("help", "pending").stdout == said, "nod help COMMAND differs from nod COMMAND --help")
    must(world.nod("help", "policy", "add").stdout == world.nod("policy", "add", "--help").stdout, "a command of two words")
    served = world.nod("serve", "--help").stdout
    must("--listen HOST:PORT" in served and "--store URL" in served and "--token-file" not in served, served)
    must("Settings such as --data: nod help settings\n" in served, served)
    told = world.nod("help", "settings").stdout
    manual = world.nod("man").stdout
    for setting in json.loads(world.nod("config", "--json").stdout)["settings"]:
        only_environment = setting["name"] in ("token", "session", "anthropic-key", "openai-key")
        must(only_environment or re.search(rf"^ +--{setting['name']}\b", told, re.M), f"{setting}: {told}")
    for name in ("--token-file", "NOD_TOKEN ", "NOD_SESSION ", "--claude ", "--listen ", "--store ", "--color "):
        must(told.count("  " + name) == 1, f"{name}: {told}")
        must(name.strip().replace("-", "\\-") in manual, f"{name} is not in the manual")


def test_an_idle_gate_and_a_mistake_say_what_to_do_next(world):
    world.server()
    headings = [f"\n{name}:\n  " for name in ("Begin", "Sessions and calls", "Answer", "Agents", "Look back", "Rules", "People and keys", "Operate",
                                              "Messages and phones", "More")]
    for arguments, status, words in (([], 2, ["nod setup", "nod help settings"]), (["help"], 0, ["nod setup", "nod help settings", *headings]),
                                     (["pending"], 0, ["nothing is waiting", "nod pending --watch"]),
                                     (["approve"], 4, ["nothing is waiting", "nod pending --watch"]),
                                     (["answer"], 4, ["no question is waiting", "nod pending"]),
                                     (["show", "c0ffee"], 4, ["c0ffee", "nod pending", "nod log"]),
                                     (["log", "-s", "c0ffee"], 4, ["c0ffee", "nod session list"]),
                                     (["token", "revoke", "c0ffee"], 4, ["c0ffee", "nod token list"]),
                                     (["session", "show", "c0ffee"], 4, ["c0ffee", "nod session list"]),
                                     (["pendig"], 2, ["did you mean nod pending?"]), (["help", "pendig"], 2, ["did you mean nod pending?"]),
                                     (["policy", "add", "maybe", "Bash(x)"], 2, ["'maybe' is not an effect: give allow, ask or deny"]),
                                     (["pending", "--wach"], 2, ["did you mean --watch?", "nod pending --help"])):
        command = world.nod(*arguments, exits=status)
        said = command.stdout + command.stderr
        must(all(word in said for word in words), f"nod {' '.join(arguments)}: {said}")


def test_doctor_finds_what_is_wrong(world):
    server = world.server()
    server.stop()
    os.chmod(os.path.join(world.data, "admin.token"), 0o644)
    command = world.nod("doctor", exits=1)
    must("admin.token" in command.stdout + command.stderr, f"{command.stdout}")
    os.chmod(os.path.join(world.data, "admin.token"), 0o600)
    os.chmod(world.data, 0o755)
    command = world.nod("doctor", exits=1)
    must(world.data in command.stdout + command.stderr, f"{command.stdout}")


def test_doctor_suggests_an_archive(world):
    os.makedirs(world.data, mode=0o700)
    path = os.path.join(world.data, "nod.db")
    for size, suggests in ((1 << 20, False), (2 << 30, True)):
        with open(path, "wb") as file:
            file.truncate(size)  # holes take no room
        os.chmod(path, 0o600)
        said = json.loads(world.nod("doctor", "--json", "--store", "sqlite:" + path, exits=1).stdout)
        store = next(check for check in said["checks"] if check["check"] == "store")
        must(("nod archive" in store.get("advice", "")) == suggests, f"{store}")


def test_settings_from_a_file(world):
    path = os.path.join(world.folder, "config")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# mine\nlisten = 127.0.0.1:4711\n")
    shown = world.nod("config", "--config", path).stdout
    must("127.0.0.1:4711" in shown and path in shown, f"the value and where it is from: {shown}")
    must("127.0.0.1:4712" in world.nod("config", "--config", path, environment={"NOD_LISTEN": "127.0.0.1:4712"}).stdout, "environment over file")
    for text in ("nonsense = 1\n", "listen\n", "log-level = loud\n"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n" + text)
        command = world.nod("config", "--config", path, exits=2)
        must(f"{path}:2" in command.stderr, f"file and line: {command.stderr}")
    world.nod("config", "--config", os.path.join(world.folder, "missing"), exits=None)
    example = world.nod("config", "--example").stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(example)
    world.nod("config", "--config", path)


def test_the_log_in_other_formats(world):
    server = world.server()
    admin = server.admin()
    session = admin.session(title="formats")
    call = admin.call(session["threadId"], "Bash", {"command": "echo \"=a\",\n b"})
    lines = world.nod("log", "--session", session["id"], "--format", "cloudevents").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    asked = [e for e in events if e["type"] == "nod.tool.approval.request.v1"][0]
    must(asked["specversion"] == "1.0" and asked["subject"] == call["toolCallId"] and asked["source"] == f"/nod/sessions/{session['id']}", f"{asked}")
    must(asked["id"] == asked["sequence"] and asked["data"]["toolCallId"] == call["toolCallId"], f"{asked}")
    kept = [json.loads(line) for line in world.nod("log", "--session", session["id"], "--format", "jsonl").stdout.splitlines()]
    must([str(e["seq"]) for e in kept] == [e["id"] for e in events], "not the same events")
    rows = list(csv.DictReader(io.StringIO(world.nod("log", "--session", session["id"], "--format", "csv").stdout)))
    must([r["seq"] for r in rows] == [e["id"] for e in events] and all(json.loads(r["data"]) for r in rows), f"{rows}")
    must("--format is" in world.nod("log", "--format", "xml", exits=2).stderr, "an unknown format")
