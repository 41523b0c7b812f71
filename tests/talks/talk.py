"""The language of the talks: a conversation with the whole program, one sentence per line.

A file holds talks; each begins with `talk "title"` and has its own server and data folder. # starts a
comment. Someone is introduced by a role the first time (`agent a`, `person p`, `viewer v`) and is called by
name from then on; an agent's token is bound to the session it is introduced in. `$s` in a line is the id of
session s, `$s.thread` its main thread, `$t` the id of thread t, and whatever `keep` has kept.

    server [ARGUMENTS]                            starts it; the next line also stops and starts it
    server killed -9, started again [ARGUMENTS]   (or: stopped, started again)
    session s [SETTINGS]                          made by the admin; becomes the current one
    thread t [of s] [under t0]
    agent a [in s] [on t] calls TOOL INPUT id=C   asks, and waits in the background, over restarts too
    a is answered C STATUS [PATTERN]              the waiting ends with this answer
    a still waits for C
    p sees C STATUS [PATTERN]                     awaiting: in the pending list; else by the call itself
    p allows C once|for the session|always [saying "WORDS"] [with INPUT] [-> STATUS PATTERN]
    p denies C [saying "WORDS"] [-> …]            p aborts C …
    a cancels C [-> …]                            a reports C RESULT [-> …]
    pending [of s|of thread t] is C… | nothing    oldest first
    log of C is TYPE…                             log of s is TYPE… (a session)
    p GET|POST|PATCH|DELETE PATH [BODY] -> STATUS [PATTERN]
    keep NAME = a.b.0                             from the last answer
    v follows QUERY [with HEADER: VALUE]          v has seen TYPE…     v loses the stream     v follows again
    w opens a socket                              w sends MESSAGE      w receives PATTERN
    nod ARGUMENTS                                 runs a command; exits 0 unless the next line is `exits N`
    nod-bench ARGUMENTS                           the same for the program that measures
    k runs nod ARGUMENTS                          in the background;   k exits N
    prints "TEXT" | k prints "TEXT"               on standard output;  says: on standard error;  tells: either
    event N is changed: COLUMN = SQL              behind the server's back
"""
import http.client
import json
import os
import re
import shlex
import sqlite3
import threading
import time

import world
from world import PATIENCE, Failure, Skip, Socket, eventually, must, must_match

ROLES = {"agent": "agent", "person": "approver", "viewer": "viewer", "admin": "admin"}
SENTENCES = []


def sentence(pattern):
    def add(function):
        SENTENCES.append((re.compile(pattern + r"$", re.S), function))
        return function
    return add


def cut_json(text):
    """A JSON value at the start of the text, and the rest."""
    value, end = json.JSONDecoder().raw_decode(text.lstrip())
    return value, text.lstrip()[end:].strip()


class Waiter(threading.Thread):
    """An agent that has asked and waits for its answer, as a real one does: it asks again when it is cut off."""

    def __init__(self, client, thread, body):
        super().__init__(daemon=True)
        self.client, self.thread, self.body, self.answer, self.trouble = client, thread, body, None, None
        self.sent = threading.Event()
        self.start()

    def run(self):
        end = time.monotonic() + 6 * PATIENCE
        while time.monotonic() < end:
            try:
                reply = self.client.request("POST", f"/api/threads/{self.thread}/tool-calls?wait=30", self.body, timeout=60)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)
                continue
            if reply.status == 503:
                time.sleep(0.01)
            elif reply.status != 200:
                self.trouble = repr(reply)
                return
            elif reply.json["status"] != "awaiting":
                self.answer = reply.json
                return


class Talk:
    def __init__(self, title, place, lines):
        self.title, self.place, self.lines = title, place, lines

    def run(self, world):
        Telling(self, world).tell()


