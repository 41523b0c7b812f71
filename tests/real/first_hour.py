"""From a clone to a call that is asked and answered on the page, by the commands under "Set up" in the README.

Compiles Nod, so it runs only when it is named, as in `make test-long`:

    tests/real/run.py first_hour

It installs into a folder of its own; NOD_FIRST_HOUR=here: into /usr/local, as the README says, for a bare machine.
"""
import os
import re
import shutil
import subprocess
import types

from browser import person
from desk import desk
from world import eventually, must

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD_SECONDS = 3600


def commands():
    """The commands of the first block under "Set up", without their remarks."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        block = file.read().split("\n## Set up\n")[1].split("```")[1]
    return [re.sub(r"\s+#.*", "", line) for line in block.strip().split("\n")]


def test_clone_make_install_nod_setup_as_the_readme_says(place):
    clone, install, setup = commands()
    must(re.fullmatch(r"git clone \S+ nod && cd nod", clone) and install == "make install" and setup == "nod setup --yes",
         f"the README says something else: {clone}; {install}; {setup}")
    with desk(place, [("Bash", {"command": "touch made.txt", "description": "Make a file"})], serve=False) as d:
        here = os.environ.get("NOD_FIRST_HOUR") == "here"
        prefix = "/usr/local" if here else os.path.join(place.folder, "prefix")
        place.environment.update(PATH=f"{prefix}/bin:{os.environ['PATH']}", NOD_LISTEN="127.0.0.1:0")
        for name in ("DBUS_SESSION_BUS_ADDRESS", "NOD_CLAUDE"):
            place.environment.pop(name, None)
        builder = {**os.environ, **({} if here else {"PREFIX": prefix})}

        def shell(command, folder, environment):
            done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=BUILD_SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            must(done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}")
            return done.stdout
        tree = os.path.join(place.folder, "nod")
        shell(re.sub(r"(git clone )\S+", rf"\1{ROOT}", clone), place.folder, builder)
        shell(install, tree, builder)
        program = os.path.join(prefix, "bin", "nod")
        must(shutil.which("nod", path=place.environment["PATH"]) == program, "nod is not on the PATH after make install")
        said = shell(setup, d.project, place.environment)
        try:
            port = re.search(r"http://[^:/\s]+:(\d+)", said)
            must(port, f"it names no page: {said}")
            with open(os.path.join(place.data, "admin.token"), encoding="ascii") as file:
                d.server, d.admin = types.SimpleNamespace(port=port.group(1)), types.SimpleNamespace(token=file.read().strip())
            with person(d) as alice:
                run = d.claude("-p", "go")
                alice.see(".request", "touch made.txt")
                must(not d.has("made.txt"), "it ran before anyone answered")
                alice.act("allow")
                run.ends()
            eventually(lambda: d.has("made.txt"), lambda: f"the call ran; {said}; {d.told()}")
        finally:
            shell("nod setup --remove --yes", d.project, place.environment)
