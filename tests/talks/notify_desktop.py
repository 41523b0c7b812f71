"""Notifications of the desktop: shown, answered by a button, withdrawn, refused; by the Desktop Notifications Specification 1.2
(Notify, CloseNotification, ActionInvoked) and the D-Bus Specification (who may send a signal, a name without an owner).

The other side is tests/notify/desktop_server.py on a bus of its own.
"""
import json
import os
import queue
import subprocess
import threading

from world import PATIENCE, ROOT, Skip, eventually, must


class Desktop:
    def __init__(self, *options):
        script = os.path.join(ROOT, "tests", "notify", "desktop_server.py")
        self.process = subprocess.Popen(["/usr/bin/python3", script, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.calls, self.address = [], queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.bus = self.address.get(timeout=PATIENCE)
        if not self.bus:
            raise Skip("python3-dbus-next or dbus-daemon is not here")

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if "address" in said:
                self.address.put(said["address"])
            else:
                self.calls.append(said)
        self.address.put("")

    def notes(self):
        return [one for one in self.calls if one["call"] == "Notify"]

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def press(self, note, action):
        self.say(f"press {note['id']} {action}")

    def said(self, what):
        return [one for one in self.calls if one["call"] == what]

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def watch(world, desktop, server, *options):
    return world.start("desktop", "--data", server.data, *options, environment={"DBUS_SESSION_BUS_ADDRESS": desktop.bus})


def ask(admin, call, command):
    made = admin.ok("POST", "/api/sessions", {"cwd": "/tmp"})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls",
             {"id": call, "name": "Bash", "input": {"command": command}})
    return made


def one_for(desktop, text):
    return eventually(lambda: next((note for note in desktop.notes() if text in note["body"]), None), f"a note of {text}")


def test_buttons_answer_and_answers_withdraw(world):
    desktop, server = Desktop(), world.server()
    admin = server.admin()
    ask(admin, "before", "make before")
    program = watch(world, desktop, server)
    must(one_for(desktop, "make before")["urgency"] == 1, "one that was there already")
    ask(admin, "calm", "make <b>x</b> & y")
    calm = one_for(desktop, "make &lt;b&gt;x&lt;/b&gt; &amp; y")
    ask(admin, "wild", "rm -rf /")
    wild = one_for(desktop, "rm -rf /")
    must(set(wild["actions"]) == {"default", "deny"} and wild["urgency"] == 2, f"a risky one is not allowed here: {wild}")
    desktop.press(wild, "deny")
    eventually(lambda: admin.status("wild")["status"] == "denied", "the button denies")
    made = ask(admin, "other", "make other")
    other = one_for(desktop, "make other")
    must(set(other["actions"]) == {"default", "deny", "allow"}, f"{other}")
    admin.decided(made["id"], "other", "deny")
    eventually(lambda: {"call": "CloseNotification", "id": other["id"]} in desktop.calls, "it is withdrawn")
    made = ask(admin, "allowed", "make allowed")
    desktop.press(one_for(desktop, "make allowed"), "allow")
    eventually(lambda: admin.status("allowed")["status"] == "allowed", "the button allows once")
    desktop.press(calm, "default")
    eventually(lambda: "calm waits" in program.stderr, "a click beside the buttons answers nothing")
    must(admin.status("calm")["status"] == "awaiting", "it waits")
    server.stop()
    server.start()
    ask(server.admin(), "later", "make later")
    one_for(desktop, "make later")
    program.kill()
    desktop.close()


def test_a_desktop_without_buttons_and_none_at_all(world):
    desktop, server = Desktop("--no-actions"), world.server()
    ask(server.admin(), "c1", "make x")
    program = watch(world, desktop, server)
    must(one_for(desktop, "make x")["actions"] == {}, "no buttons")
    program.kill()
    desktop.close()
    none = world.nod("desktop", "--data", server.data, exits=None,
                     environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/no/such/bus"})
    must("there is no session bus here" in none.stderr, none.stderr)


def test_a_press_counts_only_from_the_desktop_itself(world):
    """Any program of the session may send ActionInvoked; an agent is one."""
    desktop, server = Desktop(), world.server()
    admin = server.admin()
    program = watch(world, desktop, server)
    ask(admin, "c1", "make x")
    note = one_for(desktop, "make x")
    for action in ("allow", "deny"):
        desktop.say(f"forge {note['id']} {action}")
    eventually(lambda: len(desktop.said("forged")) == 2, "the forged presses are on the bus")
    desktop.press(note, "default")
    eventually(lambda: "c1 waits" in program.stderr, "the real press arrives behind them")
    must(admin.status("c1")["status"] == "awaiting", f"nobody has answered: {program.stderr}")
    desktop.press(note, "deny")
    eventually(lambda: admin.status("c1")["status"] == "denied", "the real button does")
    program.kill()
    desktop.close()


def test_a_desktop_that_refuses_or_goes_away(world):
    """Where others say 429: ExcessNotificationGeneration, as GNOME's server does; and a name that nobody owns."""
    desktop, server = Desktop(), world.server()
    program = watch(world, desktop, server)
    eventually(lambda: "showing calls" in program.stderr, "it runs")
    desktop.say("refuse 2")
    made = ask(server.admin(), "c1", "make first")
    note = one_for(desktop, "make first")
    must(len(desktop.said("refused")) == 2 and len(desktop.notes()) == 1, f"it was tried until it was shown: {desktop.calls}")
    desktop.say("leave")
    eventually(lambda: desktop.said("left"), "nobody shows notifications")
    ask(server.admin(), "c2", "make second")
    server.admin().decided(made["id"], "c1", "deny")
    desktop.say("return")
    one_for(desktop, "make second")
    must(server.admin().status("c2")["status"] == "awaiting" and note, "it waits for a person")
    program.kill()
    desktop.close()


def test_a_wrong_token_is_named(world):
    """What a wrong secret is elsewhere: the token of `nod desktop`."""
    desktop, server = Desktop(), world.server()
    environment = {"NOD_URL": f"http://127.0.0.1:{server.port}", "NOD_TOKEN": "nod_wrong", "NOD_DATA": "/nonexistent", "DBUS_SESSION_BUS_ADDRESS": desktop.bus}
    wrong = world.nod("desktop", exits=None, environment=environment)
    must("token" in wrong.stderr and wrong.process.returncode != 0 and not desktop.notes(), f"{wrong.stderr}")
    desktop.close()
