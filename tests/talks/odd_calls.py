"""Calls of every odd shape are kept, listed and shown, and the server lives on.

Commands are made by a grammar of bash with a fixed seed, and bent: cut off, doubled, with letters put in. Other tools get
inputs of the wrong type, size and depth. Whoever looks at a waiting call makes the server parse it once more: for its
verdict, its preview, its title, its suggestions.
"""
import json
import random

from world import Command, must

WORDS = ["a", "src/a.c", "-o", "--output=x", "--", "''", '""', "'a b'", '"a $x"', '$"cat"', "$'\\x41'", "$'\\", "\\", "~", "~u", "*", ".e*", "[a-z]*",
         "[[:alpha:]]", "[", "{a,b}", "{a..c}", "{1..9999999}", "{,}", "{", "}", "$x", "${x}", "${x:-y}", "${x@P}", "${!x}", "${#x}", "${x[1]}", "$@", "$_", "$IFS",
         "$((1+2))", "$((a[$(id)]))", "$[1]", "`id`", "$(id)", "$(", "<(id)", ">(id)", "\u202e", "é", "日本", "\U0001f600", "=", "x=y", "a=(b c)", "!", "#", "%2e",
         "http://[::1]:1/", "file:///etc/passwd", ".git/hooks/x", "/dev/tcp/a/1", "{}", ";", "+", "@a", "|", "x" * 3000]
PROGRAMS = ["ls", "cat", "grep", "rg", "find . -exec", "xargs", "git", "git log", "git show", "git remote", "git -C", "sed", "sed -i", "awk", "jq", "cp", "mv", "rm -rf", "ln -s",
            "tar xf", "tar", "dd", "curl", "ssh", "docker exec", "env", "timeout 5", "sudo", "bash -c", "eval", "make", "npm run", "python3 -c", "cd", "uniq", "install",
            "rsync", "ffmpeg", "openssl", "sqlite3", "cmake", "gcc", "unknown", "./x", "[", "[[", "test", "printf", "echo", "read", "set", "export", "trap", "{cat,x}", "$x", '$"cat"']
JOINS = [" ; ", " && ", " || ", " | ", " |& ", " & ", "\n", "\r\n", ";;", ";&", " "]
FORMS = ["{}", "{}", "{}", "( {} )", "{{ {}; }}", "! {}", "time {}", "if {}; then {}; fi", "while {}; do {}; done", "for x in {}; do {}; done", "case x in {}) {};; esac",
         "f() {{ {}; }}; f", "coproc {}", "select x in a; do {}; done", "[[ {} =~ {} ]]", "(( {} ))", "x=$({})", "{} > a", "{} 2>&1", "{} <<E\n$({})\nE", "{} <<'E'\n{}\nE\n",
         "{} <<-E", "{} <<< \"{}\"", "{} {{fd}}>a", "{} >&-", "cat <({})", "bash -c '{}'", "bash -c \"{}\"", "alias l='{}'", "{}"]


def command(rng, depth=0):
    if depth > 3 or rng.random() < 0.5:
        return " ".join([rng.choice(PROGRAMS)] + [rng.choice(WORDS) for _ in range(rng.randrange(6))])
    form = rng.choice(FORMS)
    text = form.format(*(command(rng, depth + 1) for _ in range(form.count("{}"))))
    return text + rng.choice(JOINS) + command(rng, depth + 1) if rng.random() < 0.3 else text


def bent(rng, text):
    """The text as it is, cut off, with a piece doubled, or with a letter that matters put in."""
    at, way = rng.randrange(len(text) + 1), rng.randrange(6)
    if way == 0:
        return text[:at]
    if way == 1:
        return text[:at] + rng.choice("'\"`$\\(){}<>|&;\n\t\x7f\u200b*?[]!#~=") + text[at:]
    if way == 2:
        return text[:at] + text[at // 2:]
    return text


def value(rng, depth=0):
    """A JSON value of any type."""
    leaf = [None, True, 0, -1, 1e308, -1e-308, 2**63, 2**53 + 1, "", "x", "a\nb", "\u0000", "\u202e", "../../x", "/etc/passwd", "%00", "*** Begin Patch", "[" * 50, "x" * 5000]
    if depth > 4 or rng.random() < 0.6:
        return rng.choice(leaf)
    if rng.random() < 0.5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["command", "file_path", "content", "edits", "old_string", "a", ""]) + str(i): value(rng, depth + 1) for i in range(rng.randrange(4))}


