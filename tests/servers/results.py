#!/usr/bin/env python3
"""A small MCP server over stdio whose results are what its caller asks for. Python 3, standard library only.

Tools: give (json: the result object, sent as it is written), typed (the same, with an `outputSchema`), remote (the same, with one that
refers to the network), slow (count: so many elements, each of which takes long to check), long (count: so many numbered lines of text),
image (count: an image of so many zero bytes).
"""

import base64
import json
import sys

JSON = {"type": "object", "properties": {"json": {"type": "string"}}, "required": ["json"]}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
SUM = {
    "type": "object",
    "properties": {"sum": {"type": "number"}, "unit": {"$ref": "#/$defs/unit"}},
    "required": ["sum"],
    "$defs": {"unit": {"enum": ["m", "s"]}},
}
# The last of a thousand questions about an element is the one that it answers.
QUESTIONS = [{"pattern": "^(x+x+)+y%d$" % number} for number in range(1000)]
SLOW = {
    "type": "object",
    "properties": {"items": {"items": {"anyOf": [*QUESTIONS, {"type": "string"}]}}},
}
TOOLS = [
    {"name": "give", "inputSchema": JSON},
    {"name": "typed", "inputSchema": JSON, "outputSchema": SUM},
    {"name": "remote", "inputSchema": JSON, "outputSchema": {"type": "object", "$ref": "http://127.0.0.1:9/schema"}},
    {"name": "slow", "inputSchema": COUNT, "outputSchema": SLOW},
    {"name": "long", "inputSchema": COUNT},
    {"name": "image", "inputSchema": COUNT},
]


def result(name, arguments):
    """The JSON of a result."""
    if name == "long":
        lines = "".join(f"line {number}\n" for number in range(1, arguments["count"] + 1))
        return json.dumps({"content": [{"type": "text", "text": lines}]})
    if name == "image":
        data = base64.b64encode(bytes(arguments["count"])).decode()
        return json.dumps({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
    if name == "slow":
        return json.dumps({"content": [], "structuredContent": {"items": ["xx"] * arguments["count"]}})
    return arguments["json"]


def answer(method, params):
    """The JSON of the result of a request; none where the method is not known."""
    if method == "initialize":
        info = {"name": "results", "version": "1.0.0"}
        return json.dumps(
            {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        )
    if method == "ping":
        return "{}"
    if method == "tools/list":
        return json.dumps({"tools": TOOLS})
    if method == "tools/call":
        return result(params["name"], params.get("arguments") or {})
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        reply = answer(message["method"], message.get("params") or {})
        if reply is None:
            rest = '"error":{"code":-32601,"message":"unknown method"}'
        else:
            rest = f'"result":{reply}'
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,%s}\n' % (json.dumps(message["id"]), rest))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
