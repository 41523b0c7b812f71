"""CrewAI: tools that are asked for. The gate stands in the tool itself: an error of a hook would not hold the call."""
from __future__ import annotations

import asyncio
from typing import Any

from crewai.tools import BaseTool
from pydantic import PrivateAttr

from .. import Gate, NotAllowed, denial_text
from ..calls import as_json


def _no_cache(*_: Any) -> bool:
    return False   # the same call again is a call of its own


class GatedTool(BaseTool):  # type: ignore[misc]   # without crewai its base is not known
    """Another tool, run with the input that was allowed; a refusal is its result, for the model to read."""

    _gate: Gate = PrivateAttr()
    _tool: BaseTool = PrivateAttr()

    def _run(self, **given: Any) -> Any:
        try:
            with self._gate.call(self.name, as_json(given)) as call:
                return call.result(self._tool.run(**call.input))
        except NotAllowed as error:
            return denial_text(error)

    async def _arun(self, **given: Any) -> Any:
        return await asyncio.to_thread(self._run, **given)


def gated(gate: Gate, tool: BaseTool) -> GatedTool:
    made = GatedTool(name=tool.name, description=tool.description, args_schema=tool.args_schema,
                     result_as_answer=tool.result_as_answer, cache_function=_no_cache)
    made._gate, made._tool = gate, tool
    return made
