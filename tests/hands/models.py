"""What models do: odd chunks, thoughts, errors, limits, cut streams, other providers, long conversations."""
import json
import os
import time

from stage import results_in, use
from world import eventually, must


def test_odd_chunks(stage):
    for size in (1, 2, 7, 61):
        text = "Grüße, 世界! " * 3
        model = stage.model([{"text": text, "tools": [use(1, "Glob", pattern="*.ü")], "chunk": size}, {"text": text, "chunk": size}])
        server = stage.serve(model)
        state = stage.begin(server.admin()).over()
        must(state["status"] == "completed" and state["result"] == text, state)
        server.stop()


def test_thoughts_go_back_unchanged(stage):
    model = stage.model([{"thinking": "Hmm, \"quoted\" \\ and ünïcode", "text": "t", "tools": [use(1, "Glob", pattern="*")]}, {"text": "x"}])
    admin = stage.serve(model).admin()
    stage.begin(admin).over()
    content = model.requests[1]["body"]["messages"][1]["content"]
    must(content[0] == {"type": "thinking", "thinking": "Hmm, \"quoted\" \\ and ünïcode", "signature": "c2lnbmF0dXJl"}, content)
    must([b["type"] for b in content] == ["thinking", "text", "tool_use"], content)


def test_retry_after(stage):
    model = stage.model([{"text": "ok", "faults": [{"status": 429, "retry_after": 1}, {"status": 529, "kind": "overloaded_error"}]}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin)
    must(run.over()["result"] == "ok", run.state())
    must(len(model.requests) == 3, len(model.requests))
    waited = model.requests[1]["at"] - model.requests[0]["at"]
    must(waited >= 0.95, f"waited {waited:.2f} s of 1")
    must(len(run.events("LOCAL_SYSTEM_MESSAGE")) == 2, run.events("LOCAL_SYSTEM_MESSAGE"))


def test_cut_streams(stage):
    cuts = [{"cut": n} for n in (0, 300, 700, 1100)]
    model = stage.model([{"text": "abc" * 40, "tools": [use(1, "Bash", command="echo once >> log")], "faults": cuts}, {"text": "x"}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, permissionMode="bypassPermissions")
    must(run.over()["status"] == "completed", run.state())
    must(stage.read("log") == "once\n", stage.read("log"))
    must(len(run.events("AGENT_MESSAGE")) == 2, "half an answer was kept")


def test_error_within_a_stream(stage):
    model = stage.model([{"text": "ok", "faults": [{"error": "overloaded_error"}]}])
    admin = stage.serve(model).admin()
    must(stage.begin(admin).over()["result"] == "ok", "it was not asked again")


def test_errors_that_do_not_pass(stage):
    model = stage.model([{"text": "ok", "faults": [{"status": 400, "kind": "invalid_request_error"}]}])
    admin = stage.serve(model).admin()
    state = stage.begin(admin).over()
    must(state["status"] == "failed" and "scripted invalid_request_error" in state["reason"], state)
    must(len(model.requests) == 1, "it was asked again")


def test_an_answer_that_is_too_large_in_an_odd_place(stage):
    """Not only texts can be long; it is the run that fails, not the server."""
    for odd in ({"tools": [use(1, "x" * (17 << 20))]}, {"text": "hm", "stop": "y" * (17 << 20)}):
        model = stage.model([odd])
        admin = stage.serve(model).admin()
        state = stage.begin(admin).over()
        must(state["status"] == "failed" and "larger than" in state["reason"], str(state)[:300])
        stage.servers[-1].stop()


def test_an_answer_that_is_nested_too_deeply(stage):
    """As deep as an input may be by itself, but not within a message: not kept, and not asked for again and again."""
    deep = 0
    for _ in range(126):
        deep = [deep]
    model = stage.model([{"tools": [use(1, "Bash", command="true", more=deep)]}, {"text": "Done."}])
    state = stage.begin(stage.serve(model).admin(), permissionMode="bypassPermissions").over()
    must(state["status"] == "failed" and "nested" in state["reason"], str(state)[:300])
    must(len(model.requests) == 1, len(model.requests))


def test_no_model_at_all(stage):
    admin = stage.server().admin()
    state = stage.begin(admin).over()
    must(state["status"] == "failed" and "ANTHROPIC_API_KEY" in state["reason"], state)


def test_openai(stage):
    model = stage.model([{"text": "Hm.", "tools": [use(1, "Write", file_path="a", content="A"), use(2, "Glob", pattern="*")], "chunk": 5},
                         {"text": "Done."}])
    admin = stage.serve(model, "--parallel-tools", openai=True).admin()
    run = stage.begin(admin)
    run.answer()
    state = run.over()
    must(state["status"] == "completed" and state["result"] == "Done.", state)
    must(stage.read("a") == "A", "no file")
    first, second = (r["body"] for r in model.requests)
    must(model.requests[0]["path"] == "/chat/completions" and first["model"] == "gpt-scripted", first["model"])
    must(first["tools"][0]["type"] == "function" and first["messages"][0]["role"] == "system", first)
    roles = [m["role"] for m in second["messages"]]
    must(roles == ["system", "user", "assistant", "tool", "tool"], roles)
    must(second["messages"][2]["tool_calls"][0]["function"]["name"] == "Write", second["messages"][2])
    must("Wrote 1 characters" in second["messages"][3]["content"], second["messages"][3])


def test_fallback(stage):
    down = stage.model([{"text": "x", "faults": [{"status": 401, "kind": "authentication_error"}] * 9}])
    good = stage.model([{"text": "From the other."}])
    stage.environment.update({"OPENAI_BASE_URL": good.url, "OPENAI_MODEL": "other"})
    admin = stage.serve(down).admin()
    must(stage.begin(admin).over()["result"] == "From the other.", "no fallback")
    must(good.requests[0]["body"]["model"] == "other", good.requests[0]["body"]["model"])


def test_compaction(stage):
    def script(body):
        if "tools" not in body:
            return {"text": "SUMMARY: files were listed."}
        results = sum(m["role"] == "assistant" for m in body["messages"])
        if "SUMMARY" in json.dumps(body["messages"][0]):
            return {"text": "Done after all."}
        return {"tools": [use(results + 1, "Glob", pattern="*")], "usage": {"input_tokens": 3000 * (results + 1)}}
    model = stage.model(script)
    admin = stage.serve(model, "--context-tokens", "5000", "--max-iterations", "20").admin()
    run = stage.begin(admin, "the task")
    must(run.over()["result"] == "Done after all.", run.state())
    must(len(run.events("COMPACTION")) == 1, run.events("COMPACTION"))
    last = model.requests[-1]["body"]["messages"]
    must(len(last) == 1 and "the task" in last[0]["content"][0]["text"], last)


def test_live_text(stage):
    model = stage.model([{"text": "one two three", "chunk": 40, "delay": 0.02}])
    admin = stage.serve(model).admin()
    run = stage.begin(admin, execute=False)
    connection = admin.connection()
    connection.request("GET", f"/api/events?session={run.session}&live=1&after=0", None,
                       admin.headers(None, {"Accept": "text/event-stream"}))
    answer = connection.getresponse()
    run.execute()
    text, end = "", time.monotonic() + 20
    while "AGENT_MESSAGE" not in (line := answer.readline().decode()) and time.monotonic() < end:
        if line.startswith("data: ") and '"text_chunk"' in line:
            text += json.loads(line[6:])["text"]
    must(text == "one two three", repr(text))
    connection.close()


def plain(body):
    """A request in the order in which it is cached, without the breakpoints themselves."""
    text = json.dumps([body["tools"], body["system"], body["messages"]])
    return text.replace(', "cache_control": {"type": "ephemeral"}', "").rstrip("]")


def test_usage_and_cache(stage):
    script = [{"tools": [use(n, "Glob", pattern="*")], "usage": {"input_tokens": 5, "cache_read_input_tokens": 100 * n,
                                                                 "cache_creation_input_tokens": 100, "output_tokens": 7}} for n in range(9)]
    model = stage.model([*script, {"text": "ok"}])
    admin = stage.serve(model).admin()
    state = stage.begin(admin, maxIterations=20).over()
    must(state["usage"]["cacheRead"] == 3600 and state["usage"]["cacheWrite"] == 900, state["usage"])
    must(len(model.requests) == 10, len(model.requests))
    whole = kept = 0
    texts = [plain(request["body"]) for request in model.requests]
    for before, now in zip(texts, texts[1:]):
        whole += len(now)
        kept += len(os.path.commonprefix([before, now]))
    print(f"        input that was before a cache breakpoint already: {kept / whole:.1%} of 9 requests", flush=True)
    must(kept / whole > 0.8, kept / whole)


def test_result_bytes_survive(stage):
    stage.write("bin.txt", "tab\t\u202e \"quote\" \\ \x07\n")
    model = stage.model([{"tools": [use(1, "Read", file_path="bin.txt")]}, {"text": "x"}])
    admin = stage.serve(model).admin()
    stage.begin(admin).over()
    told = results_in(model.requests[1])[0]["content"]
    must("tab\t\u202e \"quote\" \\ \x07" in told, repr(told))
    eventually(lambda: True, "")
