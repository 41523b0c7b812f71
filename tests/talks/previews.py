"""What people see of a call is made in the server, for every entry: differences, edits one by one, commands, patches."""
import base64
import json
import os
import shutil

from world import ROOT, Socket, must

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def greet():
-    print("hi")
+    print("hello")
+    return 1
 # end
*** Add File: docs/b.md
+# B
+text
*** Delete File: old.txt
*** Update File: c.py
*** Move to: d.py
@@
-x = 1
+x = 2
*** End Patch"""


# The head of a picture of 240 by 120; nobody looks further.
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\xf0\0\0\0\x78\x08\x02" + bytes(40)


def begun(world):
    server = world.server()
    admin = server.admin()
    return server, admin, admin.session(cwd="/home/p")


def preview(admin, made, call):
    listed = next(p for p in admin.pending() if p["toolCallId"] == call)
    whole = admin.ok("GET", f"/api/sessions/{made['id']}/approvals/{call}")
    must(listed["preview"] == whole["preview"], f"the list and the call differ: {listed['preview']}")
    return whole["preview"]


def test_edits_are_differences(world):
    _, admin, made = begun(world)
    admin.call(made["threadId"], "Edit", {"file_path": "/home/p/a.c", "old_string": "int x;\nint y;\n", "new_string": "int x;\nlong y;\n"}, id="e")
    shown = preview(admin, made, "e")
    must(shown["type"] == "diff" and shown["file_path"] == "/home/p/a.c" and shown["fragment"] is True, shown)
    must(shown["unified"][2:] == ["@@ -1,2 +1,2 @@", " int x;", "-int y;", "+long y;"], shown)
    must((shown["added"], shown["removed"]) == (1, 1), shown)
    admin.call(made["threadId"], "Write", {"file_path": "n.md", "content": "one\ntwo\n"}, id="w")
    shown = preview(admin, made, "w")
    must(shown["type"] == "diff" and shown["unified"][3:] == ["+one", "+two"] and "not shown" in shown["note"], shown)


def test_several_edits_one_by_one(world):
    _, admin, made = begun(world)
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": True}]
    admin.call(made["threadId"], "MultiEdit", {"file_path": "f", "edits": edits}, id="m")
    shown = preview(admin, made, "m")
    must(shown["type"] == "multi_diff" and shown["edits"] == 2 and shown["file_path"] == "f", shown)
    must([f["edit"] for f in shown["files"]] == [1, 2], shown)
    must([[line for line in f["unified"] if line[:3] in ("-a", "+b", "-c", "+d")] for f in shown["files"]] == [["-a", "+b"], ["-c", "+d"]], shown)


def test_a_patch_is_the_files_it_changes(world):
    _, admin, made = begun(world)
    admin.call(made["threadId"], "apply_patch", {"command": PATCH}, id="p", dialect="codex")
    one = next(p for p in admin.pending() if p["toolCallId"] == "p")
    shown = preview(admin, made, "p")
    must(shown["type"] == "multi_diff" and "command" not in shown, shown)
    must([f["file_path"] for f in shown["files"]] == ["src/a.py", "docs/b.md", "old.txt", "c.py"], shown)
    first, second, third, fourth = shown["files"]
    must(first["unified"][2:] == ["@@ -1,2 +1,3 @@ def greet():", '-    print("hi")', '+    print("hello")', "+    return 1", " # end"], first)
    must(second["is_new_file"] and (second["added"], second["removed"]) == (2, 0), second)
    must(third["deleted"] is True and fourth["moved_to"] == "d.py", (third, fourth))
    must((shown["added"], shown["removed"]) == (5, 2), shown)
    must(one["summary"] == "Edit src/a.py and 4 more", one["summary"])
    admin.call(made["threadId"], "apply_patch", {"input": "*** Begin Patch\n*** Add File: x\n+1\n*** End Patch\n"}, id="q", dialect="codex")
    shown = preview(admin, made, "q")
    must(shown["type"] == "diff" and shown["file_path"] == "x" and shown["is_new_file"] and shown["added"] == 1, shown)


def test_a_notebook_is_a_cell(world):
    _, admin, made = begun(world)
    admin.call(made["threadId"], "NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "c7", "new_source": "x = 1\n"}, id="n")
    shown = preview(admin, made, "n")
    must(shown["type"] == "diff" and shown["cell"] == "c7" and shown["edit_mode"] == "replace" and "+x = 1" in shown["unified"], shown)
    admin.call(made["threadId"], "NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "c7", "new_source": "", "edit_mode": "delete"}, id="d")
    must("deleted" in preview(admin, made, "d")["note"], "a deleted cell")


def placed(world, files):
    """A session in a folder with these files, and how a call's place in them is asked for."""
    server = world.server()
    admin = server.admin()
    folder = os.path.join(world.folder, "project")
    for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    made = admin.session(cwd=folder)
    return server, admin, made, lambda call: admin.ok("GET", f"/api/sessions/{made['id']}/approvals/{call}/file")["preview"]


