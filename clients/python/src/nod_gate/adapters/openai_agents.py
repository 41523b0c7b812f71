"""OpenAI Agents SDK: function tools that are asked for."""
from __future__ import annotations

import copy
import json
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from .. import AsyncGate, NotAllowed, denial_text


def gated(gate: AsyncGate, tool: FunctionTool) -> FunctionTool:
    """The tool, run with the input that was allowed; a refusal is its result, for the model to read."""
    run = tool.on_invoke_tool

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        given = json.loads(arguments or "{}")
        if not isinstance(given, dict):
            raise ValueError(f"the arguments of {tool.name} are no object")
        try:
            async with gate.call(tool.name, given) as call:
                edited = arguments if call.input == given else json.dumps(call.input)
                return call.result(await run(context, edited))
        except NotAllowed as error:
            return denial_text(error)

    made = copy.copy(tool)
    made.on_invoke_tool = invoke
    return made
