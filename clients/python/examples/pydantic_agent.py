"""Pydantic AI with deferred tools. The model is a script here, so that it runs without an account."""
import asyncio

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nod_gate import AsyncGate
from nod_gate.adapters.pydantic_ai import run


def script(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Wants to send one mail after the other."""
    heard = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if heard:
        print("HEARD", heard[-1].content, flush=True)
    words = ["one", "two", "three", "four"][len(heard):]
    if not words:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("send_mail", {"to": "ann@example.org", "text": f"mail {words[0]}"})])


agent = Agent(FunctionModel(script), output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    print("SENT", text, flush=True)
    return f"sent to {to}"


asyncio.run(run(AsyncGate(title="mails"), agent, "Send the mails."))
