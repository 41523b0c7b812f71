"""TLS built in: certificates of its own authority, other clients, bad handshakes, a change of the certificate.

Sockets and streams over TLS are the suites themselves, with NOD_TALKS_TLS=1.
"""
import os
import shutil
import socket
import ssl
import subprocess

from world import PATIENCE, Client, Skip, eventually, must


def secure(world, *names):
    server = world.server()
    server.stop()
    return server.use_tls(*names).start()


def ca(server):
    return os.path.join(server.data, "tls", "ca.pem")


def curl(server, url, *more):
    if not shutil.which("curl"):
        raise Skip("curl is not here")
    return subprocess.run(["curl", "-sS", "--max-time", str(PATIENCE), "--cacert", ca(server), *more, url],
                          capture_output=True, text=True, check=False)


def serial(server):
    with socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE) as plain:
        with server.tls.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            return sock.getpeercert()["serialNumber"]


def test_curl_takes_the_authority_for_its_names_only(world):
    server = secure(world, "nod.test", "10.9.8.7")
    port = server.tls_port
    for name in ("nod.test", "10.9.8.7", "127.0.0.1", "localhost"):
        got = curl(server, f"https://{name}:{port}/healthz", "--connect-to", f"{name}:{port}:127.0.0.1:{port}")
        must(got.returncode == 0 and '"status":"ok"' in got.stdout, f"{name}: {got}")
    other = curl(server, f"https://other.test:{port}/healthz", "--connect-to", f"other.test:{port}:127.0.0.1:{port}")
    must(other.returncode == 60, f"a name that it is not for: {other}")
    stranger = subprocess.run(["curl", "-sS", f"https://localhost:{port}/healthz"], capture_output=True, check=False)
    must(stranger.returncode == 60, f"without the authority: {stranger}")


def test_the_authority_cannot_vouch_for_others(world):
    """With its stolen key: a certificate for another name, which OpenSSL refuses by the name constraints."""
    server = secure(world, "nod.test")
    folder = os.path.join(server.data, "tls")
    key, request, forged = (os.path.join(world.folder, name) for name in ("key", "request", "forged"))
    extension = os.path.join(world.folder, "extension")
    with open(extension, "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:bank.test\n")
    run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True)
    run("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=bank.test")
    run("x509", "-req", "-in", request, "-CA", ca(server), "-CAkey", os.path.join(folder, "ca.key"), "-CAcreateserial",
        "-extfile", extension, "-out", forged)
    checked = subprocess.run(["openssl", "verify", "-CAfile", ca(server), forged], capture_output=True, text=True,
                             check=False)
    must("permitted subtree violation" in checked.stdout + checked.stderr, f"{checked}")
    for name in ("ca.key", "key.pem"):
        must(os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600, f"{name} is private")


def test_a_call_is_asked_and_answered(world):
    server = secure(world)
    admin = server.admin(tcp=True)
    made = admin.session(toolPolicies={"Frob": "ask"})
    follower = world.follow(admin)
    call = admin.ask(made["threadId"], "Frob", {"text": "x" * 300000}).json
    admin.decided(made["id"], call["toolCallId"], "allow_once")
    follower.wait(lambda: "TOOL_APPROVAL_RESPONSE" in follower.types(), "the answer, over TLS")
    page = admin.get("/", headers={"Host": f"nod.test:{server.tls_port}"})
    must(page.status == 200, f"a name of the certificate is ours: {page}")
    pem = Client(server, None, tcp=True).get("/ca.crt")
    must(pem.body == open(ca(server), "rb").read() and pem.headers["content-type"] == "application/x-x509-ca-cert",
         f"a phone fetches the authority: {pem}")
    must(admin.get("/", headers={"Host": "evil.test"}).status == 403, "another name is not")
    origin = lambda name: admin.post("/api/sessions", {}, headers={"Origin": name}).status
    must(origin(f"https://nod.test:{server.tls_port}") == 201, "the page of this name")
    must(origin(f"http://nod.test:{server.tls_port}") == 403, "the same without TLS")


def test_old_and_other_protocols_are_refused(world):
    server = secure(world)

    def shake(change):
        context = ssl.create_default_context(cafile=ca(server))
        change(context)
        with socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
                return sock.version(), sock.selected_alpn_protocol()

    def old(context):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")

    def version_2(context):
        context.maximum_version = ssl.TLSVersion.TLSv1_2

    must(shake(lambda context: None) == ("TLSv1.3", None), "TLS 1.3")
    must(shake(version_2) == ("TLSv1.2", None), "TLS 1.2")
    must(shake(lambda context: context.set_alpn_protocols(["h2", "http/1.1"]))[1] == "http/1.1", "HTTP/1.1 is chosen")
    for words, change in (("TLS 1.1", old), ("only HTTP/2", lambda context: context.set_alpn_protocols(["h2"]))):
        try:
            raise AssertionError(f"{words} was accepted: {shake(change)}")
        except (ssl.SSLError, ConnectionError):
            pass


