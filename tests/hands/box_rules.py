"""What rules open in a box, commands that are to run outside of one, and when there is one at all."""
import http.server
import os
import socket
import subprocess
import threading

from egress import allow_all, boxed
from stage import results_in, use
from world import eventually, must, within

BYPASS = "bypassPermissions"


def seen(stage, command, *rules, **more):
    return boxed(stage, command, *((rule, "allow") for rule in rules), **more)[0]


def test_files_and_folders(stage):
    """box.read and box.write; what a deny rule of any layer names stays closed, and a session's rule opens nothing."""
    outside = os.path.join(stage.folder, "outside")
    for name in ("read", "both", "closed"):
        os.makedirs(os.path.join(outside, name))
        with open(os.path.join(outside, name, "file"), "w", encoding="ascii") as file:
            file.write(f"this is {name}\n")
    command = (f"cat {outside}/read/file {outside}/both/file {outside}/closed/file 2>&1; "
               f"echo new > {outside}/both/new; echo no > {outside}/read/new; echo kept > {outside}/cache/deep/x; true")
    text, run = boxed(stage, command, (f"box.read(/{outside}/read)", "allow"), (f"box.write(/{outside}/both)", "allow"),
                      (f"box.write(/{outside}/cache/deep/)", "allow"), (f"box.read(/{outside}/closed)", "allow"),
                      (f"box.read(/{outside}/closed)", "deny"))
    must("this is read" in text and "this is both" in text and "this is closed" not in text, text)
    must("Read-only file system" in text, text)
    must(os.path.exists(f"{outside}/both/new") and not os.path.exists(f"{outside}/read/new"), os.listdir(f"{outside}/read"))
    must(os.path.exists(f"{outside}/cache/deep/x"), "the folder of a rule is made")


def test_nod_s_own_data_is_never_opened(stage):
    text = seen(stage, f"cat {stage.data}/admin.token 2>&1; ls {stage.data} 2>&1",
                f"box.read(/{stage.data}/admin.token)", f"box.read(/{stage.data}/)", during=allow_all)
    must("nod_" not in text and "nod.db" not in text, text)


