"""Ask Nod before a tool runs.

    gate = Gate(title="release")

    @gate
    def deploy(version: str) -> str: ...

A person (or a rule) allows the call, edits it or denies it with words. The call is asked for as long as it takes,
over restarts of the server; without an answer the tool does not run.
"""
from .aio import AsyncGate
from .calls import denial_text
from .errors import (Aborted, AlreadyRan, CallDiffers, Cancelled, Denied, GateError, NoServer, NoToken, NotAllowed,
                     Refused, TimedOut)
from .protocol import Verdict, new_id
from .sync import Call, Gate

__all__ = ["Aborted", "AlreadyRan", "AsyncGate", "Call", "CallDiffers", "Cancelled", "Denied", "Gate", "GateError",
           "NoServer", "NoToken", "NotAllowed", "Refused", "TimedOut", "Verdict", "denial_text", "new_id"]
