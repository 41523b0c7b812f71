"""A person at the page in a real Chromium, beside a real agent. The rig is the one of tests/page."""
import contextlib
import json
import os
import shutil
import subprocess

import world

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(HERE), "page")


def provide():
    """What the rig needs, installed once; a machine that cannot have it skips."""
    for program in ("node", "npm", os.environ.get("CHROMIUM", "chromium")):
        if not shutil.which(program):
            raise world.Skip(f"{program} is not installed")
    run = subprocess.run([os.path.join(PAGE, "install")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode:
        raise world.Skip(f"npm could not install the browser's driver: {run.stdout[-300:]}")


class Person:
    """Each act waits until the page shows what it is about, or fails with what it shows instead."""

    def __init__(self, d):
        provide()
        self.errors = open(os.path.join(d.world.folder, f"browser.{d.world.number()}"), "w+", encoding="utf-8")
        environment = {**d.world.environment, "URL": f"http://127.0.0.1:{d.server.port}", "TOKEN": d.admin.token}
        self.process = subprocess.Popen(["node", os.path.join(HERE, "browser.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, env=environment, text=True, start_new_session=True)
        self.hear({"act": "log in"})

    def hear(self, line):
        answer = self.process.stdout.readline()
        if not answer:
            self.errors.seek(0)
            raise world.Failure(f"the browser ended at {line}: {self.errors.read()[-1500:]}")
        value = json.loads(answer)
        world.must(value["ok"], f"{line}: {value.get('words')}; the page shows {value.get('page')}")
        return value.get("text")

    def act(self, act, **more):
        line = {"act": act, **more}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return self.hear(line)

    def see(self, what, text=None):
        return self.act("see", what=what, **({} if text is None else {"text": text}))

    def gone(self, what, text=None):
        return self.act("gone", what=what, **({} if text is None else {"text": text}))

    def click(self, what, text=None):
        return self.act("click", what=what, **({} if text is None else {"text": text}))

    def shot(self, name):
        """A picture for whoever wants one: NOD_SHOTS names the folder."""
        if os.environ.get("NOD_SHOTS"):
            self.act("shot", to=os.path.join(os.environ["NOD_SHOTS"], name + ".png"))

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


@contextlib.contextmanager
def person(d):
    one = Person(d)
    try:
        yield one
    finally:
        one.close()
