"""Task: a sub-agent is a run of its own in a thread of its own; it asks for itself, and its last words are the result."""
from stage import check_once, results_in, use
from world import eventually, must


def by_prompt(**scripts):
    """A model that plays the script whose name its conversation begins with."""
    def answer(body):
        content = body["messages"][0]["content"]
        name = (content if isinstance(content, str) else content[0]["text"]).split()[0]
        told = sum(message["role"] == "assistant" for message in body["messages"])
        return scripts[name][told] if told < len(scripts[name]) else {"text": "The script is over."}
    return answer


def task(number, prompt, kind="reviewer"):
    return use(number, "Task", description=f"Do {prompt}", prompt=prompt, subagent_type=kind)


def asked_of(model, name):
    """The requests of the conversation that begins with this name."""
    return [r for r in model.requests if r["body"]["messages"][0]["content"][0]["text"].startswith(name)]


def child_of(run, call="toolu_1"):
    return next((e["data"]["threadId"] for e in run.events("TOOL_STARTED") if e["data"]["toolCallId"] == call), None)


def test_a_sub_agent_asks_and_reports(stage):
    usage = {"input_tokens": 100, "output_tokens": 7}
    model = stage.model(by_prompt(
        main=[{"text": "I'll have it reviewed.", "tools": [task(1, "review it all")]}, {"text": "All is well."}],
        review=[{"tools": [use(1, "Write", file_path="notes", content="fine\n")], "usage": usage},
                {"text": "Reviewed: fine.", "usage": usage}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main work")
    one = run.pending()[0]
    child = eventually(lambda: child_of(run), "the sub-agent's thread")
    must(one["agent"] == "nod agent: reviewer" and one["threadId"] == child != run.thread, one)
    must("nod agent: reviewer" in stage.nod("pending").stdout, stage.nod("pending").stdout)
    threads = {t["id"]: t for t in admin.ok("GET", f"/api/sessions/{run.session}/threads")["threads"]}
    must(threads[child]["parentId"] == run.thread and threads[child]["title"] == "Do review it all", threads)
    own = [e for e in run.events("RUN_STATUS") if e["threadId"] == child][0]["data"]
    must(own["parent"] == {"threadId": run.thread, "callId": "toolu_1", "runId": run.id} and own["agent"] == "reviewer", own)
    must(run.until("running") and len(asked_of(model, "main")) == 1, "the parent does not wait")
    last = [e for e in run.events("RUN_STATUS") if e["threadId"] == run.thread][-1]["data"]
    must("owner" not in last, f"somebody works on what waits: {last}")
    run.answer()
    state = run.over()
    must(state["status"] == "completed" and state["result"] == "All is well.", state)
    told = results_in(asked_of(model, "main")[1])[0]
    must(told["content"] == "Reviewed: fine." and not told.get("is_error"), told)
    must(state["usage"]["input"] == 220 and state["usage"]["output"] == 16, state["usage"])
    must("sub-agent" in asked_of(model, "review")[0]["body"]["system"][0]["text"], "it does not know what it is")
    must(stage.read("notes") == "fine\n", "the file is not there")
    check_once(run)


def test_rules_of_the_session_hold_for_it(stage):
    model = stage.model(by_prompt(
        main=[{"tools": [task(1, "part")]}, {"tools": [use(2, "Bash", command="echo two >> log")]}, {"text": "x"}],
        part=[{"tools": [use(1, "Glob", pattern="*")]}, {"tools": [use(2, "Bash", command="echo one >> log")]}, {"text": "y"}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main", toolPolicies={"Glob": "deny"})
    run.answer("allow_session")
    must(run.over()["status"] == "completed", run.state())
    must("Denied by policy" in results_in(asked_of(model, "part")[1])[0]["content"], "it was not denied")
    must(len(run.events("TOOL_APPROVAL_REQUEST")) == 1, "asked again for what the session allows")
    must(stage.read("log") == "one\ntwo\n", stage.read("log"))


def test_refusals(stage):
    model = stage.model(by_prompt(
        main=[{"tools": [task(1, "first")]}, {"tools": [task(2, "second")]}, {"text": "Well."}],
        first=[{"tools": [use(1, "Bash", command="touch a")]}, {"text": "So be it."}],
        second=[{"text": "I try.", "tools": [use(1, "Bash", command="touch b")]}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main")
    run.answer("deny", feedback="not a")
    run.answer("abort", feedback="enough")
    must(run.over()["status"] == "completed", run.state())
    told = results_in(asked_of(model, "main")[2])
    must(told[0]["content"] == "So be it." and not told[0].get("is_error"), told[0])
    must(told[1]["is_error"] and "ended the sub-agent: enough" in told[1]["content"] and "I try." in told[1]["content"], told[1])
    must("User rejected: not a" in results_in(asked_of(model, "first")[1])[0]["content"], "it does not know why")


def test_several_at_once(stage):
    parts = {f"part{n}": [{"tools": [use(1, "Bash", command=f"echo {n} > f{n}")]}, {"text": f"Part {n}."}] for n in range(4)}
    model = stage.model(by_prompt(main=[{"tools": [task(n, f"part{n}", f"worker {n}") for n in range(4)]}, {"text": "All."}], **parts))
    admin = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(admin, "main")
    pending = run.pending(4)
    must({p["agent"] for p in pending} == {f"nod agent: worker {n}" for n in range(4)}, [p["agent"] for p in pending])
    for one in reversed(pending):
        admin.decided(run.session, one["toolCallId"], "allow_once")
    must(run.over()["status"] == "completed", run.state())
    told = results_in(asked_of(model, "main")[1])
    must([t["content"] for t in told] == [f"Part {n}." for n in range(4)], told)
    check_once(run)


def test_depth_and_number(stage):
    many = [{"tools": [task(n, f"idle {n}")]} for n in range(17)]
    model = stage.model(by_prompt(
        main=[{"tools": [task(1, "deep")]}, *many, {"text": "Done."}],
        deep=[{"tools": [task(1, "deeper")]}, {"text": "Deep."}],
        deeper=[{"tools": [task(1, "deepest")]}, {"text": "Deeper."}],
        idle=[{"text": "Idle."}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main", maxIterations=50)
    must(run.over()["status"] == "completed", run.state())
    must("2 deep" in results_in(asked_of(model, "deeper")[1])[0]["content"], "deeper than two")
    must(not asked_of(model, "deepest"), "it was started")
    told = results_in(asked_of(model, "main")[-1])
    must(not told[15].get("is_error") and told[16]["is_error"] and "may start 16" in told[16]["content"], told[15:])


def test_the_number_holds_for_those_asked_for_together(stage):
    model = stage.model(by_prompt(main=[{"tools": [task(i, "part") for i in range(20)]}, {"text": "Done."}],
                                  part=[{"text": "Part."}]))
    admin = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(admin, "main", permissionMode="bypassPermissions")
    must(run.over()["status"] == "completed", run.state())
    begun = [e for e in admin.events() if e["type"] == "TOOL_STARTED" and e["data"].get("threadId")]
    must(len(begun) == 16, len(begun))


def test_cancel_reaches_them_all(stage):
    model = stage.model(by_prompt(
        main=[{"tools": [task(1, "deep")]}], deep=[{"tools": [task(1, "deeper")]}],
        deeper=[{"tools": [use(1, "Bash", command="echo hi")]}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main")
    run.pending()
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    run.pending(0)
    ends = eventually(lambda: (lambda e: e if len(e) == 3 else None)(
        [e["threadId"] for e in run.events("RUN_STATUS") if e["data"]["status"] == "cancelled"]), "three cancelled runs")
    must(len(set(ends)) == 3, ends)
    must(not run.events("TOOL_RESULT"), "something ran")


def test_cancel_that_a_crash_cuts_short(stage):
    """The parent's end is kept, its sub-agent's is not: it finds out when it is taken up again."""
    model = stage.model(by_prompt(main=[{"tools": [task(1, "slow")]}], slow=[{"text": "slow " * 60, "chunk": 40, "delay": 0.1}]))
    server = stage.serve(model)
    run = stage.begin(server.admin(), "main")
    eventually(lambda: asked_of(model, "slow"), "the sub-agent")
    run.client.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    server.kill()
    server.start()
    run.with_client(server.admin())
    eventually(lambda: len([e for e in run.events("RUN_STATUS") if e["data"]["status"] == "cancelled"]) == 2, "both are cancelled")


def test_a_cancelled_sub_agent_is_told(stage):
    model = stage.model(by_prompt(main=[{"tools": [task(1, "part")]}, {"text": "I see."}],
                                  part=[{"tools": [use(1, "Bash", command="echo hi")]}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main")
    run.pending()
    admin.ok("POST", f"/api/agent-requests/{child_of(run)}/cancel", {})
    must(run.over()["result"] == "I see.", run.state())
    told = results_in(asked_of(model, "main")[1])[0]
    must(told["is_error"] and "was cancelled" in told["content"], told)
    must(not admin.pending(), "a question that nobody needs is left")
