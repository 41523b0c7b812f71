"""nod-gate for Python: sync and async, against a real server."""
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading

from stage import PATIENCE, PYTHON, Aside, Stage
from world import eventually, must

import nod_gate
from nod_gate import AsyncGate, Gate


def gate_of(stage, **more):
    return Gate(url=stage.url, token=stage.token, title="t", cwd=stage.world.folder, **more)


def async_gate_of(stage, **more):
    return AsyncGate(url=stage.url, token=stage.token, title="t", cwd=stage.world.folder, **more)


def check_the_four(stage, ask, report):
    """Allowed, denied with words, edited, and killed in between; `ask` blocks."""
    wish = Aside(ask, "Deploy", {"version": "one"})
    asked = stage.answer("one", "allow_once")
    verdict = wish.got()
    must(verdict.allowed and verdict.input == {"version": "one"} and not verdict.edited, f"{verdict}")
    must(report(verdict, {"done": True}), "the report")
    must(stage.finished(asked)["result"] == {"content": {"done": True}, "isError": False}, "the result is kept")

    wish = Aside(ask, "Deploy", {"version": "two"})
    stage.answer("two", "deny", feedback="on Monday")
    must(wish.raised(nod_gate.Denied).words == "on Monday", f"{wish.error.words}")

    wish = Aside(ask, "Deploy", {"version": "three"})
    stage.answer("three", "allow_once", updatedInput={"version": "3.1"})
    must(wish.got().input == {"version": "3.1"} and wish.value.edited, f"{wish.value}")

    wish = Aside(ask, "Deploy", {"version": "four"})
    before = stage.pending("four")
    stage.server.kill()
    must(wish.is_alive(), "it waits for the server")
    stage.server.start("--listen", f"127.0.0.1:{stage.server.port}")
    after = stage.answer("four", "allow_once")
    must(before["toolCallId"] == after["toolCallId"] and wish.got().allowed, "the same question")

    wish = Aside(ask, "Deploy", {"version": "five"})
    stage.answer("five", "abort")
    wish.raised(nod_gate.Aborted)


def test_four_answers_at_the_unix_socket(world):
    stage = Stage(world)
    gate = gate_of(stage)
    check_the_four(stage, gate.ask, gate.report)


def test_four_answers_over_http(world):
    stage = Stage(world, tcp=True)
    gate = gate_of(stage)
    check_the_four(stage, gate.ask, gate.report)


def test_four_answers_on_asyncio(world):
    stage = Stage(world)
    for url in (stage.url, f"http://127.0.0.1:{stage.server.port}"):
        stage.url = url
        gate = async_gate_of(stage)
        check_the_four(stage, lambda *a, g=gate: asyncio.run(g.ask(*a)), lambda *a, g=gate: asyncio.run(g.report(*a)))


def test_a_decorated_function_runs_with_the_edited_input(world):
    stage, ran = Stage(world), []
    gate = gate_of(stage)

    @gate
    def remove(path: str, force: bool = False) -> str:
        ran.append((path, force))
        return f"removed {path}"

    @gate.tool("remove_quietly", on_deny="return", keep=("context",))
    def quiet(context, path):
        ran.append((context, path))
        return path

    wish = Aside(remove, "/a")
    asked = stage.answer("/a", "allow_once", updatedInput={"path": "/b", "force": True})
    must(wish.got() == "removed /b" and ran == [("/b", True)], f"{wish.value} {ran}")
    must(stage.finished(asked)["result"]["content"] == "removed /b", "the result")
    wish = Aside(quiet, object(), path="/c")
    asked = stage.answer("/c", "deny", feedback="keep it")
    must("keep it" in wish.got() and asked["toolCall"] == {**asked["toolCall"], "name": "remove_quietly", "input": {"path": "/c"}}, f"{asked}")
    must(len(ran) == 1, "a denied function ran")


def test_a_decorated_coroutine(world):
    stage, ran = Stage(world), []
    gate = async_gate_of(stage)

    @gate
    async def add(a: int, b: int) -> int:
        ran.append((a, b))
        return a + b

    wish = Aside(lambda: asyncio.run(add(1, b=2)))
    asked = stage.answer("add", "allow_once", updatedInput={"a": 5, "b": 6})
    must(wish.got() == 11 and ran == [(5, 6)] and stage.finished(asked)["result"]["content"] == 11, f"{ran}")


