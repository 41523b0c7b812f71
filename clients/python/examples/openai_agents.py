"""OpenAI Agents SDK with gated function tools. The model is a script here, so that it runs without an account."""
import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from nod_gate import AsyncGate
from nod_gate.adapters.openai_agents import gated


@function_tool
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    print("SENT", text, flush=True)
    return f"sent to {to}"


class Script(Model):
    """Wants to send one mail after the other."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        heard = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if heard:
            print("HEARD", heard[-1]["output"], flush=True)
        words = ["one", "two", "three", "four"][len(heard):]
        item: Any = ResponseOutputMessage(
            id="m", role="assistant", status="completed", type="message",
            content=[ResponseOutputText(text="done", type="output_text", annotations=[])])
        if words:
            arguments = json.dumps({"to": "ann@example.org", "text": f"mail {words[0]}"})
            item = ResponseFunctionToolCall(name="send_mail", call_id=f"call_{words[0]}", arguments=arguments,
                                            type="function_call")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    set_tracing_disabled(True)
    gate = AsyncGate(title="mails")
    agent = Agent(name="clerk", model=Script(), tools=[gated(gate, send_mail)])
    await Runner.run(agent, "Send the mails.")


asyncio.run(main())
