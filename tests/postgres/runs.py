"""Runs of Nod's own agent on several nodes: one of them dies, or sleeps, and another goes on in its place."""
import functools
import os
import signal
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "hands"), os.path.join(TESTS, "model")]

from nodes import at                                        # noqa: E402
from shells import alive, mark_of                           # noqa: E402
from stage import Stage, check_once, results_in, use        # noqa: E402
from tasks import asked_of, by_prompt, task                 # noqa: E402
from world import eventually, must                          # noqa: E402

BYPASS = {"permissionMode": "bypassPermissions"}


def staged(test):
    """The test gets a Stage in place of the World."""
    @functools.wraps(test)
    def run(pg, _world):
        stage = Stage()
        try:
            test(pg, stage)
            stage.close()
        except BaseException:
            for server in stage.servers:
                print("--- log of a node ---\n" + server.log()[-1500:])
            stage.close(quietly=True)
            raise
    return run


def nodes(pg, stage, model, count=2, lease="3s"):
    url = pg.create(f"r{os.path.basename(stage.folder)}")
    return [stage.serve(model, "--store", url, "--run-lease", lease, data=os.path.join(stage.folder, f"node{n}"))
            for n in range(count)]


def owners(run):
    """Who has claimed the run, in order."""
    claims = [e["data"] for e in run.events("RUN_STATUS") if e["threadId"] == run.thread]
    return [d["owner"] for d in claims if d["status"] == "running" and "owner" in d]


def go_on_at(run, node):
    return run.with_client(at(node, run.client))


@staged
def test_a_node_dies_in_the_middle_of_a_tool(pg, stage):
    model = stage.model([{"tools": [use(1, "Bash", command="echo begun >> log; sleep 300")]}, {"text": "I see."}])
    a, b = nodes(pg, stage, model)
    run = stage.begin(a.admin(), **BYPASS)
    eventually(lambda: os.path.exists(stage.path("log")), "the command")
    a.kill()
    state = go_on_at(run, b).over()
    must(state["status"] == "completed" and state["result"] == "I see.", state)
    must(stage.read("log") == "begun\n", "it was started again")
    told = results_in(model.requests[-1])[0]
    must(told["is_error"] and "effect is unknown" in told["content"], told)
    must(len(set(owners(run))) == 2, owners(run))
    b.says("run taken over")
    check_once(run)


@staged
def test_a_node_dies_in_the_middle_of_an_answer(pg, stage):
    model = stage.model([{"text": "slow " * 200, "chunk": 20, "delay": 0.2}])
    a, b = nodes(pg, stage, model)
    run = stage.begin(a.admin())
    eventually(lambda: model.requests, "the model is asked")
    model.script = [{"text": "Now."}]
    a.kill()
    state = go_on_at(run, b).over()
    must(state["status"] == "completed" and state["result"] == "Now.", state)
    must(len(model.requests) == 2 and len(run.events("AGENT_MESSAGE")) == 1, "asked or kept more than that")


@staged
def test_a_node_dies_while_a_sub_agent_works(pg, stage):
    model = stage.model(by_prompt(main=[{"tools": [task(1, "part")]}, {"text": "All."}],
                                  part=[{"text": "slow " * 200, "chunk": 20, "delay": 0.2}]))
    a, b = nodes(pg, stage, model)
    run = stage.begin(a.admin(), "main")
    eventually(lambda: asked_of(model, "part"), "the sub-agent")
    model.script = by_prompt(main=[None, {"text": "All."}], part=[{"text": "Part."}])
    a.kill()
    state = go_on_at(run, b).over()
    must(state["status"] == "completed" and state["result"] == "All.", state)
    must([r["content"] for r in run.results()] == ["Part."], run.results())
    check_once(run)


def overtake(pg, stage, first, at_work):
    """A is stopped while it works, B goes on in its place, A wakes up: it adds nothing."""
    model = stage.model([first])
    a, b = nodes(pg, stage, model)
    run = stage.begin(a.admin(), **BYPASS)
    eventually(lambda: at_work(model), "it works")
    model.script = [{"text": "Taken over."}] * 2
    a.process.send_signal(signal.SIGSTOP)
    try:
        state = go_on_at(run, b).over()
    finally:
        a.process.send_signal(signal.SIGCONT)
    must(state["status"] == "completed" and state["result"] == "Taken over.", state)
    last = run.events()[-1]["seq"]
    stage.begin(at(a, run.client), "another").over()  # what A had left to say comes before the end of this
    must(run.events()[-1]["seq"] == last, run.events()[-3:])
    must(len(set(owners(run))) == 2, owners(run))
    check_once(run)


@staged
def test_a_node_that_slept_in_a_tool_is_fenced_out(pg, stage):
    mark = mark_of(7)
    overtake(pg, stage, {"tools": [use(1, "Bash", command=f"sleep {mark}")]}, lambda _: alive(f"sleep\0{mark}"))
    eventually(lambda: not alive(mark), "the sleeper's command is ended")


@staged
def test_a_node_that_slept_in_an_answer_is_fenced_out(pg, stage):
    overtake(pg, stage, {"text": "slow " * 60, "chunk": 20, "delay": 0.2}, lambda model: model.requests)


@staged
def test_a_long_tool_keeps_its_run(pg, stage):
    model = stage.model([{"tools": [use(1, "Bash", command="sleep 13; echo done")]}, {"text": "Done."}])
    a, b = nodes(pg, stage, model, lease="6s")
    run = stage.begin(a.admin(), **BYPASS)
    state = go_on_at(run, b).over()
    must(state["status"] == "completed" and run.results()[0]["content"] == "done\n", run.results())
    must(len(set(owners(run))) == 1, owners(run))
    must(run.client.events(types="RUN_LEASE"), "it never said that it was alive")


@staged
def test_an_alert_is_kept_once(pg, stage):
    model = stage.model([{"tools": [use(1, "Bash", command="true")]}, {"text": "Done."}])
    url = pg.create(f"r{os.path.basename(stage.folder)}")
    servers = [stage.serve(model, "--store", url, "--alert-after", "1s", data=os.path.join(stage.folder, f"node{n}")) for n in range(3)]
    admin = servers[0].admin()
    many = [stage.begin(at(servers[n % 3], admin), f"run {n}") for n in range(9)]
    eventually(lambda: len({e["sessionId"] for e in admin.events(types="TOOL_APPROVAL_ALERT")}) == 9, "nine alerts")
    for run in many:
        run.answer()
        run.over()
        must(len(run.events("TOOL_APPROVAL_ALERT")) == 1, run.events("TOOL_APPROVAL_ALERT"))
