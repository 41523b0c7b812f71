"""kill -9 with fifty waiting commands: after the restart each is answered once its call is decided."""
import concurrent.futures
import time

from world import PATIENCE, eventually, must, within

EXITS = {"allow_once": 0, "deny": 10, "abort": 12}


def test_fifty_commands_survive_a_kill(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    commands = {}
    for number in range(50):
        call = f"w{number:02}"
        commands[call] = world.start("call", "Bash", '{"command":"make %d"}' % number, "--wait", "--session", made["id"], "--id", call)
    eventually(lambda: len(admin.pending()) == 50, lambda: f"fifty pending: {len(admin.pending())}", 3 * PATIENCE)
    server.kill()
    time.sleep(0.2)
    must(all(c.process.poll() is None for c in commands.values()), "a command gave up when the server died")
    server.start()
    must(len(admin.pending()) == 50, "every wait is re-established")
    must(all(c.process.poll() is None for c in commands.values()), "a command gave up after the restart")
    decisions = list(EXITS)
    for number, call in enumerate(commands):
        admin.decided(made["id"], call, decisions[number % 3], feedback=f"words for {call}")
        if number == 25:
            server.kill()
            server.start()
    for number, (call, command) in enumerate(commands.items()):
        decision = decisions[number % 3]
        status = command.wait(3 * PATIENCE)
        must(status == EXITS[decision], f"{call}: {decision} gave {status}: {command.stdout!r} {command.stderr!r}")
        must(f"words for {call}" in command.stdout + command.stderr, f"{call}: the words are missing: {command.stdout!r}")
    kinds = [e["type"] for e in admin.events(session=made["id"])]
    must(kinds.count("TOOL_CALL") == 50 and kinds.count("TOOL_APPROVAL_REQUEST") == 50 and kinds.count("TOOL_APPROVAL_RESPONSE") == 50,
         f"asked or answered twice: {len(kinds)} events")


def test_many_wait_for_the_same_call(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    admin.call(made["threadId"], "Bash", {"command": "x"}, id="c")
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        waits = [pool.submit(admin.status, "c", 60) for _ in range(30)]
        eventually(lambda: waiting(admin) >= 30, "thirty waiters")
        admin.decided(made["id"], "c", "allow_once")
        for wait in waits:
            must(wait.result(PATIENCE)["status"] == "allowed", "each waiter is answered")
    eventually(lambda: waiting(admin) == 0, "no waiter is left")


def waiting(admin):
    """How many requests wait, from the metrics; the name is ours to find."""
    for line in admin.get("/metrics").body.decode().splitlines():
        if not line.startswith("#") and "wait" in line.split(" ")[0]:
            return float(line.split()[-1])
    return 99


def test_the_answer_comes_at_once(world):
    """No polling anywhere: a waiter hears of the decision much sooner than any polling interval."""
    server = world.server()
    admin = server.admin()
    made = admin.session()
    times = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for number in range(20):
            admin.call(made["threadId"], "Bash", {"command": "x"}, id=f"c{number}")
            wait = pool.submit(admin.status, f"c{number}", 30)
            time.sleep(0.02)
            begun = time.monotonic()
            admin.decided(made["id"], f"c{number}", "allow_once")
            wait.result(PATIENCE)
            times.append(time.monotonic() - begun)
    must(sorted(times)[10] < within(0.5), f"the median answer took {sorted(times)[10]:.3f} s")


def test_waiting_ends_when_its_time_is_over(world):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    begun = time.monotonic()
    answer = admin.call(made["threadId"], "Bash", {"command": "x"}, wait=2, id="c")
    took = time.monotonic() - begun
    must(answer["status"] == "awaiting" and 1.9 < took < 2 + PATIENCE, f"{answer['status']} after {took:.1f} s")


def test_the_rule_is_gone_when_the_answer_comes(world):
    """Words of the verdict are shown with the answer: they outlive the rule they came from."""
    server = world.server()
    admin = server.admin()
    made = admin.session()
    rule = admin.ok("POST", "/api/policy/rules", {"effect": "ask", "rule": "Bash(make:*)"})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        agent = pool.submit(server.admin().call, made["threadId"], "Bash", {"command": "make test"}, wait=60, id="w1")
        eventually(lambda: len(admin.pending()) == 1, "it waits")
        admin.ok("DELETE", f"/api/policy/rules/{rule['id']}")
        admin.call(made["threadId"], "Bash", {"command": "make it"}, id="w2")  # rules are read anew
        admin.decided(made["id"], "w1", "allow_once")
        answer = agent.result(PATIENCE)
    must(answer["status"] == "allowed" and answer["rule"] == "Bash(make:*)", answer)


def test_every_end_of_a_wait_has_the_input(world):
    """A request that waits keeps no copy of the input: however the wait ends, the answer has it, whatever its size."""
    server = world.server()
    admin = server.admin()
    made = admin.session()
    sizes = {"small": 10, "middle": 3000, "large": 60000}
    ends = {"allow_once": "allowed", "deny": "denied", "abort": "aborted"}
    calls = {f"{size}-{end}": {"command": "make", "description": "é\"\\" * (sizes[size] // 4)} for size in sizes for end in ends}
    over = admin.call(made["threadId"], "Bash", {"command": "make", "description": "x"}, wait=1, id="over")
    must(over["status"] == "awaiting" and over["input"] == {"command": "make", "description": "x"}, over)
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        agents = {call: pool.submit(server.admin().call, made["threadId"], "Bash", given, wait=60, id=call)
                  for call, given in calls.items()}
        eventually(lambda: len(admin.pending()) == len(calls) + 1 and waiting(admin) == len(calls), "all are kept and wait")
        for call in calls:
            admin.decided(made["id"], call, call.split("-")[1])
        for call, given in calls.items():
            answer = agents[call].result(PATIENCE)
            must(answer["status"] == ends[call.split("-")[1]] and answer["input"] == given, f"{call}: {str(answer)[:300]}")
