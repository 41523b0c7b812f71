#!/usr/bin/env python3
"""Against real programs: what a rule on the whole program lets pass must leave every file as it was and make
no new one.

    programs.py [JUDGE_LINES] [--lines N] [--seed S]

For each program, command lines are put together at random from options, scripts and operands, many of which
write a file or run a command that does. What the judge allows is run, in a folder with a few files and a small
repository; then the folder is compared with what it was. So the table of options and the readers of sed and awk
are held against the programs of this machine, in all spellings they take.
"""
import argparse
import contextlib
import hashlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import differential

NOBODY = 65534

ADDRESSES = ["", "", "", "1", "$", "/a/", "1,2", "/a/,/b/", "0~2", "2!", "\\,a,", "1,+1", "/[/]/", "/a\\/b/", "0,/a/", "$!"]
SED_COMMANDS = ["p", "d", "s/a/b/", "s/a/b/g", "s/a/b/p", "s/a/b/w f", "s/a/:>f/e", "s/.*/:>f/e", "s,a,b,gw f", "w f", "W f",
                "e :>f", "e", "r g", "R g", "y/ab/ba/", "=", "l", "l 5", "q", "Q", "n", "N", "h;G", "a x", "i x", "c x", "a\\",
                "a\\\nx", "{p}", "{p;p}", "{w f\n}", "b", "bx;:x", ":x", "t", "#c", "#c\nw f", "z", "F", "D", "P", "x", "{", "}",
                "s/[/]/x/", "s/[]/]/w f/", "s/[a/]b/w f/", "s/a/b/;w f", "s/a/b/\nw f", "s/a/\\\nw f/", "s a b w f", "v", "M",
                "s/a\\/b/w f/", "s/\\n/w f/", "s/a/[/w f", "y/a/b/w f", "s/a/b/2w f", "s/a/b/Iw f", "\\", ";", "\n", " ",
                "s/[\\t]/x/w f", "s/[\\]/]/w f/", "s/[\\\\]/w f/", "s/[\\n/]/w f/", "s/[\\[:a:]/]/w f/", "s/[^ \\t]*/x/",
                "s|a|b|w f", "saxbxw f", "s\\a\\b\\w f", "e:>f", "1e :>f", "w", "/a/w f", "sxaxbxe", "s//:>f/e", "s/a/b/m", "s/b/a/M"]
AWK_PIECES = ["print", "print $1", "print > \"f\"", "print >> \"f\"", "print | \":>f\"", "system(\":>f\")", "\":>f\" | getline",
              "printf \"x\"", "printf(\"x\") > \"f\"", "print(1) > \"f\"", "print (1 > 2)", "x = 1 > 2", "x = $1 / 2", "/a/", "!/b/",
              "x[1] / 2", "if (1) print", "if (1) print > \"f\"", "NR > 1", "$1 ~ /a|b/", "gsub(/a/, \"b\")", "getline",
              "getline x < \"g\"", "close(\"f\")", "1", "print \"a > b\"", "print \"a\" \"b\"", "print a,\n b > \"f\"",
              "print a,\n\nb > \"f\"", "print a ||\n b > \"f\"", "print # c\n", "print a, # c\n b > \"f\"", "x = (1)/2; print > \"f\"",
              "x = 4 / 2; y = 1 / 1", "print /a/ > \"f\"", "print x++ / 2", "print -1 > \"f\"", "for (i = 0; i < 2; i++) print i",
              "while (i++ < 2) print i > \"f\"", "print i++ > \"f\"", "print 1, (2 > 1) > \"f\"", "print $(1) > \"f\"", "next",
              "print a \\\n > \"f\"", "print length > \"f\"", "print /[/]/ > \"f\"", "x = /=/ ? 1 : 2", "{ print }", "BEGIN", "END",
              "function g(a) { print a > \"f\" } { g(1) }", "print \"\\\"\" > \"f\"", "print 2 >1", "print(2 > 1)", "print 1>2 ? 3 : 4"]
AWK_OPTIONS = ["", "", "", "-F:", "-F ,", "-v x=1", "-vx=1", "--", "-f g", "-fg", "-W exec", "--version", "-e 1", "-i x", "-o"]