FIELDS = {"Edit": ["file_path", "old_string", "new_string", "replace_all"], "Write": ["file_path", "content"], "MultiEdit": ["file_path", "edits"],
          "NotebookEdit": ["notebook_path", "cell_id", "new_source", "edit_mode", "cell_type", "cell_number"], "apply_patch": ["patch", "input", "command"], "ExitPlanMode": ["plan"],
          "AskUserQuestion": ["questions"], "WebFetch": ["url", "prompt"], "Grep": ["pattern", "path", "glob"], "Glob": ["pattern", "path"], "TodoWrite": ["todos"],
          "Task": ["prompt", "description"], "mcp__x__y": ["a", "url", "path"], "Bash": ["command", "timeout", "cwd", "description"], "shell": ["command", "workdir"]}
PATCHES = ["*** Begin Patch\n*** Update File: a\n", "*** Begin Patch\n*** Update File: \n@@\n-x\n+y\n*** End Patch", "*** Begin Patch\n*** Add File: ../../x\n+a\n*** End Patch\n",
           "*** Begin Patch\n*** Move to: b\n*** End Patch", "*** Begin Patch\n" + "*** Delete File: a\n" * 300 + "*** End Patch", "@@ -1,999999999 +1 @@\n-a\n+b", "*** End Patch"]
EDITS = [[], [{}], [{"old_string": "", "new_string": ""}], [{"old_string": "a", "new_string": "a"}] * 300, [[]], "x", {"0": {}}, [None], [{"old_string": 1, "new_string": []}]]


def given(rng, name):
    made = {}
    for field in FIELDS[name]:
        if rng.random() < 0.2:
            continue
        if field == "edits":
            made[field] = rng.choice(EDITS)
        elif field in ("patch", "input", "command") and rng.random() < 0.5:
            made[field] = rng.choice(PATCHES)
        elif rng.random() < 0.5:
            made[field] = rng.choice(["x", "", "/home/p/a", "a\r\nb", "\n" * 2000, "é" * 700, "http://x/", "- a\n  - b\n1. c\n```\n"])
        else:
            made[field] = value(rng)
    return made


def look_at_all(admin, made, agent, names):
    """Every way to look at what waits: the list, each call, its verdict for another rule."""
    listed = admin.pending()
    must({p["toolCallId"] for p in listed} <= set(names), "a call that nobody asked for")
    for one in listed:
        shown = admin.ok("GET", f"/api/sessions/{made['id']}/approvals/{one['toolCallId']}")
        must("preview" not in one or shown["preview"] == one["preview"], f"the list and the call differ: {one['toolCallId']}")
        agent.get(f"/api/tool-calls/{one['toolCallId']}")
    return [one["toolCallId"] for one in listed]


def ask_all(world, calls):
    server = world.server()
    admin = server.admin()
    agent = admin.token_for("agent", "odd")
    made = agent.session(cwd="/home/p")
    waiting = 0
    for start in range(0, len(calls), 50):
        names = []
        for at, (name, what) in enumerate(calls[start:start + 50], start):
            body = {"id": f"odd{at}", "name": name, "input": what}
            reply = agent.post(f"/api/threads/{made['threadId']}/tool-calls", body)
            must(reply.status in (200, 201, 202, 400, 413, 422), f"{reply} for {json.dumps(body)[:300]}")
            names.append(body["id"])
        left = look_at_all(admin, made, agent, names)
        waiting += len(left)
        for one in left[:2]:
            Command(world, ["show", one]).wait()
        for one in left:
            admin.decided(made["id"], one, "deny")
    must(waiting > len(calls) // 4, f"only {waiting} of {len(calls)} had to wait")
    must(server.ready(), "the server does not answer any more")


def test_commands_of_every_shape(world):
    rng = random.Random(7)
    ask_all(world, [("Bash", {"command": bent(rng, command(rng))}) for _ in range(250)])


def test_inputs_of_every_shape(world):
    rng = random.Random(11)
    ask_all(world, [(name, given(rng, name)) for _ in range(12) for name in FIELDS])
