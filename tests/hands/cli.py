"""nod run, at a terminal (a pty) and without one."""
import json
import os
import pty
import re
import select
import time

from stage import use
from tasks import by_prompt
from world import NOD, PATIENCE, Failure, eventually, must

PROJECT = [
    {"text": "I'll write a small program.", "chunk": 50,
     "tools": [use(1, "Write", file_path="hello.py", content="def greet(name):\n    return 'Hello ' + name\n")]},
    {"text": "And a test.", "tools": [use(2, "Write", file_path="test_hello.py", content=(
        "import hello\nassert hello.greet('you') == 'Hello, you', hello.greet('you')\nprint('ok')\n"))]},
    {"tools": [use(3, "Bash", command="python3 test_hello.py", description="Run the test")]},
    {"text": "A comma is missing.", "tools": [use(4, "Edit", file_path="hello.py", old_string="'Hello '", new_string="'Hello, '")]},
    {"tools": [use(5, "Bash", command="python3 test_hello.py", description="Run the test")]},
    {"text": "Somebody else should look at it.", "tools": [use(6, "Task", description="Review the program", subagent_type="reviewer",
                                                              prompt="Review hello.py and its test; write what you think to REVIEW.")]},
    {"text": "The program works, its test passes, and it was reviewed."},
]
REVIEW = [
    {"tools": [use(1, "Read", file_path="hello.py")]},
    {"tools": [use(2, "Write", file_path="REVIEW", content="Short and right.\n")]},
    {"text": "It is short and right; I wrote so to REVIEW."},
]


def project_model(stage):
    return stage.model(by_prompt(write=PROJECT, Review=REVIEW))


class Screen:
    """A command on a terminal of its own."""

    def __init__(self, stage, *arguments, editor=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(stage.project)
            environment = {**stage.environment, "TERM": "xterm", **({"EDITOR": editor} if editor else {})}
            os.execve(NOD, [NOD, *arguments], environment)
        self.text = ""

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            if time.monotonic() > end:
                raise Failure(f"no {pattern!r} on the screen:\n{self.text}")
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    raise Failure(f"ended without {pattern!r}:\n{self.text}") from None
        self.text = self.text[found.end():]
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        raise Failure(f"it does not end:\n{self.text}")


def test_a_small_project_with_approvals(stage):
    stage.serve(project_model(stage))
    screen = Screen(stage, "run", "--color", "never", "write", "a", "program")
    screen.until(r"I'll write a small program\.")
    screen.until(r"\+ def greet")
    screen.until(r"Allow\?")
    screen.type("y\n")
    screen.until(r"And a test\.")
    screen.until(r"Allow\?")
    screen.type("y\n")
    screen.until(r"python3 test_hello\.py")
    screen.until(r"Allow\?")
    screen.type("s\n")
    screen.until(r"Exit code 1")
    screen.until(r"−     return 'Hello ' \+ name")
    screen.until(r"Allow\?")
    screen.type("y\n")
    screen.until(r"ok")
    screen.until(r"Somebody else should look at it\.")
    screen.until(r"• reviewer: Read hello\.py")
    screen.until(r"reviewer: Write a new file REVIEW")
    screen.until(r"Allow\?")
    screen.type("y\n")
    screen.until(r"The program works, its test passes, and it was reviewed\.")
    must(screen.wait() == 0, screen.text)
    must("'Hello, '" in stage.read("hello.py"), stage.read("hello.py"))


def test_no_with_words_and_quit(stage):
    model = stage.model([{"tools": [use(1, "Bash", command="rm -rf old")]}, {"tools": [use(2, "Bash", command="rm -rf older")]}])
    stage.serve(model)
    screen = Screen(stage, "run", "--color", "never", "clean up")
    screen.until(r"┃   Deletes")
    screen.until(r"Allow\?")
    screen.type("n\n")
    screen.until(r"Tell the agent why")
    screen.type("keep it\n")
    screen.until(r"rm -rf older")
    screen.until(r"Allow\?")
    screen.type("q\n")
    screen.until(r"rejected")
    must(screen.wait() == 1, screen.text)
    must("User rejected: keep it" in json.dumps(model.requests[1]["body"]), "the model does not know why")


def test_edit(stage):
    stage.serve(stage.model([{"tools": [use(1, "Bash", command="echo wrong > f")]}, {"text": "x"}]))
    editor = os.path.join(stage.folder, "editor")
    with open(editor, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nsed -i s/wrong/right/ \"$1\"\n")
    os.chmod(editor, 0o755)
    screen = Screen(stage, "run", "--color", "never", "x", editor=editor)
    screen.until(r"Allow\?")
    screen.type("e\n")
    must(screen.wait() == 0, screen.text)
    must(stage.read("f") == "right\n", stage.read("f"))


def test_output_is_shown_while_it_runs(stage):
    command = "echo first; until [ -e go ]; do sleep 0.05; done; echo second; exit 4"
    stage.serve(stage.model([{"tools": [use(1, "Bash", command=command)]}, {"text": "Finished."}]))
    screen = Screen(stage, "run", "--color", "never", "--mode", "bypassPermissions", "x")
    screen.until(r"\n  first")
    stage.write("go", "")
    screen.until(r"\n  second")
    screen.until(r"\n  Exit code 4")
    must("first" not in screen.text, "it was shown twice")
    screen.until(r"Finished\.")
    must(screen.wait() == 0, screen.text)


def test_answered_elsewhere(stage):
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="echo hi > f")]}, {"text": "Finished."}]))
    screen = Screen(stage, "run", "--color", "never", "x")
    screen.until(r"Allow\?")
    admin = server.admin()
    one = admin.pending()[0]
    admin.decided(one["sessionId"], one["toolCallId"], "allow_once")
    screen.until(r"Finished\.")
    must(screen.wait() == 0, screen.text)


def test_detach_resume_and_pipes(stage):
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="echo hi > f")]}, {"text": "Finished."}]))
    request = stage.nod("run", "--detach", "--cwd", stage.project, "x").stdout.strip()
    admin = server.admin()
    eventually(admin.pending, "the question")
    screen = Screen(stage, "run", "--color", "never", "--resume", request)
    screen.until(r"Allow\?")
    screen.type("y\n")
    screen.until(r"Finished\.")
    must(screen.wait() == 0, screen.text)
    must(stage.nod("run", "--resume", request).stdout.strip() == "completed", "not completed")
    lines = stage.start("run", "--json", "--cwd", stage.project, "again")
    eventually(admin.pending, "the second question")
    stage.nod("approve")
    must(lines.wait() == 0, lines.stderr)
    types = [json.loads(line)["type"] for line in lines.stdout.splitlines()]
    must(types[-1] == "RUN_STATUS" and "TOOL_RESULT" in types, types)


def test_interrupt_cancels(stage):
    server = stage.serve(stage.model([{"tools": [use(1, "Bash", command="touch made")]}]))
    screen = Screen(stage, "run", "--color", "never", "x")
    screen.until(r"Allow\?")
    screen.type("\x03")
    must(screen.wait() == 1, screen.text)
    must("cancelled" in screen.text, screen.text)
    eventually(lambda: not server.admin().pending(), "nothing waits")


def test_the_server_restarts_meanwhile(stage):
    server = stage.serve(stage.model([{"text": "slowly " * 30, "chunk": 60, "delay": 0.05}]))
    screen = Screen(stage, "run", "--color", "never", "x")
    screen.until(r"slowly")
    server.kill()
    server.start()
    must(screen.wait() == 0, screen.text)