SORT = ["-n", "-r", "-u", "-k1", "-k 1", "-t:", "-t :", "-o f", "-of", "-ro f", "-uof", "--output=f", "--output f", "--outp=f",
        "--o f", "--compress-program=:", "--compress-prog sh", "-T .", "-S 1M", "--key=1", "-k1 -o f", "-t -- -o f", "-t -of",
        "--", "a", "b", "-", "--parallel=1", "-c", "-m", "--reverse", "-R", "--random-source=a", "-z", "-b -o f", "-kof",
        "--files0-from=a", "-o -", "--output=-", "'-o' f", "-\"o\" f", "-\\o f", "-o\"f\"", "$'-o' f", "{-o,f}", "-{o,n} f"]
UNIQ = ["-c", "-d", "-f 1", "-f1", "-s 1", "-w 1", "-i", "-z", "--", "a", "b", "f", "-", "--count", "--skip-fields=1", "-cd", "a f",
        "-- a f", "-f 1 a f", "+1", "-1"]
FIND = [".", "a", "-name a", "-name '*'", "-type f", "-print", "-print0", "-delete", "-exec touch f ;", "-exec touch f \\;",
        "-exec touch f {} +", "-execdir touch f \\;", "-ok touch f \\;", "-fprint f", "-fprint0 f", "-fprintf f x", "-fls f", "-ls",
        "!", "-not", "-o", "-a", "\\(", "\\)", ",", "-prune", "-maxdepth 1", "-depth", "-printf x", "-quit", "-L", "-H", "-O1",
        "-D help", "-newer a", "-size -1k", "-empty", "-true", "-false", "'-delete'", "-\"delete\"", "-dele\\te", "--", "-files0-from a",
        "-regex .*", "-path ./a", "-follow", "-xdev", "$'-delete'", "-user x", "-perm 644", "-exec", "-okdir", "{-delete,-print}"]
GIT = ["diff", "log", "show", "status", "grep", "grep a", "branch", "ls-files", "diff HEAD", "log -p", "show HEAD", "shortlog HEAD",
       "blame a", "--output=f", "--output f", "--outpu=f", "--out=f", "--o=f", "-O:", "-O", "-Osh", "-nOsh", "--open-files-in-pager=touch",
       "--ext-diff", "--ext", "--textconv", "-c alias.z='!touch f'", "z", "-c core.pager='touch f'", "-p", "--paginate",
       "-c diff.external='touch f'", "--no-pager", "-C .", "--stat", "-n 1", "--name-only", "--oneline", "a", "b", "--", "HEAD",
       "--exec-path=.", "--upload-pack='touch f;:'", "--exec='touch f'", "ls-remote .", "ls-remote --upload-pack='touch f;:' .",
       "fetch --upload-pac='touch f;:' .", "archive HEAD -o f", "archive --output=f HEAD", "archive -of HEAD", "format-patch -1 -o .",
       "bundle create f HEAD", "config x.y z", "config --get user.name", "config user.name", "stash list", "tag", "-e a", "-i",
       "--textconv HEAD", "bisect run touch f", "submodule foreach 'touch f'", "rebase -x 'touch f' HEAD", "rebase HEAD",
       "difftool -y -x 'touch f'", "help", "var -l", "rev-parse HEAD", "cat-file -p HEAD", "worktree list"]
RG = ["a", "b", ".", "-n", "-i", "--pre cat", "--pre=./g", "--pre ./h", "-z", "-nz", "--hostname-bin ./h", "--files", "-e a", "-f g", "-g '*'",
      "--type c", "--", "--pre-glob '*'", "-l", "--json", "--sort path", "'--pre' ./h", "--pretty", "--search-zip", "-u", "-tc"]
FD = ["a", ".", "-e c", "-x touch f", "-X touch f", "--exec touch f", "--exec=touch f", "--exec-batch touch f", "-ax touch f", "-t f",
      "-H", "-I", "-a", "-l", "-0", "--", "--exe touch f", "-d 1", "-E b", "--exclude b", "-p", "'-x' touch f", "-Hx touch f", "-c never"]
XXD = ["a", "-r", "-p", "f", "-l 4", "-c 4", "-s 1", "-", "a f", "-r a f", "-ps"]