def test_a_patch_in_its_files_has_their_line_numbers(world):
    files = {"src/a.py": b"import os\n\n\ndef greet():\n    print(\"hi\")\n# end\n", "old.txt": b"gone\nfor good\n", "c.py": b"y = 0\nx = 1  \n", ".env": b"SECRET=1\n"}
    server, admin, made, at = placed(world, files)
    admin.call(made["threadId"], "apply_patch", {"command": PATCH}, id="p", dialect="codex")
    first, second, third, fourth = at("p")["files"]
    must(first["unified"][2:] == ["@@ -2,5 +2,6 @@", " ", " ", " def greet():", '-    print("hi")', '+    print("hello")', "+    return 1", " # end"], first)
    must(second["is_new_file"] and "fragment" not in first, second)
    must(third["deleted"] and third["unified"][3:] == ["-gone", "-for good"] and third["removed"] == 2, third)
    must(fourth["moved_to"] == "d.py" and fourth["unified"][2:] == ["@@ -1,2 +1,2 @@", " y = 0", "-x = 1  ", "+x = 2"], fourth)
    shown = world.nod("show", "p", environment={"NOD_DATA": server.data}).stdout
    must("    5 −     print(\"hi\")" in shown and "    1 − gone" in shown, shown)
    odd = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-not there\n+x\n*** Delete File: .env\n*** Update File: ../out\n@@\n-a\n+b\n*** End Patch"
    admin.call(made["threadId"], "apply_patch", {"command": odd}, id="q", dialect="codex")
    first, second, third = at("q")["files"]
    must("not in the file" in first["note"] and "-not there" in first["unified"] and first["fragment"], first)
    must("secret" in second["note"] and "SECRET" not in json.dumps(second), second)
    must("outside" in third["note"] or "leads out" in third["note"], third)


