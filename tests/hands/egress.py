"""The way out of a box: rules and people decide which hosts a command reaches, and the log has a line per host."""
import ipaddress
import socket

from stage import OVER, results_in, use
from web import Web
from world import PATIENCE, Skip, eventually, must

BYPASS = "bypassPermissions"
GET = "python3 -c 'import sys, urllib.request as u\nfor a in sys.argv[1:]:\n  try: print(u.urlopen(a, timeout=20).read().decode())\n  except u.HTTPError as e: print(e.code, e.read().decode())\n  except OSError as e: print(e)' "


def get(*urls):
    return GET + " ".join(urls)


class Host(Web):
    """On an address of the loopback device that clients do not take for their own machine."""
    address = "127.0.0.2"


def boxed(stage, command, *rules, mode=BYPASS, during=None, **more):
    """What one command in a box printed: (text, run)."""
    model = stage.model([{"tools": [use(1, "Bash", command=command, **more)]}, {"text": "done"}])
    server = stage.serve(model, "--sandbox")
    client = server.admin()
    for rule, effect in rules:
        client.ok("POST", "/api/policy/rules", {"rule": rule.replace("OWN", str(server.port)), "effect": effect})
    model.script[0]["tools"][0]["input"]["command"] = command.replace("OWN", str(server.port))
    run = stage.begin(client, permissionMode=mode)
    if during:
        during(run)
    must(run.over()["status"] == "completed", run.state())
    return results_in(model.requests[1])[0]["content"], run


def allow_all(run):
    """Answers whatever is asked, until it is over."""
    def look():
        for one in run.client.pending(f"/sessions/{run.session}"):
            run.client.decided(run.session, one["toolCallId"], "allow_once", digest=one["digest"])
        return run.state()["status"] in OVER
    eventually(look, lambda: f"the end; it is {run.state()}", 3 * PATIENCE)  # a whole project is built in one of these


def lines(run):
    return [(e["data"]["host"], e["data"]["port"], e["data"]["state"]) for e in run.events("EGRESS")]


def test_a_rule_opens_an_address(stage):
    web = Host(hello=(200, {}, b"hello from outside"))
    host, port = web.host.split(":")
    text, run = boxed(stage, get(web.url + "/hello"), (f"Net(url:http://{host}:{port}/*)", "allow"))
    must("hello from outside" in text, text)
    must(lines(run) == [(host, int(port), "opened"), (host, int(port), "closed")], lines(run))
    closed = run.events("EGRESS")[1]["data"]
    must(closed["up"] > 50 and closed["down"] > 18 and closed["connections"] == 1, closed)
    must(closed["toolCallId"] == "toolu_1", closed)
    must("Proxy-Connection" not in web.asked[0][1] and web.asked[0][1]["Host"] == web.host, web.asked)
    web.close()


def test_addresses_without_a_rule(stage):
    """No question is asked for them, no mode and no rule on all hosts opens them; Nod's own port never."""
    web = Host(hello=(200, {}, b"hello from outside"))
    text, run = boxed(stage, "no_proxy= NO_PROXY= " + get(web.url + "/hello", "http://169.254.169.254/latest",
                                                          "http://127.0.0.1:OWN/api/health"),
                      ("Net(domain:*)", "allow"), ("WebFetch(domain:*)", "allow"),
                      ("Net(url:http://127.0.0.1:OWN/*)", "allow"))
    must(text.count("403") == 3 and "hello" not in text.replace("/hello", ""), text)
    must("a rule that names it" in text and not web.asked, text)
    must({state for _, _, state in lines(run)[:2]} == {"refused"}, lines(run))
    web.close()


