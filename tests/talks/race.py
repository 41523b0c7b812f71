"""At most one response per tool call, whoever and however many answer."""
import concurrent.futures
import threading

from world import must


def scene(world, people):
    server = world.server()
    admin = server.admin()
    made = admin.session()
    return server, admin, made["id"], made["threadId"], [admin.token_for("approver", f"p{i}", scopes=["rules.user"]) for i in range(people)]


def at_once(acts):
    """Runs all of them from one starting line."""
    line = threading.Barrier(len(acts))

    def run(act):
        line.wait()
        return act()
    with concurrent.futures.ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def one_winner(replies, admin, session, call):
    won = [r for r in replies if r.status == 200]
    lost = [r for r in replies if r.status == 409]
    must(len(won) == 1 and len(lost) == len(replies) - 1, f"statuses {[r.status for r in replies]}")
    winner = {"decision": won[0].json["decision"], "actor": won[0].json["actor"]}
    for reply in lost:
        must(reply.code == "already_decided", f"{reply}")
        have = reply.json["winner"]
        must({k: have.get(k) for k in winner} == winner, f"{have} is not the winner {winner}")
        must(have["at"] == lost[0].json["winner"]["at"], "winners of different times")
    events = [e for e in admin.events(session=session, types="TOOL_APPROVAL_RESPONSE") if e["data"]["toolCallId"] == call]
    must(len(events) == 1, f"{len(events)} responses were kept")
    must(events[0]["seq"] == won[0].json["seq"] and events[0]["actor"] == winner["actor"], "the event is another's")
    return winner


def test_twenty_different_decisions_one_winner(world):
    _, admin, session, thread, people = scene(world, 20)
    decisions = ["allow_once", "allow_session", "allow_always", "deny", "abort"]
    for turn in range(5):
        call = f"c{turn}"
        admin.patch(f"/api/sessions/{session}", {"toolPolicies": {"Bash": "ask"}})
        admin.call(thread, "Bash", {"command": "x"}, id=call)
        acts = [lambda p=p, i=i: p.decide(session, call, decisions[i % 5], feedback=f"words {i}") for i, p in enumerate(people)]
        winner = one_winner(at_once(acts), admin, session, call)
        answer = admin.status(call)
        must(answer["decision"] == winner["decision"] and answer["decidedBy"]["actor"] == winner["actor"], f"{answer}")


def test_the_same_person_with_twenty_different_words(world):
    _, admin, session, thread, people = scene(world, 1)
    admin.call(thread, "Bash", {"command": "x"}, id="c")
    one_winner(at_once([lambda i=i: people[0].decide(session, "c", "deny", feedback=f"no {i}") for i in range(20)]), admin, session, "c")


def test_the_same_decision_twenty_times_is_one(world):
    _, admin, session, thread, people = scene(world, 1)
    admin.call(thread, "Bash", {"command": "x"}, id="c")
    replies = at_once([lambda: people[0].decide(session, "c", "deny", feedback="no") for _ in range(20)])
    must([r.status for r in replies] == [200] * 20, f"{[r.status for r in replies]}")
    must(len({r.json["seq"] for r in replies}) == 1, "different events")
    must(len(admin.events(session=session, types="TOOL_APPROVAL_RESPONSE")) == 1, "more than one was kept")


def test_the_same_call_twenty_times_is_one(world):
    _, admin, session, thread, _ = scene(world, 0)
    replies = at_once([lambda: admin.ask(thread, "Bash", {"command": "x"}, id="c") for _ in range(20)])
    must([r.status for r in replies] == [200] * 20, f"{[r.status for r in replies]}")
    must([e["type"] for e in admin.events(session=session)] == ["SESSION_CHANGED", "TOOL_CALL", "TOOL_APPROVAL_REQUEST"], "kept once")


def test_twenty_different_inputs_one_call(world):
    _, admin, session, thread, _ = scene(world, 0)
    replies = at_once([lambda i=i: admin.ask(thread, "Bash", {"command": f"{i}"}, id="c") for i in range(20)])
    must(sorted(r.status for r in replies) == [200] + [409] * 19, f"{[r.status for r in replies]}")
    must(len(admin.events(session=session, types="TOOL_CALL")) == 1, "kept once")


def test_cancel_against_decisions(world):
    _, admin, session, thread, people = scene(world, 4)
    for turn in range(10):
        call = f"c{turn}"
        admin.call(thread, "Bash", {"command": "x"}, id=call)
        acts = [lambda p=p: p.decide(session, call, "deny") for p in people]
        acts.append(lambda: admin.post(f"/api/tool-calls/{call}/cancel"))
        replies = at_once(acts)
        must(sorted(r.status for r in replies) == [200] + [409] * 4, f"{[r.status for r in replies]}")
        must([e["data"]["toolCallId"] for e in admin.events(session=session, types="TOOL_APPROVAL_RESPONSE")].count(call) == 1, "once")


def test_results_against_each_other(world):
    _, admin, session, thread, people = scene(world, 1)
    admin.call(thread, "Bash", {"command": "x"}, id="c")
    people[0].decided(session, "c", "allow_once")
    replies = at_once([lambda i=i: admin.post("/api/tool-calls/c/result", {"content": f"{i}"}) for i in range(20)])
    must(sorted(r.status for r in replies) == [200] + [409] * 19, f"{[r.status for r in replies]}")
    must(len(admin.events(session=session, types="TOOL_RESULT")) == 1, "kept once")


def test_a_policy_change_against_calls(world):
    """Whatever order they take, a call that came after the change was answered is judged by it."""
    _, admin, session, thread, _ = scene(world, 0)
    for turn in range(20):
        effect = "deny" if turn % 2 else "allow"
        stop = threading.Event()

        def noise(turn=turn, stop=stop):
            number = 0
            while not stop.is_set():
                number += 1
                admin.ask(thread, "Bash", {"command": "x"}, id=f"n{turn}-{number}")
        thread_of_noise = threading.Thread(target=noise)
        thread_of_noise.start()
        must(admin.patch(f"/api/sessions/{session}", {"toolPolicies": {"Bash": effect}}).status == 200, "the change")
        answer = admin.call(thread, "Bash", {"command": "x"}, id=f"after{turn}")
        stop.set()
        thread_of_noise.join()
        must(answer["status"] == {"allow": "allowed", "deny": "denied"}[effect], f"{effect}: {answer}")
