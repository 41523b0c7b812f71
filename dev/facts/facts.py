#!/usr/bin/env python3
"""Writes src/policy/facts.tab: which options the programs of src/policy/marks have, and which take a value.

    facts.py [PROGRAM...]       only these; without names all that are installed

Each program is asked in the way that says most (sources.txt chooses; README.md explains): the getopt shim, which ends
the program before it does anything, `git SUB --git-completion-helper-all`, or its help text. It runs without a network
and with a read-only file system. Rows of programs that are not installed here stay as they are. $FACTS_PATH is
searched before $PATH.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
POLICY = os.path.join(HERE, "..", "..", "src", "policy")
FACTS = os.path.join(POLICY, "facts.tab")
HEADER = "# Made by `make facts`, never edited: NAME, how it was asked, its version, its options (= a value, ? perhaps one).\n"
PATIENCE = 40  # seconds for one call
PATH = os.environ.get("FACTS_PATH", "") + ":" + os.environ["PATH"] + ":/usr/sbin:/sbin"
SHIM = os.path.join(tempfile.gettempdir(), f"facts-shim-{os.getpid()}.so")


def expand(name):
    """`docker|podman rm&create` as four names."""
    found = re.search(r"[^ |&]+([|&][^ |&]+)+", name)
    if not found:
        return [name]
    return [one for word in re.split(r"[|&]", found[0]) for one in expand(name[:found.start()] + word + name[found.end():])]


def marked_rows():
    """Heads and bodies of all rows, with whether marks follow."""
    rows = []
    for path in sorted(glob.glob(os.path.join(POLICY, "marks", "*.tab"))):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line[0] in "#\n":
                    continue
                if line[0] == " ":
                    rows[-1][2] = True
                    continue
                head, _, body = line[1:].rstrip("\n").partition(": ")
                rows.append([line[0] + head.rstrip(":"), body, False])
    return rows


def marked_names():
    """Of rows that options make a difference to: one whose words tell nothing is asked about anyway."""
    names = [one for head, body, marks in marked_rows() if marks or "bad" not in body.split()
             for name in re.split(r",| & ", head) for one in expand(name.strip())]
    return sorted(set(names))


def sources():
    """Name of a program or row: how to ask it, and with which words."""
    chosen = {}
    with open(os.path.join(HERE, "sources.txt"), encoding="utf-8") as file:
        for line in file:
            names, _, how = line.split("#")[0].partition(":")
            for name in names.split(","):
                if how.split():
                    chosen[name.strip()] = how.split()
    return chosen


def run(words, env=None, folder=None):
    """What it printed, in a cage without network where nothing can be written but /tmp."""
    cage = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--unshare-net",
            "--unshare-pid", "--cap-drop", "ALL", "--die-with-parent", "--setenv", "HOME", "/run", "--chdir", "/run"]
    for key, folder_name in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv")):
        cage += ["--setenv", key, os.environ.get(key, os.path.expanduser("~/" + folder_name))]
    if folder:
        cage += ["--bind", folder, folder]
    if words[0] == "git":
        words = ["sh", "-c", 'git init -q . 2>/dev/null; exec "$@"', "sh"] + words
    for key, value in {"COLUMNS": "200", "PAGER": "cat", "MANPAGER": "cat", "MANWIDTH": "200", "NO_COLOR": "1",
                       "TERM": "dumb", "LC_ALL": "C.UTF-8", "PATH": PATH, **(env or {})}.items():
        cage += ["--setenv", key, value]
    try:
        done = subprocess.run(cage + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", re.sub(".\x08", "", done.stdout.decode("utf-8", "replace")))


# ---- the getopt shim ----

def parse_letters(letters):
    options = {}
    letters = letters.lstrip("+-:")
    for found in re.finditer(r"(W;|[^:;])(:{0,2})", letters):
        options["-" + found[1][0]] = {"": "", ":": "=", "::": "?"}[found[2]]
    return options


def by_getopt(words, _how):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        run(words + ["--nod-asks-for-facts"], {"FACTS_LOG": log, "FACTS_NAME": words[0], "FACTS_ONLY": "1", "LD_PRELOAD": SHIM}, folder)
        if not os.path.exists(log):
            return {}
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
    options, only = {}, ["only"] in lines
    for line in lines:
        if line[0] == "short":
            options.update(parse_letters(line[1]))
        elif line[0] == "long" and re.fullmatch(r"[\w.+-]+", line[1]):
            options["--" + line[1]] = {"0": "", "1": "=", "2": "?"}[line[2]]
            if only:
                options["-" + line[1]] = options["--" + line[1]]
    return options


# ---- help texts ----

NAME = re.compile(r"--\[no-\][A-Za-z][\w.-]*|--?[A-Za-z0-9@#][\w.:+-]*|-[?@#$]")
VALUE = re.compile(r"\s?\[=?[^\]]*\]|=\s?(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\}|[^\s,|\]]+)|\s?<[^>]*>(?:[^\s,]*)|"
                   r" (?:\{[^}]*\}|\([^)]*\)|\"[^\"]*\"|[A-Za-z][\w|:./=-]*(?:\.\.\.)?(?:\[[^\]]*\])?)")
TYPED = re.compile(r"\[(?:string|number|array|count|choices: .*)\]")


def parse_line(text, options):
    """One line that begins with an option: `-o, --output FILE   words`."""
    text = re.sub(r",\s+", ", ", text.strip())
    text = re.sub(r"^(-\S)\s+(--)", r"\1, \2", text)
    column, found, kind, hint = re.split(r"\s{2,}|\t", text, maxsplit=1)[0], [], "", ""
    at = 0
    while (name := NAME.match(column, at)):
        found.append(name[0].rstrip(".:"))
        at = name.end() - (len(name[0]) - len(name[0].rstrip(".:")))
        value = VALUE.match(column, at)
        # A name that is too long for its column: what follows is its explanation, not a value.
        if value and re.match(r" [A-Z]?[a-z]", value[0]) and re.match(r"[ ,.;]*\s\w", column[value.end():]):
            break
        if value:
            at = value.end()
            word = value[0].strip()
            maybe = word.startswith("[") and not word.startswith("[no-")
            kind, hint = ("?" if maybe else "=") if kind != "=" else kind, hint or re.sub(r"[^\w-]", "", word)[:20]
        between = re.match(r"\s*(?:,|\||/| or )\s*|\s+(?=-)", column[at:])
        if not between:
            break
        at += between.end()
    if TYPED.search(text) and not kind:
        kind = "="
    for name in found:
        if "[no-]" in name:
            options.setdefault(name.replace("[no-]", "no-"), "")
            name = name.replace("[no-]", "")
        if len(name) < 40 and (name not in options or (options[name] == "" and kind)):
            options[name] = kind + hint if kind else ""


def parse_help(text):
    options = {}
    for line in text.splitlines():
        line = re.sub(r"^(\s*)(?:\[|\*|\|)\s?(?=-)", r"\1", line)
        if re.match(r"\s{0,24}-{1,2}[\w?@#\[]", line):
            parse_line(line, options)
    return {name: kind for name, kind in options.items() if name not in ("-", "--")}


def by_help(words, how):
    ask = [word for word in how[1:] if word != "man"] or ["--help"]
    options = parse_help(run(words + ask))
    if "man" in how:
        for name, kind in parse_help(run(["man", "-P", "cat", "-".join(words)])).items():
            options.setdefault(name, kind)
    return options


def by_git(words, how):
    """Its help, what it completes, and its manual; further words name sub-commands whose options it has too."""
    options = parse_help(run(words + ["-h"]))
    helped = run(words + ["--git-completion-helper-all"])
    for other in how[1:]:
        helped += " " + run(["git", other, "--git-completion-helper-all"])
    for word in helped.split() if "usage:" not in helped and "fatal" not in helped else []:
        if re.fullmatch(r"--[\w-]+=?", word):
            name = word.rstrip("=")
            options.setdefault(name, "=" if word.endswith("=") else "")
    if len(how) > 1 or not options:
        for name, kind in parse_help(run(["man", "-P", "cat", "-".join(words)])).items():
            options.setdefault(name, kind)
    return options


def by_npm(words, _how):
    """All of its settings are options; a default that is neither true nor false takes a value."""
    options = {}
    for name, value in re.findall(r"^([a-z][\w-]*) = (.*)$", run(words + ["config", "ls", "-l"]), re.M):
        options["--" + name] = "" if value in ("true", "false") else "="
    return {**options, "--yes": "", "-y": "", "--production": "", "-g": "", "-D": "", "-S": "", "-E": "", "-O": "", "-P": "",
            "-B": "", "-f": "", "-s": "", "-d": "", "-q": "", "-l": "", "-a": "", "-i": "", "-n": "", "-ws": "",
            "--save-dev": "", "--save-exact": "", "--save-optional": "", "--save-peer": "", "--no-save": ""} if options else {}


WAYS = {"getopt": by_getopt, "help": by_help, "git": by_git, "npm": by_npm}


def ask(name, chosen):
    """How it was asked and its options; None when it is not installed."""
    words = name.split()
    how = next((chosen[key] for key in (name, *[" ".join(words[:n]) for n in range(len(words) - 1, 0, -1)])
                if key in chosen), None)
    for count in range(1, len(words)):
        if name not in chosen and " ".join(words[:count]) + " *" in chosen:
            how = chosen[" ".join(words[:count]) + " *"]
    if how and how[0] == "none":
        return None
    if how and how[0] == "as":
        words[0] = how[1]
        how = how[2:] or None
    if not shutil.which(words[0], path=PATH):
        return None
    if how:
        return how[0], WAYS[how[0]](words, how)
    if len(words) == 1:
        options = by_getopt(words, None)
        if options:
            hints = parse_help(run(words + ["--help"]))
            for option, kind in options.items():
                if kind and hints.get(option, "")[1:]:
                    options[option] = kind + hints[option][1:]
            return "getopt", options
    return "help", by_help(words, ["help"])


def version(program):
    found = re.search(r"\d+(?:\.\d+)+\S*", run([program, "--version"])[:2000])
    return found[0].strip("(),;") if found else "-"


def read_rows():
    if not os.path.exists(FACTS):
        return {}
    with open(FACTS, encoding="utf-8") as file:
        return {line.split("\t")[0]: line for line in file if not line.startswith("#")}


def write_rows(rows, names):
    with open(FACTS, "w", encoding="utf-8") as file:
        file.write(HEADER + "".join(rows[name] for name in sorted(rows) if name in names))


def main():
    only = sys.argv[1:]
    chosen, rows, names = sources(), read_rows(), set(marked_names())
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", SHIM, os.path.join(HERE, "shim.c"), "-ldl"], check=True)
    wanted = [name for name in sorted(names) if not only or name in only or name.split()[0] in only]
    versions = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (name, found) in enumerate(zip(wanted, pool.map(lambda name: ask(name, chosen), wanted)), 1):
            if found and not found[1]:
                print(f"{name}: nothing found by {found[0]}", file=sys.stderr)
            elif found:
                program = name.split()[0]
                if program not in versions:
                    versions[program] = version(program)
                options = " ".join(option + kind for option, kind in sorted(found[1].items()))
                rows[name] = f"{name}\t{found[0]}\t{versions[program]}\t{options}\n"
            if done % 200 == 0:
                write_rows(rows, names)
    os.unlink(SHIM)
    write_rows(rows, names)
    print(f"{len(rows)} rows, {len(wanted)} asked")


if __name__ == "__main__":
    main()
