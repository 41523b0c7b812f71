"""The gate for programs on asyncio: the same methods as `Gate`, to be awaited."""
from __future__ import annotations

import asyncio
import functools
import inspect
import os
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Awaitable, Callable, Collection, Mapping, Optional, TypeVar, Union, cast

from . import protocol
from .calls import Arguments, as_json, denial_text
from .errors import NotAllowed
from .protocol import Conversation, Lost, Pause, Reply, Send, Talk, Verdict
from .settings import Address, find_address
from .sync import BODY_MOST, Call, Gate, OnDeny, read_retry_after

T = TypeVar("T")


async def _open(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.path:
        reader, writer = await asyncio.open_unix_connection(address.path)
        try:
            address.check_server(writer.get_extra_info("socket"))
        except OSError:
            writer.close()
            raise
        return reader, writer
    return await asyncio.open_connection(address.host, address.port, ssl=True if address.tls else None)


def _head(address: Address, step: Send) -> bytes:
    host = "localhost" if address.path else f"{address.host}:{address.port}"
    headers = {"Host": host, **address.headers(step.body), "Content-Length": str(len(step.body or b""))}
    lines = [f"{step.method} {address.prefix}{step.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        if len(body) + size > BODY_MOST:
            raise ValueError("an answer without end")
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    return body


async def _read_reply(reader: asyncio.StreamReader) -> Reply:
    first = await reader.readline()
    if not first.startswith(b"HTTP/1.") or not first.endswith(b"\n"):
        raise ConnectionError("the connection was closed without an answer")
    status = int(first.split()[1])
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
        if len(headers) > 100:
            raise ValueError("headers without end")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        size = int(headers.get("content-length", "-1"))
        if not 0 <= size <= BODY_MOST:
            raise ValueError("an answer that is too long, or does not say where it ends")
        body = await reader.readexactly(size)
    return Reply(status, body, read_retry_after(headers.get("retry-after")))


async def _send(address: Address, step: Send) -> Union[Reply, Lost]:
    async def talk() -> Reply:
        reader, writer = await _open(address)
        try:
            writer.write(_head(address, step) + (step.body or b""))
            await writer.drain()
            return await _read_reply(reader)
        finally:
            writer.close()
    try:
        return await asyncio.wait_for(talk(), step.seconds)
    except (OSError, EOFError, ValueError, LookupError, asyncio.TimeoutError) as error:
        return Lost(f"{type(error).__name__}: {error}")


class AsyncGate:
    """As `Gate`. A task that is cancelled while it waits takes its call back."""

    def __init__(self, *, url: Optional[str] = None, token: Optional[str] = None, identity: Optional[str] = None,
                 title: str = "", cwd: Optional[str] = None, agent: str = "nod-gate", session: Optional[str] = None,
                 patience: Optional[float] = 10.0, settings: Optional[Mapping[str, Any]] = None,
                 callback: str = "") -> None:
        self.address = find_address(url, token, identity)
        self.talk = Conversation(self.address.url, title or agent, os.path.abspath(cwd or os.getcwd()), agent,
                                 patience=patience, settings=settings or {}, callback=callback)
        if session:
            self.talk.key = session

    @classmethod
    def of(cls, gate: Gate) -> AsyncGate:
        """The same gate, in the same session, for asyncio."""
        made = cls.__new__(cls)
        made.address, made.talk = gate.address, gate.talk
        return made

    async def _run(self, talk: Talk) -> Any:
        answer: Union[Reply, Lost, None] = None
        while True:
            try:
                step = talk.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                answer = None
            else:
                answer = await _send(self.address, step)

    async def ask(self, name: str, input: Mapping[str, Any], *, id: Optional[str] = None,
                  timeout: Optional[float] = None) -> Verdict:
        call = id or protocol.new_id()
        try:
            return cast(Verdict, await self._run(
                protocol.asking(self.talk, call, name, as_json(dict(input)), timeout)))
        except (Exception, GeneratorExit):   # a closed coroutine cannot await any more
            raise
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(self._run(protocol.cancelling(self.talk, call))))
            raise

    async def submit(self, name: str, input: Mapping[str, Any], *, id: str) -> Verdict:
        return cast(Verdict, await self._run(protocol.asking(self.talk, id, name, as_json(dict(input)), wait=0)))

    async def report(self, verdict: Union[Verdict, str], content: Any, is_error: bool = False) -> bool:
        call = verdict if isinstance(verdict, str) else verdict.id
        return bool(await self._run(protocol.reporting(self.talk, call, content, is_error)))

    async def cancel(self, id: str) -> bool:
        return bool(await self._run(protocol.cancelling(self.talk, id)))

    @asynccontextmanager
    async def call(self, name: str, input: Mapping[str, Any], *, id: Optional[str] = None,
                   timeout: Optional[float] = None) -> AsyncIterator[Call]:
        call = Call(await self.ask(name, input, id=id, timeout=timeout))
        try:
            yield call
        except BaseException as error:
            if not isinstance(error, GeneratorExit):
                await asyncio.shield(asyncio.ensure_future(
                    self.report(call.verdict, f"{type(error).__name__}: {error}", True)))
            raise
        await self.report(call.verdict, call.content)

    def tool(self, name: Any = None, /, *, on_deny: OnDeny = "raise", keep: Collection[str] = (),
             timeout: Optional[float] = None) -> Any:
        """As `Gate.tool`, for `async def` and for plain functions, which run in a thread."""
        if callable(name):
            return self.tool()(name)

        def decorate(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
            arguments, shown = Arguments(function, keep), name or function.__name__
            run = function if inspect.iscoroutinefunction(function) else functools.partial(asyncio.to_thread, function)

            @functools.wraps(function)
            async def gated(*args: Any, **kwargs: Any) -> Any:
                given, kept = arguments.read(args, kwargs)
                try:
                    async with self.call(shown, given, timeout=timeout) as call:
                        return call.result(await run(**arguments.bind(call.input, kept)))
                except NotAllowed as refusal:
                    if on_deny == "raise":
                        raise
                    return denial_text(refusal)
            return gated
        return decorate

    __call__ = tool
