"""A program in a terminal, as a person sees it. Tests of several folders use it."""
import os
import shlex
import shutil
import subprocess

from world import Skip, eventually


class Tmux:
    """When the program ends, its status is on the screen."""

    def __init__(self, place, folder, *command, width=110, height=40):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        self.environment = {**place.environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.socket = os.path.join(place.folder, "tmux")
        line = "trap : INT; " + shlex.join(command) + "; echo status $?; exec cat"
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", folder, "sh", "-c", line)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def sees(self, *texts):
        return eventually(lambda: next((text for text in texts if text in self.screen()), None),
                          lambda: f"{texts} on the screen:\n{self.screen()}")

    def types(self, text):
        self.tmux("send-keys", "-l", text)
        self.sees(text)
        self.tmux("send-keys", "Enter")

    def armed(self, key):
        """Presses a key that answers, when the question takes answers."""
        self.sees("[y]")
        self.press(key)

    def prompt(self, text):
        """Writes to the agent, when the line has the keys."""
        self.tmux("send-keys", "-l", text)
        self.sees(f"> {text}")
        self.press("Enter")

    def close(self):
        self.tmux("kill-server")
