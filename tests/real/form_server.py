#!/usr/bin/env python3
"""An MCP server for tests whose one tool asks the person something (elicitation) and tells what was answered."""
import json
import sys

SCHEMA = {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "description": "What is your name?"}, "age": {"type": "integer", "title": "Age"},
    "colour": {"type": "string", "enum": ["red", "blue"]}, "sure": {"type": "boolean"}}}


def put(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main():
    calling = None
    for line in sys.stdin:
        message = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        if method == "initialize":
            put(id=ident, result={"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                  "serverInfo": {"name": "forms", "version": "1"}})
        elif method == "tools/list":
            put(id=ident, result={"tools": [{"name": "fill", "description": "asks", "inputSchema": {"type": "object", "properties": {}}}]})
        elif method == "tools/call":
            calling = ident
            put(id="form-1", method="elicitation/create", params={"message": "About you", "requestedSchema": SCHEMA})
        elif method is None and ident == "form-1":
            put(id=calling, result={"content": [{"type": "text", "text": f"filled {json.dumps(message.get('result'))}"}]})
        elif ident is not None:
            put(id=ident, error={"code": -32601, "message": "unknown"})


if __name__ == "__main__":
    main()
