#!/usr/bin/env python3
"""The source tarball: two runs give the same bytes; it builds without npm and without network, twice to the same bytes.
A node of the last schema beside one of today's on one database: refused by name, and nothing is lost.

    run.py [WORDS...]      only the tests whose name holds one of the words

Compiles Nod several times: a part of `make test-long`, not of `make test`.
"""
import filecmp
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "tests", part) for part in ("postgres", "talks")]
# A second build must compile, not copy what the first one compiled.
ENVIRONMENT = {**os.environ, "CCACHE_DISABLE": "1", "LC_ALL": "C"}


def run(*command, cwd=ROOT, **more):
    done = subprocess.run(command, cwd=cwd, env={**ENVIRONMENT, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def make_tarball():
    run("dev/dist")
    folder = os.path.join(ROOT, "build-dist")
    return next(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".tar.gz"))


@functools.cache
def tarball():
    """The tarball of HEAD, made once for all tests: building the page takes longest."""
    return make_tarball()


def path_without(*programs):
    """A PATH made of links to everything in this one's folders but the programs named."""
    place = tempfile.mkdtemp()
    for folder in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            link = os.path.join(place, name)
            if os.path.lexists(link):
                os.unlink(link)
            if name not in programs:
                os.symlink(os.path.join(folder, name), link)
    return place


def build(archive, place):
    """Unpacks and builds in a network namespace with nothing in it, without npm; returns the program."""
    run("tar", "-x", "-C", place, "-f", archive)
    source = os.path.join(place, os.listdir(place)[0])
    path = path_without("npm", "node", "npx")
    try:
        run("unshare", "--net", "--map-root-user", "make", "build", cwd=source, PATH=path)
    finally:
        shutil.rmtree(path)
    return os.path.join(source, "build", "nod")


def test_two_tarballs_of_one_commit_are_equal():
    with tempfile.TemporaryDirectory() as place:
        kept = shutil.copy(tarball(), place)
        assert filecmp.cmp(kept, make_tarball(), shallow=False), "the second tarball differs"


def test_two_builds_of_the_tarball_are_equal_and_name_no_folder():
    with tempfile.TemporaryDirectory(prefix="one-") as one, tempfile.TemporaryDirectory(prefix="another-") as two:
        programs = [build(tarball(), one), build(tarball(), two)]
        assert filecmp.cmp(*programs, shallow=False), "the second program differs"
        for folder, program in zip((one, two), programs):
            assert folder.encode() not in open(program, "rb").read(), f"{folder} is in the program"
        commit = run("git", "rev-parse", "--short=12", "HEAD").strip()
        assert commit in run(programs[0], "version"), run(programs[0], "version")


def program_before(place):
    """A program of the newest commit that knew one schema of PostgreSQL less than today's."""
    with open(os.path.join(ROOT, "src/store/postgres_schema.c"), encoding="utf-8") as file:
        today = max(map(int, re.findall(r"const step_(\d+)\[\]", file.read())))
    made = run("git", "log", "--format=%H", f"-Sconst step_{today}[]", "--", "src/store/postgres_schema.c").split()
    if not made:
        raise AssertionError("the history does not go back to the last schema: clone without --depth")
    subprocess.run(f"git archive {made[-1]}^ | tar -x -C {place}", shell=True, check=True, cwd=ROOT)
    run("make", "build", cwd=place)
    return os.path.join(place, "build", "nod")


def test_a_node_of_the_last_schema_is_refused_by_name_beside_todays():
    import server
    import world
    if not server.find_programs():
        raise AssertionError("PostgreSQL is not installed (dev/setup test)")
    run("make", "build")
    world.NOD = os.path.join(ROOT, "build", "nod")
    with tempfile.TemporaryDirectory() as place:
        before, today = program_before(place), world.NOD
        pg, estate = server.Postgres().start(), world.World()
        try:
            url = pg.create("nod")
            world.NOD = before
            old = estate.server("--store", url, data=os.path.join(estate.folder, "old"))
            admin = old.admin()
            session = admin.session(toolPolicies={"Bash": "ask"})
            admin.call(session["threadId"], "Bash", {"command": "make"}, id="before")
            world.NOD = today
            new = estate.server("--store", url, data=os.path.join(estate.folder, "new"))
            for reply in (admin.ask(session["threadId"], "Bash", {"command": "make"}, id="c1"), admin.decide(session["id"], "before", "deny")):
                world.must(reply.status == 503 and reply.code == "outdated" and "newer nod" in reply.json["error"]["message"], f"{reply}")
            world.must(admin.get("/readyz").status == 503, "the older node says that it is ready")
            world.Client(new, admin.token).decided(session["id"], "before", "allow_once")
            old.stop()
            world.NOD = before
            again = world.Server(estate, old.data, ["--store", url]).start(wait=False)
            world.must(again.process.wait(world.PATIENCE) == 1 and "use a newer nod" in again.log(), again.log())
            world.NOD = today
            estate.nod("verify", "--store", url)
        finally:
            estate.close(quietly=True)
            pg.remove()


def main():
    good = bad = 0
    for name, test in list(globals().items()):
        words = name[5:].replace("_", " ")
        if not name.startswith("test_") or (sys.argv[1:] and not any(word in words for word in sys.argv[1:])):
            continue
        try:
            test()
            good += 1
            print(f"ok      release: {words}", flush=True)
        except Exception:  # noqa: BLE001: whatever a test raises is its failure
            bad += 1
            print(f"FAILED  release: {words}\n{traceback.format_exc()}", flush=True)
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
