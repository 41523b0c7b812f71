"""Each example of the Python library, with the real framework and a scripted model: the same four mails."""
import base64
import hashlib
import hmac
import http.server
import importlib.util
import json
import os
import subprocess
import sys
import threading

from stage import CLIENTS, PATIENCE, PYTHON, Stage, play_four, python_with
from world import ROOT, Client, eventually, must

EXAMPLES = os.path.join(CLIENTS, "python", "examples")


def frameworks():
    return python_with("frameworks")


def scripted_model(script):
    """The model of tests/real, which speaks the Messages API."""
    spec = importlib.util.spec_from_file_location("real_model", os.path.join(ROOT, "tests", "real", "model.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model(script)


def play(world, name, python=sys.executable, arguments=(), **more):
    stage = Stage(world)
    world.environment.update({"PYTHONPATH": PYTHON, "PYTHONUNBUFFERED": "1"})
    return play_four(stage, [python, os.path.join(EXAMPLES, name + ".py"), *arguments], **more)


def test_the_plain_example(world):
    play(world, "plain").check()


def test_langchain_middleware(world):
    play(world, "langchain_agent", frameworks()).check()


def test_langgraph_interrupt_waits(world):
    world.environment["CHECKPOINTS"] = os.path.join(world.folder, "checkpoints")
    play(world, "langgraph_sleeps", frameworks(), arguments=["--wait"]).check()


def test_langgraph_goes_on_in_another_process(world):
    """Four mails, each with a process that ends while the question is open."""
    stage, sent = Stage(world), []
    environment = {**stage.environment(), "PYTHONPATH": PYTHON, "CHECKPOINTS": os.path.join(world.folder, "checkpoints")}

    def once():
        run = subprocess.run([frameworks(), os.path.join(EXAMPLES, "langgraph_sleeps.py")], env=environment, text=True, timeout=PATIENCE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        sent.extend(line[5:] for line in run.stdout.splitlines() if line.startswith("SENT "))
        must(run.returncode in (0, 3), run.stdout[-2000:])
        return run.returncode
    for word, decision, more in (("one", "allow_once", {}), ("two", "deny", {"feedback": "no"}), ("three", "allow_once", {}),
                                 ("four", "allow_once", {})):
        must(once() == 3, f"nobody answered {word} yet")
        if word == "one":
            must(once() == 3 and len(stage.admin.pending()) == 1, "asked twice")
        if word == "three":
            stage.restart()
            more = {"updatedInput": {"to": "bob@example.org", "text": "edited"}}
        stage.answer(f"mail {word}", decision, **more)
    must(once() == 0 and sent == ["mail one", "edited", "mail four"], f"{sent}")


def test_langgraph_is_woken_by_callbacks(world):
    """Each answer is posted to a receiver, which starts the job anew; nobody else does. Verified by Standard Webhooks' formula."""
    config = os.path.join(world.folder, "notify.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"callbacks": {"hosts": ["127.0.0.1"], "private": True}}, file)
    world.environment["NOD_NOTIFY"] = config
    stage, codes, sent, forged = Stage(world), [], [], []
    secret = base64.b64decode(Client(stage.server, stage.token).ok("GET", "/api/callbacks/secret")["secret"].removeprefix("whsec_"))
    environment = {**stage.environment(), "PYTHONPATH": PYTHON, "CHECKPOINTS": os.path.join(world.folder, "checkpoints")}

    def once():
        run = subprocess.run([frameworks(), os.path.join(EXAMPLES, "langgraph_sleeps.py")], env=environment, text=True, timeout=PATIENCE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        sent.extend(line[5:] for line in run.stdout.splitlines() if line.startswith("SENT "))
        codes.append(run.returncode)

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
            right = "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
            if not hmac.compare_digest(right, self.headers["webhook-signature"]) or json.loads(body)["type"] != "approval.resolved":
                forged.append(body)
            self.send_response(204)
            self.end_headers()
            threading.Thread(target=once, daemon=True).start()

        def log_message(self, *_):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    environment["CALLBACK"] = f"http://127.0.0.1:{receiver.server_address[1]}/wake"
    try:
        once()
        for n, word in enumerate(("one", "two", "three", "four")):
            eventually(lambda n=n: len(codes) == n + 1, f"the process before mail {word} has ended", 120)
            must(codes[-1] == 3, f"{codes}")
            stage.answer(f"mail {word}", "deny" if word == "two" else "allow_once")
        eventually(lambda: len(codes) == 5, "the last process", 120)
        must(codes[-1] == 0 and sent == ["mail one", "mail three", "mail four"] and not forged, f"{codes} {sent} {forged}")
    finally:
        receiver.shutdown()


def test_openai_agents(world):
    play(world, "openai_agents", frameworks()).check()


def test_pydantic_ai_deferred_tools(world):
    play(world, "pydantic_agent", frameworks()).check()


def test_claude_agent_sdk(world):
    """The real Claude Code that the SDK brings, with a scripted model on loopback."""
    python = frameworks()
    script = [[("mcp__mail__send_mail", {"to": "ann@example.org", "text": f"mail {word}"})] for word in ("one", "two", "three", "four")]
    model = scripted_model(script)
    try:
        for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"):
            world.environment.pop(name, None)
        world.environment.update({"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-dummy", "DISABLE_TELEMETRY": "1",
                                  "CLAUDE_CONFIG_DIR": world.folder, "CLAUDE_CODE_TMPDIR": world.folder,
                                  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"})
        play(world, "claude_agent", python, tool="mcp__mail__send_mail").check()
    finally:
        model.close()


def test_crewai(world):
    world.environment.update({"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"})
    play(world, "crewai_crew", python_with("crewai")).check()
