"""MCP: Claude Code's permission prompt over stdio and HTTP, and questions to a person."""
import json
import os
import subprocess
import time

from desk import OLD, desk
from world import NOD, PATIENCE, Client, eventually, must

TOUCH = ("Bash", {"command": "touch made.txt", "description": "x"})


def config(value):
    return ["--permission-prompt-tool", "mcp__nod__approve", "--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {"nod": value}})]


def entry(d):
    """What `nod mcp install` says should stand in a client's settings."""
    return json.loads(d.nod("mcp", "install").ends().out)


def stdio(d):
    return config(entry(d))


def over_http(d, **more):
    return config({"type": "http", "url": f"http://127.0.0.1:{d.server.port}/api/mcp",
                   "headers": {"Authorization": f"Bearer {d.admin.token}"}, **more})


def test_stdio_allows_and_denies(place):
    with desk(place, [TOUCH, ("Bash", {"command": "touch second.txt", "description": "x"})]) as d:
        run = d.claude("-p", "go", *stdio(d))
        d.decide(d.waiting()[0])
        second = eventually(lambda: [p for p in d.admin.pending() if "second" in p["toolCall"]["input"]["command"]], "the second waits")[0]
        d.decide(second, "deny", feedback="one is enough")
        run.ends()
        must(d.has("made.txt") and not d.has("second.txt"), f"not as decided: {d.told()}")
        must("one is enough" in d.model.said(), "the model does not know why")


def test_stdio_edited(place):
    with desk(place, [TOUCH]) as d:
        run = d.claude("-p", "go", *stdio(d))
        d.decide(d.waiting()[0], updatedInput={"command": "touch other.txt", "description": "x"})
        run.ends()
        must(d.has("other.txt") and not d.has("made.txt"), "it did not run as edited")


def test_stdio_in_the_older_release(place):
    with desk(place, [TOUCH, ("Bash", {"command": "touch second.txt", "description": "x"})], version=OLD) as d:
        run = d.claude("-p", "go", *stdio(d))
        d.decide(d.waiting()[0])
        second = eventually(lambda: [p for p in d.admin.pending() if "second" in p["toolCall"]["input"]["command"]], "the second waits")[0]
        d.decide(second, "deny", feedback="one is enough")
        run.ends()
        must(d.has("made.txt") and not d.has("second.txt") and "one is enough" in d.model.said(), f"not as decided: {d.told()}")


def test_abort_ends_the_turn(place):
    with desk(place, [TOUCH, TOUCH]) as d:
        run = d.claude("-p", "go", *stdio(d))
        d.decide(d.waiting()[0], "abort")
        run.wait()
        must(not d.has("made.txt") and len(d.model.requests) == 1, f"it went on: {d.told()}")


def test_what_claude_code_lets_pass_is_not_seen(place, more=("--allowedTools", "Bash(touch:*)")):
    """Its own rules come before the permission tool; the docs say so."""
    with desk(place, [TOUCH]) as d:
        d.claude("-p", "go", *more, *stdio(d)).ends()
        must(d.has("made.txt") and not d.events(types="TOOL_CALL"), f"{more}: it is seen now, the docs are out of date")


def test_bypass_mode_is_not_seen(place):
    test_what_claude_code_lets_pass_is_not_seen(place, ("--dangerously-skip-permissions",))


def test_a_plan_over_mcp(place):
    with desk(place, [("ExitPlanMode", {}), TOUCH]) as d:
        run = d.claude("-p", "go", "--permission-mode", "plan", "--settings", '{"useAutoModeDuringPlan":false}', *stdio(d))
        first = d.waiting()[0]
        must(first["toolCall"]["name"] == "ExitPlanMode", f"not the plan: {first}")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if p["toolCallId"] != first["toolCallId"]], lambda: f"asked as in default mode: {d.told()}")[0]
        d.decide(second)
        run.ends()
        must(d.has("made.txt"), "it did not run")