def test_an_exception_of_the_tool_is_reported(world):
    stage = Stage(world)
    gate = gate_of(stage)

    @gate
    def fail(n: int):
        raise ValueError("no such thing")

    wish = Aside(fail, 1)
    asked = stage.answer("fail", "allow_once")
    must(str(wish.raised(ValueError)) == "no such thing", "the caller's exception")
    must(stage.finished(asked)["result"] == {"content": "ValueError: no such thing", "isError": True}, "the report")


def test_an_edit_that_does_not_fit_runs_nothing(world):
    stage, ran = Stage(world), []
    gate = gate_of(stage)
    tool = gate.tool("move")(lambda path: ran.append(path))
    wish = Aside(tool, "/a")
    asked = stage.answer("/a", "allow_once", updatedInput={"other": 1})
    wish.raised(TypeError)
    must(not ran and stage.finished(asked)["result"]["isError"], f"{ran}")


def test_a_cancelled_task_takes_its_call_back(world):
    stage = Stage(world)
    gate = async_gate_of(stage)

    async def scene():
        task = asyncio.ensure_future(gate.ask("Deploy", {"version": "x"}))
        asked = await asyncio.to_thread(stage.pending, "Deploy")
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return asked
        raise AssertionError("it was not cancelled")
    asked = asyncio.run(scene())
    must(stage.call(asked)["status"] == "cancelled" and not stage.admin.pending(), "it still waits")


PROGRAM = "from nod_gate import Gate; Gate(title='t').ask('Deploy', {'version': 'x'})"


def test_ctrl_c_takes_the_call_back(world):
    stage = Stage(world)
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], env={**stage.environment(), "PYTHONPATH": PYTHON}, cwd=world.folder,
                               stderr=subprocess.PIPE, text=True)
    asked = stage.pending("Deploy")
    program.send_signal(signal.SIGINT)
    must("KeyboardInterrupt" in program.communicate(timeout=PATIENCE)[1], "it ends by Ctrl-C")
    must(stage.call(asked)["status"] == "cancelled" and not stage.admin.pending(), "it still waits")


def test_no_server_says_how_to_start_it(world):
    for url in ("unix:" + os.path.join(world.folder, "none.sock"), "http://127.0.0.1:9"):
        for ask in (Gate(url=url, token="t", patience=0.5).ask,
                    lambda *a, u=url: asyncio.run(AsyncGate(url=u, token="t", patience=0.5).ask(*a))):
            error = Aside(ask, "Deploy", {}).raised(nod_gate.NoServer)
            must("nod serve" in str(error) and url in str(error), str(error))


def test_no_token_and_a_wrong_one(world):
    stage, kept = Stage(world), {n: os.environ.pop(n) for n in ("NOD_TOKEN", "NOD_TOKEN_FILE") if n in os.environ}
    try:
        must("nod token create" in str(Aside(Gate, url=stage.url).raised(nod_gate.NoToken)), "words")
    finally:
        os.environ.update(kept)
    error = Aside(Gate(url=stage.url, token="wrong").ask, "Deploy", {}).raised(nod_gate.Refused)
    must(error.status == 401 and "nod token create" in str(error), f"{error}")


def test_the_same_id_is_one_call_also_after_it_ran(world):
    stage = Stage(world)
    gate = gate_of(stage, session="job-1")
    waiting = gate.submit("Deploy", {"version": "x"}, id="step-1")
    must(waiting.status == "awaiting" and not waiting.allowed, f"{waiting}")
    stage.answer("Deploy", "allow_once")
    again = gate_of(stage, session="job-1")   # as another process would
    verdict = again.ask("Deploy", {"version": "x"}, id="step-1")
    must(again.report(verdict, "shipped"), "the report")
    error = Aside(gate_of(stage, session="job-1").ask, "Deploy", {"version": "x"}, id="step-1").raised(nod_gate.AlreadyRan)
    must(error.result == "shipped", f"{error.result}")
    Aside(again.ask, "Deploy", {"version": "y"}, id="step-1").raised(nod_gate.CallDiffers)


def test_a_timeout_takes_the_call_back(world):
    stage = Stage(world)
    Aside(gate_of(stage).ask, "Deploy", {"version": "x"}, timeout=1).raised(nod_gate.TimedOut)
    must(not stage.admin.pending(), "it still waits")


def test_a_rule_allows_and_denies_without_a_person(world):
    stage = Stage(world)
    stage.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Deploy"})
    stage.admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Remove", "reason": "never here", "force": True})
    gate = gate_of(stage)
    must(gate.ask("Deploy", {}).actor == "policy", "by the rule")
    must("never here" in str(Aside(gate.ask, "Remove", {}).raised(nod_gate.Denied)), "the rule's words")


