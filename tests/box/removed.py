#!/usr/bin/env python3
"""Takes single mounts and lines of the filter out of the box, one at a time, and wants the attempts to notice.

    removed.py [BUILD]      a folder with the program's objects (default build)

Each change is made in a copy of one source file, compiled with the build's own flags and linked in front of the rest.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# The file, what is taken out, what stands there instead, and the row that must fail.
REMOVED = [
    ("tree.c", "    for (size_t i = 0; box->hidden[i]; i++)\n        if (hide(box->hidden[i]) != 0)\n            return -1;\n", "",
     "9 token in the project"),
    ("tree.c", "if (git && box->git_open ? protect_open_git(below) != 0 : protect(below, READ_ONLY) != 0)\n            return -1;",
     "if (!git && protect(below, READ_ONLY) != 0)\n            return -1;", "15 hook"),
    ("tree.c", 'static const char *const proc_read_only[] = {"sys", ', "static const char *const proc_read_only[] = {", "48 core_pattern"),
    ("filter.c", '{"unshare", 0}, ', "", "23 unshare"),
    ("filter.c", '{"add_key", 0}, ', "", "31 add_key"),
    ("launch.c", "    if (system_close_from(SUPERVISOR_FD_LIFE + 1) != 0)\n        fail();\n", "", "49 descriptors"),
]


def flags(build, source):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        one = next(row for row in json.load(file) if row["file"] == source)
    words = shlex.split(one["command"])
    words = words[next(i for i, word in enumerate(words) if not word.endswith("ccache")):]
    out = words.index("-o")
    return [word for i, word in enumerate(words) if i not in (out, out + 1) and word not in ("-c", source)], one["directory"]


def make(build, folder, name, old, new):
    """The program with that change in it."""
    source = os.path.join(ROOT, "src", "box", name)
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        raise SystemExit(f"removed: {name} does not have, once: {old!r}")
    changed, made = os.path.join(folder, name), os.path.join(folder, "changed.o")
    with open(changed, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))
    words, where = flags(build, source)
    subprocess.run([*words, "-Wno-unused-function", "-c", changed, "-o", made], cwd=where, check=True)
    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "nod"], capture_output=True, text=True, check=True)
    line = link.stdout.strip().split("\n")[-1]
    line = re.sub(r"-o nod\b", f"-o {folder}/nod", line)
    line = line.replace("libnodlib.a", f"{made} libnodlib.a -Wl,--allow-multiple-definition", 1)
    subprocess.run(line, shell=True, cwd=build, check=True, stdout=subprocess.DEVNULL)
    os.chmod(folder, 0o755)
    return os.path.join(folder, "nod")


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build"))
    failed = 0
    for name, old, new, row in REMOVED:
        with tempfile.TemporaryDirectory(prefix="nod-box-removed-") as folder:
            program = make(build, folder, name, old, new)
            done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--escapes"], capture_output=True,
                                  text=True, check=False, env={**os.environ, "NOD": program})
        found = any(line.startswith("FAILED") and row in line for line in done.stdout.split("\n"))
        failed += not found
        print(f"{'ok' if found else 'NOT FOUND'}: without {old.strip()[:60]!r} the row {row!r} fails", flush=True)
        if not found:
            print(done.stdout[-1500:], done.stderr[-1500:])
    print(f"{len(REMOVED) - failed} found, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
