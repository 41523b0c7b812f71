"""nod claude --sandbox: the whole of Claude Code in a box, its key outside. The gate lets everything pass in these tests,
so what is held is held by the box."""
import os
import pwd
import subprocess

from desk import desk
from world import eventually, must


def bash(command):
    return ("Bash", {"command": command, "description": "x"})


def begun(d):
    """Starts it behind a gate that lets everything pass."""
    d.admin.ok("POST", "/api/policy/rules", {"rule": "Bash", "effect": "allow"})
    return d.nod("claude", "--sandbox", "-p", "go", "--permission-mode", "bypassPermissions")


def pass_all(d, run):
    """The gate asks about secrets and protected places whatever the rules say: here it lets them pass. Connections are
    the box's own question: denied, and given back."""
    nets = []

    def look():
        for one in d.admin.pending():
            net = one["toolCall"]["name"] == "Net"
            if net:
                nets.append(one["toolCall"]["input"])
            d.decide(one, "deny" if net else "allow_once")
        return run.process.poll() is not None
    eventually(look, lambda: f"the end; {d.told()}", 150)
    return nets


def test_it_works_and_the_box_holds(place):
    home = pwd.getpwuid(os.geteuid()).pw_dir
    key = os.path.join(home, ".ssh", f"id_nod_test_{os.getpid()}")
    os.makedirs(os.path.dirname(key), mode=0o700, exist_ok=True)
    with open(key, "w", encoding="ascii") as file:
        file.write("PRIVATE-KEY-MATERIAL")
    try:
        with desk(place, [bash("echo worked > made.txt; hostname"), bash(f"cat {key} 2>&1; echo end-$?"),
                          bash("curl -sS -m 20 http://unlisted.invalid/ 2>&1; echo code-$?"),
                          bash("mkdir -p .claude; echo '{}' > .claude/settings.json; echo wrote-$?"),
                          bash("env | grep -c sk-dummy; env | grep NOD_; ls $HOME/.local/share/nod 2>&1"), "All done."]) as d:
            run = begun(d)
            nets = pass_all(d, run)
            run.ends()
            said = d.model.said()
            must([(net["host"], net["port"]) for net in nets] == [("unlisted.invalid", 80)], nets)
            must(d.read("made.txt") == "worked\n", "it does not work in the project")
            must("PRIVATE-KEY-MATERIAL" not in said and "end-1" in said, "it read the key")
            must("wrote-1" in said and not os.path.exists(os.path.join(d.project, ".claude")), f"it wrote settings: {said[-3000:]}")
            must("denied" in said or "403" in said, said[-3000:])
            must("sk-dummy" not in said and "All done." in run.out, run.out)
    finally:
        os.unlink(key)


def test_nothing_stays_behind(place):
    """Its end ends all of it; so does the end of nod claude."""
    mark = f"sleep 7{os.getpid()}"
    with desk(place, [bash(f"setsid {mark} >/dev/null 2>&1 & echo begun > begun.txt; {mark}")]) as d:
        run = begun(d)
        d.decide(d.waiting()[0])
        eventually(lambda: d.has("begun.txt"), lambda: f"it begins; {d.told()}")
        os.kill(run.process.pid, 9)
        eventually(lambda: not subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout,
                   lambda: "its processes are gone")
