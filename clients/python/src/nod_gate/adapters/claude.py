"""Claude Agent SDK: the callback `can_use_tool`, and hooks that see every call."""
from __future__ import annotations

from typing import Any, Optional, Union

from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from .. import Aborted, AsyncGate, GateError, NotAllowed, Verdict, denial_text

DAY = 86400.0


class ClaudeGate:
    """`ClaudeAgentOptions(can_use_tool=claude.can_use_tool, hooks=claude.reports)` asks about the calls that Claude
    Code would ask a person about. `hooks=claude.hooks` asks about every call, also those that its settings allow.
    """

    def __init__(self, gate: AsyncGate) -> None:
        self.gate = gate
        self.allowed: dict[str, Verdict] = {}   # by Claude's id of the call, until its result is reported
        self.reports = {"PostToolUse": [HookMatcher(hooks=[self._after], timeout=60.0)],
                        "PostToolUseFailure": [HookMatcher(hooks=[self._after], timeout=60.0)]}
        self.hooks = {"PreToolUse": [HookMatcher(hooks=[self._before], timeout=DAY)], **self.reports}

    async def _ask(self, name: str, given: dict[str, Any], use: Optional[str]) -> Verdict:
        verdict = await self.gate.ask(name, given)
        if use:
            self.allowed[use] = verdict
        return verdict

    async def can_use_tool(self, name: str, given: dict[str, Any], context: ToolPermissionContext
                           ) -> Union[PermissionResultAllow, PermissionResultDeny]:
        try:
            verdict = await self._ask(name, given, context.tool_use_id)
        except GateError as error:
            words = denial_text(error) if isinstance(error, NotAllowed) else str(error)
            return PermissionResultDeny(message=words, interrupt=isinstance(error, Aborted))
        return PermissionResultAllow(updated_input=verdict.input)

    async def _before(self, given: Any, use: Optional[str], _context: Any) -> Any:
        answer: dict[str, Any] = {"hookEventName": "PreToolUse"}
        stop = False
        try:
            verdict = await self._ask(given["tool_name"], given["tool_input"], use)
            answer.update(permissionDecision="allow", updatedInput=verdict.input)
        except GateError as error:
            stop = isinstance(error, Aborted)
            words = denial_text(error) if isinstance(error, NotAllowed) else str(error)
            answer.update(permissionDecision="deny", permissionDecisionReason=words)
        return {"hookSpecificOutput": answer, **({"continue_": False} if stop else {})}

    async def _after(self, given: Any, use: Optional[str], _context: Any) -> Any:
        verdict = self.allowed.pop(use or "", None)
        if verdict:
            failed = given["hook_event_name"] == "PostToolUseFailure"
            await self.gate.report(verdict, given["error" if failed else "tool_response"], failed)
        return {}
