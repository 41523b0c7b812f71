#!/usr/bin/env python3
"""Commands that pass without a rule write nothing and tell no secret, by the kernel.

    by_default.py [--lines N] [--run N] [--seed S] [--open NAME]

Lines are put together at random: programs of the table that only read, with options of their facts, operands inside
and outside the folder, patterns, variables, substitutions, loops, pipes and redirections. Those that Nod lets pass
without any rule run in bash in a namespace where everything is mounted read-only, under strace. No call may fail
because of that (EROFS), nothing may be connected to, and the secret outside the folder may not be opened, or be told;
nor may the `.env` inside, where the line names it. (A search of the whole folder reads it as any other file.) Temporary
files below /tmp are a program's own matter.

`--open cat` adds lines that must be found, as if Nod had let them pass: the test of the test.
"""
import argparse
import concurrent.futures
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import differential
import kernel

PATIENCE = 5
OUTPUT = 1 << 24  # bytes that a line may write: `yes` would fill the memory
CANARY = "canary-9d41f7"
OUTSIDE = CANARY + "-outside"
OPERANDS = ["a", "b", "d", "d/a", ".", "./a", "a b", "d/*", "*.c", "c.c", "src/../a", "..", "/", "../canary/key", "/canary/key", "~/key", "$HOME/key",
            "\"$HOME\"/key", "/canary", "/canar?/key", "/canary/*", "/c*/key", ".env", "./.env", ".e*", ".??v", "[.]env", "{a,.env}", ".{env,x}", "*",
            ".*", "$X", "\"$X\"", "${X:-.env}", "$(echo .env)", "`echo /canary/key`", "$(cat a)", "<(cat a)", "-", "--", "-- -x", "n", "/etc/hostname",
            "/proc/self/environ", "/dev/null", "a/../.env", "l", "$PWD/.env", "d/../../canary/key", "{/canary/key,a}"]
TAILS = ["", "", "", "", " | head -3", " | wc -l", " | sort", " 2>&1", " 2>/dev/null", " > n", " >> a", " | tee n", " | xargs cat", " | xargs -n1 wc",
         " | while read x; do cat \"$x\"; done", " && git status", "; ls", " || true", " < a", " < .env", " < /canary/key", " <<< x", " | sh", " &"]
WRAPS = ["{}", "{}", "{}", "{}", "{}", "timeout 5 {}", "LC_ALL=C {}", "time {}", "nice {}", "( {} )", "! {}", "x=$({}); echo $x", "echo \"$({})\"",
         "for f in a b .env; do {} $f; done", "for f in *; do {} \"$f\"; done", "cd d && {}", "cd .. && {}", "cd /canary && {}", "if {}; then ls; fi",
         "F=.env; {} $F", "F=a; {} $F", "X=/canary/key {}", "command {}", "env {}", "cat <({})", "[ -n \"$({})\" ] && ls", "{}; {}", "GIT_PAGER=cat {}"]
EXTRA = ["find . -name '*.c'", "find . -type f -exec cat {{}} +", "find . -exec head {{}} \\;", "find / -name key", "find . -newer a -print0", "grep -rn x .",
         "grep -r . d", "grep -rn x --include='*.c' .", "rg x", "rg --hidden x", "rg -uuu .", "git log -p", "git show HEAD:a", "git diff", "git grep x", "git status",
         "git cat-file -p HEAD", "git ls-files", "git blame a", "git log --stat", "git diff --no-index a /canary/key", "git show :.env", "sed -n 1p a",
         "sed -n '1r .env' a", "sed -n 'r /canary/key' a", "awk 1 a", "awk '{print}' a b", "awk 'BEGIN{while((getline l < \".env\")>0) print l}'",
         "diff a b", "diff -r . /canary", "ls -la", "ls -R", "ls -R /", "tree -a", "du -a .", "wc -l *", "stat a", "file a", "env", "printenv", "pwd",
         "tail -n +1 *", "head -c 20 *", "cat *", "cat .*", "cat a <(cat .env)", "xargs -a a cat", "xargs cat < a", "printf '%s\\n' *", "test -f a",
         "[[ -f .env ]]", "realpath .env", "basename /canary/key", "md5sum .env a", "sort -m a .env", "paste a .env", "comm a .env", "column a",
         "date -r .env", "date -f /canary/key", "ps aux", "ps e", "id", "who", "uname -a", "which cat", "type cat", "seq 3", "sleep 0", "jq . j", "jq -f .env j",
         "jq --rawfile x .env '$x' j", "python3 --version", "man -f ls", "less a", "xxd a", "od -c a", "strings a", "cmp a b", "tac a", "rev a", "base64 a",
         "tar -tf t.tar", "unzip -l z.zip", "zcat a", "openssl x509 -in a", "cut -d: -f1 a", "tr a b < a", "fold a", "nl -ba a", "split a", "tee", "touch n"]


def reading_rows():
    """Programs of the table whose row says that they only read."""
    sys.path.insert(0, os.path.join(HERE, "..", "..", "dev", "facts"))
    import facts
    names = {one for head, body, _ in facts.marked_rows() if "reads" in body.split()
             for name in re.split(r",| & ", head) for one in facts.expand(name.strip())}
    return sorted(name for name in names if re.fullmatch(r"[a-z0-9 -]+", name) and
                  any(os.access(os.path.join(folder, name.split()[0]), os.X_OK) for folder in ("/usr/bin", "/bin")))