class Telling:
    """One talk while it is told."""

    def __init__(self, talk, world):
        self.talk, self.world, self.server = talk, world, None
        self.names, self.people, self.waiters, self.followers, self.sockets, self.programs = {}, {}, {}, {}, {}, {}
        self.current, self.reply, self.command, self.unchecked = None, None, None, None

    def tell(self):
        for number, line in self.talk.lines:
            try:
                self.say(line)
            except Skip:
                raise
            except Failure as failure:
                raise Failure(f"{self.talk.place}:{number}: {line}\n{failure}") from None
            except Exception as error:  # noqa: BLE001
                raise Failure(f"{self.talk.place}:{number}: {line}\n{type(error).__name__}: {error}") from error
        self.check_command()

    def say(self, line):
        if not re.match(r"exits \d+$", line):
            self.check_command()
        filled = re.sub(r"\$([a-z]\w*(?:\.\w+)?)", self.fill, line)
        for pattern, function in SENTENCES:
            found = pattern.match(filled)
            if found:
                return function(self, **found.groupdict())
        raise Failure("this sentence is not in the language; see talk.py")

    def fill(self, found):
        must(found[1] in self.names, f"nothing is called ${found[1]}; known: {sorted(self.names)}")
        return str(self.names[found[1]])

    def check_command(self):
        if self.unchecked:
            command, self.unchecked = self.unchecked, None
            status = command.process.returncode
            must(status == 0, f"the command ended with {status}; out {command.stdout!r}, err {command.stderr!r}")

    # ---- who and where ----
    def who(self, name, role=None, session=None):
        if name == "admin":
            return self.server.admin()
        if role:
            must(name not in self.people, f"{name} is known already")
            bound = self.session_id(session) if role == "agent" else None
            more = ["rules.user"] if role == "person" else []  # "always" is a rule for all sessions
            self.people[name] = self.server.admin().token_for(ROLES[role], name, bound, more)
        must(name in self.people, f"nobody is called {name}")
        return self.people[name]

    def session_id(self, name=None):
        if name:
            return self.names[name]
        if not self.current:
            self.make_session("s", {})
        return self.names[self.current]

    def make_session(self, name, settings):
        made = self.server.admin().session(**settings)
        self.names[name], self.names[name + ".thread"], self.current = made["id"], made["threadId"], name

    def session_of(self, call):
        found = [w for (_, c), w in self.waiters.items() if c == call]
        return found[-1].session if found else self.session_id()

    def expect(self, reply, then):
        self.reply = reply
        status, pattern = 200, None
        if then:
            head, _, rest = then.strip().partition(" ")
            status, pattern = int(head), cut_json(rest)[0] if rest.strip() else None
        must(reply.status == status, f"the answer is {reply}")
        if pattern is not None:
            must_match(pattern, reply.json)


# ---- the server ----
@sentence(r"server(?P<arguments>| -.*)")
def _(self, arguments):
    self.server = self.world.server(*shlex.split(arguments))


@sentence(r"server (?P<how>killed -9|stopped)(?P<again>, started again)?(?P<arguments>| -.*)")
def _(self, how, again, arguments):
    self.server.kill() if how == "killed -9" else self.server.stop()
    if again:
        self.server.start(*shlex.split(arguments))


@sentence(r"server started again(?P<arguments>| -.*)")
def _(self, arguments):
    self.server.start(*shlex.split(arguments))


@sentence(r"(?P<seconds>\d+(?:\.\d+)?) seconds pass")
def _(self, seconds):
    time.sleep(float(seconds))


# ---- sessions and threads ----
@sentence(r"session (?P<name>\w+)(?: (?P<settings>\{.*\}))?")
def _(self, name, settings):
    self.make_session(name, json.loads(settings or "{}"))


@sentence(r"thread (?P<name>\w+)(?: of (?P<session>\w+))?(?: under (?P<parent>\w+))?")
def _(self, name, session, parent):
    settings = {"parentId": self.names[parent]} if parent else {}
    self.names[name] = self.server.admin().thread(self.session_id(session), **settings)["id"]


@sentence(r"(?P<role>agent|person|viewer) (?P<name>\w+)(?: in (?P<session>\w+))?")
def _(self, role, name, session):
    self.who(name, role, session)


# ---- asking ----
@sentence(r"(?:(?P<role>agent) )?(?P<name>\w+)(?: in (?P<session>\w+))?(?: on (?P<thread>\w+))? calls (?P<tool>\S+) "
          r"(?P<rest>\{.*)")
