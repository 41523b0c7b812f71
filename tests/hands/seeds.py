"""Smaller promises of the designs that Nod unites: alerts that people see, archives by themselves, prompts in the log."""
import os
import re

from stage import use
from world import eventually, must

ASK = [{"tools": [use(1, "Bash", command="touch made")]}, {"text": "Done."}]


def test_an_alert_is_in_every_list(stage):
    server = stage.serve(stage.model(ASK), "--alert-after", "6s")
    run = stage.begin(server.admin())
    must("alerted" not in run.pending()[0], run.pending())
    eventually(lambda: run.pending()[0].get("alerted") is True, "the list says that nobody has answered")
    shown = stage.nod("show", "toolu_1").stdout
    must("nobody has answered" in shown, shown)
    server.kill()
    server.start()
    run.with_client(server.admin())
    must(run.pending()[0]["alerted"] is True, "not after a restart")


def test_old_sessions_are_archived_by_themselves(stage):
    server = stage.serve(stage.model([{"text": "Done."}]), "--archive-after", "2s")
    run = stage.begin(server.admin())
    run.over()
    eventually(lambda: server.admin().request("GET", f"/api/sessions/{run.session}").status == 410, "the session leaves the store")
    must(any(name.endswith(".db") for name in os.listdir(os.path.join(server.data, "archive"))), "no file")
    eventually(lambda: 'msg="old sessions archived"' in server.log(), server.log)
    server.stop()
    stage.nod("verify")


def test_prompts_are_in_the_log(stage):
    model = stage.model([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, system="Speak like a sailor.")
    run.over()
    system, user = run.events("SYSTEM_PROMPT"), run.events("USER_SYSTEM_PROMPT")
    must([e["data"]["text"] for e in user] == ["Speak like a sailor."] and user[0]["actor"] == "admin", user)
    must(len(system) == 1 and "You are a coding agent" in system[0]["data"]["text"] and system[0]["data"]["runId"] == run.id, system)
    told = model.requests[0]["body"]["system"][0]["text"]
    must(told == f"{system[0]['data']['text']}\n\nSpeak like a sailor.", told)
    must(system[0]["seq"] < run.events("AGENT_MESSAGE")[0]["seq"], "it is kept before the answer")
    again = stage.begin(admin, sessionId=run.session)
    again.over()
    must(len(run.events("SYSTEM_PROMPT")) == 1, "the same text is not told twice")
    must("sailor" not in str(model.requests[1]["body"]["system"]), "another request's words")
    for kind in ("SYSTEM_PROMPT", "USER_SYSTEM_PROMPT"):
        admin.ok("POST", f"/api/threads/{run.thread}/events", {"type": kind, "data": {"text": "x"}}, status=(201,))


def test_task_tools_pass_and_require_approval_asks(stage):
    admin = stage.server().admin()
    made = admin.session(toolPolicies={"Read": "require-approval", "bash": "require-approval"})
    for number, name in enumerate(("task-create", "task-list", "task-complete", "task-update", "task-add-note", "task-view")):
        answer = admin.call(made["threadId"], name, {"text": "x"}, id=f"t{number}")
        must(answer["status"] == "allowed", f"{name}: {answer}")
    must(admin.call(made["threadId"], "Read", {"file_path": "f"}, id="r")["status"] == "awaiting", "require-approval")
    bad = admin.request("POST", "/api/sessions", {"toolPolicies": {"Read": "maybe"}})
    must(bad.status == 400, bad.status)


def test_log_lines_name_thread_tool_and_time(stage):
    server = stage.serve(stage.model(ASK))
    run = stage.begin(server.admin())
    run.answer()
    run.over()
    line = {m: next((l for l in server.log().splitlines() if f'msg="approval {m}"' in l), "") for m in ("requested", "resolved")}
    must(f"threadId={run.thread}" in line["requested"] and "toolName=Bash" in line["requested"] and "call=toolu_1" in line["requested"], line)
    must(f"threadId={run.thread}" in line["resolved"] and "decision=allow_once" in line["resolved"], line)
    must(re.search(r"responseTime=\d+", line["resolved"]), line)


def test_recovery_ratio(stage):
    script = [{"tools": [use(1, "Bash", command="touch made"), use(2, "Bash", command="touch other")]}, {"text": "Done."}]
    server = stage.serve(stage.model(script), "--parallel-tools")
    run = stage.begin(server.admin())
    run.pending(2)
    server.kill()
    server.start()
    admin = server.admin()

    def ratio():
        text = admin.request("GET", "/metrics").body.decode()
        return float(re.search(r"^nod_approvals_recovery_ratio (\S+)$", text, re.M).group(1))

    must(ratio() == 1, ratio())
    admin.decided(run.session, "toolu_1", "allow_once")
    must(ratio() == 1, ratio())
    admin.ok("POST", f"/api/agent-requests/{run.id}/cancel", {})
    eventually(lambda: ratio() == 0.5, lambda: f"half of them were answered: {ratio()}")
