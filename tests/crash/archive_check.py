#!/usr/bin/env python3
"""The independent checker of archives: reads the store's file, the folder of archives and a list of what was kept.

    archive_check.py --db FILE --archives FOLDER --kept FILE [--finished]

It shares no code with Nod. `--kept` is a copy of the store from before anything was archived. `--finished`: archiving
has come to its end, and leaves nothing unfinished behind.

What must hold
  1. Every event that was kept is, with all its bytes, in the store or in the archive that its session's
     SESSION_ARCHIVED names; never in neither, and never some of a session here and some only there.
  2. Such an archive is the file that the event describes (SHA-256), and its chain, recomputed, ends with the hash
     from which the chain in the store goes on.
  3. The numbers and the calls that the store lists as gone are exactly those of the sessions that left.
  4. What is in the store is sound by itself (check.py).
"""
import argparse
import hashlib
import json
import os
import sys
import tempfile

import check


class Archives:
    def __init__(self, folder):
        self.folder, self.files = folder, {}

    def sessions(self, name):
        """session → its events, of one file; None when there is no such file."""
        path = os.path.join(self.folder, name)
        if name not in self.files:
            if not os.path.exists(path):
                return None
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            sessions = {}
            for event in check.events_of(check.copy_of(path)):
                sessions.setdefault(event.session, []).append(event)
            self.files[name] = digest, sessions
        return self.files[name]


class Walk:
    def __init__(self, options):
        self.database = check.copy_of(options.db)
        self.here, self.stubs = {}, {}
        for event in check.events_of(self.database):
            if event.kind == check.ARCHIVED:
                self.stubs[event.session] = event
            else:
                self.here.setdefault(event.session, []).append(event)
        self.kept = {}
        for event in check.events_of(check.copy_of(options.kept)):
            self.kept.setdefault(event.session, []).append(event)
        self.archives = Archives(options.archives)
        self.troubles = []

    def trouble(self, words):
        self.troubles.append(words)

    def left(self, session, kept):
        said = json.loads(self.stubs[session].data)
        there = self.archives.sessions(said["archive"])
        if there is None:
            return self.trouble(f"{session} left for {said['archive']}, which is not there")
        digest, sessions = there
        if digest != said["archiveDigest"]:
            self.trouble(f"{said['archive']} is not the file that {session} left for")
        if sessions.get(session) != kept:
            self.trouble(f"{session} is not whole in {said['archive']}")
        before = bytes(32)
        for event in sessions.get(session, []):
            before = check.link(before, event)
            if before != event.hash:
                return self.trouble(f"the chain of {session} breaks in {said['archive']} at seq {event.seq}")
        if before.hex() != said["hash"] or said["events"] != len(kept) or said["lastSeq"] != kept[-1].seq:
            self.trouble(f"{session}: the store does not go on where {said['archive']} ends")
        return None

    def sessions(self):
        for session, kept in self.kept.items():
            here = self.here.get(session, [])
            if session in self.stubs:
                if here:
                    self.trouble(f"{session} left, and {len(here)} events of it are here")
                self.left(session, kept)
            elif here[:len(kept)] != kept:
                self.trouble(f"{session} did not leave, and {len(here)} of its {len(kept)} events are here")

    def lists(self):
        left = [event for session, events in self.kept.items() if session in self.stubs for event in events]
        gone = [seq for first, last in self.database.execute("SELECT first_seq, last_seq FROM gone ORDER BY 1")
                for seq in range(first, last + 1)]
        if gone != sorted(event.seq for event in left):
            self.trouble(f"{len(gone)} numbers are listed as gone, {len(left)} left")
        first = {session: events[0].seq for session, events in self.kept.items()}
        calls = set(self.database.execute("SELECT call_id, chain FROM archived_calls"))
        if calls != {(event.call, first[event.session]) for event in left if event.kind == check.CALL}:
            self.trouble(f"{len(calls)} calls are listed as archived")

    def folder(self):
        for name in os.listdir(self.archives.folder):
            if name.endswith((".part", ".unfinished")):
                self.trouble(f"{name} was left behind")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--db", "--archives", "--kept"):
        parser.add_argument(name, required=True)
    parser.add_argument("--finished", action="store_true")
    options = parser.parse_args()
    walk = Walk(options)
    walk.sessions()
    walk.lists()
    if options.finished:
        walk.folder()
    with tempfile.TemporaryDirectory() as nobody:
        inner = check.Check(walk.database, nobody)
    inner.order()
    inner.chain()
    inner.one_of_each()
    inner.open_approvals()
    for words in (walk.troubles + inner.troubles)[:20]:
        print(f"TROUBLE {words}")
    print(f"sessions={len(walk.kept)} left={len(walk.stubs)} archives={len(walk.archives.files)}")
    return 1 if walk.troubles or inner.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
