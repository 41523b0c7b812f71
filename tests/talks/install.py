"""make install: every file where it belongs, and a program that can be set up from there."""
import os
import shutil
import subprocess

from world import NOD, Skip, must


def test_program_manual_completions_and_unit(world):
    build = os.path.dirname(NOD)
    if not shutil.which("cmake") or not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        raise Skip("no build folder to install from")
    for destdir in ("", os.path.join(world.folder, "root")):
        prefix = os.path.join(world.folder, "usr")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": destdir})
        there = destdir + prefix
        for name, words in (("bin/nod", b"ELF"), ("share/man/man1/nod.1", b".TH"), ("share/bash-completion/completions/nod", b"setup"),
                            ("share/zsh/site-functions/_nod", b"#compdef nod"), ("share/fish/vendor_completions.d/nod.fish", b"setup"),
                            ("lib/systemd/user/nod.service", f"ExecStart={prefix}/bin/nod serve".encode())):
            must(words in open(os.path.join(there, name), "rb").read(), f"{name} lacks {words}")
