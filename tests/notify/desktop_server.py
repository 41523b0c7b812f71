"""A notification server as the Desktop Notifications Specification 1.2 has it, on a private session bus.

Prints one line of JSON for each call it gets, and the bus's address first; obeys lines on its standard input:
`press ID KEY` (the person presses a button), `dismiss ID` (the person closes it), `forge ID KEY` (another program of the
session says that a button was pressed), `refuse N` (the next N notifications are refused), `leave` and `return` (the server
goes away and comes back).
    python3 desktop_server.py [--no-actions]
"""
import asyncio
import json
import subprocess
import sys

from dbus_next import DBusError
from dbus_next.aio import MessageBus
from dbus_next.service import ServiceInterface, method, signal

CAPABILITIES = ["body", "body-markup", "persistence"] + ([] if "--no-actions" in sys.argv else ["actions"])


def tell(**what):
    print(json.dumps(what), flush=True)


class Notifications(ServiceInterface):
    def __init__(self):
        super().__init__("org.freedesktop.Notifications")
        self.last, self.refuse = 0, 0

    @method()
    def GetCapabilities(self) -> "as":
        return CAPABILITIES

    @method()
    def GetServerInformation(self) -> "ssss":
        return ["fake", "nod", "1", "1.2"]

    @method()
    def Notify(self, app: "s", replaces: "u", icon: "s", summary: "s", body: "s", actions: "as", hints: "a{sv}",
               timeout: "i") -> "u":
        if self.refuse:
            self.refuse -= 1
            tell(call="refused", summary=summary)
            raise DBusError("org.freedesktop.Notifications.Error.ExcessNotificationGeneration", "Created too many similar notifications in quick succession")
        self.last = replaces or self.last + 1
        tell(call="Notify", id=self.last, app=app, replaces=replaces, summary=summary, body=body, timeout=timeout,
             actions=dict(zip(actions[::2], actions[1::2])), urgency=hints["urgency"].value if "urgency" in hints else None)
        return self.last

    @method()
    def CloseNotification(self, id: "u"):
        tell(call="CloseNotification", id=id)
        self.NotificationClosed(id, 3)

    @signal()
    def ActionInvoked(self, id, key) -> "us":
        return [id, key]

    @signal()
    def NotificationClosed(self, id, reason) -> "uu":
        return [id, reason]


async def main():
    daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address=1"], stdout=subprocess.PIPE, text=True)
    try:
        address = daemon.stdout.readline().strip()
        bus = await MessageBus(bus_address=address).connect()
        notifications = Notifications()
        bus.export("/org/freedesktop/Notifications", notifications)
        await bus.request_name("org.freedesktop.Notifications")
        tell(address=address)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            words = line.split()
            if words[0] == "press":
                notifications.ActionInvoked(int(words[1]), words[2])
            elif words[0] == "forge":
                forger, other = Notifications(), await MessageBus(bus_address=address).connect()
                other.export("/org/freedesktop/Notifications", forger)
                forger.ActionInvoked(int(words[1]), words[2])
                await other.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus")  # the bus has taken it
                tell(call="forged", id=int(words[1]))
            elif words[0] == "refuse":
                notifications.refuse = int(words[1])
            elif words[0] == "leave":
                await bus.release_name("org.freedesktop.Notifications")
                tell(call="left")
            elif words[0] == "return":
                await bus.request_name("org.freedesktop.Notifications")
            else:
                notifications.NotificationClosed(int(words[1]), 2)
    finally:
        daemon.kill()
        daemon.wait()


asyncio.run(main())
