#!/usr/bin/env python3
"""Every option that a program's manual and help name, against the table of options: a rule on the whole program
must let none pass that changes a file.

    every_option.py [PROGRAM...]        "git log" is one, too; without names all below, which takes half an hour

Each option is given nothing, a file to be made, and a script that makes it; what the judge lets pass is run as in
programs.py. Some change files by their nature (msgfmt, git stash, git branch --track, top's settings): look at
what it prints. Run it when the table grew, or on a system with newer programs.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import differential
import programs

READERS = """arch base32 base64 basename basenc bat cat cksum cmp column comm cut date df diff diff3 dirname du egrep expand
    expr factor fgrep file find fmt fold grep groups head hexdump hostid hostname iconv id join jq last less locale logname ls
    lsof md5sum more nl nm nproc numfmt objdump od openssl paste pathchk pr printenv ps ptx pwd readelf readlink realpath rev
    sdiff seq sha1sum sha256sum sha512sum shuf size sort stat strings sum tac tail tr tree tsort tty uname unexpand uniq
    uptime users wc whereis which who whoami xmllint xxd yq zcat zdiff zgrep curl man apropos whatis shellcheck getconf getopt
    locate lsblk lscpu free vmstat pgrep pidof dmesg journalctl systemctl awk sed info ack ag c++filt addr2line cal look colrm
    col ul rg fdfind""".split()
GIT = """log diff show grep blame status shortlog describe rev-list rev-parse ls-files ls-tree ls-remote cat-file for-each-ref
    show-ref reflog tag remote name-rev merge-base diff-tree diff-index diff-files check-ignore count-objects cherry
    range-diff whatchanged var verify-commit annotate archive show-branch""".split()
# What follows the option; the file a and the file b, where nothing else is said.
OPERANDS = {"jq": [". a"], "yq": [". a"], "curl": ["file:///etc/hostname"], "awk": ["'{print}' a"], "sed": ["p a"],
            "grep": ["a a"], "git": ["", "HEAD", "a"]}


def said(words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, text=True, errors="replace",
                              check=False)
        return done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def options(words):
    helps = {"git": ["-h"], "curl": ["--help", "all"]}.get(words[0], ["--help"])
    text = said(words + helps)
    if words[0] != "git":
        text += re.sub(".\x08", "", said(["man", "-P", "cat", words[0]]))
    text = text.replace("[no-]", "")
    found = set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]+", text)) | set(re.findall(r"(?<![\w-])-[a-zA-Z0-9](?![\w-])", text))
    if words[0] in ("openssl", "find"):
        found |= set(re.findall(r"(?<![\w-])-[a-zA-Z]\w{2,}", text))
    return sorted(found)


def lines(words):
    program, operands = " ".join(words), OPERANDS.get(words[0], ["a", "a b"])
    for option in options(words):
        between = "=" if option.startswith("--") else ""
        values = ["", " f", " ./h", f"{between}f", f"{between}./h"]
        for operand in operands:
            yield from (f"{program} {option}{value} {operand}" for value in values)
        yield f"{program} {operands[0]} {option} f"


def main():
    named = [name.split() for name in sys.argv[1:]] or [[name] for name in READERS] + [["git", name] for name in GIT]
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        judge, original = differential.compile_judge(folder), os.path.join(folder, "original")
        os.mkdir(original)
        programs.fill(original)
        for words in named:
            texts = list(dict.fromkeys(lines(words))) if shutil.which(words[0]) else []
            differential.RULES = [f"Bash({words[0]}:*)"]
            allowed = [texts[i] for i in differential.judge(judge, texts)] if texts else []
            scratch = programs.fresh(folder, original)
            before, changed = programs.picture(scratch), []
            for text in allowed:
                programs.run(text, scratch)
                if programs.picture(scratch) != before:
                    changed.append(text)
                    scratch = programs.fresh(folder, original)
            good, bad = good + len(allowed) - len(changed), bad + len(changed)
            print(f"{' '.join(words)}: {len(texts)} lines, {len(allowed)} allowed, {len(changed)} changed something", flush=True)
            for text in changed[:10]:
                print(f"    {text}")
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
