"""Very many runs that wait: they hold no thread and no connection, and little memory."""
import concurrent.futures
import os

from stage import use
from world import PATIENCE, eventually, must

COUNT = int(os.environ.get("NOD_RUNS", "1000"))
EACH_KB_MAX = 4       # of the whole process


def threads_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def sanitized(server):
    with open(f"/proc/{server.process.pid}/maps", encoding="utf-8", errors="replace") as maps:
        return "san.so" in maps.read()


def test_a_thousand_runs_wait(stage):
    model = stage.model([{"text": "I need this.", "tools": [use(1, "Bash", command="touch made")]}, {"text": "Done."}])
    server = stage.serve(model)
    admin = server.admin()
    stage.begin(admin).pending()  # everything that is loaded once is loaded
    before_kb = server.memory_kb()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        runs = list(pool.map(lambda n: stage.begin(admin, f"run {n}"), range(COUNT)))
        eventually(lambda: model.requests and all(
            s == "awaiting_approval" for s in pool.map(lambda r: r.state()["status"], runs)), "all wait", 3 * PATIENCE)
        eventually(lambda: threads_of(server) < 12, lambda: f"{threads_of(server)} threads")
        each_kb = lambda: (server.memory_kb() - before_kb) / COUNT
        if not sanitized(server):  # sanitizers keep what is freed
            eventually(lambda: each_kb() < EACH_KB_MAX, lambda: f"{each_kb():.1f} KB each")
        files = lambda: len(os.listdir(f"/proc/{server.process.pid}/fd"))  # noqa: E731
        eventually(lambda: files() < 60, lambda: f"{files()} descriptors")
        print(f"        {COUNT} runs wait: {each_kb():.1f} KB each, {threads_of(server)} threads, {files()} descriptors", flush=True)
        list(pool.map(lambda r: admin.decided(r.session, "toolu_1", "allow_once"), runs))
        eventually(lambda: all(s == "completed" for s in pool.map(lambda r: r.state()["status"], runs)), "all are done", 3 * PATIENCE)
