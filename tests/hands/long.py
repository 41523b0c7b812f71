"""A run whose events do not fit one page of the store is seen whole, and can be cancelled and followed by another."""
from stage import use
from world import must

LARGE = "x" * (400 << 10)


def test_a_long_run_is_seen_whole(stage):
    script = [{"tools": [use(i, "Write", file_path=f"f{i}.txt", content=LARGE)]} for i in range(5)]
    model = stage.model(script + [{"tools": [use(9, "Bash", command="touch made")]}, {"text": "done"}, {"text": "more"}])
    client = stage.serve(model, "--max-iterations", "20").admin()
    run = stage.begin(client, permissionMode="acceptEdits")
    must(run.pending()[0]["toolCall"]["id"] == "toolu_9", "another call waits")
    state = run.until("awaiting_approval")
    must(state["iterationCount"] == 6, state)
    must(len(client.ok("GET", f"/api/agent-requests/{run.id}/checkpoint")["conversationHistory"]) == 12, "not all of it")
    client.ok("POST", f"/api/agent-requests/{run.id}/cancel", {}, status=(200, 202))
    must(run.over()["status"] == "cancelled", run.state())
    must(not client.pending(f"/sessions/{run.session}"), "it still waits")
    again = stage.begin(client, prompt="go on", sessionId=run.session, threadId=run.thread)
    must(again.over()["status"] == "completed", again.state())
