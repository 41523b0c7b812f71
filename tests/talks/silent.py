"""File systems that do not answer keep nobody waiting but whoever uses them: a program of our own behind /dev/fuse."""
import contextlib
import ctypes
import os
import struct
import threading
import time

from world import Skip, eventually, must, within

LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26
LIBC = ctypes.CDLL(None, use_errno=True)


class Silent:
    """A mount with one file `x`. It answers the requests in `answers`, and none of the others, ever."""

    def __init__(self, at, answers=()):
        self.at, self.answers = at, answers
        os.makedirs(at, exist_ok=True)
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise Skip(f"no FUSE here: {error}") from error
        options = f"fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        if LIBC.mount(b"silent", at.encode(), b"fuse", 0, options.encode()):
            os.close(self.fd)
            raise Skip(f"no mount: {os.strerror(ctypes.get_errno())}")
        threading.Thread(target=self.serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """What hangs is let go first: it gets an error."""
        os.close(self.fd)
        LIBC.umount2(self.at.encode(), 2)

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                request = os.read(self.fd, 1 << 20)
                _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                if opcode in self.answers:
                    body = self.answer(opcode, node)
                    os.write(self.fd, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)

    @staticmethod
    def answer(opcode, node):
        def attributes(ino):
            return struct.pack("<QQQQQQIIIIIIIIII", ino, 4, 1, 0, 0, 0, 0, 0, 0, 0o40755 if ino == 1 else 0o100644, 1, 0, 0, 0, 4096, 0)
        if opcode == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0)
        if opcode == LOOKUP:
            return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2)
        return struct.pack("<QII", 0, 0, 0) + attributes(node)


def asked(admin, session, calls):
    """Each call must come to its answer, and the server must speak with others meanwhile."""
    for number, (tool, given) in enumerate(calls):
        began = time.monotonic()
        thread = threading.Thread(target=lambda: admin.call(session["threadId"], tool, given, id=f"{session['id']}.{number}"))  # noqa: B023
        thread.start()
        must(admin.get("/api/sessions").status == 200, "others are answered")
        thread.join(within(10))
        must(not thread.is_alive(), f"{tool} {given} has no answer after {time.monotonic() - began:.0f} s")
        must(admin.status(f"{session['id']}.{number}", session=session["id"])["status"] == "awaiting", f"{tool} {given} passes")


CALLS = [("Edit", {"file_path": "h/x", "old_string": "a", "new_string": "b"}), ("Read", {"file_path": "h/x"}), ("Write", {"file_path": "h/y", "content": "x"}),
         ("Bash", {"command": "cat h/x"}), ("Bash", {"command": "grep -r x ."}), ("Bash", {"command": "cd h && cat x"}), ("Bash", {"command": "echo x > l/y"})]


def test_a_mount_that_does_not_answer_stops_nobody(world):
    world.environment.pop("NOD_READ_ONLY_COMMANDS")
    server = world.server()
    admin, folder = server.admin(), os.path.join(world.folder, "project")
    os.mkdir(folder)
    os.symlink("h", os.path.join(folder, "l"))
    with Silent(os.path.join(folder, "h")):
        asked(admin, admin.session(cwd=folder), CALLS)
        asked(admin, admin.session(cwd=os.path.join(folder, "h")), [("Edit", {"file_path": "x", "old_string": "a", "new_string": "b"}), ("Read", {"file_path": "x"})])
    server.stop()


def test_a_file_that_cannot_be_opened_in_time_is_asked_about_as_it_is(world):
    """The mount answers as long as it is looked at, and not when a file is read."""
    server = world.server()
    admin, folder = server.admin(), os.path.join(world.folder, "project")
    with Silent(os.path.join(folder, "h"), (INIT, LOOKUP, GETATTR)):
        session = admin.session(cwd=folder)
        eventually(lambda: os.stat(os.path.join(folder, "h", "x")).st_size == 4, "the mount answers")
        asked(admin, session, CALLS[:1])
        listed, = admin.pending()
        must(not listed.get("inFile") and listed["preview"]["fragment"], f"{listed}")
    server.stop()