def command(r, rows, facts):
    if r.random() < 0.3:
        return r.choice(EXTRA).replace("{{}}", "{}")
    row = r.choice(rows)
    words = [row]
    for _ in range(r.choice([0, 0, 1, 1, 2])):
        option = r.choice(facts.get(row) or ["-a"])
        name, kind = re.split(r"[=?]", option)[0], option[len(re.split(r"[=?]", option)[0]):][:1]
        words.append(name if not kind else name + ("=" if name.startswith("--") else "") + r.choice(["n", "a", ".env", "/canary/key", "1", "./h"]))
    words += [r.choice(OPERANDS) for _ in range(r.choice([0, 1, 1, 1, 2]))]
    return " ".join(words)


def line(r, rows, facts):
    return r.choice(WRAPS).replace("{}", command(r, rows, facts)) + r.choice(TAILS)


def passing(program, lines):
    given = "\0".join(lines).encode("utf-8") + b"\0"
    out = subprocess.run([program, "--default"], input=given, stdout=subprocess.PIPE, check=True).stdout
    answers = out.decode("utf-8").split("\n")[:-1]
    assert len(answers) == len(lines), (len(answers), len(lines))
    return [one for one, answer in zip(lines, answers) if answer != "-"]


# A failed write: git refreshes its index by itself where it can, and does without where it cannot.
REFUSED = re.compile(r"EROFS")
OWN = re.compile(r"\.git/(index|[^\"]*\.lock)|/dev/(null|tty)")
OPENED = re.compile(r"open(?:at)?\((?:[^,\"]*, )?\"([^\"]*)\".*= \d+")
SECRET = re.compile(r"(^|/)\.env$|(^|/)key$|/canary/key")


def cage(folder, top, trace, text):
    return ["bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
            "--symlink", "usr/lib64", "/lib64", "--ro-bind", folder, "/scratch", "--ro-bind", os.path.join(top, "canary"), "/canary", "--dev", "/dev",
            "--proc", "/proc", "--tmpfs", "/tmp", "--bind", trace, "/trace", "--remount-ro", "/", "--unshare-net", "--unshare-pid", "--cap-drop", "ALL", "--die-with-parent", "--chdir", "/scratch",
            "--setenv", "HOME", "/canary", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LC_ALL", "C", "--setenv", "PAGER", "cat",
            "strace", "-f", "--seccomp-bpf", "-qq", "-s", "512", "-e", "signal=none", "-e",
            "trace=open,openat,creat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,mkdirat,mknod,mknodat,chmod,"
            "fchmodat,chown,lchown,fchownat,truncate,utimensat,connect", "-o", "/trace/log", "bash", "--noprofile", "--norc", "-c", text]


def run(text, folder, top):
    """What the line did that it must not, as words."""
    with tempfile.TemporaryDirectory(prefix="nod-trace-") as trace:
        with tempfile.TemporaryFile() as output:
            try:
                subprocess.run(cage(folder, top, trace, text), env={"PATH": "/usr/bin:/bin", "TOKEN": OUTSIDE}, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT)))
            except subprocess.TimeoutExpired:
                pass
            output.seek(0)
            told = output.read().decode("utf-8", "replace")
        path = os.path.join(trace, "log")
        if not os.path.exists(path):
            return ["did not run: " + told[:200]]
        with open(path, encoding="utf-8", errors="replace") as file:
            calls = file.read().splitlines()
    found = [f"tried to write: {call[:120]}" for call in calls if REFUSED.search(call) and not OWN.search(call)]
    names_it = re.search(r"(?<!/usr/bin/)\.env|\.[?*e\[{]|\[\.", text) and not re.search(r"find |grep|rg ", text)
    found += [f"opened {name[1]}" for call in calls if (name := OPENED.search(call)) and SECRET.search(name[1]) and
              (names_it or "env" not in name[1])]
    found += ["connected" for call in calls if "connect(" in call and "AF_INET" in call]
    if CANARY in told and (names_it or OUTSIDE in told):
        found.append("told the secret")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=12000)
    parser.add_argument("--run", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--open", action="append", default=[])
    given = parser.parse_args()
    r, rows, facts = random.Random(given.seed), reading_rows(), kernel.read_facts()
    with tempfile.TemporaryDirectory() as top:
        program = differential.compile_with_policy(top, "judge_lines")
        folder = os.path.join(top, "scratch")
        os.mkdir(folder)
        os.mkdir(os.path.join(top, "canary"))
        kernel.build_template(folder)
        for path, secret in ((os.path.join(folder, ".env"), CANARY), (os.path.join(top, "canary", "key"), OUTSIDE)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"KEY={secret}\n")
        lines = sorted({line(r, rows, facts) for _ in range(given.lines)})
        passed = passing(program, lines)
        r.shuffle(passed)
        tried = passed[:given.run] + given.open
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda text: run(text, folder, top), tried))
    bad = 0
    for text, found in zip(tried, results):
        if found:
            bad += 1
            print(f"{text!r}: {'; '.join(found[:3])}")
    print(f"seed {given.seed}: {len(lines)} lines of {len(rows)} programs, {len(passed)} pass without a rule, {len(tried)} run, {bad} did what they must not")
    if given.open:
        return 0 if bad >= len(given.open) else 1
    print(f"{len(tried) - bad} passed, {bad} failed")
    return 1 if bad or len(tried) < min(given.run, 50) else 0


if __name__ == "__main__":
    sys.exit(main())
