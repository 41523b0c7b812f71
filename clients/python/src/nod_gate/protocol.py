"""The conversation with the server, without input and output.

Each conversation is a generator: it yields a `Send` or a `Pause`, and is sent the `Reply` (or `Lost`) of a `Send`.
`Gate` and `AsyncGate` carry them out, so that what is retried, and for how long, is said here alone.
"""
from __future__ import annotations

import json
import logging
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Generator, Mapping, Optional, Union
from urllib.parse import quote

from .errors import Aborted, AlreadyRan, CallDiffers, Cancelled, Denied, NoServer, NotAllowed, Refused, TimedOut

log = logging.getLogger("nod_gate")

WAIT_SECONDS = 50           # one request waits this long for a person; then the same again
SLACK_SECONDS = 20          # an answer that is this late does not come any more
PAUSE_FIRST, PAUSE_MOST = 0.2, 5.0
RETRY_AFTER_MOST = 60.0
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Send:
    method: str
    path: str
    body: Optional[bytes]
    seconds: float


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    retry_after: Optional[float] = None


@dataclass(frozen=True)
class Lost:
    why: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of a call. `input` is what is to run: a person may have edited it."""

    id: str
    name: str
    input: dict[str, Any]
    status: str
    decision: Optional[str] = None
    words: str = ""
    actor: str = ""
    edited: bool = False

    @property
    def allowed(self) -> bool:
        return self.status == "allowed"


Talk = Generator[Union[Send, Pause], Union[Reply, Lost, None], Any]


@dataclass
class Conversation:
    """The session in which a gate asks. `key` makes it the same session again, also for another process."""

    address: str
    title: str
    cwd: str
    agent: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    patience: Optional[float] = 10.0   # for the first answer of a server that was never seen; None: for ever
    settings: Mapping[str, Any] = field(default_factory=dict)
    thread: str = ""
    session: str = ""
    seen: bool = False
    callback: str = ""                 # the address that answers are posted to, for jobs that sleep


def new_id() -> str:
    return "call_" + secrets.token_hex(16)


def no_server(talk: Conversation, why: str) -> NoServer:
    return NoServer(f"no Nod server answers at {talk.address} ({why}). Nothing was run. "
                    "Start it with `nod serve`, or set NOD_URL")


def _words_of(reply: Reply) -> tuple[str, str]:
    try:
        error = json.loads(reply.body)["error"]
        return str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        return "", reply.body[:200].decode("utf-8", "replace")


def _refused(reply: Reply) -> Refused:
    code, words = _words_of(reply)
    if reply.status == 401:
        words += "; NOD_TOKEN must hold a token of this server: `nod token create --role agent --name NAME`"
    kind = CallDiffers if code == "call_differs" else Refused
    return kind(f"{reply.status} {code}: {words}", reply.status, code)


def _object(reply: Reply) -> dict[str, Any]:
    try:
        value = json.loads(reply.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refused(f"the answer is not a JSON object: {reply.body[:80]!r}", reply.status)
    return value


def exchange(talk: Conversation, method: str, path: str, body: Any, wait: float = 0,
             until: Optional[float] = None) -> Talk:
    """A reply that says something, however often it takes; NoServer once the monotonic time `until` is over."""
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    first = until is None and not talk.seen and talk.patience is not None
    if first:
        until = time.monotonic() + (talk.patience or 0)
    pause, told = PAUSE_FIRST, False
    while True:
        reply = yield Send(method, path, data, wait + SLACK_SECONDS)
        if isinstance(reply, Reply):
            talk.seen = True
            if first:
                until = None
            if reply.status not in AGAIN:
                return reply
            why, seconds = f"{reply.status} {_words_of(reply)[1]}", reply.retry_after
        else:
            assert isinstance(reply, Lost)
            why, seconds = reply.why, None
        if seconds is None:
            seconds, pause = pause, min(pause * 2, PAUSE_MOST)
        if until is not None and time.monotonic() + seconds > until:
            raise no_server(talk, why)
        if not told:
            log.warning("no answer from Nod at %s (%s): trying again; `nod serve` starts it", talk.address, why)
            told = True
        yield Pause(min(seconds, RETRY_AFTER_MOST))


def opening(talk: Conversation, until: Optional[float] = None) -> Talk:
    """Makes the session, or finds it again by its key."""
    body = {**talk.settings, "title": talk.title, "cwd": talk.cwd, "agent": talk.agent, "agentSession": talk.key}
    reply = yield from exchange(talk, "POST", "/api/sessions", body, until=until)
    if reply.status not in (200, 201):
        raise _refused(reply)
    value = _object(reply)
    if not isinstance(value.get("threadId"), str) or not isinstance(value.get("id"), str):
        raise Refused("the server's answer names no session", reply.status)
    talk.session, talk.thread = value["id"], value["threadId"]
    return None


def read_verdict(reply: Reply, call_id: str, name: str, sent: Mapping[str, Any]) -> Verdict:
    """Strict: an answer to something else, or without an input, is no answer."""
    value = _object(reply)
    given, status = value.get("input"), value.get("status")
    if value.get("toolCallId") != call_id or not isinstance(status, str) or not isinstance(given, dict):
        raise Refused("the server's answer is not about this call", reply.status)
    by = value.get("decidedBy") or {}
    words = value.get("feedback") or value.get("reason") or by.get("rule") or ""
    return Verdict(call_id, name, given, status, value.get("decision"), str(words) or f"the call is {status}",
                   str(by.get("actor") or by.get("kind") or ""), given != sent)


REFUSALS: dict[str, type[NotAllowed]] = {"denied": Denied, "aborted": Aborted, "timed_out": TimedOut,
                                         "cancelled": Cancelled, "finished": AlreadyRan}


def settled(verdict: Verdict) -> Verdict:
    """The verdict if it allows; raises for every other status, also one that this library does not know."""
    if verdict.status == "allowed":
        return verdict
    raise REFUSALS.get(verdict.status, Denied)(verdict)


def asking(talk: Conversation, call_id: str, name: str, given: Mapping[str, Any], timeout: Optional[float] = None,
           wait: int = WAIT_SECONDS) -> Talk:
    """The verdict of a call. With wait 0 it may still be `awaiting`; else it is settled."""
    until = None if timeout is None else time.monotonic() + timeout
    body: dict[str, Any] = {"id": call_id, "name": name, "input": dict(given), "cwd": talk.cwd}
    if talk.callback:
        body["callback"] = {"url": talk.callback}
    lost_session = 0
    while True:
        if not talk.thread:
            yield from opening(talk, until)
        left = wait if until is None else int(max(0, min(wait, until - time.monotonic())))
        path = f"/api/threads/{quote(talk.thread, safe='')}/tool-calls?wait={left}"
        reply = yield from exchange(talk, "POST", path, body, left, until)
        if reply.status == 404 and lost_session < 3:   # a server with another store: begin there
            talk.thread, lost_session = "", lost_session + 1
            continue
        if reply.status != 200:
            raise _refused(reply)
        verdict = read_verdict(reply, call_id, name, given)
        if verdict.status != "awaiting":
            break
        if wait == 0:
            return verdict
        if until is not None and time.monotonic() >= until:
            yield from cancelling(talk, call_id)
            raise TimedOut(Verdict(call_id, name, dict(given), "timed_out", None,
                                   f"nobody answered within {timeout:g} seconds"))
    if verdict.status == "finished":
        ran = AlreadyRan(verdict)
        ran.result = yield from reading_result(talk, call_id)
        raise ran
    return settled(verdict)


def _call_path(talk: Conversation, call_id: str, what: str) -> str:
    return f"/api/tool-calls/{quote(call_id, safe='')}{what}?session={quote(talk.session, safe='')}"


def reading_result(talk: Conversation, call_id: str) -> Talk:
    reply = yield from exchange(talk, "GET", _call_path(talk, call_id, ""), None)
    return (_object(reply).get("result") or {}).get("content") if reply.status == 200 else None


def cancelling(talk: Conversation, call_id: str, seconds: float = 3.0) -> Talk:
    """Takes a call back. A 404 may be an ask that is still on its way, so it is tried again for a while."""
    until = time.monotonic() + seconds
    while talk.session:
        try:
            reply = yield from exchange(talk, "POST", _call_path(talk, call_id, "/cancel"), {}, until=until)
        except NoServer:
            break
        if reply.status != 404:
            return reply.status == 200
        if time.monotonic() > until:
            break
        yield Pause(0.1)
    return False


def plain(value: Any) -> Any:
    """The value as JSON has it; what JSON has not, as text."""
    return json.loads(json.dumps(value, default=str, allow_nan=True, skipkeys=True), parse_constant=str)


def reporting(talk: Conversation, call_id: str, content: Any, is_error: bool, seconds: float = 30.0) -> Talk:
    """Says what came of a call. The tool has run: a server that is away is worth a warning, no error."""
    path, until = _call_path(talk, call_id, "/result"), time.monotonic() + seconds
    try:
        reply = yield from exchange(talk, "POST", path, {"content": plain(content), "isError": is_error}, until=until)
        if reply.status == 413:
            words = "(the result is too large to be kept)"
            reply = yield from exchange(talk, "POST", path, {"content": words, "isError": is_error}, until=until)
        if reply.status != 200:
            log.warning("the result of %s was not kept: %s", call_id, _refused(reply))
        return reply.status == 200
    except NoServer as away:
        log.warning("the result of %s was not kept: %s", call_id, away)
        return False
