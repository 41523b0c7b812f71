#!/usr/bin/env python3
"""An MCP server that does what a test tells it, over the real wire: lines on standard input and output, or HTTP.

    mcp_server.py FOLDER                 speaks lines; FOLDER/tools.json says what it offers
    Web(folder)                          the same tools over streamable HTTP on loopback

FOLDER/tools.json is a list of {"name", "description", "inputSchema"}, read anew for each tools/list. What came in is
kept in FOLDER/log, one JSON message a line. What the tools do is told by their names: see `call`.
"""
import http.server
import io
import json
import os
import sys
import threading
import uuid

OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}


def tool(name, description="says something", schema=None, **more):
    return {"name": name, "description": description, "inputSchema": schema or OBJECT, **more}


def offer(folder, *tools):
    path = os.path.join(folder, "tools.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(tools, file)
    os.rename(path + ".new", path)


def offered(folder):
    with open(os.path.join(folder, "tools.json"), encoding="utf-8") as file:
        return json.load(file)


def log(folder, message):
    with open(os.path.join(folder, "log"), "a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")


def heard(folder, method=None):
    try:
        with open(os.path.join(folder, "log"), encoding="utf-8") as file:
            messages = [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [m for m in messages if method in (None, m.get("method"))]


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(folder, name, given, given_up):
    """The result of a tool; `given_up` is set when the client cancels."""
    if name == "fail":
        return text("it did not work", isError=True)
    if name == "picture":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
                            {"type": "text", "text": "a picture"},
                            {"type": "resource_link", "name": "more", "uri": "file:///more"}]}
    if name == "structured":
        return {"content": [], "structuredContent": {"answer": 42}}
    if name == "long":
        return text("ä" * 100000)
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "die":
        log(folder, {"method": "died"})
        print("the disk is on fire", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "slow":
        given_up.wait(60)
        return text("too late")
    if name == "change":
        offer(folder, *[{**t, "description": given["text"]} if t["name"] == "echo" else t for t in offered(folder)])
        return text("changed")
    return text("echo: " + str(given.get("text")))


def rounds(params):
    """The tool that wants something of its client before it goes on, as since 2026: what its argument names."""
    if "inputResponses" in params:
        return text("it went on", resultType="complete")
    return {"resultType": "input_required", "requestState": "begun", "inputRequests": {"it": {"method": params["arguments"]["text"], "params": {"message": "for you"}}}}


class Lines:
    def __init__(self, folder):
        self.folder, self.open, self.lock = folder, {}, threading.Lock()

    def say(self, message):
        with self.lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def answer(self, message, result):
        self.say({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def do(self, message, given_up):
        params = message["params"]
        result = rounds(params) if params["name"] == "rounds" else call(self.folder, params["name"], params.get("arguments", {}), given_up)
        if params["name"] == "change":
            self.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        self.answer(message, result)

    def take(self, message):
        method = message.get("method")
        if method == "initialize":
            self.answer(message, {"protocolVersion": message["params"]["protocolVersion"],
                                  "capabilities": {"tools": {"listChanged": True}},
                                  "serverInfo": {"name": "scripted", "version": "1"}})
            self.say({"jsonrpc": "2.0", "id": "mine", "method": "ping"})
            self.say({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}})
        elif method == "tools/list":
            tools = offered(self.folder)
            half = len(tools) // 2 if len(tools) > 3 else len(tools)
            if message["params"].get("cursor"):
                self.answer(message, {"tools": tools[half:]})
            elif half < len(tools):
                self.answer(message, {"tools": tools[:half], "nextCursor": "2"})
            else:
                self.answer(message, {"tools": tools})
        elif method == "tools/call":
            given_up = self.open[message["id"]] = threading.Event()
            threading.Thread(target=self.do, args=(message, given_up), daemon=True).start()
        elif method == "notifications/cancelled":
            self.open[message["params"]["requestId"]].set()

    def serve(self):
        print("a greeting that is no message", flush=True)
        for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"):  # a return ends a line here, as in the Python SDK
            try:
                message = json.loads(line)
            except ValueError:
                continue
            log(self.folder, message)
            self.take(message)


class Web:
    """`sse`: answers come as event streams. `forget()`: sessions are not known any more."""

    def __init__(self, folder, sse=True, token=None):
        self.folder, self.sse, self.token, self.sessions, self.open = folder, sse, token, set(), {}
        self.requests = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def plain(self, status, value=None, headers=()):
                body = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, one in headers:
                    self.send_header(name, one)
                self.end_headers()
                self.wfile.write(body)

            def stream(self, value, headers=()):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                for name, one in headers:
                    self.send_header(name, one)
                self.end_headers()
                progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
                for piece in (b"id: 1\ndata: \n\n", b": patience\n\n",
                              b"event: message\ndata: " + json.dumps(progress).encode() + b"\n\n",
                              b"event: message\ndata: " + json.dumps(value).encode() + b"\n\n"):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                web.requests.append((message, dict(self.headers)))
                log(web.folder, message)
                web.take(self, message)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forget(self):
        self.sessions.clear()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def take(self, handler, message):
        method, session, headers = message.get("method"), handler.headers.get("Mcp-Session-Id"), []
        accept = handler.headers.get("Accept", "")
        if "application/json" not in accept or "text/event-stream" not in accept:
            return handler.plain(406)
        if self.token and handler.headers.get("Authorization") != "Bearer " + self.token:
            return handler.plain(401)
        if method == "initialize":
            self.sessions.add(new := str(uuid.uuid4()))
            headers = [("Mcp-Session-Id", new)]
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "scripted", "version": "1"}}
        elif session not in self.sessions:
            return handler.plain(404)
        elif handler.headers.get("MCP-Protocol-Version") != "2025-06-18":
            return handler.plain(400)
        elif "id" not in message:
            if method == "notifications/cancelled":
                self.open[message["params"]["requestId"]].set()
            return handler.plain(202)
        elif method == "tools/list":
            result = {"tools": offered(self.folder)}
        else:
            given_up = self.open[message["id"]] = threading.Event()
            result = call(self.folder, message["params"]["name"], message["params"].get("arguments", {}), given_up)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return handler.stream(answer, headers) if self.sse else handler.plain(200, answer, headers)


if __name__ == "__main__":
    Lines(sys.argv[1]).serve()
