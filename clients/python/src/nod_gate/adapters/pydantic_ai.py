"""Pydantic AI: tools with `requires_approval` are settled by Nod (deferred tools)."""
from __future__ import annotations

import asyncio
from typing import Any, Optional, Union

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelRequest, RetryPromptPart, ToolCallPart, ToolReturnPart

from .. import AsyncGate, NotAllowed, Verdict, denial_text


async def settle(gate: AsyncGate, requests: DeferredToolRequests) -> tuple[DeferredToolResults, dict[str, Verdict]]:
    """The answers to all calls that wait for an approval, and the verdicts by the ids of the framework."""
    verdicts: dict[str, Verdict] = {}

    async def ask(part: ToolCallPart) -> Union[ToolApproved, ToolDenied]:
        try:
            verdict = await gate.ask(part.tool_name, part.args_as_dict())
        except NotAllowed as error:
            return ToolDenied(denial_text(error))
        verdicts[part.tool_call_id] = verdict
        return ToolApproved(override_args=verdict.input if verdict.edited else None)

    answers = await asyncio.gather(*(ask(part) for part in requests.approvals))
    approvals: dict[str, Any] = {part.tool_call_id: answer for part, answer in zip(requests.approvals, answers)}
    return DeferredToolResults(approvals=approvals), verdicts


async def report(gate: AsyncGate, messages: list[ModelMessage], verdicts: dict[str, Verdict]) -> None:
    """Reports what the messages of the next run say of the calls that were allowed."""
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, (ToolReturnPart, RetryPromptPart)) and part.tool_call_id in verdicts:
                await gate.report(verdicts.pop(part.tool_call_id), part.content, isinstance(part, RetryPromptPart))


async def run(gate: AsyncGate, agent: Agent[Any, Any], prompt: Optional[str] = None, **more: Any) -> Any:
    """`agent.run` until there is an output that is no request for approval.

    `DeferredToolRequests` must be among the agent's output types.
    """
    result = await agent.run(prompt, **more)
    while isinstance(result.output, DeferredToolRequests):
        if result.output.calls:
            return result   # tools that are to be run elsewhere: for the caller
        answers, verdicts = await settle(gate, result.output)
        more = {**more, "message_history": result.all_messages(), "deferred_tool_results": answers}
        result = await agent.run(**more)
        await report(gate, result.new_messages(), verdicts)
    return result
