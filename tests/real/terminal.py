"""Claude Code in its own terminal, with Nod's hooks beside its dialogs: in tmux, as a person sees it."""
import contextlib
import json
import os

from desk import NEW, desk
from tmux import Tmux
from world import Failure, Skip, eventually, must

DIALOG = "Do you want to proceed?"
TOUCH = ("Bash", {"command": "touch made.txt", "description": "Make a file"})


class Terminal(Tmux):
    def __init__(self, d, *arguments):
        # What it asks a newcomer once, answered.
        with open(os.path.join(d.config, ".claude.json"), "w", encoding="utf-8") as file:
            json.dump({"hasCompletedOnboarding": True, "lastOnboardingVersion": NEW, "theme": "dark",
                       "customApiKeyResponses": {"approved": ["sk-dummy"], "rejected": []},
                       "projects": {d.project: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}, file)
        super().__init__(d.world, d.project, d.program, *arguments)
        self.sees("❯")

    def answers(self, key):
        """Presses a key in a dialog; it takes none while it is new."""
        self.sees(DIALOG)

        def press():
            self.tmux("send-keys", key)
            with contextlib.suppress(Failure):
                return eventually(lambda: DIALOG not in self.screen(), "the dialog goes", 1)
            return False
        eventually(press, lambda: f"the dialog goes:\n{self.screen()}")


@contextlib.contextmanager
def terminal(d, *arguments):
    d.nod("hook", "install", "--yes").ends()
    one = Terminal(d, *arguments)
    try:
        yield one
    finally:
        one.tmux("kill-server")


def test_auto_mode_waits_for_nod(place):
    with desk(place, [TOUCH, "It is done."]) as d, terminal(d, "--permission-mode", "auto") as screen:
        screen.types("please go")
        pending = d.waiting()[0]
        must(not d.has("made.txt"), "it ran before anyone answered")
        d.decide(pending)
        screen.sees("It is done.")
        must(d.has("made.txt"), "it did not run")


def test_an_answer_in_nod_takes_the_dialog_away(place):
    with desk(place, [TOUCH, "It is done."]) as d, terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        pending = d.waiting()[0]
        screen.sees(DIALOG)
        d.decide(pending)
        screen.sees("It is done.")
        must(d.has("made.txt") and DIALOG not in screen.screen(), "the dialog is still there")


def test_a_denial_in_nod_takes_the_dialog_away(place):
    with desk(place, [TOUCH, "I see."]) as d, terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        d.decide(d.waiting()[0], "deny", feedback="not in this folder")
        screen.sees("I see.")
        must(not d.has("made.txt") and "not in this folder" in d.model.said(), "not denied with words")


def test_an_answer_in_the_terminal_takes_the_question_back(place):
    with desk(place, [TOUCH, "It is done."]) as d, terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        pending = d.waiting()[0]
        screen.answers("Enter")
        screen.sees("It is done.")
        must(d.has("made.txt"), "it did not run")
        eventually(lambda: not d.admin.pending(), "the question disappears")
        call = d.admin.status(pending["toolCallId"])
        must(call["status"] == "cancelled" and "terminal" in call["feedback"], f"not taken back: {call}")


def test_what_the_person_turns_down_in_the_terminal_is_taken_back(place):
    with desk(place, [TOUCH, "Something else, then."]) as d, terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        pending = d.waiting()[0]
        screen.answers("Escape")
        screen.sees("What should Claude do instead?")
        eventually(lambda: not d.admin.pending(), "the question disappears")
        must(d.admin.status(pending["toolCallId"])["status"] == "cancelled" and not d.has("made.txt"), "not taken back")


def test_a_call_that_fails_after_a_yes_in_the_terminal(place):
    """Its end is told by no hook that older releases know; the end of the turn is."""
    with desk(place, [("Bash", {"command": "touch no/such/folder/x", "description": "x"}), "It failed."]) as d, \
            terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        d.waiting()
        screen.answers("Enter")
        screen.sees("It failed.")
        eventually(lambda: not d.admin.pending(), "the question disappears")


def test_questions_are_answered_by_nod_answer(place):
    questions = {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": False,
                                "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}
    with desk(place, [("AskUserQuestion", questions), "Thank you."]) as d, terminal(d, "--permission-mode", "default") as screen:
        screen.types("please go")
        d.waiting()
        d.nod("answer", "-a", "Blue").ends()
        screen.sees("Thank you.")
        must('=\\"Blue\\"' in d.model.said(), f"not told: {d.model.said()[-700:]}")


def test_a_plan_is_for_the_terminal(place):
    """An allow does not close Claude Code's own dialog about it; the docs say so."""
    with desk(place, [("ExitPlanMode", {}), "Planned."]) as d, terminal(d, "--permission-mode", "plan") as screen:
        screen.types("please plan")
        pending = d.waiting()[0]
        must(pending["toolCall"]["name"] == "ExitPlanMode", f"not the plan: {pending}")
        d.decide(pending, "deny", feedback="think again")
        screen.sees("Planned.")
        must("think again" in d.model.said(), "the words are lost")