def _(self, role, name, session, thread, tool, rest):
    given, options = cut_json(rest)
    options = dict(option.split("=", 1) for option in options.split())
    client = self.who(name, role, session)
    session = session or next((w.session_name for (n, _), w in self.waiters.items() if n == name), None) or self.current or "s"
    place = self.names[thread] if thread else self.names[session + ".thread"]
    waiter = Waiter(client, place, {"name": tool, "input": given, **options})
    waiter.session_name, waiter.session = session, self.names[session]
    self.waiters[name, options["id"]] = waiter


@sentence(r"(?P<name>\w+) is answered (?P<call>\S+) (?P<status>\w+)(?: (?P<pattern>\{.*\}))?")
def _(self, name, call, status, pattern):
    waiter = self.waiters[name, call]
    waiter.join(6 * PATIENCE)
    must(not waiter.trouble, f"the call was refused: {waiter.trouble}")
    must(waiter.answer, "no answer came")
    must_match({"toolCallId": call, "sessionId": waiter.session, "threadId": waiter.thread, "status": status}, waiter.answer)
    if pattern:
        must_match(json.loads(pattern), waiter.answer)


@sentence(r"(?P<name>\w+) still waits for (?P<call>\S+)")
def _(self, name, call):
    waiter = self.waiters[name, call]
    eventually(lambda: waiter.client.status(call, session=waiter.session)["status"] == "awaiting", "awaiting")
    must(waiter.is_alive() and not waiter.answer, f"the waiter has {waiter.answer or waiter.trouble}")


# ---- seeing ----
@sentence(r"(?:(?P<role>person|viewer) )?(?P<name>\w+) sees (?P<call>\S+) awaiting(?: (?P<pattern>\{.*\}))?")
def _(self, role, name, call, pattern):
    client = self.who(name, role)
    session = self.session_of(call)
    one = eventually(lambda: [p for p in client.pending(f"/sessions/{session}") if p["toolCallId"] == call],
                     lambda: f"{call} is pending; pending is {client.pending()}")[0]
    must_match({"sessionId": session, "toolCall": {"id": call}}, one)
    if pattern:
        must_match(json.loads(pattern), one)


@sentence(r"(?:(?P<role>person|viewer|agent) )?(?P<name>\w+) sees (?P<call>\S+) (?P<status>[a-z]\w*)(?: (?P<pattern>\{.*\}))?")
def _(self, role, name, call, status, pattern):
    client, session = self.who(name, role), self.session_of(call)
    eventually(lambda: client.status(call, session=session)["status"] == status,
               lambda: f"{call} is {status}: {client.status(call, session=session)}")
    if pattern:
        must_match(json.loads(pattern), client.status(call, session=session))


@sentence(r"pending(?: of (?P<thread>thread )?(?P<name>\w+))? is (?P<calls>.*)")
def _(self, thread, name, calls):
    scope = f"/{'threads' if thread else 'sessions'}/{self.names[name]}" if name else ""
    want = [] if calls == "nothing" else calls.split()
    look = lambda: [p["toolCallId"] for p in self.server.admin().pending(scope)]  # noqa: E731
    eventually(lambda: sorted(look()) == sorted(want), lambda: f"pending is {look()}")
    must(look() == want, f"pending is {look()}, oldest first")


@sentence(r"log of (?P<what>\S+) is (?P<types>[A-Z_ ]+)")
def _(self, what, types):
    admin = self.server.admin()
    if what in self.names:
        look = lambda: [e["type"] for e in admin.events(session=self.names[what])]  # noqa: E731
    else:
        session = self.session_of(what)
        look = lambda: [e["type"] for e in admin.events(session=session)  # noqa: E731
                        if what in (e["data"].get("toolCallId"), e["data"].get("id")) and e["type"].startswith("TOOL")]
    eventually(lambda: len(look()) >= len(types.split()), lambda: f"the log is {look()}")
    must(look() == types.split(), f"the log is {look()}")


# ---- deciding ----
def decide(self, role, name, call, decision, words, given, then):
    body = {"decision": decision}
    if words is not None:
        body["feedback"] = json.loads(words)
    if given:
        body["updatedInput"] = json.loads(given)
    client, session = self.who(name, role), self.session_of(call)
    if not then:
        look = lambda: [p["toolCallId"] for p in client.pending(f"/sessions/{session}")]  # noqa: E731
        eventually(lambda: call in look(), f"{call} is pending")
    self.expect(client.request("POST", f"/api/sessions/{session}/approvals/{call}", body), then)
    if not then:
        must_match({"toolCallId": call, "decision": decision, "actor": name, "seq": "*"}, self.reply.json)


