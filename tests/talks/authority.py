"""Who may do what, tried: every route and every socket message with every kind of token, against authority.tsv.

A row of the table is a route (or MESSAGE, socket, type), a query, a body, and what comes of it for each kind of token:
`2` is yes, else the status; `a/b` is a in a session of one's own and b in another's. A token is bound here in its own
session and bound elsewhere in the other. After each refusal rules, tokens and the log are as they were.
"""
import json
import os
import re

from world import Client, Failure, Socket, must, older_store

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(HERE, "..", "..", "docs", "SECURITY.md")
KINDS = ("none", "viewer", "agent", "approver", "approver+", "admin", "viewer@", "agent@", "approver@")
MORE = ["rules.user", "trust", "run"]
REFUSALS = {"unauthenticated": 401, "forbidden": 403, "session_bound": 403, "not_found": 404}


class Row:
    def __init__(self, line):
        cells = line.rstrip("\n").split("\t")
        must(len(cells) == 4 + len(KINDS), f"a row with {len(cells)} cells: {line!r}")
        self.route, self.query, self.body, self.what = cells[:4]
        self.expected = {kind: cell.split("/") * (1 if "/" in cell else 2) for kind, cell in zip(KINDS, cells[4:])}
        self.target = self.route.split()[1] + self.query
        if self.query and ":rule" in self.target:
            self.target = self.target.replace(":rule", "{mine}")  # the session's own
        if self.target.endswith("/result"):
            self.target = self.target.replace(":call", "{allowed}")
        if self.what.endswith("one of two persons"):  # an admin asked: that is none of them
            self.target = self.target.replace(":call", "{pair}")
        self.name = f"{self.route}{' (' + self.what + ')' if self.what else ''}"


def read_table():
    with open(os.path.join(HERE, "authority.tsv"), encoding="utf-8") as file:
        return [Row(line) for line in file if line.strip() and not line.startswith("#")]


class Side:
    """A session with what the rows name in it, made anew when something in it was changed."""

    def __init__(self, estate, kind, own):
        self.estate, self.kind, self.own = estate, kind, own
        self.names = {}

    def make(self):
        admin, estate = self.estate.admin, self.estate
        owner = estate.plain("agent") if self.kind == "agent" and self.own else admin
        made = owner.session(title="one", cwd=estate.folder)
        self.names = {"session": made["id"], "thread": made["threadId"]}

    def fill(self, text):
        """Fills the holes; what they name is made when it is named first."""
        for hole in re.findall(r"[:{](\w+)\b", text):
            if hasattr(self, "make_" + hole) and hole not in self.names:
                self.names[hole] = getattr(self, "make_" + hole)()
        return re.sub(r"(?<=/):(\w+)|\{(\w+)\}", lambda m: str(self.names.get(m[1] or m[2], "claude")), text)

    def make_call(self):
        name = self.estate.number("call")
        self.estate.admin.call(self.names["thread"], "Write", {"file_path": self.estate.file, "content": "x"}, id=name)
        return name

    def make_allowed(self):
        name = self.make_call()
        self.estate.admin.decided(self.names["session"], name, "allow_once")
        return name

    def make_pair(self):
        self.estate.admin.ok("POST", "/api/policy/rules", {"rule": "Write", "effect": "ask", "people": 2, "layer": "session",
                                                           "sessionId": self.names["session"]})
        return self.make_call()

    def make_request(self):
        return self.estate.admin.ok("POST", "/api/agent-requests", {"prompt": "x", "sessionId": self.names["session"]})["id"]

    def make_rule(self):
        return self.estate.admin.ok("POST", "/api/policy/rules", {"rule": "Bash(true)", "effect": "allow"})["id"]

    def make_mine(self):
        return self.estate.admin.ok("POST", "/api/policy/rules", {"rule": "Bash(true)", "effect": "allow", "layer": "session",
                                                                 "sessionId": self.names["session"]})["id"]

    def make_token(self):
        return self.estate.admin.token_for("viewer", self.estate.number("victim")).id


