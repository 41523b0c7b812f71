"""A full disk: nothing acknowledged that is not durable, clear words, and it goes on when there is room again."""
import os
import subprocess

from world import Skip, eventually, must

MIB = 1 << 20


class SmallDisk:
    def __init__(self, world, mib):
        self.path = os.path.join(world.folder, "disk")
        os.mkdir(self.path)
        if os.geteuid() != 0:
            raise Skip("needs root to mount a small tmpfs")
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0700", "tmpfs", self.path], capture_output=True, text=True)
        if made.returncode != 0:
            raise Skip(f"cannot mount a small tmpfs: {made.stderr.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)

    def fill(self, leave=0):
        """Takes all room but `leave` bytes."""
        stats = os.statvfs(self.path)
        room = stats.f_bavail * stats.f_frsize - leave
        with open(os.path.join(self.path, "filler"), "wb") as file:
            file.write(b"x" * max(room, 0))

    def empty(self):
        os.unlink(os.path.join(self.path, "filler"))


def test_full_and_free_again(world):
    with SmallDisk(world, 24) as disk:
        data = os.path.join(disk.path, "data")
        server = world.server(data=data)
        admin = server.admin()
        made = admin.session()
        acknowledged, refused = [], []

        def ask(call):
            reply = admin.ask(made["threadId"], "Bash", {"command": "x" * 50_000}, id=call)
            (acknowledged if reply.status == 200 else refused).append((call, reply))
            return reply

        for number in range(5):
            ask(f"before{number}")
        must(not refused, "refused while there was room")
        disk.fill(200_000)
        for number in range(30):
            ask(f"full{number}")
        must(refused, "everything was acknowledged on a full disk")
        for call, reply in refused:
            must(reply.status in (500, 503, 507) and reply.json["error"]["message"], f"{call}: {reply}")
        must(refused[-1][1].status == 503, f"try again later is 503: {refused[-1][1]}")
        eventually(lambda: "full" in server.log().lower() or "space" in server.log().lower(), lambda: f"words about it:\n{server.log()[-1500:]}")
        must(admin.get("/healthz").status == 200, "the process is up")
        must(admin.get("/readyz").status == 503, "ready although nothing can be kept")
        must(admin.get("/api/approvals/pending").status == 200, "what was kept can be read")
        known = {p["toolCallId"] for p in admin.pending()}
        must(known == {call for call, _ in acknowledged}, "the list is not what was acknowledged")
        decision = admin.decide(made["id"], "before0", "allow_once")
        disk.empty()
        eventually(lambda: ask("later").status == 200, "goes on when there is room")
        eventually(lambda: admin.get("/readyz").status == 200, "ready again")
        for call, _ in refused:
            if call != "later":
                must(ask(call).status == 200, f"{call} again")
        server.kill()
        server.start()
        after = {p["toolCallId"] for p in admin.pending()}
        want = {call for call, _ in acknowledged} - ({"before0"} if decision.status == 200 else set())
        must(after == want, f"lost: {want - after}, extra: {after - want}")
        checked = world.nod("verify", "--data", data)
        must(checked.process.returncode == 0, checked.stdout)
        server.stop()


def test_full_from_the_start(world):
    with SmallDisk(world, 2) as disk:
        disk.fill(0)
        command = world.start("serve", "--data", os.path.join(disk.path, "data"), "--listen", "127.0.0.1:0")
        status = command.wait()
        must(status != 0, "started without room for anything")
        must("disk" in command.stderr.lower() or "space" in command.stderr.lower() or "full" in command.stderr.lower(),
             f"no clear words: {command.stderr!r}")
