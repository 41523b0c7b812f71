"""/api/ws answers every message, takes no type for another, and carries what is being said."""
from world import Socket, must


def test_unsubscribe_is_answered_and_types_are_a_list(stage):
    server = stage.server()
    socket = Socket(server.admin())
    socket.send({"type": "subscribe", "id": 1, "types": ["TOOL_CALL"]})
    must(socket.receive() == {"type": "subscribed", "id": 1}, "subscribed")
    socket.send({"type": "unsubscribe", "id": 2})
    must(socket.receive() == {"type": "unsubscribed", "id": 2}, "unsubscribed")
    for wrong in ({"types": "TOOL_CALL"}, {"types": {"a": 1}}, {"live": "yes"}):
        socket.send({"type": "subscribe", "id": 3, **wrong})
        must(socket.receive()["error"]["code"] == "invalid", wrong)
    socket.send({"type": "dance", "id": 4})
    must("permission" in socket.receive()["error"]["message"], "the error names every type")


def test_live_text(stage):
    server = stage.serve(stage.model([{"text": "one two three", "chunk": 40, "delay": 0.02}]))
    run = stage.begin(server.admin(), execute=False)
    socket = Socket(server.admin())
    socket.send({"type": "subscribe", "id": 1, "session": run.session, "live": True})
    run.execute()
    text = ""
    while (message := socket.receive()).get("event", {}).get("type") != "AGENT_MESSAGE":
        if message["type"] == "live":
            must(message["live"]["runId"] == run.id, message)
            text += message["live"]["text"]
    must(text == "one two three", text)
