"""What people see of a call is made in the server, for every entry: differences, edits one by one, commands, patches."""
import json

from world import Socket, must

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


def test_a_command_has_its_warnings_at_every_entry(world):
    _, admin, made = begun(world)
    given = {"command": "rm -rf build && make"}
    admin.call(made["threadId"], "Bash", given, id="h")
    socket = Socket(admin)
    socket.send({"type": "call", "id": 1, "threadId": made["threadId"], "call": {"id": "s", "name": "Bash", "input": given}})
    must(socket.receive()["status"] == 200, "the call over the socket")
    admin.call(made["threadId"], "run_shell_command", given, id="g", dialect="gemini")
    for call in ("h", "s", "g"):
        shown = preview(admin, made, call)
        must(shown["type"] == "command" and shown["command"] == given["command"] and "deletes files" in shown["warnings"], shown)


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
    must('+    print("hello")' in shown and "--- a/src/a.py" in shown and "+++ b/docs/b.md" in shown, shown)
    must(json.loads(world.nod("pending", "--json", environment={"NOD_DATA": server.data}).stdout), "pending")
