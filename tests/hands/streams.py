"""A request's events as a live stream under their own names, and `execute` after a failure."""
import json

from stage import use
from world import eventually, must

WRITE = {"text": "I write it.", "tools": [use(1, "Write", file_path="a.txt", content="one\n")], "chunk": 60, "delay": 0.02}


class Stream:
    """Server-Sent Events of one request: `events` are (id, type, data), live pieces have no id."""

    def __init__(self, client, request, after=None, header=None):
        self.connection = client.connection()
        path = f"/api/agent-requests/{request}/events" + (f"?after={after}" if after else "")
        self.connection.request("GET", path, None, client.headers(None, {"Accept": "text/event-stream", **(header or {})}))
        self.answer = self.connection.getresponse()
        self.status, self.ended = self.answer.status, False

    def next(self):
        fields = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                self.ended = True
                return None
            if line == "\n" and fields:
                return fields.get("id"), fields["event"], json.loads(fields["data"])
            if ":" in line and not line.startswith(":"):
                key, _, value = line.rstrip("\n").partition(": ")
                fields[key] = fields.get(key, "") + value

    def until(self, kind=None):
        """All up to the first of this type, or to the end of the stream."""
        told = []
        while (one := self.next()) is not None:
            told.append(one)
            if one[1] == kind:
                break
        return told


def text_of(told):
    return "".join(data["text"] for _, kind, data in told if kind == "text_chunk")


def test_events_come_as_they_happen(stage):
    server = stage.serve(stage.model([WRITE, {"text": "Done, and well.", "chunk": 60, "delay": 0.02}]))
    run = stage.begin(server.admin(), execute=False)
    stream = Stream(server.admin(), run.id)
    must(stream.status == 200 and "text/event-stream" in stream.answer.headers["Content-Type"], stream.answer.headers)
    run.execute()
    told = stream.until("tool_call")  # while the run waits for a person
    must(text_of(told) == "I write it.", told)
    must(any(data.get("live") for _, _, data in told) and told[-1][2]["name"] == "Write", told)
    must(run.until("awaiting_approval"), "it waits")
    run.answer()
    rest = stream.until()
    must(stream.ended and text_of(rest) == "Done, and well.", rest)
    must([kind for id_, kind, _ in rest if id_] == ["tool_result", "text_chunk", "completion"], rest)
    must(rest[-1][2]["status"] == "completed" and rest[0][2]["toolCallId"] == "toolu_1", rest)
    whole = Stream(server.admin(), run.id).until()
    must([kind for _, kind, _ in whole] == ["text_chunk", "tool_call", "tool_result", "text_chunk", "completion"], whole)
    must(text_of(whole) == "I write it.Done, and well.", whole)
    for number, (id_, _, _) in enumerate(whole):
        must(Stream(server.admin(), run.id, header={"Last-Event-ID": id_}).until() == whole[number + 1:], id_)
        must(Stream(server.admin(), run.id, after=id_).until() == whole[number + 1:], id_)
    must(Stream(server.admin(), run.id, after="x").status == 400, "a wrong cursor")
    must(Stream(server.admin(), run.session + ".none").status == 404, "no such request")


def test_an_answer_that_begins_anew_replaces_its_pieces(stage):
    server = stage.serve(stage.model([{"text": "one two three four", "faults": [{"cut": 700}], "chunk": 100}]))
    run = stage.begin(server.admin(), execute=False)
    stream = Stream(server.admin(), run.id)
    run.execute()
    text = ""
    for _, kind, data in stream.until():
        if kind == "text_chunk":
            text = data["text"] if data.get("replaces") else text + data["text"]
    must(text == "one two three four", text)


def test_one_request_of_several_in_a_thread(stage):
    server = stage.serve(stage.model([{"text": "first"}, {"text": "second"}]))
    admin = server.admin()
    first = stage.begin(admin)
    first.over()
    second = stage.begin(admin, sessionId=first.session)
    second.over()
    for run, text in ((first, "first"), (second, "second")):
        must(text_of(Stream(admin, run.id).until()) == text, run.id)
        page = admin.ok("GET", f"/api/agent-requests/{run.id}/events")["events"]
        must([e.get("text") for e in page] == [text, None], page)


def test_execute_resumes_what_failed(stage):
    faults = [{"status": 401}] * 2
    model = stage.model([{"tools": [use(1, "Bash", command="echo once >> log")]}, {"text": "Done.", "faults": faults}])
    server = stage.serve(model)
    run = stage.begin(server.admin(), permissionMode="bypassPermissions")
    must(run.over()["status"] == "failed", run.state())
    run.execute()
    eventually(lambda: [e["data"]["status"] for e in run.events("RUN_STATUS")].count("failed") == 2, "it fails again")
    server.kill()
    server.start()
    run.with_client(server.admin())
    run.execute()
    must(run.until("completed")["result"] == "Done.", run.state())
    must(stage.read("log") == "once\n", "the command ran again")
    asked = len(model.requests)
    run.execute()
    must(run.state()["status"] == "completed" and len(model.requests) == asked, "what is completed stays so")
    checkpoint = run.client.ok("GET", f"/api/agent-requests/{run.id}/checkpoint")
    must(checkpoint["iterationCount"] == 2 and checkpoint["status"] == "completed", checkpoint)
