"""Code generators read the description that the server prints: every route becomes code that compiles. A fuzzer reads it, too."""
import json
import os
import re
import shutil
import subprocess

from stage import CACHE, PATIENCE, Stage, kept, python_with
from world import must

OAPI_CODEGEN, OAPI_RUNTIME = "v2.8.1", "v1.8.0"
WORKING = 5 * PATIENCE  # seconds for a compiler or a fuzzer, which works all the time: minutes on a busy machine
METHODS = ("get", "post", "put", "patch", "delete")


def document(world):
    """The file with the description, and its operations."""
    value = Stage(world).admin.ok("GET", "/api/openapi.json")
    path = os.path.join(world.folder, "openapi.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path, [item[m] for item in value["paths"].values() for m in METHODS if m in item]


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WORKING, check=False)
    must(done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-3000:]}")
    return done.stdout


def test_openapi_python_client(world):
    path, operations = document(world)
    python = python_with("generators")
    run(python, "-m", "openapi_python_client", "generate", "--path", path, "--meta", "none", "--output-path", "made", cwd=world.folder)
    made = {name[:-3] for _, _, names in os.walk(os.path.join(world.folder, "made", "api")) for name in names}
    missing = {o["operationId"] for o in operations if "101" not in o["responses"]} - made
    must(not missing, f"no code for {missing}")
    run(python, "-c", "import made.client, pkgutil, importlib, made.api\n"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(made.api.__path__, 'made.api.')]", cwd=world.folder)


def go():
    """A Go that fetches a newer one when a module wants it: the machine's, or one from PyPI when that is too old."""
    said = subprocess.run(["go", "version"], stdout=subprocess.PIPE, text=True, check=False).stdout if shutil.which("go") else ""
    found = re.search(r"go1\.(\d+)", said)
    return "go" if found and int(found.group(1)) >= 21 else os.path.join(os.path.dirname(python_with("go")), "go")


def test_oapi_codegen(world):
    path, operations = document(world)
    tool, cache = go(), ["env", f"GOPATH={CACHE}/gopath", "GOTOOLCHAIN=auto", "CGO_ENABLED=0"]
    folder = kept("oapi-codegen", OAPI_CODEGEN + OAPI_RUNTIME, lambda folder: [
        [*cache, f"GOBIN={folder}", "GOFLAGS=-modcacherw", tool, "install", f"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@{OAPI_CODEGEN}"],
        [*cache, tool, "mod", "init", "made"],
        [*cache, "GOFLAGS=-mod=mod -modcacherw", tool, "get", f"github.com/oapi-codegen/runtime@{OAPI_RUNTIME}"]])
    made = os.path.join(world.folder, "made")
    os.makedirs(made)
    for name in ("go.mod", "go.sum"):
        shutil.copy(os.path.join(folder, name), made)
    run(os.path.join(folder, "oapi-codegen"), "-generate", "types,client", "-package", "made", "-o", "made.go", path, cwd=made)
    with open(os.path.join(made, "use.go"), "w", encoding="ascii") as file:
        file.write("package made\n\nfunc tool(event Event) (string, error) {\n\tcall, err := event.AsToolCallEvent()\n\treturn call.Actor, err\n}\n\nvar _ = tool\n")
    run(*cache, "GOFLAGS=-mod=mod -modcacherw", "GOPROXY=off", tool, "vet", ".", cwd=made)
    with open(os.path.join(made, "made.go"), encoding="utf-8") as file:
        text = file.read()
    missing = [o["operationId"] for o in operations if f"(c *Client) {''.join(w.capitalize() for w in o['operationId'].split('_'))}" not in text]
    must(not missing, f"no code for {missing}")


def test_schemathesis(world):
    """No request that the description allows, or nearly allows, makes an answer that it does not allow. The two routes that
    end a token are left to a run of their own, since the rest would see nothing but 401 afterwards."""
    stage = Stage(world, tcp=True)
    path = os.path.join(world.folder, "openapi.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(stage.admin.ok("GET", "/api/openapi.json"), file)
    program = os.path.join(os.path.dirname(python_with("schemathesis")), "schemathesis")

    def fuzz(*chosen):
        token = stage.admin.ok("POST", "/api/tokens", {"role": "admin", "name": "fuzzer"})["token"]
        said = run(program, "run", path, "--url", stage.url, "--header", f"Authorization: Bearer {token}", "--phases", "examples,coverage,fuzzing",
                   "--max-examples", "4", "--generation-deterministic", "--request-timeout", "120", "--continue-on-failure", "--checks",
                   "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance", *chosen, cwd=world.folder)
        must("Authentication failed" not in said or "tokens_revoke" in chosen, said[-3000:])
        return int(re.search(r"(\d+) generated", said).group(1))
    cases = fuzz("--exclude-path-regex", "/ws", "--exclude-operation-id", "tokens_revoke", "--exclude-operation-id", "login_end")
    must(cases > 1000, f"{cases} cases")
    fuzz("--include-operation-id", "tokens_revoke", "--include-operation-id", "login_end")


def test_openapi_typescript(world):
    path, operations = document(world)
    wanted = ["openapi-typescript@7.13.0", "typescript@5.9.3"]
    folder = kept("openapi-typescript", "".join(wanted), lambda _: [
        ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", ".", *wanted]])
    run(os.path.join(folder, "node_modules/.bin/openapi-typescript"), path, "-o", os.path.join(world.folder, "made.ts"), cwd=folder)
    with open(os.path.join(world.folder, "use.ts"), "w", encoding="utf-8") as file:
        file.write('import type { components, operations } from "./made";\n'
                   'const call: components["schemas"]["ToolCallRequest"] = { name: "Bash", input: { command: "make" } };\n'
                   'type Answer = operations["calls_ask"]["responses"][200]["content"]["application/json"];\n'
                   'type Happening = components["schemas"]["Event"];\n'
                   'export const name = (event: Happening): string => event.type === "TOOL_CALL" ? event.data.name : event.type;\n'
                   'export const read = (answer: Answer): unknown => answer.status === "allowed" ? answer.input["command"] : call;\n')
    run(os.path.join(folder, "node_modules/.bin/tsc"), "--noEmit", "--strict", "use.ts", "made.ts", cwd=world.folder)
    with open(os.path.join(world.folder, "made.ts"), encoding="utf-8") as file:
        text = file.read()
    missing = [o["operationId"] for o in operations if f"    {o['operationId']}: {{" not in text]
    must(not missing and "Record<string, never>;" not in text.split("export interface components")[1].split("export type $defs")[0], f"no code for {missing}")