class Estate:
    def __init__(self, world):
        world.environment.update({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "sk-none"})
        self.folder = os.path.join(world.folder, "project")
        os.makedirs(os.path.join(self.folder, ".nod"))
        with open(os.path.join(self.folder, ".nod", "policy.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        self.file = os.path.join(self.folder, "file.txt")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("before")
        self.server = world.server()
        self.admin = self.server.admin()
        self.count, self.tokens, self.sides = 0, {}, {}

    def number(self, word):
        self.count += 1
        return f"{word}{self.count}"

    def plain(self, kind):
        """A token that is bound to nothing."""
        if kind not in self.tokens:
            body = {"role": kind.rstrip("+"), "name": kind, "scopes": MORE if kind.endswith("+") else []}
            self.tokens[kind] = Client(self.server, self.admin.ok("POST", "/api/tokens", body)["token"], kind)
        return self.tokens[kind]

    def client(self, kind):
        if kind == "none":
            return Client(self.server, None)
        if kind == "admin":
            return self.admin
        if not kind.endswith("@"):
            return self.plain(kind)
        own = self.side(kind, True)
        if "bound" not in own.names:
            own.names["bound"] = self.admin.token_for(kind[:-1], self.number(kind), own.names["session"])
        return own.names["bound"]

    def side(self, kind, own):
        side = self.sides.setdefault((kind, own), Side(self, kind, own))
        if not side.names:
            side.make()
        return side

    def state(self):
        """What no refused request may change: rules and tokens; and the log's head."""
        tokens = self.admin.ok("GET", "/api/tokens")["tokens"]
        for token in tokens:
            token.pop("lastUsedAt", None)  # a refused request is a use, too
        return ([self.admin.ok("GET", "/api/policy"), tokens],
                self.admin.ok("GET", "/api/approvals/pending?limit=1")["seq"])

    def changed_since(self, before):
        """Words for what is new; the runs of Nod's own agent that other rows started go on by themselves."""
        if self.state()[0] != before[0]:
            return "rules or tokens"
        return [e for e in self.admin.events(after=before[1]) if e["actor"] != "nod" and not e["type"].startswith("RUN_")]


def send_message(client, side, row):
    """The status that the answer of a socket stands for."""
    _, path, kind = row.route.split()
    opened = Socket(client, path)
    if opened.status != 101:
        return opened.status
    try:
        message = json.loads(side.fill(row.body or "{}"))
        message["type" if path == "/api/ws" else "command"] = kind
        opened.send(message)
        if kind == "unsubscribe":
            opened.send({"type": "nothing", "id": 2})  # it has no answer of its own
        while True:
            answer = opened.receive()
            must(answer is not None, f"{row.name}: the socket was closed with {opened.closed}")
            kind_of = answer.get("type")
            if kind_of == "answer":
                return answer["status"]
            if kind_of == "subscribed":
                return 200
            if kind_of == "error":
                code = (answer.get("error") or answer["content"]).get("code")
                return REFUSALS.get(code, 200 if path != "/api/ws" or answer.get("id") == 2 else 400)
            if path != "/api/ws":
                return 200
    finally:
        opened.close()


def send(side, client, row):
    if row.route.startswith("MESSAGE "):
        return send_message(client, side, row)
    if row.route.endswith(("/api/ws", "/ws/agent")):
        opened = Socket(client, row.target)
        opened.close()
        return 200 if opened.status == 101 else opened.status
    body = side.fill(row.body) if row.body else None
    return client.request(row.route.split()[0], side.fill(row.target), body).status


def try_row(estate, row):
    """Raises when something comes of it that the table does not say."""
    for kind in KINDS:
        for own in (True, False):
            side, client = estate.side(kind, own), estate.client(kind)
            side.fill(row.target + row.body)
            reads, expected = row.route.startswith("GET "), row.expected[kind][0 if own else 1]
            before = None if reads or expected == "2" else estate.state()
            status = send(side, client, row)
            came = "2" if 200 <= status < 300 else str(status)
            must(came == expected,
                 f"{row.name}: {kind} in {'its own' if own else 'another'} session: {status}, not {expected}")
            if before:
                changed = estate.changed_since(before)
                must(not changed, f"{row.name}: {kind} was refused with {status} and changed {changed}")
            elif not reads:
                estate.sides.pop((kind, own))
                estate.admin.ok("PUT", "/api/policy", {"rules": []})


def test_every_route_and_message_has_a_row(world):
    document = world.server().admin().ok("GET", "/api/openapi.json")
    printed = {line.strip() for line in world.nod("serve", "--routes").stdout.splitlines()}
    for path, item in document["paths"].items():
        for message in item.get("get", {}).get("x-messages", []):
            printed.add(f"MESSAGE {path} {message['name']}")
    must(len([p for p in printed if p.startswith("MESSAGE ")]) >= 8, "the document names no messages")
    rows = {row.route for row in read_table()}
    must(printed == rows, f"without a row: {sorted(printed - rows)}; rows of nothing: {sorted(rows - printed)}")


def test_every_row_is_true(world):
    estate, wrong = Estate(world), []
    for row in read_table():
        try:
            try_row(estate, row)
        except Failure as failure:
            wrong.append(str(failure))
            estate.sides.clear()
    must(not wrong, f"{len(wrong)} rows:\n" + "\n".join(wrong))


def words_of(cells):
    own, other = cells
    if own != "2":
        return "–"
    return "yes" if other == "2" else "its own"


def printed_table(rows):
    lines = ["| | agent | approver bound to a session |", "|---|---|---|"]
    for row in rows:
        agent, bound = words_of(row.expected["agent"]), words_of(row.expected["approver@"])
        if (agent, bound) != ("–", "–") and row.expected["none"][0] != "2":
            lines.append(f"| `{row.route}`{' ' + row.what if row.what else ''} | {agent} | {bound} |")
    return "\n".join(lines)


def test_the_manual_says_what_an_agent_and_a_bound_approver_may_do(world):
    """The rows themselves are tried above; here their sum is compared with the document. NOD_WRITE=1 writes it there."""
    table = printed_table(read_table())
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    if os.environ.get("NOD_WRITE"):
        head = table.partition("\n")[0]
        before, _, rest = text.partition(head)
        text = before + table + rest[rest.index("\n\n"):]
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    must(table in text, f"docs/SECURITY.md has not this table:\n{table}")


def test_a_token_of_before_keeps_its_rights_and_doctor_names_it(world):
    """Events from before there were scopes have none; their approvers could change rules and start runs."""
    server = older_store(world)
    server.admin().token_for("approver", "new hand")
    listed = {t["name"]: t for t in server.admin().ok("GET", "/api/tokens")["tokens"]}
    must(listed["old hand"]["olderScopes"] == MORE and set(MORE) <= set(listed["old hand"]["scopes"]), f"{listed}")
    must(not any("olderScopes" in listed[name] for name in ("admin", "old eyes", "old agent", "new hand")), f"{listed}")
    found = world.nod("doctor").stdout
    must(re.search(r"warn +tokens .*old hand", found) and "new hand" not in found, found)


def test_a_token_makes_none_that_may_do_more(world):
    admin = world.server().admin()
    keeper = admin.token_for("approver", "keeper", scopes=["tokens", "logins"])
    keeper.ok("POST", "/api/tokens", {"role": "approver", "name": "another"})
    for body in ({"role": "admin"}, {"role": "agent"}, {"role": "approver", "scopes": ["run"]}):
        reply = keeper.post("/api/tokens", {"name": "wider", **body})
        must(reply.status == 403, f"{body}: {reply}")
    must(keeper.post("/api/logins", {"role": "admin"}).status == 403, "a login of an admin")
    must(keeper.request("DELETE", f"/api/tokens/{admin.ok('GET', '/api/me')['id']}").status == 403, "the admin revoked")
    for body in ({"role": "agent", "scopes": ["decide"]}, {"role": "viewer", "scopes": ["ask"]}, {"role": "approver", "scopes": ["everything"]}):
        must(admin.post("/api/tokens", {"name": "odd", **body}).status == 400, f"{body}")
    session = admin.session(title="x")["id"]
    must(admin.post("/api/tokens", {"name": "odd", "role": "approver", "sessionId": session, "scopes": ["run"]}).status == 400,
         "a bound token with a right beyond its session")


def test_the_command_line_makes_tokens_with_scopes(world):
    server = world.server()
    made = world.nod("token", "create", "--role", "approver", "--name", "wide", "--scope", "run", "--scope", "rules.user").stdout.strip()
    me = Client(server, made).ok("GET", "/api/me")
    must({"run", "rules.user"} <= set(me["scopes"]) and "tokens" not in me["scopes"], f"{me}")
    must("approver +rules.user +run" in world.nod("token", "list").stdout, "the list")
