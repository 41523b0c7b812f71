"""The terminal's socket is a view of a session: it may be lost, opened again, opened twice, and show several."""
from stage import use
from terminal import Terminal
from world import Client, must

ASK = [{"text": "first", "tools": [use(1, "Bash", command="echo one | tee made")]}, {"text": "last"}]


def ask(terminal, **more):
    terminal.say(**{"command": "run", "prompt": "p", "permission_mode": "sdk", **more})
    return terminal.until("tool_approval_request")


def answer(terminal, request, approved=True, **more):
    terminal.say(command="tool_approval_response", request_id=request["request_id"], approved=approved, **more)


def attach(terminal, session, **more):
    """The acknowledgement, and all that is told until it has caught up."""
    terminal.say(command="attach", session_id=session, **more)
    told = [terminal.next()]
    while told[-1]["type"] not in ("caught_up", "error"):
        told.append(terminal.next())
    return told


def test_a_lost_connection_in_the_middle_of_a_question(stage):
    server = stage.serve(stage.model(ASK))
    lost = Terminal(stage, server)
    request = ask(lost)
    lost.socket.sock.close()
    terminal = Terminal(stage, server)
    told = attach(terminal, request["session_id"])
    must([m["type"] for m in told] == ["ack", "user", "assistant", "assistant", "tool_approval_request", "caught_up"], told)
    must(told[1]["content"] == {"text": "p"} and told[1]["subtype"] == "text", told[1])
    must({k: v for k, v in told[4].items() if k != "cursor"} == {k: v for k, v in request.items() if k != "cursor"}, told[4])
    must(told[-1]["run_status"] in ("running", "awaiting_approval"), told[-1])  # the request is kept first
    answer(terminal, told[4])
    must(terminal.until("user")["content"]["content"] == "one\n", "the result")
    must(terminal.until("result")["subtype"] == "success", "it did not go on")


def test_a_restart_in_the_middle_of_a_question(stage):
    server = stage.serve(stage.model(ASK))
    request = ask(Terminal(stage, server))
    server.kill()
    server.start()
    terminal = Terminal(stage, server)
    told = attach(terminal, request["session_id"])
    must(told[-2]["request_id"] == request["request_id"], told)
    answer(terminal, request)
    must(terminal.until("result")["subtype"] == "success", "it did not go on")
    must([b["content"]["text"] for b in attach(Terminal(stage, server), request["session_id"])
          if b.get("subtype") == "text" and b["type"] == "assistant"] == ["first", "last"], "the whole conversation")


def test_a_cursor_repeats_nothing_and_misses_nothing(stage):
    """Behind each message that was told, attaching again tells exactly the rest."""
    server = stage.serve(stage.model([{"text": "a", "tools": [use(1, "Read", file_path="f"), use(2, "Glob", pattern="*")]}, {"text": "z"}]),
                         "--parallel-tools")
    stage.write("f", "text\n")
    terminal = Terminal(stage, server)
    terminal.say(command="run", prompt="p", id=7)
    ack = terminal.next()
    must(ack["type"] == "ack" and ack["id"] == 7 and ack["command"] == "run", ack)
    whole = []
    while not whole or whole[-1]["type"] != "result":
        whole.append(terminal.next())
    must(len({m["cursor"] for m in whole}) == len(whole) and {m["session_id"] for m in whole} == {ack["session_id"]}, whole)
    must([m.get("subtype") for m in whole] == ["text", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text", "success"], whole)
    for number, message in enumerate(whole):
        told = attach(Terminal(stage, server), ack["session_id"], after=message["cursor"])
        must(told[1:-1] == whole[number + 1:], f"after {message['cursor']}: {told}")
        must(told[-1]["run_status"] == "completed", told[-1])


def test_two_tabs_see_the_same_and_one_answers(stage):
    server = stage.serve(stage.model(ASK))
    one, two = Terminal(stage, server), Terminal(stage, server)
    request = ask(one)
    must(attach(two, request["session_id"])[-2]["request_id"] == request["request_id"], "the second tab")
    answer(two, request, approved=False, feedback="not so")
    told = one.until("tool_approval_status")
    must(told["status"] == "REJECTED" and told["user_feedback"] == "not so", told)
    answer(one, request)
    must(one.until("error"), "a second answer")
    for tab in (one, two):
        must(tab.until("result")["subtype"] == "success", "no end")
    two.say(**{"command": "run", "prompt": "again", "continue": True})
    must(two.until("result")["subtype"] == "success", "the second tab continues")
    must(one.until("result")["subtype"] == "success", "the first tab hears of it")


def test_several_runs_on_one_socket(stage):
    server = stage.serve(stage.model(ASK))
    terminal = Terminal(stage, server)
    requests = [ask(terminal, id=n) for n in range(3)]
    must(len({r["session_id"] for r in requests}) == 3, requests)
    terminal.say(command="cancel", session_id=requests[1]["session_id"])
    ended = terminal.until("result")
    must(ended["subtype"] == "cancelled" and ended["session_id"] == requests[1]["session_id"], ended)
    for request in (requests[0], requests[2]):
        answer(terminal, request)
        ended = terminal.until("result")
        must(ended["subtype"] == "success" and ended["session_id"] == request["session_id"], ended)
    terminal.say(**{"command": "run", "prompt": "more", "session_id": requests[0]["session_id"]})
    ended = terminal.until("result")
    must(ended["session_id"] == requests[0]["session_id"], ended)


def test_many_runs_on_one_socket(stage):
    """Sessions whose runs are over make room; beyond the limit of those that run, a command is refused."""
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="touch made")]}]))
    terminal = Terminal(stage, server)
    requests = [ask(terminal) for _ in range(16)]
    terminal.say(command="run", prompt="p", permission_mode="sdk")
    must("too many" in terminal.until("error")["content"]["message"], "a seventeenth")
    terminal.say(command="cancel", session_id=requests[0]["session_id"])
    terminal.until("result")
    must(ask(terminal)["session_id"] not in {r["session_id"] for r in requests}, "no room was made")