def test_a_notebook_in_its_file_is_the_cell_before_and_after(world):
    notebook = {"cells": [{"cell_type": "code", "id": "c1", "source": ["x = 0\n", "print(x)\n"]}], "nbformat": 4}
    server, admin, made, at = placed(world, {"n.ipynb": json.dumps(notebook).encode()})
    admin.call(made["threadId"], "NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "x = 1\nprint(x)\n"}, id="n")
    shown = at("n")
    must(shown["unified"][2:] == ["@@ -1,2 +1,2 @@", "-x = 0", "+x = 1", " print(x)"] and shown["note"] == "The source of cell c1 (code).", shown)
    must('"source"' not in world.nod("show", "n", environment={"NOD_DATA": server.data}).stdout, "JSON in the terminal")


def test_a_picture_is_shown_by_what_it_is(world):
    server, admin, made, at = placed(world, {"logo.png": PNG, "text.png": b"no picture\n" * 9})
    data = base64.b64encode(PNG[:16] + b"\0\0\1\x40\0\0\0\xa0" + PNG[24:]).decode()
    admin.call(made["threadId"], "mcp__files__put", {"path": "logo.png", "data": f"data:image/png;base64,{data}"}, id="i")
    must(at("i")["before"] == {"type": "image/png", "bytes": len(PNG), "width": 240, "height": 120, "data": base64.b64encode(PNG).decode()}, at("i"))
    shown = world.nod("show", "i", environment={"NOD_DATA": server.data}).stdout
    must("Replaces  logo.png, now image/png, 240 × 120 pixels" in shown and "data: a picture: image/png, 320 × 160 pixels" in shown and data[:40] not in shown, shown)
    admin.call(made["threadId"], "mcp__files__put", {"path": "new.png", "content": {"type": "image", "data": data}}, id="j")
    must(at("j")["is_new_file"] and "before" not in at("j"), at("j"))
    admin.call(made["threadId"], "mcp__files__put", {"path": "text.png", "data": data + "; and words"}, id="k")
    must("; and words" in world.nod("show", "k", environment={"NOD_DATA": server.data}).stdout, "words behind a picture are hidden")


def test_fields_of_an_mcp_tool_have_the_names_of_its_schema(world):
    server, admin, made = begun(world)
    properties = {"owner": {"type": "string", "title": "Owner", "description": "Who the repository belongs to"}, "repo": {"type": "string"},
                  "unused": {"type": "string", "title": "Not sent"}}
    told = {"server": "hub", "source": "0" * 64, "definition": {"name": "issue", "description": "Opens an issue.",
                                                              "inputSchema": {"type": "object", "properties": properties}}}
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-definitions", {"id": "d", **told})
    admin.ok("POST", f"/api/threads/{made['threadId']}/tool-calls", {"id": "m", "name": "mcp__hub__issue", "source": "0" * 64,
                                                                  "input": {"owner": "alice", "repo": "site"}})
    shown = preview(admin, made, "m")
    must(shown["fields"] == {"owner": {"title": "Owner", "description": "Who the repository belongs to"}}, shown)
    text = world.nod("show", "m", environment={"NOD_DATA": server.data}).stdout
    must("Opens an issue." in text and "Owner (owner): alice\n        Who the repository belongs to\n    repo: site" in text, text)


def test_a_command_has_its_risk_at_every_entry(world):
    _, admin, made = begun(world)
    given = {"command": "rm -rf build && make"}
    admin.call(made["threadId"], "Bash", given, id="h")
    socket = Socket(admin)
    socket.send({"type": "call", "id": 1, "threadId": made["threadId"], "call": {"id": "s", "name": "Bash", "input": given}})
    must(socket.receive()["status"] == 200, "the call over the socket")
    admin.call(made["threadId"], "run_shell_command", given, id="g", dialect="gemini")
    for call in ("h", "s", "g"):
        shown = preview(admin, made, call)
        must(shown["type"] == "command" and shown["command"] == given["command"], shown)
    for waits in admin.pending():
        must(waits["risky"] and "deletes" in waits["risk"] and "deletes files or data" in waits["riskWords"], waits)
        must([part["risk"] for part in waits["parts"]] == [["deletes"], []] and waits["parts"][1]["operator"] == "&&", waits["parts"])


def test_large_texts_are_marked_or_shown_as_they_are(world):
    _, admin, made = begun(world)
    content = "".join(f"line {n}\n" for n in range(3000))
    admin.call(made["threadId"], "Write", {"file_path": "big", "content": content}, id="b")
    shown = admin.ok("GET", f"/api/sessions/{made['id']}/approvals/b")["preview"]
    must(shown["type"] == "diff" and shown["cut"] is True and shown["added"] == 3000, {k: v for k, v in shown.items() if k != "unified"})


def test_the_terminal_shows_the_difference(world):
    server, admin, made = begun(world)
    admin.call(made["threadId"], "apply_patch", {"command": PATCH}, id="p", dialect="codex")
    shown = world.nod("show", "p", environment={"NOD_DATA": server.data}).stdout
    must('+     print("hello")' in shown and "Changed  src/a.py" in shown and "New file  docs/b.md" in shown and "def greet()" in shown, shown)
    must("Deleted  old.txt" in shown and "Moved  c.py → d.py" in shown, shown)
    must(json.loads(world.nod("pending", "--json", environment={"NOD_DATA": server.data}).stdout), "pending")


def in_a_folder(world):
    _, admin, _ = begun(world)
    folder = os.path.join(world.folder, "project")
    os.mkdir(folder)
    with open(os.path.join(folder, "old.txt"), "w", encoding="utf-8") as file:
        file.write("one\ntwo\nthree\n")
    return admin, admin.session(cwd=folder)


def test_the_terminal_shows_the_difference_in_the_file(world):
    """As the page does: what stands there now, that a file is replaced, that one is new, that an edit would fail."""
    admin, made = in_a_folder(world)
    admin.call(made["threadId"], "Write", {"file_path": "old.txt", "content": "one\n2\nthree\n"}, id="replaces")
    shown = world.nod("pending").stdout
    must("replaces the whole file, which has 3 lines" in shown and "2 − two\n" in shown and "2 + 2\n" in shown and "Replaced  old.txt" in shown, shown)
    admin.call(made["threadId"], "Write", {"file_path": "new.txt", "content": "x\n"}, id="new")
    admin.call(made["threadId"], "Edit", {"file_path": "old.txt", "old_string": "three", "new_string": "3"}, id="edit")
    admin.call(made["threadId"], "Edit", {"file_path": "old.txt", "old_string": "nine", "new_string": "3"}, id="fails")
    admin.call(made["threadId"], "write_file", {"file_path": "old.txt", "content": "x\n"}, id="gemini", dialect="gemini")
    for call, words in (("new", ["New file  new.txt", "1 + x"]), ("edit", ["  2   two\n", "  3 − three\n", "  3 + 3\n"]), ("fails", ["is not in the file"]),
                        ("gemini", ["replaces the whole file", " − two\n"])):
        shown = world.nod("show", call).stdout
        must(all(word in shown for word in words), f"{call}: {shown}")


def test_a_folder_that_is_gone_is_not_found(world):
    """The folder, not the server, is at fault: no 500, and nothing is said of a file beside it."""
    admin, made = in_a_folder(world)
    for call, path in (("write", "old.txt"), ("new", "none.txt")):
        admin.ask(made["threadId"], "Write", {"file_path": path, "content": "x"}, id=call)
    shutil.rmtree(os.path.join(world.folder, "project"))
    for state in ("no folder", "a file in its place"):
        for call in ("write", "new"):
            reply = admin.get(f"/api/sessions/{made['id']}/approvals/{call}/file")
            must(reply.status == 404 and b"the session's folder" in reply.body, f"{state}, {call}: {reply}")
        with open(os.path.join(world.folder, "project"), "w", encoding="utf-8") as file:
            file.write("not a folder")


def test_differences_have_colours_on_a_terminal(world):
    admin, made = in_a_folder(world)
    admin.call(made["threadId"], "Write", {"file_path": "old.txt", "content": "one\n2\nthree\n"}, id="w")
    for command in (("show", "w"), ("pending",)):
        shown = world.on_a_terminal(*command)
        must("\x1b[31m    2 − two" in shown and "\x1b[32m    2 + 2" in shown, repr(shown))
        must("\x1b" not in world.on_a_terminal(*command, environment={"NO_COLOR": "1"}), "NO_COLOR is not obeyed")
    must("\x1b" not in world.nod("show", "w").stdout, "colours in a file")


def test_odd_letters_are_told_of_in_every_preview(world):
    """What cannot be seen and what looks like something else, whichever tool: the server says it once for everyone."""
    _, admin, made = begun(world)
    hidden, alike = "cannot be seen", "look like Latin ones"
    for number, (tool, given, words) in enumerate((
            ("Bash", {"command": "make \u202etset"}, hidden), ("Bash", {"command": "c\u0430t x"}, alike),
            ("Bash", {"command": "\u0441\u0440 a b"}, alike), ("Write", {"file_path": "p\u0430ss.txt", "content": "x"}, alike),
            ("Edit", {"file_path": "a", "old_string": "x", "new_string": "if (adm\u0456n)"}, alike),
            ("Write", {"file_path": "a", "content": "x\u200by"}, hidden), ("mcp__a__b", {"q": "p\u0430ypal"}, alike),
            ("WebFetch", {"url": "https://p\u0430ypal.com/"}, alike), ("apply_patch", {"command": PATCH.replace("hello", "h\u0435llo")}, alike))):
        admin.call(made["threadId"], tool, given, id=f"o{number}", **({"dialect": "codex"} if tool == "apply_patch" else {}))
        shown = preview(admin, made, f"o{number}")
        must(any(words in one for one in shown.get("warnings", [])), f"{tool} {given}: {shown}")
        must(words in world.nod("show", f"o{number}").stdout, f"nod show does not say it of {tool}")
    for number, (tool, given) in enumerate((("Bash", {"command": "echo \u041f\u0440\u0438\u0432\u0435\u0442 > \u043f\u0440\u0438.txt"}),
                                            ("Write", {"file_path": "a", "content": "\u0440\u0443\u0441 na\u00efve \u65e5\u672c \u03bcs \u03c0r"}))):
        admin.call(made["threadId"], tool, given, id=f"p{number}")
        must(not any(alike in one for one in preview(admin, made, f"p{number}").get("warnings", [])), f"{given}")


def test_a_call_that_is_cut_keeps_its_warnings(world):
    _, admin, made = begun(world)
    admin.call(made["threadId"], "Bash", {"command": "rm -rf build; echo " + "x" * 5000}, id="cut")
    admin.call(made["threadId"], "Bash", {"command": "sudo true " + "x" * 200000}, id="long")
    listed = {p["toolCallId"]: p for p in admin.pending()}
    must(listed["cut"]["cut"] is True and "deletes files or data" in listed["cut"]["riskWords"], f"{listed['cut']}")
    must(any("longer than" in w for w in listed["long"]["warnings"]), f"{listed['long']}")
    shown = world.nod("pending").stdout
    must("(deletes files" in shown, shown)


def test_every_class_of_risk_is_in_pending_and_bulk_leaves_the_risky_out(world):
    """The lines of tests/policy/risk.tsv: at least these classes, or none; and what `nod approve --all` then leaves."""
    server = world.server("--waiting-per-session", "0", "--waiting-per-token", "0", "--asks-per-second", "0")
    admin = server.admin()
    made = admin.session(cwd="/home/u/proj")
    with open(os.path.join(ROOT, "tests", "policy", "risk.tsv"), encoding="utf-8") as file:
        wanted = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    for number, (command, _) in enumerate(wanted):
        must(admin.call(made["threadId"], "Bash", {"command": command}, id=f"r{number}")["status"] == "awaiting", f"asked: {command}")
    shown = {call["toolCallId"]: call for call in json.loads(world.nod("pending", "--json").stdout)["pendingApprovals"]}
    must(len(shown) == len(wanted) > 150, f"{len(shown)} of {len(wanted)}")
    for number, (command, classes) in enumerate(wanted):
        call = shown[f"r{number}"]
        if classes:
            must(set(classes.split(",")) <= set(call["risk"]), f"{command}: {call['risk']}, not {classes}")
        else:
            must(call["risk"] == [] and call["risky"] is False, f"{command}: {call['risk']}")
    risky = {call for call, one in shown.items() if one["risky"]}
    must(len(risky) > 100, f"{len(risky)} are risky")
    world.nod("approve", "--all", "--yes")
    must({call["toolCallId"] for call in admin.pending()} == risky, "bulk leaves out what is risky, and that alone")
