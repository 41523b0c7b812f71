"""Agents and people on all nodes, who take no answer but a good one or one that tells them to ask again.

Whoever is told 503 must be told Retry-After, and asks the same again, as a client should. A connection that breaks, any
other status, and an answer that does not come are failures. What was acknowledged is compared with the log at the end.
"""
import threading
import time

from world import Client, Failure, must

LONGEST = 60   # seconds that one request may take, waiting for the database included


class Load:
    def __init__(self, nodes, admin, agents=6, people=3):
        self.nodes, self.admin = nodes, admin
        self.session = admin.session(toolPolicies={"Bash": "ask"})
        self.over, self.lock = threading.Event(), threading.Lock()
        self.calls, self.decisions, self.retries, self.troubles = {}, {}, 0, []
        self.longest = 0.0
        self.threads = [threading.Thread(target=self.guard, args=(work, n), daemon=True)
                        for work, count in ((self.ask, agents), (self.answer, people)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    # ---- what each does ----
    def guard(self, work, number):
        try:
            client = Client(self.nodes[number % len(self.nodes)], self.admin.token)
            connection, count = client.connection(LONGEST), 0
            while not self.over.is_set():
                count += 1
                work(client, connection, number, count)
            connection.close()
        except Exception as error:  # noqa: BLE001: told at the end
            self.troubles.append(f"{work.__name__} {number}: {type(error).__name__}: {error}")

    def insist(self, client, connection, method, path, body=None):
        """The answer that is not 503; None when the load ends meanwhile."""
        while True:
            began = time.monotonic()
            reply = client.request(method, path, body, connection=connection)
            with self.lock:
                self.longest = max(self.longest, time.monotonic() - began)
            if reply.status != 503:
                return reply
            pause = reply.headers.get("retry-after")
            must(pause is not None and pause.isdigit() and int(pause) < 10, f"a 503 does not say when to ask again: {reply.headers}")
            with self.lock:
                self.retries += 1
            if self.over.wait(int(pause) * 0.2):
                return None

    def ask(self, client, connection, number, count):
        call = f"a{number}-{count}"
        reply = self.insist(client, connection, "POST", f"/api/threads/{self.session['threadId']}/tool-calls",
                            {"id": call, "name": "Bash", "input": {"command": f"make {call}"}})
        if reply is None:
            return
        must(reply.status == 200, f"a call: {reply}")
        with self.lock:
            self.calls[call] = reply.json["status"]
        time.sleep(0.005)

    def answer(self, client, connection, number, _count):
        page = self.insist(client, connection, "GET", f"/api/sessions/{self.session['id']}/approvals/pending?limit=20")
        for one in page.json["pendingApprovals"] if page else []:
            call, decision = one["toolCallId"], ("allow_once", "deny")[number % 2]
            reply = self.insist(client, connection, "POST", f"/api/sessions/{self.session['id']}/approvals/{call}",
                                {"decision": decision, "feedback": f"of {number}"})
            if reply is None:
                return
            must(reply.status in (200, 409), f"a decision: {reply}")
            with self.lock:
                if reply.status == 200:
                    must(self.decisions.setdefault(call, decision) == decision, f"two decisions on {call} were acknowledged")
        time.sleep(0.01)

    # ---- the end ----
    def acknowledged(self):
        with self.lock:
            return len(self.calls) + len(self.decisions)

    def look(self):
        if self.troubles:
            raise Failure("\n".join(self.troubles))

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(LONGEST)
            must(not thread.is_alive(), "a request does not end")
        self.look()

    def check(self, events):
        """Everything that was acknowledged is in the log, once, and as it was acknowledged."""
        calls = [e["data"]["id"] for e in events if e["type"] == "TOOL_CALL"]
        responses = [(e["data"]["toolCallId"], e["data"]["decision"]) for e in events if e["type"] == "TOOL_APPROVAL_RESPONSE"]
        must(len(set(calls)) == len(calls), "a call stands there twice")
        must(len({call for call, _ in responses}) == len(responses), "a call has two responses")
        missing = sorted(set(self.calls) - set(calls))
        must(not missing, f"{len(missing)} of {len(self.calls)} acknowledged calls are gone, e.g. {missing[:3]}")
        missing = sorted(set(self.decisions.items()) - set(responses))
        must(not missing, f"{len(missing)} of {len(self.decisions)} acknowledged decisions are gone, e.g. {missing[:3]}")
