#!/usr/bin/env python3
"""Plays one scenario that leaves every kind of event in a store, and keeps the store.

    NOD=/path/to/nod play.py FOLDER        SQLite: FOLDER/nod.db and FOLDER/events.tsv (kind, then the bytes of the data)
    NOD=… play.py FOLDER --postgres        PostgreSQL: FOLDER/nod.sql.gz, plain SQL with INSERTs

The stores beside this file were made so, by the version that their names say, and never change: tests/talks/golden.py and
tests/postgres/dumps.py open them with the version of today. To add a version, play it
with that version's program, then let record.py note what it shows.
"""
import gzip
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("postgres", "model", "talks", "hands"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), part))

from stage import Stage, use  # noqa: E402
from world import eventually, must  # noqa: E402

BASH = {"command": "touch 'ünïts'\t&& rm \"ok\"", "timeout": 1.50}


def sessions(admin, project):
    """Sessions, threads, settings; one session that will leave for an archive."""
    admin.ok("PATCH", f"/api/sessions/{admin.session(title='left')['id']}", {"title": ""})
    one = admin.session(title="first \"one\"", cwd=project, toolPolicies={"Edit": "ask", "Lookup": "allow"},
                        approvalTimeoutSeconds=3600)
    admin.ok("PATCH", f"/api/sessions/{one['id']}", {"permissionMode": "plan", "toolPolicies": {"Edit": None, "X": "deny"}})
    admin.ok("PATCH", f"/api/sessions/{one['id']}", {"permissionMode": "default", "approvalTimeoutSeconds": 0})
    admin.thread(one["id"], title="beside", parentId=one["threadId"], name="beside")
    return one


def calls(admin, agent, one):
    """Every way in which a call can end."""
    thread, session = one["threadId"], one["id"]
    must(agent.call(thread, "Lookup", {"q": 1}, id="toolu_rule", cwd="/tmp")["status"] == "allowed", "not allowed")
    must(agent.call(thread, "X", {}, id="toolu_denied")["status"] == "denied", "not denied")
    answers = {"once": ("allow_once", {"feedback": "line one\nline two"}), "no": ("deny", {"feedback": "no"}),
               "rules": ("allow_session", {"rules": ["Bash(make:*)"]}), "wide": ("allow_session", {}),
               "always": ("allow_always", {}), "named": ("allow_always", {"rules": ["Bash(git status)", "Bash(ls:*)"]}),
               "stop": ("abort", {}), "edited": ("allow_once", {"updatedInput": {"command": "true", "n": 1e3}}),
               "mode": ("allow_once", {"mode": "acceptEdits"})}
    for name, (decision, more) in answers.items():
        tool, given = ("Wide", {"a": [1, {"b": None}]}) if name == "wide" else ("Bash", {**BASH, "command": f"cc {name}.c"})
        must(agent.call(thread, tool, given, id=f"toolu_{name}")["status"] == "awaiting", name)
        admin.decided(session, f"toolu_{name}", decision, **more)
    agent.call(thread, "Bash", BASH, id="toolu_cancel")
    agent.ok("POST", "/api/tool-calls/toolu_cancel/cancel", {})
    agent.ok("POST", "/api/tool-calls/toolu_once/result", {"content": [{"type": "text", "text": "42\n"}], "isError": False})
    agent.ok("POST", "/api/tool-calls/toolu_edited/result", {"content": "it failed", "isError": True})
    quick = admin.session(title="quick", approvalTimeoutSeconds=1)
    admin.call(quick["threadId"], "Bash", BASH, id="toolu_late")
    eventually(lambda: admin.status("toolu_late")["status"] == "timed_out", "the timeout")
    admin.call(quick["threadId"], "Bash", BASH, id="toolu_late_open")
    agent.call(thread, "Bash", {"command": "rm -rf /srv"}, id="toolu_open")
    eventually(lambda: any(e["type"] == "TOOL_APPROVAL_ALERT" and e["data"]["toolCallId"] == "toolu_open"
                           for e in admin.events()), "the alert")


def rules(admin, agent, one, project):
    """Rules of the user and of a session, used, removed; a project's file, trusted and not."""
    made = admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(uptime)", "uses": 2, "reason": "why not",
                                                  "match": ["uptime"], "notMatch": ["reboot"]})
    agent.call(one["threadId"], "Bash", {"command": "uptime"}, id="toolu_uptime")
    gone = admin.ok("POST", "/api/policy/rules", {"effect": "deny", "rule": "Bash(shutdown:*)",
                                                  "expiresAt": "2099-01-31T12:00:00Z"})
    admin.ok("DELETE", f"/api/policy/rules/{gone['id']}")
    own = admin.ok("POST", "/api/policy/rules", {"effect": "allow", "rule": "Bash(free)", "uses": 3, "layer": "session",
                                                 "sessionId": one["id"]})
    agent.call(one["threadId"], "Bash", {"command": "free"}, id="toolu_free")
    admin.ok("DELETE", f"/api/policy/rules/{own['id']}?session={one['id']}")
    os.makedirs(os.path.join(project, ".nod"), exist_ok=True)
    with open(os.path.join(project, ".nod", "policy.json"), "w", encoding="utf-8") as file:
        file.write('{"allow":["Bash(date)"]}')
    for trusted in (True, False):
        file = admin.ok("GET", f"/api/policy?session={one['id']}")["project"]
        admin.ok("POST", "/api/policy/trust", {"sessionId": one["id"], "trusted": trusted, "hash": file["hash"]})
    return made


