"""WebSearch by the provider's own tool: offered where rules allow it, kept, and given back as it came."""
from world import must

USE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
         "content": [{"type": "web_search_result", "url": "http://example.test/", "title": "T", "encrypted_content": "x=="}]}
SEARCH = {"blocks": [[USE, [{"type": "input_json_delta", "partial_json": '{"query": '},
                            {"type": "input_json_delta", "partial_json": '"nod"}'}]], [FOUND, []]]}


def offered(request):
    return [t for t in request["body"]["tools"] if t.get("type", "").startswith("web_search")]


def test_a_search_is_kept_and_goes_back(stage):
    model = stage.model([{**SEARCH, "stop": "pause_turn"}, {"text": "Found."}, {"text": "again"}])
    admin = stage.serve(model, "--web-search").admin()
    run = stage.begin(admin, toolPolicies={"WebSearch": "allow"})
    must(run.over()["result"] == "Found.", run.state())
    must(len(offered(model.requests[0])) == 1, model.requests[0]["body"]["tools"])
    kept = run.events("AGENT_MESSAGE")[0]["data"]["content"]
    must(kept == [{**USE, "input": {"query": "nod"}}, FOUND], kept)
    last = model.requests[1]["body"]["messages"][-1]
    must(last == {"role": "assistant", "content": kept}, last)


def test_it_is_offered_where_it_is_allowed_only(stage):
    model = stage.model([{"text": "x"}])
    admin = stage.serve(model, "--web-search").admin()
    for settings, there in (({}, False), ({"toolPolicies": {"WebSearch": "ask"}}, False), ({"toolPolicies": {"WebSearch": "deny"}}, False),
                            ({"toolPolicies": {"WebSearch": "allow"}}, True)):
        stage.begin(admin, **settings).over()
        must(bool(offered(model.requests[-1])) == there, settings)


def test_it_is_off_unless_it_is_set(stage):
    model = stage.model([{"text": "x"}])
    stage.begin(stage.serve(model).admin(), toolPolicies={"WebSearch": "allow"}, permissionMode="bypassPermissions").over()
    must(not offered(model.requests[0]), model.requests[0]["body"]["tools"])