THEN = r"(?: -> (?P<then>.*))?"


@sentence(r"(?:(?P<role>person) )?(?P<name>\w+) allows (?P<call>\S+) (?P<how>once|for the session|always)"
          r"(?: saying (?P<words>\"[^\"]*\"))?(?: with (?P<given>\{.*?\}))?" + THEN)
def _(self, role, name, call, how, words, given, then):
    decision = {"once": "allow_once", "for the session": "allow_session", "always": "allow_always"}[how]
    decide(self, role, name, call, decision, words, given, then)


@sentence(r"(?:(?P<role>person) )?(?P<name>\w+) (?P<how>denies|aborts) (?P<call>\S+)(?: saying (?P<words>\"[^\"]*\"))?" + THEN)
def _(self, role, name, how, call, words, then):
    decide(self, role, name, call, {"denies": "deny", "aborts": "abort"}[how], words, None, then)


@sentence(r"(?P<name>\w+) cancels (?P<call>[^\s>]+)" + THEN)
def _(self, name, call, then):
    if not then:
        eventually(lambda: call in [p["toolCallId"] for p in self.server.admin().pending()], f"{call} is pending")
    self.expect(self.who(name).post(f"/api/tool-calls/{call}/cancel?session={self.session_of(call)}"), then)


@sentence(r"(?P<name>\w+) reports (?P<call>\S+) (?P<result>\{.*?\})" + THEN)
def _(self, name, call, result, then):
    self.expect(self.who(name).post(f"/api/tool-calls/{call}/result?session={self.session_of(call)}", json.loads(result)), then)


# ---- any request ----
@sentence(r"(?P<name>\w+) (?P<method>GET|POST|PATCH|PUT|DELETE) (?P<path>/\S*)(?: (?P<body>[\[{\"].*?))? -> (?P<then>.*)")
def _(self, name, method, path, body, then):
    self.expect(self.who(name).request(method, path, body), then)


@sentence(r"keep (?P<name>[a-z]\w*) = (?P<path>\S+)")
def _(self, name, path):
    value = self.reply.json
    for part in path.split("."):
        value = value[int(part)] if part.isdigit() else value[part]
    self.names[name] = value


# ---- streams ----
@sentence(r"(?:(?P<role>person|viewer|agent) )?(?P<name>\w+) follows (?P<query>/?\?\S*|everything)(?: with (?P<header>[\w-]+: .*))?")
def _(self, role, name, query, header):
    headers = dict([header.split(": ", 1)]) if header else {}
    query = "" if query == "everything" else query
    self.followers[name] = self.world.follow(self.who(name, role), query, headers)
    self.followers[name].asked, self.followers[name].before, self.followers[name].last = query, [], None


@sentence(r"(?P<name>\w+) has seen (?P<types>[A-Z_ ]+|nothing)")
def _(self, name, types):
    follower, want = self.followers[name], [] if types == "nothing" else types.split()
    look = lambda: follower.before + follower.types()  # noqa: E731
    follower.wait(lambda: len(look()) >= len(want), types)
    must(look() == want, f"{name} has seen {look()}")
    must(follower.ids() == sorted(set(follower.ids())), f"ids out of order: {follower.ids()}")
    for number, kind, value in follower.events:
        must(value["seq"] == number and value["type"] == kind, f"id {number}, event {kind} and data {value} disagree")


@sentence(r"(?P<name>\w+) loses the stream")
def _(self, name):
    self.followers[name].close()


@sentence(r"(?P<name>\w+) follows again")
def _(self, name):
    old = self.followers[name]
    old.close()
    last = old.ids()[-1] if old.ids() else old.last
    new = self.world.follow(self.who(name), old.asked, {"Last-Event-ID": str(last)} if last else {})
    new.asked, new.before, new.last = old.asked, old.before + old.types(), last
    self.followers[name] = new


