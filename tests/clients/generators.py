"""Code generators read the description that the server prints: every route becomes code that compiles."""
import json
import os
import subprocess

from stage import PATIENCE, Stage, kept, python_with
from world import must

METHODS = ("get", "post", "put", "patch", "delete")


def document(world):
    """The file with the description, and its operations."""
    value = Stage(world).admin.ok("GET", "/api/openapi.json")
    path = os.path.join(world.folder, "openapi.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path, [item[m] for item in value["paths"].values() for m in METHODS if m in item]


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
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
                   'export const read = (answer: Answer): unknown => answer.status === "allowed" ? answer.input["command"] : call;\n')
    run(os.path.join(folder, "node_modules/.bin/tsc"), "--noEmit", "--strict", "use.ts", "made.ts", cwd=world.folder)
    with open(os.path.join(world.folder, "made.ts"), encoding="utf-8") as file:
        text = file.read()
    missing = [o["operationId"] for o in operations if f"    {o['operationId']}: {{" not in text]
    must(not missing and "Record<string, never>;" not in text.split("export interface components")[1].split("export type $defs")[0], f"no code for {missing}")
