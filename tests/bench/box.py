"""A command in a box beside the same command without one."""
import os
import statistics
import subprocess
import tempfile
import time

from frame import NOD, Broken, section

ROUNDS = 60
OVER_MS = 8


def place(*ends):
    """The pipes that the launcher expects, under 3, 4 and 5."""
    above = [os.dup2(fd, 200 + n) for n, fd in enumerate(ends)]
    for n, fd in enumerate(above):
        os.dup2(fd, 3 + n)
        os.close(fd)


def started_ms(words):
    report, report_end = os.pipe()
    life_end, life = os.pipe()
    out, out_end = os.pipe()
    began = time.perf_counter()
    process = subprocess.Popen([*words, "/", "/bin/true", "true"], executable=NOD, close_fds=False,
                               preexec_fn=lambda: place(out_end, report_end, life_end), env={"PATH": "/usr/bin:/bin"})
    for fd in (out_end, report_end, life_end):
        os.close(fd)
    got = os.read(report, 1000)
    took = (time.perf_counter() - began) * 1000
    for fd in (report, life, out):
        os.close(fd)
    process.wait()
    if len(got) < 8 or got[0] != 1 or got[4:8] != b"\0\0\0\0":
        raise Broken(f"it did not run: {got!r}")
    return took


@section("box")
def box(world, report):
    with tempfile.TemporaryDirectory(prefix="nod-bench-box-") as folder:
        project = os.path.join(folder, "project")
        os.mkdir(project)
        words = ["nod-box", f"project={project}", f"home={folder}/home", f"locks={folder}/locks", "--"]
        bare, boxed = [], []
        for _ in range(ROUNDS):
            bare.append(started_ms(["nod-supervisor"]))
            boxed.append(started_ms(words))
    over = statistics.median(boxed) - statistics.median(bare)
    report.row("/bin/true in a box over a bare one; to 8 ms", over, "ms", OVER_MS, over / OVER_MS, at_most=1)
