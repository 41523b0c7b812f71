"""`nod serve --demo`: something to answer, answered from a second terminal, and stopped by Ctrl-C."""
import re
import signal

from world import eventually, must


def start(world):
    server = world.server("--demo")
    eventually(lambda: "nod approve" in server.log(), lambda: f"the demo says how to answer:\n{server.log()}")
    return server, server.admin()


def explained(server):
    return re.findall(r"^\s*nod (approve|deny) (\S+)(?: -m '([^']*)')?", server.log(), re.M)


def test_two_wait_at_once_and_it_goes_on_when_they_are_answered(world):
    server, admin = start(world)
    waiting = eventually(lambda: (p := admin.pending()) and len(p) >= 2 and p, "two calls wait at once")
    must(len({p["toolCall"]["name"] for p in waiting}) >= 2, "of different kinds")
    eventually(lambda: {c[0] for c in explained(server)} == {"approve", "deny"}, lambda: f"both are explained: {explained(server)}")
    commands = explained(server)
    for verb, call, words in commands:
        world.nod(verb, call, *(["-m", words] if words else []))
    for _ in range(20):
        if "ends" in server.log() or "done" in server.log().lower() or "finished" in server.log().lower():
            break
        more = eventually(lambda: admin.pending() or not waiting_more(admin), "the next call, or the end")
        for one in more if isinstance(more, list) else []:
            world.nod("approve", one["toolCallId"])
        if more is True:
            break
    kinds = lambda: [e["type"] for e in admin.events()]  # noqa: E731
    eventually(lambda: kinds().count("TOOL_RESULT") >= 2, lambda: f"what was allowed was done and reported: {kinds()}")
    must(kinds().count("TOOL_APPROVAL_RESPONSE") >= 2, "answers were kept")


def waiting_more(admin):
    """Whether the agent still has something to do: the newest event is younger than its silence."""
    before = admin.events()[-1]["seq"]
    try:
        eventually(lambda: admin.events()[-1]["seq"] != before, "", 1.5)
        return True
    except AssertionError:
        return False


def test_Ctrl_C_ends_it(world):
    server, _ = start(world)
    server.stop(signal.SIGINT)
    server.start()
    server.stop(signal.SIGTERM)


def test_it_can_be_played_twice_in_one_folder(world):
    server, admin = start(world)
    eventually(lambda: len(admin.pending()) >= 2, "the first play waits")
    server.kill()
    server.start("--demo")
    eventually(lambda: len(admin.pending()) >= 4, "the second play waits beside it")
