#!/usr/bin/env python3
"""The independent checker: reads the database and what the clients wrote down, and nothing else.

    check.py --db FILE --clients FOLDER [--pending FILE]

It shares no code with Nod. `--db` is a copy taken while no server ran (its -wal beside it). In the folder
each client has one file of JSON lines, one per thing that was acknowledged to it or that it saw. `--pending`
is the answer of GET /api/approvals/pending after the next start, to be held against that copy.

What must hold
  1. Every event that was acknowledged is there, as it was acknowledged.
  2. No call has two of a kind: one TOOL_CALL, one request, one alert (of a call that waits for long), one response, one
     result; in that order; a response only after a request, a result only after an allow.
  3. A follower saw the events of its scope from the first on, each once, in order, with these contents.
  4. The table of open approvals is what the events say: requested and not answered; so is the pending list.
  5. seq is 1, 2, 3, … but for numbers that are in archives, and every session's hash chain can be recomputed from the
     documented formula.
"""
import argparse
import collections
import glob
import hashlib
import json
import os
import re
import sqlite3
import struct
import sys

CALL, REQUEST, RESPONSE, STARTED, RESULT = 3, 4, 5, 6, 7
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/event/event.h"), encoding="utf-8") as table:
    NAMES = {int(number): name for number, name in re.findall(r"X\((\d+), (\w+), ", table.read())}
ARCHIVED, ALERT = 16, 17
ALLOWS = ("allow_once", "allow_session", "allow_always")

Event = collections.namedtuple("Event", "seq session thread kind at_ms actor call data no hash")


def link(before, event):
    """The documented formula."""
    place = b"\2" + struct.pack(">Q", event.no) if event.no else struct.pack(">Q", event.seq)
    pieces = [before, place, event.session.encode(), event.thread.encode(), struct.pack(">I", event.kind),
              struct.pack(">q", event.at_ms), event.actor.encode(), event.call.encode(), event.data.encode()]
    return hashlib.sha256(b"".join(struct.pack(">Q", len(piece)) + piece for piece in pieces)).digest()


def events_of(database):
    return [Event(*row) for row in database.execute(
        "SELECT seq, session_id, thread_id, kind, at_ms, actor, coalesce(call_id, ''), data, coalesce(no, 0), hash FROM events ORDER BY seq")]


def told(event):
    """The data as followers get it: the hash of a token stays in the store."""
    return re.sub(r',"hash":"[0-9a-f]*"', "", event.data) if NAMES[event.kind] == "TOKEN_CHANGED" else event.data


