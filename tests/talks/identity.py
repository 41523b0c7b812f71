"""Programs that agents start: who they are, and to which server alone they speak."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading

from world import NOD, PATIENCE, Client, eventually, must

ALLOW = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'


class Impostor:
    """Answers every request with an allow and keeps what it was sent."""

    def __init__(self, address, answer=ALLOW, headers=b""):
        self.heard = b""
        self.answer, self.headers = answer, headers
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.bind(address)
        self.socket.listen(16)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(PATIENCE)
                got = b""
                while b"\r\n\r\n" not in got:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    got += piece
                self.heard += got
                if not got:
                    continue
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s"
                                   % (len(self.answer), self.headers, self.answer))

    def close(self):
        self.socket.close()


def installed(world, server):
    """The hook's identity file and its command, as `nod hook install` writes them."""
    settings = os.path.join(world.folder, "project", ".claude", "settings.json")
    os.makedirs(os.path.dirname(settings), exist_ok=True)
    world.nod("hook", "install", "claude", "--yes", "--settings", settings)
    written = json.load(open(settings))["hooks"]["PreToolUse"][0]["hooks"][0]
    return re.search(r"--identity (\S+)", written["command"]).group(1), written


def message(world, tool="Bash", given=None, **more):
    return json.dumps({"session_id": "s1", "cwd": os.path.join(world.folder, "project"), "permission_mode": "bypassPermissions", "tool_name": tool,
                       "hook_event_name": "PreToolUse", "tool_input": given or {"command": "ls"}, **more})


