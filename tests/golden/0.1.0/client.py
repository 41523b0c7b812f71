#!/usr/bin/env python3
"""client.py SOCKET TOKEN LAST: a client of 0.1.0, which knows nothing that came later.

Its requests, and the way it reads the event stream, are those of the tests of 0.1.0; nothing here may be brought up to
date. It follows from the beginning. When it has event LAST it makes a session, asks, decides and reports over HTTP, and
follows until it has the result. It prints each event as the stream told it, one per line.
"""
import http.client
import json
import socket
import sys

PATIENCE = 300


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    def __init__(self, path, token):
        self.path, self.token = path, token

    def post(self, path, body):
        connection = UnixConnection(self.path, PATIENCE)
        connection.request("POST", path, json.dumps(body).encode(),
                           {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status not in (200, 201):
            sys.exit(f"POST {path}: {answer.status} {text[:400]!r}")
        return json.loads(text)

    def follow(self):
        """Yields (id, type, value)."""
        connection = UnixConnection(self.path, PATIENCE)
        connection.request("GET", "/api/events?after=0", None,
                           {"Authorization": "Bearer " + self.token, "Accept": "text/event-stream"})
        answer = connection.getresponse()
        if answer.status != 200:
            sys.exit(f"the stream: {answer.status} {answer.read()[:400]!r}")
        fields = {}
        for line in iter(answer.readline, b""):
            line = line.rstrip(b"\r\n")
            if not line and fields:
                yield int(fields["id"]), fields.get("event"), json.loads(fields["data"])
            if not line:
                fields = {}
            elif not line.startswith(b":"):
                name, _, value = line.decode().partition(":")
                value = value[1:] if value.startswith(" ") else value
                fields[name] = fields[name] + "\n" + value if name in fields else value
        sys.exit("the server has closed the stream")


def act(client):
    session = client.post("/api/sessions", {"title": "an old client"})
    call = client.post(f"/api/threads/{session['threadId']}/tool-calls?wait=0",
                       {"id": "old-1", "name": "Bash", "input": {"command": "make old"}})
    assert call["status"] == "awaiting", call
    decided = client.post(f"/api/sessions/{session['id']}/approvals/old-1", {"decision": "allow_once"})
    assert decided["decision"] == "allow_once", decided
    client.post("/api/tool-calls/old-1/result", {"content": "made"})


def main():
    client, last = Client(sys.argv[1], sys.argv[2]), int(sys.argv[3])
    for number, kind, event in client.follow():
        assert (number, kind) == (event["seq"], event["type"]), (number, kind, event)
        print(json.dumps(event), flush=True)
        if number == last:
            act(client)
        if kind == "TOOL_RESULT" and event["data"]["toolCallId"] == "old-1":
            return


if __name__ == "__main__":
    main()