def test_bad_handshakes_end(world):
    """Garbage and claims that are too large at once; a client that says nothing, or a byte, when its time is over."""
    server = secure(world)
    hello = bytes.fromhex("16030100ff010000fb0303") + bytes(32)
    rows = [("plain HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ("garbage", os.urandom(4096)),
            ("a hello of 128 KB", b"\x16\x03\x01\x40\x00\x01\x01\xff\xff" + bytes(1000)),
            ("a first record of one byte", b"\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x01\x00"),
            ("nothing", b""), ("one byte", b"\x16"), ("half a hello", hello)]
    socks = []
    for words, sent in rows:
        sock = socket.create_connection(("127.0.0.1", server.tls_port), PATIENCE)
        sock.sendall(sent)
        socks.append((words, sock))
    for words, sock in socks:
        try:
            while sock.recv(4096):
                pass
        except ConnectionError:
            pass
        sock.close()
    must(server.admin(tcp=True).get("/healthz").status == 200, "others are served")


def test_a_new_certificate_is_used_from_the_next_connection_on(world):
    server = secure(world)
    first = serial(server)
    follower = world.follow(server.admin(tcp=True))
    world.nod("tls", "init", "--data", server.data)
    eventually(lambda: serial(server) != first, "the new certificate")
    second = serial(server)
    with open(os.path.join(server.data, "tls", "key.pem"), "w", encoding="ascii") as file:
        file.write("no key")
    eventually(lambda: serial(server) == second and "the old one stays" in server.log(), "a bad file changes nothing")
    world.nod("tls", "init", "--data", server.data)
    eventually(lambda: serial(server) != second, "the one after it")
    server.admin(tcp=True).session()
    follower.wait(lambda: "SESSION_CHANGED" in follower.types(), "a stream from before goes on")


def test_a_named_certificate_must_be_there(world):
    server = world.server()
    server.stop()
    command = world.start("serve", "--data", server.data, "--listen", "127.0.0.1:0", "--tls-cert", "/no/such.pem")
    must(command.wait() != 0 and "/no/such.pem" in command.stderr, command.stderr)


def test_an_authority_keeps_its_names(world):
    server = secure(world, "nod.test")
    other = world.nod("tls", "init", "--data", server.data, "--name", "other.test", exits=5)
    must("--new" in other.stderr, other.stderr)
    must("nod.test" in world.nod("tls", "init", "--data", server.data).stdout, "the same names again")
    before = open(ca(server), encoding="ascii").read()
    world.nod("tls", "init", "--data", server.data, "--name", "other.test", "--new")
    must(open(ca(server), encoding="ascii").read() != before, "a new authority")
    bad = world.nod("tls", "init", "--data", server.data, "--name", "a,b", "--new", exits=None)
    must("neither a host name nor an address" in bad.stderr, bad.stderr)
    must(Client(server, None).get("/healthz").status == 200, "the server goes on")


def test_the_port_with_tls_is_nods_own_address_too(world):
    """No rule about curl or pages lets an agent talk to it unasked."""
    server = secure(world, "nod.test")
    admin = server.admin()
    for rule in ("Bash(curl:*)", "Bash(echo:*)", "WebFetch"):
        admin.ok("POST", "/api/policy/rules", {"rule": rule, "effect": "allow"})

    def verdict(name, **given):
        return admin.ok("POST", "/api/policy/explain", {"name": name, "input": given})
    elsewhere = verdict("Bash", command="curl -k https://127.0.0.1:1/api/me")
    must(elsewhere["effect"] == "allow", f"another port is another matter: {elsewhere}")
    for port in (server.port, server.tls_port):
        for name, given in (("Bash", {"command": f"curl -k https://127.0.0.1:{port}/api/me"}),
                            ("Bash", {"command": f"echo x > /dev/tcp/127.0.0.1/{port}"}),
                            ("WebFetch", {"url": f"https://localhost:{port}/api/me", "prompt": "x"})):
            must(verdict(name, **given)["effect"] == "ask", f"{port} {given}: {verdict(name, **given)}")
