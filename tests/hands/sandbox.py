"""Commands in a box (tests/box has the attempts to leave it): what a run's command sees when the server starts it."""
import os

from stage import results_in, use
from world import must

COMMAND = ("echo in > inside; echo out > ../outside; (echo out > /var/nod-test) 2>/dev/null && echo held; "
           "grep -q eth /proc/net/dev || echo offline; ls {data} 2>&1; (echo x > .git/config) 2>&1; "
           "(echo x > .claude/settings.json) 2>&1; hostname; env | grep -c NOD_")


def test_the_sandbox_holds(stage):
    model = stage.model([{"tools": [use(1, "Bash", command="true")]}, {"text": "x"}])
    server = stage.serve(model, "--sandbox")
    model.script[0] = {"tools": [use(1, "Bash", command=COMMAND.format(data=server.data))]}
    run = stage.begin(server.admin())
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    told = results_in(model.requests[1])[0]["content"]
    must("offline" in told and "\nbox\n" in told, told)
    must("No such file or directory" in told or "Permission denied" in told, f"it sees the data folder: {told}")
    must(told.count("Read-only file system") == 2, f"it writes what runs later: {told}")
    must(not os.path.exists("/var/nod-test"), "it was written outside")
    must(not os.path.exists(os.path.join(stage.folder, "outside")), "it was written outside")
    must(stage.read("inside") == "in\n", "nothing was written inside")
    must(not os.path.exists(stage.path(".claude")), "the box left something behind")
