"""Commands in the sandbox: no network, only the project to write in."""
import os
import shutil
import subprocess

from stage import results_in, use
from world import Skip, must

COMMAND = ("echo in > inside; echo out > ../outside; (echo out > /var/nod-test) 2>/dev/null || echo refused; "
           "grep -q eth /proc/net/dev || echo offline")


def test_the_sandbox_holds(stage):
    probe = ["bwrap", "--unshare-net", "--ro-bind", "/", "/", "true"]
    if not shutil.which("bwrap") or subprocess.run(probe, capture_output=True, check=False).returncode:
        raise Skip("bubblewrap cannot run here")
    model = stage.model([{"tools": [use(1, "Bash", command=COMMAND)]}, {"text": "x"}])
    run = stage.begin(stage.serve(model, "--sandbox").admin())
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    told = results_in(model.requests[1])[0]["content"]
    must("refused" in told and "offline" in told, told)
    must(not os.path.exists(os.path.join(stage.folder, "outside")), "it was written outside")
    must(stage.read("inside") == "in\n", "nothing was written inside")
