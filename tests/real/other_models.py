"""Scripted models of other makers, on loopback: OpenAI's Responses API for Codex, its chat completions for Qwen Code and
opencode, generateContent for Gemini.

A script is a list of answers: a str is text, a tuple (tool, input) a call. How many results the request holds
tells which answer is due; after the last one the model says "Done." What was asked is kept in `requests`.
"""
import http.server
import json
import threading


class Scripted:
    whole_last = False  # the last of the events is the whole answer, for those who want no stream

    def __init__(self, script):
        self.script, self.requests = list(script), []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def plain(self, value):
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.plain({"models": []})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if body.get("tools"):
                    model.requests.append(body)
                due = model.results(body)
                events = list(model.answer(model.script[due] if due < len(model.script) else "Done.", due))
                if "stream" not in self.path and not body.get("stream"):
                    return self.plain(events[-1][1])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                for name, value in events[:-1] if model.whole_last else events:
                    self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(value)}\n\n".encode())
                return None

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def said(self):
        """All that the model was told, as one text."""
        return json.dumps(self.requests, ensure_ascii=False)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Responses(Scripted):
    @staticmethod
    def results(body):
        return sum(part.get("type") in ("function_call_output", "custom_tool_call_output") for part in body["input"])

    @staticmethod
    def answer(step, number):
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [{"type": "output_text", "text": step}]}
        if not isinstance(step, str):
            custom = isinstance(step[1], str)  # a tool that takes plain text
            item = {"type": "custom_tool_call" if custom else "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": step[0],
                    **({"input": step[1]} if custom else {"arguments": json.dumps(step[1])})}
        usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None, "total_tokens": 15}
        for name, more in (("response.created", {"response": {"id": f"resp_{number}"}}),
                           ("response.output_item.done", {"item": item, "output_index": 0}),
                           ("response.completed", {"response": {"id": f"resp_{number}", "usage": usage}})):
            yield name, {"type": name, **more}


class Generate(Scripted):
    @staticmethod
    def results(body):
        return sum("functionResponse" in part for content in body["contents"] for part in content.get("parts", []))

    @staticmethod
    def answer(step, number):
        part = {"text": step} if isinstance(step, str) else {"functionCall": {"id": f"fc{number}", "name": step[0], "args": step[1]}}
        yield None, {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
                     "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}


class Chat(Scripted):
    """OpenAI's chat completions, which Qwen Code, opencode and Copilot speak."""
    whole_last = True

    @staticmethod
    def results(body):
        return sum(message.get("role") == "tool" for message in body["messages"])

    @staticmethod
    def answer(step, number):
        message = {"role": "assistant", "content": step} if isinstance(step, str) else {"role": "assistant", "content": None, "tool_calls": [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": {"name": step[0], "arguments": json.dumps(step[1])}}]}
        chunk = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        reason = "stop" if isinstance(step, str) else "tool_calls"
        yield None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        yield None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage,
                     "object": "chat.completion.chunk"}
        yield None, {**chunk, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
