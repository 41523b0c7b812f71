"""The same look twice: the model is told what it saw once, for as long as nothing has changed."""
from stage import results_in, use
from world import must

SAME = "The same as when you asked before: nothing has changed since."


def test_a_result_is_told_once_while_nothing_changes(stage):
    stage.write("big", "one line of many\n" * 40)
    stage.write("small", "short\n")
    look, short = {"file_path": "big"}, {"file_path": "small"}
    model = stage.model([{"tools": [use(1, "Read", **look), use(2, "Read", **short)]},
                         {"tools": [use(3, "Read", **look), use(4, "Read", **short)]},
                         {"tools": [use(5, "Write", file_path="big", content="another line\n" * 40)]},
                         {"tools": [use(6, "Read", **look)]},
                         {"tools": [use(7, "Read", **look), use(8, "Read", file_path="big", limit=30)]},
                         {"text": "x"}])
    admin = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(admin, permissionMode="bypassPermissions", maxIterations=9)
    must(run.over()["status"] == "completed", run.state())
    told = {}
    for request in model.requests:
        for result in results_in(request):
            told.setdefault(result["tool_use_id"], result["content"])
            must(told[result["tool_use_id"]] == result["content"], "what was told before is told differently now")
    must("one line" in told["toolu_1"] and told["toolu_3"] == SAME, told)
    must("short" in told["toolu_2"] and told["toolu_4"] == told["toolu_2"], "what is short is told again")
    must("another line" in told["toolu_6"] and told["toolu_7"] == SAME, told)
    must("another line" in told["toolu_8"], "another input is another look")
    kept = [event["data"]["content"] for event in run.events("TOOL_RESULT")]
    must(sum("one line" in text for text in kept) == 2, "the log has each result in full")
