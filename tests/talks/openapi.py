"""The description and the server are the same thing seen twice."""
import re

from world import Client, Socket, must

KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
METHODS = ("get", "post", "put", "patch", "delete")


def wrong(document, schema, value, where):
    """What about the value the schema does not allow; None when it fits. The part of JSON Schema in use."""
    if "$ref" in schema:
        return wrong(document, resolve(document, schema["$ref"]), value, where)
    for part in schema.get("allOf", []):
        words = wrong(document, part, value, where)
        if words:
            return words
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, KINDS[k]) and not (k != "boolean" and isinstance(value, bool)) for k in kinds):
        return f"{where} is {value!r}, not {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} is {value!r}, not one of {schema['enum']}"
    if isinstance(value, dict):
        missing = [key for key in schema.get("required", []) if key not in value]
        if missing:
            return f"{where} has no {missing}"
        for key, part in value.items():
            known = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            words = wrong(document, known, part, f"{where}.{key}") if isinstance(known, dict) else None
            if words:
                return words
    if isinstance(value, list) and "items" in schema:
        for number, part in enumerate(value):
            words = wrong(document, schema["items"], part, f"{where}[{number}]")
            if words:
                return words
    if schema.get("format") == "date-time" and isinstance(value, str):
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value):
            return f"{where} is no time: {value!r}"
    return None


def resolve(document, reference):
    must(reference.startswith("#/"), f"a reference to elsewhere: {reference}")
    value = document
    for part in reference[2:].split("/"):
        must(part in value, f"{reference} leads nowhere")
        value = value[part]
    return value


def document_of(client):
    reply = client.get("/api/openapi.json")
    must(reply.status == 200 and reply.headers["content-type"].startswith("application/json"), f"{reply}")
    return reply.json


def routes_of(document):
    return {(method.upper(), path) for path, item in document["paths"].items() for method in item if method in METHODS}


def test_the_document_is_well_made(world):
    document = document_of(world.server().admin())
    must(document["openapi"].startswith("3.1."), document["openapi"])
    must(document["info"]["title"] and document["info"]["version"], "info")

    def walk(value):
        if isinstance(value, dict):
            must(value.get("type") != "array" or "items" in value, f"an array of what? {value}")
            must(value.get("type") != "object" or {"properties", "additionalProperties"} & set(value), f"an object of what? {value}")
            if "$ref" in value:
                resolve(document, value["$ref"])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)
    walk(document)
    names = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method not in METHODS:
                continue
            must(operation.get("responses"), f"{method} {path} has no responses")
            must(operation.get("summary") or operation.get("description"), f"{method} {path} has no words")
            names.append(operation.get("operationId"))
            holes = set(re.findall(r"\{(\w+)\}", path))
            named = {p["name"] for p in operation.get("parameters", []) + item.get("parameters", []) if p.get("in") == "path"}
            must(holes == named, f"{method} {path}: holes {holes}, described {named}")
    must(all(names) and len(set(names)) == len(names), "operationIds are not unique")
    must(document.get("components", {}).get("securitySchemes"), "nothing about tokens")


def test_the_document_is_the_table_of_routes(world):
    document = document_of(world.server().admin())
    printed = world.nod("serve", "--routes").stdout
    table = set()
    for line in printed.splitlines():
        method, path = line.split()
        table.add((method, re.sub(r":(\w+)", r"{\1}", path)))
    must(table == routes_of(document), f"only in the table: {table - routes_of(document)}; "
                                       f"only in the document: {routes_of(document) - table}")


def test_the_contract_is_in_it(world):
    routes = {(m, re.sub(r"\{\w+\}", "*", p)) for m, p in routes_of(document_of(world.server().admin()))}
    contract = """POST /api/sessions|GET /api/sessions|GET /api/sessions/*|PATCH /api/sessions/*|POST /api/sessions/*/threads
        GET /api/sessions/*/threads|POST /api/threads/*/tool-calls|GET /api/tool-calls/*|POST /api/tool-calls/*/result
        POST /api/tool-calls/*/cancel|GET /api/approvals/pending|GET /api/sessions/*/approvals/pending
        GET /api/threads/*/approvals/pending|POST /api/sessions/*/approvals/*|POST /api/threads/*/approvals/*
        GET /api/events|GET /api/ws|GET /metrics|GET /healthz|GET /readyz|GET /api/openapi.json"""
    for line in re.split(r"[|\n]", contract):
        must(tuple(line.split()) in routes, f"{line.strip()} is not in the document")


