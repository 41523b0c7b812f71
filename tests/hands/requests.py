"""Agent requests over HTTP: a fresh start, resuming, rejecting, restarts, sequences, repeats."""
import json
import threading

from stage import check_once, results_in, use
from world import eventually, must

WRITE = {"text": "I'll make it.", "tools": [use(1, "Write", file_path="a.txt", content="one\n")]}


def test_fresh_start_and_resume(stage):
    model = stage.model([WRITE, {"text": "Done."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, execute=False)
    must(run.state()["status"] == "pending", "it is not pending")
    must(not model.requests, "the model was asked before execute")
    run.execute()
    waiting = run.until("awaiting_approval")
    must(waiting["iterationCount"] == 1, waiting)
    checkpoint = admin.ok("GET", f"/api/agent-requests/{run.id}/checkpoint")
    must(checkpoint["lastToolCall"] == {"id": "toolu_1", "name": "Write", "input": WRITE["tools"][0]["input"]}, checkpoint)
    must(checkpoint["status"] == "awaiting_approval" and checkpoint["iterationCount"] == 1, checkpoint)
    must([m["role"] for m in checkpoint["conversationHistory"]] == ["user", "assistant"], checkpoint)
    one = run.pending()[0]
    must(one["preview"]["type"] == "diff" and one["preview"]["is_new_file"], one)
    must("+one" in one["preview"]["unified"], one)
    answered = admin.ok("POST", f"/api/approve-tool/{one['toolCallId']}", {"approved": True})
    must(answered["success"], answered)
    state = run.over()
    must(state["status"] == "completed" and state["result"] == "Done.", state)
    must(stage.read("a.txt") == "one\n", "the file is not there")
    told = results_in(model.requests[1])
    must(len(told) == 1 and "Wrote 4 characters" in told[0]["content"] and not told[0].get("is_error"), told)
    types = [e["type"] for e in admin.ok("GET", f"/api/agent-requests/{run.id}/events")["events"]]
    must(types == ["text_chunk", "tool_call", "tool_result", "text_chunk", "completion"], types)
    audit = run.results()[0]["permissions"]
    must(audit["decision"] == "allow_once" and audit["by"] == "admin" and audit["result"] == "approved" and audit["date"], audit)
    check_once(run)


def test_rejection_ends_it(stage):
    model = stage.model([WRITE])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    one = run.pending()[0]
    admin.ok("POST", f"/api/approve-tool/{one['toolCallId']}", {"approved": False})
    must(run.over()["status"] == "rejected", run.state())
    must(len(model.requests) == 1, "the model was asked again")
    run.execute()
    must(run.state()["status"] == "rejected", "it came back")
    must(not run.events("TOOL_STARTED"), "it started")


def test_approval_after_a_restart(stage):
    model = stage.model([WRITE, {"text": "Done."}])
    server = stage.serve(model)
    run = stage.begin(server.admin())
    run.until("awaiting_approval")
    server.kill()
    server.start()
    run.with_client(server.admin())
    must(run.state()["status"] == "awaiting_approval", run.state())
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    must(stage.read("a.txt") == "one\n", "the file is not there")
    must(len(model.requests) == 2, len(model.requests))


def test_answered_while_nobody_was_there(stage):
    """The answer is kept, and the process dies before the run goes on."""
    model = stage.model([WRITE, {"text": "Done."}])
    server = stage.serve(model)
    run = stage.begin(server.admin())
    run.answer()
    server.kill()
    server.start()
    run.with_client(server.admin())
    state = run.over()
    must(state["status"] == "completed", state)
    check_once(run)


def test_several_in_sequence(stage):
    script = [{"tools": [use(n, "Bash", command=f"echo {n} >> log")]} for n in range(4)] + [{"text": "Four."}]
    model = stage.model(script)
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    for _ in range(4):
        run.answer()
    must(run.over()["status"] == "completed", run.state())
    must(stage.read("log") == "0\n1\n2\n3\n", stage.read("log"))
    check_once(run)


def test_iteration_limit(stage):
    model = stage.model([{"tools": [use(n, "Glob", pattern="*")]} for n in range(20)])
    admin = stage.serve(model).admin()
    state = stage.begin(admin).over()
    must(state["status"] == "failed" and "limit of 5" in state["reason"] and len(model.requests) == 5, state)
    state = stage.begin(admin, maxIterations=7).over()
    must("limit of 7" in state["reason"] and len(model.requests) == 12, state)


def test_repeated_execute(stage):
    model = stage.model([WRITE, {"text": "Done."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, execute=False)
    threads = [threading.Thread(target=run.execute) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.until("awaiting_approval")
    run.execute()
    run.answer()
    run.execute()
    must(run.over()["status"] == "completed", run.state())
    run.execute()
    must(len(model.requests) == 2, f"the model was asked {len(model.requests)} times")
    check_once(run)


def test_concurrent_approvals(stage):
    model = stage.model([WRITE, {"text": "Done."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    call = run.pending()[0]["toolCallId"]
    replies = []
    def approve(yes):
        replies.append(admin.request("POST", f"/api/approve-tool/{call}", {"approved": yes}).status)
    threads = [threading.Thread(target=approve, args=(n % 2 == 0,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    must(set(replies) <= {200, 409} and 200 in replies, replies)
    run.over()
    must(len(run.events("TOOL_APPROVAL_RESPONSE")) == 1, "two responses")
    check_once(run)


def test_parallel_uses(stage):
    uses = [use(1, "Write", file_path="a", content="A"), use(2, "Write", file_path="b", content="B"),
            use(3, "Glob", pattern="*"), use(4, "Bash", command="touch c")]
    model = stage.model([{"tools": uses}, {"text": "All."}])
    admin = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(admin)
    pending = run.pending(3)
    admin.decided(run.session, "toolu_2", "deny", feedback="not b")
    admin.decided(run.session, "toolu_4", "allow_once")
    eventually(lambda: len(run.results()) == 2, "two results while one waits")
    must(len(pending) == 3, pending)
    admin.decided(run.session, "toolu_1", "allow_once")
    must(run.over()["status"] == "completed", run.state())
    told = results_in(model.requests[1])
    must([t["tool_use_id"] for t in told] == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"], told)
    must(told[1]["is_error"] and told[1]["content"] == "User rejected: not b", told[1])
    must("tool_choice" not in model.requests[0]["body"], "one tool only, though several are allowed")
    check_once(run)


def test_one_tool_by_default_and_the_request_is_cached(stage):
    model = stage.model([{"tools": [use(1, "Glob", pattern="*")]}, {"text": "x"}])
    admin = stage.serve(model).admin()
    stage.begin(admin).over()
    body = model.requests[1]["body"]
    must(body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}, body["tool_choice"])
    must("ONE tool at a time" in body["system"][0]["text"], body["system"])
    must(body["system"][-1]["cache_control"] == {"type": "ephemeral"}, body["system"])
    must(body["tools"][-1]["cache_control"] == {"type": "ephemeral"}, body["tools"][-1])
    must(body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}, body["messages"][-1])
    headers = {k.lower(): v for k, v in model.requests[0]["headers"].items()}
    must(headers["x-api-key"] == "sk-secret-key-7" and headers["anthropic-version"], headers)


def test_the_key_is_nowhere(stage):
    model = stage.model([{"tools": [use(1, "Bash", command="env; cat /proc/self/environ | tr '\\0' '\\n'")]}, {"text": "x"}])
    server = stage.serve(model, "--log-level", "trace")
    admin = server.admin()
    run = stage.begin(admin)
    run.answer()
    run.over()
    must("sk-secret" not in json.dumps(run.events()) and "sk-secret" not in server.log(), "the key leaked")


def test_input_that_does_not_fit(stage):
    model = stage.model([{"tools": [use(1, "Write", path="x")]}, {"tools": [use(2, "Nothing", a=1)]}, {"text": "ok"}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    must(run.over()["status"] == "completed", run.state())
    told = results_in(model.requests[2])
    must(told[0]["is_error"] and "\"file_path\" is missing" in told[0]["content"], told)
    must(told[1]["is_error"] and "there is no tool Nothing" in told[1]["content"], told)
    must(not run.events("TOOL_APPROVAL_REQUEST"), "a person was asked")


def test_another_prompt_in_the_same_thread(stage):
    model = stage.model([{"text": "First."}, {"tools": [use(1, "Glob", pattern="*")]}, {"text": "Second."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "one")
    run.over()
    again = stage.begin(admin, "two", sessionId=run.session)
    must(again.over()["result"] == "Second.", again.state())
    must(again.id != run.id and run.state()["result"] == "First.", run.state())
    roles = [m["role"] for m in model.requests[2]["body"]["messages"]]
    must(roles == ["user", "assistant", "user", "assistant", "user"], roles)


def test_a_second_run_waits_for_the_first(stage):
    model = stage.model([WRITE])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    run.until("awaiting_approval")
    reply = admin.post("/api/agent-requests", {"prompt": "two", "sessionId": run.session})
    must(reply.status == 409 and reply.code == "conflict", reply)


def test_cancel_while_it_waits(stage):
    model = stage.model([WRITE])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    run.pending()
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    must(run.state()["status"] == "cancelled", run.state())
    run.pending(0)
    must(admin.post(f"/api/agent-requests/{run.id}/cancel", {}).status == 409, "cancelled twice")


def test_cancel_while_a_command_runs(stage):
    model = stage.model([{"tools": [use(1, "Bash", command="touch begun; sleep 60; touch ended")]}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, permissionMode="bypassPermissions")
    eventually(lambda: run.events("TOOL_STARTED"), "the command starts")
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    eventually(lambda: run.results(), "its result")
    must("Cancelled while it ran" in run.results()[0]["content"], run.results())
    must(run.state()["status"] == "cancelled", run.state())


def test_cancel_while_the_model_speaks(stage):
    model = stage.model([{"text": "slow " * 200, "chunk": 20, "delay": 0.2}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    eventually(lambda: model.requests, "the model is asked")
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    must(run.state()["status"] == "cancelled", run.state())
    must(not run.events("AGENT_MESSAGE"), "half an answer was kept")


def test_denial_goes_on(stage):
    model = stage.model([WRITE, {"text": "As you like."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    run.answer("deny", feedback="use b.txt")
    state = run.over()
    must(state["status"] == "completed" and state["result"] == "As you like.", state)
    told = results_in(model.requests[1])[0]
    must(told["is_error"] and told["content"] == "User rejected: use b.txt", told)


def test_edited_input_is_what_runs(stage):
    model = stage.model([WRITE, {"text": "ok"}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    run.answer(updatedInput={"file_path": "a.txt", "content": "edited\n"})
    run.over()
    must(stage.read("a.txt") == "edited\n", stage.read("a.txt"))
    must("edited" in results_in(model.requests[1])[0]["content"], "the model does not know")


def test_a_file_that_changed_is_asked_about_again(stage):
    stage.write("a.txt", "mine\n")
    edit = {"tools": [use(1, "Edit", file_path="a.txt", old_string="mine", new_string="yours")]}
    model = stage.model([edit, {"text": "ok"}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    first = run.pending()[0]
    must("-mine" in first["preview"]["unified"], first)
    stage.write("a.txt", "mine\nand more\n")
    admin.decided(run.session, first["toolCallId"], "allow_once")
    second = eventually(lambda: [p for p in admin.pending(f"/sessions/{run.session}") if p["toolCallId"] != first["toolCallId"]],
                        "the new question")[0]
    must(stage.read("a.txt") == "mine\nand more\n", "it was written")
    must(" and more" in second["preview"]["unified"] and second["digest"] != first["digest"], second)
    must(len(model.requests) == 1, "the model was asked meanwhile")
    admin.decided(run.session, second["toolCallId"], "allow_once")
    must(run.over()["status"] == "completed", run.state())
    must(stage.read("a.txt") == "yours\nand more\n", stage.read("a.txt"))
    told = results_in(model.requests[1])
    must(len(told) == 1 and told[0]["tool_use_id"] == "toolu_1" and not told[0].get("is_error"), told)
    check_once(run)


def test_a_file_that_changed_makes_answers_of_several_void(stage):
    stage.write("a.txt", "mine\n")
    edit = {"tools": [use(1, "Edit", file_path="a.txt", old_string="mine", new_string="yours")]}
    model = stage.model([edit, {"text": "ok"}])
    admin = stage.serve(model).admin()
    ann, bob = (admin.token_for("approver", name) for name in ("ann", "bob"))
    admin.ok("POST", "/api/policy/rules", {"rule": "Edit", "effect": "ask", "people": 2})
    run = stage.begin(admin)
    first = run.pending()[0]["toolCallId"]
    must(ann.decide(run.session, first, "allow_once").status == 202, "one of two")
    stage.write("a.txt", "mine\nand more\n")
    must(bob.decide(run.session, first, "allow_once").status == 200, "two of two")
    second = eventually(lambda: [p for p in admin.pending(f"/sessions/{run.session}") if p["toolCallId"] != first],
                        "the new question")[0]
    must(second["people"] == {"need": 2, "have": []}, f"nobody has allowed this: {second}")
    must(bob.decide(run.session, second["toolCallId"], "allow_once").json["have"] == 1, "bob is the first")
    must(stage.read("a.txt") == "mine\nand more\n", "nothing was written")
    must(ann.decide(run.session, second["toolCallId"], "allow_once").status == 200, "ann the second")
    must(run.over()["status"] == "completed" and stage.read("a.txt") == "yours\nand more\n", stage.read("a.txt"))


def test_timeout_is_told(stage):
    model = stage.model([WRITE, {"text": "ok"}])
    admin = stage.serve(model, "--approval-timeout", "1").admin()
    run = stage.begin(admin)
    must(run.over()["status"] == "completed", run.state())
    must("in time" in results_in(model.requests[1])[0]["content"], "the model does not know")


def test_agents_may_not_start_runs(stage):
    model = stage.model([WRITE])
    admin = stage.serve(model).admin()
    for role in ("agent", "viewer"):
        who = admin.token_for(role, role)
        must(who.post("/api/agent-requests", {"prompt": "x", "cwd": stage.project}).status == 403, role)
