"""`make cluster` as a person uses it: a page open on one node, an agent on another, the third is killed, and the answer
arrives; all of it again through the small proxy in front."""
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.parse

from world import NOD, PATIENCE, ROOT, Client, Follower, eventually, must


class Address:
    """Where a client finds one of them."""

    def __init__(self, url):
        self.port = urllib.parse.urlsplit(url).port


class Cluster:
    def __init__(self, folder):
        self.path = os.path.join(folder, "cluster")
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen([sys.executable, os.path.join(ROOT, "dev", "cluster"), "--port", "0"], stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, "NOD": NOD}, start_new_session=True)
        eventually(lambda: "#login=" in self.said(), self.said)
        self.nodes = re.findall(r"node \d: pid (\d+), (\S+), --data (\S+)", self.said())
        self.door = re.search(r"the front door: (\S+)", self.said())[1]

    def said(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE * 3)


def answered(agent, person, session, call):
    """The agent waits where it is; the person answers where he is."""
    replies = []
    path = f"/api/threads/{session['threadId']}/tool-calls?wait=20"
    asking = threading.Thread(target=lambda: replies.append(
        agent.post(path, {"id": call, "name": "Bash", "input": {"command": "make"}}, timeout=PATIENCE)))
    asking.start()
    eventually(lambda: call in [p["toolCallId"] for p in person.pending()], "it is pending there")
    person.decided(session["id"], call, "allow_once")
    asking.join(PATIENCE)
    must(replies and replies[0].json["status"] == "allowed", f"the agent was told {replies}")


def test_make_cluster_by_hand(_pg, world):
    cluster = Cluster(world.folder)
    try:
        with open(os.path.join(cluster.nodes[0][2], "admin.token"), encoding="ascii") as file:
            token = file.read().strip()
        one, other, door = (Client(Address(url), token, tcp=True) for url in (cluster.nodes[0][1], cluster.nodes[1][1], cluster.door))
        eventually(lambda: other.get("/api/sessions").status == 200, "the token is known")
        page = one.get("/")
        must(page.status == 200 and page.headers["content-type"].startswith("text/html"), f"the page is not served: {page}")
        session = one.session(toolPolicies={"Bash": "ask"})
        open_page = Follower(one, "?after=0")
        os.kill(int(cluster.nodes[2][0]), signal.SIGKILL)
        answered(other, one, session, "c1")
        open_page.wait(lambda: "TOOL_APPROVAL_RESPONSE" in open_page.types(), "the answer on the page")
        for n in range(4):  # whichever node the proxy chooses, the dead one is none of them
            answered(door, door, session, f"d{n}")
        open_page.wait(lambda: open_page.types().count("TOOL_APPROVAL_RESPONSE") == 5, "all answers on the page")
        open_page.close()
    finally:
        code = cluster.end()
    must(code == 0, f"it ends with {code}: {cluster.said()}")
    must(not os.path.exists(cluster.nodes[0][2]), "it leaves nothing behind")