class Check:
    def __init__(self, database, clients):
        self.troubles = []
        self.events = events_of(database)
        self.gone = {seq for first, last in database.execute("SELECT first_seq, last_seq FROM gone") for seq in range(first, last + 1)}
        self.groups = dict(database.execute("SELECT last_seq, hash FROM groups ORDER BY last_seq"))
        self.listed = database.execute("SELECT value FROM meta WHERE name = 'indexed'").fetchone()[0]
        self.chains = {row[0]: row[1:] for row in database.execute("SELECT session_id, last_seq, hash FROM heads")}
        self.open = {(row[0], row[1]) for row in database.execute("SELECT session_id, call_id FROM open_now")}
        self.deadlines = {(row[0], row[1]): row[2] for row in database.execute(
            "SELECT session_id, call_id, deadline_ms FROM open_now")}
        self.clients = {os.path.basename(path): list(self.lines(path)) for path in sorted(glob.glob(os.path.join(clients, "*.jsonl")))}
        self.by_seq = {event.seq: event for event in self.events}
        self.calls = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in self.events:
            if event.call:
                self.calls[event.session, event.call][event.kind].append(event)
        self.counts = collections.Counter()

    def lines(self, path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)

    def trouble(self, words):
        self.troubles.append(words)

    # ---- 5 ----
    def order(self):
        seqs = {event.seq for event in self.events}
        last = max(seqs | self.gone, default=0)
        if seqs & self.gone:
            self.trouble(f"here, and said to be in archives: {sorted(seqs & self.gone)[:5]}")
        missing = sorted(set(range(1, last + 1)) - seqs - self.gone)
        if missing:
            self.trouble(f"seq {missing[0]} is missing")
        said = sum(json.loads(event.data)["events"] for event in self.events if event.kind == ARCHIVED)
        if said != len(self.gone):
            self.trouble(f"{len(self.gone)} numbers left, {said} events were archived")

    def group_chain(self):
        """Each group covers the one before it and the links of its events, as far as these are not in archives."""
        links, before, first = {event.seq: event.hash for event in self.events}, None, 1
        for last, found in self.groups.items():
            span = range(first, last + 1)
            if before is None:
                should = bytes(32)
            else:
                should = hashlib.sha256(before + b"".join(links.get(seq, b"") for seq in span) + struct.pack(">Q", last)).digest()
            if found != should and not (before and any(seq in self.gone for seq in span)):
                self.trouble(f"the group that ends with seq {last} is not what was written")
            before, first = found, last + 1
        if first - 1 != self.listed:
            self.trouble(f"the last group ends with seq {first - 1}, the lists with {self.listed}")
        if first - 1 > max(links, default=0):
            self.trouble(f"the last group ends with seq {first - 1}, the events with {max(links, default=0)}")

    def chain(self):
        heads = {}
        for event in self.events:
            before = heads.get(event.session, (0, bytes(32)))[1]
            if event.kind == ARCHIVED:
                if event.session in heads:
                    self.trouble(f"{event.session} was archived, and seq {heads[event.session][0]} of it is here")
                before = bytes.fromhex(json.loads(event.data)["hash"])
            if link(before, event) != event.hash:
                self.trouble(f"the chain breaks at seq {event.seq} ({NAMES[event.kind]} of {event.session})")
            heads[event.session] = (event.seq, event.hash)
        if heads != self.chains:
            different = {s for s in heads.keys() | self.chains.keys() if heads.get(s) != self.chains.get(s)}
            self.trouble(f"the heads of the chains are not the last events: {sorted(different)[:5]}")
        self.counts["events"] = len(self.events)

    # ---- 2 ----
    def one_of_each(self):
        for (session, call), kinds in self.calls.items():
            name = f"{call} of {session}"
            for kind, events in kinds.items():
                if len(events) > 1:
                    self.trouble(f"{name} has {len(events)} {NAMES[kind]}: seq {[e.seq for e in events]}")
            order = [kinds[kind][0].seq for kind in sorted(kinds, key=lambda kind: REQUEST + 0.5 if kind == ALERT else kind)]
            if order != sorted(order):
                self.trouble(f"{name}: events out of order: { {NAMES[k]: e[0].seq for k, e in kinds.items()} }")
            if CALL not in kinds:
                self.trouble(f"{name} has events and no TOOL_CALL")
            if RESPONSE in kinds and REQUEST not in kinds:
                self.trouble(f"{name} was answered and never asked")
            if len({event.thread for events in kinds.values() for event in events}) > 1:
                self.trouble(f"{name} lies in several threads")
            if RESULT in kinds and not self.allowed(kinds):
                self.trouble(f"{name} has a result and was not allowed")
        self.counts["calls"] = len(self.calls)

    def allowed(self, kinds):
        if REQUEST in kinds:
            return RESPONSE in kinds and json.loads(kinds[RESPONSE][0].data)["decision"] in ALLOWS
        return json.loads(kinds[CALL][0].data)["verdict"]["effect"] == "allow"

    # ---- 4 ----
    def open_approvals(self):
        waiting = {key for key, kinds in self.calls.items() if REQUEST in kinds and RESPONSE not in kinds}
        if waiting != self.open:
            self.trouble(f"open approvals: missing {sorted(waiting - self.open)[:5]}, extra {sorted(self.open - waiting)[:5]}")
        self.counts["open"] = len(waiting)

    def pending(self, path):
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
        listed = [(p["sessionId"], p["toolCallId"]) for p in answer["pendingApprovals"]]
        if len(set(listed)) != len(listed):
            self.trouble("the pending list names a call twice")
        # One whose deadline passed while no server ran is answered by the next start.
        due = {key for key, deadline in self.deadlines.items() if deadline and deadline <= answer["readAtMs"]}
        if set(listed) - self.open or self.open - set(listed) - due:
            self.trouble(f"pending after the restart: missing {sorted(self.open - set(listed) - due)[:5]}, "
                         f"extra {sorted(set(listed) - self.open)[:5]}")
        order = [self.calls[key][REQUEST][0].seq for key in listed if key in self.open]
        if order != sorted(order):
            self.trouble("the pending list is not oldest first")

    # ---- 1 ----
    def acknowledged(self):
        for client, lines in self.clients.items():
            for line in lines:
                if "ack" not in line:
                    continue
                self.counts["acknowledged"] += 1
                words = getattr(self, "ack_" + line["ack"])(line)
                if words:
                    self.trouble(f"{client}: {words}: {line}")

    def one(self, line, kind):
        events = self.calls.get((line["session"], line["call"]), {}).get(kind)
        return events[0] if events else None

    def ack_session(self, line):
        return None if line["session"] in self.chains else "an acknowledged session is missing"

    def ack_call(self, line):
        call = self.one(line, CALL)
        if not call:
            return "an acknowledged call is missing"
        if json.loads(call.data)["input"] != line["input"] or call.thread != line["thread"]:
            return "an acknowledged call is another"
        if line["status"] == "awaiting" and not self.one(line, REQUEST):
            return "a call that was said to wait was never asked"
        return self.ack_answer(line)

    def ack_answer(self, line):
        """What the agent was told about its call."""
        if not line.get("actor"):
            return None
        response = self.one(line, RESPONSE)
        if not response:
            return "an answer that the agent was told is missing"
        data = json.loads(response.data)
        if data["decision"] != line["decision"] or response.actor != line["actor"]:
            return f"the agent was told another answer than {data['decision']} by {response.actor}"
        return None

    def ack_decision(self, line):
        response = self.one(line, RESPONSE)
        if not response:
            return "an acknowledged decision is missing"
        data = json.loads(response.data)
        if (data["decision"], response.actor, data.get("feedback")) != (line["decision"], line["actor"], line["feedback"]):
            return f"another decision stands: {data} by {response.actor}"
        if response.seq != line["seq"]:
            return f"its seq is {response.seq}"
        return None

    def ack_winner(self, line):
        """A 409: the winner it named must be the one that stands."""
        response = self.one(line, RESPONSE)
        if not response:
            return "a winner was named and no decision stands"
        if json.loads(response.data)["decision"] != line["decision"] or response.actor != line["actor"]:
            return f"the winner is {json.loads(response.data)['decision']} by {response.actor}"
        return None

    def ack_result(self, line):
        result = self.one(line, RESULT)
        if not result:
            return "an acknowledged result is missing"
        return None if json.loads(result.data)["content"] == line["content"] else "another result stands"

    def ack_cancel(self, line):
        response = self.one(line, RESPONSE)
        return None if response and json.loads(response.data)["decision"] == "cancelled" else "an acknowledged cancellation is missing"

    # ---- 3 ----
    def followers(self):
        for client, lines in self.clients.items():
            if not lines or "follows" not in lines[0]:
                continue
            scope = lines[0]["follows"]
            seen = [line for line in lines if "seq" in line and "ack" not in line]
            want = [event for event in self.events if self.in_scope(event, scope)]
            self.counts["followed"] += len(seen)
            for number, line in enumerate(seen):
                if number >= len(want):
                    self.trouble(f"{client}: saw seq {line['seq']}, which is not there")
                    break
                event = want[number]
                if line["seq"] != event.seq:
                    kind = "a repeat" if line["seq"] < event.seq else "a gap"
                    self.trouble(f"{client}: {kind}: seq {line['seq']} came where {event.seq} should")
                    break
                if line["type"] != NAMES[event.kind] or line["data"] != hashlib.sha256(told(event).encode()).hexdigest():
                    self.trouble(f"{client}: seq {event.seq} was seen with other contents")
                    break

    @staticmethod
    def in_scope(event, scope):
        return ((not scope.get("session") or event.session == scope["session"])
                and (not scope.get("thread") or event.thread == scope["thread"])
                and (not scope.get("types") or NAMES[event.kind] in scope["types"]))


def copy_of(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA query_only = 1")
    whole = database.execute("PRAGMA quick_check").fetchone()[0]
    if whole != "ok":
        raise SystemExit(f"the database is damaged: {whole}")
    return database


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", required=True)
    parser.add_argument("--clients", required=True)
    parser.add_argument("--pending")
    options = parser.parse_args()
    check = Check(copy_of(options.db), options.clients)
    check.order()
    check.chain()
    check.group_chain()
    check.one_of_each()
    check.open_approvals()
    check.acknowledged()
    check.followers()
    if options.pending:
        check.pending(options.pending)
    for words in check.troubles[:20]:
        print(f"TROUBLE {words}")
    if len(check.troubles) > 20:
        print(f"TROUBLE … and {len(check.troubles) - 20} more")
    print(" ".join(f"{name}={count}" for name, count in sorted(check.counts.items())))
    return 1 if check.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
