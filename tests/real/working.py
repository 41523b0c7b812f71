"""`nod claude` as a terminal to work in: in tmux, as a person sees it, with a scripted model behind the real program."""
import contextlib
import os
import re
import threading

from desk import desk
from tmux import Tmux
from world import NOD, PATIENCE, eventually, must

ASKED = "Waits for your answer"


@contextlib.contextmanager
def working(d, *arguments, width=100, height=32):
    one = Tmux(d.world, d.project, NOD, "claude", *arguments, width=width, height=height)
    try:
        one.sees("Write what is to be done")
        yield one
    finally:
        one.tmux("kill-server")


def test_a_whole_task_without_leaving_the_terminal(place):
    script = ["I look first.", ("Bash", {"command": "touch made.txt && rm -rf old", "description": "Make a file"}),
              ("Bash", {"command": "touch never.txt", "description": "Another"}),
              ("Bash", {"command": "touch edited.txt", "description": "A third"}), "All is done."]
    script[0] = [script[0], script.pop(1)]
    with desk(place, script) as d, working(d) as screen:
        screen.prompt("please go")
        screen.sees("you     please go")
        screen.sees("I look first.")
        screen.sees(ASKED)
        shown = screen.screen()
        must("Run 2 commands" in shown and "rm -rf old" in shown and "Deletes" in shown, shown)
        screen.armed("y")
        eventually(lambda: d.has("made.txt"), lambda: f"the file:\n{screen.screen()}")
        screen.sees("✓ Bash touch made.txt")
        screen.sees("touch never.txt")
        screen.press("n")
        screen.sees("Deny, and tell the agent:")
        screen.tmux("send-keys", "-l", "not this one")
        screen.press("Enter")
        screen.sees("✕ Bash touch never.txt")
        screen.sees("touch edited.txt")
        screen.armed("a")
        screen.sees("Allow always in this project")
        screen.press("1")
        screen.sees("All is done.")
        must(d.has("edited.txt") and not d.has("never.txt") and "not this one" in d.model.said(), d.told())
        rules = str(d.admin.ok("GET", "/api/policy"))
        must("Bash(touch edited.txt)" in rules, rules)
        screen.press("C-d")
        screen.sees("status 0")


def test_with_p_it_asks_in_place(place):
    """One prompt, at a terminal: each question stands there and is answered there, with the words of a denial."""
    script = [("Bash", {"command": "touch made.txt", "description": "Make a file"}), ("Bash", {"command": "touch never.txt", "description": "Another"}), "All is done."]
    with desk(place, script) as d:
        screen = Tmux(d.world, d.project, NOD, "claude", "-p", "please go", width=100, height=32)
        try:
            screen.sees("touch made.txt")
            screen.sees("Allow? [y]es, [n]o")
            must(not d.has("made.txt"), "it ran before anyone answered")
            screen.press("y", "Enter")
            eventually(lambda: d.has("made.txt"), lambda: f"the file:\n{screen.screen()}")
            screen.sees("touch never.txt")
            eventually(lambda: screen.screen().count("Allow? [y]es, [n]o") == 2, lambda: screen.screen())
            screen.press("n", "Enter")
            screen.types("use the other folder")
            screen.sees("All is done.")
            screen.sees("status 0")
        finally:
            screen.tmux("kill-server")
        must(not d.has("never.txt") and "use the other folder" in d.model.said(), d.model.said()[-600:])


def test_an_answer_elsewhere_takes_the_question_away(place):
    with desk(place, [("Bash", {"command": "touch made.txt"}), "It is done."]) as d, working(d) as screen:
        screen.prompt("please go")
        screen.sees(ASKED)
        pending = d.waiting()[0]
        d.decide(pending)
        screen.sees("allowed by admin")
        eventually(lambda: ASKED not in screen.screen(), lambda: f"the question goes:\n{screen.screen()}")
        screen.sees("It is done.")
        must(d.has("made.txt"), screen.screen())


def test_a_word_that_is_typed_answers_nothing(place):
    typed = threading.Event()

    def touch():
        typed.wait(PATIENCE)
        return ("Bash", {"command": "touch made.txt"})
    with desk(place, [touch, "It is done."]) as d, working(d) as screen:
        screen.prompt("please go")
        screen.tmux("send-keys", "-l", "yes yes")
        screen.sees("> yes yes")
        typed.set()
        screen.sees("Tab or Esc to answer")
        screen.tmux("send-keys", "-l", " yy")
        screen.sees("> yes yes yy")
        must(d.admin.pending(), "a letter of the line answered")
        screen.press("Tab")
        screen.armed("y")
        screen.sees("It is done.")


def test_the_agent_has_neither_the_terminal_nor_the_token(place):
    look = "tty; (exec 3<>/dev/tty) 2>&1; env | grep -c '^NOD_'; cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c ^NOD_TOKEN"
    with desk(place, [("Bash", {"command": look}), "It is done."]) as d, working(d) as screen:
        d.put("x", "")
        screen.prompt("please go")
        screen.sees(ASKED)
        screen.armed("y")
        screen.sees("It is done.")
        said = d.model.said()
        must("not a tty" in said and re.search(r"/dev/tty: No such device or address", said), said)
        must(d.admin.token not in said, "the token")
