"""The terminal's WebSocket, message for message as its document has them."""
import datetime
import uuid

from stage import results_in, use
from world import Socket, must, must_match

PATH = "/api/terminal/ws/agent"


class Terminal:
    def __init__(self, stage, server, client=None):
        self.socket = Socket(client or server.admin(), f"{PATH}?cwd={stage.project}")
        must(self.socket.status == 101, self.socket.head)

    def say(self, **message):
        self.socket.send(message)

    def next(self):
        return self.socket.receive()

    def until(self, kind):
        for _ in range(100):
            message = self.next()
            if message["type"] == kind:
                return message
        raise AssertionError(kind)


def test_the_manual_test(stage):
    path = stage.path("test_sdk.txt")
    text = "Hello from SDK mode!"
    model = stage.model([{"text": "I'll create that file for you.", "tools": [
        {"id": "toolu_01ABC123", "name": "Write", "input": {"file_path": path, "content": text}}]}, {"text": "Done!"}])
    terminal = Terminal(stage, stage.serve(model))
    terminal.say(**{"command": "run", "prompt": f'Create a new file called test_sdk.txt with the content "{text}"',
                    "continue": False, "permission_mode": "sdk", "auto_approve_safe": True})
    must(terminal.next() == {"type": "assistant", "subtype": "text", "content": {"text": "I'll create that file for you."}}, "text")
    must(terminal.next() == {"type": "assistant", "subtype": "tool_use", "content": {
        "id": "toolu_01ABC123", "name": "Write", "input": {"file_path": path, "content": text}}}, "tool_use")
    request = terminal.next()
    must_match({"type": "tool_approval_request", "request_id": "*", "tool_name": "Write",
                "tool_input": {"file_path": path, "content": text}, "tool_use_id": "toolu_01ABC123", "preview_type": "diff",
                "preview_data": {"file_path": path, "is_new_file": True, "original_lines": 0, "new_lines": 1},
                "file_path": path, "original_content": "", "new_content": text,
                "diff_lines": [f"--- a/{path}", f"+++ b/{path}", "@@ -0,0 +1 @@", f"+{text}"]}, request, "request")
    terminal.say(command="tool_approval_response", request_id=request["request_id"], approved=True)
    must(terminal.next() == {"type": "user", "subtype": "tool_result", "content": {
        "tool_use_id": "toolu_01ABC123", "content": f"Wrote {len(text)} characters to {path}", "is_error": False}}, "result")
    must(terminal.next() == {"type": "assistant", "subtype": "text", "content": {"text": "Done!"}}, "text")
    must(terminal.next() == {"type": "result", "subtype": "success", "content": {"message": "Conversation complete"}}, "end")
    must(stage.read("test_sdk.txt") == text, "no file")


def test_rejection_with_feedback(stage):
    model = stage.model([{"tools": [use(1, "Bash", command="rm -rf x")]}, {"text": "I will not."}])
    terminal = Terminal(stage, stage.serve(model))
    terminal.say(command="run", prompt="clean", permission_mode="sdk", auto_approve_safe=True)
    request = terminal.until("tool_approval_request")
    must(request["preview_type"] == "command" and request["preview_data"]["warnings"] == [], request)
    terminal.say(command="tool_approval_response", request_id=request["request_id"], approved=False,
                 feedback="Don't modify that file, use a different approach")
    told = terminal.until("user")["content"]
    must(told["is_error"] and told["content"] == "User rejected: Don't modify that file, use a different approach", told)
    must(terminal.until("result")["subtype"] == "success", "it did not go on")
    result = results_in(model.requests[1])[0]
    must(result["is_error"] and "Don't modify that file" in result["content"], result)


