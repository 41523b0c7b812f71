#!/usr/bin/env python3
"""The effects that the table of programs declares, against what the kernel sees.

    kernel.py [PROGRAM...] [--all] [--seconds N] [--patience N] [--without PROGRAM:OPTION...] [--self-test]

For each program, every option of its facts is tried with several values, in a folder made afresh with files in several
states (plain, linked, read-only, with a backup, a folder). The line runs under `strace -f -y` in a cage: no network, and
nothing can be written but that folder. Every write, removal, rename, change of mode, program started and connection that
the kernel saw must be declared by an effect of the line, unless the line is one that Nod does not understand. What is
declared but was never seen is counted too, so that rows do not grow vague.

`--without sort:--output` takes a mark out of the table first; the test must then fail. `--self-test` does that with
three programs and fails unless all three are found.
`--all` runs all programs; without it a part that takes about a minute and a half.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import differential

POLICY = os.path.join(HERE, "..", "..", "src", "policy")

# Capabilities of root that the lines keep: what an ordinary user may do to files of its own.
FILE_POWERS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID")
ADDRESS = "file:///etc/hostname"  # read without a network
# Program: operands that it is tried with, most telling first.
FAMILIES = {
    "files": {"cp": ["a b", "a d", "-r d e"], "mv": ["a b", "a d"], "rm": ["a", "-r d"], "ln": ["a n", "-s a n"],
              "mkdir": ["n", "-p n/m"], "rmdir": ["e"], "touch": ["a n"], "chmod": ["600 a"], "chown": ["0 a"], "chgrp": ["0 a"],
              "install": ["a n", "a d"], "truncate": ["-s 1 a"], "shred": ["a"], "tee": ["n"], "mktemp": ["n.XXX"],
              "link": ["a n"], "unlink": ["a"], "split": ["a"], "csplit": ["a 1"], "mkfifo": ["n"], "dos2unix": ["a"],
              "patch": ["a p.diff"], "sync": ["a"]},
    "readers": {name: ["a", "a b"] for name in """cat tac nl head tail wc cksum sum md5sum sha1sum sha224sum sha256sum sha384sum
              sha512sum b2sum base32 base64 basenc fold fmt expand unexpand cut paste od ptx pr readlink realpath stat df du ls dir vdir
              rev column hexdump strings uniq sort shuf tsort tree iconv xxd zcat cmp diff comm join basename dirname seq
              numfmt factor printf echo expr pathchk dircolors nm size readelf objdump""".split()},
    "text": {"grep": ["a a", "-r a ."], "egrep": ["a a"], "fgrep": ["a a"], "zgrep": ["a a"], "sed": ["p a", "-n p a"],
             "gawk": ["'{print}' a"], "mawk": ["'{print}' a"], "jq": [". j"], "rg": ["a a"], "ag": ["a a"], "fdfind": ["a"],
             "find": [".", "a"], "xmllint": ["x.xml"], "diff3": ["a b a"], "sdiff": ["a b"], "cal": [""], "bc": ["a"],
             "dc": ["a"], "shellcheck": ["s.sh"], "indent": ["c.c"], "astyle": ["c.c"], "clang-format": ["c.c"]},
    "archives": {"gzip": ["a"], "bzip2": ["a"], "xz": ["a"], "zstd": ["a"], "lz4": ["a"], "zip": ["n.zip a"], "unzip": ["z.zip"],
                 "tar": ["-cf n.tar a", "-xf t.tar", "-tf t.tar"], "ar": ["rc n.a a"], "strip": ["o"], "objcopy": ["o n"]},
    "git": {f"git {sub}": operands for sub, operands in {
        "log": [""], "diff": ["", "HEAD"], "show": ["", "HEAD:a"], "status": [""], "grep": ["a"], "blame": ["a"], "shortlog": ["HEAD"],
        "describe": [""], "rev-list": ["HEAD"], "rev-parse": ["HEAD"], "ls-files": [""], "ls-tree": ["HEAD"], "cat-file": ["-p HEAD"],
        "for-each-ref": [""], "show-ref": [""], "branch": ["", "n"], "tag": ["", "n"], "stash list": [""], "stash show": [""],
        "add": ["b"], "commit": ["-m x"], "rm": ["a"], "mv": ["a n"], "restore": ["a"], "checkout": ["a"], "archive": ["HEAD"],
        "format-patch": ["-1"], "config": ["--list"], "reflog": [""], "clean": ["-n"], "worktree list": [""], "remote": [""],
        "name-rev": ["HEAD"], "merge-base": ["HEAD HEAD"], "diff-tree": ["HEAD"], "diff-files": [""], "diff-index": ["HEAD"],
        "check-ignore": ["a"], "count-objects": [""], "cherry": ["HEAD HEAD"], "range-diff": ["HEAD HEAD HEAD"],
        "whatchanged": ["-1"], "annotate": ["a"], "verify-commit": ["HEAD"], "init": ["n"], "clone": [". n"]}.items()},
    "others": {"make": [""], "gcc": ["c.c", "-c c.c"], "curl": [ADDRESS], "openssl dgst": ["a"], "openssl rand": ["4"],
               "openssl x509": ["-in a"], "sqlite3": ["n.db 'create table t(a)'"], "rsync": ["a b", "-r d/ e"], "m4": ["a"],
               "bison": ["y.y"], "flex": ["l.l"], "xargs": ["echo"], "env": ["true"], "timeout": ["5 true"], "nice": ["true"],
               "stdbuf": ["-o0 true"], "date": [""], "uname": [""], "id": [""], "who": [""], "ps": [""], "free": [""], "man": ["ls"],
               "dot": ["g.dot"], "gofmt": ["g.go"], "go vet": ["g.go"], "dmesg": [""], "hostname": [""], "getent": ["passwd"],
               "pandoc": ["a"], "pdftotext": ["a"], "wget": ["http://127.0.0.1:1/"], "scp": ["a b"], "uptime": [""], "lsof": ["a"]},
}
# What is tried in `make test`: the quick and telling ones.
SHORT = """cp mv rm ln mkdir touch install tee split csplit truncate shred patch sort uniq shuf cat tail du ls diff tree iconv xxd
    grep sed gawk jq find xmllint gzip xz zip tar objcopy git_log git_diff git_grep git_archive git_branch git_format-patch curl
    gcc make env timeout""".split()


# With these marks taken out, each of the three programs must be found.
SELF_TEST = ["sort:-o", "sort:--output", "cp:-t", "cp:--target-directory", "shuf:-o", "shuf:--output"]


def build_template(folder):
    """A folder with files in several states, and a small repository with hooks that do nothing."""
    def write(name, text, mode=0o644):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), mode)
    for name in ("d", "e", "d/s"):
        os.mkdir(os.path.join(folder, name))
    for name, text in {"a": "alpha\nbeta\n", "b": "gamma\n", "b~": "old\n", "d/a": "inner\n", "d/s/x": "deep\n", "j": '{"a": 1}\n',
                       "x.xml": "<x/>\n", "c.c": "int main(void){return 0;}\n", "y.y": "%%\nx: 'a';\n", "l.l": "%%\n", "v": "3\n",
                       "g.dot": "graph{a--b}\n", "g.go": "package main\n\nfunc main() {}\n", "s.sh": "echo a\n",
                       "Makefile": "all:\n\t@true\n", "p.diff": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n"}.items():
        write(name, text)
    write("r", "read-only\n", 0o444)
    write("h", "#!/bin/sh\nexit 0\n", 0o755)
    os.symlink("a", os.path.join(folder, "l"))
    os.link(os.path.join(folder, "b"), os.path.join(folder, "k"))
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    shutil.copy("/bin/true", os.path.join(folder, "o"))
    subprocess.run(["tar", "cf", "t.tar", "a", "d"], check=False, **quiet)
    subprocess.run(["python3", "-m", "zipfile", "-c", "z.zip", "a", "d"], check=False, **quiet)
    for words in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "n"], ["add", "a", "d"],
                  ["commit", "-qm", "one"], ["config", "gc.auto", "0"]):
        subprocess.run(["git", *words], check=False, **quiet)
    write("a", "alpha\nBETA\n")


# Names that lines choose; what else is made and gone again is temporary.
NAMES = {"a", "b", "n", "n1", "n2", "h", "d", "e", "j", "o", "r", "l", "k"}


def read_facts():
    rows = {}
    for name in ("facts.tab", "facts_manual.tab"):
        with open(os.path.join(POLICY, name), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    fields = line.rstrip("\n").split("\t")
                    rows[fields[0]] = fields[3].split()
    return rows


def lines_of(program, operands, facts):
    """Every option with no value, a new name, an existing file and a program; a few with two of them."""
    found = []
    options = facts.get(program, [])
    for word in options:
        option, kind = re.split(r"[=?]", word)[0], word[len(re.split(r"[=?]", word)[0]):][:1]
        if option in ("--help", "--version", "-h", "-V", "-"):
            continue
        forms = [option] if kind != "=" else []
        if kind:
            joint = "=" if option.startswith("--") else ""
            forms += [option + joint + value for value in ("n1", "a", "./h", "d")]
            if kind == "=":
                forms.append(f"{option} n2")
        found += [f"{program} {form} {words}".rstrip() for form in forms for words in operands[:1]]
        found += [f"{program} {form} {words}".rstrip() for form in forms[:1] for words in operands[1:2]]
    return [f"{program} {words}".rstrip() for words in operands] + found


# ---- what the kernel sees ----

CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+|\?)(?:<(.*?)>)?.*$")
STRING = r'"((?:[^"\\]|\\.)*)"'
WRITING = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")


class Seen:
    """Effects of one line: sets of paths relative to its folder, and programs."""

    def __init__(self, folder):
        self.folder, self.cwd = folder, {}
        self.writes, self.removes, self.runs, self.talks = set(), set(), [], False

    def path(self, base, text):
        text = bytes(text, "utf-8").decode("unicode_escape", "replace")
        return os.path.normpath(os.path.join(base, text))

    def note(self, to, base, text):
        path = self.path(base, text)
        if path == self.folder or path.startswith(self.folder + "/"):
            to.add(os.path.relpath(path, self.folder))


def base_of(arguments, at, cwd):
    """The folder that an *at call is about: `3</tmp/x>`, `AT_FDCWD</tmp/x>`."""
    found = re.match(r"(?:AT_FDCWD|\d+)<([^>]*)>", arguments[at].strip()) if at < len(arguments) else None
    return found[1] if found else cwd


def split_arguments(text):
    found, depth, quoted, start = [], 0, False, 0
    i = 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\":
                i += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            found.append(text[start:i])
            start = i + 1
        i += 1
    return found + [text[start:]]


def text_of(argument):
    found = re.match(r"\s*" + STRING, argument)
    return found[1] if found else ""


def observe(trace, folder):
    seen, cwds = Seen(folder), collections.defaultdict(lambda: folder)
    for line in trace.splitlines():
        found = CALL.match(line)
        if not found or found[3] == "?" or int(found[3]) < 0:
            if not (found and found[1] == "connect"):
                continue
        name, arguments = found[1], split_arguments(found[2])
        pid = re.match(r"^(?:\[pid +)?(\d+)", line)
        pid = pid[1] if pid else "0"
        cwd = cwds[pid]
        if name == "chdir":
            cwds[pid] = seen.path(cwd, text_of(arguments[0]))
        elif name == "fchdir":
            cwds[pid] = base_of(arguments, 0, cwd)
        elif name in ("open", "creat"):
            if name == "creat" or any(flag in arguments[1] for flag in WRITING):
                seen.note(seen.writes, cwd, text_of(arguments[0]))
        elif name == "openat":
            if any(flag in arguments[2] for flag in WRITING) and "O_TMPFILE" not in arguments[2]:
                seen.note(seen.writes, base_of(arguments, 0, cwd), text_of(arguments[1]))
        elif name in ("unlink", "rmdir"):
            seen.note(seen.removes, cwd, text_of(arguments[0]))
        elif name == "unlinkat":
            seen.note(seen.removes, base_of(arguments, 0, cwd), text_of(arguments[1]))
        elif name == "rename":
            seen.note(seen.removes, cwd, text_of(arguments[0]))
            seen.note(seen.writes, cwd, text_of(arguments[1]))
        elif name in ("renameat", "renameat2"):
            seen.note(seen.removes, base_of(arguments, 0, cwd), text_of(arguments[1]))
            seen.note(seen.writes, base_of(arguments, 2, cwd), text_of(arguments[3]))
        elif name in ("link", "symlink"):
            seen.note(seen.writes, cwd, text_of(arguments[1]))
        elif name == "linkat":
            seen.note(seen.writes, base_of(arguments, 2, cwd), text_of(arguments[3]))
        elif name == "symlinkat":
            seen.note(seen.writes, base_of(arguments, 1, cwd), text_of(arguments[2]))
        elif name in ("mkdir", "mknod", "chmod", "chown", "lchown", "truncate", "utime", "utimes", "setxattr"):
            seen.note(seen.writes, cwd, text_of(arguments[0]))
        elif name in ("mkdirat", "mknodat", "fchmodat", "fchownat", "utimensat", "futimesat", "fchmodat2"):
            if text_of(arguments[1]):
                seen.note(seen.writes, base_of(arguments, 0, cwd), text_of(arguments[1]))
        elif name in ("execve", "execveat"):
            seen.runs.append(text_of(arguments[0 if name == "execve" else 1]))
        elif name == "connect" and ("AF_INET" in found[2]):
            seen.talks = True
    return seen


def cage(top, folder):
    """The start of a command that runs without network, writes nothing but `top`, and of root's powers keeps those over files:
    `date --set` would set the machine's clock otherwise."""
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--bind", top, top,
             "--unshare-net", "--unshare-pid", "--unshare-uts", "--unshare-ipc", "--die-with-parent", "--chdir", folder, "--cap-drop", "ALL"]
    for power in FILE_POWERS if os.geteuid() == 0 else ():
        words += ["--cap-add", power]
    return words