def notes(admin, one):
    """A conversation that runs elsewhere."""
    for kind, data in (("USER_MESSAGE", {"text": "hi", "source": "person"}), ("AGENT_MESSAGE", {"content": "ho"}),
                       ("LOCAL_SYSTEM_MESSAGE", {"text": "left"}), ("RUN_STATUS", {"status": "thinking"})):
        admin.ok("POST", f"/api/threads/{one['threadId']}.beside".replace(".main.beside", ".beside") + "/events",
                 {"type": kind, "data": data})
    admin.ok("POST", f"/api/sessions/{one['id']}/prompt", {"text": "please go on"})
    admin.ok("POST", f"/api/sessions/{one['id']}/interrupt", {})


def model(body):
    """A conversation with retries, a sub-agent, a use that cannot be, a command, a summary."""
    told = sum(message["role"] == "assistant" for message in body["messages"])
    content = body["messages"][0]["content"]
    first = content if isinstance(content, str) else content[0]["text"]
    if "tools" not in body:
        return {"text": "SUMMARY: two files."}
    if "SUMMARY" in first:
        return {"tools": [use(9, "Bash", command="cc nine.c")]} if told == 0 else {"text": "Over."}
    if first.startswith("review"):
        return [{"tools": [use(7, "Glob", pattern="*")], "usage": {"input_tokens": 100, "output_tokens": 7}},
                {"text": "Reviewed."}][told]
    script = [{"text": "I begin.", "tools": [use(1, "Task", description="Review", prompt="review it", subagent_type="reviewer")]},
              {"tools": [use(2, "Write", file_path="a.txt", content="a\n")]},
              {"tools": [use(3, "Nonsense", a=1)]},
              {"tools": [use(4, "Bash", command="cc hi.c")]},
              {"tools": [use(5, "Read", file_path="a.txt")], "usage": {"input_tokens": 6000, "cache_read_input_tokens": 5}}]
    return script[told]


def run(stage, admin):
    """Nod's own agent."""
    work = stage.begin(admin, "main \"work\"", permissionMode="acceptEdits", maxIterations=20)
    one = work.pending()[0]
    must(one["toolCall"]["name"] == "Task" or one["toolCall"]["name"] == "Bash", one)
    for _ in range(6):
        waiting = [p for p in admin.pending(f"/sessions/{work.session}") if "nine" not in str(p["toolCall"]["input"])]
        for p in waiting:
            admin.decide(work.session, p["toolCallId"], "allow_once", digest=p["digest"])
        done = eventually(lambda: [p for p in admin.pending(f"/sessions/{work.session}")] or work.state()["status"] in
                          ("completed", "failed"), "the next question")
        if any("nine" in str(p["toolCall"]["input"]) for p in (done if isinstance(done, list) else [])):
            break
    work.until("awaiting_approval")
    other = stage.begin(admin, "review once more")
    must(other.over()["status"] == "completed", other.state())
    return work


def play(stage, postgres=False):
    faults = {"count": 0}

    def faulty(body):
        answer = model(body)
        faults["count"] += 1
        return {**answer, "faults": [{"status": 529, "kind": "overloaded_error"}]} if faults["count"] == 1 else answer
    arguments = ("--alert-after", "1s", "--context-tokens", "5000", "--run-lease", "1s")
    server = stage.serve(stage.model(faulty), *arguments)
    admin = server.admin()
    one = sessions(admin, stage.project)
    agent = admin.token_for("agent", "agent ü", session=one["id"])
    admin.token_for("approver", "unbound")
    bound = admin.token_for("viewer", "bound", session=one["id"])
    admin.ok("DELETE", f"/api/tokens/{bound.id}")
    rules(admin, agent, one, stage.project)
    calls(admin, agent, one)
    notes(admin, one)
    run(stage, admin)
    stage.nod("archive", "--older-than", "0s")
    return server, admin


def keep_sqlite(stage, folder):
    data = sqlite3.connect(os.path.join(stage.data, "nod.db"))
    copy = sqlite3.connect(os.path.join(folder, "nod.db"))
    data.backup(copy)
    copy.execute("PRAGMA journal_mode=DELETE")
    rows = copy.execute("SELECT kind, data FROM events ORDER BY seq").fetchall()
    copy.execute("VACUUM")
    copy.close()
    with open(os.path.join(folder, "events.tsv"), "w", encoding="utf-8", newline="") as file:
        file.writelines(f"{kind}\t{text}\n" for kind, text in rows)
    shutil.copytree(os.path.join(stage.data, "archive"), os.path.join(folder, "archive"), dirs_exist_ok=True)
    shutil.copy(os.path.join(stage.data, "admin.token"), os.path.join(folder, "sqlite.token"))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    stage = Stage()
    database = None
    try:
        if "--postgres" in sys.argv:
            from server import Postgres
            database = Postgres()
            database.start()
            database.create("nod")
            stage.environment["NOD_STORE"] = database.url()
        server, admin = play(stage)
        kinds = sorted({e["type"] for e in admin.events()})
        server.stop()
        print(len(kinds), " ".join(kinds))
        if database:
            dump = subprocess.run([os.path.join(database.programs, "pg_dump"), "-h", database.folder, "-U", "nod", "--inserts",
                                   "--no-owner", "--no-privileges", "nod"], check=True, stdout=subprocess.PIPE).stdout
            with gzip.GzipFile(os.path.join(folder, "nod.sql.gz"), "wb", mtime=0) as file:
                file.write(dump)
            shutil.copy(os.path.join(stage.data, "admin.token"), os.path.join(folder, "postgres.token"))
        else:
            keep_sqlite(stage, folder)
        stage.close()
    except BaseException:
        stage.close(quietly=True)
        raise
    finally:
        if database:
            database.stop()
            database.remove()


if __name__ == "__main__":
    main()
