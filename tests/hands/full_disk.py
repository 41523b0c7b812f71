"""The project's disk fills while a file is written: the old file stays whole, nothing is left beside it, the model is
told, and the run goes on."""
import os

from disk_full import SmallDisk
from stage import check_once, results_in, use
from world import must

OLD = "the old text\n" * 1000


def test_an_old_file_stays_whole(stage):
    with SmallDisk(stage, 1) as disk:
        stage.project = disk.path
        stage.write("notes.txt", OLD)
        disk.fill(leave=64 << 10)
        large = "x" * (256 << 10)
        edited = {"file_path": "notes.txt", "old_string": "the old text\nthe old", "new_string": large}
        script = [{"tools": [use(1, "Write", file_path="notes.txt", content=large)]},
                  {"tools": [use(2, "Write", file_path="new.txt", content=large)]},
                  {"tools": [use(3, "Edit", **edited)]},
                  {"tools": [use(4, "Write", file_path="notes.txt", content="short\n")]}, {"text": "done"}]
        model = stage.model(script)
        run = stage.begin(stage.serve(model, "--max-iterations", "9").admin())
        before = sorted(os.listdir(disk.path))
        for number in range(4):
            one = run.pending()[0]
            must(one["toolCall"]["id"] == f"toolu_{number + 1}", one)
            must(stage.read("notes.txt") == OLD and sorted(os.listdir(disk.path)) == before,
                 f"after call {number}: {os.listdir(disk.path)}")
            run.answer()
        must(run.over()["status"] == "completed", run.state())
        told = results_in(model.requests[-1])
        must([bool(r.get("is_error")) for r in told[:2]] == [True, True] and told[2]["is_error"], told)
        must(all("space" in r["content"].lower() for r in told[:2]), told)
        must(not told[3].get("is_error") and stage.read("notes.txt") == "short\n", told[3])
        check_once(run)
