"""nod mcp proxy between a client and a server of which one does what no honest one does."""
import json
import os
import sys
import threading

from proxy import Proxied, waiting
from mcp_server import tool  # found by proxy
from world import eventually, must

# Offers "echo"; what it says besides is in the file "says", a line for each; what it hears is in "heard".
SAYS = r"""
import json, os, sys
folder = sys.argv[1]
for line in sys.stdin:
    message = json.loads(line)
    with open(folder + "/heard", "a", encoding="utf-8") as file:
        file.write(line)
    method, name = message.get("method"), (message.get("params") or {}).get("name")
    if method == "tools/list":
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    elif method in ("initialize", "ping"):
        result = {"protocolVersion": "2025-06-18", "capabilities": {}}
    elif method == "notifications/say":
        print(message["params"]["line"], flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Saying(Proxied):
    """A server that says what the client tells it to say."""

    def __init__(self, world, **more):
        super().__init__(world, begin=None, **more)
        self.start(program=[sys.executable, "-c", SAYS, self.folder])

    def say(self, line):
        self.send({"method": "notifications/say", "params": {"line": line if isinstance(line, str) else json.dumps({"jsonrpc": "2.0", **line})}})

    def heard(self):
        with open(os.path.join(self.folder, "heard"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def settle(self):
        """What was said before this has been passed on, or has not."""
        self.number += 1
        self.send({"id": self.number, "method": "ping"})
        self.answer(self.number)


SAMPLING = {"method": "sampling/createMessage", "params": {"messages": ["for you"]}}


def allowed_server(world):
    """A proxied server that answers without streams, and whose calls need no person."""
    world.server().admin().ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    world.environment["MCP_TOKEN"] = "Bearer s3cret"
    return Proxied(world, web={"sse": False}, tools=[tool("echo")])


def test_a_task_hides_no_request_for_the_client_s_model(world):
    """A task that wants something says so in its notifications, too, and in the result that it ends with."""
    admin = world.server().admin()
    p = Saying(world)
    for method in ("notifications/tasks", "notifications/tasks/status"):
        for name in ("inputRequests", "InputRequests"):
            p.say({"method": method, "params": {"taskId": "1", "status": "input_required", name: {"it": SAMPLING}}})
    p.say({"method": "notifications/tasks", "params": {"taskId": "1", "status": "input_required", "inputRequests": {"it": {"method": "elicitation/create"}}}})
    p.settle()
    told = [m for m in p.lines if str(m.get("method")).startswith("notifications/tasks")]
    must(len(told) == 1 and "sampling" not in json.dumps(p.lines), f"{p.lines}")
    p.say({"id": "task", "result": {"status": "completed", "result": {"resultType": "input_required", "inputRequests": {"it": SAMPLING}}}})
    call = waiting(admin, "mcp__fs__sampling")
    must("for you" in json.dumps(call["toolCall"]["input"]) and "sampling" not in json.dumps(p.lines), f"{call}")
    admin.decided(call["sessionId"], call["toolCallId"], "deny", feedback="not with my model")
    must(p.said("task") == "not with my model", f"{p.lines}")
    p.close()


def test_a_request_for_the_client_s_model_that_a_person_has_edited_does_not_pass(world):
    """The client would get what the server wrote, and not what was allowed."""
    admin = world.server().admin()
    p = Saying(world)
    p.say({"id": 71, **SAMPLING})
    call = waiting(admin, "mcp__fs__sampling")
    admin.decided(call["sessionId"], call["toolCallId"], "allow_once", updatedInput={"messages": ["for all"]})
    told = eventually(lambda: [m for m in p.heard() if m.get("id") == 71], lambda: f"the server is told: {p.heard()}")[0]
    must("for all" in told["error"]["message"] and not [m for m in p.lines if m.get("method") == SAMPLING["method"]], f"{told}, {p.lines}")
    eventually(lambda: admin.status(call["toolCallId"], session=call["sessionId"])["status"] == "finished", "it did not run")
    p.close()


def test_what_the_client_s_model_said_ends_the_request(world):
    """It is kept, and the server may use its number again."""
    admin = world.server().admin()
    p = Saying(world)
    for words in ("one", "two"):
        p.say({"id": 71, **SAMPLING})
        call = waiting(admin, "mcp__fs__sampling")
        admin.decided(call["sessionId"], call["toolCallId"], "allow_once")
        eventually(lambda: len([m for m in p.lines if m.get("id") == 71]) == (1 if words == "one" else 2), lambda: f"the client is asked: {p.lines}")
        p.send({"id": 71, "result": {"content": words}})
        status = eventually(lambda: (s := admin.status(call["toolCallId"], session=call["sessionId"]))["status"] == "finished" and s, "it is kept")
        must(words in json.dumps(status["result"]), f"{status}")
    p.close()


def test_an_answer_that_is_not_passed_on_leaves_no_client_waiting(world):
    """It may be a request for a reader that is less strict, so its client gets an error."""
    admin = world.server().admin()
    admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "mcp__fs"})
    p = Saying(world)
    for line in ('{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":{"method":"x"}}}', '{"jsonrpc":"2.0","id":%d,"result":{"text":"x"},"Result":{}}'):
        number = p.call("echo", {})
        eventually(lambda: [m for m in p.heard() if m.get("id") == number], "it is passed on")
        p.say(line % number)
        answer = p.answer(number)
        must("error" in answer and len([m for m in p.lines if m.get("id") == number]) == 1, f"{answer}")
    eventually(lambda: len(admin.events(types="TOOL_RESULT")) == 2, "both have ended")
    p.close()


def test_a_revision_is_no_way_to_write_headers(world):
    """The server names it in its answer, and it is a header of every message after that."""
    world.server()
    world.environment["MCP_TOKEN"] = "Bearer s3cret"
    p = Proxied(world, web={"sse": False}, begin=None, tools=[tool("echo")])
    answer = p.web.take

    def take(handler, message):
        if message.get("method") != "initialize":
            return answer(handler, message)
        return handler.plain(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-06-18\r\nX-Hidden: 1"}}, [("Mcp-Session-Id", "s")])
    p.web.take = take
    p.start()
    eventually(lambda: [m for m, _ in p.web.requests if m.get("method") == "notifications/initialized"], "the next message has come")
    must(not [h for _, h in p.web.requests if "X-Hidden" in h], f"{p.web.requests}")
    p.close()


def test_a_session_that_the_server_forgot_begins_anew(world):
    """A server refuses a message of a session that it does not know, whatever the message is."""
    p = allowed_server(world)
    answer = p.web.take

    def take(handler, message):
        known = handler.headers.get("Mcp-Session-Id") in {None, *p.web.sessions}
        return answer(handler, message) if known else handler.plain(404)
    p.web.take = take
    must(p.said(p.call("echo", {"text": "a"})) == "echo: a", "it does not begin")
    p.web.forget()
    must(p.answer(p.call("echo", {"text": "b"}))["error"]["code"] == -32001, "the session is there")
    p.send({"id": "again", "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}})
    must("result" in p.answer("again"), f"{p.lines}")
    must(p.said(p.call("echo", {"text": "c"})) == "echo: c", "it does not go on")
    p.close()


def test_a_stream_that_goes_on_behind_its_answer_is_left(world):
    """Each would keep a thread and a connection."""
    p = allowed_server(world)
    answer, left = p.web.take, threading.Event()

    def take(handler, message):
        if message.get("method") != "tools/call":
            return answer(handler, message)
        said = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "and on"}]}}
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(f"event: message\ndata: {json.dumps(said)}\n\n".encode())
        try:
            while not left.wait(0.05):
                handler.wfile.write(b": on\n\n")
        except OSError:
            left.set()
        handler.close_connection = True
        return None
    p.web.take = take
    must(p.said(p.call("echo", {})) == "and on", "the answer does not come")
    eventually(left.is_set, "the stream is read on")
    p.close()


def test_a_reply_to_another_request_leaves_no_client_waiting(world):
    p = allowed_server(world)
    answer = p.web.take

    def take(handler, message):
        if message.get("method") != "tools/call":
            return answer(handler, message)
        said = {"jsonrpc": "2.0", "id": 999, "result": {"content": []}}
        return handler.plain(200, said if message["params"]["arguments"] else [{**said, "id": message["id"], "result": {"content": [{"type": "text", "text": "one of a list"}]}}])
    p.web.take = take
    must("without a result" in p.answer(p.call("echo", {"text": "a"}))["error"]["message"], f"{p.lines}")
    must(p.said(p.call("echo", {})) == "one of a list", f"{p.lines}")
    p.close()
