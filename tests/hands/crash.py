"""kill -9 at every event of a long run: each position once. After the restart the run comes to its end; every tool ran at
most once, nothing that was kept is lost, and the conversation is whole."""
import http.client
import json
import os
import shutil
import threading

from stage import Stage, check_once, results_in, use
from world import Follower, eventually, must

SCRIPT = [
    {"text": "First a file.", "tools": [use(1, "Write", file_path="main.py", content="print('one')\n")]},
    {"tools": [use(2, "Bash", command="echo two >> log")]},
    {"thinking": "An edit, then.", "tools": [use(3, "Edit", file_path="main.py", old_string="one", new_string="three")]},
    {"text": "Both at once.", "tools": [use(4, "Bash", command="echo four >> log"), use(5, "Read", file_path="main.py")]},
    {"tools": [use(6, "Bash", command="echo six >> log; python3 main.py")]},
    {"tools": [use(7, "Task", description="A part", prompt="part")]},
    {"text": "All is done."},
]
PART = [{"tools": [use(1, "Bash", command="echo seven >> log")]}, {"text": "The part is done."}]
LINES = {"toolu_2": "two", "toolu_4": "four", "toolu_6": "six"}


class Approver(threading.Thread):
    """Says yes to everything, through restarts."""

    def __init__(self, server, session):
        super().__init__(daemon=True)
        self.server, self.session, self.over = server, session, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.01):
            try:
                client = self.server.admin()
                for one in client.pending(f"/sessions/{self.session}"):
                    client.decide(self.session, one["toolCallId"], "allow_once")
            except (OSError, http.client.HTTPException, AssertionError, ValueError):
                continue


def script(body):
    told = sum(message["role"] == "assistant" for message in body["messages"])
    return (PART if body["messages"][0]["content"][0]["text"] == "part" else SCRIPT)[told]


def ends(events):
    last = events[-1][2]["data"] if events and events[-1][1] == "RUN_STATUS" else {}
    return last.get("status") == "completed" and "parent" not in last


def play(stage, kill_at):
    """The whole run, with a kill as soon as event number `kill_at` of the session is seen; its events."""
    model = stage.model(script)
    server = stage.serve(model, "--parallel-tools", "--max-iterations", "20")
    admin = server.admin()
    run = stage.begin(admin, execute=False)
    follower = Follower(admin, f"?session={run.session}&after=0")
    approver = Approver(server, run.session)
    run.execute()
    if kill_at:
        try:
            follower.wait(lambda: len(follower.events) >= kill_at or follower.ended or ends(follower.events),
                          f"event {kill_at}")
        finally:
            server.kill()
        server.start()
        run.with_client(server.admin())
    state = run.over()
    approver.over.set()
    approver.join()
    follower.close()
    return model, run, state, server


def check(stage, model, run, state):
    must(state["status"] == "completed" and state["result"] == "All is done.", state)
    check_once(run)
    lines = stage.read("log").split() if os.path.exists(stage.path("log")) else []
    must(len(lines) == len(set(lines)), f"a command ran twice: {lines}")
    results = {e["data"]["toolCallId"]: e["data"] for e in run.events("TOOL_RESULT")}
    interrupted = {call for call, data in results.items() if data.get("interrupted")}
    for call, line in LINES.items():
        must(line in lines or call in interrupted, f"{call} has a result and no effect: {results[call]}")
    must("toolu_1" in interrupted or os.path.exists(stage.path("main.py")), "the file is lost")
    if not interrupted:
        must(stage.read("main.py") == "print('three')\n", stage.read("main.py"))
    left = [name for name in os.listdir(stage.project) if name.startswith(".nod")]
    must(len(left) <= len(interrupted), f"left behind: {left}")
    last = [r for r in model.requests if r["body"]["messages"]][-1]
    told = [r["tool_use_id"] for r in results_in(last)]
    must(told == [f"toolu_{n}" for n in range(1, 8)], told)
    must(results_in(last)[-1]["content"] == "The part is done.", results_in(last)[-1])
    inner = [e for e in run.events("TOOL_CALL") if e["threadId"] != run.thread]
    must(len(inner) == 1 and ("seven" in lines or inner[0]["data"]["id"] in interrupted), f"{inner}, {lines}")
    for result in results_in(last):
        if result["tool_use_id"] in interrupted:
            must(result["is_error"] and "unknown" in result["content"], result)
    return interrupted


def walk(stage, share, shares):
    model, run, state, server = play(stage, 0)
    must(not check(stage, model, run, state), "interrupted without a kill")
    count = len(run.events())
    server.stop()
    must(count > 30, f"only {count} events")
    cut = 0
    for position in range(1 + share, count + 1, shares):
        own = Stage()
        try:
            model, run, state, server = play(own, position)
            cut += len(check(own, model, run, state))
            server.stop()
            own.nod("verify")
            own.close()
        except BaseException:
            print(f"        killed at event {position} of {count}: {own.folder}")
            print("\n".join(json.dumps(e)[:200] for e in run.events()[-12:]) if server.process.poll() is None else "")
            own.close(quietly=True)
            raise
    shutil.rmtree(stage.project)
    print(f"        {len(range(1 + share, count + 1, shares))} of {count} positions, {cut} calls interrupted", flush=True)


def test_kill_at_every_event_1(stage):
    walk(stage, 0, 3)


def test_kill_at_every_event_2(stage):
    walk(stage, 1, 3)


def test_kill_at_every_event_3(stage):
    walk(stage, 2, 3)


def test_a_tool_that_had_started(stage):
    """Killed in the middle of a command: it is not run again, and the model is told."""
    model = stage.model([{"tools": [use(1, "Bash", command="echo begun >> log; sleep 30")]}, {"text": "I see."}])
    server = stage.serve(model)
    run = stage.begin(server.admin(), permissionMode="bypassPermissions")
    eventually(lambda: os.path.exists(stage.path("log")), "the command")
    server.kill()
    server.start()
    run.with_client(server.admin())
    must(run.over()["status"] == "completed", run.state())
    must(stage.read("log") == "begun\n", "it ran twice")
    told = results_in(model.requests[-1])[0]
    must(told["is_error"] and "effect is unknown" in told["content"], told)


def test_a_graceful_stop_puts_the_run_down(stage):
    model = stage.model([{"text": "slow " * 100, "chunk": 30, "delay": 0.1}])
    server = stage.serve(model)
    run = stage.begin(server.admin())
    eventually(lambda: model.requests, "the model is asked")
    server.stop()
    model.script = [{"text": "Now."}]
    server.start()
    run.with_client(server.admin())
    must(run.over()["result"] == "Now.", run.state())
