"""LangGraph with an interrupt: the process ends while a person thinks, and another one goes on.

Run it again and again: each time it asks for the next mail, or finds the answer and sends it.
Exit status 0: all is done; 3: somebody must answer first. With `--wait` it waits for the answer. With CALLBACK=URL the
server posts each answer there: a receiver that starts this program again needs nobody to watch it.
"""
import os
import sqlite3
import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from nod_gate import AlreadyRan, Gate, NotAllowed
from nod_gate.adapters.langchain import ask_or_interrupt

JOB = "mails-1"
gate = Gate(title="mails", session=JOB, callback=os.environ.get("CALLBACK", ""))
WORDS = ["one", "two", "three", "four"]


class State(TypedDict):
    number: int


def mail(state: State) -> tuple[str, dict[str, str]]:
    return f"{JOB}-{state['number']}", {"to": "ann@example.org", "text": f"mail {WORDS[state['number']]}"}


def send(state: State) -> State:
    call, given = mail(state)
    try:
        verdict = ask_or_interrupt(gate, "send_mail", given, id=call)
        print("SENT", verdict.input["text"], flush=True)
        gate.report(verdict, "sent")
    except AlreadyRan:
        pass    # an earlier process sent it and died before the checkpoint
    except NotAllowed as refusal:
        print("HEARD", refusal.words, flush=True)
    return {"number": state["number"] + 1}


graph = StateGraph(State)
graph.add_node("send", send)
graph.add_edge(START, "send")
graph.add_conditional_edges("send", lambda state: "send" if state["number"] < len(WORDS) else END)
app = graph.compile(SqliteSaver(sqlite3.connect(os.environ.get("CHECKPOINTS", "checkpoints.sqlite"),
                                                check_same_thread=False)))
config = {"configurable": {"thread_id": JOB}}
begun = bool(app.get_state(config).values)
result = app.invoke(Command(resume=True) if begun else {"number": 0}, config)
while result.get("__interrupt__"):
    if "--wait" not in sys.argv:
        sys.exit(3)
    call, given = mail(app.get_state(config).values)
    try:
        gate.ask("send_mail", given, id=call)
    except NotAllowed:
        pass    # the node hears it itself
    result = app.invoke(Command(resume=True), config)
