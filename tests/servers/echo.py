#!/usr/bin/env python3
"""An MCP server over stdio that answers each call with the arguments that it got. Python 3, standard library only.

    echo.py TOOLS.json     the file holds the list of its tools
"""

import json
import sys

with open(sys.argv[1]) as file:
    TOOLS = json.load(file)


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message.get("method"), message.get("params") or {})
    if result is None:
        reply["error"] = {"code": -32601, "message": "method not found"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
