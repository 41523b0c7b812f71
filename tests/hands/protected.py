"""Nod's own searches leave out what is protected, also when a person has allowed the search."""
import json
import os

from stage import results_in, use
from world import NOD, must


def test_searches_leave_secrets_out(stage):
    """Allowed, over a folder that holds secrets and Nod's own data: neither a line nor a name of them reaches the model."""
    model = stage.model([{"tools": [use(1, "Grep", pattern="TOPSECRET|nod_", path=".", output_mode="content"),
                                    use(2, "Glob", pattern="**/*")]}, {"text": "done"}])
    stage.write("plain.txt", "TOPSECRET in a plain file\n")
    for name in (".env", ".ssh/id_ed25519", "sub/.env.local"):
        os.makedirs(os.path.dirname(stage.path(name)), exist_ok=True)
        stage.write(name, "hidden TOPSECRET\n")
    client = stage.serve(model, data=stage.path("data")).admin()
    run = stage.begin(client)
    while run.state()["status"] not in ("completed", "failed"):
        for one in client.pending():
            client.decided(one["sessionId"], one["toolCallId"], "allow_once")
    grep, glob = (one["content"] for one in results_in(model.requests[-1]))
    must("in a plain file" in grep and "hidden TOPSECRET" not in grep and client.token not in grep, grep)
    must("plain.txt" in glob and "id_ed25519" not in glob and "admin.token" not in glob, glob)
    must("protected places were left out" in grep and "protected places were left out" in glob, f"{grep}\n{glob}")


def test_a_command_of_a_run_does_not_answer(stage):
    """Without a box a command can read the admin's token; what it says with it at the socket counts as no person's."""
    model = stage.model([{"tools": [use(1, "Bash", command=f"{NOD} --data {stage.data} policy add allow 'Bash(true)'; echo status $?")]}, {"text": "done"}])
    client = stage.serve(model, "--tripwire").admin()
    run = stage.begin(client)
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    said = results_in(model.requests[-1])[0]["content"]
    must("status 3" in said and "an agent has started" in said, said)
    must("Bash(true)" not in json.dumps(client.ok("GET", "/api/policy")), "a rule was made")
