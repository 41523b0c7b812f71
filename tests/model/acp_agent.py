#!/usr/bin/env python3
"""An ACP agent that does what its prompt says, over the real wire: lines on standard input and output.

A prompt is a list of steps in JSON; each is sent as a request or a notification, and what comes back is kept. With the
word "say" before it a text is said. After the step "stubborn" it writes FOLDER/ran when it is told to end. The "_meta" of session/new, session/load and session/set_config_option are members of their answers. FOLDER/log holds what came in and how each request was answered, one message a line.
"""
import json
import os
import signal
import sys
import threading


class Agent:
    def __init__(self, folder):
        self.folder, self.number, self.answers, self.stubborn = folder, 0, {}, False
        self.lock, self.moved = threading.Lock(), threading.Condition()

    def log(self, message):
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")

    def say(self, message):
        with self.lock:
            sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
            sys.stdout.flush()

    def ask(self, method, params, number=None):
        if number is None:
            number, self.number = self.number, self.number + 1
        self.say({"id": number, "method": method, "params": params})
        with self.moved:
            while number not in self.answers:
                self.moved.wait()
            return self.answers.pop(number)

    def step(self, session, step):
        if "raw" in step:
            for _ in range(step.get("times", 1)):
                self.say(step["raw"])
        elif "stubborn" in step:
            self.stubborn = True
        elif "update" in step:
            self.say({"method": "session/update", "params": {"sessionId": session, "update": step["update"]}})
        elif "flood" in step:
            for number in range(step["flood"]):
                threading.Thread(target=self.request, args=(session, step, f"f{number}"), daemon=True).start()
        else:
            self.request(session, step)

    def request(self, session, step, number=None):
        answer = self.ask(step["method"], {"sessionId": session, **step["params"]}, number)
        self.log({"answered": step["method"], "result": answer.get("result"), "error": answer.get("error")})

    def prompt(self, message):
        session = message["params"]["sessionId"]
        texts = [block["text"] for block in message["params"]["prompt"]]
        self.log({"prompt": texts})
        for step in json.loads(texts[-1]) if texts[-1].startswith("[") else []:
            self.step(session, step)
        self.say({"method": "session/update", "params": {"sessionId": session, "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "done."}}}})
        self.say({"id": message["id"], "result": {"stopReason": "end_turn"}})

    def take(self, message):
        method = message.get("method")
        if method is None:
            with self.moved:
                self.answers[message["id"]] = message
                self.moved.notify_all()
            return
        self.log(message)
        if method == "initialize":
            self.say({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
        elif method in ("session/new", "session/load", "session/set_config_option"):
            result = {"sessionId": "s1", "modes": {"availableModes": [], "currentModeId": "default"}} if method == "session/new" else {}
            self.say({"id": message["id"], "result": {**result, **message["params"].get("_meta", {})}})
        elif method == "session/prompt":
            threading.Thread(target=self.prompt, args=(message,), daemon=True).start()
        elif "id" in message:
            self.say({"id": message["id"], "result": {}})

    def leave(self, *_signal):
        if self.stubborn:
            with open(os.path.join(self.folder, "ran"), "w", encoding="utf-8"):
                pass
        os._exit(0)

    def serve(self):
        signal.signal(signal.SIGTERM, self.leave)
        print("a banner that is no message", flush=True)
        for line in sys.stdin:
            self.take(json.loads(line))
        self.leave()


def heard(folder):
    try:
        with open(os.path.join(folder, "log"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    Agent(sys.argv[1]).serve()
