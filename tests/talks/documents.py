"""The documents name tests; each of them is there. Those of real agents are compared by tests/real/run.py."""
import glob
import json
import os
import re

from world import ROOT, must


def known():
    """Names as the runners print them, and names of functions."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, "tests", "*", "*.py")):
        folder, module = os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-3]
        if folder == "real":
            continue
        with open(path, encoding="utf-8") as file:
            for test in re.findall(r"^def (test_\w+)", file.read(), re.M):
                names |= {test, f"{'nodes' if folder == 'postgres' else module}: {test[5:].replace('_', ' ')}"}
    for path in glob.glob(os.path.join(ROOT, "tests", "talks", "*.talk")):
        with open(path, encoding="utf-8") as file:
            names |= {f"{os.path.basename(path)[:-5]}: {json.loads(title)}" for title in re.findall(r"^talk (\".*\")$", file.read(), re.M)}
    return names


def test_they_name_tests_that_exist(_world):
    names = known()
    real = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(ROOT, "tests", "real", "*.py"))}
    modules = "|".join(sorted({name.split(":")[0] for name in names if ":" in name} - real))
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as file:
            named = {" ".join(name.split()) for name in re.findall(rf"`((?:{modules}): [^`]+|test_\w+)`", file.read())}
        missing = sorted(named - names)
        must(not missing, f"{os.path.basename(path)} names what is not there: {missing}")
        must(len(named) > 40 or not path.endswith("SECURITY.md"), f"SECURITY.md names {len(named)} tests")
