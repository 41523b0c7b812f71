"""A world with a model in it and a project to work on."""
import json
import os

from model import Model
from world import World, eventually, must

OVER = ("completed", "rejected", "failed", "cancelled")


def use(number, name, **given):
    return {"id": f"toolu_{number}", "name": name, "input": given}


class Stage(World):
    def __init__(self):
        super().__init__()
        self.project = os.path.join(self.folder, "project")
        os.mkdir(self.project)
        self.models = []

    def model(self, script):
        model = Model(script)
        self.models.append(model)
        return model

    def serve(self, model, *arguments, openai=False, **more):
        names = ("OPENAI_BASE_URL", "OPENAI_API_KEY") if openai else ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
        self.environment.update({names[0]: model.url, names[1]: "sk-secret-key-7"})
        if openai:
            self.environment["OPENAI_MODEL"] = "gpt-scripted"
        return self.server(*arguments, **more)

    def close(self, quietly=False):
        try:
            super().close(quietly)
        finally:
            for model in self.models:
                model.close()

    def path(self, name):
        return os.path.join(self.project, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def begin(self, client, prompt="do it", execute=True, **more):
        made = client.ok("POST", "/api/agent-requests", {"prompt": prompt, "cwd": self.project, **more})
        if execute:
            client.ok("POST", f"/api/agent-requests/{made['id']}/execute", {}, status=(202,))
        return Run(self, client, made)


class Run:
    def __init__(self, stage, client, made):
        self.stage, self.client = stage, client
        self.id, self.session, self.thread = made["id"], made["sessionId"], made["threadId"]

    def with_client(self, client):
        self.client = client
        return self

    def state(self):
        return self.client.ok("GET", f"/api/agent-requests/{self.id}")

    def execute(self):
        return self.client.ok("POST", f"/api/agent-requests/{self.id}/execute", {}, status=(202,))

    def until(self, *statuses):
        return eventually(lambda: (lambda s: s if s["status"] in statuses else None)(self.state()),
                          lambda: f"status {statuses}; it is {json.dumps(self.state())}")

    def over(self):
        return self.until(*OVER)

    def pending(self, count=1):
        return eventually(lambda: (lambda p: (p or [None]) if len(p) == count else None)(self.client.pending(f"/sessions/{self.session}")),
                          lambda: f"{count} pending; the run is {json.dumps(self.state())}")

    def answer(self, decision="allow_once", **more):
        one = self.pending()[0]
        self.client.decided(self.session, one["toolCallId"], decision, digest=one["digest"], **more)
        return one

    def events(self, *types):
        events = self.client.events(session=self.session)
        return [e for e in events if not types or e["type"] in types]

    def results(self):
        return [e["data"] for e in self.events("TOOL_RESULT")]


def results_in(request):
    """The tool results that the model was told, in order."""
    found = []
    for message in request["body"]["messages"]:
        if message["role"] == "user" and isinstance(message["content"], list):
            found += [b for b in message["content"] if b["type"] == "tool_result"]
    return found


def check_once(run):
    """Every call at most once: one start, one result, in that order."""
    seen = {}
    for event in run.events():
        if event["type"].startswith("TOOL_"):
            call = event["data"].get("toolCallId") or event["data"].get("id")
            seen.setdefault(call, []).append(event["type"])
    for call, types in seen.items():
        must(len(types) == len(set(types)), f"{call}: {types}")
        if "TOOL_STARTED" in types:
            must(types.index("TOOL_STARTED") > types.index("TOOL_CALL"), f"{call}: {types}")
    return seen