def check_cage(folder):
    """No line may do more to the machine than touch files: only FILE_POWERS are left of root's capabilities."""
    told = subprocess.run([*cage(folder, folder), "sed", "-n", "s/^CapEff://p", "/proc/self/status"], capture_output=True, text=True, check=True)
    powers = int(told.stdout, 16)
    if powers & ~0b11011:  # the bits of FILE_POWERS: 0 chown, 1 dac_override, 3 fowner, 4 fsetid
        sys.exit(f"kernel.py: a line would have the capabilities {powers:x}; not run")


def run_line(line, template, patience):
    """What happened, or None when it took too long."""
    with tempfile.TemporaryDirectory(prefix="nod-kernel-") as top:
        folder, trace = os.path.join(top, "w"), os.path.join(top, "trace")
        shutil.copytree(template, folder, symlinks=True)
        if os.path.exists(os.path.join(folder, "k")):
            os.unlink(os.path.join(folder, "k"))
            os.link(os.path.join(folder, "b"), os.path.join(folder, "k"))
        words = [*cage(top, folder), "--setenv", "HOME", "/run",
                 "--setenv", "LC_ALL", "C", "--setenv", "PAGER", "cat", "--setenv", "GIT_PAGER", "cat", "--setenv", "EDITOR", "true",
                 "--setenv", "TMPDIR", "/run", "strace", "-f", "--seccomp-bpf", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-e",
                 "trace=open,openat,creat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,"
                 "mkdirat,mknod,mknodat,chmod,fchmodat,chown,lchown,fchownat,truncate,utimensat,execve,connect,chdir,fchdir",
                 "-o", trace, "sh", "-c", line]
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return None
        if not os.path.exists(trace):
            return None
        with open(trace, encoding="utf-8", errors="replace") as file:
            return observe(file.read(), folder)