def sed(r):
    scripts = ["".join(r.choice(ADDRESSES) + r.choice(SED_COMMANDS) + r.choice([";", "\n", "", " ", ";"])
                       for _ in range(r.choice([1, 1, 2, 3]))) for _ in range(2)]
    words = ["sed"]
    for _ in range(r.choice([1, 1, 1, 2, 2, 3])):
        script = shlex.quote(r.choice(scripts))
        words.append(r.choice([script, script, "-n", "-e " + script, "-e" + script, "--expression=" + script, "-ne " + script,
                               "--expr " + script, "-E", "-s", "-z", "-i", "-ni", "-f g", "-u", "-l 5", "--posix", "--in-place",
                               "--in-pl", "--quiet", "--debug", "-r", "--", "a", "-i.x", "--fil=g", "--sandbox"]))
    return " ".join(words + ["a"])


def awk(r):
    program = "".join(r.choice(["", "", "BEGIN ", "END ", "/a/ ", "NR==1 "]) + "{ " +
                      r.choice(["; ", "\n", " "]).join(r.choice(AWK_PIECES) for _ in range(r.choice([1, 1, 2, 3]))) + " } "
                      for _ in range(r.choice([1, 1, 2])))
    return " ".join(["awk", r.choice(AWK_OPTIONS), shlex.quote(program), "a"])


def options(program, pieces, most):
    return lambda r: " ".join([program] + [r.choice(pieces) for _ in range(r.randrange(1, most))])


PROGRAMS = {"sed": sed, "awk": awk, "sort": options("sort", SORT, 6), "uniq": options("uniq", UNIQ, 5),
            "find": options("find", FIND, 7), "git": options("git", GIT, 6), "xxd": options("xxd", XXD, 4),
            "rg": options("rg", RG, 6), "fdfind": options("fdfind", FD, 6)}


def fill(folder):
    for name, text in (("a", "a b\nb a\nx/y\n"), ("b", "b\n"), ("g", "p\n"), ("h", "#!/bin/sh\n: > f\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(os.path.join(folder, "h"), 0o755)
    if shutil.which("git"):
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main", "-C", folder]
        for words in (["init", "-q"], ["add", "a", "b"], ["commit", "-q", "-m", "x"]):
            subprocess.run(git + words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "b"), "a", encoding="utf-8") as file:
            file.write("changed\n")


def picture(folder):
    """Names and contents; git refreshes its index by itself."""
    found = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files + folders:
            path = os.path.join(top, name)
            content = b"" if os.path.isdir(path) else open(path, "rb").read()
            found[os.path.relpath(path, folder)] = hashlib.sha256(content).hexdigest()
    with contextlib.suppress(OSError):
        found[".git/config"] = hashlib.sha256(open(os.path.join(folder, ".git/config"), "rb").read()).hexdigest()
    return found


def run(line, scratch):
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    environment = {"PATH": os.environ["PATH"], "HOME": scratch, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        subprocess.run(["bash", "--noprofile", "--norc", "-c", line], cwd=scratch, env=environment, timeout=10,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **nobody)
    except subprocess.TimeoutExpired:
        pass


def fresh(folder, original):
    scratch = os.path.join(folder, "scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(original, scratch)
    if os.geteuid() == 0:
        for top, folders, files in os.walk(scratch):
            for name in [top] + [os.path.join(top, name) for name in folders + files]:
                os.chown(name, NOBODY, NOBODY)
    return scratch


def test(program, make, folder, judge, options):
    r = random.Random(f"{options.seed} {program}")
    texts = [make(r) for _ in range(options.lines)]
    differential.RULES = [f"Bash({program}:*)"]
    allowed = list(differential.judge(judge, texts))
    original = os.path.join(folder, "original")
    scratch = fresh(folder, original)
    before = picture(scratch)
    offences = []
    for i in allowed:
        run(texts[i], scratch)
        if picture(scratch) != before:
            offences.append(texts[i])
            scratch = fresh(folder, original)
    print(f"{program}: {len(texts)} lines, {len(allowed)} allowed, {len(offences)} changed something")
    for text in offences[:20]:
        print(f"    {text!r}")
    return len(allowed) - len(offences), len(offences)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("judge", nargs="?")
    options.add_argument("--lines", type=int, default=1500)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        judge = options.judge or differential.compile_judge(folder)
        os.mkdir(os.path.join(folder, "original"))
        fill(os.path.join(folder, "original"))
        for program, make in PROGRAMS.items():
            if not shutil.which(program):
                print(f"{program}: not on this machine")
                continue
            fine, wrong = test(program, make, folder, judge, options)
            good, bad = good + fine, bad + wrong
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
