"""A question that nobody answers is told of once more: once, over restarts, and never when it was answered in time."""
from stage import use
from world import Follower, eventually, must

SCRIPT = [{"tools": [use(1, "Bash", command="touch made")]}, {"tools": [use(2, "Bash", command="touch made")]}, {"text": "Done."}]


def alerts(run):
    return [e["data"]["toolCallId"] for e in run.events("TOOL_APPROVAL_ALERT")]


def test_once_for_each_call_over_restarts(stage):
    server = stage.serve(stage.model(SCRIPT), "--alert-after", "1s")
    run = stage.begin(server.admin())
    follower = Follower(server.admin(), f"?session={run.session}&types=TOOL_APPROVAL_ALERT")
    run.pending()
    follower.wait(lambda: len(follower.events) == 1, "the alert in the stream")
    follower.close()
    event = run.events("TOOL_APPROVAL_ALERT")[0]
    must(event["data"]["tool"] == "Bash" and event["actor"] == "nod" and event["threadId"] == run.thread, event)
    must(event["data"]["requestedAt"] == run.pending()[0]["requestedAt"] < event["at"], event)
    eventually(lambda: 'level=warn msg="approval unanswered"' in server.log() and "call=toolu_1" in server.log(), server.log)
    server.kill()
    server.start()
    run.with_client(server.admin())
    run.answer()
    eventually(lambda: "toolu_2" in alerts(run), "the second alert")  # the first would have come again before it
    must(alerts(run) == ["toolu_1", "toolu_2"], alerts(run))
    run.answer()
    must(run.over()["status"] == "completed", run.state())
    server.stop()
    stage.nod("verify")


def test_none_when_it_was_answered(stage):
    admin = stage.serve(stage.model(SCRIPT), "--alert-after", "2s").admin()
    run = stage.begin(admin)
    run.answer()
    run.pending()
    eventually(lambda: "toolu_2" in alerts(run), "the alert of the second call")
    answered = next(e for e in run.events("TOOL_APPROVAL_RESPONSE"))
    late = [e["seq"] for e in run.events("TOOL_APPROVAL_ALERT") if e["data"]["toolCallId"] == "toolu_1" and e["seq"] > answered["seq"]]
    must(not late, f"an alert for what was answered at {answered['seq']}: {late}")


def test_an_alert_comes_before_a_timeout(stage):
    admin = stage.serve(stage.model([SCRIPT[0], SCRIPT[2]]), "--alert-after", "1s", "--approval-timeout", "5s").admin()
    run = stage.begin(admin)
    must(run.over()["status"] == "completed", run.state())
    kinds = [e["type"] for e in run.events("TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_ALERT", "TOOL_APPROVAL_RESPONSE")]
    must(kinds == ["TOOL_APPROVAL_REQUEST", "TOOL_APPROVAL_ALERT", "TOOL_APPROVAL_RESPONSE"], kinds)