# ---- what the table declares ----

BY_OPTION, TREE = 1, 2


def project_rows():
    """Rows whose marks say that they write files of the project which no word names: patch, tar, git format-patch."""
    sys.path.insert(0, os.path.join(HERE, "..", "..", "dev", "facts"))
    import facts
    return {one for head, body, _ in facts.marked_rows() if "touches=." in body.split()
            for name in re.split(r",| & ", head) for one in facts.expand(name.strip())}


PROJECT_ROWS = project_rows()


class Declared:
    def __init__(self, text):
        self.acts, self.row = [], "-"
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "row":
                self.row = rest
            elif kind:
                flags, _, path = rest.partition(" ")
                self.acts.append((kind, int(flags), json.loads(path)))
        self.kinds = {act[0] for act in self.acts}
        # Whatever happens then was not promised to be known. The address that every line of curl has is asked about,
        # too, but that excuses none of its options.
        reasons = {kind for kind, _, path in self.acts if path != ADDRESS[len("file://"):]}
        self.unknown = self.row == "-" or bool(reasons & {"other", "obeys", "text", "code", "script"})
        self.changes = "changes" in self.kinds
        self.anywhere = self.row in PROJECT_ROWS

    def covers(self, path, kinds):
        for kind, flags, declared in self.acts:
            if kind not in kinds:
                continue
            target = os.path.normpath(declared) if declared else "."
            # mktemp puts letters in the place of these.
            target = target.rstrip("X") if target.endswith("XXX") else target
            # An option that says that a file is written, and not which: one in this folder.
            if not declared and flags & BY_OPTION and "/" not in path:
                return True
            if path == target or path.startswith(target + "/") or target == "." and flags & TREE:
                return True
            # A backup beside the target, and folders on the way to it.
            if path.startswith(target) and "/" not in path[len(target):] or target.startswith(path + "/"):
                return True
        return False


