"""Who is at the Unix socket: a process below an agent does not answer for a person, whatever token it has."""
import json
import subprocess
import sys

from identity import installed, message
from notify import Receiver, configure
from world import NOD, PATIENCE, eventually, must

# An agent: it runs its hook, and whatever command it is told to, and says how that ended.
AGENT = """
import json, subprocess, sys
hook = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
hook.stdin.write(sys.argv[2])
hook.stdin.close()
for line in sys.stdin:
    done = subprocess.run(json.loads(line), capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout + done.stderr]), flush=True)
print(hook.stdout.read())
"""


def test_an_answer_from_below_an_agent_is_refused(world):
    hook = Receiver()
    server = world.server("--tripwire", "--notify", configure(world, {"hook": {"type": "webhook", "url": hook.url}}, [{"to": ["hook"], "after": "9h"}]))
    admin = server.admin()
    identity, _ = installed(world, server)
    command = [NOD, "hook", "claude", "--wait", str(int(PATIENCE)), "--identity", identity]
    agent = subprocess.Popen([sys.executable, "-c", AGENT, json.dumps(command), message(world, given={"command": "make"})],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=world.environment)
    try:
        waiting = eventually(lambda: admin.ok("GET", "/api/approvals/pending")["pendingApprovals"], "its question")
        call = waiting[0]["toolCallId"]

        def run(*words):
            agent.stdin.write(json.dumps([NOD, *words]) + "\n")
            agent.stdin.flush()
            return json.loads(agent.stdout.readline())
        status, said = run("pending")
        must(status == 0 and call[:8] in said, f"it may look: {said}")
        for words in (("approve", call), ("deny", call), ("policy", "add", "allow", "Bash(make)"), ("token", "create", "--role", "admin", "--name", "x")):
            status, said = run(*words)
            must(status == 3 and "an agent has started" in said, f"{words}: {status} {said}")
        shell = f"import subprocess; subprocess.run(['sh', '-c', {f'{NOD} approve {call}'!r} + '; true'])"
        agent.stdin.write(json.dumps([sys.executable, "-c", shell]) + "\n")
        agent.stdin.flush()
        must("an agent has started" in json.loads(agent.stdout.readline())[1], "nor does a child of a child")
        command = subprocess.run(["nod-supervisor", "-c", f"import subprocess; subprocess.run([{NOD!r}, 'approve', {call!r}])"], executable=sys.executable,
                                 capture_output=True, text=True, env=world.environment)
        must("an agent has started" in command.stderr, f"nor does a command of an executor, which is no child of the server: {command}")
        must(admin.ok("GET", "/api/approvals/pending")["pendingApprovals"], "nothing was answered")
        must("below an agent tried" in server.log(), "and the log tells of it")
        tripped = [e["data"] for e in admin.events() if e["data"].get("change") == "tripped"]
        must(tripped and tripped[0]["person"] == "admin" and tripped[0]["what"].startswith("POST /api/"), f"an event: {tripped}")
        said = eventually(lambda: [one for one in hook.bodies() if one["type"] == "security.alert"], "the person is told")
        must("tried to act as you" in said[0]["data"]["title"], said)
        world.nod("approve", call)
        agent.stdin.close()
        agent.stdin = None
        must('"allow"' in agent.communicate(timeout=PATIENCE)[0], "a person's answer counts")
    finally:
        hook.close()
        if agent.poll() is None:
            agent.kill()
            agent.communicate()


# One process: posts what it is told to, with a token and over a kept connection of that token, and says what came back.
CLIENT = """
import http.client, os, socket, sys
class Line(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
def post(line, token, path='/api/ping'):
    line.request('POST', path, b'{}', {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json'})
    reply = line.getresponse()
    return reply.status, reply.read().decode()
def in_child(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    os.waitpid(child, 0)
agent, person = sys.argv[2:]
lines = {agent: Line('localhost'), person: Line('localhost')}
for words in sys.stdin:
    what, *rest = words.split()
    if what == 'crowd':
        for _ in range(int(rest[0])):
            in_child(lambda: post(Line('localhost'), agent))
        print('200', flush=True)
    elif what == 'below':
        in_child(lambda: print(*post(Line('localhost'), person), flush=True))
    elif what == 'hook':
        def ask(line):
            post(line, agent)
            print(*post(line, agent, '/api/hooks/claude'), flush=True)
        in_child(lambda: ask(Line('localhost')))
    else:
        token = agent if what == 'agent' else person
        print(*post(lines[token], token), flush=True)
"""


class Client:
    def __init__(self, server, agent, person):
        self.process = subprocess.Popen([sys.executable, "-c", CLIENT, server.socket, agent, person],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def does(self, words, expected):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        must(said.startswith(str(expected)), f"{words}: {said}, expected {expected}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def two_clients(world):
    server = world.server("--tripwire")
    admin = server.admin()
    agent, person = admin.token_for("agent", "helper").token, admin.token_for("admin", "ada").token
    return Client(server, agent, person), Client(server, agent, person)


def test_an_agent_that_goes_on_asking_is_not_forgotten(world):
    client, crowd = two_clients(world)
    try:
        for _ in range(5):
            client.does("agent", 200)
            crowd.does("crowd 60", 200)
        client.does("below", 403)
    finally:
        client.close()
        crowd.close()


def test_a_kept_connection_is_looked_at_again_when_an_agent_has_come(world):
    client, other = two_clients(world)
    try:
        for _ in range(2):
            client.does("person", 200)
        other.does("agent", 200)
        client.does("person", 200)
        client.does("agent", 200)
        client.does("person", 403)
        client.does("agent", 200)
        client.does("person", 403)
        client.does("below", 403)
    finally:
        client.close()
        other.close()


def test_a_hook_stands_for_its_agent_also_on_a_connection_that_had_another_request(world):
    client, other = two_clients(world)
    try:
        client.does("person", 200)
        client.does("hook", 200)
        client.does("person", 403)
        other.does("person", 200)
    finally:
        client.close()
        other.close()


def test_an_agent_that_was_forgotten_is_known_again_when_it_asks_over_its_kept_connection(world):
    client, crowd = two_clients(world)
    try:
        client.does("agent", 200)
        crowd.does("crowd 256", 200)
        client.does("below", 200)
        client.does("agent", 200)
        client.does("below", 403)
    finally:
        client.close()
        crowd.close()
