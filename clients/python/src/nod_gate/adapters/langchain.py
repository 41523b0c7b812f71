"""LangChain: a middleware in front of every tool. LangGraph: a node that sleeps until there is an answer."""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Collection, Mapping, Optional, Union

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from .. import AsyncGate, Gate, NotAllowed, Verdict, denial_text
from ..protocol import settled

Outcome = Union[ToolMessage, Command[Any]]


def _refusal(request: ToolCallRequest, error: NotAllowed) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(denial_text(error), tool_call_id=call["id"] or "", name=call["name"], status="error")


def _with_input(request: ToolCallRequest, verdict: Verdict) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": verdict.input})


def _content(outcome: Outcome) -> tuple[Any, bool]:
    if isinstance(outcome, ToolMessage):
        return outcome.content, outcome.status == "error"
    return str(outcome), False


class NodMiddleware(AgentMiddleware[Any, Any]):
    """`create_agent(model, tools, middleware=[NodMiddleware(gate)])`. With `only`, other tools pass unasked."""

    def __init__(self, gate: Gate, only: Optional[Collection[str]] = None) -> None:
        super().__init__()
        self.gate, self.async_gate, self.only = gate, AsyncGate.of(gate), only

    def _passes(self, request: ToolCallRequest) -> bool:
        return self.only is not None and request.tool_call["name"] not in self.only

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Outcome]) -> Outcome:
        if self._passes(request):
            return handler(request)
        try:
            verdict = self.gate.ask(request.tool_call["name"], request.tool_call["args"])
        except NotAllowed as error:
            return _refusal(request, error)
        try:
            outcome = handler(_with_input(request, verdict))
        except BaseException as error:
            self.gate.report(verdict, f"{type(error).__name__}: {error}", True)
            raise
        self.gate.report(verdict, *_content(outcome))
        return outcome

    async def awrap_tool_call(self, request: ToolCallRequest,
                              handler: Callable[[ToolCallRequest], Awaitable[Outcome]]) -> Outcome:
        if self._passes(request):
            return await handler(request)
        try:
            verdict = await self.async_gate.ask(request.tool_call["name"], request.tool_call["args"])
        except NotAllowed as error:
            return _refusal(request, error)
        try:
            outcome = await handler(_with_input(request, verdict))
        except Exception as error:
            await self.async_gate.report(verdict, f"{type(error).__name__}: {error}", True)
            raise
        await self.async_gate.report(verdict, *_content(outcome))
        return outcome


def ask_or_interrupt(gate: Gate, name: str, input: Mapping[str, Any], *, id: str) -> Verdict:
    """In a node of a graph with a checkpointer: interrupts the graph while nobody has answered.

    The process may end then. Once `gate.ask` with the same id returns or raises, in whatever process, resume the graph
    with `Command(resume=True)`: the node runs again, from its beginning, and finds the answer. The gate needs a
    `session` of its own, and the id must be the same in each run of the node.
    """
    while True:
        verdict = gate.submit(name, input, id=id)
        if verdict.status != "awaiting":
            return settled(verdict)
        interrupt({"toolCallId": id, "tool": name, "input": dict(input)})
