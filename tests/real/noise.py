"""How often a person is asked: a task of thirty ordinary calls, worked by Claude Code alone and behind Nod's hook."""
import contextlib
import http.client
import json
import os
import subprocess
import threading

from desk import desk
from world import NOD, World, must

FILES = {
    "README.md": "# calc\n\nA calculator.\n", "src/calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from src.calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "Makefile": "test check:\n\t@grep -q 'return a + b' src/calc.py && echo passed\n",
}


def task(project):
    """Look around, read, edit, test, commit: one call a turn, as a model makes them."""
    def at(name):
        return os.path.join(project, name)

    def sh(command):
        return "Bash", {"command": command, "description": "A step"}
    return [
        sh("ls -la"), sh("git status"), sh("pwd"), ("Read", {"file_path": at("README.md")}), ("Read", {"file_path": at("src/calc.py")}),
        sh("cat tests/test_calc.py"), ("Grep", {"pattern": "def "}), ("Glob", {"pattern": "**/*.py"}), sh("git log --oneline -5"),
        sh("head -20 README.md"), sh("wc -l src/calc.py"), sh("find . -name '*.py'"), sh("grep -rn add src"), sh("make test"),
        ("Edit", {"file_path": at("src/calc.py"), "old_string": "a - b", "new_string": "a + b"}), sh("git diff"), sh("make test"),
        ("Read", {"file_path": at("tests/test_calc.py")}),
        ("Edit", {"file_path": at("tests/test_calc.py"), "old_string": "== 3", "new_string": "== 3  # one and two"}),
        sh("make check"), sh("git diff --stat"), ("Write", {"file_path": at("NOTES.md"), "content": "Adding adds.\n"}), sh("cat NOTES.md"),
        sh("ls src tests"), sh("git status --short"), sh("git add -A"), sh("git commit -q -m 'Add, do not subtract'"),
        sh("git log --oneline -3"), sh("git show --stat HEAD"), sh("git branch")]


def project(d):
    for name, text in FILES.items():
        d.put(name, text)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q"], ["config", "user.name", "t"], ["config", "user.email", "t@localhost"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=d.project, env=d.world.environment, check=True)
    d.model.script[:] = task(d.project)


def named(d, tool, given):
    """A call by what it says, wherever the project lies."""
    return f"{tool} {json.dumps(given, sort_keys=True)}".replace(d.project, "")


def work(d):
    """Runs the task in the permission mode `default` and allows what is asked; the calls that Claude Code asked about."""
    command = [d.program, "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio",
               "--permission-mode", "default"]
    with open(os.path.join(d.world.folder, "noise.err"), "wb") as err:
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, cwd=d.project,
                                 env=d.world.environment, start_new_session=True, text=True)

    def say(value):
        agent.stdin.write(json.dumps(value) + "\n")
        agent.stdin.flush()
    asked = []
    say({"type": "user", "message": {"role": "user", "content": "go"}})
    for line in agent.stdout:
        told = json.loads(line)
        request = told.get("request", {})
        if told["type"] == "control_request" and request.get("subtype") == "can_use_tool":
            asked.append(named(d, request["tool_name"], request["input"]))
            say({"type": "control_response", "response": {"subtype": "success", "request_id": told["request_id"],
                                                          "response": {"behavior": "allow", "updatedInput": request["input"]}}})
        if told["type"] == "result":
            agent.stdin.close()
    must(agent.wait(60) == 0, f"it ended with {agent.returncode}: {d.told()}")
    results = [part for part in d.model.requests[-1]["messages"] if part["role"] == "user"]
    must(len(results) >= 30, f"only {len(results)} turns: {d.model.said()[-800:]}")
    return asked


def answer(d, ended):
    """The person: allows whatever waits in Nod, until the task is over."""
    while not ended.wait(0.05):
        with contextlib.suppress(OSError, http.client.HTTPException):  # a busy server: the next look finds it
            for pending in d.admin.pending():
                d.decide(pending)


def test_thirty_ordinary_calls_ask_no_more_often_than_claude_code_alone(place):
    beside = World()
    try:
        with desk(beside, []) as d:
            project(d)
            alone = work(d)
            done = subprocess.run(["git", "log", "--oneline"], cwd=d.project, env=beside.environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            must("Add, do not subtract" in done, f"the task was not done: {done}\n{d.model.said()[-2000:]}")
    finally:
        beside.close(quietly=True)
    with desk(place, []) as d:
        project(d)
        setup = subprocess.run([NOD, "setup", "--yes"], cwd=d.project, env=place.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        must(setup.returncode == 0, setup.stdout)
        ended = threading.Event()
        person = threading.Thread(target=answer, args=(d, ended))
        person.start()
        try:
            own = work(d)
        finally:
            ended.set()
            person.join()
        asked = {e["data"]["toolCallId"] for e in d.events(types="TOOL_APPROVAL_REQUEST")}
        calls = [e["data"] for e in d.events(types="TOOL_CALL") if e["data"]["id"] in asked and "nod-setup-test" not in str(e["data"]["input"])]
        nods = [named(d, call["name"], call["input"]) for call in calls]
        # A question that Nod and Claude Code's own dialog show at once is one question: the first answer takes the other
        # away. Even counted twice they are no more than those of Claude Code alone.
        together = {*own, *nods}
        print(f"questions about 30 calls: {len(alone)} of Claude Code alone; behind Nod {len(nods) + len(own)} "
              f"({len(nods)} of Nod, {len(own)} of Claude Code), about {len(together)} calls")
        must(3 <= len(alone) < 30 and len(set(nods)) == len(nods), f"the task measures nothing: {alone}, {nods}")
        must(len(nods) + len(own) <= len(alone) and together <= set(alone), f"alone {alone}, Nod {nods}, Claude Code behind it {own}")