def test_request_ids_and_statuses(stage):
    """A request has a UUID of its own; who did not answer it is told how it ended."""
    script = [{"tools": [use(n, "Bash", command=f"touch {n}")]} for n in range(4)] + [{"text": "x"}]
    server = stage.serve(stage.model(script))
    admin = server.admin()
    terminal = Terminal(stage, server)
    terminal.say(command="run", prompt="p", permission_mode="sdk", approval_timeout=12)
    seen = set()
    for number, (decision, status) in enumerate((("allow_once", "APPROVED"), ("deny", "REJECTED"), (None, "TIMEOUT"), ("own", None))):
        request = terminal.until("tool_approval_request")
        must(str(uuid.UUID(request["request_id"])) == request["request_id"] and request["tool_use_id"] == f"toolu_{number}", request)
        must(request["status"] == "PENDING" and request["user_feedback"] is None, request)
        seen.add(request["request_id"])
        if decision == "own":
            terminal.say(command="tool_approval_response", request_id=request["request_id"], approved=True)
            terminal.say(command="tool_approval_response", request_id=request["request_id"], approved=False)
            kinds = []
            while not kinds or kinds[-1] != "result":
                kinds.append(terminal.next()["type"])
            must("tool_approval_status" not in kinds and kinds.count("error") == 1, kinds)
            continue
        if decision:
            more = {"feedback": "not so"} if decision == "deny" else {}
            admin.decided(admin.pending()[0]["sessionId"], request["tool_use_id"], decision, **more)
        told = terminal.until("tool_approval_status")
        must(told == {"type": "tool_approval_status", "request_id": request["request_id"], "tool_use_id": request["tool_use_id"],
                      "status": status, "user_feedback": "not so" if decision == "deny" else None}, told)
    must(len(seen) == 4, seen)


def test_five_minutes_unless_it_says(stage):
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="touch made")]}]))
    for given, seconds in (({}, 300), ({"approval_timeout": 20}, 20)):
        terminal = Terminal(stage, server)
        terminal.say(command="run", prompt="p", permission_mode="sdk", **given)
        terminal.until("tool_approval_request")
        one = server.admin().pending()[-1]
        asked, deadline = (datetime.datetime.fromisoformat(one[key]) for key in ("requestedAt", "deadline"))
        must(abs((deadline - asked).total_seconds() - seconds) < 0.01, one)
    terminal.say(command="run", prompt="p", approval_timeout=0)
    must(terminal.until("error"), "a timeout of nothing")


def test_safe_tools_and_modes(stage):
    stage.write("f", "text\n")
    script = [{"tools": [use(1, "Read", file_path="f")]}, {"tools": [use(2, "Bash", command="touch made")]}, {"text": "x"}]
    server = stage.serve(stage.model(script))
    free = Terminal(stage, server)
    free.say(command="run", prompt="p", permission_mode="bypassPermissions")
    kinds = []
    while not kinds or kinds[-1] != "result":
        kinds.append(free.next()["type"])
    must("tool_approval_request" not in kinds, kinds)
    careful = Terminal(stage, server)
    careful.say(command="run", prompt="p", permission_mode="sdk", auto_approve_safe=False)
    must(careful.until("tool_approval_request")["tool_name"] == "Read", "Read was not asked about")
    careful.say(command="cancel")
    must(careful.until("result")["subtype"] == "cancelled", "no end")


def test_continue_and_nonsense(stage):
    model = stage.model([{"text": "one"}, {"text": "two"}])
    terminal = Terminal(stage, stage.serve(model))
    for bad in ({"command": "dance"}, {"command": "run"}, {"command": "run", "prompt": "x", "permission_mode": "odd"},
                {"command": "tool_approval_response", "request_id": "none", "approved": True}, {"command": "cancel"}):
        terminal.say(**bad)
        must(terminal.next()["type"] == "error", bad)
    terminal.say(command="run", prompt="a", permission_mode="sdk")
    terminal.until("result")
    terminal.say(**{"command": "run", "prompt": "b", "permission_mode": "sdk", "continue": True})
    must(terminal.next()["content"] == {"text": "two"}, "it did not continue")
