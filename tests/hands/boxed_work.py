"""A run in a box builds and tests a small project in C, Node and Python, with caches and a registry that rules open, and
commits it; it cannot read the admin's token, reach Nod's socket or leave a hook behind."""
import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import zipfile

from box_rules import git
from egress import allow_all
from stage import results_in, use
from world import Skip, must

BYPASS = "bypassPermissions"
ADDRESS = "127.0.0.2"  # of the loopback device; clients do not take it for their own machine


def npm_package():
    out = io.BytesIO()
    files = {"package/package.json": json.dumps({"name": "tiny-sum", "version": "1.0.0", "main": "index.js"}),
             "package/index.js": "module.exports = (a, b) => a + b;\n"}
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel():
    out = io.BytesIO()
    files = {"tiny_mul.py": "def mul(a, b):\n    return a * b\n",
             "tiny_mul-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-mul\nVersion: 1.0.0\n",
             "tiny_mul-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for name, text in files.items()) + "tiny_mul-1.0.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(out, "w") as file:
        for name, text in {**files, "tiny_mul-1.0.0.dist-info/RECORD": record}.items():
            file.writestr(name, text)
    return out.getvalue()


class Registry:
    """One package for npm and one for pip."""

    def __init__(self):
        self.asked = []
        tarball, whl = npm_package(), wheel()
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                registry.asked.append(self.path)
                pages = {
                    "/tiny-sum": ("application/json", json.dumps({
                        "name": "tiny-sum", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
                            "name": "tiny-sum", "version": "1.0.0", "dist": {
                                "tarball": f"{registry.url}/tiny-sum-1.0.0.tgz",
                                "shasum": hashlib.sha1(tarball).hexdigest()}}}}).encode()),
                    "/tiny-sum-1.0.0.tgz": ("application/octet-stream", tarball),
                    "/simple/tiny-mul/": ("text/html", b'<a href="/tiny_mul-1.0.0-py3-none-any.whl">tiny_mul-1.0.0-py3-none-any.whl</a>'),
                    "/tiny_mul-1.0.0-py3-none-any.whl": ("application/zip", whl)}
                kind, body = pages.get(self.path.split("?")[0], (None, b""))
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://{ADDRESS}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def project(stage):
    git(stage.project, "init", "-q")
    git(stage.project, "config", "user.email", "a@b.c")
    git(stage.project, "config", "user.name", "a")
    stage.write("add.c", "int add(int a, int b) { return a + b; }\n")
    stage.write("test.c", "int add(int, int);\nint main(void) { return add(2, 3) == 5 ? 0 : 1; }\n")
    stage.write("Makefile", "test: prog\n\t./prog && echo c-passed\nprog: add.c test.c\n\tcc -o prog add.c test.c\n")
    stage.write("package.json", json.dumps({"name": "p", "version": "1.0.0", "dependencies": {"tiny-sum": "1.0.0"},
                                            "scripts": {"test": "node test.js"}}))
    stage.write("test.js", "if (require('tiny-sum')(2, 3) !== 5) process.exit(1); console.log('node-passed');\n")
    stage.write("test_mul.py", "import unittest, tiny_mul\n\nclass T(unittest.TestCase):\n    def test(self):\n"
                               "        self.assertEqual(tiny_mul.mul(2, 3), 6)\n\nunittest.main()\n")
    stage.write(".gitignore", "prog\nnode_modules\nvenv\n")


def test_a_real_project(stage):
    for program in ("cc", "make", "npm", "node", "python3", "git"):
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    registry = Registry()
    project(stage)
    cache = os.path.join(stage.folder, "cache")
    python = "/usr/bin/python3"
    uses = ["make test",
            f"npm install --no-update-notifier --no-audit --no-fund --cache {cache}/npm --registry {registry.url} 2>&1 && npm test --no-update-notifier 2>&1",
            f"{python} -m venv --without-pip venv && {python} -m pip --version >/dev/null 2>&1; "
            f"{python} -m pip install -q --disable-pip-version-check --break-system-packages --cache-dir {cache}/pip --target venv/lib "
            f"--index-url {registry.url}/simple --trusted-host {ADDRESS} tiny-mul 2>&1; PYTHONPATH=venv/lib {python} test_mul.py 2>&1",
            "git add -A && git commit -q -m 'built in a box' && git status --porcelain",
            "cat {data}/admin.token 2>&1; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{data}/nod.sock\")' 2>&1 | tail -1; "
            "echo evil > .git/hooks/pre-commit; echo '{{}}' > .claude/settings.json; true"]
    model = stage.model([{"tools": [use(1, "Bash", command="true")]}])
    server = stage.serve(model, "--sandbox", "--max-iterations", "10")
    model.script[:] = [{"tools": [use(i, "Bash", command=one.replace("{data}", server.data).replace("{{}}", "{}"), timeout=600000)]}
                       for i, one in enumerate(uses)] + [{"text": "done"}]
    client = server.admin()
    for rule in (f"box.write(/{cache}/npm/)", f"box.write(/{cache}/pip/)", f"Net(url:http://{ADDRESS}:{registry.port}/*)"):
        client.ok("POST", "/api/policy/rules", {"rule": rule, "effect": "allow"})
    run = stage.begin(client, permissionMode=BYPASS)
    allow_all(run)
    must(run.over()["status"] == "completed", run.state())
    built, node, py, committed, escape = [one["content"] for one in results_in(model.requests[-1])]
    must("c-passed" in built, built)
    must("node-passed" in node, node)
    must("OK" in py, py)
    must(git(stage.project, "log", "--format=%s").strip() == "built in a box", committed)
    must("nod_" not in escape and escape.count("Read-only file system") == 2, escape)
    must("No such file" in escape or "Permission denied" in escape, escape)
    must(os.listdir(f"{cache}/npm") and any("tiny-sum" in path for path in registry.asked), registry.asked)
    must(not os.path.exists(stage.path(".claude")) and not os.path.exists(stage.path(".git/hooks/pre-commit")), "something is left")
    must({e["data"]["host"] for e in run.events("EGRESS")} == {ADDRESS}, run.events("EGRESS"))
    registry.close()
