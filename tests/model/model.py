#!/usr/bin/env python3
"""A model that says what a script tells it, over the real wire formats of both providers. Standard library only.

    model.py SCRIPT.json [--port N]      prints "model on http://127.0.0.1:PORT"

A script is a list of answers. Which one is given depends on how many answers the conversation holds already, so a
question that is asked again (after a retry, a cut stream, a kill -9) gets the same answer again. An answer:

    {"text": "…", "thinking": "…", "tools": [{"id", "name", "input"}], "stop": "end_turn",
     "blocks": [[start, [deltas]]], "chunk": 3, "delay": 0.1, "usage": {…},
     "faults": [{"status": 429, "retry_after": 1}, {"cut": 200}, {"error": "overloaded_error"}]}

Faults come first, each once. `chunk` is the size of the pieces in which bytes leave, `delay` the time between them.
"""
import http.server
import json
import socket
import sys
import threading
import time


def sse(events, named=True):
    text = b""
    for event in events:
        if named:
            text += f"event: {event['type']}\n".encode()
        text += f"data: {json.dumps(event)}\n\n".encode()
    return text


def pieces_of(text, count=3):
    size = max(1, len(text) // count)
    return [text[i:i + size] for i in range(0, len(text), size)]


def anthropic_stream(answer, model):
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
             **answer.get("usage", {})}
    events = [{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": model,
                                                    "content": [], "stop_reason": None, "usage": usage}},
              {"type": "ping"}]
    index = 0

    def block(start, deltas):
        nonlocal index
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
        index += 1

    if answer.get("thinking"):
        block({"type": "thinking", "thinking": "", "signature": ""},
              [{"type": "thinking_delta", "thinking": p} for p in pieces_of(answer["thinking"])]
              + [{"type": "signature_delta", "signature": "c2lnbmF0dXJl"}])
    if answer.get("text"):
        block({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in pieces_of(answer["text"])])
    for tool in answer.get("tools", []):
        block({"type": "tool_use", "id": tool["id"], "name": tool["name"], "input": {}},
              [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces_of(json.dumps(tool["input"]))]])
    for start, deltas in answer.get("blocks", []):
        block(start, deltas)
    stop = answer.get("stop") or ("tool_use" if answer.get("tools") else "end_turn")
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                   "usage": {"output_tokens": usage["output_tokens"]}})
    events.append({"type": "message_stop"})
    return sse(events)


def openai_stream(answer, model):
    def chunk(delta, finish=None, **more):
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": p}) for p in pieces_of(answer.get("text", ""))] if answer.get("text") else []
    for index, tool in enumerate(answer.get("tools", [])):
        events.append(chunk({"tool_calls": [{"index": index, "id": tool["id"], "type": "function",
                                             "function": {"name": tool["name"], "arguments": ""}}]}))
        events += [chunk({"tool_calls": [{"index": index, "function": {"arguments": p}}]})
                   for p in pieces_of(json.dumps(tool["input"]))]
    events.append(chunk({}, "tool_calls" if answer.get("tools") else "stop"))
    events.append({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": [],
                   "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
    return sse(events, named=False) + b"data: [DONE]\n\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def refuse(self, status, kind, headers=()):
        body = json.dumps({"type": "error", "error": {"type": kind, "message": f"scripted {kind}"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, bytes_, answer, cut=None):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        size = answer.get("chunk") or len(bytes_)
        whole = bytes_ if cut is None else bytes_[:cut]
        for at in range(0, len(whole), size):
            piece = whole[at:at + size]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            if answer.get("delay"):
                time.sleep(answer["delay"])
        if cut is None:
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self):
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        anthropic = self.path.endswith("/v1/messages")
        with model.lock:
            model.requests.append({"path": self.path, "headers": dict(self.headers), "body": body, "at": time.monotonic()})
            answer = model.answer(body)
            faults = answer.get("faults", [])
            done = model.faults_done.get(id(answer), 0)
            fault = faults[done] if done < len(faults) else None
            model.faults_done[id(answer)] = done + 1
        try:
            if fault and "status" in fault:
                headers = [("retry-after", fault["retry_after"])] if "retry_after" in fault else []
                return self.refuse(fault["status"], fault.get("kind", "rate_limit_error"), headers)
            if fault and "error" in fault:
                return self.stream(sse([{"type": "error", "error": {"type": fault["error"], "message": "scripted"}}]), answer)
            bytes_ = (anthropic_stream if anthropic else openai_stream)(answer, body.get("model"))
            return self.stream(bytes_, answer, fault.get("cut") if fault else None)
        except (BrokenPipeError, ConnectionResetError):
            return None


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass  # a client that leaves is nothing to speak of


class Model:
    """Runs in a thread; `requests` holds what was asked."""

    def __init__(self, script, port=0):
        self.script, self.requests, self.faults_done, self.lock = script, [], {}, threading.Lock()
        self.server = Listener(("127.0.0.1", port), Handler)
        self.server.model = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, body):
        if callable(self.script):
            return self.script(body)
        told = sum(message["role"] == "assistant" for message in body["messages"])
        return self.script[told] if told < len(self.script) else {"text": "The script is over."}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def main():
    port = int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 0
    with open(sys.argv[1], encoding="utf-8") as file:
        model = Model(json.load(file), port)
    print(f"model on {model.url}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
