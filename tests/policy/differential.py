#!/usr/bin/env python3
"""Against real bash: whatever the judge lets pass must run nothing but covered commands, with the words the
judge saw, and write no file.

    differential.py [JUDGE_LINES] [--lines N] [--seed S] [--keep FILE]

Lines are made from a grammar and by mutating the commands of tests/cases/shell.txt. What is allowed is run by
bash in an empty folder. PATH leads to one folder in which a program that only writes down its arguments
(log_argv.c) lies under each covered name; every other name goes the same way through command_not_found_handle;
all of bash's own commands are switched off before a line runs, so that they come by there, too.
Exit status 1, and the lines, when something ran or was written that should not. Without JUDGE_LINES the
program is compiled first.

Broken on purpose, it was found by the first 20,000 lines: a substitution taken in a word that no rule names (149
lines), redirections to files not looked at (286), only the first command of a list judged (873).
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534  # who runs the lines when we are root
RULES = ["Bash(npm test:*)", "Bash(git diff:*)", "Bash(head:*)", "Bash(echo:*)", "Bash(pwd)", "Bash(pip * list)",
         "Bash(cat:*)", "Bash(true)"]
PROGRAMS = ["npm", "git", "head", "echo", "pwd", "pip", "cat", "true"]

# ---- making lines ----

COVERED = ["npm test", "npm test a", "git diff", "git diff --stat", "head -5", "echo", "echo x", "pwd", "cat f",
           "pip -v list", "true"]
OTHERS = ["id", "evil", "npm install", "git push", "rm x", "sh -c id", "eval id", "exec id", "command id", "npm testx",
          "pwd x", "export A=1", "A=1", "A=1 npm test", "alias npm=id", "f() { id; }", ". ./x", "[[ a ]]", "((1))"]
WORDS = ["a", "'b c'", "\"d e\"", "$X", "\"$X\"", "${X}", "${X:-y}", "*", "?", "[a]", "{a,b}", "~", "a\\ b", "$'t\\tu'",
         "$\"l\"", "''", "\"\"", "a#b", "#", "!", "\\;", "';'", "\"|\"", "-", "--", "=", "a=b", "$(id)", "`id`", "$((1+2))",
         "$((x))", "<(id)", "${x@P}", "\\\n", "é", "$", "%", "}", "{", "]", "if", "then", "\\", "'", "\"", "<<<x", "2>&1",
         ">/dev/null", "</dev/null", ">f", ">>f", "<f", "&>f", ">|f", "2>f", "<>f", ">&2", "{v}>f", "<<E\nt\nE\n",
         "<<'E'\n$(id)\nE\n", "<<E\n$(id)\nE\n", "<<-E\n\tx\n\tE\n", "<<E\nx\\\nE\nid\nE\n", "<<EO\nE\\\nO\nid\nEO\n", "<<E\n\\E\nE\n",
         "<<E\nx\\\\\nE\n", "<<\"E\"\nx\\\nE\n", "\"a\\b\\$c\\`d\\\"e\\\\f\"", "\"\\a\"", "'\\'", "\\a\\b", "$'\\x41\\102\\u0043'",
         "$'\\''", "\"$'x'\"", "'\"'", "\"'\"", "\"a\nb\"", "'a\nb'", "a'b'\"c\"d", "\"a\\\nb\"", "\\~", "\"~\"", "'*'", "\\*", "a{b",
         "a,b}", "{}", "{a}", "\\{a,b}", "$1", "$@", "\"$@\"", "$?", "${#X}", "${X%y}", "--x=$X", "--x='y z'", "2", "2 >&1"]
JOINS = [";", "&&", "||", "|", "|&", "&", "\n", " ; ", " && ", " || ", " | ", " & ", "\n\n", ";\n", " #c\n", "&&\n", "|\n"]
PIECES = list(" \t\n;&|()<>{}[]$`'\"\\#!*?~=+-:,.@%^0129aExX") + WORDS + JOINS + [
    "id", "evil", "&&", "||", ";;", "$(", "${", "$((", "))", "<<", "<<E", "E", "\nE\n", "if ", "then ", "else ", "elif ",
    "fi", "for ", "in ", "do ", "done", "while ", "until ", "case ", "esac", "function ", "time ", "coproc ", "select ",
    "\\\n", "'\"'", "\"'\"", "$'", "$\"", ">&", "<&", "&>", ">|", "<>", "{ ", " }", "( ", " )", "[[ ", " ]]", "! ", " #"]


def simple(r):
    words = [r.choice(COVERED) if r.random() < 0.93 else r.choice(OTHERS)]
    words += [r.choice(WORDS) for _ in range(r.choice([0, 0, 0, 1, 1, 2, 3]))]
    return (" " if r.random() < 0.95 else r.choice(["", "\t", "  ", "\\\n"])).join(words)


def compound(r, depth):
    part = lambda: command(r, depth + 1)
    return r.choice([
        lambda: f"( {part()} )", lambda: f"{{ {part()}; }}", lambda: f"if {part()}; then {part()}; fi",
        lambda: f"if {part()}; then {part()}; else {part()}; fi", lambda: f"while {part()}; do {part()}; done",
        lambda: f"for v in a b; do {part()}; done", lambda: f"case a in a|b) {part()};; *) {part()};; esac",
        lambda: f"! {part()}", lambda: f"for v in a; do {part()} $v; done", lambda: f"until {part()}\ndo\n{part()}\ndone",
        lambda: f"time {part()}", lambda: f"{{ {part()}\n}} 2>&1"])()


def command(r, depth=0):
    if depth < 3 and r.random() < 0.2:
        return compound(r, depth)
    text = simple(r)
    while r.random() < 0.35 and depth < 4:
        text += r.choice(JOINS) + (simple(r) if r.random() < 0.8 else command(r, depth + 1))
    return text


def mutate(r, text):
    for _ in range(r.choice([1, 1, 1, 2, 2, 3, 5])):
        at = r.randrange(len(text) + 1)
        end = min(len(text), at + r.choice([0, 0, 0, 1, 1, 2, 4]))
        text = text[:at] + (r.choice(PIECES) if r.random() < 0.8 else "") + text[end:]
    return text


def seeds():
    with open(os.path.join(HERE, "..", "cases", "shell.txt"), encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            lines = [line for line in block.split("\n") if line and not line.startswith("# ")]
            if len(lines) == 3 and "<U+" not in lines[1]:
                yield lines[1].replace("⏎", "\n").replace("⇥", "\t")


def lines(count, seed):
    r = random.Random(seed)
    known = list(seeds())
    for i in range(count):
        text = command(r) if r.random() < 0.6 else r.choice(known)
        if r.random() < 0.6:
            text = mutate(r, text)
        # A path to a real program would run it; the judge is asked about those elsewhere.
        if "\0" in text or re.search(r"/(usr|s?bin|lib|opt|proc|sys|etc)\b", text) or len(text) > 2000:
            text = "id"
        yield text


# ---- judging them ----

def compile_with_policy(folder, name, root=None):
    """tests/policy/NAME.c with the policy of these sources (or those below `root`) and its table of programs."""
    root = root or os.path.dirname(os.path.dirname(HERE))
    policy = os.path.join(root, "src", "policy")
    compiler = [os.environ.get("CC", "cc"), "-std=gnu2x", "-D_GNU_SOURCE", "-O1", "-I", os.path.join(root, "src")]
    maker, table = os.path.join(folder, "table_make"), os.path.join(folder, "table_rows.c")
    subprocess.run([*compiler, "-o", maker, os.path.join(policy, "table_make.c"), os.path.join(policy, "table_write.c")],
                   check=True)
    subprocess.run([maker, table, *sorted(glob.glob(os.path.join(policy, "facts*.tab"))), "--",
                    *sorted(glob.glob(os.path.join(policy, "marks", "*.tab")))], check=True)
    sources = [table, os.path.join(HERE, name + ".c"), os.path.join(root, "src", "event", "tool_names.c")]
    for part in ("policy", "base"):
        sources += [path for path in glob.glob(os.path.join(root, "src", part, "*.c"))
                    if not path.endswith(("table_make.c", "table_write.c"))]
    program = os.path.join(folder, name)
    subprocess.run([*compiler, "-o", program, *sources, "-lcrypto", "-lpthread"], check=True)
    return program


def compile_judge(folder):
    return compile_with_policy(folder, "judge_lines")


def judge(program, texts):
    """For each line that is allowed, by its number, its simple commands as the judge read them."""
    lines_in = "\0".join(texts).encode("utf-8", "surrogateescape") + b"\0"
    out = subprocess.run([program, *RULES], input=lines_in, stdout=subprocess.PIPE, check=True).stdout
    answers = out.decode("utf-8").split("\n")[:-1]
    assert len(answers) == len(texts), (len(answers), len(texts))
    return {i: json.loads(answer) for i, answer in enumerate(answers) if answer != "-"}


# ---- running them ----

SCRIPT = r"""
cd "$SCRATCH" || exit 9
command_not_found_handle() { "$LOG_PROGRAM" "$@"; }
names=$(builtin enable | while builtin read -r _ name; do builtin printf '%s ' "$name"; done)
builtin shopt -s nullglob dotglob
ulimit -f 2000 -t 300
while IFS= builtin read -r -d '' LOG_LINE && IFS= builtin read -r -d '' text; do
    builtin export LOG_LINE
    ( ulimit -t 10
      builtin shopt -u nullglob dotglob
      builtin eval "builtin enable -n $names
$text" ) </dev/null >/dev/null 2>&1
    written=(*)
    if ((${#written[@]})); then
        builtin printf '%s\0' "$LOG_LINE" >> "$LOG_FILES"
        "$REAL_RM" -rf -- "${written[@]}"
    fi
done < "$LINES"
builtin wait
"""


def run(numbered, folder):
    """Runs the lines and returns what was called, as (number, argv), and which lines wrote files."""
    paths = {name: os.path.join(folder, name) for name in ("scratch", "bin", "lines", "log", "files")}
    for name in ("scratch", "bin"):
        os.makedirs(paths[name], exist_ok=True)
    program = os.path.join(folder, "log_argv")
    if not os.path.exists(program):
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", program, os.path.join(HERE, "log_argv.c")], check=True)
        for name in PROGRAMS:
            os.link(program, os.path.join(paths["bin"], name))
    with open(paths["lines"], "wb") as file:
        for number, text in numbered:
            file.write(b"%d\0%s\0" % (number, text.encode("utf-8", "surrogateescape")))
    for name in ("log", "files"):
        open(paths[name], "wb").close()
    rm = "/bin/rm" if os.path.exists("/bin/rm") else "/usr/bin/rm"
    environment = {"PATH": paths["bin"], "LOG_ARGV": paths["log"], "LOG_FILES": paths["files"], "LINES": paths["lines"],
                   "SCRATCH": paths["scratch"], "LOG_PROGRAM": program, "HOME": "/nonexistent", "REAL_RM": rm,
                   "LC_ALL": "C.UTF-8"}
    nobody = {}
    if os.geteuid() == 0:
        nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        for path in (folder, *paths.values()):
            os.chown(path, NOBODY, NOBODY)
    subprocess.run([shutil.which("bash"), "--noprofile", "--norc", "-c", SCRIPT], env=environment, timeout=900,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **nobody)
    with open(paths["files"], "rb") as file:
        written = [int(number) for number in file.read().split(b"\0") if number]
    return list(calls(paths["log"], program)), written


def calls(path, program):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        head = re.compile(rb"(\d+) (\d+)").match(data, at)
        at = head.end()
        argv = []
        for _ in range(int(head[2])):
            length = re.compile(rb" (\d+):").match(data, at)
            at = length.end() + int(length[1])
            argv.append(data[length.end():at].decode("utf-8", "surrogateescape"))
        at += 1
        yield int(head[1]), argv[1:] if argv[0] == program else [os.path.basename(argv[0])] + argv[1:]


# ---- judging what ran ----

def covered(argv):
    if argv[:2] in (["npm", "test"], ["git", "diff"]) or argv[0] in ("head", "echo", "cat"):
        return True
    if argv in (["pwd"], ["true"]):
        return True
    return len(argv) >= 3 and argv[0] == "pip" and argv[-1] == "list"


def seen(argv, parts):
    """Whether the judge saw this call: the same words, up to the first that only bash can finish."""
    for part in parts:
        known = part.index(None) if None in part else len(part)
        if argv[:known] == part[:known] and (None in part or len(argv) == len(part)):
            return True
    return False


def main():
    options = argparse.ArgumentParser()
    options.add_argument("judge", nargs="?")
    options.add_argument("--lines", type=int, default=100000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", help="write the offending lines to this file")
    options = options.parse_args()
    texts = list(lines(options.lines, options.seed))
    offences = []
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        parts = judge(options.judge or compile_judge(folder), texts)
        todo = [(i, texts[i]) for i in parts]
        for start in range(0, len(todo), 5000):
            called, written = run(todo[start:start + 5000], folder)
            ran += len(called)
            offences += [(i, "wrote a file") for i in written]
            offences += [(i, f"ran {argv}") for i, argv in called if not covered(argv)]
            offences += [(i, f"ran {argv}, which the judge read as {parts[i]}") for i, argv in called
                         if covered(argv) and not seen(argv, parts[i])]
    print(f"{len(texts)} lines, {len(parts)} allowed, {ran} commands ran, {len(offences)} offences")
    for i, words in offences[:50]:
        print(f"{words}\n    {texts[i]!r}")
    if options.keep and offences:
        with open(options.keep, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{texts[i]!r}\n" for i, _ in offences)
    if len(parts) < options.lines / 20 or ran < len(parts) / 2:
        print("too few lines ran for this to mean anything")
        offences.append((0, "too few lines"))
    print(f"{len(parts) - len(offences)} passed, {len(offences)} failed")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
