"""CrewAI with gated tools. The model is a script here, so that it runs without an account."""
import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

from nod_gate import Gate
from nod_gate.adapters.crewai import gated


@tool("send_mail")
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    print("SENT", text, flush=True)
    return f"sent to {to}"


class Script(BaseLLM):
    """Wants to send one mail after the other."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        said = "\n".join(str(m.get("content")) for m in messages)
        heard = [line[12:].strip() for line in said.splitlines() if line.startswith("Observation:")]
        heard = [words for words in heard if words != "the result of the action"]   # the instructions name the form
        if heard:
            print("HEARD", heard[-1], flush=True)
        words = ["one", "two", "three", "four"][len(heard):]
        if not words:
            return "Thought: I am done\nFinal Answer: done"
        given = json.dumps({"to": "ann@example.org", "text": f"mail {words[0]}"})
        return f"Thought: the next mail\nAction: send_mail\nAction Input: {given}"

    def supports_function_calling(self) -> bool:
        return False


agent = Agent(role="clerk", goal="send mails", backstory="", llm=Script(model="script"),
              tools=[gated(Gate(title="mails"), send_mail)], verbose=False)
task = Task(description="Send the mails.", expected_output="a word", agent=agent)
Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
