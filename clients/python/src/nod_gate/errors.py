"""Everything that asking may raise. A tool runs only when nothing was raised."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import Verdict


class GateError(Exception):
    """The tool must not run."""


class NoServer(GateError):
    """No server answers at the address."""


class NoToken(GateError):
    """There is no token of an agent to ask with."""


class Refused(GateError):
    """The server does not take the request; the same again is refused again."""

    def __init__(self, message: str, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class CallDiffers(Refused):
    """The id is known already, with another tool, input or thread."""


class NotAllowed(GateError):
    """The call was judged, and is not to run. `words` are for the model or the person who reads the log."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.words)
        self.verdict, self.words = verdict, verdict.words


class Denied(NotAllowed):
    """A person or a rule said no; the agent may go on with something else."""


class Aborted(NotAllowed):
    """A person said no and wants the agent to stop."""


class TimedOut(NotAllowed):
    """Nobody answered in time."""


class Cancelled(NotAllowed):
    """The call was taken back."""


class AlreadyRan(NotAllowed):
    """The id is of a call that ran before; `result` is what was reported of it."""

    result: Any = None