class Scripted(threading.Thread):
    """A server that says one prepared answer after the other, then closes."""

    def __init__(self, *answers):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answers, self.bodies = list(answers), []
        self.start()

    def run(self):
        for answer in self.answers:
            peer, _ = self.listener.accept()
            with peer:
                text = b""
                while b"\r\n\r\n" not in text:
                    text += peer.recv(65536)
                head, _, body = text.partition(b"\r\n\r\n")
                length = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")), 0)
                while len(body) < length:
                    body += peer.recv(65536)
                self.bodies.append(json.loads(body))
                peer.sendall(answer(self.bodies[-1]) if callable(answer) else answer)
        self.listener.close()


def http(status, value, headers=""):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


SESSION = http(201, {"id": "s", "threadId": "s.main"})


def verdict(sent, status, **more):
    return http(200, {"toolCallId": sent["id"], "status": status, "input": sent["input"], "decision": None, "decidedBy": None, **more})


def error(status, code, headers=""):
    return http(status, {"error": {"code": code, "message": "words"}}, headers)


def everyone(answers):
    """Sync and async against the same script: (how it ended, the bodies that came)."""
    for ask in (lambda u: Gate(url=u, token="t").ask("Deploy", {"v": 1}),
                lambda u: asyncio.run(AsyncGate(url=u, token="t").ask("Deploy", {"v": 1}))):
        server = Scripted(*answers)
        yield Aside(ask, server.url).end(), server


def test_busy_and_broken_answers_are_asked_again_with_the_same_id(world):
    script = [error(503, "unavailable"), SESSION, error(408, "timeout"), error(429, "too_many", "Retry-After: 1\r\n"), b"", b"HTTP/1.1 200 O",
              lambda s: verdict(s, "allowed")[:-2],
              error(502, "x"), lambda s: verdict(s, "awaiting"), lambda s: verdict(s, "allowed")]
    for done, server in everyone(script):
        must(done.got().allowed, f"{done.error}")
        must(len({b["id"] for b in server.bodies[2:]}) == 1 and len(server.bodies) == len(script), f"{server.bodies}")


def test_an_answer_that_is_not_understood_allows_nothing(world):
    for answer in (http(200, b"<html>"), http(200, b"[]"), http(200, {"status": "allowed"}), http(204, b""), http(302, b"", "Location: /\r\n"),
                   http(200, {"status": "allowed", "toolCallId": "another", "input": {}}),
                   lambda s: verdict(s, "allowed", input=None), lambda s: verdict(s, "started"), lambda s: verdict(s, "new_word"),
                   error(403, "forbidden"), error(413, "too_large")):
        for done, _ in everyone([SESSION, answer]):
            must(isinstance(done.error, nod_gate.GateError), f"{done.value} {done.error!r}")


def test_a_lost_session_is_made_again(world):
    script = [SESSION, error(404, "not_found"), http(201, {"id": "n", "threadId": "n.main"}), lambda s: verdict(s, "allowed")]
    for done, server in everyone(script):
        must(done.got().allowed and server.bodies[0] == server.bodies[2], f"{done.error} {server.bodies}")


def test_an_identity_file_names_server_and_token(world):
    stage = Stage(world)
    path = os.path.join(world.folder, "identity.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"address": stage.url, "token": stage.token, "serverUid": os.geteuid()}, file)
    os.chmod(path, 0o600)
    wish = Aside(Gate(identity=path).ask, "Deploy", {"version": "x"})
    stage.answer("Deploy", "allow_once")
    must(wish.got().allowed, "allowed")
    os.chmod(path, 0o666)
    must("written by others" in str(Aside(Gate, identity=path).raised(nod_gate.GateError)), "a file that others may write")


def test_many_threads_share_a_gate(world):
    stage = Stage(world)
    gate = gate_of(stage)
    wishes = [Aside(gate.ask, "Deploy", {"version": f"<{n}>"}) for n in range(8)]
    eventually(lambda: len(stage.admin.pending()) == 8, "eight questions")
    must(len({p["sessionId"] for p in stage.admin.pending()}) == 1, "one session")
    for n in range(8):
        stage.answer(f"<{n}>", "allow_once")
    must(all(w.got().input == {"version": f"<{n}>"} for n, w in enumerate(wishes)), "each has its own")