def test_questions_are_answered_over_mcp(place):
    questions = {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": False,
                                "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}
    with desk(place, [("AskUserQuestion", questions)]) as d:
        run = d.claude("-p", "go", *stdio(d))
        d.waiting()
        d.nod("answer", "-a", "Blue").ends()
        run.ends()
        must('=\\"Blue\\"' in d.model.said(), f"not told: {d.model.said()[-700:]}")


def test_stdio_without_a_server(place):
    with desk(place, [TOUCH]) as d:
        entry_of_it = stdio(d)
        d.server.stop()
        d.claude("-p", "go", *entry_of_it).ends()
        must(not d.has("made.txt") and "nod serve" in d.model.said(), f"not refused with help: {d.told()}")


def test_stdio_the_server_is_killed_meanwhile(place):
    with desk(place, [TOUCH]) as d:
        run = d.claude("-p", "go", *stdio(d))
        pending = d.waiting()[0]
        d.server.kill()
        d.server.start()
        must(d.waiting()[0]["toolCallId"] == pending["toolCallId"], "another question")
        if run.process.poll() is None:
            d.decide(d.waiting()[0], "deny")
        run.wait()
        must(not d.has("made.txt"), "it ran")


def test_http_after_longer_than_the_time_limit(place):
    """Claude Code gives an HTTP server 60 seconds for a first byte: progress is what keeps it."""
    with desk(place, [TOUCH]) as d:
        run = d.claude("-p", "go", *over_http(d))
        pending = d.waiting()[0]
        time.sleep(float(os.environ.get("NOD_REAL_LONG", "66")))
        must(run.process.poll() is None, f"it did not wait: {d.told()}")
        d.decide(pending)
        run.ends()
        must(d.has("made.txt"), f"it did not run: {d.told()}")


def test_http_denies_with_words(place):
    with desk(place, [TOUCH]) as d:
        run = d.claude("-p", "go", *over_http(d))
        d.decide(d.waiting()[0], "deny", feedback="not today")
        run.ends()
        must(not d.has("made.txt") and "not today" in d.model.said(), "not denied")


def test_http_without_a_server(place):
    with desk(place, [TOUCH]) as d:
        arguments = over_http(d)
        d.server.stop()
        run = d.claude("-p", "go", *arguments)
        run.wait()
        must(not d.has("made.txt"), "it ran")
        must("mcp__nod__approve" in run.err, f"the message does not say who is missing: {run.err}")  # words of Claude Code's own


def test_http_whoever_hangs_up_takes_the_question_back(place):
    with desk(place, [TOUCH]) as d:
        run = d.claude("-p", "go", *over_http(d))
        d.waiting()
        run.process.kill()
        eventually(lambda: not d.admin.pending(), "the question disappears")


def test_ask_human_and_pending_calls(place):
    with desk(place, [("mcp__nod__ask_human", {"question": "Which port?", "options": ["80", "443"]}), ("mcp__nod__pending_calls", {})]) as d:
        run = d.claude("-p", "go", "--allowedTools", "mcp__nod__ask_human,mcp__nod__pending_calls", *stdio(d)[2:])
        pending = d.waiting()[0]
        must("Which port?" in json.dumps(pending["toolCall"]["input"]), f"not the question: {pending}")
        d.decide(pending, feedback="take 443")
        run.ends()
        must("take 443" in d.model.said() and "pendingApprovals" in d.model.said(), f"not told: {d.model.said()[-600:]}")


class Stdio:
    """A client that speaks MCP by hand."""

    def __init__(self, d):
        self.process = subprocess.Popen([entry(d)["command"], *entry(d)["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=d.world.environment,
                                        cwd=d.project)

    def send(self, value):
        self.process.stdin.write((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status


def call(number, name, arguments, **meta):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}}


def receive_answer(mcp, told):
    """The next answer; the tokens of the progress that comes before it are added to `told`."""
    while True:
        message = mcp.receive()
        if message.get("method") != "notifications/progress":
            return message
        told.add(message["params"]["progressToken"])


def test_by_hand_over_stdio(place):
    with desk(place, []) as d:
        mcp = Stdio(d)
        mcp.send({"jsonrpc": "2.0", "id": "probe-1", "method": "server/discover", "params": {}})
        must(mcp.receive()["error"]["code"] == -32601, "an unknown method is known")
        mcp.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})
        must(mcp.receive()["result"]["protocolVersion"] == "2025-06-18", "another version")
        mcp.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        mcp.send(b"this is no json")
        must(mcp.receive()["error"]["code"] == -32700, "no parse error")
        mcp.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        must(len(mcp.receive()["result"]["tools"]) == 3, "not three tools")
        for number in (2, 3, 4):
            mcp.send(call(number, "approve", {"tool_name": "Bash", "input": {"command": f"make {number}"}, "tool_use_id": f"t{number}"},
                          progressToken=number))
        waiting = {p["toolCallId"]: p for p in d.waiting(3)}
        mcp.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
        eventually(lambda: len(d.admin.pending()) == 2, "the cancelled one disappears")
        d.decide(waiting["t4"], "deny")
        told = set()
        answer = receive_answer(mcp, told)
        must(answer["id"] == 4 and json.loads(answer["result"]["content"][0]["text"])["behavior"] == "deny", f"not the denial: {answer}")
        while 2 not in told:
            told.add(mcp.receive()["params"]["progressToken"])
        mcp.send(call(5, "approve", {"tool_name": "Bash"}))
        must("deny" in receive_answer(mcp, told)["result"]["content"][0]["text"], "a call without input is not denied")
        must(mcp.close() == 0, "it does not end with its input")
        eventually(lambda: not d.admin.pending(), "what waited is taken back")


def test_by_hand_over_http(place):
    with desk(place, []) as d:
        agent = d.admin.token_for("agent", "mcp")
        d.admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Read"})
        reply = agent.post("/api/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
        session = {"Mcp-Session-Id": reply.headers["mcp-session-id"]}
        must(agent.post("/api/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session).status == 202, "no 202")
        must(agent.get("/api/mcp", headers=session).status == 405, "GET is not refused")
        must(Client(d.server, None).post("/api/mcp", {}).status == 401, "without a token")
        allowed = agent.post("/api/mcp", call(1, "approve", {"tool_name": "Read", "input": {"file_path": os.path.join(d.project, "x")}}),
                             headers=session).json
        must("content" in allowed["result"], f"no result: {allowed}")
        bad = agent.post("/api/mcp", call(2, "approve", {"tool_name": "Bash", "input": 7}), headers=session).json
        must("deny" in bad["result"]["content"][0]["text"], f"not denied: {bad}")