def test_ports_and_sockets(stage):
    """A port of this machine, and a socket, by a rule that names it; without one neither is there."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"from the port")

        def log_message(self, *_):
            pass
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    port = web.server_address[1]
    path = os.path.join(stage.folder, "agent.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def answer():
        end, _ = listener.accept()
        end.sendall(b"from the socket")
        end.close()
    threading.Thread(target=answer, daemon=True).start()
    command = (f"python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:{port}/\", timeout=10).read())' 2>&1 | tail -1; "
               f"python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"{path}\"); print(s.recv(100))' 2>&1 | tail -1")
    text, run = boxed(stage, command, (f"box.port({port})", "allow"), (f"box.socket(/{path})", "allow"))
    must("from the port" in text and "from the socket" in text, text)
    must([(e["data"]["host"], e["data"]["port"]) for e in run.events("EGRESS")][0] == ("localhost", port), run.events("EGRESS"))
    web.shutdown()
    web.server_close()
    listener.close()


def test_without_rules_there_is_neither(stage):
    listener = socket.create_server(("127.0.0.1", 0))
    text = seen(stage, f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {listener.getsockname()[1]}))' 2>&1 | tail -1")
    must("refused" in text, text)
    listener.close()


def test_a_rule_that_comes_later_is_asked_about_again(stage):
    """What is opened is part of what was answered."""
    outside = os.path.join(stage.folder, "outside")
    os.makedirs(outside)
    model = stage.model([{"tools": [use(1, "Bash", command=f"touch {outside}/x && echo wrote")]}, {"text": "done"}])
    client = stage.serve(model, "--sandbox").admin()
    run = stage.begin(client)
    first = run.pending()[0]
    must(first["box"] == "inside" and "Runs in the box." in stage.nod("show", first["toolCallId"]).stdout, first)
    client.ok("POST", "/api/policy/rules", {"rule": f"box.write(/{outside})", "effect": "allow"})
    client.decided(run.session, first["toolCallId"], "allow_once", digest=first["digest"])
    second = run.pending()[0]
    must(second["toolCallId"] != first["toolCallId"] and second["digest"] != first["digest"], second)
    must(not os.path.exists(f"{outside}/x"), "it ran with another box than the one that was allowed")
    run.answer()
    run.over()
    must(os.path.exists(f"{outside}/x"), "it did not run")


def test_outside_is_a_question(stage):
    """Not even a session that lets everything pass runs a command outside by itself."""
    reasons = []

    def allow(run):
        one = run.pending()[0]
        reasons.append(one.get("reason") or one.get("why"))
        must(one["box"] == "outside", one)
        run.client.decided(run.session, one["toolCallId"], "allow_once", digest=one["digest"])

    text, _ = boxed(stage, "hostname; test -e /etc/shadow && echo outside", during=allow, outside=True)
    must("outside" in text and "box" not in text.split(), text)
    must("outside the box" in str(reasons), reasons)


def git(project, *arguments):
    return subprocess.run(["git", "-C", project, *arguments], capture_output=True, text=True, check=True).stdout


def test_plain_git_may_write_the_repository(stage):
    """Lines of plain git commands commit; a script does not; neither leaves a hook behind."""
    git(stage.project, "init", "-q")
    git(stage.project, "config", "user.email", "a@b.c")
    git(stage.project, "config", "user.name", "a")
    stage.write("commit.sh", "git add -A && git commit -qm by-script\n")
    stage.write("file", "x\n")
    uses = ["git add file && git commit -q -m 'a message' && git log --oneline | head -1",
            "sh commit.sh; echo 'touch /tmp/x' > .git/hooks/pre-commit",
            "git add file; echo evil > .git/hooks/post-commit",
            "git -c core.hooksPath=. commit --allow-empty -m x",
            "git commit --allow-empty -m x && sh commit.sh"]
    model = stage.model([{"tools": [use(i, "Bash", command=one)]} for i, one in enumerate(uses)] + [{"text": "done"}])
    run = stage.begin(stage.serve(model, "--sandbox", "--max-iterations", "10").admin(), permissionMode=BYPASS)
    allow_all(run)
    must(run.over()["status"] == "completed", run.state())
    told = [one["content"] for one in results_in(model.requests[-1])]
    must("a message" in told[0], told)
    must(all("Read-only" in one or "read-only" in one for one in told[1:]), told)
    must(git(stage.project, "log", "--format=%s").split("\n")[0] == "a message", git(stage.project, "log", "--format=%s"))
    must(not os.path.exists(stage.path(".git/hooks/pre-commit")) and not os.path.exists(stage.path(".git/hooks/post-commit")),
         os.listdir(stage.path(".git/hooks")))


def test_a_rule_opens_the_repository(stage):
    git(stage.project, "init", "-q")
    stage.write("commit.sh", "git add -A && git -c user.name=a -c user.email=a@b.c commit -qm by-script; echo x > .git/hooks/a\n")
    text = seen(stage, "sh commit.sh", "box.write(/.git/)")
    must("Read-only" in text and git(stage.project, "log", "--format=%s").strip() == "by-script", text)


def hostname_of(stage, number, **more):
    model = stage.model([{"tools": [use(number, "Bash", command="hostname")]}, {"text": "done"}])
    server = stage.serve(model, **more)
    run = stage.begin(server.admin(), permissionMode=BYPASS)
    run.over()
    text = results_in(model.requests[-1])[0]["content"].strip()
    server.stop()
    return text, server.log()


def test_new_installations_have_it(stage):
    """On where nothing says otherwise and nothing was there before; an older one is told once, and stays as it was."""
    del stage.environment["NOD_SANDBOX"]
    text, log = hostname_of(stage, 1)
    must(text == "box" and "commands run in a box" in log, (text, log))
    text, log = hostname_of(stage, 2)
    must(text == "box", "it forgot")
    os.unlink(f"{stage.data}/box")
    text, log = hostname_of(stage, 3)
    must(text != "box" and "can run in a box now" in log, log)
    text, log = hostname_of(stage, 4)
    must(text != "box" and "can run in a box now" not in log and "without a box" in log, log)
    os.unlink(f"{stage.data}/box")
    stage.environment["NOD_SANDBOX"] = "yes"
    text, log = hostname_of(stage, 5)
    must(text == "box" and not os.path.exists(f"{stage.data}/box"), "a setting is kept, and nothing is decided beside it")


def test_it_is_told_while_nobody_asks(stage):
    """The server learns it beside its start, and may sleep by then."""
    server = stage.server("--sandbox")
    server.stop()
    server.start(wait=False)
    eventually(lambda: "commands run in a box" in server.log() or "no box can be made" in server.log(), lambda: f"nothing of the box: {server.log()}",
               within(3))
    server.stop()
