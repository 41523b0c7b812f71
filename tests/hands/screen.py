"""`nod run` without words: a conversation with Nod's own agent in the whole terminal, in tmux, as a person sees it."""
import contextlib

from stage import use
from tmux import Tmux
from world import NOD, eventually, must

ASKED = "Waits for your answer"


@contextlib.contextmanager
def running(stage, script, *arguments, width=100, height=32):
    server = stage.serve(stage.model(script))
    one = Tmux(stage, stage.project, NOD, "run", *arguments, width=width, height=height)
    try:
        one.sees("Write what is to be done")
        yield server, one
    finally:
        one.close()


def test_a_task_and_another_one_without_leaving_the_terminal(stage):
    script = [{"text": "I look first.", "tools": [use(1, "Bash", command="touch made && rm -rf old")]},
              {"tools": [use(2, "Bash", command="touch never")]}, {"text": "All is done."}, {"text": "Nothing more to do."}]
    with running(stage, script) as (_, screen):
        screen.prompt("please go")
        screen.sees("you     please go")
        screen.sees("nod     I look first.")
        screen.sees(ASKED)
        shown = screen.screen()
        must("Run 2 commands" in shown and "rm -rf old" in shown and "Deletes" in shown, shown)
        screen.armed("y")
        screen.sees("allowed by admin")
        screen.sees("touch never")
        screen.press("n")
        screen.sees("Deny, and tell the agent:")
        screen.tmux("send-keys", "-l", "not this one")
        screen.press("Enter")
        screen.sees("denied by admin: not this one")
        screen.sees("nod     All is done.")
        screen.sees("completed")
        stage.read("made")
        must("not this one" in str(stage.models[0].requests[2]["body"]), "the model does not know why")
        screen.prompt("and now")
        screen.sees("nod     Nothing more to do.")
        must("please go" in str(stage.models[0].requests[3]["body"]), "it is another conversation")
        screen.sees("completed")
        screen.press("C-d")
        screen.sees("status 0")
        must("All is done." in screen.screen(), f"the conversation is gone:\n{screen.screen()}")


def test_an_answer_elsewhere_takes_the_question_away(stage):
    with running(stage, [{"tools": [use(1, "Bash", command="touch made")]}, {"text": "All is done."}]) as (server, screen):
        screen.prompt("please go")
        screen.sees(ASKED)
        admin = server.admin()
        one = admin.pending()[0]
        admin.decided(one["sessionId"], one["toolCallId"], "allow_once")
        screen.sees("allowed by admin")
        screen.sees("nod     All is done.")
        must(ASKED not in screen.screen(), screen.screen())


def test_ctrl_c_stops_the_agent_and_then_ends(stage):
    with running(stage, [{"tools": [use(1, "Bash", command="touch made")]}, {"text": "never"}]) as (server, screen):
        screen.prompt("please go")
        screen.sees(ASKED)
        screen.press("C-c")
        screen.sees("cancelled")
        eventually(lambda: not server.admin().pending(), "the question is gone")
        screen.press("C-c")
        screen.sees("status 1")
