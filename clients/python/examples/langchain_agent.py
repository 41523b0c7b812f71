"""LangChain with a middleware. The model is a script here, so that it runs without an account."""
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from nod_gate import Gate
from nod_gate.adapters.langchain import NodMiddleware


@tool
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    print("SENT", text, flush=True)
    return f"sent to {to}"


class Script(BaseChatModel):
    """Wants to send one mail after the other."""

    def bind_tools(self, tools: Any, **_: Any) -> "Script":
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        heard = [m for m in messages if isinstance(m, ToolMessage)]
        if heard:
            print("HEARD", heard[-1].content, flush=True)
        words = ["one", "two", "three", "four"][len(heard):]
        message = AIMessage("", tool_calls=[{"name": "send_mail", "id": f"call_{words[0]}", "args": {
            "to": "ann@example.org", "text": f"mail {words[0]}"}}]) if words else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _llm_type(self) -> str:
        return "script"


agent = create_agent(Script(), [send_mail], middleware=[NodMiddleware(Gate(title="mails"))])
agent.invoke({"messages": [("user", "Send the mails.")]})
