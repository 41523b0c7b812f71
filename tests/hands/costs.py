"""Money: counted where the price is known, with sub-agents, and never guessed."""
from cli import Screen
from stage import use
from tasks import by_prompt, task
from world import must

USAGE = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 10000, "cache_creation_input_tokens": 2000}
EACH = 0.003 + 0.0015 + 0.003 + 0.0075  # claude-sonnet-4


def close(a, b):
    return a is not None and abs(a - b) < 1e-9


def test_cost_of_a_run_and_its_sub_agents(stage):
    model = stage.model(by_prompt(main=[{"tools": [task(1, "part")], "usage": USAGE}, {"text": "Done.", "usage": USAGE}],
                                  part=[{"text": "Part.", "usage": USAGE}]))
    admin = stage.serve(model).admin()
    run = stage.begin(admin, "main")
    state = run.over()
    must(close(state["usage"].get("costUsd"), 3 * EACH), state["usage"])
    last = run.events("RUN_STATUS")[-1]["data"]
    must(last["usage"] == state["usage"], last)
    must(admin.ok("GET", f"/api/agent-requests/{run.id}/checkpoint")["usage"] == state["usage"], "the checkpoint differs")
    must(close(run.events("AGENT_MESSAGE")[0]["data"]["usage"]["costUsd"], EACH), run.events("AGENT_MESSAGE")[0])
    screen = Screen(stage, "run", "--color", "never", "main")
    screen.until(r"tokens: 3000 in, 300 out, 30000 from the cache, 6000 into it; cost: \$0\.045")
    must(screen.wait() == 0, screen.text)


def test_own_prices_and_none(stage):
    model = stage.model([{"tools": [use(1, "Glob", pattern="*")], "usage": USAGE}, {"text": "Done.", "usage": USAGE}])
    admin = stage.serve(model, "--prices", "mine=1/10/0.1/2,other=1/1").admin()
    state = stage.begin(admin, model="mine").over()
    must(close(state["usage"].get("costUsd"), 2 * (0.001 + 0.001 + 0.001 + 0.004)), state["usage"])
    state = stage.begin(admin, model="nobody-knows-1").over()
    must("costUsd" not in state["usage"] and state["usage"]["input"] == 2000, state["usage"])


def test_a_price_that_is_none_is_refused(stage):
    ended = stage.nod("serve", "--prices", "mine=cheap", exits=2)
    must("prices: 'cheap' is not a price" in ended.stderr, ended)


def test_figures_that_cannot_be_are_not_believed(stage):
    """Neither less than nothing nor more than can be counted: what is kept must stay readable."""
    few, many = {"input_tokens": -7, "output_tokens": -1000001}, {"input_tokens": 9 * 10**18, "output_tokens": 9 * 10**18}
    model = stage.model([{"tools": [use(1, "Glob", pattern="*")], "usage": few}, {"text": "Done.", "usage": many}])
    admin = stage.serve(model, "--prices", "mine=1/10/0.1/2").admin()
    run = stage.begin(admin, model="mine")
    state = run.over()
    must(state["status"] == "completed", state)
    for event in run.events("AGENT_MESSAGE"):
        must(all(n >= 0 for n in event["data"]["usage"].values()), event["data"]["usage"])
    must(all(n >= 0 for n in state["usage"].values()), state["usage"])