def hook(world, identity, text, environment=None, more=()):
    options = ["--identity", identity] if identity else []
    run = subprocess.run([NOD, "hook", "claude", "--wait", "1", *options, *more], input=text, text=True, timeout=PATIENCE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
    must("Sanitizer" not in run.stderr, run.stderr)
    said = json.loads(run.stdout or "{}").get("hookSpecificOutput", {})
    return said.get("permissionDecision"), said.get("permissionDecisionReason", "") + run.stderr


def start_hook(world, identity):
    run = subprocess.Popen([NOD, "hook", "claude", "--wait", "300", "--identity", identity], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run.stdin.write(message(world, given={"command": "make"}).encode())
    run.stdin.close()
    return run


def test_a_hook_that_is_ended_takes_its_question_back(world):
    server = world.server()
    admin = server.admin()
    identity, _ = installed(world, server)
    # The question is there, and its asker waits: the count alone may still be of the hook before.
    waits = lambda: len(admin.pending()) == 1 and b"\nnod_waiting_clients 1\n" in admin.get("/metrics").body
    for end in (lambda run: run.terminate(), lambda run: run.stdout.close()):
        run = start_hook(world, identity)
        eventually(waits, "it waits")
        end(run)
        eventually(lambda: not admin.pending(), "the question goes")
        must(run.wait(PATIENCE) in (0, 2, -signal.SIGPIPE), f"it ended with {run.returncode}")
    run = start_hook(world, identity)
    eventually(waits, "it waits")
    run.kill()
    run.wait(PATIENCE)
    eventually(lambda: admin.pending()[0].get("nobodyWaits"), "one that is killed is marked")


def test_a_hook_has_a_token_of_its_own(world):
    server = world.server()
    admin = server.admin()
    identity, written = installed(world, server)
    kept = json.load(open(identity))
    must(stat.S_IMODE(os.stat(identity).st_mode) == 0o600, "others can read it")
    must(set(kept) == {"address", "serverUid", "serverKey", "token", "tokenId", "name"}, f"{set(kept)}")
    must(kept["token"] != server.admin_token, "it is the admin's token")
    must("nod watch" in written["statusMessage"], f"{written}")
    listed = [t for t in admin.ok("GET", "/api/tokens")["tokens"] if t["name"] == kept["name"]]
    must([t["role"] for t in listed] == ["agent"], f"{listed}")
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls)"})
    must(hook(world, identity, message(world, tool_use_id="t1"))[0] == "allow", "a rule allows it")
    one = [e for e in admin.events(types="TOOL_CALL") if e["data"]["id"] == "t1"]
    must([e["actor"] for e in one] == [kept["name"]], f"asked under its own name: {one}")
    must(installed(world, server)[0] == identity, "installed again it stays")
    must(len([t for t in admin.ok("GET", "/api/tokens")["tokens"] if t["role"] == "agent"]) == 1, "one token")
    everything = json.dumps(admin.events(limit=1000))
    must(kept["token"] not in everything, "the token is in an event")
    must('"hash"' not in json.dumps(admin.events(limit=1000, types="TOKEN_CHANGED")), "the digest of a token is told")
    world.nod("token", "revoke", kept["tokenId"])
    decision, words = hook(world, identity, message(world, tool_use_id="t2"))
    must(decision == "deny" and "revoked" in words, f"{decision} {words}")


def test_nothing_that_a_repository_sets_counts(world):
    server = world.server()
    server.admin().ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Bash(ls)"})
    identity, _ = installed(world, server)
    evil = os.path.join(world.folder, "evil")
    os.makedirs(os.path.join(evil, ".config", "nod"))
    os.makedirs(os.path.join(evil, "nod"))
    address = os.path.join(evil, "nod.sock")
    impostor = Impostor(address)
    tcp = Impostor(("127.0.0.1", 0))
    for path in (".config/nod/config", "nod/config", "config"):
        with open(os.path.join(evil, path), "w") as file:
            file.write(f"url = unix:{address}\nsocket = {address}\n")
    for name, value in (("NOD_URL", "http://127.0.0.1:%d" % tcp.socket.getsockname()[1]), ("NOD_URL", "unix:" + address),
                        ("NOD_SOCKET", address), ("NOD_CONFIG", os.path.join(evil, "config")), ("NOD_DATA", evil),
                        ("HOME", evil), ("XDG_CONFIG_HOME", evil), ("XDG_DATA_HOME", evil), ("NOD_TOKEN", "nod_x"),
                        ("NOD_SESSION", "ses_x"), ("OPENSSL_CONF", os.path.join(evil, "config"))):
        decision, words = hook(world, identity, message(world, tool_use_id="t" + name), {name: value})
        must(decision == "deny" and "rule" in words, f"{name}: {decision} {words}")
        must(not impostor.heard and not tcp.heard, f"{name}: the impostor was asked")


def test_an_impostor_at_the_pinned_address_learns_nothing_and_allows_nothing(world):
    server = world.server()
    identity, _ = installed(world, server)
    kept = json.load(open(identity))
    address = kept["address"][5:]
    server.kill()
    os.unlink(address)
    impostor = Impostor(address)
    decision, words = hook(world, identity, message(world, tool_use_id="t1"))
    must(decision == "deny" and "not the nod server" in words, f"{decision} {words}")
    must(b"Authorization: Nod " in impostor.heard, f"{impostor.heard[:200]}")
    must(kept["token"].encode() not in impostor.heard and kept["token"][4:].encode() not in impostor.heard, "it heard the token")
    impostor.headers = b"Nod-Proof: %s\r\n" % (b"00" * 64)
    must(hook(world, identity, message(world, tool_use_id="t2"))[0] == "deny", "a made up signature counts")
    other = dict(kept, serverUid=kept["serverUid"] + 1)
    path = os.path.join(world.folder, "other.json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump(other, file)
    heard = impostor.heard
    decision, words = hook(world, path, message(world, tool_use_id="t3"))
    must(decision == "deny" and "another user" in words and impostor.heard == heard, f"{decision} {words}")
    impostor.close()
    os.unlink(address)


def whole(connection):
    """A request or an answer to the end of its body, however many pieces it comes in."""
    connection.settimeout(PATIENCE)
    got = b""
    while not (found := re.search(rb"(?is)content-length: (\d+).*?\r\n\r\n", got)) or len(got) < found.end() + int(found[1]):
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    return got


def test_an_answer_counts_for_its_own_question_only(world):
    """Whoever hears one allow cannot use it for another call."""
    server = world.server()
    server.admin().ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls)"})
    identity, _ = installed(world, server)
    kept = json.load(open(identity))
    real, front = kept["address"][5:], os.path.join(world.folder, "front.sock")
    path = os.path.join(world.folder, "fronted.json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump(dict(kept, address="unix:" + front), file)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(front)
    listener.listen(4)
    said = []

    def relay():
        connection, _ = listener.accept()
        with connection, socket.socket(socket.AF_UNIX) as back:
            back.connect(real)
            back.sendall(whole(connection))
            said.append(whole(back))
            connection.sendall(said[0])
        connection, _ = listener.accept()
        with connection:
            whole(connection)
            connection.sendall(said[0])
    threading.Thread(target=relay, daemon=True).start()
    must(hook(world, path, message(world, tool_use_id="t1"))[0] == "allow", "passed on as it is, it counts")
    must(b"Nod-Proof: " in said[0], f"{said}")
    decision, words = hook(world, path, message(world, given={"command": "rm -rf /"}, tool_use_id="t2"))
    must(decision == "deny" and "not the nod server" in words, f"{decision} {words}")
    listener.close()


def test_identity_files_that_are_not_used(world):
    server = world.server()
    server.admin().ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls)"})
    identity, _ = installed(world, server)
    must(hook(world, identity, message(world, tool_use_id="t0"))[0] == "allow", "the file itself works")
    link = os.path.join(world.folder, "link.json")
    os.symlink(identity, link)
    for path, words in ((link, "is a link"), (None, "nod hook install"), (os.path.join(world.folder, "no.json"), "No such file"),
                        ("relative.json", "absolute path")):
        decision, said = hook(world, path, message(world, tool_use_id="t1"))
        must(decision == "deny" and words in said, f"{path}: {decision} {said}")
    os.chmod(identity, 0o622)
    decision, said = hook(world, identity, message(world, tool_use_id="t2"))
    must(decision == "deny" and "written by others" in said, f"{decision} {said}")


def test_the_old_way_of_hooks_denies(world):
    """A hook that was installed before identities were: it names a data folder, and fails closed."""
    server = world.server()
    server.admin().ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(ls)"})
    run = subprocess.run([NOD, "--data", server.data, "hook", "claude", "--wait", "1"], input=message(world), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    must('"deny"' in run.stdout and "nod hook install" in run.stdout, f"{run.stdout} {run.stderr}")


def test_a_proof_binds_body_and_token(world):
    server = world.server()
    identity, _ = installed(world, server)
    kept = json.load(open(identity))
    anyone = Client(server, None)
    for header in ("Nod", f"Nod {kept['tokenId']} {'0' * 64} {'0' * 64} {'0' * 64}", f"Nod tok_x {'0' * 64} {'0' * 64} {'0' * 64}",
                   f"Nod {kept['tokenId']}"):
        answer = anyone.request("GET", "/api/me", headers={"Authorization": header})
        must(answer.status == 401, f"{header}: {answer}")
    must(Client(server, kept["token"]).get("/api/me").json["role"] == "agent", "as a bearer token it works elsewhere")


def test_children_see_nothing_of_ours(world):
    server = world.server()
    seen = os.path.join(world.folder, "seen")
    fake = os.path.join(world.folder, "claude")
    with open(fake, "w") as file:
        file.write(f"#!/bin/sh\nenv > {seen}\n")
    os.chmod(fake, 0o755)
    world.start("claude", "-p", "x", environment={"NOD_CLAUDE": fake, "NOD_TOKEN": server.admin_token, "NOD_LOG_LEVEL": "debug"})
    eventually(lambda: os.path.exists(seen) and open(seen).read().endswith("\n"), "the agent was started")
    text = open(seen).read()
    must("NOD_" not in text and server.admin_token not in text, text)
    names = [t["name"] for t in server.admin().ok("GET", "/api/tokens")["tokens"] if t["role"] == "agent"]
    must(names and names[0].startswith("claude in "), f"{names}")


def doctor(world):
    run = world.nod("doctor", exits=None)
    return [line for line in run.stdout.splitlines() if "hooks" in line][0]


def test_doctor_looks_at_hooks(world):
    server = world.server()
    must("none are installed" in doctor(world), doctor(world))
    world.nod("hook", "install", "claude", "--yes")
    world.nod("hook", "install", "codex", "--yes")
    must("claude (no call yet), codex (no call yet)" in doctor(world) and "ok" in doctor(world), doctor(world))
    written = json.load(open(os.path.join(world.environment["HOME"], ".claude", "settings.json")))["hooks"]["PreToolUse"][0]["hooks"][0]
    hook(world, re.search(r"--identity (\S+)", written["command"]).group(1), message(world, given={"command": "make"}))
    must(re.search(r"claude \(last call [0-9T:-]+", doctor(world)) and "codex (no call yet)" in doctor(world), doctor(world))
    home = world.environment["HOME"]
    config = os.path.join(home, ".codex", "config.toml")
    text = open(config).read()
    must('[hooks.state."' in text and 'trusted_hash = "sha256:' in text, text)
    with open(config, "w") as file:
        file.write(text.replace("sha256:", "sha256:0"))
    must("does not trust" in doctor(world), doctor(world))
    world.nod("hook", "install", "codex", "--yes")
    must("codex (no call yet): the server answers them" in doctor(world), doctor(world))
    path = os.path.join(home, ".claude", "settings.json")
    settings = json.load(open(path))
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/usr/bin/nod --data /x hook claude --wait 86370"
    with open(path, "w") as file:
        json.dump(settings, file)
    must("older nod" in doctor(world) and "nod hook install claude" in doctor(world), doctor(world))
    world.nod("hook", "install", "claude", "--yes")
    server.stop()
    must("deny everything" in doctor(world), doctor(world))


def test_settings_with_comments_keep_them(world):
    world.server()
    path = os.path.join(world.folder, "settings.json")
    text = '// mine\n{\n  "theme": "dark", // with "quotes"\n  /* "hooks": {} */\n  "list": [1, 2,],\n}\n'
    with open(path, "w") as file:
        file.write(text)
    world.nod("hook", "install", "gemini", "--yes", "--settings", path)
    written = open(path).read()
    for part in ("// mine", '// with "quotes"', '/* "hooks": {} */', '"BeforeTool"', '"list": [1, 2,]'):
        must(part in written, written)
    must("nothing to change" in world.nod("hook", "install", "gemini", "--yes", "--settings", path).stderr, "written twice")
    world.nod("hook", "remove", "gemini", "--yes", "--settings", path)
    must("BeforeTool" not in open(path).read() and "// mine" in open(path).read(), open(path).read())


def test_without_a_server_install_says_what_will_happen_and_can_start_one(world):
    path = os.path.join(world.folder, "settings.json")
    refused = world.nod("hook", "install", "--yes", "--settings", path, exits=None)
    must("refuses every call" in refused.stderr and "--start" in refused.stderr, refused.stderr)
    must(not os.path.exists(path), "written without a server")
    environment = {"NOD_LISTEN": "127.0.0.1:0"}
    made = world.nod("hook", "install", "--yes", "--start", "--settings", path, environment=environment, exits=None)
    pid = int(re.search(r"process (\d+)", made.stderr).group(1))
    try:
        must(os.path.exists(path) and "PreToolUse" in open(path).read(), f"not written: {made.stderr}")
        identity = re.search(r"--identity ([^\s\"]+)", open(path).read()).group(1)
        must(hook(world, identity, message(world, tool_use_id="t1"))[0] == "deny", "the server does not answer")
    finally:
        os.kill(pid, 15)