def test_continue_on_another_socket(stage):
    model = stage.model([{"text": "one"}, {"text": "two"}])
    server = stage.serve(model)
    first = Terminal(stage, server)
    first.say(command="run", prompt="a", id="x")
    session = first.until("result")["session_id"]
    second = Terminal(stage, server)
    second.say(**{"command": "run", "prompt": "b", "continue": True})
    must("session_id" in second.next()["content"]["message"], "it began anew")
    second.say(**{"command": "run", "prompt": "b", "continue": True, "session_id": session, "cwd": "/elsewhere"})
    must("folder" in second.next()["content"]["message"], "another folder")
    second.say(**{"command": "run", "prompt": "b", "continue": True, "session_id": session})
    must(second.next() == {"type": "assistant", "subtype": "text", "content": {"text": "two"}}, "it did not continue there")
    must(len(model.requests[-1]["body"]["messages"]) == 3, "the model was not told what came before")


def test_no_cut_at_five_answers(stage):
    script = [{"tools": [use(n, "Read", file_path="f")]} for n in range(12)] + [{"text": "done"}]
    stage.write("f", "text\n")
    server = stage.serve(stage.model(script))
    terminal = Terminal(stage, server)
    terminal.say(command="run", prompt="p")
    must(terminal.until("result")["subtype"] == "success", "it was cut")
    terminal.say(command="run", prompt="p", max_iterations=3)
    must(terminal.until("result")["subtype"] == "error", "max_iterations")


def test_the_whole_configuration(stage):
    model = stage.model([{"text": "one"}])
    terminal = Terminal(stage, stage.serve(model))
    terminal.say(command="run", prompt="p", model="claude-other", max_tokens=321, system_prompt="Speak like a sailor.")
    terminal.until("result")
    body = model.requests[0]["body"]
    must(body["model"] == "claude-other" and body["max_tokens"] == 321, body)
    must("Speak like a sailor." in str(body["system"]), body["system"])


def test_bound_tokens_and_strangers(stage):
    """A token of one session attaches there and nowhere else; runs need the scope run, which none that is bound has."""
    server = stage.serve(stage.model([{"text": "one"}, {"text": "two"}]))
    admin = server.admin()
    first = Terminal(stage, server)
    sessions = []
    for prompt in ("a", "b"):
        first.say(command="run", prompt=prompt, id=prompt)
        sessions.append(first.until("result")["session_id"])
    bound = admin.ok("POST", "/api/tokens", {"name": "bound", "role": "approver", "sessionId": sessions[0]})["token"]
    terminal = Terminal(stage, server, Client(server, bound, "bound"))
    for message in ({"command": "run", "prompt": "x", "permission_mode": "bypassPermissions"},
                    {"command": "run", "prompt": "x", "session_id": sessions[1]},
                    {"command": "attach", "session_id": sessions[1]}, {"command": "attach", "session_id": "ses_none"},
                    {"command": "attach"}, {"command": "attach", "session_id": 5},
                    {"command": "attach", "session_id": sessions[0], "after": "x"}):
        terminal.say(**message)
        must(terminal.next()["type"] == "error", message)
    must(len(admin.ok("GET", "/api/sessions")["sessions"]) == 2, "a session was begun")
    must(attach(terminal, sessions[0])[-1]["run_status"] == "completed", "its own session")
    terminal.say(**{"command": "run", "prompt": "x", "continue": True})
    must(terminal.next()["content"]["code"] == "session_bound", "a run was started")
