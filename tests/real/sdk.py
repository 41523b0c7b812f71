"""The Agent SDKs with `nod claude` as their CLI: what their agents do goes through the gate, and what is theirs still reaches them."""
import contextlib
import json
import os
import stat

from desk import HERE, ClaudeDesk, installed, python_with
from others import node
from world import NOD, eventually, must

PYTHON, TYPESCRIPT = "0.2.182", "0.3.325"


def in_python(cli):
    return [python_with(f"claude-agent-sdk=={PYTHON}"), os.path.join(HERE, "sdk_client.py"), cli]


def in_typescript(cli):
    package = installed(f"agent-sdk-{TYPESCRIPT}", f"@anthropic-ai/claude-agent-sdk@{TYPESCRIPT}", "@anthropic-ai/claude-agent-sdk/package.json")
    return [node(), os.path.join(HERE, "sdk_client.mjs"), package[:package.index("/node_modules/")], cli]


@contextlib.contextmanager
def at(place, script):
    d = ClaudeDesk(place, script)
    d.cli = os.path.join(place.folder, "nod-claude")
    with open(d.cli, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec "{NOD}" claude "$@"\n')
    os.chmod(d.cli, stat.S_IRWXU)
    try:
        yield d
    finally:
        d.close()


def each(test):
    for name, command in (("python", in_python), ("typescript", in_typescript)):
        def one(place, command=command):
            test(place, command)
        one.__name__ = test.__name__.replace("test_", f"test_{name}_", 1)
        globals()[one.__name__] = one


@each
def test_sdk_is_gated_and_keeps_its_own_hooks_and_tools(place, command):
    script = [("Bash", {"command": "touch made.txt"}), ("Bash", {"command": "touch second.txt"}), ("mcp__here__greet", {"name": "Ann"})]
    with at(place, script) as d:
        run = d.run(command(d.cli))
        first = d.waiting()[0]
        must(first["toolCall"]["input"]["command"] == "touch made.txt" and not d.has("made.txt"), f"not the call: {first}")
        d.decide(first)
        second = eventually(lambda: [p for p in d.admin.pending() if "second" in json.dumps(p["toolCall"])], lambda: f"the second waits: {d.told()}")[0]
        d.decide(second, "deny", feedback="one is enough, thanks")
        third = eventually(lambda: [p for p in d.admin.pending() if p["toolCall"]["name"] == "mcp__here__greet"], lambda: f"its own tool waits, too: {d.told()}")[0]
        d.decide(third)
        run.ends()
        must(d.has("made.txt") and not d.has("second.txt") and "one is enough, thanks" in d.model.said(), f"not as decided: {d.told()}")
        must("RESULT Done. hook tool" in run.out and "hello Ann" in d.model.said(), f"what is the SDK's did not reach it: {d.told()}")
        said = [e["data"].get("text") for e in d.events(types="USER_MESSAGE")]
        must(said == ["go"], f"the prompt is not in the log: {said}")


def test_a_program_above_cannot_answer_for_the_gate(place):
    """It tells Claude Code what to do; what a person is asked about is not its to answer, and our hook stays."""
    with at(place, [("Bash", {"command": "touch made.txt"})]) as d:
        run = d.run([d.cli, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio"], given=...)
        run.say(json.dumps({"type": "user", "message": {"role": "user", "content": "go"}}))
        run.say(json.dumps({"type": "control_request", "request_id": "mine", "request": {"subtype": "initialize", "hooks": {}}}))
        eventually(lambda: '"mine"' in run.out and "initialized already" in run.out, lambda: f"a second initialize is refused: {d.told()}")
        d.waiting()
        must("can_use_tool" not in run.out, "the question was passed on")
        for guess in ("1", "req_1", "nod_hooks"):
            run.say(json.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": guess, "response": {"behavior": "allow", "updatedInput": {}}}}))
        run.say("no message at all")
        eventually(lambda: "not a message, so it is not passed on" in run.err, lambda: f"it is named: {d.told()}")
        must(len(d.admin.pending()) == 1 and not d.has("made.txt"), f"it was answered: {d.told()}")
        d.decide(d.admin.pending()[0], "deny")
        run.process.stdin.close()
        run.ends()
        must(not d.has("made.txt"), "it ran")