# ---- sockets ----
@sentence(r"(?:(?P<role>person|viewer|agent) )?(?P<name>\w+) opens a socket" + THEN)
def _(self, role, name, then):
    made = Socket(self.who(name, role))
    must(made.status == int(then or 101), made.head)
    self.sockets[name] = made


@sentence(r"(?P<name>\w+) sends (?P<message>.*)")
def _(self, name, message):
    self.sockets[name].send(message)


@sentence(r"(?P<name>\w+) receives (?P<pattern>\{.*\})")
def _(self, name, pattern):
    message = self.sockets[name].receive()
    must(message is not None, f"the socket was closed with {self.sockets[name].closed}")
    must_match(json.loads(pattern), message, "message")


@sentence(r"(?P<name>\w+) is cut off with (?P<code>\d+)")
def _(self, name, code):
    message = self.sockets[name].receive()
    must(message is None, f"a message came: {message}")
    must(self.sockets[name].closed == int(code), f"the socket was closed with {self.sockets[name].closed}")


# ---- commands ----
@sentence(r"nod (?P<arguments>.*)")
def _(self, arguments):
    self.command = self.unchecked = self.world.nod(*shlex.split(arguments), exits=None)


@sentence(r"nod-bench (?P<arguments>.*)")
def _(self, arguments):
    self.command = self.unchecked = self.world.nod(*shlex.split(arguments), exits=None, program="nod-bench")


@sentence(r"(?P<name>\w+) runs nod (?P<arguments>.*)")
def _(self, name, arguments):
    self.programs[name] = self.world.start(*shlex.split(arguments))


@sentence(r"(?:(?P<name>\w+) )?exits (?P<status>\d+)")
def _(self, name, status):
    command = self.programs[name] if name else self.command
    self.unchecked = None
    have = command.wait(6 * PATIENCE)
    must(have == int(status), f"it ended with {have}; out {command.stdout!r}, err {command.stderr!r}")


@sentence(r"(?:(?P<name>\w+) )?(?P<verb>prints|says|tells|does not print) (?P<text>\".*\")")
def _(self, name, verb, text):
    command, text = self.programs[name] if name else self.command, json.loads(text)
    looks = {"says": lambda: command.stderr, "tells": lambda: command.stdout + command.stderr}
    look = looks.get(verb, lambda: command.stdout)
    if verb == "does not print":
        must(text not in look(), f"it prints {look()!r}")
    else:
        eventually(lambda: text in look(), lambda: f"it {verb} {look()!r}", PATIENCE if name else 0)


@sentence(r"(?:(?P<name>\w+) )?prints (?P<pattern>\{.*\}|\[.*\])")
def _(self, name, pattern):
    command = self.programs[name] if name else self.command
    must_match(json.loads(pattern), json.loads(command.stdout), "output")


@sentence(r"take (?P<name>[a-z]\w*) from its output(?: at (?P<path>\S+))?")
def _(self, name, path):
    value = self.command.stdout.strip() if not path else json.loads(self.command.stdout)
    for part in path.split(".") if path else []:
        value = value[int(part)] if part.isdigit() else value[part]
    self.names[name] = value


@sentence(r"(?P<name>\w+) gets signal (?P<number>\d+)")
def _(self, name, number):
    self.programs[name].kill(int(number))


# ---- behind its back ----
def change_store(self, sql):
    """How many rows it changed."""
    if world.POSTGRES:
        return world.change_postgres(self.world.environment["NOD_STORE"], sql)
    with sqlite3.connect(os.path.join(self.server.data, "nod.db")) as database:
        changed = database.execute(sql).rowcount
    database.close()
    return changed


@sentence(r"event (?P<seq>\S+) is changed: (?P<column>\w+) = (?P<value>.*)")
def _(self, seq, column, value):
    must(change_store(self, f"UPDATE events SET {column} = {value} WHERE seq = {int(seq)}") == 1, "no such event")


@sentence(r"the store is changed: (?P<sql>.*)")
def _(self, sql):
    must(change_store(self, sql) >= 1, "nothing was changed")


def read(path):
    """The talks of a file."""
    talks, place = [], os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("talk "):
                talks.append(Talk(json.loads(line[5:]), place, []))
            else:
                must(talks, f"{place}:{number}: a talk begins with: talk \"title\"")
                talks[-1].lines.append((number, line))
    return talks
