#!/usr/bin/env python3
"""A small MCP server that asks its client what its caller wants it to ask. Python 3, standard library only.

It speaks the earlier era (pushed requests), with --modern the later one (`input_required` results); over stdio, with --http PORT_FILE over
streamable HTTP: it writes the port that it listens on (127.0.0.1), and ends when its standard input does. --record FILE appends what it is
sent as lines of JSON: {"declared": capabilities}, {"call": name, "params": …}, {"reply": …}.

Tools:
  ask      `ask` is a list of requests, each with `method` and `params`; they are put one after the other, and the text is the JSON list of the
           replies. `aside` puts them on the GET stream; `tell` tells progress while it waits; `withdraw` takes each back; `die` ends the server once it has asked; `endless` never
           has enough; `state` is the state of the later era; `task` answers with a task.
  later    puts the requests when its own answer is out
  slow     `seconds`: a call that is under way
  long     runs only as a task
"""

import argparse
import json
import os
import queue
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"
OBJECT = {"type": "object", "properties": {}}
ASK = {"type": "object", "properties": {"ask": {"type": "array", "items": {"type": "object"}}}, "additionalProperties": True}
TOOLS = [
    {"name": "ask", "inputSchema": ASK},
    {"name": "later", "inputSchema": ASK},
    {"name": "slow", "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}}},
    {"name": "long", "inputSchema": OBJECT, "execution": {"taskSupport": "required"}},
]


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modern", action="store_true")
    parser.add_argument("--http", metavar="PORT_FILE")
    parser.add_argument("--record", metavar="FILE")
    return parser.parse_args()


OPTIONS = parse_options()
LOCK = threading.Lock()
REPLIES = {}
LISTENERS = []
COUNTS = {"asked": 0}


def record(**what):
    if OPTIONS.record:
        with LOCK, open(OPTIONS.record, "a") as file:
            file.write(json.dumps(what) + "\n")


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def push(request, send):
    """Puts a request to the client; its id, and where the reply will be."""
    with LOCK:
        COUNTS["asked"] += 1
        identifier = f"question {COUNTS['asked']}"
        reply = REPLIES[identifier] = queue.Queue()
    send({"id": identifier, **request})
    return identifier, reply


def ask(arguments, token, send):
    replies = []
    for request in arguments.get("ask", []):
        identifier, reply = push(request, LISTENERS[-1] if arguments.get("aside") else send)
        if arguments.get("tell"):
            for step in range(3):
                send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
        if arguments.get("withdraw"):
            send({"method": "notifications/cancelled", "params": {"requestId": identifier}})
            replies.append("withdrawn")
            continue
        if arguments.get("die"):
            os._exit(1)
        replies.append(reply.get())
    return text(json.dumps(replies))


def wanted(params):
    """What the later era answers: what it wants to know, or what it was told."""
    arguments = params.get("arguments") or {}
    given = params.get("inputResponses")
    if arguments.get("task"):
        return {"resultType": "task", "task": {"taskId": "7", "status": "working"}}
    if arguments.get("endless") or (given is None and "requestState" not in params):
        requests = {f"q{number}": request for number, request in enumerate(arguments.get("ask", []))}
        state = {"requestState": arguments["state"]} if "state" in arguments else {}
        asked = {"inputRequests": requests} if requests else {}
        return {"resultType": "input_required", **asked, **state}
    told = {"replies": [{"result": reply} for reply in (given or {}).values()], "state": params.get("requestState")}
    return {"resultType": "complete", **text(json.dumps(told))}


def call(params, send):
    name, arguments = params.get("name"), params.get("arguments") or {}
    record(call=name, params=params)
    token = (params.get("_meta") or {}).get("progressToken")
    if name == "slow":
        time.sleep(arguments.get("seconds", 0))
        return text("done")
    if name == "later":
        def later():
            time.sleep(0.2)
            record(late=json.loads(ask(arguments, token, send)["content"][0]["text"]))
        threading.Thread(target=later, daemon=True).start()
        return text("soon")
    return wanted(params) if OPTIONS.modern else ask(arguments, token, send)


def answer(method, params, send):
    """The result of a request, or an error."""
    capabilities, info = {"tools": {}}, {"name": "asking", "version": "1"}
    if method == "initialize" and not OPTIONS.modern:
        record(declared=params.get("capabilities"))
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
    if method == "server/discover" and OPTIONS.modern:
        record(declared=params["_meta"]["io.modelcontextprotocol/clientCapabilities"])
        return {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        return {"tools": TOOLS, **({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if OPTIONS.modern else {})}
    if method == "tools/call":
        return call(params, send)
    return None


def handle(message, send):
    method, identifier = message.get("method"), message.get("id")
    if method is None:
        record(reply={key: value for key, value in message.items() if key in ("result", "error")})
        REPLIES.pop(identifier, queue.Queue()).put({key: message[key] for key in ("result", "error") if key in message})
        return
    if identifier is None:
        return
    result = answer(method, message.get("params") or {}, send)
    unknown = {"error": {"code": -32601, "message": f"unknown method {method}"}}
    send({"id": identifier, **({"result": result} if result is not None else unknown)})


def over_stdio():
    def send(message):
        with LOCK:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        if line.strip():
            threading.Thread(target=handle, args=(json.loads(line), send), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def stream(self):
        """Begins a stream of events, and gives how a message is sent on it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", "one")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        writing = threading.Lock()

        def send(message):
            event = f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode()
            with writing:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()

        return send

    def nothing(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message or "method" not in message:
            handle(message, None)
            return self.nothing(202)
        handle(message, self.stream())
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        LISTENERS.append(self.stream())
        threading.Event().wait()

    def do_DELETE(self):
        self.nothing(200)


def over_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(OPTIONS.http + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(OPTIONS.http + ".new", OPTIONS.http)
    sys.stdin.read()


over_http() if OPTIONS.http else over_stdio()