def test_a_name_that_leads_to_this_machine(stage):
    web = Host(hello=(200, {}, b"hello from outside"))
    name = socket.gethostname().lower()
    try:
        found = {one[4][0] for one in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    if not found or not all(ipaddress.ip_address(a.split("%")[0]).is_private for a in found):
        raise Skip("this machine's name leads to no private address")
    port = web.host.split(":")[1]
    text, _ = boxed(stage, get(f"http://{name}:{port}/hello"), (f"Net(url:*://{name}:{port}/*)", "allow"))
    must("403" in text and "address" in text and not web.asked, text)
    web.close()


def test_an_unknown_host_is_a_question(stage):
    """One question for the session, whoever asks; denied, and later by another command, too."""
    def deny(run):
        one = run.pending()[0]
        call = one["toolCall"]
        must(call["name"] == "Net", one)
        must(call["input"] == {"host": "nowhere.invalid", "port": 80, "for": "toolu_1"}, call)
        run.client.decided(run.session, one["toolCallId"], "deny", digest=one["digest"], feedback="not this one")

    text, run = boxed(stage, get("http://nowhere.invalid/a", "http://nowhere.invalid/b"), during=deny)
    must(text.count("403") == 2 and "not this one" in text, text)
    must(lines(run) == [("nowhere.invalid", 80, "refused")], lines(run))
    asked = [e for e in run.events("TOOL_APPROVAL_REQUEST") if e["data"]["tool"] == "Net"]
    must(len(asked) == 1, asked)


def test_an_allowed_host_is_connected_to(stage):
    def allow(run):
        one = run.pending()[0]
        run.client.decided(run.session, one["toolCallId"], "allow_once", digest=one["digest"])

    text, run = boxed(stage, get("http://nowhere.invalid/a"), during=allow)
    must("502" in text and "cannot be resolved" in text, text)
    must(lines(run)[0] == ("nowhere.invalid", 80, "opened"), lines(run))


def test_rules_deny_without_a_question(stage):
    def allow(run):  # a program that is not understood names a host that is denied: a person is asked about the command
        one = run.pending()[0]
        run.client.decided(run.session, one["toolCallId"], "allow_once", digest=one["digest"])

    text, run = boxed(stage, get("http://nowhere.invalid/a", "http://deep.below.invalid/b"),
                      ("WebFetch(domain:nowhere.invalid)", "deny"), ("Net(domain:*.below.invalid)", "deny"), during=allow)
    must(not [e for e in run.events("TOOL_APPROVAL_REQUEST") if e["data"]["tool"] == "Net"], "a person was asked about a host")
    must(text.count("403") == 2 and "denies" in text, text)
    must([state for _, _, state in lines(run)] == ["refused", "refused"], lines(run))


def test_a_rule_on_webfetch_speaks_of_it(stage):
    text, run = boxed(stage, get("http://allowed.invalid/a"), ("WebFetch(domain:allowed.invalid)", "allow"))
    must("502" in text and "cannot be resolved" in text, text)



def test_a_page_of_a_host_is_not_the_host(stage):
    rules = [(rule, "allow") for rule in ("WebFetch", "WebFetch(url:http://other.invalid/page)",
                                          "WebFetch(url:http://other.invalid)", "WebFetch(domain:allowed.invalid)")]
    text, run = boxed(stage, get("http://allowed.invalid/a", "http://other.invalid/a"), *rules,
                      during=lambda run: run.answer("deny"))
    must("cannot be resolved" in text and "was denied" in text, text)
    must([state for _, _, state in lines(run)[:2]] == ["opened", "refused"], lines(run))


def test_the_end_of_the_server_does_not_wait_for_a_question(stage):
    """A command in the background asks for a host; nobody answers; the server ends in time, and the log says why."""
    model = stage.model([{"tools": [use(1, "Bash", command=get("http://nowhere.invalid/a"), run_in_background=True)]},
                         {"text": "done"}])
    server = stage.serve(model, "--sandbox")
    run = stage.begin(server.admin(), permissionMode=BYPASS)
    run.over()
    eventually(lambda: run.client.pending(f"/sessions/{run.session}"), lambda: "the question")
    server.stop()