def offences(declared, seen):
    found = []
    if declared.unknown:
        return found
    if declared.anywhere:
        seen.writes, seen.removes = set(), set()
    # Temporary files: made and gone again, under a name that nobody chose.
    made = {path for path in seen.writes & seen.removes if path not in NAMES}
    seen.writes, seen.removes = seen.writes - made, seen.removes - made
    for path in sorted(seen.writes):
        if path.startswith(".git/") or path == ".git":
            if not declared.changes and "writes" not in declared.kinds:
                # git refreshes its index and locks for itself; that is not what a line asks for.
                if not re.match(r"\.git/(index|index\.lock|.*\.lock)$|\.git$", path):
                    found.append(f"writes {path}")
        elif not declared.covers(path, {"writes", "removes"}) and not (declared.changes and "project" in declared.kinds):
            found.append(f"writes {path}")
    for path in sorted(seen.removes):
        if not path.startswith(".git/") and path not in seen.writes and not declared.covers(path, {"writes", "removes"}):
            found.append(f"removes {path}")
    if any(run in ("./h", "h") or run.endswith("/w/h") for run in seen.runs) and not declared.kinds & {"runs", "project"}:
        found.append("runs ./h")
    if seen.talks and not declared.kinds & {"talks"}:
        found.append("connects")
    return found


