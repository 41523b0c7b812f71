"""The documents: links lead somewhere, and the blocks marked as runnable run and print what stands below them."""
import glob
import os
import re
import subprocess

import world

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```(sh run|text out)\n(.*?)^```$", re.M | re.S)


def documents():
    found = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    return found or [os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md"))]


def anchors(path):
    """The names that headings can be reached by, as GitHub makes them."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_link_of_every_document_leads_somewhere(_place):
    bad = []
    for name in documents():
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", file.read(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", text):
            link = target[0] or target[1]
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            full = os.path.normpath(os.path.join(ROOT, os.path.dirname(name), path)) if path else os.path.join(ROOT, name)
            if not os.path.exists(full):
                bad.append(f"{name}: {link}: there is no such file")
            elif anchor and full.endswith(".md") and anchor not in anchors(full):
                bad.append(f"{name}: {link}: there is no such heading")
    if bad:
        raise world.Failure("\n".join(bad))


def run_blocks(place, name):
    """Runs a document's blocks in one shell's folder; what is to be printed is looked for in this order."""
    server = place.server()
    folder = os.path.join(place.folder, "reader")
    os.mkdir(folder)
    environment = {**place.environment, "HOME": folder, "NOD_DATA": server.data, "PATH": os.path.dirname(os.path.abspath(world.NOD)) + ":" + os.environ["PATH"]}
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    printed = ""
    for kind, text in blocks:
        if kind == "sh run":
            done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=world.PATIENCE, check=False)
            printed = done.stdout
            if done.returncode:
                raise world.Failure(f"{name}: exit status {done.returncode}\n{text}\n{printed}")
            continue
        rest = printed
        for line in text.splitlines():
            if line not in rest:
                raise world.Failure(f"{name}: {line!r} was not printed:\n{printed}")
            rest = rest.split(line, 1)[1]
    if not blocks:
        raise world.Failure(f"{name} has no block that can be run")


def test_getting_started_runs_as_it_is_written(place):
    run_blocks(place, "docs/GETTING_STARTED.md")


def test_the_page_about_audits_runs_as_it_is_written(place):
    run_blocks(place, "docs/AUDIT.md")
