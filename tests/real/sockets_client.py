"""A client on the library `websockets`: sockets_client.py URL TOKEN events | ask FOLDER | answer SESSION REQUEST.

Prints {"protocol", "told": [messages]}.
"""
import asyncio
import json
import sys

import websockets

URL, TOKEN, ACT, *REST = sys.argv[1:]


async def converse(path, says, last):
    told = []
    async with websockets.connect(URL + path, subprotocols=["nod", f"nod.bearer.{TOKEN}"]) as socket:
        for message in says:
            await socket.send(json.dumps(message))
        while not told or told[-1]["type"] != last:
            told.append(json.loads(await socket.recv()))
            if told[-1]["type"] == "caught_up":
                await socket.send(json.dumps({"command": "tool_approval_response", "request_id": REST[1], "approved": True}))
        return {"protocol": socket.subprotocol, "told": told}


def main():
    if ACT == "events":
        return converse("/api/ws", [{"type": "subscribe", "id": 1}], "subscribed")
    if ACT == "ask":
        return converse(f"/api/terminal/ws/agent?cwd={REST[0]}", [{"command": "run", "prompt": "look", "permission_mode": "sdk"}],
                        "tool_approval_request")
    return converse("/api/terminal/ws/agent", [{"command": "attach", "session_id": REST[0]}], "result")


print(json.dumps(asyncio.run(main())))
