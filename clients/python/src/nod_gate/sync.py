"""The gate for programs that block."""
from __future__ import annotations

import functools
import http.client
import os
import socket
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Collection, Iterator, Literal, Mapping, Optional, TypeVar, Union, cast, overload

from . import protocol
from .calls import Arguments, as_json, denial_text
from .errors import NotAllowed
from .protocol import Conversation, Lost, Pause, Reply, Send, Talk, Verdict
from .settings import Address, find_address

BODY_MOST = 16 << 20
F = TypeVar("F", bound=Callable[..., Any])
OnDeny = Literal["raise", "return"]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, address: Address, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.address = address

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.address.path)
        self.address.check_server(self.sock)


def _connection(address: Address, timeout: float) -> http.client.HTTPConnection:
    if address.path:
        return _UnixConnection(address, timeout)
    kind = http.client.HTTPSConnection if address.tls else http.client.HTTPConnection
    return kind(address.host, address.port, timeout=timeout)


def read_retry_after(value: Optional[str]) -> Optional[float]:
    return float(value) if value and value.isascii() and value.isdigit() and len(value) < 6 else None


def _send(address: Address, step: Send) -> Union[Reply, Lost]:
    connection = _connection(address, step.seconds)
    try:
        connection.request(step.method, address.prefix + step.path, step.body, address.headers(step.body))
        answer = connection.getresponse()
        if answer.length is None and not answer.chunked:
            return Lost("an answer that does not say where it ends")
        body = answer.read(BODY_MOST + 1)
        if len(body) > BODY_MOST or answer.length:
            return Lost("an answer that is too long, or cut off")
        return Reply(answer.status, body, read_retry_after(answer.getheader("Retry-After")))
    except (OSError, http.client.HTTPException) as error:
        return Lost(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


class Call:
    """A call that was allowed, inside `with gate.call(…)`."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict, self.content = verdict, None

    @property
    def input(self) -> dict[str, Any]:
        return self.verdict.input

    def result(self, content: Any) -> Any:
        """Keeps what is reported when the block ends; returns it."""
        self.content = content
        return content


class Gate:
    """Asks the server before a tool runs. May be used by several threads.

    `session` names the conversation: the same name, with the same token, is the same session in every process.
    `patience` is how long a server that was never seen may stay silent (None: for ever). One that answered before
    is waited for without end, unless a call has a `timeout`. `callback` is an address that the server posts each answer
    to, signed as Standard Webhooks says: a job can end meanwhile and be woken (the server must allow its host).
    """

    def __init__(self, *, url: Optional[str] = None, token: Optional[str] = None, identity: Optional[str] = None,
                 title: str = "", cwd: Optional[str] = None, agent: str = "nod-gate", session: Optional[str] = None,
                 patience: Optional[float] = 10.0, settings: Optional[Mapping[str, Any]] = None,
                 callback: str = "") -> None:
        self.address = find_address(url, token, identity)
        self.talk = Conversation(self.address.url, title or agent, os.path.abspath(cwd or os.getcwd()), agent,
                                 patience=patience, settings=settings or {}, callback=callback)
        if session:
            self.talk.key = session
        self._opening = threading.Lock()

    def _run(self, talk: Talk) -> Any:
        answer: Union[Reply, Lost, None] = None
        while True:
            try:
                step = talk.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                answer = None
            else:
                answer = _send(self.address, step)

    def _open(self) -> None:
        with self._opening:
            if not self.talk.thread:
                self._run(protocol.opening(self.talk))

    def ask(self, name: str, input: Mapping[str, Any], *, id: Optional[str] = None,
            timeout: Optional[float] = None) -> Verdict:
        """Returns when the call is allowed: run `verdict.input`, then `report`. Raises in every other case.

        An exception that comes from outside while it waits (Ctrl-C) takes the call back. With an `id` of your own
        the same call is asked only once, also across processes: AlreadyRan says that its result was reported.
        """
        call, given = id or protocol.new_id(), as_json(dict(input))
        if timeout is None:
            self._open()
        try:
            return cast(Verdict, self._run(protocol.asking(self.talk, call, name, given, timeout)))
        except Exception:
            raise
        except BaseException:
            self._run(protocol.cancelling(self.talk, call))
            raise

    def submit(self, name: str, input: Mapping[str, Any], *, id: str) -> Verdict:
        """Asks and does not wait: `verdict.status` is "awaiting" until the same again finds an answer."""
        return cast(Verdict, self._run(protocol.asking(self.talk, id, name, as_json(dict(input)), wait=0)))

    def report(self, verdict: Union[Verdict, str], content: Any, is_error: bool = False) -> bool:
        """Says what came of an allowed call. False: it was not kept, and the log says why."""
        call = verdict if isinstance(verdict, str) else verdict.id
        return bool(self._run(protocol.reporting(self.talk, call, content, is_error)))

    def cancel(self, id: str) -> bool:
        """Takes a call back that waits for an answer."""
        return bool(self._run(protocol.cancelling(self.talk, id)))

    @contextmanager
    def call(self, name: str, input: Mapping[str, Any], *, id: Optional[str] = None,
             timeout: Optional[float] = None) -> Iterator[Call]:
        """Asks, then runs the block. `Call.result` is reported; an exception is reported as an error."""
        call = Call(self.ask(name, input, id=id, timeout=timeout))
        try:
            yield call
        except BaseException as error:
            self.report(call.verdict, f"{type(error).__name__}: {error}", True)
            raise
        self.report(call.verdict, call.content)

    @overload
    def tool(self, name: F, /) -> F: ...
    @overload
    def tool(self, name: Optional[str] = None, /, *, on_deny: OnDeny = "raise", keep: Collection[str] = (),
             timeout: Optional[float] = None) -> Callable[[F], F]: ...

    def tool(self, name: Any = None, /, *, on_deny: OnDeny = "raise", keep: Collection[str] = (),
             timeout: Optional[float] = None) -> Any:
        """Decorates a function: it is asked for, run with the input that was allowed, and its result reported.

        The parameters named in `keep` are neither shown nor edited. `on_deny="return"` returns the words of a
        refusal instead of raising, for frameworks whose models read the result.
        """
        if callable(name):
            return self.tool()(name)

        def decorate(function: F) -> F:
            arguments, shown = Arguments(function, keep), name or function.__name__

            @functools.wraps(function)
            def gated(*args: Any, **kwargs: Any) -> Any:
                given, kept = arguments.read(args, kwargs)
                try:
                    with self.call(shown, given, timeout=timeout) as call:
                        return call.result(function(**arguments.bind(call.input, kept)))
                except NotAllowed as refusal:
                    if on_deny == "raise":
                        raise
                    return denial_text(refusal)
            return cast(F, gated)
        return decorate

    __call__ = tool