def test_every_route_is_served_and_no_other_method(world):
    server = world.server()
    admin = server.admin()
    document = document_of(admin)
    nothing = admin.get("/api/no-such-path").json["error"]["message"]
    for path, item in document["paths"].items():
        target = re.sub(r"\{\w+\}", "none", path)
        for method in METHODS:
            if path == "/api/ws" and method == "get":
                opened = Socket(admin)
                must(opened.status == 101, f"GET /api/ws: {opened.head}")
                opened.close()
                continue
            reply = admin.request(method.upper(), target, None if method in ("get", "delete") else {})
            others = [p for p, i in document["paths"].items() if method in i and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", p), target)]
            if method not in item and not others:
                must(reply.status == 405 and reply.code == "method_not_allowed", f"{method} {path}: {reply}")
                must({m.upper() for m in item if m in METHODS} <= set(reply.headers.get("allow", "").split(", ")), f"{method} {path}: {reply.headers}")
            if method not in item:
                continue
            must(reply.status != 405, f"{method} {path} is described and not taken: {reply}")
            if reply.status == 404:
                must(reply.json["error"]["message"] != nothing, f"{method} {path} is described and not served: {reply}")


def test_answers_fit_their_schemas(world):
    """A whole conversation; every answer is held against what the document says of its route and status."""
    server = world.server()
    admin = server.admin()
    document = document_of(admin)
    seen = set()

    def say(client, method, path, route, body=None, status=None):
        reply = client.request(method, path, body)
        operation = document["paths"][route][method.lower()]
        if status:
            must(reply.status == status, f"{method} {path}: {reply}")
        key = str(reply.status) if str(reply.status) in operation["responses"] else "default"
        must(key in operation["responses"], f"{method} {route}: status {reply.status} is not described: {reply}")
        response = operation["responses"][key]
        response = resolve(document, response["$ref"]) if "$ref" in response else response
        content = response.get("content", {}).get("application/json")
        if content and "schema" in content:
            words = wrong(document, content["schema"], reply.json, f"{method} {route} {reply.status}")
            must(words is None, f"{words}: {reply}")
            seen.add((method, route, reply.status))
        return reply.json if reply.body[:1] in (b"{", b"[") else None

    find = lambda pattern: next(p for p in document["paths"] if re.fullmatch(pattern, p))  # noqa: E731
    session_route, threads_route = find(r"/api/sessions/\{\w+\}"), find(r"/api/sessions/\{\w+\}/threads")
    calls_route, call_route = find(r"/api/threads/\{\w+\}/tool-calls"), find(r"/api/tool-calls/\{\w+\}")
    result_route, cancel_route = find(r"/api/tool-calls/\{\w+\}/result"), find(r"/api/tool-calls/\{\w+\}/cancel")
    decide_route = find(r"/api/sessions/\{\w+\}/approvals/\{\w+\}")
    made = say(admin, "POST", "/api/sessions", "/api/sessions", {"title": "t", "toolPolicies": {"Bash": "ask"}, "approvalTimeoutSeconds": 9}, 201)
    session, thread = made["id"], made["threadId"]
    say(admin, "GET", "/api/sessions", "/api/sessions")
    say(admin, "GET", f"/api/sessions/{session}", session_route)
    say(admin, "PATCH", f"/api/sessions/{session}", session_route, {"title": "u"}, 200)
    say(admin, "POST", f"/api/sessions/{session}/threads", threads_route, {"title": "child", "parentId": thread}, 201)
    say(admin, "GET", f"/api/sessions/{session}/threads", threads_route)
    for number, (name, decision) in enumerate([("Bash", "allow_once"), ("Bash", "deny"), ("Write", "abort"), ("Read", None), ("Bash", "cancel"),
                                               ("Bash", "allow_session"), ("Edit", None)]):
        call = f"c{number}"
        given = {"command": "x", "file_path": "/x"}
        say(admin, "POST", f"/api/threads/{thread}/tool-calls", calls_route, {"id": call, "name": name, "input": given, "cwd": "/tmp"}, 200)
        say(admin, "GET", "/api/approvals/pending", "/api/approvals/pending")
        if decision == "cancel":
            say(admin, "POST", f"/api/tool-calls/{call}/cancel", cancel_route, {}, 200)
        elif decision:
            more = {"feedback": "words"} if decision == "deny" else {}
            say(admin, "POST", f"/api/sessions/{session}/approvals/{call}", decide_route, {"decision": decision, **more}, 200)
            say(admin, "POST", f"/api/sessions/{session}/approvals/{call}", decide_route, {"decision": "deny", "feedback": "late"}, 409)
        say(admin, "GET", f"/api/tool-calls/{call}", call_route)
    say(admin, "POST", "/api/tool-calls/c0/result", result_route, {"content": {"any": 1}}, 200)
    say(admin, "GET", "/api/tool-calls/c0", call_route)
    say(admin, "GET", "/api/tool-calls/none", call_route, status=404)
    say(admin, "GET", "/api/events?after=0", "/api/events")
    say(admin, "POST", f"/api/threads/{thread}/tool-calls", calls_route, {"name": 1}, 400)
    say(Client(server, None), "GET", "/api/sessions", "/api/sessions", status=401)
    for route in ("/healthz", "/readyz"):
        say(admin, "GET", route, route, status=200)
    if "/api/tokens" in document["paths"]:
        token = say(admin, "POST", "/api/tokens", "/api/tokens", {"name": "n", "role": "viewer"}, 201)
        say(admin, "GET", "/api/tokens", "/api/tokens")
        say(Client(server, token["token"]), "POST", "/api/sessions", "/api/sessions", {}, 403)
        say(admin, "DELETE", f"/api/tokens/{token['id']}", find(r"/api/tokens/\{\w+\}"))
    must(len(seen) >= 20, f"few answers have schemas: {sorted(seen)}")
