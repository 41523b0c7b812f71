"""A model that says what the test wrote down: the Messages API as server-sent events, on loopback.

A script is a list of answers; an answer is a list of content blocks: a str is text, a tuple (tool, input) or
(tool, input, id) a tool_use; a function is called for it. How far the conversation is tells which answer is due.
Requests of a sub-agent (their first message holds SUBTASK) take from a script of
their own. When a script is at its end, the model says "Done." What was asked is kept in `requests`.
"""
import http.server
import json
import threading


class Model:
    def __init__(self, script, sub=()):
        self.script, self.sub, self.requests = list(script), list(sub), []
        self.lock = threading.Lock()
        self.count = 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if "count_tokens" in self.path:
                    return self.plain({"input_tokens": 100})
                message = model.answer(body)
                if not body.get("stream"):
                    return self.plain(message)
                return self.stream(message)

            def plain(self, value):
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def stream(self, message):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for name, value in events(message):
                        self.wfile.write(f"event: {name}\ndata: {json.dumps(value)}\n\n".encode())
                    self.wfile.flush()
                except OSError:
                    pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, body):
        with self.lock:
            first = json.dumps(body["messages"][:1])
            script = self.sub if "SUBTASK" in first else self.script
            tools = bool(body.get("tools"))
            if tools:
                self.requests.append(body)
            turn = sum(part["role"] == "assistant" for part in body["messages"])  # a request may come again
            blocks = script[turn] if tools and turn < len(script) else ["Done."]
            blocks = blocks() if callable(blocks) else blocks
            return self.message([blocks] if isinstance(blocks, (str, tuple)) else blocks)

    def message(self, blocks):
        content = []
        for block in blocks:
            self.count += 1
            if isinstance(block, str):
                content.append({"type": "text", "text": block})
            else:
                name, given, *rest = block
                content.append({"type": "tool_use", "id": rest[0] if rest else f"toolu_{self.count:04}", "name": name,
                                "input": given})
        used = any(part["type"] == "tool_use" for part in content)
        return {"id": f"msg_{self.count:04}", "type": "message", "role": "assistant", "model": "claude-test",
                "content": content, "stop_reason": "tool_use" if used else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 20}}

    def said(self):
        """All that the model was told in tool results and by people, as one text."""
        return "\n".join(json.dumps(part["content"], ensure_ascii=False) for request in self.requests
                         for part in request["messages"] if part["role"] == "user")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def events(message):
    start = {**message, "content": [], "stop_reason": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        delta = {"type": "text_delta", "text": block["text"]} if block["type"] == "text" else \
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    yield "message_delta", {"type": "message_delta", "usage": {"output_tokens": 20},
                            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}}
    yield "message_stop", {"type": "message_stop"}
