"""Building: a build that fails says so, and an image takes nothing of the host's build folders."""
import fnmatch
import os
import re
import shutil
import subprocess

from world import Skip, must

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def test_make_build_fails_when_the_build_fails(world):
    shutil.copy(os.path.join(ROOT, "Makefile"), world.folder)
    program(world.folder, "dev/setup", "exit 0")
    for cmake, ninja, status in (("exit 0", "exit 0", 0), ("echo broken; exit 1", "exit 0", 2), ("exit 0", "echo broken; exit 1", 2)):
        program(world.folder, "bin/cmake", cmake)
        program(world.folder, "bin/ninja", ninja)
        run = subprocess.run(["make", "build"], cwd=world.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                             env={**os.environ, "PATH": f"{world.folder}/bin:{os.environ['PATH']}", "MAKEFLAGS": ""})
        must(run.returncode == status and (status == 0 or "broken" in run.stdout), f"cmake {cmake}, ninja {ninja}: {run.returncode} {run.stdout}")


def test_another_linker_gets_no_script_of_gnu_ld(world):
    """LDFLAGS may name one that cannot read it."""
    if not shutil.which("ld.gold") or not shutil.which("cmake") or not shutil.which("ninja"):
        raise Skip("gold, cmake and ninja are needed")
    folder = os.path.join(world.folder, "build")
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja"], env={**os.environ, "LDFLAGS": "-fuse-ld=gold"}, check=True, capture_output=True)
    with open(os.path.join(folder, "build.ninja"), encoding="utf-8") as file:
        rules = file.read()
    must("-fuse-ld=gold" in rules and "linker.ld" not in rules, "gold is given GNU ld's script")


def test_an_image_takes_no_build_folder_and_keeps_its_data(world):
    with open(os.path.join(ROOT, ".dockerignore"), encoding="utf-8") as file:
        patterns = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for folder in ("build", "build-asan", "build-tsan", ".git", "web/dist"):
        must(any(fnmatch.fnmatch(folder, pattern) for pattern in patterns), f"{folder} goes into the image: {patterns}")
    for needed in ("src", "web", "web/src", "CMakeLists.txt", "dev"):
        must(not any(fnmatch.fnmatch(needed, pattern) for pattern in patterns), f"{needed} is missing in the image: {patterns}")
    with open(os.path.join(ROOT, "packaging", "Containerfile"), encoding="utf-8") as file:
        must("\nVOLUME /data" in file.read(), "what is kept would go with the container")


def test_make_image_keeps_the_health_check_and_names_the_commit(world):
    """podman leaves HEALTHCHECK out of an image unless it has docker's format; docker knows no such option."""
    for engine, options in (("podman", "build --format docker -f"), ("docker", "build -f")):
        folder = os.path.join(world.folder, engine)
        os.mkdir(folder)
        shutil.copy(os.path.join(ROOT, "Makefile"), folder)
        program(folder, f"bin/{engine}", 'echo "ran: $@"')
        program(folder, "bin/git", "echo 0123456789ab")
        for name in ("sh", "sed", "nproc"):
            os.symlink(shutil.which(name), os.path.join(folder, "bin", name))
        run = subprocess.run([shutil.which("make"), "image"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                             env={"PATH": f"{folder}/bin", "MAKEFLAGS": ""})
        must(f"ran: {options}" in run.stdout and "--build-arg NOD_COMMIT=0123456789ab" in run.stdout, run.stdout)


def test_the_service_is_confined(world):
    """Below 3.0 of 10 in systemd's own count of what a service could reach."""
    if not shutil.which("systemd-analyze"):
        raise Skip("there is no systemd-analyze")
    unit = os.path.join(world.folder, "nod.service")
    with open(os.path.join(ROOT, "packaging", "nod.service"), encoding="utf-8") as file, open(unit, "w", encoding="utf-8") as copy:
        copy.write(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", file.read()))  # the program need not be installed
    run = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for nod\.service: ([\d.]+)", run.stdout)
    must(found and float(found[1]) < 3.0, run.stdout[-300:] + run.stderr)


def test_one_version_everywhere(world):
    def first(name, pattern):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            return re.search(pattern, file.read(), re.M)[1]
    found = {"CMakeLists.txt": first("CMakeLists.txt", r"^project\(nod VERSION ([\d.]+)"), "CHANGELOG.md": first("CHANGELOG.md", r"^## ([\d.]+)"),
             "packaging/debian/changelog": first("packaging/debian/changelog", r"^nod \(([\d.]+)\)"),
             "nod --version": world.nod("--version").stdout.split()[1]}
    must(len(set(found.values())) == 1, f"{found}")
