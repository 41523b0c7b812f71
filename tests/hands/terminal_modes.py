"""The terminal's socket obeys what each prompt chooses, and understands a command wholly or not at all."""
from stage import use
from terminal import Terminal
from world import must

MODEL = [{"tools": [use(n, "Bash", command=f"touch {n}")]} if n % 2 else {"text": "done"} for n in range(1, 9)]
SAFE = {"Read", "Glob", "Grep", "TodoWrite", "WebFetch", "WebSearch", "Task"}


def run(terminal, **more):
    terminal.say(**{"command": "run", "prompt": "p", **more})


def kinds_until_result(terminal):
    kinds = []
    while not kinds or kinds[-1] != "result":
        kinds.append(terminal.next()["type"])
    return kinds


def test_another_mode_with_continue_takes_effect(stage):
    """Prompt by prompt: bypass runs, sdk asks, and a prompt that does not say asks too."""
    terminal = Terminal(stage, stage.serve(stage.model(MODEL)))
    run(terminal, permission_mode="bypassPermissions")
    must("tool_approval_request" not in kinds_until_result(terminal), "bypassPermissions asked")
    for said in ({"permission_mode": "sdk"}, {"permission_mode": "bypassPermissions"}, {}):
        run(terminal, **said, **{"continue": True})
        message = terminal.next()
        while message["type"] == "assistant":
            message = terminal.next()
        asked = message["type"] == "tool_approval_request"
        must(asked == (said.get("permission_mode") != "bypassPermissions"), f"{said}: {message}")
        if asked:
            terminal.say(command="tool_approval_response", request_id=message["request_id"], approved=True)
        must(terminal.until("result")["subtype"] == "success", said)


def test_auto_approve_safe_with_continue_takes_effect(stage):
    stage.write("f", "text\n")
    script = []
    for n in range(4):
        script += [{"tools": [use(n, "Read", file_path="f")]}, {"text": "done"}]
    server = stage.serve(stage.model(script))
    terminal = Terminal(stage, server)
    run(terminal, permission_mode="sdk")
    must("tool_approval_request" not in kinds_until_result(terminal), "a safe tool was asked about")
    for safe, asks in ((False, True), (None, True), (True, False)):
        run(terminal, **{"continue": True, "permission_mode": "sdk"}, **({} if safe is None else {"auto_approve_safe": safe}))
        kinds = []
        while not kinds or kinds[-1] != "result":
            message = terminal.next()
            kinds.append(message["type"])
            if message["type"] == "tool_approval_request":
                terminal.say(command="tool_approval_response", request_id=message["request_id"], approved=True)
        must(("tool_approval_request" in kinds) == asks, f"auto_approve_safe {safe}: {kinds}")
    session = server.admin().ok("GET", "/api/sessions")["sessions"][0]
    must(not SAFE & set(session["toolPolicies"]), session)


def test_a_deny_of_a_safe_tool_stays(stage):
    server = stage.serve(stage.model([{"text": "one"}, {"text": "two"}, {"text": "three"}]))
    admin = server.admin()
    terminal = Terminal(stage, server)
    run(terminal, permission_mode="sdk")
    terminal.until("result")
    session = admin.ok("GET", "/api/sessions")["sessions"][0]["id"]
    admin.ok("PATCH", f"/api/sessions/{session}", {"toolPolicies": {"Read": "deny"}})
    for safe in (False, True):
        run(terminal, **{"continue": True, "auto_approve_safe": safe})
        terminal.until("result")
        must(admin.ok("GET", f"/api/sessions/{session}")["toolPolicies"]["Read"] == "deny", safe)


def test_a_run_that_waits_is_not_loosened(stage):
    """A second prompt is refused while a run waits; its looser mode is refused with it, its stricter one holds."""
    server = stage.serve(stage.model(MODEL))
    terminal = Terminal(stage, server)
    run(terminal, permission_mode="sdk")
    terminal.until("tool_approval_request")
    session = server.admin().ok("GET", "/api/sessions")["sessions"][0]["id"]
    run(terminal, **{"continue": True, "permission_mode": "bypassPermissions"})
    terminal.until("error")
    state = server.admin().ok("GET", f"/api/sessions/{session}")
    must(state["permissionMode"] == "default", state)
    run(terminal, **{"continue": True, "auto_approve_safe": False})
    terminal.until("error")
    state = server.admin().ok("GET", f"/api/sessions/{session}")
    must(set(state["toolPolicies"]) == SAFE and set(state["toolPolicies"].values()) == {"ask"}, state)


def test_wrong_types_are_errors(stage):
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="touch 1")]}, {"text": "done"}]))
    terminal = Terminal(stage, server)
    for wrong in ({"permission_mode": 1}, {"permission_mode": ["sdk"]}, {"auto_approve_safe": "false"}, {"auto_approve_safe": 0},
                  {"continue": "no"}, {"cwd": 1}, {"cwd": "relative"}, {"prompt": 7}, {"prompt": " "}, {"approval_timeout": "5"},
                  {"max_tokens": 0}, {"max_iterations": "9"}, {"system_prompt": {}}, {"model": 4}, {"session_id": 3},
                  {"auto_approve_read": "yes"}, {"api_key": "sk-other"}):
        run(terminal, **wrong)
        must(terminal.next()["type"] == "error", wrong)
    must(server.admin().ok("GET", "/api/sessions")["sessions"] == [], "a wrong command began a session")
    run(terminal, permission_mode="sdk")
    request = terminal.until("tool_approval_request")["request_id"]
    for wrong in ({}, {"approved": None}, {"approved": "true"}, {"approved": 1}, {"approved": True, "feedback": 5}):
        terminal.say(command="tool_approval_response", request_id=request, **wrong)
        must(terminal.next()["type"] == "error", wrong)
    must(len(server.admin().pending()) == 1, "a wrong answer was taken for one")
    terminal.say(command="tool_approval_response", request_id=request, approved=True)
    must(terminal.until("result")["subtype"] == "success", "the right answer")