def declare(judge, lines):
    done = subprocess.run([judge], input="\0".join(lines) + "\0", capture_output=True, text=True, check=True)
    blocks = done.stdout.split("\n\n")
    return [Declared(block) for block in blocks[:len(lines)]]


def take_out(marks):
    """A copy of the sources whose table lacks these marks."""
    copy = tempfile.mkdtemp(prefix="nod-marks-")
    shutil.copytree(os.path.join(HERE, "..", "..", "src"), os.path.join(copy, "src"))
    for path in [os.path.join(copy, "src", "policy", "marks", name) for name in os.listdir(os.path.join(POLICY, "marks"))]:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        row = ""
        for i, line in enumerate(lines):
            if line and line[0] not in " #":
                row = line.split(":")[0]
            for mark in marks:
                program, _, option = mark.partition(":")
                if line.startswith(" ") and program in re.split(r",| & ", row):
                    words = lines[i].split("\n")[-1].split()
                    if words and option in [word.rstrip("=?!") for word in words[1:]]:
                        kept = [word for word in words[1:] if word.rstrip("=?!") != option]
                        before = lines[i].split("\n")[:-1]
                        lines[i] = "\n".join(before + [f"  text {option}"] + ([f"  {words[0]} {' '.join(kept)}"] if kept else []))
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    return copy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=int, default=90)
    parser.add_argument("--patience", type=int, default=10, help="seconds for one line")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.self_test:
        given.programs, given.without = ["sort", "cp", "shuf"], SELF_TEST
    known = {name: operands for family in FAMILIES.values() for name, operands in family.items()}
    names = given.programs or (list(known) if given.all else [name.replace("_", " ") for name in SHORT])
    facts = read_facts()
    with tempfile.TemporaryDirectory() as folder:
        root = take_out(given.without) if given.without else None
        judge = differential.compile_with_policy(folder, "effect_lines", root)
        template = os.path.join(folder, "template")
        os.mkdir(template)
        build_template(template)
        check_cage(template)
        lines = [line for name in names if shutil.which(name.split()[0]) for line in lines_of(name, known[name], facts)]
        random.Random(given.seed).shuffle(lines)
        if given.self_test:
            lines = [line for line in lines if any(mark.partition(":")[2] in line for mark in SELF_TEST)]
        declared = dict(zip(lines, declare(judge, lines)))
        begin, tried, bad = time.monotonic(), 0, []
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for start in range(0, len(lines), 64):
                if not given.all and not given.self_test and time.monotonic() - begin > given.seconds:
                    break
                some = lines[start:start + 64]
                for line, seen in zip(some, pool.map(lambda line: run_line(line, template, given.patience), some)):
                    tried += 1
                    if not seen:
                        counts["ended"] += 1
                        continue
                    counts["writes"] += len(seen.writes)
                    counts["removes"] += len(seen.removes)
                    counts["runs"] += max(0, len(seen.runs) - 2)
                    what = declared[line]
                    counts["unknown"] += what.unknown
                    counts["declared"] += sum(kind in ("writes", "removes") for kind, _, _ in what.acts)
                    counts["declared, not seen"] += sum(
                        kind in ("writes", "removes") and not (seen.writes | seen.removes) for kind, _, _ in what.acts)
                    found = offences(what, seen)
                    if found:
                        bad.append((line, found))
        if root:
            shutil.rmtree(root)
    for line, found in sorted(bad):
        print(f"{line}: {', '.join(found)}")
    print(f"{len(names)} programs, {tried} of {len(lines)} lines: the kernel saw {counts['writes']} writes, {counts['removes']} removals, "
          f"{counts['runs']} programs; declared {counts['declared']}, of these not seen {counts['declared, not seen']}; "
          f"not understood {counts['unknown']}, ended {counts['ended']}; undeclared in {len(bad)} lines "
          f"({time.monotonic() - begin:.0f} s)")
    if given.self_test:
        return 0 if {line.split()[0] for line, _ in bad} == set(names) else 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
