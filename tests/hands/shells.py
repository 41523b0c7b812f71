"""Commands: told while they run, in the background, and never left behind."""
import os

from stage import results_in, use
from world import Follower, eventually, must

BYPASS = "bypassPermissions"


class Live(Follower):
    """What is told live has no id: it is kept nowhere."""

    def take(self, fields):
        super().take({"id": "0", **fields})


def alive(mark):
    """Processes whose command line holds the mark, whatever their namespace, group or session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                dead = file.read().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if mark.encode() in line and not dead and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def brood(mark):
    """A command that leaves children in its group, in another session, and orphans of orphans."""
    return (f"sleep {mark} & setsid sleep {mark} & (setsid bash -c 'sleep {mark} & sleep {mark}' &) ; "
            f"setsid nohup sleep {mark} >/dev/null 2>&1 & touch begun; ")


def mark_of(number):
    return f"9{os.getpid()}{number}.25"


def gone(mark):
    eventually(lambda: not alive(mark), lambda: f"nobody is left; there are {alive(mark)}")


def begun(stage, mark, count):
    eventually(lambda: os.path.exists(stage.path("begun")) and len(alive(f"sleep\0{mark}")) >= count, lambda: f"{count} of {alive(mark)}")


def test_output_is_told_while_it_runs(stage):
    command = "echo one; until [ -e go ]; do sleep 0.05; done; echo two"
    model = stage.model([{"tools": [use(1, "Bash", command=command)]}, {"text": "Done."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, execute=False, permissionMode=BYPASS)
    follower = Live(admin, f"?session={run.session}&live=1")
    run.execute()
    follower.wait(lambda: any(e[2].get("type") == "tool_output" for e in follower.events), "output while it runs")
    told = [e[2] for e in follower.events if e[2].get("type") == "tool_output"]
    must(told[0]["text"] == "one\n" and told[0]["toolCallId"] == "toolu_1" and told[0]["threadId"] == run.thread, told)
    must(not run.results(), "it has ended already")
    stage.write("go", "")
    must(run.over()["status"] == "completed", run.state())
    must(run.results()[0]["content"] == "one\ntwo\n", run.results())
    must("tool_output" not in str(run.events()), "output was kept on its own")
    follower.close()


def test_bytes_of_zeros_do_not_end_the_output(stage):
    command = "printf 'one\\0two\\0'; echo; echo three"
    model = stage.model([{"tools": [use(1, "Bash", command=command)]}, {"tools": [use(2, "Bash", command=command + "; exit 3")]},
                         {"text": "Done."}])
    stage.begin(stage.serve(model).admin(), permissionMode=BYPASS).over()
    good, bad = results_in(model.requests[-1])
    must(good["content"] == "one\ufffdtwo\ufffd\nthree\n", good)
    must(bad["content"] == "one\ufffdtwo\ufffd\nthree\nExit code 3", bad)


def test_in_the_background(stage):
    command = "echo begun; until [ -e go ]; do sleep 0.05; done; echo ended; exit 3"

    def script(body):
        """Starts the command, then reads its output until the reading tells its exit."""
        told = [r["content"] for r in results_in({"body": body})]
        if not told:
            return {"tools": [use(1, "Bash", command=command, run_in_background=True)]}
        if "Exit code" in told[-1]:
            return {"text": "Done."}
        return {"tools": [use(len(told) + 1, "BashOutput", bash_id="bash_1")]}
    model = stage.model(script)
    admin = stage.serve(model).admin()
    run = stage.begin(admin, toolPolicies={"Bash": "allow", "BashOutput": "ask"}, maxIterations=100)
    run.pending()
    must("bash_1" in run.results()[0]["content"], run.results())
    for reading in range(1, 100):
        run.answer()
        eventually(lambda: len(run.results()) == 1 + reading, f"reading {reading}")
        if "Exit code" in run.results()[-1]["content"]:
            break
        stage.write("go", "")
    must(run.over()["status"] == "completed", run.state())
    told = [r["content"] for r in results_in(model.requests[-1])[1:]]
    must("still running" in told[0], told)
    must("".join(told).count("begun\n") == 1 and "".join(told).count("ended\n") == 1, told)
    must(told[-1].endswith("Exit code 3"), told)


def test_kill_shell_and_other_sessions(stage):
    mark = mark_of(1)
    model = stage.model([
        {"tools": [use(1, "Bash", command=brood(mark) + f"sleep {mark}", run_in_background=True)]},
        {"tools": [use(2, "KillShell", shell_id="bash_1")]}, {"tools": [use(3, "BashOutput", bash_id="bash_1")]}, {"text": "Done."}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, toolPolicies={"Bash": "allow", "KillShell": "ask"})
    run.pending()
    begun(stage, mark, 6)
    stage.models[0].script = [{"tools": [use(1, "BashOutput", bash_id="bash_1")]}, {"text": "x"}]
    other = stage.begin(admin)
    must(other.over()["status"] == "completed" and "there is no bash_1" in other.results()[0]["content"], other.results())
    stage.models[0].script = model.script = [None, None, {"tools": [use(3, "BashOutput", bash_id="bash_1")]}, {"text": "Done."}]
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    must(run.results()[1]["content"] == "bash_1 is stopped" and "it was stopped" in run.results()[2]["content"], run.results())
    eventually(lambda: not alive(mark), lambda: f"all are ended: {alive(mark)}")


def test_nothing_outlives_its_command(stage):
    mark = mark_of(2)
    model = stage.model([{"tools": [use(1, "Bash", command=brood(mark) + "echo over")]}, {"text": "Done."}])
    run = stage.begin(stage.serve(model).admin(), permissionMode=BYPASS)
    must(run.over()["status"] == "completed" and run.results()[0]["content"] == "over\n", run.results())
    eventually(lambda: not alive(mark), lambda: f"all are ended: {alive(mark)}")


def test_nothing_outlives_a_cancelled_run(stage):
    mark = mark_of(3)
    model = stage.model([{"tools": [use(1, "Bash", command=f"sleep {mark}", run_in_background=True)]},
                         {"tools": [use(2, "Bash", command=brood(mark) + f"sleep {mark}")]}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, permissionMode=BYPASS)
    begun(stage, mark, 7)
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    gone(mark)


def test_nothing_outlives_the_server(stage):
    """Killed with -9, and stopped."""
    for number, end in ((4, "kill"), (5, "stop")):
        mark = mark_of(number)
        model = stage.model([{"tools": [use(1, "Bash", command=f"sleep {mark}", run_in_background=True)]},
                             {"tools": [use(2, "Bash", command=brood(mark) + f"sleep {mark}")]}])
        server = stage.serve(model)
        stage.begin(server.admin(), permissionMode=BYPASS)
        begun(stage, mark, 7)
        getattr(server, end)()
        gone(mark)
        os.unlink(stage.path("begun"))


def test_nor_in_the_sandbox(stage):
    mark = mark_of(6)
    model = stage.model([{"tools": [use(1, "Bash", command=brood(mark) + f"sleep {mark}")]}])
    server = stage.serve(model, "--sandbox")
    stage.begin(server.admin(), permissionMode=BYPASS)
    begun(stage, mark, 6)
    server.kill()
    gone(mark)
