"""WebFetch from outside: a scripted web server on loopback, the real binary, a scripted model."""
import gzip
import http.server
import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading

from stage import results_in, use
from world import PATIENCE, Skip, eventually, must


class Web:
    """Pages by path: (status, headers, body) or a function that gets the handler."""

    address = "127.0.0.1"

    def __init__(self, **pages):
        self.pages = {"/" + name: page for name, page in pages.items()}
        self.asked = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                web.asked.append((self.path, dict(self.headers)))
                page = web.pages.get(self.path.split("?")[0], (404, {}, b"there is no such page"))
                if callable(page):
                    self.close_connection = True
                    page(self)
                    return
                status, headers, body = page
                self.send_response(status)
                for name, value in {"Content-Type": "text/plain", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a client that has heard enough leaves

        self.server = Server((self.address, 0), Handler)
        self.host = f"{self.address}:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def paths(self):
        return [path for path, _ in self.asked]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def away(place, status=302):
    return status, {"Location": place}, b""


def html(text, charset="utf-8"):
    return 200, {"Content-Type": "text/html"}, text.encode(charset)


def fetched(stage, url, *arguments, policies=None, answer="allow_once"):
    """What the model is told of one WebFetch: (block, run, what was asked)."""
    model = stage.model([{"tools": [use(1, "WebFetch", url=url, prompt="what is new")]}, {"text": "done"}])
    client = stage.serve(model, *arguments).admin()
    run = stage.begin(client, execute=False)
    if policies:
        client.ok("PATCH", f"/api/sessions/{run.session}", {"toolPolicies": policies})
    run.execute()
    pending = run.answer(answer) if answer else None
    must(run.over()["status"] == "completed", run.state())
    return results_in(model.requests[-1])[0], run, pending


def test_a_page_becomes_text(stage):
    web = Web(news=html("<html><head><title>News</title><style>p{}</style><script>alert('<p>no</p>')</script></head>"
                        "<body><h2>To&shy;day</h2><p>Prices &amp; more, <a href='/more?a=1'>read&nbsp;on</a>"
                        "<!-- hidden --><ul><li>one<li>tw\u200bo</ul><pre>a\n  b</pre></body>"))
    told, _, pending = fetched(stage, web.url + "/news", "--web-private")
    must(not told.get("is_error"), told)
    text = told["content"]
    must("# News" in text and "Prices & more, " in text, text)
    must(f"[read on]({web.url}/more?a=1)" in text and "- one\n- two" in text and "a\n  b" in text, text)
    must("alert" not in text and "hidden" not in text and "p{}" not in text, text)
    preview = pending["preview"]
    must(preview["type"] == "generic" and preview["host"] == "127.0.0.1", preview)
    must(any("not https" in w for w in preview["warnings"]) and any("this machine" in w for w in preview["warnings"]),
         preview)
    must(web.asked[0][1]["User-Agent"].startswith("nod/") and "Cookie" not in web.asked[0][1], web.asked)
    web.close()


def test_private_addresses_are_refused(stage):
    web = Web(secret=(200, {}, b"the secret"))
    port = web.host.split(":")[1]
    uses = [use(i, "WebFetch", url=f"http://{host}:{port}/secret")
            for i, host in enumerate(("127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "0x7f.1", "0.0.0.0",
                                      "[::ffff:127.0.0.1]", "[::1]", "169.254.169.254"))]
    model = stage.model([{"tools": uses}, {"text": "done"}])
    client = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(client, execute=False)
    client.ok("PATCH", f"/api/sessions/{run.session}", {"toolPolicies": {"WebFetch": "allow"}})
    run.execute()
    must(run.over()["status"] == "completed", run.state())
    results = results_in(model.requests[-1])
    must(len(results) == len(uses), results)
    for one, told in zip(uses, results):
        must(told["is_error"] and "secret" not in told["content"].replace("/secret", ""), (one, told))
        must("address" in told["content"], (one, told))
    must(not web.asked, web.asked)
    web.close()


def test_a_name_that_leads_to_this_machine(stage):
    """Only known when it is connected to: the person is asked, the connection is refused."""
    web = Web(secret=(200, {}, b"the secret"))
    name = socket.gethostname()
    try:
        found = {one[4][0] for one in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    if not found or not all(ipaddress.ip_address(a.split("%")[0]).is_private for a in found):
        raise Skip("this machine's name leads to no private address")
    told, _, _ = fetched(stage, f"http://{name}:{web.host.split(':')[1]}/secret")
    must(told["is_error"] and "leads to" in told["content"] and not web.asked, told)
    web.close()


def test_redirects_within_a_place_are_followed(stage):
    web = Web(a=away("/b"), b=away("c?x=1", 301), c=(200, {}, b"the end"))
    told, _, _ = fetched(stage, web.url + "/a", "--web-private")
    must(told["content"] == "the end", told)
    must(web.paths() == ["/a", "/b", "/c?x=1"], web.paths())
    web.close()


def test_a_redirect_elsewhere_is_told(stage):
    other = Web(page=(200, {}, b"the other's page"))
    web = Web(a=away(other.url + "/page"))
    told, _, _ = fetched(stage, web.url + "/a", "--web-private")
    must(not told.get("is_error") and other.url + "/page" in told["content"], told)
    must(not other.asked, "it was fetched without being asked for")
    web.close()
    other.close()


def test_a_redirect_is_judged_by_the_rules(stage):
    """What rules allow is followed, what they do not is not: also within one host when no person said yes."""
    other = Web(page=(200, {}, b"the other's page"))
    web = Web(docs=away(other.url + "/page"), docs2=away("/admin"), admin=(200, {}, b"the admin's page"))
    uses = [use(1, "WebFetch", url=web.url + "/docs"), use(2, "WebFetch", url=web.url + "/docs2")]
    model = stage.model([{"tools": [one]} for one in uses] + [{"text": "done"}])
    client = stage.serve(model, "--web-private").admin()
    run = stage.begin(client, execute=False)
    for rule in (f"WebFetch(url:{web.url}/docs*)", f"WebFetch(url:{other.url}/*)"):
        client.ok("POST", "/api/policy/rules", {"rule": rule, "effect": "allow"})
    run.execute()
    must(run.over()["status"] == "completed", run.state())
    first, second = results_in(model.requests[-1])
    must(first["content"] == "the other's page", first)
    must("/admin" in second["content"] and "not fetched" in second["content"], second)
    must("/admin" not in web.paths(), web.paths())
    web.close()
    other.close()


def test_a_redirect_into_the_cloud_s_metadata(stage):
    web = Web(a=away("http://169.254.169.254/latest/meta-data/"), b=away("http://user:word@127.0.0.1/"),
              c=away("file:///etc/passwd"))
    model = stage.model([{"tools": [use(i, "WebFetch", url=f"{web.url}/{name}")]} for i, name in enumerate("abc")]
                        + [{"text": "done"}])
    client = stage.serve(model, "--web-private").admin()
    run = stage.begin(client)
    for _ in range(3):
        run.answer()
    must(run.over()["status"] == "completed", run.state())
    a, b, c = results_in(model.requests[-1])
    must("169.254.169.254" in a["content"] and "was not fetched" in a["content"], a)
    must(b["is_error"] and "not followed" in b["content"], b)
    must(c["is_error"] and "not followed" in c["content"], c)
    web.close()


def test_redirects_without_end(stage):
    web = Web(a=away("/b"), b=away("/a"))
    told, _, _ = fetched(stage, web.url + "/a", "--web-private")
    must(told["is_error"] and "more than" in told["content"] and len(web.asked) == 6, (told, web.paths()))
    web.close()


def test_sizes_kinds_and_charsets(stage):
    packed = gzip.compress("packed grüße".encode())
    bomb = gzip.compress(b"\0" * (64 << 20))
    web = Web(big=(200, {}, b"x" * (6 << 20)), long=(200, {}, "ä".encode() * 50000),
              bomb=(200, {"Content-Encoding": "gzip"}, bomb), packed=(200, {"Content-Encoding": "gzip"}, packed),
              image=(200, {"Content-Type": "image/png"}, b"\x89PNG\r\n"),
              latin=(200, {"Content-Type": "text/plain; charset=ISO-8859-1"}, "grüße".encode("latin-1")),
              russian=(200, {"Content-Type": "text/html"}, '<meta charset="windows-1251"><p>привет'.encode("cp1251")),
              japanese=(200, {"Content-Type": "text/plain; charset=Shift_JIS"}, "日本".encode("shift_jis")),
              odd=(200, {"Content-Type": "text/plain; charset=ISO-2022-CN-EXT"}, b"x"),
              data=(200, {"Content-Type": "application/vnd.api+json"}, b'{"a":1}'), none=(404, {}, b"gone fishing"))
    names = ["big", "long", "bomb", "packed", "image", "latin", "russian", "japanese", "odd", "data", "none"]
    model = stage.model([{"tools": [use(i, "WebFetch", url=f"{web.url}/{n}") for i, n in enumerate(names)]},
                         {"text": "done"}])
    client = stage.serve(model, "--web-private", "--parallel-tools").admin()
    run = stage.begin(client, execute=False)
    client.ok("PATCH", f"/api/sessions/{run.session}", {"toolPolicies": {"WebFetch": "allow"}})
    run.execute()
    must(run.over()["status"] == "completed", run.state())
    told = dict(zip(names, results_in(model.requests[-1])))
    for name, part in (("big", "larger than"), ("bomb", "larger than"), ("image", "image/png"), ("odd", "ISO-2022"),
                       ("none", "status 404\ngone fishing")):
        must(told[name]["is_error"] and part in told[name]["content"], (name, told[name]["content"][:200]))
    must("bytes left out" in told["long"]["content"] and len(told["long"]["content"]) < 20000, "it was not cut")
    for name, part in (("packed", "packed grüße"), ("latin", "grüße"), ("russian", "привет"), ("japanese", "日本"),
                       ("data", '{"a":1}')):
        must(told[name]["content"].strip() == part, (name, told[name]))
    web.close()


def test_a_page_of_nothing_but_links_takes_no_memory(stage):
    """Each link is short and its address, whole, is not; what is not shown is not kept."""
    folder = "/" + "a" * 3900
    web = Web(links=away(folder + "/links"))
    web.pages[folder + "/links"] = (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"},
                                    gzip.compress(b"<a href=x>" * 200000))
    told, _, _ = fetched(stage, web.url + "/links", "--web-private")
    must(told["content"] == "(the page is empty)", told)
    must(stage.servers[-1].memory_kb("VmHWM") < 600 << 10, "a page of 2 MB took too much memory")
    web.close()


def test_a_slow_page_is_given_up_when_the_run_is(stage):
    begun, left = threading.Event(), threading.Event()

    def slowly(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        handler.wfile.write(b"slow")
        handler.wfile.flush()
        begun.set()
        try:
            while handler.connection.recv(1):
                pass
        except OSError:
            pass
        left.set()

    web = Web(slow=slowly)
    model = stage.model([{"tools": [use(1, "WebFetch", url=web.url + "/slow")]}, {"text": "done"}])
    client = stage.serve(model, "--web-private").admin()
    run = stage.begin(client)
    run.answer()
    must(begun.wait(PATIENCE), "it was not fetched")
    client.ok("POST", f"/api/agent-requests/{run.id}/cancel", {}, status=(200, 202))
    must(left.wait(PATIENCE), "the connection is still open")
    must(run.over()["status"] == "cancelled", run.state())
    result = eventually(run.results, "a result")[0]
    must(result["isError"] and "Cancelled" in json.dumps(result["content"]), result)
    web.close()


def test_a_certificate_that_nobody_vouches_for(stage):
    key, certificate = (os.path.join(stage.folder, name) for name in ("key.pem", "certificate.pem"))
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", key,
            "-out", certificate]
    if not shutil.which("openssl") or subprocess.run(made, capture_output=True, check=False).returncode:
        raise Skip("no openssl to make a certificate with")
    web = Web(page=(200, {}, b"the page"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True)
    told, _, pending = fetched(stage, f"https://{web.host}/page", "--web-private")
    must(told["is_error"] and "certificate" in told["content"].lower(), told)
    must(not web.asked and not any("https" in w for w in pending["preview"]["warnings"]), (web.asked, pending["preview"]))
    web.close()


def test_addresses_that_mislead_are_not_asked_about(stage):
    """The model is told at once; no person is bothered, nothing is connected to."""
    bad = ["ftp://example.com/", "https://example.com\\@evil.example/", "https://user:pw@example.com/",
           "https://exa mple.com/", "https://еxample.com/", "https://example.com:99999/", "https:///x", "//example.com"]
    model = stage.model([{"tools": [use(i, "WebFetch", url=url) for i, url in enumerate(bad)]}, {"text": "done"}])
    client = stage.serve(model, "--parallel-tools").admin()
    run = stage.begin(client)
    must(run.over()["status"] == "completed", run.state())
    must(not run.events("TOOL_APPROVAL_REQUEST"), "a person was asked")
    must(all(r["is_error"] for r in results_in(model.requests[-1])), results_in(model.requests[-1]))
