#!/usr/bin/env python3
"""How the table of programs reads a line, against the program itself.

    reading.py [PROGRAM...] [--lines N] [--seed S]

Random lines are put together from the options that facts know: clusters, values attached and apart, shortened names,
options behind operands, `--`. The program runs with a shim around getopt (dev/facts/shim.c) that writes down the options
and operands it got and ends it before it does anything. The operands that Nod sees must be the same, in the same order.
A line that getopt refuses says nothing. Only programs whose operands are all of one kind are asked: their reads, writes
or removals are their operands.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import differential
import kernel

FACTS = os.path.join(HERE, "..", "..", "dev", "facts")
KINDS = {"read*": "reads", "write*": "writes", "remove*": "removes", "remove": "removes"}
NATURAL, EDITS = 64, 32  # flags of an act in commands.h
# Options that a program reads in a way of its own, beside getopt: `sort -y` gives back a value that is no number.
OWN_WAYS = {"sort": ["-y="]}


def programs(judge):
    """Those with a getopt table and operands of one kind."""
    sys.path.insert(0, FACTS)
    import facts
    with open(facts.FACTS, encoding="utf-8") as file:
        getopt = {fields[0]: fields[3].split() for fields in (line.rstrip("\n").split("\t") for line in file)
                  if len(fields) == 4 and fields[1] == "getopt"}
    found = {}
    for head, body, _ in facts.marked_rows():
        operands, _, styles = body.partition(";")
        kind = KINDS.get(operands.strip())
        if not kind or set(styles.split()) & {"bad", "posix", "single"} or "reader=" in styles:
            continue
        for name in re.split(r",| & ", head):
            for one in facts.expand(name.strip()):
                if one in getopt and shutil.which(one):
                    found[one] = (kind, [option for option in getopt[one] if option not in OWN_WAYS.get(one, [])])
    return found


def random_line(r, name, options):
    words, operand = [name], 0
    for _ in range(r.choice([1, 1, 2, 3, 4])):
        text = r.choice(options)
        option, kind, _ = re.split(r"([=?])", text + "=" if "=" not in text and "?" not in text else text, maxsplit=1)
        kind = text[len(option):len(option) + 1]
        value = r.choice(["v1", "2", "x,y", "v=w"])
        if option.startswith("--"):
            if r.random() < 0.3:
                option = option[:r.randrange(3, len(option) + 1)]
            words.append(option + ("=" + value if kind == "=" and r.random() < 0.6 or kind == "?" and r.random() < 0.4 else ""))
            if kind == "=" and "=" not in words[-1]:
                words.append(value)
        else:
            cluster = option
            flags = [o[1] for o in options if len(o) == 2 and o[1] not in "-0123456789"]
            if flags and r.random() < 0.4:
                cluster = "-" + r.choice(flags) + option[1]
            words.append(cluster + (value if kind and r.random() < 0.5 else ""))
            if kind == "=" and words[-1] == cluster:
                words.append(value)
        if r.random() < 0.4:
            operand += 1
            words.append(f"o{operand}")
        if r.random() < 0.05:
            words.append("--")
    for _ in range(r.choice([0, 1, 1, 2])):
        operand += 1
        words.append(f"o{operand}")
    return words


def ask_program(words, shim):
    """Operands as getopt left them; None when it refused the line, or never came to the end."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        env = {**os.environ, "FACTS_LOG": log, "FACTS_NAME": words[0], "LD_PRELOAD": shim, "LC_ALL": "C"}
        try:
            subprocess.run(words, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if not os.path.exists(log):
            return None
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
    if ["end"] not in lines:
        return None
    return [line[1] for line in lines if line[0] == "operand"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--lines", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    r = random.Random(given.seed)
    wrong, asked, accepted, unknown = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, os.path.join(FACTS, "shim.c"), "-ldl"], check=True)
        judge = differential.compile_with_policy(folder, "effect_lines")
        known = programs(judge)
        names = sorted(set(given.programs) & set(known) if given.programs else known)
        lines = [random_line(r, name, known[name][1]) for name in (r.choice(names) for _ in range(given.lines))]
        declared = kernel.declare(judge, [shlex.join(words) for words in lines])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for words, what, operands in zip(lines, declared, pool.map(lambda words: ask_program(words, shim), lines)):
                asked += 1
                if operands is None:
                    continue
                accepted += 1
                kind = known[words[0]][0]
                if any(act[0] == "other" for act in what.acts):
                    unknown += 1
                    continue
                # A file that is written in place of being read, or `-`, is the same operand.
                ours = [path for act, flags, path in what.acts if act in ("reads", "writes", "removes") and flags & (NATURAL | EDITS)]
                ours = list(dict.fromkeys(ours))
                if not operands and ours == ["."]:
                    ours = []  # without an operand such a program reads the folder it is in
                if sorted(ours) != sorted(set(o for o in operands if o != "-")):
                    wrong.append(f"{' '.join(words)}: {words[0]} sees {operands}, Nod {ours} ({kind})")
    for line in wrong[:50]:
        print(line)
    print(f"{len(names)} programs, {asked} lines, {accepted} taken by getopt: {unknown} not understood, {len(wrong)} read differently")
    return 1 if wrong or accepted < asked // 5 or unknown > accepted // 20 else 0


if __name__ == "__main__":
    sys.exit(main())
