"""A model that speaks to very many at once, and those who listen to Nod relaying it: one loop, one clock.

Every piece of text carries the time at which it was sent, so that whoever hears it knows how long it was under way.
Beside each stream through Nod there is a plain connection on which the same piece is sent directly: the yardstick.
"""
import asyncio
import json
import random
import re
import time

MARK = re.compile(rb"<(\d+)>")
PIECES = 30
PAUSE_S = 0.1


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


BEGIN = event("message_start", message={"id": "msg_1", "type": "message", "role": "assistant", "model": "relay",
                                        "content": [], "stop_reason": None,
                                        "usage": {"input_tokens": 1, "output_tokens": 1}}) \
    + event("content_block_start", index=0, content_block={"type": "text", "text": ""})
END = event("content_block_stop", index=0) \
    + event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 9}) \
    + event("message_stop")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def mark():
    return f"<{time.monotonic_ns()}> and some more words, as a model says them in one piece"


class Ear(asyncio.Protocol):
    """Notes how long each piece was under way."""

    def __init__(self, delays, request=b""):
        self.delays, self.request, self.rest = delays, request, b""
        self.begun = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        transport.write(self.request)

    def data_received(self, data):
        now = time.monotonic_ns()
        if not self.begun.done():
            self.begun.set_result(None)
        data = self.rest + data
        end = data.rfind(b"\n") + 1
        self.rest = data[end:]
        if b"text_chunk" in data or not self.request:
            self.delays += [(now - int(at)) / 1e6 for at in MARK.findall(data[:end])]


class Relay:
    """`waiting`: streams that were asked for and have not begun; all begin when there are `streams` of them."""

    def __init__(self, streams):
        self.streams, self.waiting = streams, 0
        self.direct, self.relayed = [], []
        self.all_here = asyncio.Event()
        self.over = asyncio.Event()
        self.finished = 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\n")
        if head.startswith(b"direct"):
            self.lines.put_nowait(writer)
            return
        head += await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                     + chunk(BEGIN))
        self.waiting += 1
        if self.waiting == self.streams:
            self.all_here.set()
        await self.all_here.wait()
        direct = await self.lines.get()
        await asyncio.sleep(random.random() * PAUSE_S)
        for _ in range(PIECES):
            direct.write(mark().encode() + b"\n")
            await asyncio.sleep(PAUSE_S / 2)
            writer.write(chunk(event("content_block_delta", index=0, delta={"type": "text_delta", "text": mark()})))
            await asyncio.sleep(PAUSE_S / 2)
        writer.write(chunk(END) + chunk(b""))
        self.finished += 1
        if self.finished == self.streams:
            self.over.set()

    async def listen(self, port, target, token):
        """A subscriber of one session; back when the stream has begun."""
        request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n" \
                  f"Accept: text/event-stream\r\n\r\n"
        _, ear = await asyncio.get_running_loop().create_connection(
            lambda: Ear(self.relayed, request.encode()), "127.0.0.1", port)
        await ear.begun

    async def run(self, server, begin, sessions):
        """`begin(i)` starts the run of sessions[i]; it blocks, so it gets a thread."""
        loop = asyncio.get_running_loop()
        for _ in sessions:
            transport, _ = await loop.create_connection(lambda: Ear(self.direct), "127.0.0.1", self.port)
            transport.write(b"direct\n")
        await asyncio.gather(*(self.listen(server.port, f"/api/events?session={s}&live=1&after=0", server.token())
                               for s in sessions))
        await asyncio.gather(*(loop.run_in_executor(None, begin, i) for i in range(len(sessions))))
        await asyncio.wait_for(self.over.wait(), 60 + PIECES * PAUSE_S)
        await asyncio.sleep(0.5)


def measure(serve, make, streams):
    """Milliseconds directly and through Nod. `serve(url)` gives a server whose model is there, `make` a run in it."""
    async def main():
        relay = Relay(streams)
        relay.lines = asyncio.Queue()
        await relay.start()
        with serve(relay.url) as server:
            loop = asyncio.get_running_loop()
            runs = [await loop.run_in_executor(None, make, server, i) for i in range(streams)]
            await relay.run(server, lambda i: server.talk("POST", f"/api/agent-requests/{runs[i]['id']}/execute", {}),
                            [run["sessionId"] for run in runs])
        relay.server.close()
        return relay.direct, relay.relayed
    return asyncio.run(main())
